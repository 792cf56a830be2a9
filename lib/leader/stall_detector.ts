/** Notices that the event loop stood still: what was to happen after so long happens later. */
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import { elapsedMs, elapsedSince, look, type Moment, momentOf } from './lease_state.ts'

export class StallDetector {
  readonly #clock: Clock
  #since: Moment | undefined
  #withinMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Something is to happen within `ms`. */
  expect(ms: number): void {
    this.#since = momentOf(this.#clock)
    this.#withinMs = ms
  }

  /** What is to be said of it when it is late by more than `toleratedMs`. */
  ended(toleratedMs: number): string | undefined {
    if (!this.#since) return undefined
    const now = momentOf(this.#clock)
    const lateMs = now.monotonicMs - this.#since.monotonicMs - this.#withinMs
    if (lateMs > toleratedMs) return `the event loop stood still for ${formatMs(lateMs)}`
    const jumpedMs = elapsedMs(look(elapsedSince(this.#since), now), now.monotonicMs) - this.#withinMs
    if (jumpedMs <= toleratedMs) return undefined
    return `the machine was suspended, or its clock set forward, by ${formatMs(jumpedMs)}`
  }
}
