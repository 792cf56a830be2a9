/**
 * Decides when a follower tries for the lease next, without I/O.
 *
 * Without a watch it polls as client-go does, every 1 to 2.2 retry periods, and also when the observed record expires.
 * While a watch of the Lease is open it does not poll: it tries when the watch reports a release, or when the record
 * has not changed for its own duration.
 *
 * Safety: the watch decides only when to try. The record that the try reads decides whether the lease may be taken. So
 * an early try is safe, also for a record with our own name (the response to our write was lost): the term begins with
 * the next successful write, counted from its send time.
 *
 * A watch is opened after a try, which gives the version to begin at. A watch that breaks early is reopened after 1 s,
 * doubling to 60 s; a refused one after 10 minutes. Meanwhile the follower polls. So there are hardly more requests
 * than by polling alone.
 */
import { ApiError, NetworkError } from '../core/errors.ts'
import { backoffMs } from '../async/backoff.ts'
import { ACQUIRE_JITTER, expiresAtMs, type LeaseTimings, type Observation } from './lease_state.ts'

export interface FollowerState {
  /** When the last try ended. All times are monotonic. */
  readonly triedMs: number
  /** When to poll next, without a better hint. */
  readonly pollAtMs: number
  /** Extra delay before a try, so that the followers do not all try at once. */
  readonly jitterMs: number
  /** Whether the last try lost a race and the one before did not. */
  readonly lost: boolean
  /** When the watch reported that the lease is free; undefined while it is held, or was at the last try. */
  readonly freeMs: number | undefined
  readonly watch: WatchPhase
}

type WatchPhase =
  /** The watch delivers every change. */
  | { readonly kind: 'open'; readonly failures: number }
  /** The watch was requested but not accepted yet. */
  | { readonly kind: 'opening'; readonly failures: number }
  /** No watch. One is opened at `againMs`, from the last version or, without one, from the next try's. */
  | { readonly kind: 'closed'; readonly failures: number; readonly againMs: number }

export type FollowerInput =
  /** A try ended without the lease. `lostRace`: another candidate wrote first; it is not known yet which. */
  | { readonly kind: 'tried'; readonly nowMs: number; readonly lostRace?: boolean }
  | { readonly kind: 'opening' }
  | { readonly kind: 'opened' }
  /** The watch delivered the Lease. `free`: it has no holder. */
  | { readonly kind: 'observed'; readonly nowMs: number; readonly free: boolean }
  /** The watch ended after `lastedMs`, normally or with an error. */
  | { readonly kind: 'ended'; readonly nowMs: number; readonly lastedMs: number; readonly error?: unknown }

export const INITIAL_FOLLOWER_STATE: FollowerState = {
  triedMs: -Infinity,
  pollAtMs: -Infinity,
  jitterMs: 0,
  lost: false,
  freeMs: undefined,
  watch: { kind: 'closed', failures: 0, againMs: -Infinity },
}

/** Keeps a handful of followers apart, and is small beside the second within which one of them should lead. */
const WAKE_JITTER_MS = 250
const BACKOFF = { baseMs: 1000, maxMs: 60_000, jitter: 0.5 } as const
/** The verb may be granted later. */
const REFUSED_MS = 600_000

/** Returns the state after an input. `random` is in [0, 1). */
export function step(
  state: FollowerState,
  input: FollowerInput,
  { retryPeriodMs }: LeaseTimings,
  random: () => number,
): FollowerState {
  switch (input.kind) {
    case 'tried': {
      const jitterMs = Math.min(WAKE_JITTER_MS, retryPeriodMs / 4) * random()
      // The winner's lease counts from the first time its record is seen, so read it soon, once.
      const lost = input.lostRace === true && !state.lost
      const pollAtMs = input.nowMs + (lost ? jitterMs : pauseMs(retryPeriodMs, random))
      return { ...state, triedMs: input.nowMs, pollAtMs, jitterMs, lost, freeMs: undefined }
    }
    case 'opening':
      return { ...state, watch: { kind: 'opening', failures: state.watch.failures } }
    case 'opened':
      return { ...state, watch: { kind: 'open', failures: state.watch.failures } }
    case 'observed':
      return { ...state, freeMs: input.free ? (state.freeMs ?? input.nowMs) : undefined }
    case 'ended': {
      const { failures, kind } = state.watch
      // A server that goes down ends all followers' watches at once; spread their polls.
      const pollAtMs = kind === 'open' ? input.nowMs + pauseMs(retryPeriodMs, random) : state.pollAtMs
      // A watch that lasted longer than a polling interval is cheaper than polling, even if it broke.
      if (kind === 'open' && input.lastedMs >= retryPeriodMs * (1 + ACQUIRE_JITTER)) {
        return { ...state, pollAtMs, watch: { kind: 'closed', failures: 0, againMs: input.nowMs } }
      }
      const againMs = input.nowMs + (isRefused(input.error) ? REFUSED_MS : backoffMs(failures, BACKOFF, random))
      return { ...state, pollAtMs, watch: { kind: 'closed', failures: failures + 1, againMs } }
    }
  }
}

/** Returns client-go's polling interval. */
function pauseMs(retryPeriodMs: number, random: () => number): number {
  return retryPeriodMs * (1 + ACQUIRE_JITTER * random())
}

/** Returns when to try next; a past time means at once. */
export function nextTryMs(
  { triedMs, pollAtMs, jitterMs, freeMs, watch }: FollowerState,
  observed: Observation | undefined,
  identity: string,
): number {
  // A record with our own name is a write whose response was lost. Do not wait for its expiry: no other write will
  // change it.
  if (observed?.record.holderIdentity === identity) return pollAtMs
  const pollMs = watch.kind === 'open' ? Infinity : pollAtMs
  if (freeMs !== undefined) return Math.min(pollMs, freeMs + jitterMs)
  // An expiry before the last try is no hint for the next one: that try failed in spite of it.
  const expiryMs = observed?.record.holderIdentity ? expiresAtMs(observed) : -Infinity
  return expiryMs > triedMs ? Math.min(pollMs, expiryMs + jitterMs) : pollAtMs
}

/** Returns whether the watch needs a new version to begin at: the old one expired, or an event was unreadable. */
export function needsNewVersion(error: unknown): boolean {
  return error !== undefined && !(error instanceof NetworkError) &&
    !(error instanceof ApiError && error.code !== 410 && error.code !== 504)
}

/** Returns whether the role lacks the verb watch, or the server cannot watch. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && [403, 404, 405].includes(error.code)
}
