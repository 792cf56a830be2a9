/**
 * The fence around what is written in the name of a lease, for one term.
 *
 * **Promised**: no write begins later than `renewDeadline` after the last successful renewal was *sent*, by whichever of the
 * monotonic and the wall clock moved further ({@link Elapsed} says what that means for clocks that are set); the moment is
 * looked at on a connected socket, right before the first byte, and again at each retry. Writes that are open then are
 * aborted. The next leader can begin `duration` after it saw that renewal at the earliest, so `duration − renewDeadline`
 * (5 s by default) is the margin for what had begun before.
 *
 * **Not promised**, because nobody here can: a write that has begun may land as late as it likes. Its bytes may wait in the
 * kernel's socket buffer, in a proxy, or in the server's queues (it ends most requests after 60 s), and a process can be suspended between
 * the look at the clock and the call that hands the bytes to the kernel. The API server knows no fencing tokens: what must not be
 * overwritten by such a straggler carries a resourceVersion, as `update` and `edit` do.
 *
 * Clocks may run at different rates, as long as the fastest gains no more on the slowest than `duration / renewDeadline`.
 */
import { LeadershipLost } from '../core/errors.ts'
import type { Fence, WriteEnd } from '../core/fence.ts'
import type { Clock } from '../async/clock.ts'
import { type Elapsed, elapsedMs, elapsedSince, type LeaseTimings, look, type Moment, momentOf } from './lease_state.ts'

export interface LeaseFenceOptions {
  readonly clock: Clock
  readonly timings: LeaseTimings
  /** What the fence is about, such as `lease "default/lock"`. */
  readonly title: string
  /** Says why, when the time is over. */
  readonly expired: () => LeadershipLost
}

/**
 * Before the lease is won it lets nobody through, and its signal is not aborted; once it has fallen it never stands up
 * again, whatever is renewed. A timer lets it fall, and at the latest the first look after that.
 */
export class LeaseFence implements Fence {
  readonly #options: LeaseFenceOptions
  readonly #fallen = new AbortController()
  /** Since the last successful renewal was sent; undefined until the first. */
  #renewed: Elapsed | undefined
  #stopTimer: (() => void) | undefined
  #openWrites = 0
  /** When a write last ended without an answer; the server may still carry it out. By the monotonic clock. */
  #unknownAtMs = -Infinity

  constructor(options: LeaseFenceOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#fallen.signal
  }

  /** Throws LeadershipLost once the fence has fallen, and an Error before the lease is won. */
  check(): void {
    if (this.stands()) return
    this.#fallen.signal.throwIfAborted()
    throw new Error(`Cannot write in the name of the ${this.#options.title}: it is not ours yet`)
  }

  /** Whether a write may begin. Looks at the clocks. */
  stands(): boolean {
    if (!this.#renewed || this.#fallen.signal.aborted) return false
    if (this.#leftMs() > 0) return true
    this.fall(this.#options.expired())
    return false
  }

  /** A renewal that was sent then has succeeded. False when that comes too late: then the fence has fallen, or never stood. */
  renew(sent: Moment): boolean {
    const { clock } = this.#options
    if (this.#renewed ? !this.stands() : this.#fallen.signal.aborted) return false
    const before = this.#renewed
    this.#renewed = elapsedSince(sent)
    if (this.#leftMs() <= 0) {
      this.#renewed = before
      return false
    }
    this.#stopTimer ??= clock.after(this.#leftMs(), () => this.#timeIsOver())
    return true
  }

  /** Nobody is let through from now on. Only the first reason counts. */
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
   * Whether nothing is left of what was written in this term. A write that ended without an answer counts as open for as long
   * as the margin is: then it is as old as what a leader that dies leaves to the next one.
   */
  get settled(): boolean {
    const { clock, timings } = this.#options
    return this.#openWrites === 0 &&
      clock.monotonic() - this.#unknownAtMs >= timings.durationMs - timings.renewDeadlineMs
  }

  /** How long ago the last successful renewal was sent; undefined before the first. */
  get renewedAgoMs(): number | undefined {
    return this.#renewed && this.#options.timings.renewDeadlineMs - this.#leftMs()
  }

  #leftMs(): number {
    const now = momentOf(this.#options.clock)
    this.#renewed = look(this.#renewed!, now)
    return this.#options.timings.renewDeadlineMs - elapsedMs(this.#renewed, now.monotonicMs)
  }

  /** One timer that looks again, rather than a new one for each renewal. */
  #timeIsOver(): void {
    // At least 1 ms: what a rounding left over is no reason to spin.
    if (this.stands()) {
      this.#stopTimer = this.#options.clock.after(Math.max(1, this.#leftMs()), () => this.#timeIsOver())
    }
  }
}
