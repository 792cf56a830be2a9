/**
 * What an informer does next, decided without I/O. A driver performs the effect of a state and feeds what came of it
 * back in; the transitions are a function.
 *
 * The rules are client-go's: a watch that ends normally, or that the server refuses for a while, is opened again
 * where it stopped, without asking for everything. A version that the server no longer has (410), a line that cannot be
 * read, or an error within the watch make the whole necessary.
 *
 * The whole is always asked for as it is now (no resourceVersion), where client-go takes any state that the server's cache
 * has at first ("0") and one not older than its own later: a restarted operator would go back in time, and servers since
 * 1.31 answer the consistent question from the same cache. So it can neither have expired nor be too large.
 */
import { ApiError, isExpired, NetworkError } from '../core/errors.ts'
import { backoffMs } from '../async/backoff.ts'
import { isNewerVersion } from './resource_version.ts'

/** What goes along through the states. */
interface Series {
  /** Failures in a row: those without a good watch between them. */
  readonly failures: number
  /** The whole was asked for because of a 410, and nothing newer has come since. */
  readonly afterGone?: true
  /** The last failure was that of a server that has just come up: its storage is not read in yet. */
  readonly initializing?: true
  /** This server does not stream the whole, or does not say where it ends: from now on it is listed. */
  readonly lists?: true
  /** This server sends bookmarks of this kind: a watch that brings none is sick. */
  readonly bookmarks?: true
  /**
   * This server sends no bookmarks of this kind, as many aggregated API servers: a watch may be silent until the server ends it.
   * Learned from two silent watches in a row; a bookmark unlearns it.
   */
  readonly quiet?: true
}

/** Why the whole is wanted. */
interface Wanted {
  /** Two watches from this version brought nothing at all. Either the server was set back, or it sends no bookmarks. */
  readonly blindAt?: string
}

export type WatchState =
  /**
   * Nothing is known, or what was known is too old: the whole is wanted as the beginning of a watch, which goes on from it.
   * Ends with the mark behind the whole, or a failure; what came until then is thrown away.
   */
  | (Series & Wanted & { readonly kind: 'streaming' })
  /** The same, where streaming did not do: the whole is wanted in pages. Ends with a list or a failure. */
  | (Series & Wanted & { readonly kind: 'listing' })
  /**
   * The store is what the server had at this version, and a watch from there is (being) opened.
   * `silent`: the last one brought nothing at all from there, not even a bookmark, until it was given up.
   */
  | (Series & { readonly kind: 'watching'; readonly resourceVersion: string; readonly silent?: true })
  /** Waiting before the next try, so that a struggling server is not hammered. Ends when the time is over. */
  | { readonly kind: 'waiting'; readonly ms: number; readonly next: Active }

type Active = Exclude<WatchState, { kind: 'waiting' }>
type Watching = Extract<WatchState, { kind: 'watching' }>

export type WatchInput =
  /** The whole is in the store: a list, or a stream up to its mark. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** An event or a bookmark is in the store: this version need not be seen again. */
  | { readonly kind: 'seen'; readonly resourceVersion: string; readonly bookmark?: boolean }
  /** The watch ended as it should: the server closes each after some minutes. `advanced`: it brought a new version. */
  | { readonly kind: 'closed'; readonly lastedMs: number; readonly advanced: boolean }
  /**
   * A list or a watch failed after `lastedMs`. `accepted`: it was a watch that the server had agreed to.
   * `silent`: it was given up, as nothing was heard of it any more.
   */
  | {
    readonly kind: 'failed'
    readonly error: unknown
    readonly accepted: boolean
    readonly lastedMs: number
    readonly silent?: boolean
  }
  /** The wait is over. */
  | { readonly kind: 'waited' }

type Failure = Extract<WatchInput, { kind: 'failed' }>

export const initialWatchState: WatchState = { kind: 'streaming', failures: 0 }

