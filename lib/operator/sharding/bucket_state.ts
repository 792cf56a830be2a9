/**
 * Decides which replica works on which bucket of keys, without I/O. A key belongs to one bucket, by its hash. The
 * replica that should have a bucket takes its Lease; safety comes from the Leases alone, so for a while replicas may
 * disagree on which of them are live.
 */
import { fnv1a } from '../../core/fnv.ts'

/**
 * `free`: another replica has it, or none. `taking`: the Lease is waited for. `held`: its keys are reconciled.
 * `draining`: no run of its keys begins, and running ones may end. `releasing`: the Lease is being given up.
 */
export type BucketPhase = 'free' | 'taking' | 'held' | 'draining' | 'releasing'

/**
 * `wanted`, `unwanted`: whether this replica should have it. `acquired`: the Lease was. `idle`: no key of it runs.
 * `overdue`: runs of its keys go on for longer than the grace period. `ended`: the Lease was released or lost.
 */
export type BucketInput = 'wanted' | 'unwanted' | 'acquired' | 'idle' | 'overdue' | 'ended'

/**
 * What to do on the way to a phase. `take`: wait for the Lease. `open`: reconcile its keys. `close`: begin no run.
 * `release`: give the Lease up, or stop waiting for it.
 */
export type BucketEffect = 'take' | 'open' | 'close' | 'release'

type Row = { readonly [input in BucketInput]?: readonly [BucketPhase, BucketEffect?] }

// An input that a row lacks changes nothing.
const TABLE: Readonly<Record<BucketPhase, Row>> = {
  free: { wanted: ['taking', 'take'] },
  taking: { acquired: ['held', 'open'], unwanted: ['releasing', 'release'], ended: ['free'] },
  held: { unwanted: ['draining', 'close'], ended: ['free', 'close'] },
  draining: {
    idle: ['releasing', 'release'],
    overdue: ['releasing', 'release'],
    wanted: ['held', 'open'],
    ended: ['free'],
  },
  releasing: { ended: ['free'] },
}

/** Returns the next phase, and what to do on the way. */
export function bucketStep(phase: BucketPhase, input: BucketInput): readonly [BucketPhase, BucketEffect?] {
  return TABLE[phase][input] ?? [phase]
}

/**
 * Returns which buckets this replica now wants and which not any more. Of those that it holds it gives up one at a
 * time, at most one each `periodMs`, unless it `stops`: each move delays the keys of a bucket.
 */
export function bucketInputs(
  phases: readonly BucketPhase[],
  { self, members, stops, nowMs, gaveUpMs, periodMs }: {
    readonly self: string
    /** The live replicas, with `self` unless it stops. Undefined: this replica takes none, and keeps what it has. */
    readonly members: readonly string[] | undefined
    readonly stops: boolean
    readonly nowMs: number
    /** When it last gave one up. */
    readonly gaveUpMs: number
    readonly periodMs: number
  },
): (BucketInput | undefined)[] {
  let mayGiveUp = nowMs - gaveUpMs >= periodMs && !phases.includes('draining')
  const owners = members && !stops ? ownersOf(phases.length, members.toSorted()) : undefined
  return phases.map((phase, bucket) => {
    if (stops) return 'unwanted'
    if (!owners) return phase === 'draining' ? 'wanted' : undefined
    if (owners[bucket] === self) return 'wanted'
    if (phase !== 'held') return 'unwanted'
    const isGivenUp = mayGiveUp
    mayGiveUp = false
    return isGivenUp ? 'unwanted' : undefined
  })
}

/**
 * Returns the replica that should have each bucket: by rendezvous hashing, the pairs with the highest weights first,
 * with shares that differ by at most one. Few more buckets move than must when replicas come or go. Empty without
 * replicas.
 */
export function ownersOf(count: number, members: readonly string[]): readonly string[] {
  const pairs = members.flatMap((member, at) => {
    const hash = fnv1a(member)
    return Array.from({ length: count }, (_, bucket) => ({ bucket, at, weight: mixed(hash, bucket) }))
  })
  // Of names with equal hashes, all replicas see the same order.
  pairs.sort((a, b) => b.weight - a.weight || a.at - b.at)
  const owners: string[] = []
  const shares = members.map(() => 0)
  const share = Math.floor(count / members.length)
  let larger = count % members.length
  for (const { bucket, at } of pairs) {
    if (owners[bucket] !== undefined || shares[at]! > share) continue
    if (shares[at] === share && larger-- <= 0) continue
    shares[at]!++
    owners[bucket] = members[at]!
  }
  return owners
}

/** Returns the bucket of a key. `kind`: `plural.group`, and the cluster if it is not the operator's own. */
export function bucketOf(kind: string, key: string, count: number): number {
  const hash = fnv1a(`${kind} ${key}`)
  return highest(count, (bucket) => mixed(hash, bucket))
}

/** Returns the first number below `count` with the highest weight; -1 if there is none. */
function highest(count: number, weigh: (at: number) => number): number {
  let best = -1
  let most = -1
  for (let at = 0; at < count; at++) {
    const weight = weigh(at)
    if (weight <= most) continue
    most = weight
    best = at
  }
  return best
}

/** Returns a number that depends on all bits of both: the finalizer of MurmurHash3. */
function mixed(hash: number, bucket: number): number {
  let mix = hash ^ Math.imul(bucket + 1, 0x9e3779b1)
  mix = Math.imul(mix ^ (mix >>> 16), 0x85ebca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35)
  return (mix ^ (mix >>> 16)) >>> 0
}
