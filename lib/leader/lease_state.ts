/**
 * Decides leader election over a Lease, without I/O.
 *
 * The rules are client-go's. Clocks of different machines are never compared: a lease has expired when, by the local
 * clock, its record has not changed for its own duration since it was first seen.
 *
 * Safety: a leader acts as leader until `renewDeadlineMs` after it sent its last successful write. Others see that
 * write no earlier than it was sent, and wait `durationMs` from then. So no two processes lead at once, provided that
 * only candidates write the Lease, and the rates of two clocks differ by at most the factor
 * `durationMs / renewDeadlineMs`. For writes that are in flight, see lease_fence.ts.
 */
import { jsonEqual } from '../core/equal.ts'
import { microTime } from '../core/duration.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
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
  /** Fields of coordinated leader election, kept unchanged. */
  readonly strategy?: string
  readonly preferredHolder?: string
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseRecord
}

/** The kind as elections read and write it. */
export const LEASE: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
}

export interface Observation {
  readonly record: LeaseRecord
  /** Monotonic. */
  readonly sinceMs: number
}

/** A time by both clocks: the monotonic clock stops while the machine is suspended, and the wall clock can be set. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() }
}

/** The durations of a leader election, in milliseconds. */
export interface LeaseTimings {
  /** How long other candidates wait after the last renewal. Default: 15 s. */
  readonly durationMs: number
  /** How long the leader tries to renew before it gives up. Default: 10 s. */
  readonly renewDeadlineMs: number
  /** The interval between tries. Default: 2 s. */
  readonly retryPeriodMs: number
}

export const DEFAULT_TIMINGS: LeaseTimings = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** client-go's JitterFactor: followers wait longer by up to this factor, so that they do not all try at once. */
export const ACQUIRE_JITTER = 1.2

/** Throws a RangeError for timings that allow two leaders, or none. */
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
    if (!Number.isFinite(ms) || ms <= 0) fail(`${name} is ${ms} ms, and must be finite and greater than 0`)
  }
  if (durationMs < 1000 || durationMs % 1000 !== 0) {
    fail(`duration is ${durationMs} ms, and must be a whole number of seconds, at least 1`)
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
 * Returns the observation of a record: its time is when this content was first seen. The record is compared, not the
 * resourceVersion, as otherwise any annotation of the Lease would extend a dead leader's term.
 */
export function observe(before: Observation | undefined, record: LeaseRecord, nowMs: number): Observation {
  return before && jsonEqual(before.record, record) ? before : { record, sinceMs: nowMs }
}

/**
 * The time since a moment: never less than either clock shows, and it never decreases.
 *
 * - The monotonic clock always counts; it stops while the machine is suspended.
 * - The wall clock counts if it moved further, by a suspension or by being set forward. The two cannot be
 *   distinguished, so setting the clock far forward ends a term, which is needless but safe.
 * - A wall clock that was set back counts from there, if it was read in between: it neither extends a term nor hides a
 *   later suspension. Undetected is only a set-back and an equally long suspension between two readings.
 * - Clock slewing (NTP: up to 500 ppm) is negligible against the margin between deadline and duration.
 */
export interface Elapsed {
  readonly since: Moment
  /** Max lag of the wall clock behind the monotonic one since the start: the amount it was set back. */
  readonly behindMs: number
  /** Max lead of the wall clock, counted from that lag. */
  readonly aheadMs: number
}

/** Starts measuring at a moment. */
export function elapsedSince(since: Moment): Elapsed {
  return { since, behindMs: 0, aheadMs: 0 }
}

/** Returns the elapsed time after reading both clocks. */
export function update({ since, behindMs, aheadMs }: Elapsed, now: Moment): Elapsed {
  const gapMs = now.wallMs - since.wallMs - (now.monotonicMs - since.monotonicMs)
  const behind = Math.max(behindMs, -gapMs)
  return { since, behindMs: behind, aheadMs: Math.max(aheadMs, gapMs + behind) }
}

/** Returns the elapsed milliseconds at the last update, or at a later monotonic time. */
export function elapsedMs({ since, aheadMs }: Elapsed, monotonicMs: number): number {
  return monotonicMs - since.monotonicMs + aheadMs
}

/** Returns the timeout of one try: half the deadline, to leave time for another, at least 1 s, at most the deadline. */
export function tryTimeoutMs({ renewDeadlineMs }: LeaseTimings): number {
  return Math.min(renewDeadlineMs, Math.max(renewDeadlineMs / 2, 1000))
}

/**
 * Returns whether the candidate may acquire the lease: it holds it, it is free, or it has expired by its own duration.
 */
export function mayAcquire(observation: Observation, identity: string, nowMs: number): boolean {
  const { holderIdentity } = observation.record
  return !holderIdentity || holderIdentity === identity || nowMs >= expiresAtMs(observation)
}

/** Returns when the record expires unless it changes. */
export function expiresAtMs({ record, sinceMs }: Observation): number {
  return sinceMs + (record.leaseDurationSeconds ?? 0) * 1000
}

/**
 * Returns the record to acquire or renew with. Only renewing keeps `acquireTime`: it is how a process notices another
 * one with its identity. A takeover counts a transition.
 */
export function claim(
  current: LeaseRecord | undefined,
  identity: string,
  wallMs: number,
  { durationMs }: LeaseTimings,
  renews?: boolean,
): LeaseRecord {
  const now = microTime(wallMs)
  const isOurs = current?.holderIdentity === identity
  return {
    ...current,
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    acquireTime: (renews && isOurs && current.acquireTime) || now,
    renewTime: now,
    leaseTransitions: (current?.leaseTransitions ?? 0) + (current === undefined || isOurs ? 0 : 1),
  }
}

/** Returns the record of a released lease, which the next candidate may acquire at once. */
export function released(current: LeaseRecord, wallMs: number): LeaseRecord {
  const now = microTime(wallMs)
  return { ...current, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now }
}
