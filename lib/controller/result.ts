/** What a reconcile ends in, and what becomes of its key: one pure function for every outcome. */
import { isNotCapable, messageOf, TerminalError } from '../core/errors.ts'
import { type DurationLike, toMs } from '../core/duration.ts'

/**
 * What a reconcile returns: nothing, when to come back, or `{ requeue: true }` to come back with the back-off of a failure, without
 * being one. Where both are given, a `requeueAfter` above 0 counts, as in controller-runtime. Throw to be retried with back-off. The
 * key keeps the priority that it has in the queue, unless `priority` says another: higher ones are worked on first, news has 0 and
 * what a first list brings −100.
 *
 * @example
 * ```ts
 * import type { Result } from 'kubeloop'
 * const results: Result[] = [undefined, { requeueAfter: '30s' }, { requeue: true }, { requeue: true, priority: 10 }]
 * ```
 */
export type Result = [void | Requeue<'30s' | '5m' | '1.5h'>][0]

/** When to come back; messages of the compiler call it by this name, and so show examples of a {@link Duration}. */
export type Requeue<Example extends string> =
  // Of two that fit a result badly, the compiler speaks of the last.
  | {
    readonly requeue: boolean
    readonly requeueAfter?: DurationLike<Example> | undefined
    readonly priority?: number | undefined
  }
  | {
    readonly requeueAfter: DurationLike<Example>
    readonly requeue?: boolean | undefined
    readonly priority?: number | undefined
  }

/** Thrown by a reconcile that wants to be tried again at another priority than its key has. Other errors keep it. */
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

/** What the controller does with the key, in controller-runtime's order: an error counts before anything else. */
export type Disposition =
  /** Success: failures are forgotten. `isGone`: there was no object to reconcile. */
  | { readonly kind: 'forget'; readonly label: 'success'; readonly isGone?: true }
  /** Come back in `ms`; not rate limited, and failures are forgotten. Without a priority the key keeps its own. */
  | {
    readonly kind: 'later'
    readonly ms: number
    readonly priority: number | undefined
    readonly label: 'requeue_after'
  }
  /** Come back with back-off, as after a failure; failures are not forgotten. Without a priority the key keeps its own. */
  | { readonly kind: 'requeue'; readonly priority: number | undefined; readonly label: 'requeue' }
  /** Try again with back-off. Without a priority the key keeps its own. */
  | { readonly kind: 'retry'; readonly error: unknown; readonly priority: number | undefined; readonly label: 'error' }
  /** Trying again is useless: wait for the next event. */
  | { readonly kind: 'drop'; readonly error: unknown; readonly label: 'error' }

/** What a step returns when the object is gone: a success, and no sign that a key that failed works again. */
export const GONE: Result = Object.freeze({ requeue: false })

export function disposition(outcome: Outcome): Disposition {
  if (outcome.kind === 'threw') return fail(outcome.error)
  if (outcome.result === undefined || outcome.result === null) return { kind: 'forget', label: 'success' }
  if (outcome.result === GONE) return { kind: 'forget', label: 'success', isGone: true }
  try {
    const { requeueAfter, requeue, priority } = outcome.result
    if (requeue !== undefined && typeof requeue !== 'boolean') {
      throw new TypeError(`requeue is ${String(requeue)}, and must be true or false`)
    }
    const ms = requeueAfter === undefined && requeue !== undefined ? 0 : toMs(requeueAfter!)
    if (priority !== undefined && !isPriority(priority)) {
      throw new RangeError(`${String(priority)} is no priority: that is a finite number`)
    }
    if (requeue && !(ms > 0)) return { kind: 'requeue', priority, label: 'requeue' }
    return ms > 0 ? { kind: 'later', ms, priority, label: 'requeue_after' } : { kind: 'forget', label: 'success' }
  } catch (error) {
    // A result that cannot be read is a mistake of the reconcile, to be seen and retried like any other.
    const message =
      `Cannot use what the reconcile returned (nothing, { requeueAfter, priority } or { requeue, priority }): ${
        messageOf(error)
      }`
    return fail(new TypeError(message, { cause: error }))
  }
}

function fail(error: unknown): Disposition {
  if (error instanceof TerminalError || isNotCapable(error)) return { kind: 'drop', error, label: 'error' }
  // A priority that is none must not cost the retry.
  const priority = error instanceof RetryError && isPriority(error.priority) ? error.priority : undefined
  return { kind: 'retry', error, priority, label: 'error' }
}

function isPriority(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
