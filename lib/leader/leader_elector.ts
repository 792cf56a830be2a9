/** Holds a Lease: tries to get it, keeps it renewed, and gives it back when the work has ended. */
import { isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
import { formatMs } from '../core/duration.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { sleep, type Clock } from '../async/clock.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject } from '../client/codec.ts'
import type { Log } from '../observe/log.ts'
import {
  ACQUIRE_JITTER, checkTimings, claim, leftMs, mayTake, observe, patienceMs, released,
  type LeaseRecord, type LeaseTimings, type Moment, type Observation,
} from './lease_state.ts'

interface Lease extends KubeObject {
  readonly spec?: LeaseRecord
}

const LEASE: Resource<Lease> = { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', scope: 'Namespaced' }

/** Whoever else writes the Lease meanwhile writes its metadata, or it is a late write of our own: a few tries are plenty. */
const RELEASE_TRIES = 5

export interface LeaderElectorOptions {
  readonly api: Api
  /** The Lease's name and namespace. */
  readonly lease: string
  readonly namespace: string
  /** Who we are among the candidates. Must be unique. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
}

/** What a term of office may be given. */
export interface ElectionOptions {
  /** Asked when the signal was aborted: whether the work has ended, so that the lease may be given back. Default: it has. */
  readonly mayRelease?: (() => boolean) | undefined
}

export class LeaderElector {
  readonly #options: LeaderElectorOptions
  readonly #title: string
  /** The Lease as we last wrote or read it. */
  #lease: Lease | undefined
  #observed: Observation | undefined
  /** When the write was sent that made or keeps us leader; undefined while we are not. */
  #renewed: Moment | undefined
  /** A write with our name was sent, and nobody else was seen to hold the lease since. */
  #claimed = false
  #running = false

  /** Throws a RangeError for timings that cannot work, a TypeError for a name that is missing. */
  constructor(options: LeaderElectorOptions) {
    checkTimings(options.timings)
    for (const name of ['lease', 'namespace', 'identity'] as const) {
      if (!options[name]) throw new TypeError(`Cannot elect a leader: ${name} is empty`)
    }
    this.#options = options
    this.#title = `lease "${options.namespace}/${options.lease}"`
  }

  /** Whether the lease is ours beyond doubt: it ends by itself when it could not be renewed in time. */
  get isLeader(): boolean {
    return this.#renewed !== undefined && leftMs(this.#renewed, this.#moment(), this.#options.timings) > 0
  }

  /**
   * Waits until the lease is ours, calls `lead`, and renews until the signal is aborted; then gives the lease back.
   * The signal must be aborted only when the work has ended, or another one begins beside it; else say so by `mayRelease`.
   * Rejects with LeadershipLost when the lease could not be renewed in time or is somebody else's.
   */
  async start(signal: AbortSignal, lead: () => void, { mayRelease = () => true }: ElectionOptions = {}): Promise<void> {
    if (this.#running) throw new Error(`Cannot start the elector of ${this.#title}: it runs already`)
    this.#running = true
    this.#claimed = false
    try {
      this.#renewed = await this.#acquire(signal)
      signal.throwIfAborted()
      this.#options.log.info(`Leading: the ${this.#title} is ours`, { identity: this.#options.identity })
      lead()
      await this.#keep(signal)
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error
    } finally {
      this.#renewed = undefined
      // Also when the abort came into the middle of a write: the server may have carried it out.
      if (signal.aborted && this.#claimed) {
        if (mayRelease()) await this.#release()
        else this.#options.log.warn(`Keeping the ${this.#title} until it expires: the work in its name has not ended`)
      }
      this.#running = false
    }
  }

  /** Tries at once, then with pauses, until the lease is ours; then says when that was sent. */
  async #acquire(signal: AbortSignal): Promise<Moment> {
    const { clock, timings, random = Math.random, log } = this.#options
    let holder: string | undefined
    for (;;) {
      try {
        const sent = await this.#try(patienceMs(timings), signal)
        if (sent) return sent
        const current = this.#observed?.record.holderIdentity
        if (current !== holder) log.info(`Waiting for the ${this.#title}, which "${current}" holds`)
        holder = current
      } catch (error) {
        if (signal.aborted) throw signal.reason
        // Losing a race against another candidate is the ordinary case.
        log[isLostRace(error) ? 'debug' : 'warn'](`Cannot acquire ${this.#title}: ${messageOf(error)}; trying again`)
      }
      await sleep(clock, timings.retryPeriodMs * (1 + ACQUIRE_JITTER * random()), signal)
    }
  }

  /** Renews until told to stop. No try and no pause goes beyond the time that is left since the last success. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, timings, log } = this.#options
    let triedMs = this.#renewed!.monotonicMs
    let failure: unknown
    for (;;) {
      const pauseMs = triedMs + timings.retryPeriodMs - clock.monotonic()
      await sleep(clock, Math.max(0, Math.min(pauseMs, this.#leftMs())), signal)
      const left = this.#leftMs()
      if (left <= 0) {
        const why = failure === undefined ? 'the process stood still' : messageOf(failure)
        throw new LeadershipLost(`Cannot renew ${this.#title} for ${formatMs(timings.renewDeadlineMs)}: ${why}`, { cause: failure })
      }
      triedMs = clock.monotonic()
      try {
        const sent = await this.#try(Math.min(left, patienceMs(timings)), signal)
        if (!sent) throw new LeadershipLost(`Cannot renew ${this.#title}: "${this.#observed?.record.holderIdentity}" holds it now`)
        this.#renewed = sent
        failure = undefined
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (error instanceof LeadershipLost) throw error
        failure = error
        log.warn(`Cannot renew ${this.#title}: ${messageOf(error)}; trying again`)
      }
    }
  }

  /** One try: when the write was sent that the server took, or undefined when another holds the lease. Ends after `withinMs`. */
  async #try(withinMs: number, signal: AbortSignal): Promise<Moment | undefined> {
    signal.throwIfAborted()
    const scope = abortScope(signal)
    const stopTimer = this.#options.clock.after(withinMs, () => scope.abort(this.#timeout(withinMs)))
    try {
      // What a leader believes must not hang on a transport that is deaf to its signal.
      return await untilAborted(this.#take(scope.signal), scope.signal)
    } finally {
      stopTimer()
      scope[Symbol.dispose]()
    }
  }

  async #take(signal: AbortSignal): Promise<Moment | undefined> {
    // While we lead, what we wrote last is most likely still there: one request instead of two.
    if (this.#renewed && this.#lease) {
      try {
        return await this.#write(this.#lease, signal)
      } catch (error) {
        if (!isReason(error, 'Conflict') && !isMissingObject(error)) throw error
      }
    }
    const { api, identity, clock, timings } = this.#options
    const target = this.#target()
    let current: Lease
    try {
      current = (await api.get(target, signal)) as Lease
    } catch (error) {
      if (!isMissingObject(error)) throw error
      const { namespace, name } = target
      const spec = claim(undefined, identity, clock.now(), timings)
      return await this.#send(() => api.create(target, { metadata: { namespace, name }, spec }, {}, signal))
    }
    this.#remember(current)
    if (!mayTake(this.#observed!, identity, clock.monotonic())) {
      this.#claimed = false
      return undefined
    }
    return await this.#write(current, signal)
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<Moment> {
    const { api, identity, clock, timings } = this.#options
    const spec = claim(lease.spec ?? {}, identity, clock.now(), timings)
    return await this.#send(() => api.update(this.#target(), { ...lease, spec }, {}, signal))
  }

  async #send(write: () => Promise<{ readonly object: KubeObject }>): Promise<Moment> {
    const sent = this.#moment()
    this.#claimed = true
    this.#remember((await write()).object as Lease)
    return sent
  }

  /** Gives the lease back, unless it is not ours any more: the record that was fetched decides. */
  async #release(): Promise<void> {
    const { clock, timings, log } = this.#options
    const scope = abortScope()
    const stopTimer = clock.after(timings.renewDeadlineMs, () => scope.abort(this.#timeout(timings.renewDeadlineMs)))
    try {
      const given = await untilAborted(this.#giveBack(scope.signal), scope.signal)
      if (given) log.info(`Released the ${this.#title}`)
    } catch (error) {
      log.warn(`Cannot release ${this.#title}: ${messageOf(error)}; others wait for its end`)
    } finally {
      stopTimer()
    }
  }

  async #giveBack(signal: AbortSignal): Promise<boolean> {
    const { api, identity, clock } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        const current = (await api.get(this.#target(), signal)) as Lease
        if (current.spec?.holderIdentity !== identity) return false
        await api.update(this.#target(), { ...current, spec: released(current.spec, clock.now()) }, {}, signal)
        return true
      } catch (error) {
        if (isMissingObject(error)) return false
        if (!isReason(error, 'Conflict') || attempt >= RELEASE_TRIES) throw error
      }
    }
  }

  #remember(lease: Lease): void {
    this.#lease = lease
    this.#observed = observe(this.#observed, lease.spec ?? {}, this.#options.clock.monotonic())
  }

  #leftMs(): number {
    return leftMs(this.#renewed!, this.#moment(), this.#options.timings)
  }

  #moment(): Moment {
    return { monotonicMs: this.#options.clock.monotonic(), wallMs: this.#options.clock.now() }
  }

  #timeout(ms: number): DOMException {
    return new DOMException(`the server did not answer within ${formatMs(ms)}`, 'TimeoutError')
  }

  #target(): { resource: typeof LEASE; namespace: string; name: string } {
    return { resource: LEASE, namespace: this.#options.namespace, name: this.#options.lease }
  }
}

/** Another candidate was faster, at the update or at the create. */
function isLostRace(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'AlreadyExists')
}
