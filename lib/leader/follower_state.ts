/**
 * When a follower tries next, decided without I/O.
 *
 * Without a watch it asks as client-go does, every one to 2.2 periods, and also when the record it saw expires. While a watch
 * of the Lease is open it does not ask at all: the watch tells of a release and of each renewal, and the follower wakes at the first,
 * or when a record has not changed for as long as it says itself. What a watch tells decides only when to try;
 * whether the lease may be taken is decided by the record that the try reads. So it is safe to ask early for a record that has
 * our own name (the answer to our write was lost): the term begins with the next write that is answered, counted from its send time.
 *
 * A watch is opened after a try, so that there is a version to begin at. One that breaks off early is opened again after 1 s,
 * doubling to 60 s, and one that is refused after 10 minutes; until then it is asked as before. So there are never more requests
 * than asking alone would make, and those few.
 */
import { ApiError, NetworkError } from '../core/errors.ts'
import { backoffMs } from '../async/backoff.ts'
import { ACQUIRE_JITTER, expiresAtMs, type LeaseTimings, type Observation } from './lease_state.ts'

export interface FollowerState {
  /** When the last try ended. All times are of the monotonic clock. */
  readonly triedMs: number
  /** When it is asked again, where nothing better is known. */
  readonly pollAtMs: number
  /** How much later than possible we try, so that not all do at once. */
  readonly jitterMs: number
  /** The last try lost a race, and the one before it did not. */
  readonly lost: boolean
  /** When the watch told that nobody holds the lease; undefined while somebody does, or did at the last try. */
  readonly freeMs: number | undefined
  readonly watch: WatchPhase
}

type WatchPhase =
  /** It tells of every change. Ends when it closes or breaks. */
  | { readonly kind: 'open'; readonly failures: number }
  /** It was asked for; nothing may be expected of it yet. */
  | { readonly kind: 'opening'; readonly failures: number }
  /** There is none; another is opened at `againMs`, from the version seen last or, without one, that of the next try. */
  | { readonly kind: 'closed'; readonly failures: number; readonly againMs: number }

export type FollowerInput =
  /** A try has ended, whatever came of it but the lease. `lostRace`: another wrote first, and who is not known yet. */
  | { readonly kind: 'tried'; readonly nowMs: number; readonly lostRace?: boolean }
  | { readonly kind: 'opening' }
  | { readonly kind: 'opened' }
  /** The watch told of the Lease: whether nobody holds it. */
  | { readonly kind: 'told'; readonly nowMs: number; readonly free: boolean }
  /** The watch has ended after so long, by itself or with an error. */
  | { readonly kind: 'ended'; readonly nowMs: number; readonly lastedMs: number; readonly error?: unknown }

export const INITIAL_FOLLOWER_STATE: FollowerState = {
  triedMs: -Infinity,
  pollAtMs: -Infinity,
  jitterMs: 0,
  lost: false,
  freeMs: undefined,
  watch: { kind: 'closed', failures: 0, againMs: -Infinity },
}

/** Enough to keep a handful of followers apart, and little beside the second within which one of them should lead. */
const WAKE_JITTER_MS = 250
const BACKOFF = { baseMs: 1000, maxMs: 60_000, jitter: 0.5 } as const
/** A role may be given the verb later on. */
const REFUSED_MS = 600_000

/** The state after an input. `random` is in [0, 1). */
export function step(
  state: FollowerState,
  input: FollowerInput,
  { retryPeriodMs }: LeaseTimings,
  random: () => number,
): FollowerState {
  switch (input.kind) {
    case 'tried': {
      const jitterMs = Math.min(WAKE_JITTER_MS, retryPeriodMs / 4) * random()
      // The winner's time counts from when his record is first seen: it is looked at once, soon.
      const lost = input.lostRace === true && !state.lost
      const pollAtMs = input.nowMs + (lost ? jitterMs : pauseMs(retryPeriodMs, random))
      return { ...state, triedMs: input.nowMs, pollAtMs, jitterMs, lost, freeMs: undefined }
    }
    case 'opening':
      return { ...state, watch: { kind: 'opening', failures: state.watch.failures } }
    case 'opened':
      return { ...state, watch: { kind: 'open', failures: state.watch.failures } }
    case 'told':
      return { ...state, freeMs: input.free ? (state.freeMs ?? input.nowMs) : undefined }
    case 'ended': {
      const { failures, kind } = state.watch
      // A server that goes down ends the watches of all followers at once; they shall not all ask at once.
      const pollAtMs = kind === 'open' ? input.nowMs + pauseMs(retryPeriodMs, random) : state.pollAtMs
      // One that lasted longer than the pause between two questions is cheaper than asking, even when it breaks.
      if (kind === 'open' && input.lastedMs >= retryPeriodMs * (1 + ACQUIRE_JITTER)) {
        return { ...state, pollAtMs, watch: { kind: 'closed', failures: 0, againMs: input.nowMs } }
      }
      const againMs = input.nowMs + (isRefused(input.error) ? REFUSED_MS : backoffMs(failures, BACKOFF, random))
      return { ...state, pollAtMs, watch: { kind: 'closed', failures: failures + 1, againMs } }
    }
  }
}

/** client-go's pause between two questions. */
function pauseMs(retryPeriodMs: number, random: () => number): number {
  return retryPeriodMs * (1 + ACQUIRE_JITTER * random())
}

/** When to try next; the past means at once. */
export function nextTryMs(
  { triedMs, pollAtMs, jitterMs, freeMs, watch }: FollowerState,
  observed: Observation | undefined,
  identity: string,
): number {
  // A record with our own name is a write of ours whose answer was lost: nothing more will change it, and its expiry is not to be waited for.
  if (observed?.record.holderIdentity === identity) return pollAtMs
  const pollMs = watch.kind === 'open' ? Infinity : pollAtMs
  if (freeMs !== undefined) return Math.min(pollMs, freeMs + jitterMs)
  // What had expired, or was free, before the last try says nothing about the next one: that was lost, or failed.
  const expiryMs = observed?.record.holderIdentity ? expiresAtMs(observed) : -Infinity
  return expiryMs > triedMs ? Math.min(pollMs, expiryMs + jitterMs) : pollAtMs
}

/** Whether it must be asked where to begin: the version is too old, or what came could not be read. */
export function needsNewVersion(error: unknown): boolean {
  return error !== undefined && !(error instanceof NetworkError) &&
    !(error instanceof ApiError && error.code !== 410 && error.code !== 504)
}

/** Whether somebody must give us the right, or the server cannot watch. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && [403, 404, 405].includes(error.code)
}
