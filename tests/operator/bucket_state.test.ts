/** Which replica works on which bucket of keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { fnv1a } from '../../lib/core/fnv.ts'
import {
  type BucketInput,
  bucketInputs,
  bucketOf,
  type BucketPhase,
  bucketStep,
  ownersOf,
} from '../../lib/operator/sharding/bucket_state.ts'
import { tries } from '../tools/fuzz.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

test('keys are spread over the buckets, by their kind, too', () => {
  const counts = new Map<number, number>()
  for (const at of range(16_000)) {
    const bucket = bucketOf('configmaps', `default/map-${at}`, 16)
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  }
  assert.equal(counts.size, 16)
  for (const count of counts.values()) assert.ok(count > 850 && count < 1150, `${count}`)
  const differ = range(100).filter((at) => bucketOf('configmaps', `a/${at}`, 16) !== bucketOf('secrets', `a/${at}`, 16))
  assert.ok(differ.length > 80)
})

test('shares differ by at most one, and few more buckets move than must when a replica comes or goes', () => {
  let moves = 0
  let ideal = 0
  for (const [count, size] of [[16, 1], [16, 3], [64, 4], [128, 19], [4, 5]] as const) {
    for (const round of range(20)) {
      const members = range(size).map((at) => `op-${round}-x${at * 7}`)
      for (const names of [members, [...members, 'op-new']]) {
        const owners = ownersOf(count, names)
        const shares = names.map((name) => owners.filter((each) => each === name).length)
        assert.equal(shares.reduce((sum, each) => sum + each), count)
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${count} for ${names.length}: ${shares.join(', ')}`)
      }
      const before = ownersOf(count, members)
      moves += ownersOf(count, [...members, 'op-new']).filter((owner, bucket) => owner !== before[bucket]).length
      ideal += count / (size + 1)
    }
  }
  assert.ok(moves < ideal * 1.6, `${moves} of ${ideal}`)
  assert.deepEqual(ownersOf(16, []), [])
})

test('replicas whose names have equal hashes agree on their shares', () => {
  const phases = range(16).map((): BucketPhase => 'free')
  const common = { stops: false, nowMs: 10_000, gaveUpMs: 0, periodMs: 2000 }
  const wantedBy = (self: string, ...members: string[]): boolean[] =>
    bucketInputs(phases, { ...common, self, members }).map((input) => input === 'wanted')
  const [first, second] = ['op-1rnw', 'op-ipba'] as const
  assert.equal(fnv1a(first), fnv1a(second))
  const one = wantedBy(first, first, second)
  assert.deepEqual(wantedBy(second, second, first), one.map((isWanted) => !isWanted))
})

test('a bucket is given up after its last run, and taken back before that', () => {
  const effects = (...inputs: BucketInput[]): string[] => {
    let phase: BucketPhase = 'free'
    return inputs.flatMap((input) => {
      const [next, effect] = bucketStep(phase, input)
      phase = next
      return effect ?? []
    })
  }
  assert.deepEqual(effects('wanted', 'acquired', 'unwanted', 'idle', 'ended'), ['take', 'open', 'close', 'release'])
  assert.deepEqual(effects('wanted', 'acquired', 'unwanted', 'wanted', 'idle'), ['take', 'open', 'close', 'open'])
  assert.deepEqual(effects('wanted', 'acquired', 'ended', 'wanted'), ['take', 'open', 'close', 'take'])
  assert.deepEqual(effects('wanted', 'unwanted', 'acquired', 'ended'), ['take', 'release'])
})

test('one bucket is given up each period, and all at a stop', () => {
  const phases: BucketPhase[] = ['held', 'held', 'free', 'taking', 'draining']
  const common = { self: 'a', members: ['b'], nowMs: 10_000, gaveUpMs: 0, periodMs: 2000 }
  const inputs = (some: readonly BucketPhase[], more: object) =>
    bucketInputs(some, { ...common, stops: false, ...more })
  assert.deepEqual(inputs(phases.slice(0, 4), {}), ['unwanted', undefined, 'unwanted', 'unwanted'])
  assert.deepEqual(inputs(phases.slice(0, 4), { gaveUpMs: 8001 }), [undefined, undefined, 'unwanted', 'unwanted'])
  assert.deepEqual(inputs(phases, {}), [undefined, undefined, 'unwanted', 'unwanted', 'unwanted'])
  assert.deepEqual(inputs(phases, { stops: true, members: ['a'] }), phases.map(() => 'unwanted'))
  assert.deepEqual(inputs(phases, { stops: true, members: undefined }), phases.map(() => 'unwanted'))
  assert.deepEqual(inputs(phases, { members: ['a'] }), phases.map(() => 'wanted'))
  // Others have another number of buckets: nobody would take what is given up.
  assert.deepEqual(inputs(phases, { members: undefined }), [...phases.slice(0, 4).map(() => undefined), 'wanted'])
})

/** A replica of the model: what it believes, and its buckets. */
interface Replica {
  readonly name: string
  phases: BucketPhase[]
  /** The buckets of which keys run. */
  readonly running: Set<number>
  members: string[]
  stops: boolean
  gaveUpMs: number
  isDead: boolean
}

