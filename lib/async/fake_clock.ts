/** Implements a clock that a test advances. */
import { Heap } from './heap.ts'
import { type Clock, nextTurn } from './clock.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
  cancelled: boolean
}

/** Options of {@link FakeClock}. */
export interface FakeClockOptions {
  /** The wall-clock time at the start, in milliseconds since 1970. Default: 2026-01-01T00:00:00Z. */
  readonly nowMs?: number
  /** Awaited before each timer fires, so that the work of the last one is done, and at the end. Default: one turn. */
  readonly settle?: () => Promise<void>
}

/**
 * A {@link Clock} for tests, whose time passes only in {@link FakeClock.advance}.
 *
 * @example
 * ```ts
 * import { FakeClock } from 'kubeloop/testing'
 * const clock = new FakeClock()
 * let rang = false
 * clock.after(1000, () => (rang = true))
 * await clock.advance(999) // rang is false
 * await clock.advance(1) // rang is true
 * ```
 */
export class FakeClock implements Clock {
  readonly #startedMs: number
  readonly #settle: () => Promise<void>
  readonly #timers = new Heap<Timer>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order))
  #elapsedMs = 0
  #order = 0

  constructor(options: FakeClockOptions = {}) {
    this.#startedMs = options.nowMs ?? Date.UTC(2026, 0, 1)
    this.#settle = options.settle ?? nextTurn
  }

  now(): number {
    return this.#startedMs + this.#elapsedMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  after(ms: number, fire: () => void): () => void {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), order: this.#order++, fire, cancelled: false }
    this.#timers.push(timer)
    return () => void (timer.cancelled = true)
  }

  /** The number of timers that have neither fired nor been cancelled. */
  get pending(): number {
    let count = 0
    for (const timer of this.#timers) if (!timer.cancelled) count++
    return count
  }

  /**
   * Lets time pass, in milliseconds. Timers fire in order, each when the work of the one before is done. With `isDone`,
   * time stops at the first timer after whose work that is true, or else at the last timer.
   */
  async advance(ms: number, isDone?: () => boolean): Promise<void> {
    if (!Number.isFinite(ms)) throw new RangeError(`Cannot advance the clock by ${String(ms)}: it takes milliseconds`)
    const endMs = this.#elapsedMs + ms
    for (;;) {
      await this.#settle()
      if (isDone?.()) return
      const next = this.#timers.peek()
      if (!next || next.dueMs > endMs) break
      this.#timers.pop()
      if (next.cancelled) continue
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs)
      next.fire()
    }
    if (!isDone) this.#elapsedMs = endMs
  }
}
