/** Says what may happen ten thousand times a second in a bounded number of lines. */
import type { Clock } from '../async/clock.ts'
import { TokenBucket } from '../async/token_bucket.ts'

/** So many lines at once, and one more a minute from then on. */
const RATE = { burst: 5, refillMs: 60_000 } as const

/**
 * Calls `say` when a line may be written, with how many were left out since the last one.
 * Nothing runs meanwhile: what was left out is told with the next line.
 */
export class RateLimitedLog {
  readonly #clock: Clock
  readonly #bucket = new TokenBucket(RATE)
  #left = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  line(say: (left: number) => void): void {
    if (!this.#bucket.take(this.#clock.monotonic())) return void this.#left++
    say(this.#left)
    this.#left = 0
  }
}

/** How lines that were left out are told, behind a message. */
export function andMore(left: number): string {
  return left === 0 ? '' : ` (and ${left} more like it)`
}
