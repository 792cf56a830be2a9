/**
 * Leader election over a Lease, decided without I/O: what to do with the record that was read.
 *
 * The rules are client-go's. Clocks of different machines are never compared: a lease is expired when its record has
 * not changed for as long as the record itself says, by the local clock, since it was first seen.
 *
 * What this holds up: a leader believes in itself until `renewDeadlineMs` after it sent its last successful write; others see
 * that write no earlier than it was sent, and wait `durationMs` from then. So no two believe at once, as long as nobody else
 * writes the Lease and no clock runs faster than another by more than the ratio of the two. What it does not hold up by
 * itself is in lease_fence.ts.
 */
import { jsonEqual } from '../core/equal.ts'
import { microTime } from '../core/micro_time.ts'
import type { Clock } from '../async/clock.ts'

/** The spec of a coordination.k8s.io/v1 Lease. */
export interface LeaseRecord {
  readonly holderIdentity?: string
  /** A whole number, at least 1, on the wire. */
  readonly leaseDurationSeconds?: number
  /** MicroTime: six decimals, or the server refuses it. */
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
  /** Of coordinated election: kept as they are found. */
  readonly strategy?: string
  readonly preferredHolder?: string
}

/** A record as it was last seen to change. */
export interface Observation {
  readonly record: LeaseRecord
  /** By the monotonic clock. */
  readonly sinceMs: number
}

/** A moment by both clocks: the monotonic one stands still while a machine is suspended, the wall clock can be set. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() }
}

/** The durations of a leader election, in milliseconds. */
export interface LeaseTimings {
  /** How long others must wait after the last renewal. Default 15 s. */
  readonly durationMs: number
  /** How long the leader tries to renew before it gives up. Default 10 s. */
  readonly renewDeadlineMs: number
  /** How long between tries. Default 2 s. */
  readonly retryPeriodMs: number
}

export const DEFAULT_TIMINGS: LeaseTimings = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** client-go's JitterFactor: followers wait up to so much longer, so that they do not all try at once. */
export const ACQUIRE_JITTER = 1.2

/** Throws a RangeError for timings with which two could lead, or nobody could. */
export function checkTimings(timings: LeaseTimings): void {
  const { durationMs, renewDeadlineMs, retryPeriodMs } = timings
  const fail = (what: string): never => {
    throw new RangeError(`Cannot elect a leader: ${what}`)
  }
  for (
    const [name, ms] of [['duration', durationMs], ['renewDeadline', renewDeadlineMs], [
      'retryPeriod',
      retryPeriodMs,
    ]] as const
  ) {
    if (!Number.isFinite(ms) || ms <= 0) fail(`${name} is ${ms} ms, and must be finite and more than 0`)
  }
  if (durationMs < 1000 || durationMs % 1000 !== 0) {
    fail(`duration is ${durationMs} ms, and a Lease states whole seconds, at least 1`)
  }
  if (durationMs <= renewDeadlineMs) {
    fail(`duration (${durationMs} ms) must be longer than renewDeadline (${renewDeadlineMs} ms)`)
  }
  if (renewDeadlineMs <= retryPeriodMs * ACQUIRE_JITTER) {
    fail(
      `renewDeadline (${renewDeadlineMs} ms) must be longer than ${ACQUIRE_JITTER} × retryPeriod (${retryPeriodMs} ms)`,
    )
  }
}

/**
 * Takes a record that was read: the time counts from when it was first seen like this. The record decides and not the
 * resourceVersion, or whoever annotates the Lease now and then would keep a dead leader's alive.
 */
export function observe(before: Observation | undefined, record: LeaseRecord, nowMs: number): Observation {
  return before && jsonEqual(before.record, record) ? before : { record, sinceMs: nowMs }
}

/**
 * The time since a moment, as it was seen to pass: never less than what either clock says, and never less than before.
 *
 * - The monotonic clock counts in any case; it stands still while a machine is suspended.
 * - The wall clock counts where it moved further. That was a suspension, or the clock was set forward: the two cannot be
 *   told apart, so a clock that is set forward by more than what is left ends a term, needlessly and safely.
 * - A wall clock that was set back is taken from there, if anybody looked in between: it neither prolongs anything nor hides the
 *   suspension that follows. Set back and suspended between two looks, for as long, is what stays hidden.
 * - Slewing (NTP's up to 500 ppm) is as nothing against the margin between deadline and duration.
 */
export interface Elapsed {
  readonly since: Moment
  /** How far the wall clock was behind the monotonic one at most, compared with the beginning: it was set back by so much. */
  readonly behindMs: number
  /** How far it has run ahead from there at most. */
  readonly aheadMs: number
}

export function elapsedSince(since: Moment): Elapsed {
  return { since, behindMs: 0, aheadMs: 0 }
}

/** The same, after a look at both clocks. */
export function look({ since, behindMs, aheadMs }: Elapsed, now: Moment): Elapsed {
  const gapMs = now.wallMs - since.wallMs - (now.monotonicMs - since.monotonicMs)
  const behind = Math.max(behindMs, -gapMs)
  return { since, behindMs: behind, aheadMs: Math.max(aheadMs, gapMs + behind) }
}

/** How much it was at the last look, or at a later moment of the monotonic clock. */
export function elapsedMs({ since, aheadMs }: Elapsed, monotonicMs: number): number {
  return monotonicMs - since.monotonicMs + aheadMs
}

/**
 * How long a leader may still believe in itself: until the renew deadline after its last successful write was sent, by
 * whichever clock moved further. The answer's time does not count: it may have been under way for long.
 */
export function leftMs(sent: Moment, now: Moment, { renewDeadlineMs }: LeaseTimings): number {
  return renewDeadlineMs - elapsedMs(look(elapsedSince(sent), now), now.monotonicMs)
}

/** How long one try may take: half the deadline, so that a request that hangs leaves time for another; a second, if there is one. */
export function patienceMs({ renewDeadlineMs }: LeaseTimings): number {
  return Math.min(renewDeadlineMs, Math.max(renewDeadlineMs / 2, 1000))
}

/** Whether we may write ourselves in: it is ours, nobody's, or has expired by its own duration. */
export function mayTake(observation: Observation, identity: string, nowMs: number): boolean {
  const { holderIdentity } = observation.record
  return !holderIdentity || holderIdentity === identity || nowMs >= expiresAtMs(observation)
}

/** When a record expires that does not change any more. */
export function expiresAtMs({ record, sinceMs }: Observation): number {
  return sinceMs + (record.leaseDurationSeconds ?? 0) * 1000
}

/** The record that makes or keeps us leader. Renewing keeps the time of acquisition; taking over counts a transition. */
export function claim(
  current: LeaseRecord | undefined,
  identity: string,
  wallMs: number,
  { durationMs }: LeaseTimings,
): LeaseRecord {
  const now = microTime(wallMs)
  const ours = current?.holderIdentity === identity
  return {
    ...current,
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    acquireTime: ours && current.acquireTime ? current.acquireTime : now,
    renewTime: now,
    leaseTransitions: (current?.leaseTransitions ?? 0) + (current === undefined || ours ? 0 : 1),
  }
}

/** The record that lets the next one in at once. */
export function released(current: LeaseRecord, wallMs: number): LeaseRecord {
  const now = microTime(wallMs)
  return { ...current, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now }
}
