/** The argument and the result of a reconcile, and what the controller does with the key afterwards. */
import { isNotCapable, messageOf, TerminalError } from '../core/errors.ts'
import { refuseUnknown } from '../core/option_names.ts'
import { type DurationLike, toMs } from '../core/duration.ts'
import type { ObjectKey } from '../core/objects.ts'
import type { WriteRecord } from '../client/client.ts'
import type { Log } from '../observe/log.ts'

/** The argument of one run of a reconcile. */
export interface Run {
  readonly key: ObjectKey
  /** Aborted when the run ends, times out, or is abandoned shortly before the end of the grace period. */
  readonly signal: AbortSignal
  /** Aborted when the stop begins, and with `signal`. */
  readonly stopping: AbortSignal
  readonly log: Log
  /** 1 at first, plus one for each failure in a row whose back-off has ended. */
  readonly attempt: number
  /** Called for each write of the run. */
  readonly onWrite: ((write: WriteRecord) => void) | undefined
}

/**
 * What a reconcile returns: nothing, a delay until the next run, or `{ requeue: true }` for a run after the back-off of
 * a failure that does not count as one. If both are given, a `requeueAfter` above 0 is used, as in controller-runtime.
 * Throw to be retried with back-off. `priority` changes the key's priority in the queue: higher ones run first; new
 * events have 0, objects of the first list −100.
 *
 * @example
 * ```ts
 * import type { Result } from 'kubeloop'
 * const results: Result[] = [undefined, { requeueAfter: '30s' }, { requeue: true }, { requeue: true, priority: 10 }]
 * ```
 */
export type Result = [
  void | Requeue<'a number and ms, s, m, h or d, as in 30s; durationMs(text) reads that of a spec'>,
][0]

/** When the next run begins. The type parameter shows what a {@link Duration} is in messages of the compiler. */
export type Requeue<Hint extends string> =
  // If neither matches, the compiler's message is about the last one.
  | {
    readonly requeue: boolean
    readonly requeueAfter?: DurationLike<Hint> | undefined
    readonly priority?: number | undefined
  }
  | {
    readonly requeueAfter: DurationLike<Hint>
    readonly requeue?: boolean | undefined
    readonly priority?: number | undefined
  }

/** Thrown by a reconcile to be retried at another priority. Other errors keep the key's priority. */
export class RetryError extends Error {
  override readonly name = 'RetryError'
  readonly priority: number

  constructor(message: string, options: { priority: number; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.priority = options.priority
  }
}

export type Outcome =
  | { readonly kind: 'returned'; readonly result: Result }
  | { readonly kind: 'threw'; readonly error: unknown }

/** What the controller does with the key. As in controller-runtime, an error comes before anything else. */
export type Disposition =
  /** Success: failures are forgotten. `isGone`: the object did not exist. */
  | { readonly kind: 'forget'; readonly label: 'success'; readonly isGone?: true }
  /** Run again in `ms`, without rate limit; failures are forgotten. Without a priority the key keeps its own. */
  | {
    readonly kind: 'later'
    readonly ms: number
    readonly priority: number | undefined
    readonly label: 'requeue_after'
  }
  /** Run again after the back-off of a failure; failures are kept. Without a priority the key keeps its own. */
  | { readonly kind: 'requeue'; readonly priority: number | undefined; readonly label: 'requeue' }
  /** Retry with back-off. Without a priority the key keeps its own. */
  | { readonly kind: 'retry'; readonly error: unknown; readonly priority: number | undefined; readonly label: 'error' }
  /** No retry, because it would fail again: the next event runs the key. */
  | { readonly kind: 'drop'; readonly error: unknown; readonly label: 'error' }

/** Returned by a step if the object is gone: a success, but not a recovery of a key that failed. */
export const GONE: Result = Object.freeze({ requeue: false })

const SHAPE = { requeueAfter: 0, requeue: [true, false], priority: 0 } as const

/** Returns what to do with the key. An invalid result counts as an error of the reconcile. */
export function disposition(outcome: Outcome): Disposition {
  if (outcome.kind === 'threw') return fail(outcome.error)
  if (outcome.result === undefined || outcome.result === null) return { kind: 'forget', label: 'success' }
  if (outcome.result === GONE) return { kind: 'forget', label: 'success', isGone: true }
  try {
    refuseUnknown('', outcome.result, SHAPE)
    const { requeueAfter, requeue, priority } = outcome.result
    const ms = requeueAfter === undefined && requeue !== undefined ? 0 : toMs(requeueAfter!)
    if (priority !== undefined && !isPriority(priority)) {
      throw new RangeError(`priority is ${String(priority)}, and must be a finite number`)
    }
    if (requeue && !(ms > 0)) return { kind: 'requeue', priority, label: 'requeue' }
    return ms > 0 ? { kind: 'later', ms, priority, label: 'requeue_after' } : { kind: 'forget', label: 'success' }
  } catch (error) {
    const message =
      `Cannot use what the reconcile returned (nothing, { requeueAfter, priority } or { requeue, priority }): ${
        messageOf(error)
      }`
    return fail(new TypeError(message, { cause: error }))
  }
}

function fail(error: unknown): Disposition {
  if (error instanceof TerminalError || isNotCapable(error)) return { kind: 'drop', error, label: 'error' }
  // An invalid priority must not prevent the retry.
  const priority = error instanceof RetryError && isPriority(error.priority) ? error.priority : undefined
  return { kind: 'retry', error, priority, label: 'error' }
}

function isPriority(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
