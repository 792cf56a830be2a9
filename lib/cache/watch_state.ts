/**
 * What an informer does next, decided without I/O. A driver performs the effect of a state and feeds what came of it
 * back in; the transitions are a function.
 *
 * The rules are client-go's: a watch that ends normally, or that the server refuses for a while, is opened again
 * where it stopped, without listing. A version that the server no longer has (410), a line that cannot be read, or an
 * error within the watch make a new list necessary.
 */
import { ApiError, isReason, NetworkError } from '../core/errors.ts'
import { backoffMs } from '../async/backoff.ts'

export type WatchState =
  /**
   * Nothing is known, or what was known is too old: the whole list is wanted. Ends with a list or a failure.
   * `failures` in a row, here and below, counts those without a good watch between them.
   */
  | { readonly kind: 'listing'; readonly failures: number; readonly afterGone?: true }
  /**
   * The store is what the server had at this version, and a watch from there is (being) opened.
   * `afterGone`, here and above: the list was made because of a 410, and nothing newer has come since.
   */
  | { readonly kind: 'watching'; readonly resourceVersion: string; readonly failures: number; readonly afterGone?: true }
  /** Waiting before the next try, so that a struggling server is not hammered. Ends when the time is over. */
  | { readonly kind: 'waiting'; readonly ms: number; readonly next: Exclude<WatchState, { kind: 'waiting' }> }

export type WatchInput =
  /** The list is whole and in the store. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** An event or a bookmark is in the store: this version need not be seen again. */
  | { readonly kind: 'seen'; readonly resourceVersion: string }
  /** The watch ended as it should: the server closes each after some minutes. `advanced`: it brought a new version. */
  | { readonly kind: 'closed'; readonly lastedMs: number; readonly advanced: boolean }
  /** A list or a watch failed after `lastedMs`. `accepted`: it was a watch that the server had agreed to. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly accepted: boolean; readonly lastedMs: number }
  /** The wait is over. */
  | { readonly kind: 'waited' }

export const initialWatchState: WatchState = { kind: 'listing', failures: 0 }

/** client-go's reflector: 800 ms doubling to 30 s, plus up to as much again, so that many clients do not return at once. */
const BACKOFF = { firstMs: 800, mostMs: 30_000, jitter: 1 } as const
/** A watch that goes well for this long ends a series of failures. */
const HEALTHY_AFTER_MS = 120_000
/** The same for one that breaks off: what cuts idle connections (every minute, often) is not the server struggling. */
const HEALTHY_CONNECTION_MS = 10_000
/** A watch that ends sooner, with nothing new in it, is a failure: opening it again at once would be a storm. */
const SHORT_WATCH_MS = 1000

/** The state after an input. `random` is in [0, 1). */
export function step(state: WatchState, input: WatchInput, random: () => number): WatchState {
  switch (input.kind) {
    case 'listed':
      if (state.kind === 'waiting') return state
      return { ...state, kind: 'watching', resourceVersion: input.resourceVersion }
    case 'seen':
      return state.kind === 'watching' ? { kind: 'watching', resourceVersion: input.resourceVersion, failures: state.failures } : state
    case 'closed': {
      if (state.kind !== 'watching') return state
      if (input.advanced || input.lastedMs >= SHORT_WATCH_MS) return { ...state, failures: 0 }
      // A server that goes down closes what it has just opened. One that does so again and again is listed: late is better than blind.
      const failures = state.failures + 1
      return retryAfter(failures === 1 ? { ...state, failures } : { kind: 'listing', failures }, undefined, random)
    }
    case 'failed': {
      if (state.kind === 'waiting') return state
      const healthy = input.accepted && input.lastedMs >= (input.error instanceof NetworkError ? HEALTHY_CONNECTION_MS : HEALTHY_AFTER_MS)
      // A server that says 410 works: what failed before is over. Only one 410 after the other is a series.
      const gone = isGone(input.error)
      const failures = (healthy || (gone && !state.afterGone) ? 0 : state.failures) + 1
      const retryAfterMs = input.error instanceof ApiError ? input.error.retryAfterMs : undefined
      const isStillGood = state.kind === 'watching' && canBeReopened(input.error, input.accepted)
      if (isStillGood) return retryAfter({ ...state, failures }, retryAfterMs, random)
      return retryAfter({ kind: 'listing', failures, ...(gone ? { afterGone: true } : {}) }, retryAfterMs, random)
    }
    case 'waited':
      return state.kind === 'waiting' ? state.next : state
  }
}

/** Whether a watch that failed can be opened again where it stopped. */
function canBeReopened(error: unknown, accepted: boolean): boolean {
  if (error instanceof NetworkError) return true
  if (!(error instanceof ApiError)) return false
  // Within a watch only "slow down" is harmless: after any other error from there, the same version may bring it again.
  return error.code === 429 || (!accepted && REFUSED_FOR_NOW.has(error.code))
}

/** Whether the version to watch from is one that the server no longer has. */
function isGone(error: unknown): boolean {
  return isReason(error, 'Expired') || isReason(error, 'Gone')
}

/** Who may not ask, or whom the server cannot answer yet, does not ask better with a list. */
const REFUSED_FOR_NOW: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504])
/** What a server may ask us to wait; a longer wait is a mistake that would leave us blind. */
const LONGEST_RETRY_AFTER_MS = 300_000

function retryAfter(next: Exclude<WatchState, { kind: 'waiting' }>, retryAfterMs: number | undefined, random: () => number): WatchState {
  const asked = Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS)
  return { kind: 'waiting', ms: Math.max(backoffMs(next.failures - 1, BACKOFF, random), asked), next }
}
