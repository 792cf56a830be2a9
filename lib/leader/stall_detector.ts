/** Detects a blocked event loop or a suspended process: an expected step happens too late. */
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import { elapsedMs, elapsedSince, type Moment, momentOf, update } from './lease_state.ts'

export class StallDetector {
  readonly #clock: Clock
  #since: Moment | undefined
  #withinMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Expects the next step within `ms`. */
  expect(ms: number): void {
    this.#since = momentOf(this.#clock)
    this.#withinMs = ms
  }

  /** Returns the reason, as text, if the step is late by more than `toleratedMs`. */
  describe(toleratedMs: number): string | undefined {
    if (!this.#since) return undefined
    const now = momentOf(this.#clock)
    const lateMs = now.monotonicMs - this.#since.monotonicMs - this.#withinMs
    if (lateMs > toleratedMs) return `the event loop was blocked, or the process suspended, for ${formatMs(lateMs)}`
    const jumpedMs = elapsedMs(update(elapsedSince(this.#since), now), now.monotonicMs) - this.#withinMs
    if (jumpedMs <= toleratedMs) return undefined
    return `the machine was suspended, or its clock set forward, by ${formatMs(jumpedMs)}`
  }
}