/** client-go's reflector: 800 ms doubling to 30 s, plus up to as much again, so that many clients do not return at once. */
const BACKOFF = { baseMs: 800, maxMs: 30_000, jitter: 1 } as const
/** A watch that goes well for this long ends a series of failures. */
const HEALTHY_AFTER_MS = 120_000
/** The same for one that breaks off: what cuts idle connections (every minute, often) is not the server struggling. */
const HEALTHY_CONNECTION_MS = 10_000
/** A watch that ends sooner, with nothing new in it, is a failure: opening it again at once would be a storm. */
const SHORT_WATCH_MS = 1000

/** The state after an input. `random` is in [0, 1). */
export function step(state: WatchState, input: WatchInput, random: () => number): WatchState {
  if (state.kind === 'waiting') return input.kind === 'waited' ? state.next : state
  switch (input.kind) {
    case 'listed':
      return {
        ...seriesOf(learned(state, input.resourceVersion)),
        kind: 'watching',
        resourceVersion: input.resourceVersion,
      }
    case 'seen':
      return state.kind === 'watching' ? seen(state, input) : state
    case 'closed':
      return closed(state, input.advanced || input.lastedMs >= SHORT_WATCH_MS, random)
    case 'failed':
      return failed(state, input, random)
    case 'waited':
      return state
  }
}

/** Once for each event: nothing is made but the state. */
function seen(state: Watching, { resourceVersion, bookmark }: Extract<WatchInput, { kind: 'seen' }>): WatchState {
  if (bookmark && !state.bookmarks) {
    return {
      ...seriesOf({ ...state, afterGone: undefined, quiet: undefined, bookmarks: true }),
      kind: 'watching',
      resourceVersion,
    }
  }
  if (!state.afterGone && !state.silent) return { ...state, resourceVersion }
  return { ...seriesOf({ ...state, afterGone: undefined }), kind: 'watching', resourceVersion }
}

/** A whole that is older than the silent watches before it came from a server that was set back; otherwise the silence was the server's way. */
function learned(state: Active, resourceVersion: string): Active {
  const blindAt = state.kind === 'watching' ? undefined : state.blindAt
  return blindAt === undefined || isNewerVersion(blindAt, resourceVersion) ? state : { ...state, quiet: true }
}

function closed(state: Active, normal: boolean, random: () => number): WatchState {
  if (state.kind === 'listing') return state
  if (state.kind === 'watching' && normal) return { ...state, failures: 0 }
  // A server that goes down closes what it has just opened. One that does so again and again is listed: late is better than blind.
  return retryAfter(again(state, state.failures + 1), undefined, random)
}

function failed({ initializing: before, ...state }: Active, input: Failure, random: () => number): WatchState {
  const { error, accepted } = input
  // What a list is told is said and counted there; until then it was only a question of how to ask.
  if (state.kind === 'streaming' && !mayStreamLater(input)) {
    const lists = state.lists || isUnsupported(input)
    return { ...seriesOf({ ...state, lists: lists || undefined }), ...wanted(state), kind: 'listing' }
  }
  const healthy = accepted &&
    input.lastedMs >= (error instanceof NetworkError ? HEALTHY_CONNECTION_MS : HEALTHY_AFTER_MS)
  // A server that says 410 works: what failed before is over. Only one 410 after the other is a series.
  const gone = isExpired(error)
  // The same for one that has come up again: what failed before was its restart.
  const initializing = isInitializing(error)
  const fresh = (state.kind !== 'streaming' && healthy) || (gone && !state.afterGone) || (initializing && !before)
  const failures = (fresh ? 0 : state.failures) + 1
  const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined
  const next = nextTry(state, input, failures)
  return retryAfter(initializing ? { ...next, initializing: true } : next, retryAfterMs, random)
}

