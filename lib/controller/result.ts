/** What a reconcile ends in, and what becomes of its key: one pure function for every outcome. */
import { messageOf, TerminalError } from '../core/errors.ts'
import { toMs, type Duration } from '../core/duration.ts'

/** What a reconcile returns: nothing, or when to come back. Throw to be retried with back-off. */
export type Result = void | { readonly requeueAfter: Duration }

export type Outcome =
  | { readonly kind: 'returned'; readonly result: Result }
  | { readonly kind: 'threw'; readonly error: unknown }

/** What the controller does with the key, in controller-runtime's order: an error counts before anything else. */
export type Disposition =
  /** Success: failures are forgotten. */
  | { readonly kind: 'forget'; readonly label: 'success' }
  /** Come back in `ms`; not rate limited, and failures are forgotten. */
  | { readonly kind: 'later'; readonly ms: number; readonly label: 'requeue_after' }
  /** Try again with back-off. */
  | { readonly kind: 'retry'; readonly error: unknown; readonly label: 'error' }
  /** Trying again is useless: wait for the next event. */
  | { readonly kind: 'drop'; readonly error: unknown; readonly label: 'error' }

export function disposition(outcome: Outcome): Disposition {
  if (outcome.kind === 'threw') return fail(outcome.error)
  if (outcome.result === undefined || outcome.result === null) return { kind: 'forget', label: 'success' }
  try {
    const ms = toMs(outcome.result.requeueAfter)
    return ms > 0 ? { kind: 'later', ms, label: 'requeue_after' } : { kind: 'forget', label: 'success' }
  } catch (error) {
    // A result that cannot be read is a mistake of the reconcile, to be seen and retried like any other.
    const message = `Cannot use what the reconcile returned (nothing, or { requeueAfter }): ${messageOf(error)}`
    return fail(new TypeError(message, { cause: error }))
  }
}

function fail(error: unknown): Disposition {
  return { kind: error instanceof TerminalError ? 'drop' : 'retry', error, label: 'error' }
}
