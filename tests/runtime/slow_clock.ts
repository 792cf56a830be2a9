/** A clock on which every look takes its time: work of which each step is looked at takes so long a step. */
import type { Clock } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'

export class SlowClock implements Clock {
  readonly fake: FakeClock
  /** How long each look takes. 0: the clock stands still. */
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
