/**
 * The watch state machine: decides what an informer does next, without I/O. A driver performs the effect of each state
 * and passes the result to {@link step}.
 *
 * The rules are client-go's: a watch that ends normally, or that the server refuses to open (401, 403, 429, 502 to
 * 504), is reopened at its last version. An expired version (410), an unreadable line or an error within the watch,
 * except 429, requires all objects again: a full read, streamed or listed. A departure from client-go is also a row of
 * docs/from-controller-runtime.md.
 *
 * A full read always requests the current state (no resourceVersion). client-go accepts any cached state at first ("0")
 * and one not older than its own later; then a restarted operator would go back in time. Servers since 1.31 answer the
 * consistent request from the same cache. So the version of a full read can neither be expired nor too large.
 */
import { ApiError, isExpired, NetworkError } from '../core/errors.ts'
import { isNewerVersion } from '../core/objects.ts'
import { backoffMs, SERVER_BACKOFF } from '../async/backoff.ts'

/**
 * What all states but `waiting` have. Which field survives what:
 *
 * | field | set by | cleared by |
 * |---|---|---|
 * | `failures` | each failure | a watch that ends normally; 0 before a failure after a healthy watch |
 * | `afterGone` | a 410 | an event, a bookmark, another failure of a list or of a watch that is not reopened |
 * | `initializing` | a failure by a server that starts | the next failure, a full read |
 * | `lists` | a stream that is not supported or fails | nothing |
 * | `bookmarks` | a bookmark | two silent watches in a row |
 * | `quiet` | two silent watches in a row | a bookmark |
 *
 * A new field is also a line of {@link seriesOf}, which keeps what outlives a change of `kind`.
 */
interface Series {
  /** Failures in a row, without a healthy watch between them. */
  readonly failures: number
  /** A full read was requested because of a 410, and nothing newer has come since. */
  readonly afterGone?: true
  /** The last failure came from a server that has just started and has not loaded its storage yet. */
  readonly initializing?: true
  /** This server does not stream initial objects, or does not mark their end, so full reads are lists. */
  readonly lists?: true
  /** This server sends bookmarks of this kind, so a watch without any is broken. */
  readonly bookmarks?: true
  /**
   * This server sends no bookmarks of this kind, like many aggregated API servers, so a watch may be silent until the
   * server ends it. Set after two silent watches in a row, cleared by a bookmark.
   */
  readonly quiet?: true
}

/** Why a full read is needed. */
interface FullRead {
  /** Two watches from this version delivered nothing: the server was restored to an older state, or lacks bookmarks. */
  readonly blindAt?: string
}

export type WatchState =
  /**
   * A full read as the beginning of a watch. Ends with the bookmark after the initial objects, or with a failure, which
   * discards the objects received so far.
   */
  | (Series & FullRead & { readonly kind: 'streaming' })
  /** A full read in pages, because streaming failed. Ends with a list or a failure. */
  | (Series & FullRead & { readonly kind: 'listing' })
  /**
   * The store equals the server's state at this version, and a watch from there is open or being opened: only
   * `accepted` of a failure tells which.
   * `silent`: the last watch from there delivered nothing, not even a bookmark, until it was given up.
   */
  | (Series & { readonly kind: 'watching'; readonly resourceVersion: string; readonly silent?: true })
  /** The back-off before the next try. */
  | { readonly kind: 'waiting'; readonly ms: number; readonly next: Active }

type Active = Exclude<WatchState, { kind: 'waiting' }>
type Watching = Extract<WatchState, { kind: 'watching' }>

export type WatchInput =
  /** A full read is in the store. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** An event is in the store, or a bookmark came: the next watch starts at this version. */
  | { readonly kind: 'seen'; readonly resourceVersion: string; readonly bookmark?: boolean }
  /** The server closed the watch normally, as it does after some minutes. `advanced`: it delivered a new version. */
  | { readonly kind: 'closed'; readonly lastedMs: number; readonly advanced: boolean }
  /**
   * A list or a watch failed after `lastedMs`. `accepted`: it was a watch whose response had a status below 400.
   * `silent`: it was given up because the server sent nothing.
   */
  | {
    readonly kind: 'failed'
    readonly error: unknown
    readonly accepted: boolean
    readonly lastedMs: number
    readonly silent?: boolean
  }
  /** The back-off is over. `restored`: the server's history is not the one that the next watch would continue. */
  | { readonly kind: 'waited'; readonly restored?: boolean | undefined }

type Failure = Extract<WatchInput, { kind: 'failed' }>

export const initialWatchState: WatchState = { kind: 'streaming', failures: 0 }

/** A watch that lasts this long ends a series of failures. */
const HEALTHY_AFTER_MS = 120_000
/** The same for a broken connection: proxies cut idle connections, often every minute, without a failing server. */
const HEALTHY_CONNECTION_MS = 10_000
/** A watch that ends sooner without a new version is a failure. Reopening it at once would flood the server. */
const SHORT_WATCH_MS = 1000

