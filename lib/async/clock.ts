/** The clock as a parameter, waits on it, and turns of the event loop. */
import { abortScope, rejectOnAbort } from './abort.ts'

/** The time, as a parameter: tests advance a fake one. */
export interface Clock {
  /** Returns wall-clock milliseconds since 1970. They can jump; use them for timestamps. */
  now(): number
  /** Returns milliseconds that never go back. They stop while the machine is suspended; use them for intervals. */
  monotonic(): number
  /** Calls `fn` after `ms`. Returns a function that cancels the call. */
  after(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    let timer: ReturnType<typeof setTimeout>
    // A timer above 2^31-1 ms would fire at once, so a longer delay is waited for in parts.
    const wait = (left: number): void => {
      timer = left > MAX_TIMER_MS ? setTimeout(wait, MAX_TIMER_MS, left - MAX_TIMER_MS) : setTimeout(fn, left)
    }
    wait(ms)
    return () => clearTimeout(timer)
  },
}

const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls `act` with a signal that follows `parents`, and is aborted with the error from `late` after `ms`. */
export async function within<T>(
  clock: Clock,
  ms: number,
  late: () => Error,
  act: (signal: AbortSignal) => Promise<T>,
  ...parents: readonly (AbortSignal | undefined)[]
): Promise<T> {
  const scope = abortScope(...parents)
  const stop = clock.after(ms, () => scope.abort(late()))
  try {
    return await act(scope.signal)
  } finally {
    stop()
    scope[Symbol.dispose]()
  }
}

/** Resolves to whether the promise fulfils within `ms`. Rejects if it rejects in that time; ignores a later end. */
export async function isInTime(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  let stop = (): void => {}
  const late = new Promise<boolean>((resolve) => (stop = clock.after(ms, () => resolve(false))))
  return await Promise.race([promise.then(() => true), late]).finally(() => stop())
}

/** Resolves after `ms`. Rejects with the signal's reason if it is aborted first. Leaves no timer or listener behind. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return rejectOnAbort(signal, (resolve) => clock.after(ms, resolve))
}

/** Resolves after `ms`, or when the signal is aborted, for callers that check the signal themselves. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  // It rejects only when the signal is aborted.
  await sleep(clock, ms, signal).catch(() => {})
}

/** Resolves in the next macrotask, after pending timers, sockets and signals. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** How long all long-running work together may take in one turn. A lease renewal or a probe needs a few turns. */
const BUDGET_MS = 8

/**
 * The time that long-running work may take in one turn of the event loop. Each clock has one budget
 * ({@link turnBudgetOf}) that all work shares: fifty controllers that start together take as long as one. On a clock
 * that does not advance it is never spent.
 */
export class TurnBudget {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** When work first asked for the time in this turn; undefined before that. */
  #beganMs: number | undefined
  /** Callers of {@link turn}, the oldest first. */
  readonly #waiting: (() => void)[] = []
  #isArmed = false

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Whether this turn's time is spent. Long-running work checks it after each step, and then awaits {@link turn}. */
  get isSpent(): boolean {
    const nowMs = this.#clock.monotonic()
    if (this.#beganMs !== undefined) return nowMs - this.#beganMs >= BUDGET_MS
    this.#beganMs = nowMs
    this.#arm()
    return false
  }

  /** Resolves in a later turn, for one caller per turn. Other work may use the rest of that turn's time. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#arm()
    })
  }

  /** Runs all steps and waits for a later turn whenever this one's time is spent. Rejects if a step throws. */
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

/** Returns the budget that all work on this clock shares. */
export function turnBudgetOf(clock: Pick<Clock, 'monotonic'>): TurnBudget {
  let budget = budgets.get(clock)
  if (!budget) budgets.set(clock, budget = new TurnBudget(clock))
  return budget
}
