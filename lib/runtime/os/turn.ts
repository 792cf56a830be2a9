/** Turns of the event loop: how long work gives way to timers, sockets and signals. */
import type { Clock } from '../../async/clock.ts'

/** A macrotask turn: timers, sockets and signals get their chance before what follows. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** How much of one turn long work takes, all of it together. A lease is renewed and a probe answered in a few turns. */
const BUDGET_MS = 8

/**
 * The time that long work may take of one turn of the event loop. There is one for each clock ({@link turnBudgetOf}), so that all
 * work shares it: fifty controllers that start together take as long of a turn as one. A clock that stands still never ends it.
 */
export class TurnBudget {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** When the first work of this turn looked at the time; undefined while there is none. */
  #beganMs: number | undefined
  /** Work that waits for a turn, the longest waiting first. */
  readonly #waiting: (() => void)[] = []
  #isArmed = false

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Whether this turn's time is over: long work asks after each step, and awaits {@link turn} then. */
  get isSpent(): boolean {
    const nowMs = this.#clock.monotonic()
    if (this.#beganMs !== undefined) return nowMs - this.#beganMs >= BUDGET_MS
    this.#beganMs = nowMs
    this.#arm()
    return false
  }

  /** Resolves in a later turn, one caller in each: a turn's time is for one of those that wait, and what is left of it for others. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#arm()
    })
  }

  /** Does all steps of a work, with a later turn between two of them when this one's time is over. Rejects if a step throws. */
  async run<T>(steps: Iterator<unknown, T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value as T
      if (this.isSpent) await this.turn()
    }
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isArmed = false
    this.#beganMs = undefined
    const next = this.#waiting.shift()
    if (!next) return
    this.#beganMs = this.#clock.monotonic()
    this.#arm()
    next()
  }
}

const budgets = new WeakMap<object, TurnBudget>()

/** The budget that all work on this clock shares. */
export function turnBudgetOf(clock: Pick<Clock, 'monotonic'>): TurnBudget {
  let budget = budgets.get(clock)
  if (!budget) budgets.set(clock, budget = new TurnBudget(clock))
  return budget
}
