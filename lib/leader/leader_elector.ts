/** Holds a Lease: tries to get it, keeps it renewed, fences what is done in its name, and gives it back when the work has ended. */
import { isNotCapable, isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { Fence } from '../core/fence.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, sleep, systemClock, within } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { withVerbs } from '../client/codec.ts'
import { Callbacks, type ElectionCallbacks } from './callbacks.ts'
import { Follower } from './follower.ts'
import { type LeaseCandidate, LeaseLock } from './lease_lock.ts'
import { checkTimings, DEFAULT_TIMINGS, type LeaseTimings, type Moment, patienceMs } from './lease_state.ts'
import type { ElectionMeter } from './metrics.ts'
import { StallDetector } from './stall_detector.ts'
import { LeaseFence } from './lease_fence.ts'

/** Options of {@link LeaderElector}. */
export interface LeaderElectorOptions extends Omit<LeaseCandidate, 'clock' | 'timings'> {
  /** Default: client-go's, a lease of 15 s, renewed within 10 s, tried every 2 s. */
  readonly timings?: LeaseTimings | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  readonly callbacks?: ElectionCallbacks | undefined
  readonly meter?: ElectionMeter | undefined
  readonly random?: (() => number) | undefined
}

/** What a term of office may be given. */
export interface ElectionOptions {
  /** Asked when the signal was aborted: whether the work has ended, so that the lease may be given back. Default: it has. */
  readonly mayRelease?: (() => boolean) | undefined
}

/** Takes part in the election by a Lease, renews the Lease while it leads, and reports both. */
export class LeaderElector {
  readonly #options: LeaderElectorOptions & LeaseCandidate & { readonly log: Log }
  readonly #title: string
  readonly #lock: LeaseLock
  readonly #announce: Callbacks
  readonly #stall: StallDetector
  #fence: LeaseFence
  #running = false
  #leading = false
  /** Why the lease could not be renewed since the last success. */
  #failure: unknown
  /** What was said of a refusal since the last success: the role is not another one two seconds later. */
  #warned: string | undefined

  /** Throws a RangeError for timings that cannot work, a TypeError for a name that is missing. */
  constructor(given: LeaderElectorOptions) {
    const { timings = DEFAULT_TIMINGS, clock = systemClock } = given
    const options = { ...given, timings, clock, log: safeLog(given.log) }
    checkTimings(timings)
    for (const name of ['lease', 'namespace', 'identity'] as const) {
      if (!options[name]) throw new TypeError(`Cannot elect a leader: ${name} is empty`)
    }
    this.#options = options
    this.#title = `lease "${options.namespace}/${options.lease}"`
    const announce = (this.#announce = new Callbacks(options))
    this.#stall = new StallDetector(options.clock)
    this.#fence = this.#newFence()
    this.#lock = new LeaseLock({
      ...options,
      onObserved: (record) => announce.observed(record),
      onSlowPath: () => announce.slowPath(),
    })
  }

  /** Whether the lease is ours beyond doubt: it ends by itself when it could not be renewed in time. */
  get isLeader(): boolean {
    return this.#fence.stands()
  }

  /**
   * The fence of one term: of the one that {@link start} is about, or of the next before it is called. Every start has another,
   * and a fence that has fallen stays down, so a client made for one term cannot write in the next. The clients of what
   * runs on the leader only are made with it; those of others, and the elector's own requests, are not fenced.
   */
  get fence(): Fence {
    return this.#fence
  }

  /**
   * For a health check: throws if we think that we lead and the last renewal is older than the lease lasts and `toleranceMs`.
   * That is a process whose election has got stuck, so that it should be restarted. Default: 0.
   */
  checkHealthy(toleranceMs = 0): void {
    const agoMs = this.#fence.renewedAgoMs
    if (!this.#leading || agoMs === undefined || agoMs <= this.#options.timings.durationMs + toleranceMs) return
    throw new Error(`Cannot vouch for the ${this.#title}: we lead, and have not renewed it for ${formatMs(agoMs)}`)
  }

  /** Warns if the lease may not be read, before anything is tried. Does nothing once {@link start} was called. */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#running) return
    const { api } = this.#options
    await api.get(this.#lock.target, signal).catch((error: unknown) => {
      if (!this.#running && isReason(error, 'Forbidden')) this.#warn('acquire', error)
    })
  }

  /**
   * Waits until the lease is ours, calls `lead` with the fence of this term, and renews until the signal is aborted; then lets the
   * fence fall, and gives the lease back if nothing written in its name can be under way any more.
   * The signal must be aborted only when the work has ended, or another one begins beside it; else say so by `mayRelease`.
   * Rejects with LeadershipLost when the lease could not be renewed in time or is somebody else's: what runs must end.
   */
  async start(
    signal: AbortSignal,
    lead: (fence: Fence) => void,
    { mayRelease = () => true }: ElectionOptions = {},
  ): Promise<void> {
    if (this.#running) throw new Error(`Cannot start the elector of ${this.#title}: it runs already`)
    this.#running = true
    try {
      if (this.#fence.signal.aborted) this.#fence = this.#newFence()
      await this.#campaign(this.#fence, signal, lead, mayRelease)
    } finally {
      await this.#patiently((patience) => this.#announce.ended(patience))
      this.#running = false
    }
  }

  async #campaign(
    fence: LeaseFence,
    signal: AbortSignal,
    lead: (fence: Fence) => void,
    mayRelease: () => boolean,
  ): Promise<void> {
    this.#failure = undefined
    this.#lock.begin()
    try {
      await this.#acquire(fence, signal)
      signal.throwIfAborted()
      this.#leading = true
      this.#options.log.info(`Leading: the ${this.#title} is ours`, { identity: this.#options.identity })
      const beganMs = this.#options.clock.monotonic()
      // From now on: what begins to lead may hold the event loop.
      this.#stall.expect(this.#options.timings.retryPeriodMs)
      this.#announce.startedLeading()
      lead(fence)
      await this.#keep(fence, beganMs, signal)
    } catch (error) {
      if (error instanceof LeadershipLost) fence.fall(error)
      if (!signal.aborted || error !== signal.reason) throw error
    } finally {
      const { settled } = fence // what is open is aborted when the fence falls, and may still be carried out
      fence.fall(new LeadershipLost(`Cannot write in the name of the ${this.#title}: its term has ended`))
      if (this.#leading) this.#announce.stoppedLeading()
      this.#leading = false
      // Also when the abort came into the middle of a write: the server may have carried it out.
      if (signal.aborted && this.#lock.claimed) {
        await this.#release(mayRelease() ? settled ? undefined : LATE_WRITE : UNFINISHED_WORK)
      }
    }
  }

  /** Tries at once, then whenever it may succeed, until the lease is ours. */
  async #acquire(fence: LeaseFence, signal: AbortSignal): Promise<void> {
    const { timings, log, random = Math.random } = this.#options
    const follower = new Follower({ ...this.#options, random, lock: this.#lock }, signal)
    let holder: string | undefined
    try {
      for (;;) {
        let isRead = false, lostRace = false
        try {
          const sent = await this.#try(patienceMs(timings), false, signal)
          this.#warned = undefined
          // A process that stood still meanwhile has something in its hands that has run out.
          if (sent && fence.renew(sent)) return
          isRead = sent === undefined
          const current = this.#lock.observed?.record.holderIdentity
          if (isRead && current !== holder) log.info(`Waiting for the ${this.#title}, which "${current}" holds`)
          holder = current
        } catch (error) {
          if (signal.aborted) throw signal.reason
          if (isNotCapable(error)) {
            throw new Error(`Cannot acquire ${this.#title}: ${messageOf(error)}`, { cause: error })
          }
          // Losing a race against another candidate is the ordinary case.
          lostRace = isLostRace(error)
          this.#warn('acquire', error, lostRace)
        }
        await follower.wait({ isRead, lostRace })
      }
    } finally {
      await follower.end()
    }
  }

  /** Renews until told to stop, or until the fence falls. */
  async #keep(fence: LeaseFence, beganMs: number, signal: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options
    const scope = abortScope(signal, fence.signal)
    let triedMs = beganMs
    try {
      for (let isFirst = true;; isFirst = false) {
        const pauseMs = Math.max(0, triedMs + timings.retryPeriodMs - clock.monotonic())
        if (!isFirst) this.#stall.expect(pauseMs)
        await sleep(clock, pauseMs, scope.signal)
        if (!fence.stands()) throw fence.signal.reason
        this.#warnOfStall(fence)
        triedMs = clock.monotonic()
        const patience = patienceMs(timings)
        this.#stall.expect(patience)
        try {
          const sent = await this.#try(patience, true, scope.signal)
          if (!sent) throw new LeadershipLost(`Cannot renew ${this.#title}: "${this.#announce.holder}" holds it now`)
          if (!fence.renew(sent)) throw fence.signal.reason
          this.#failure = this.#warned = undefined
        } catch (error) {
          if (scope.signal.aborted) throw scope.signal.reason
          if (error instanceof LeadershipLost) throw error
          this.#failure = error
          this.#warn('renew', error)
        }
      }
    } finally {
      scope[Symbol.dispose]()
    }
  }

  /** One try: when the write was sent that the server took, or undefined when another holds the lease. Ends after `withinMs`. */
  async #try(withinMs: number, leading: boolean, signal: AbortSignal): Promise<Moment | undefined> {
    signal.throwIfAborted()
    return await this.#within(withinMs, (patience) => this.#lock.take(leading, patience), signal)
  }

  /** Gives the lease back, unless something speaks against it. Then, and when it fails, others wait for its end. */
  async #release(against: string | undefined): Promise<void> {
    const { log } = this.#options
    if (against !== undefined) return log.warn(`Keeping the ${this.#title} until it expires: ${against}`)
    await this.#patiently(async (patience) => {
      try {
        if (await untilAborted(this.#lock.giveBack(patience), patience)) log.info(`Released the ${this.#title}`)
      } catch (error) {
        log.warn(`Cannot release ${this.#title}: ${messageOf(error)}; others wait for its end`)
      }
    })
  }

  /** Does what ends the election, within the renew deadline. */
  async #patiently(act: (patience: AbortSignal) => Promise<void>): Promise<void> {
    await this.#within(this.#options.timings.renewDeadlineMs, act)
  }

  /** Bounds what waits for others. What a leader believes must not hang on a transport that is deaf to its signal. */
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

  #warn(verb: string, error: unknown, isOrdinary = false): void {
    const text = `Cannot ${verb} ${this.#title}: ${
      withVerbs(messageOf(error), 'get', 'create', 'update', 'watch')
    }; trying again`
    const isKnown = isReason(error, 'Forbidden') && text === this.#warned
    this.#options.log[isOrdinary || isKnown ? 'debug' : 'warn'](text)
    this.#warned = text
  }

  #warnOfStall(fence: LeaseFence): void {
    const { timings, log } = this.#options
    const stall = this.#stall.ended(timings.retryPeriodMs / 2)
    if (!stall) return
    const left = formatMs(timings.renewDeadlineMs - (fence.renewedAgoMs ?? 0))
    log.warn(`Renewing the ${this.#title} late: ${stall}; it would have been lost in ${left}`)
  }

  #newFence(): LeaseFence {
    const { clock, timings } = this.#options
    return new LeaseFence({ clock, timings, title: this.#title, expired: () => this.#expired() })
  }

  #expired(): LeadershipLost {
    const { renewDeadlineMs, retryPeriodMs } = this.#options.timings
    const failure = this.#failure === undefined ? 'the server did not answer' : messageOf(this.#failure)
    const why = this.#stall.ended(retryPeriodMs / 2) ?? failure
    return new LeadershipLost(`Cannot renew ${this.#title} for ${formatMs(renewDeadlineMs)}: ${why}`, {
      cause: this.#failure,
    })
  }
}

const UNFINISHED_WORK = 'the work in its name has not ended'
const LATE_WRITE =
  'a write in its name was under way until now, or ended without an answer, and may still be carried out'

/** Another candidate was faster, at the update or at the create. */
function isLostRace(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'AlreadyExists')
}
