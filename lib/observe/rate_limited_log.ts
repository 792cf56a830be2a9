/** Says what may happen ten thousand times a second in a bounded number of lines. */
import type { Clock } from '../async/clock.ts'

/** So many lines at once, and one more a minute from then on. */
const BURST = 5
const EVERY_MS = 60_000

/**
 * Calls `say` when a line may be written, with how many were left out since the last one.
 * Nothing runs meanwhile: what was left out is told with the next line.
 */
export class RateLimitedLog {
  readonly #clock: Clock
  #tokens = BURST
  #filledMs = -Infinity
  #left = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  line(say: (left: number) => void): void {
    const nowMs = this.#clock.monotonic()
    const filled = Math.floor((nowMs - this.#filledMs) / EVERY_MS)
    if (filled > 0) {
      this.#tokens = Math.min(BURST, this.#tokens + filled)
      this.#filledMs = nowMs
    }
    if (this.#tokens === 0) return void this.#left++
    this.#tokens--
    say(this.#left)
    this.#left = 0
  }
}

/** How lines that were left out are told, behind a message. */
export function andMore(left: number): string {
  return left === 0 ? '' : ` (and ${left} more like it)`
}
