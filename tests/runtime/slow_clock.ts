/** A clock that advances with each call of `monotonic`, so that each checked step of work takes time. */
import type { Clock } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

export class SlowClock implements Clock {
  readonly fake: FakeClock
  /** How far each call advances the clock, in milliseconds. */
  lookMs: number
  #lookedMs = 0

  constructor(lookMs: number, fake: FakeClock = new FakeClock()) {
    this.lookMs = lookMs
    this.fake = fake
  }

  now(): number {
    return this.fake.now() + this.#lookedMs
  }

  monotonic(): number {
    this.#lookedMs += this.lookMs
    return this.fake.monotonic() + this.#lookedMs
  }

  after(ms: number, fire: () => void): () => void {
    return this.fake.after(ms, fire)
  }
}