function nextTry(state: Active, { error, accepted, silent }: Failure, failures: number): Active {
  switch (state.kind) {
    case 'streaming':
      return error instanceof NetworkError && error.phase !== 'connect'
        ? again(state, failures)
        : { ...state, failures }
    case 'listing':
      return {
        ...seriesOf({ ...state, afterGone: isExpired(error) || undefined }),
        ...wanted(state),
        kind: 'listing',
        failures,
      }
    case 'watching': {
      const isBlind = silent && accepted && state.silent && !state.quiet
      // One that has never sent a bookmark is more likely to send none than to have been set back.
      if (isBlind && state.lists && !state.bookmarks) return { ...state, failures, silent, quiet: true }
      if (!isBlind && canBeReopened(error, accepted)) {
        return { ...state, failures, ...(silent && accepted ? { silent } : {}) }
      }
      const series = seriesOf({
        ...state,
        failures,
        afterGone: isExpired(error) || undefined,
        ...(isBlind ? { bookmarks: undefined } : {}),
      })
      // A server that was set back (etcd, from a backup) says nothing until it has caught up with our version.
      return {
        ...series,
        ...(isBlind ? { blindAt: state.resourceVersion } : {}),
        kind: state.lists ? 'listing' : 'streaming',
      }
    }
  }
}

/** The same once more after it ended before its time; at the second such end in a row, a list. */
function again(state: Active, failures: number): Active {
  if (failures === 1) return { ...state, failures }
  return { ...seriesOf(state), ...wanted(state), kind: 'listing', failures }
}

/** Whether a stream that failed is worth another try later, instead of a list now. */
function mayStreamLater({ error, accepted, silent }: Failure): boolean {
  if (error instanceof NetworkError) return !(silent && accepted)
  return error instanceof ApiError && (error.code === 429 || (!accepted && BUSY.has(error.code)))
}

/** Whether the server does not know how to stream: older ones refuse it, much older ones begin a plain watch, without a mark. */
function isUnsupported({ error, accepted, silent }: Failure): boolean {
  return Boolean(silent && accepted) ||
    (!accepted && error instanceof ApiError && (error.code === 400 || error.code === 422))
}

/** Whether a watch that failed can be opened again where it stopped. */
function canBeReopened(error: unknown, accepted: boolean): boolean {
  if (error instanceof NetworkError) return true
  if (!(error instanceof ApiError) || isTooLarge(error)) return false
  // Within a watch only "slow down" is harmless: after any other error from there, the same version may bring it again.
  return error.code === 429 || (!accepted && REFUSED_FOR_NOW.has(error.code))
}

/** Whether the API server is up again, and has yet to read from etcd what it answers from. Some versions say so with 503, others with 429. */
function isInitializing(error: unknown): boolean {
  return error instanceof ApiError && BUSY.has(error.code) && error.message.includes('storage is (re)initializing')
}

/** Whether the version to watch from is one that the server does not have yet: it may have been set back. */
function isTooLarge({ status }: ApiError): boolean {
  return status.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false
}

const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Who may not ask, or whom the server cannot answer yet, does not ask better with a list. */
const REFUSED_FOR_NOW: ReadonlySet<number> = new Set([401, 403, ...BUSY])
/** What a server may ask us to wait; a longer wait is a mistake that would leave us blind. */
const LONGEST_RETRY_AFTER_MS = 300_000

function retryAfter(next: Active, retryAfterMs: number | undefined, random: () => number): WatchState {
  const asked = Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS)
  return { kind: 'waiting', ms: Math.max(backoffMs(next.failures - 1, BACKOFF, random), asked), next }
}

function seriesOf(
  { failures, afterGone, lists, bookmarks, quiet }: { [P in keyof Series]: Series[P] | undefined } & {
    readonly failures: number
  },
): Series {
  return {
    failures,
    ...(afterGone ? { afterGone } : {}),
    ...(lists ? { lists } : {}),
    ...(bookmarks ? { bookmarks } : {}),
    ...(quiet ? { quiet } : {}),
  }
}

/** Why the whole is wanted, for another try at it. */
function wanted(state: Active): Wanted {
  return state.kind !== 'watching' && state.blindAt !== undefined ? { blindAt: state.blindAt } : {}
}
