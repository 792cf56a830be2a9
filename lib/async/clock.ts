/** Time as a parameter: what waits takes a Clock, and a test advances one. */
import { abortScope, rejectOnAbort } from './abort.ts'

/** The time, as a parameter: tests advance a fake one. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. It can jump; use it for what is written down. */
  now(): number
  /** Milliseconds that never go back. They stand still while the machine is suspended; use them for intervals. */
  monotonic(): number
  /** Calls `fn` after `ms`; returns what prevents it. */
  after(ms: number, fn: () => void): () => void
}

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    // A delay above 2^31-1 ms would fire at once; waking early and waiting on is exact.
    let timer = setTimeout(fire, Math.min(ms, LONGEST_TIMER_MS))
    let left = ms - LONGEST_TIMER_MS
    function fire(): void {
      if (left <= 0) return fn()
      timer = setTimeout(fire, Math.min(left, LONGEST_TIMER_MS))
      left -= LONGEST_TIMER_MS
    }
    return () => clearTimeout(timer)
  },
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Calls `act` with a signal that follows `parents`, and is aborted with the error that `late` makes after `ms`. */
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

/** Resolves to whether a promise fulfils within `ms`. Rejects as the promise does; how it ends after that time is ignored. */
export async function isInTime(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  let stop = (): void => {}
  const late = new Promise<boolean>((resolve) => (stop = clock.after(ms, () => resolve(false))))
  return await Promise.race([promise.then(() => true), late]).finally(() => stop())
}

/** Resolves after `ms`; rejects with the signal's reason when that comes first. Nothing is left behind either way. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return rejectOnAbort(signal, (resolve) => clock.after(ms, resolve))
}