/** Returns the state after an input. `random` returns a number in [0, 1). */
export function step(state: WatchState, input: WatchInput, random: () => number): WatchState {
  if (state.kind === 'waiting') {
    if (input.kind !== 'waited') return state
    return input.restored ? fullRead(state.next) : state.next
  }
  switch (input.kind) {
    case 'listed':
      return {
        ...seriesOf(afterFullRead(state, input.resourceVersion)),
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

/**
 * Returns the version of the next watch if the server may have been restored since the last one failed: if that was not
 * given up for its silence. A watch from a version that the server has not reached is accepted, and is silent until the
 * server has passed that version; what was undone before is never reported.
 */
export function doubtedVersion({ next }: Extract<WatchState, { kind: 'waiting' }>): string | undefined {
  return next.kind === 'watching' && !next.silent ? next.resourceVersion : undefined
}

/** Runs once for each event: hot, so it creates no objects but the new state. */
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

/** A full read older than the silent watches means that the server was restored; otherwise it sends no bookmarks. */
function afterFullRead(state: Active, resourceVersion: string): Active {
  const blindAt = state.kind === 'watching' ? undefined : state.blindAt
  return blindAt === undefined || isNewerVersion(blindAt, resourceVersion) ? state : { ...state, quiet: true }
}

function closed(state: Active, normal: boolean, random: () => number): WatchState {
  if (state.kind === 'listing') return state
  if (state.kind === 'watching' && normal) return { ...state, failures: 0 }
  // A server that stops closes new watches. If that repeats, a list is late, but no events are missed.
  return retryAfter(retried(state, state.failures + 1), undefined, random)
}

function failed({ initializing: before, ...state }: Active, input: Failure, random: () => number): WatchState {
  const { error, accepted } = input
  // Not counted as a failure: the list that follows at once fails too if the server is in trouble.
  if (state.kind === 'streaming' && !mayStreamLater(input)) {
    const lists = state.lists || isUnsupported(input)
    return { ...seriesOf({ ...state, lists: lists || undefined }), ...fullReadOf(state), kind: 'listing' }
  }
  const healthy = accepted &&
    input.lastedMs >= (error instanceof NetworkError ? HEALTHY_CONNECTION_MS : HEALTHY_AFTER_MS)
  // A server that answers 410 works, so earlier failures are over. Only consecutive 410s are a series.
  const gone = isExpired(error)
  // The same for a server that may have restarted, which caused the earlier failures: it answers 403 until it has
  // loaded the roles, and 503 or 429 until it has loaded its cache from etcd.
  const initializing = error instanceof ApiError &&
    (error.code === 403 || error.message.includes('(re)initializing'))
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
        ? retried(state, failures)
        : { ...state, failures }
    case 'listing':
      return {
        ...seriesOf({ ...state, afterGone: isExpired(error) || undefined }),
        ...fullReadOf(state),
        kind: 'listing',
        failures,
      }
    case 'watching': {
      const isBlind = silent && accepted && state.silent && !state.quiet
      // A server that never sent a bookmark probably sends none, rather than being restored to an older state.
      if (isBlind && state.lists && !state.bookmarks) return { ...state, failures, silent, quiet: true }
      if (!isBlind && canBeReopened(error, accepted)) {
        return { ...state, failures, ...(silent && accepted && { silent }) }
      }
      const read = fullRead({
        ...state,
        failures,
        afterGone: isExpired(error) || undefined,
        ...(isBlind && { bookmarks: undefined }),
      })
      // A server that was restored (etcd from a backup) sends nothing until it reaches our version.
      return { ...read, ...(isBlind && { blindAt: state.resourceVersion }) }
    }
  }
}

/** Returns the state of a full read, in the form that the server supports. */
function fullRead(state: Parameters<typeof seriesOf>[0]): Active {
  return { ...seriesOf(state), kind: state.lists ? 'listing' : 'streaming' }
}

/** Returns the same state after the first failure, and a list after the second in a row: the early end may repeat. */
function retried(state: Active, failures: number): Active {
  if (failures === 1) return { ...state, failures }
  return { ...seriesOf(state), ...fullReadOf(state), kind: 'listing', failures }
}

/** Returns whether a failed stream is retried later, instead of listing now. */
function mayStreamLater({ error, accepted, silent }: Failure): boolean {
  if (error instanceof NetworkError) return !(silent && accepted)
  return error instanceof ApiError && (error.code === 429 || (!accepted && BUSY.has(error.code)))
}

/**
 * Returns whether the server does not support streaming: older servers refuse it, much older ones send no end bookmark.
 */
function isUnsupported({ error, accepted, silent }: Failure): boolean {
  return Boolean(silent && accepted) ||
    (!accepted && error instanceof ApiError && (error.code === 400 || error.code === 422))
}

/** Returns whether a failed watch can be reopened at its last version. */
function canBeReopened(error: unknown, accepted: boolean): boolean {
  if (error instanceof NetworkError) return true
  if (!(error instanceof ApiError) || isTooLarge(error)) return false
  // Within a watch only 429 is harmless: after any other error, the same version may cause it again.
  return error.code === 429 || (!accepted && REFUSED_FOR_NOW.has(error.code))
}

/**
 * Returns whether the server has not reached the requested version, for example because it was restored from a backup.
 */
export function isTooLarge(error: unknown): boolean | undefined {
  return error instanceof ApiError &&
    error.status.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')
}

const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** The codes of a refused watch after which a full read would be refused too. */
const REFUSED_FOR_NOW: ReadonlySet<number> = new Set([401, 403, ...BUSY])
/** The max honoured Retry-After; during a longer wait the cache would be outdated. */
const MAX_RETRY_AFTER_MS = 300_000

function retryAfter(next: Active, retryAfterMs: number | undefined, random: () => number): WatchState {
  const requestedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
  return { kind: 'waiting', ms: Math.max(backoffMs(next.failures - 1, SERVER_BACKOFF, random), requestedMs), next }
}

function seriesOf(
  { failures, afterGone, lists, bookmarks, quiet }: { [P in keyof Series]: Series[P] | undefined } & {
    readonly failures: number
  },
): Series {
  return {
    failures,
    ...(afterGone && { afterGone }),
    ...(lists && { lists }),
    ...(bookmarks && { bookmarks }),
    ...(quiet && { quiet }),
  }
}

/** Returns the reason of a full read, for the retry. */
function fullReadOf(state: Active): FullRead {
  return state.kind !== 'watching' && state.blindAt !== undefined ? { blindAt: state.blindAt } : {}
}
