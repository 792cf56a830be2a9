/** One timer for many times: it rings at the earliest of them. */
import type { Clock } from '../async/clock.ts'

export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #dueMs = Infinity
  #cancel: (() => void) | undefined

  /** `ring` is called once for each time that is set; it may come a fraction early, as timers do. */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** Rings at that instant of the monotonic clock, instead of the one before; not at all for `undefined` and Infinity. */
  set(dueMs: number | undefined = Infinity): void {
    if (dueMs === this.#dueMs) return
    this.#cancel?.()
    this.#dueMs = dueMs
    this.#cancel = dueMs === Infinity
      ? undefined
      : this.#clock.after(Math.max(0, dueMs - this.#clock.monotonic()), () => {
        this.#dueMs = Infinity
        this.#cancel = undefined
        this.#ring()
      })
  }
}
