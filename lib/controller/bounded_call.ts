/** Calls of a user's function that may never answer. */
import { formatMs } from '../core/duration.ts'
import { LazyAbort, untilAborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'

/** What the function is given beside its arguments. */
export interface Call {
  /** Aborted when the call has taken too long, or whoever waits for it has stopped; and when it has ended. */
  readonly signal: AbortSignal
}

export interface CallLimits {
  /** How the function is called in errors: `The map function`. */
  readonly what: string
  readonly maxMs: number
  readonly clock: Clock
  /** Ends the waiting. */
  readonly signal: AbortSignal
}

/**
 * What the function answers. One that answers at once costs neither a promise nor a signal; whatever it throws at once
 * is a rejection. One that does not answer in time is left alone, and rejects with a TimeoutError.
 */
export function boundedCall<T>(fn: (call: Call) => T | Promise<T>, limits: CallLimits): T | Promise<T> {
  // Few functions read their signal.
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
    if (!isPending) call.abort(callEnded())
  }
}

/** The same promise: one that is awaited later must not count as unhandled meanwhile. */
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
      call.abort(callEnded())
    }),
  )
}

let ended: DOMException | undefined

/** Shared by all calls, because creating one is slow. */
function callEnded(): DOMException {
  return (ended ??= new DOMException('The call has ended', 'AbortError'))
}

export function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined | null)?.then === 'function'
}
