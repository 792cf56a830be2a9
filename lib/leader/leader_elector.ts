/** Elects a leader by a Lease: acquires and renews it, fences the leader's writes, and releases it. */
import { fileMissing, isNotCapable, isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { checkLabels } from '../core/names.ts'
import type { Fence } from '../core/fence.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { sleep, within } from '../async/clock.ts'
import { environmentOf, type RandomPartEnvironment, type RandomPartOptions } from '../observe/environment.ts'
import { withVerbs } from '../client/codec.ts'
import { Callbacks, type ElectionCallbacks } from './callbacks.ts'
import { isChanged } from '../client/retries.ts'
import type { Follower } from './follower.ts'
import type { LeaseCandidate, LeaseLock } from './lease_lock.ts'
import {
  checkTimings,
  DEFAULT_TIMINGS,
  expiresAtMs,
  LEASE,
  type LeaseTimings,
  type Moment,
  tryTimeoutMs,
} from './lease_state.ts'
import type { ElectionMeter } from './metrics.ts'
import { StallDetector } from './stall_detector.ts'
import { LeaseFence } from './lease_fence.ts'

/** Options of {@link LeaderElector}. */
export interface LeaderElectorOptions extends Omit<LeaseCandidate, 'clock' | 'timings'>, RandomPartOptions {
  /** Default: client-go's: lease duration 15 s, renew deadline 10 s, retry period 2 s. */
  readonly timings?: LeaseTimings | undefined
  readonly callbacks?: ElectionCallbacks | undefined
  readonly meter?: ElectionMeter | undefined
}

/** Options of one election. */
export interface ElectionOptions {
  /** Called after an abort: returns whether the work has ended, so that the lease may be released. Default: it has. */
  readonly mayRelease?: (() => boolean) | undefined
}

/** Takes part in the election by a Lease, renews the Lease while it leads, and reports both. */
export class LeaderElector {
  readonly #options: LeaderElectorOptions & LeaseCandidate & RandomPartEnvironment
  readonly #title: string
  /** Undefined before the first start, which loads what waits for a lease and writes it. */
  #lock!: LeaseLock
  readonly #callbacks: Callbacks
  readonly #stall: StallDetector
  #fence: LeaseFence
  #running = false
  #leading = false
  /** The error of the last renewal, since the last success. */
  #failure: unknown
  /** The last warning since the last success, so that a refusal is not logged every 2 s. */
  #lastWarning: string | undefined
  /** How often it came again. */
  #equalWarnings = 0

  /** Throws a RangeError for invalid timings, a TypeError for a missing name or an invalid label. */
  constructor(given: LeaderElectorOptions) {
    const { timings = DEFAULT_TIMINGS } = given
    const options = { ...given, ...environmentOf(given), timings }
    checkTimings(timings)
    for (const name of ['lease', 'namespace', 'identity'] as const) {
      if (!options[name]) throw new TypeError(`Cannot elect a leader: ${name} is empty`)
    }
    checkLabels(options.labels ?? {})
    this.#options = options
    this.#title = `lease "${options.namespace}/${options.lease}"`
    this.#callbacks = new Callbacks(options)
    this.#stall = new StallDetector(options.clock)
    this.#fence = this.#newFence()
  }

  /** Whether this process certainly holds the lease. Becomes false by itself if a renewal is late. */
  get isLeader(): boolean {
    return this.#fence.holds()
  }

  /** The annotations of the Lease as last written or read. */
  get annotations(): Readonly<Record<string, string>> {
    return this.#lock?.annotations ?? {}
  }

  /**
   * The fence of the current term, or of the next one before {@link start}. Each start makes a new fence, and a fallen
   * fence stays down, so a client of one term cannot write in the next. Clients of leader-only work use it; other
   * clients and the elector's own requests are not fenced.
   */
  get fence(): Fence {
    return this.#fence
  }

  /**
   * For a health check: throws if this process leads and the last renewal is older than the lease duration plus
   * `toleranceMs` (default 0). Its election is stuck then, and the process should be restarted.
   */
  checkHealthy(toleranceMs = 0): void {
    const agoMs = this.#fence.renewedAgoMs
    if (!this.#leading || agoMs === undefined || agoMs <= this.#options.timings.durationMs + toleranceMs) return
    throw new Error(
      `Cannot report healthy: this process leads, but has not renewed the ${this.#title} for ${formatMs(agoMs)}`,
    )
  }

  /** Logs a warning if the role may not read the lease. Does nothing after {@link start}. */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#running) return
    const { api, namespace, lease } = this.#options
    await api.get({ resource: LEASE, namespace, name: lease }, signal).catch((error: unknown) => {
      if (!this.#running && isReason(error, 'Forbidden')) this.#warn('acquire', error)
    })
  }

  /**
   * Acquires the lease, calls `lead` with the fence of this term, and renews the lease until the signal is aborted.
   * Then the fence falls, and the lease is released unless a write of this term may still take effect.
   *
   * Safety: abort the signal only after the leader's work has ended, or let `mayRelease` return false. Otherwise the
   * next leader starts while that work still runs.
   *
   * @throws LeadershipLost if the lease was not renewed in time, or another process holds it: the leader's work must
   * end.
   */
  async start(
    signal: AbortSignal,
    lead: (fence: Fence) => void,
    { mayRelease = () => true }: ElectionOptions = {},
  ): Promise<void> {
    if (this.#running) throw new Error(`Cannot start the elector of ${this.#title}: it is already running`)
    this.#running = true
    try {
      const { Follower, LeaseLock } = await import('./follower.ts').catch(
        fileMissing(`use ${this.#title}`, 'follower.js'),
      )
      const lock = (this.#lock ??= new LeaseLock(this.#options, this.#callbacks))
      const follow = (): Follower => new Follower({ ...this.#options, lock }, signal)
      if (this.#fence.signal.aborted) this.#fence = this.#newFence()
      await this.#runTerm(this.#fence, follow, signal, lead, mayRelease)
    } finally {
      await this.#withinDeadline((limited) => this.#callbacks.ended(limited))
      this.#running = false
    }
  }

  async #runTerm(
    fence: LeaseFence,
    follow: () => Follower,
    signal: AbortSignal,
    lead: (fence: Fence) => void,
    mayRelease: () => boolean,
  ): Promise<void> {
    this.#lock.begin()
    try {
      await this.#acquire(fence, follow, signal)
      signal.throwIfAborted()
      this.#leading = true
      this.#options.log.info(`Leading: acquired the ${this.#title}`, { identity: this.#options.identity })
      const beganMs = this.#options.clock.monotonic()
      // The start of the leader's work may block the event loop.
      this.#stall.expect(this.#options.timings.retryPeriodMs)
      this.#callbacks.startedLeading()
      lead(fence)
      await this.#renewLoop(fence, beganMs, signal)
    } catch (error) {
      if (error instanceof LeadershipLost) fence.fall(error)
      if (!signal.aborted || error !== signal.reason) throw error
    } finally {
      const { settled } = fence // before the fall: it aborts open writes, which may still take effect
      fence.fall(new LeadershipLost(`Cannot write under the ${this.#title}: its term has ended`))
      if (this.#leading) this.#callbacks.stoppedLeading()
      this.#leading = false
      // Also after an abort during a write: the server may have applied it.
      if (signal.aborted && this.#lock.claimed) {
        await this.#release(mayRelease() ? settled ? undefined : LATE_WRITE : UNFINISHED_WORK)
      }
    }
  }

  /** Tries at once, then whenever a try may succeed, until the lease is acquired. */
  async #acquire(fence: LeaseFence, follow: () => Follower, signal: AbortSignal): Promise<void> {
    const { timings, clock, log } = this.#options
    let follower: Follower | undefined
    let holder: string | undefined
    try {
      for (;;) {
        let isRead = false, lostRace = false
        try {
          const sent = await this.#try(tryTimeoutMs(timings), false, signal)
          this.#failure = this.#lastWarning = undefined
          // After a stall the new lease may have expired already.
          if (sent && fence.renew(sent)) return
          isRead = sent === undefined
          const { observed } = this.#lock
          const current = observed?.record.holderIdentity
          if (isRead && observed && current !== holder) {
            const leftMs = Math.max(0, expiresAtMs(observed) - clock.monotonic())
            const expiry = `it expires in ${formatMs(leftMs)} unless renewed`
            log.info(`Waiting for the ${this.#title}, which "${current}" holds; ${expiry}`)
          }
          holder = current
        } catch (error) {
          if (signal.aborted) throw signal.reason
          if (isNotCapable(error)) {
            throw new Error(`Cannot acquire ${this.#title}: ${messageOf(error)}`, { cause: error })
          }
          // A lost race is ordinary.
          lostRace = isChanged(error)
          this.#warn('acquire', error, lostRace)
        }
        follower ??= follow()
        await follower.wait({ isRead, lostRace })
      }
    } finally {
      follower?.end()
    }
  }

  /** Renews until the signal is aborted or the fence falls. */
  async #renewLoop(fence: LeaseFence, beganMs: number, signal: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options
    const scope = abortScope(signal, fence.signal)
    let triedMs = beganMs
    try {
      for (let isFirst = true;; isFirst = false) {
        const pauseMs = Math.max(0, triedMs + timings.retryPeriodMs - clock.monotonic())
        if (!isFirst) this.#stall.expect(pauseMs)
        await sleep(clock, pauseMs, scope.signal)
        if (!fence.holds()) throw fence.signal.reason
        this.#warnOfStall(fence)
        triedMs = clock.monotonic()
        const limitMs = tryTimeoutMs(timings)
        this.#stall.expect(limitMs)
        try {
          const sent = await this.#try(limitMs, true, scope.signal)
          if (!sent) {
            const { holder } = this.#callbacks
            const same = holder === this.#options.identity
            const name = `"${holder}"${same ? ', another process (give it an identity of its own),' : ''}`
            throw new LeadershipLost(`Cannot renew ${this.#title}: ${name} holds it now`)
          }
          if (!fence.renew(sent)) throw fence.signal.reason
          this.#failure = this.#lastWarning = undefined
        } catch (error) {
          if (scope.signal.aborted) throw scope.signal.reason
          if (error instanceof LeadershipLost) throw error
          this.#failure = error
          const nextMs = Math.max(0, triedMs + timings.retryPeriodMs - clock.monotonic())
          const leftMs = timings.renewDeadlineMs - (fence.renewedAgoMs ?? 0)
          this.#warn('renew', error, false, nextMs < leftMs ? undefined : leftMs)
        }
      }
    } finally {
      scope[Symbol.dispose]()
    }
  }

  /** Tries once, for at most `withinMs`. Resolves with when the write was sent; undefined if another leads. */
  async #try(withinMs: number, leading: boolean, signal: AbortSignal): Promise<Moment | undefined> {
    return await this.#within(withinMs, (limited) => this.#lock.take(leading, limited), signal)
  }

  /**
   * Releases the lease, unless there is an obstacle. With one, or on failure, other candidates wait until it expires.
   */
  async #release(obstacle: string | undefined): Promise<void> {
    const { log } = this.#options
    if (obstacle !== undefined) return log.warn(`Keeping the ${this.#title} until it expires: ${obstacle}`)
    await this.#withinDeadline(async (limited) => {
      try {
        if (await untilAborted(this.#lock.release(limited), limited)) log.info(`Released the ${this.#title}`)
      } catch (error) {
        log.warn(`Cannot release ${this.#title}: ${messageOf(error)}; other candidates wait until it expires`)
      }
    })
  }

  /** Runs an ending step within the renew deadline. */
  async #withinDeadline(act: (limited: AbortSignal) => Promise<void>): Promise<void> {
    await this.#within(this.#options.timings.renewDeadlineMs, act)
  }

  /** Bounds a wait. The election must not hang on a transport that ignores its signal. */
  async #within<T>(ms: number, act: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const late = (): Error => new DOMException(`the server did not answer within ${formatMs(ms)}`, 'TimeoutError')
    return await within(
      this.#options.clock,
      ms,
      late,
      (limited) => (signal ? untilAborted(act(limited), limited) : act(limited)),
      signal,
    )
  }

  /** `leftMs`: the time of the lease that is left, if no further try comes. */
  #warn(verb: string, error: unknown, isExpected = false, leftMs?: number): void {
    const next = leftMs === undefined ? 'trying again' : `the lease is lost in ${formatMs(leftMs)}`
    const text = `Cannot ${verb} ${this.#title}: ${
      withVerbs(messageOf(error), 'get', 'create', 'update', 'watch')
    }; ${next}`
    this.#equalWarnings = text === this.#lastWarning ? this.#equalWarnings + 1 : 0
    // A missing right stays for long: it is repeated after a minute, two, four, … with the default retryPeriod.
    const isRepeated = isReason(error, 'Forbidden') && this.#equalWarnings > 0 && !isDoubled(this.#equalWarnings)
    this.#options.log[isExpected || isRepeated ? 'debug' : 'warn'](text)
    this.#lastWarning = text
  }

  #warnOfStall(fence: LeaseFence): void {
    const { timings, log } = this.#options
    const stall = this.#stall.describe(timings.retryPeriodMs / 2)
    if (!stall) return
    const left = formatMs(timings.renewDeadlineMs - (fence.renewedAgoMs ?? 0))
    log.warn(`Renewing the ${this.#title} late: ${stall}; the lease would have been lost in ${left}`)
  }

  #newFence(): LeaseFence {
    const { clock, timings } = this.#options
    return new LeaseFence({ clock, timings, title: this.#title, expired: () => this.#expired() })
  }

  #expired(): LeadershipLost {
    const { renewDeadlineMs, retryPeriodMs } = this.#options.timings
    const failure = this.#failure === undefined ? 'the server did not answer' : messageOf(this.#failure)
    const why = this.#stall.describe(retryPeriodMs / 2) ?? failure
    return new LeadershipLost(`Cannot renew ${this.#title} for ${formatMs(renewDeadlineMs)}: ${why}`, {
      cause: this.#failure,
    })
  }
}

const UNFINISHED_WORK = "the leader's work has not ended"
const LATE_WRITE = 'a write of the leader may still take effect'

/** Whether a count is 32, 64, 128, … */
function isDoubled(count: number): boolean {
  return count >= 32 && Number.isInteger(Math.log2(count))
}
