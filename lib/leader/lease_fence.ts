/**
 * Fences the writes of one leader term.
 *
 * Safety: no write begins later than `renewDeadline` after the last successful renewal was *sent*, by the monotonic or
 * the wall clock, whichever moved further (see {@link Elapsed} for clocks that are set). The time is checked on a
 * connected socket, right before the first byte, and again at each retry. Open writes are aborted then. The next leader
 * begins at the earliest `duration` after it saw that renewal, so writes that have begun have a margin of
 * `duration − renewDeadline` (5 s by default).
 *
 * Not guaranteed: when a write that has begun takes effect. Its bytes may wait in the kernel's socket buffer, in a
 * proxy, or in the server's queues (the server ends most requests after 60 s), and the process may be suspended between
 * the check and the send. The API server has no fencing tokens: to protect an object from a late write, write it with a
 * resourceVersion, as `update` and `edit` do.
 *
 * The rates of two clocks may differ by at most the factor `duration / renewDeadline`.
 */
import { LeadershipLost } from '../core/errors.ts'
import type { Fence, WriteEnd } from '../core/fence.ts'
import type { Clock } from '../async/clock.ts'
import {
  type Elapsed,
  elapsedMs,
  elapsedSince,
  type LeaseTimings,
  type Moment,
  momentOf,
  update,
} from './lease_state.ts'

export interface LeaseFenceOptions {
  readonly clock: Clock
  readonly timings: LeaseTimings
  /** The lease in errors, such as `lease "default/lock"`. */
  readonly title: string
  /** Returns the reason when the time is over. */
  readonly expired: () => LeadershipLost
}

/**
 * A fence for one term. It blocks writes until the lease is acquired; its signal is not aborted then. A fallen fence
 * stays down. It falls by a timer, or by the first check after the deadline.
 */
export class LeaseFence implements Fence {
  readonly #options: LeaseFenceOptions
  readonly #fallen = new AbortController()
  /** The time since the last successful renewal was sent; undefined before the first. */
  #renewed: Elapsed | undefined
  #stopTimer: (() => void) | undefined
  #openWrites = 0
  /** When a write last ended without a response, and may still take effect. Monotonic. */
  #unknownAtMs = -Infinity

  constructor(options: LeaseFenceOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#fallen.signal
  }

  /** Throws LeadershipLost if the fence has fallen, and an Error before the lease is acquired. */
  check(): void {
    if (this.holds()) return
    this.#fallen.signal.throwIfAborted()
    throw new Error(`Cannot write under the ${this.#options.title}: this process does not hold it yet`)
  }

  /** Returns whether a write may begin, by the clocks now. */
  holds(): boolean {
    if (!this.#renewed || this.#fallen.signal.aborted) return false
    if (this.#leftMs() > 0) return true
    this.fall(this.#options.expired())
    return false
  }

  /** Records a renewal by its send time. Returns false if it is too late: the fence has fallen, or never held. */
  renew(sent: Moment): boolean {
    const { clock } = this.#options
    if (this.#renewed ? !this.holds() : this.#fallen.signal.aborted) return false
    const before = this.#renewed
    this.#renewed = elapsedSince(sent)
    if (this.#leftMs() <= 0) {
      this.#renewed = before
      return false
    }
    this.#stopTimer ??= clock.after(this.#leftMs(), () => this.#onTimer())
    return true
  }

  /** Blocks all writes from now on. Only the first reason counts. */
  fall(reason: Error): void {
    this.#stopTimer?.()
    if (!this.#fallen.signal.aborted) this.#fallen.abort(reason)
  }

  opened(): (end: WriteEnd) => void {
    this.#openWrites++
    return (end) => {
      this.#openWrites--
      if (end === 'unknown') this.#unknownAtMs = this.#options.clock.monotonic()
    }
  }

  /**
   * Whether no write of this term is open. A write without a response counts as open for `duration − renewDeadline`:
   * then it is as old as the writes that a crashed leader leaves to the next one.
   */
  get settled(): boolean {
    const { clock, timings } = this.#options
    return this.#openWrites === 0 &&
      clock.monotonic() - this.#unknownAtMs >= timings.durationMs - timings.renewDeadlineMs
  }

  /** Milliseconds since the last successful renewal was sent; undefined before the first. */
  get renewedAgoMs(): number | undefined {
    return this.#renewed && this.#options.timings.renewDeadlineMs - this.#leftMs()
  }

  #leftMs(): number {
    const now = momentOf(this.#options.clock)
    this.#renewed = update(this.#renewed!, now)
    return this.#options.timings.renewDeadlineMs - elapsedMs(this.#renewed, now.monotonicMs)
  }

  /** Checks again: one timer that is extended, rather than a new one for each renewal. */
  #onTimer(): void {
    // At least 1 ms, so that a rounding error causes no busy loop.
    if (this.holds()) {
      this.#stopTimer = this.#options.clock.after(Math.max(1, this.#leftMs()), () => this.#onTimer())
    }
  }
}
