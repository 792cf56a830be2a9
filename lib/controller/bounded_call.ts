/** Calls a user's function with a time limit. */
import { formatMs } from '../core/duration.ts'
import { LazyAbort, untilAborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'

/** Passed to the function beside its arguments. */
export interface Call {
  /** Aborted when the call takes too long, its caller stops, or it has ended. */
  readonly signal: AbortSignal
}

export interface CallLimits {
  /** The function's name in errors: `The map function`. */
  readonly what: string
  readonly maxMs: number
  readonly clock: Clock
  /** Ends the wait for the function. */
  readonly signal: AbortSignal
}

/**
 * Returns the function's result; a synchronous one needs neither a promise nor a signal. A synchronous error becomes a
 * rejection. Rejects with a TimeoutError if the function does not settle within `maxMs`, and ignores its later result.
 */
export function boundedCall<T>(fn: (call: Call) => T | Promise<T>, limits: CallLimits): T | Promise<T> {
  const call = new LazyAbort(limits.signal)
  let isPending = false
  try {
    const answer = fn(call)
    if (!isThenable(answer)) return answer
    isPending = true
    return inTime(answer, call, limits)
  } catch (error) {
    return handled(Promise.reject(error))
  } finally {
    if (!isPending) call.end()
  }
}

/** Returns the same promise. It may be awaited later, and must not count as an unhandled rejection until then. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function inTime<T>(answer: Promise<T>, call: LazyAbort, { what, maxMs, clock, signal }: CallLimits): Promise<T> {
  let cancel = (): void => {}
  const tooLate = new Promise<never>((_, reject) => {
    cancel = clock.after(
      maxMs,
      () => reject(new DOMException(`${what} did not answer within ${formatMs(maxMs)}`, 'TimeoutError')),
    )
  })
  return handled(
    untilAborted(Promise.race([answer, tooLate]), signal).finally(() => {
      cancel()
      call.end()
    }),
  )
}

export function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined | null)?.then === 'function'
}