const COUNT = 8
const PERIOD = 10

/** Replicas with Leases that exclude each other, in any order of what happens. */
class Model {
  readonly replicas: Replica[] = []
  /** Who holds the Lease of each bucket. */
  readonly leases = new Map<number, string>()
  nowMs = 0

  add(): void {
    const name = `r${this.replicas.length}`
    const phases = range(COUNT).map((): BucketPhase => 'free')
    this.replicas.push({
      ...{ name, phases, members: [name], stops: false, gaveUpMs: -Infinity, isDead: false },
      running: new Set(),
    })
  }

  input(replica: Replica, bucket: number, input: BucketInput): void {
    const [phase, effect] = bucketStep(replica.phases[bucket]!, input)
    replica.phases[bucket] = phase
    if (effect === 'close' && input === 'unwanted') replica.gaveUpMs = this.nowMs
    if (effect === 'release') {
      assert.ok(!replica.running.has(bucket), 'a bucket is released while its key runs')
      if (this.leases.get(bucket) === replica.name) this.leases.delete(bucket)
      this.input(replica, bucket, 'ended')
    }
  }

  evaluate(replica: Replica): void {
    const { name: self, members, stops, gaveUpMs } = replica
    const known = stops ? members.filter((each) => each !== self) : members
    const inputs = bucketInputs(replica.phases, {
      ...{ self, stops, gaveUpMs, members: known, nowMs: this.nowMs, periodMs: PERIOD },
    })
    inputs.forEach((input, bucket) => {
      if (input) this.input(replica, bucket, input)
      if (!replica.running.has(bucket)) this.input(replica, bucket, 'idle')
    })
  }

  /** The server lets one candidate have a free Lease. */
  acquire(replica: Replica, bucket: number): void {
    if (replica.phases[bucket] !== 'taking' || this.leases.has(bucket)) return
    this.leases.set(bucket, replica.name)
    this.input(replica, bucket, 'acquired')
  }

  run(replica: Replica, bucket: number): void {
    if (replica.phases[bucket] !== 'held') return
    replica.running.add(bucket)
    const runners = this.replicas.filter((each) => !each.isDead && each.running.has(bucket))
    assert.deepEqual(runners.map(({ name }) => name), [replica.name], 'a key runs in two workers')
  }

  live(): string[] {
    return this.replicas.filter((each) => !each.isDead && !each.stops).map(({ name }) => name)
  }

  /** Time passes without new events until nothing changes. */
  rest(): void {
    for (let round = 0; round < COUNT * 8; round++) {
      this.nowMs += PERIOD
      for (const replica of this.replicas.filter((each) => !each.isDead)) {
        replica.members = this.live()
        replica.running.clear()
        this.evaluate(replica)
        for (const bucket of range(COUNT)) this.acquire(replica, bucket)
      }
    }
  }
}

test('whatever happens, no key runs in two workers, and at rest each bucket is held by its replica', () => {
  const kinds = ['add', 'stop', 'kill', 'see', 'evaluate', 'acquire', 'run', 'finish', 'lose', 'time'] as const
  const event = fc.record({ kind: fc.constantFrom(...kinds), which: fc.nat(5), bucket: fc.nat(COUNT - 1) })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 120 }), (events) => {
      const model = new Model()
      model.add()
      for (const { kind, which, bucket } of events) {
        const alive = model.replicas.filter((each) => !each.isDead)
        const replica = alive[which % alive.length]
        if (kind === 'add' && alive.length < 5) model.add()
        if (kind === 'time') model.nowMs += PERIOD / 2
        if (!replica) continue
        if (kind === 'stop') replica.stops = true
        if (kind === 'kill') {
          replica.isDead = true
          for (const [held, holder] of model.leases) if (holder === replica.name) model.leases.delete(held)
        }
        if (kind === 'see') replica.members = model.live()
        if (kind === 'evaluate') model.evaluate(replica)
        if (kind === 'acquire') model.acquire(replica, bucket)
        if (kind === 'run') model.run(replica, bucket)
        if (kind === 'finish') replica.running.delete(bucket)
        // Its runs are fenced and aborted first.
        if (kind === 'lose' && model.leases.get(bucket) === replica.name) {
          replica.running.delete(bucket)
          model.leases.delete(bucket)
          model.input(replica, bucket, 'ended')
        }
      }
      model.rest()
      const live = model.live()
      const owners = ownersOf(COUNT, live.toSorted())
      for (const bucket of range(COUNT)) assert.equal(model.leases.get(bucket), owners[bucket])
      for (const { name, phases, isDead } of model.replicas) {
        if (isDead) continue
        const held = range(COUNT).filter((bucket) => phases[bucket] === 'held')
        assert.deepEqual(held, range(COUNT).filter((bucket) => owners[bucket] === name))
      }
    }),
    { numRuns: tries(300) },
  )
})
