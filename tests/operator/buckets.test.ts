/** Replicas that share the keys of an operator by buckets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, EventChannel, type Operator, operator, type OperatorOptions } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace, Node, Secret } from 'kubeloop/kinds'
import { FakeClock, world } from 'kubeloop/testing'
import { aborted } from '../../lib/async/abort.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { Sink, Source } from '../../lib/controller/source.ts'
import { silentLog } from '../../lib/observe/log.ts'
import type { Run } from '../../lib/controller/result.ts'
import type { Fence } from '../../lib/core/fence.ts'
import { type Bucket, Gate } from '../../lib/operator/sharding/bucket_gate.ts'
import { Buckets, type BucketsSetup } from '../../lib/operator/sharding/buckets.ts'
import { bucketOf, ownersOf } from '../../lib/operator/sharding/bucket_state.ts'
import type { Clients } from '../../lib/operator/work.ts'
import { rightsOf } from '../../lib/rights/likely.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { refusal } from '../client/transports.ts'
import { collector, UNCOLLECTED } from '../tools/collector.ts'
import { LEASE } from '../leader/candidates.ts'
import type { Lease } from '../../lib/leader/lease_state.ts'
import {
  messages,
  only,
  ref,
  restingClock,
  skippingClock,
  type Started,
  starting,
  type StartingOptions,
} from './starting.ts'

const COUNT = 4
const BUCKETS = { name: 'op', leaderElection: { namespace: 'default' }, sharding: { buckets: COUNT } } as const
const names = Array.from({ length: 40 }, (_, at) => `map-${at}`)
const isOurs = ({ metadata }: { metadata: { name: string } }): boolean => metadata.name.startsWith('map-')

const ownerOfName = (name: string, ...members: string[]): string | undefined =>
  ownersOf(COUNT, members.toSorted())[bucketOf('configmaps', `default/${name}`, COUNT)]

/** Some names whose keys are those of one of the replicas. */
const namesOf = (owner: string, ...members: string[]): string[] =>
  names.filter((name) => ownerOfName(name, ...members) === owner)

/** Replicas on one server, which note their runs. */
function stage(options: Partial<OperatorOptions> = {}, clock = restingClock(), requeues = false) {
  const server = new ApiServer({ clock })
  const runs: string[] = []
  const holds = new Map<string, Latch>()
  const aborted: string[] = []
  const describe = (replica: string): Operator => {
    const app = operator({ ...BUCKETS, ...options })
    app.controllerFor(ConfigMap, { when: isOurs, concurrency: 4 }).reconcileKey(async (key, context) => {
      const { client, signal } = context
      const { name } = key
      const object = await client.get(ConfigMap, key)
      runs.push(`${replica} ${object ? '' : 'gone '}${name}`)
      if (requeues) return { requeueAfter: '90s' }
      const hold = holds.get(name)
      if (!hold) return undefined
      signal.addEventListener('abort', () => void aborted.push(`${replica} ${name}`))
      await hold.opened
      await client.patch(ConfigMap, key, { merge: { data: { by: replica } } })
      return undefined
    })
    return app
  }
  return {
    ...{ clock, server, runs, holds, aborted, describe },
    /** Holds the runs of a key until it is opened. */
    holding(name: string): Latch {
      const latch = new Latch()
      holds.set(name, latch)
      return latch
    },
    take: () => runs.splice(0).toSorted(),
    async start(replica: string, more: StartingOptions = {}): Promise<Started> {
      const started = await starting(describe(replica), { clock, server, identity: replica, ...more })
      await clock.advance(1000)
      return started
    },
  }
}

/** Options of a start that gets no answers any more once it is cut off. */
function cuttable() {
  let isCut = false
  const intercept: StartingOptions['intercept'] = async (request, next) =>
    isCut ? await new Promise(() => {}) : await next(request)
  return { intercept, cut: () => void (isCut = true) }
}

const isIn = (bucket: string, name: string): boolean =>
  bucket === `op-bucket-${bucketOf('configmaps', `default/${name}`, COUNT)}`

async function create(client: Client, some: readonly string[] = names): Promise<void> {
  for (const name of some) await client.create(ConfigMap, { metadata: ref(name) })
}

/** Returns who holds the bucket of a name. */
async function heldBy(client: Client, name: string): Promise<string | undefined> {
  return Object.entries(await leases(client)).find(([bucket]) => isIn(bucket, name))?.[1]
}

async function leases(client: Client): Promise<Record<string, string | undefined>> {
  const all = await client.list<Lease>(LEASE)
  return Object.fromEntries(all.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity]))
}

test('each key runs on one of three replicas, and all of them work', async () => {
  const app = operator({ name: 'op', sharding: { buckets: COUNT } })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata: { name } }) => void runs.push(name))
  await using w = await world(app, { replicas: 3 })
  await w.advance('40s')
  await create(w.client)
  await w.settle()
  assert.deepEqual(runs.toSorted(), names.toSorted())
  const holders = Object.entries(await leases(w.client)).filter(([name]) => name.startsWith('op-bucket-'))
  assert.deepEqual([holders.length, new Set(holders.map(([, holder]) => holder)).size], [COUNT, 3])
})

test('a replica that comes takes over its buckets one by one, without a key that runs twice at once', async () => {
  const { clock, start, take } = stage()
  await using a = await start('a')
  await create(a.client)
  await clock.advance(0)
  assert.deepEqual(take(), names.map((name) => `a ${name}`).toSorted())
  const b = await start('b')
  await clock.advance(60_000)
  const asked = b.network.requests.flatMap(({ path }) => /op-bucket-(\d+)/.exec(path)?.[1] ?? [])
  for (const at of new Set(asked)) assert.equal(ownersOf(COUNT, ['a', 'b'])[Number(at)], 'b', at)
  const moved = namesOf('b', 'a', 'b')
  assert.ok(moved.length > 5 && moved.length < 35)
  assert.deepEqual(take(), moved.map((name) => `b ${name}`).toSorted())
  for (const name of names) await a.client.patch(ConfigMap, ref(name), { merge: { data: { changed: 'yes' } } })
  await clock.advance(0)
  assert.deepEqual(take(), names.map((name) => `${ownerOfName(name, 'a', 'b')} ${name}`).toSorted())
  await b.stop()
  await clock.advance(20_000)
  assert.deepEqual(take(), moved.map((name) => `a ${name}`).toSorted())
  assert.equal(b.outcome(), 'resolved')
  assert.equal((await leases(a.client))['op-replica-b'], '')
  // Another process of that name, as a Pod of a StatefulSet.
  await using _ = await start('b')
  await clock.advance(60_000)
  assert.deepEqual(take(), moved.map((name) => `b ${name}`).toSorted())
})

test('a bucket is given up when its running reconcile has ended, which may write, and its keys wait for that', async () => {
  const { clock, start, take, holding, aborted } = stage({ grace: 'forever' })
  const [name] = namesOf('b', 'a', 'b')
  const hold = holding(name!)
  await using a = await start('a')
  await create(a.client, [name!])
  await clock.advance(0)
  await using b = await start('b')
  await clock.advance(60_000)
  await a.client.patch(ConfigMap, ref(name!), { merge: { data: { changed: 'yes' } } })
  await clock.advance(10_000)
  assert.deepEqual([take(), aborted], [[`a ${name}`], []])
  hold.open()
  await clock.advance(100)
  const [bucket] = Object.entries(await leases(a.client)).filter(([lease]) => isIn(lease, name!))
  assert.notEqual(bucket![1], 'a')
  await clock.advance(10_000)
  assert.deepEqual([...new Set(take())], [`b ${name}`])
  assert.deepEqual((await a.client.get(ConfigMap, ref(name!)))?.data, { changed: 'yes', by: 'b' })
  assert.deepEqual([messages(a, 'error'), messages(b, 'error')], [[], []])
})

test('a reconcile that hangs keeps its bucket for the grace period, and is fenced then', async () => {
  const { clock, start, take, holds, holding, aborted } = stage({ grace: '20s' })
  const [name, ...others] = namesOf('b', 'a', 'b')
  const hold = holding(name!)
  await using a = await start('a')
  await create(a.client, [name!])
  await clock.advance(0)
  holds.delete(name!)
  await using _ = await start('b')
  await clock.advance(15_000)
  assert.deepEqual([aborted, await heldBy(a.client, name!)], [[], 'a'])
  take()
  await clock.advance(60_000)
  assert.deepEqual([aborted, await heldBy(a.client, name!)], [[`a ${name}`], 'b'])
  assert.deepEqual(take(), [`b ${name}`])
  hold.open()
  await clock.advance(0)
  assert.equal((await a.client.get(ConfigMap, ref(name!)))?.data, undefined)
  // The moves of the other buckets went on.
  await create(a.client, others)
  await clock.advance(0)
  assert.deepEqual(take(), others.map((each) => `b ${each}`).toSorted())
})

test('the buckets of a live replica are not taken by one whose watch of the Leases is late', async () => {
  const { clock, server, start } = stage()
  let isLate = false
  await using a = await start('a', {
    intercept: async (request, next) =>
      isLate && request.path.includes('replica-of') ? await new Promise(() => {}) : await next(request),
  })
  await using b = await start('b')
  await clock.advance(60_000)
  const before = await leases(a.client)
  assert.ok(Object.values(before).filter((holder) => holder === 'b').length > 1)
  isLate = true
  server.closeWatches()
  await clock.advance(60_000)
  assert.deepEqual(await leases(a.client), before)
  assert.deepEqual(messages(b, 'warn'), [])
})

test('of two replicas with one identity, the later one has all buckets, and the other ends', async () => {
  const { clock, start, take } = stage()
  const first = await start('a')
  await using second = await start('a')
  await clock.advance(3000)
  assert.match(String(first.outcome()), /LeadershipLost: .* "a", another process .*, holds it now/)
  take()
  await create(second.client)
  await clock.advance(0)
  assert.deepEqual(take(), names.map((name) => `a ${name}`).toSorted())
})

test('the loss of a bucket ends its runs, not the process, and it is taken again when it is free', async () => {
  const { clock, start, take, holding, aborted } = stage()
  await using b = await start('b')
  const [name = '', ...others] = names
  await create(b.client, [name])
  await clock.advance(0)
  const hold = holding(name)
  await b.client.patch(ConfigMap, ref(name), { merge: { data: { changed: 'yes' } } })
  await clock.advance(0)
  take()
  const bucket = `op-bucket-${bucketOf('configmaps', `default/${name}`, COUNT)}`
  const lose = async (): Promise<void> => {
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 30 }
    await b.client.patch(LEASE, ref(bucket), { merge: { spec } })
    await clock.advance(3000)
  }
  await lose()
  assert.deepEqual(aborted, [`b ${name}`])
  hold.open()
  await clock.advance(3000)
  assert.deepEqual((await b.client.get(ConfigMap, ref(name)))?.data, { changed: 'yes' })
  assert.deepEqual(messages(b, 'warn').filter((line) => line.startsWith('Bucket ')).length, 1)
  assert.equal(b.outcome(), undefined)
  await create(b.client, others)
  await clock.advance(0)
  const open = others.filter((each) => !isIn(bucket, each))
  assert.deepEqual(take(), open.map((each) => `b ${each}`).toSorted())
  await clock.advance(60_000)
  assert.ok(take().includes(`b ${name}`))
  assert.deepEqual((await b.client.get(ConfigMap, ref(name)))?.data, { changed: 'yes', by: 'b' })
  // A deletion whose key still waits is dropped with the bucket.
  const again = holding(name)
  await b.client.patch(ConfigMap, ref(name), { merge: { data: { changed: 'again' } } })
  await clock.advance(0)
  await b.client.delete(ConfigMap, ref(name))
  await clock.advance(0)
  await lose()
  again.open()
  await clock.advance(0)
  assert.deepEqual(take().filter((run) => run.includes('gone')), [])
  await clock.advance(60_000)
  assert.ok(take().includes(`b gone ${name}`))
})

test('a deletion that waits behind other keys is not forgotten when its bucket is lost again and again', async () => {
  const { clock, start, take, holds } = stage()
  await using b = await start('b')
  const [name = '', ...others] = names
  const bucket = `op-bucket-${bucketOf('configmaps', `default/${name}`, COUNT)}`
  const busy = others.filter((each) => !isIn(bucket, each)).slice(0, 4)
  await create(b.client, [name])
  await clock.advance(0)
  const hold = new Latch()
  for (const each of busy) holds.set(each, hold)
  await create(b.client, busy)
  await clock.advance(0)
  await b.client.delete(ConfigMap, ref(name))
  for (let times = 0; times < 2; times++) {
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 30 }
    await b.client.patch(LEASE, ref(bucket), { merge: { spec } })
    await clock.advance(45_000)
    assert.equal(await heldBy(b.client, name), 'b')
  }
  await b.client.patch(LEASE, ref(bucket), { merge: { spec: { holderIdentity: 'other' } } })
  await clock.advance(3000)
  hold.open()
  await clock.advance(45_000)
  assert.ok(take().includes(`b gone ${name}`))
})

test('a replica that stood still for longer than its Leases last does not write, and ends', async () => {
  const { clock, ahead, skip } = skippingClock()
  const { start, holding } = stage({}, clock)
  const [name = ''] = names
  const hold = holding(name)
  const b = await start('b', { ahead })
  await create(b.client, [name])
  await clock.advance(0)
  b.network.take()
  skip(20_000)
  hold.open()
  await clock.advance(60_000)
  assert.equal((await b.client.get(ConfigMap, ref(name)))?.data, undefined)
  assert.match(String(b.outcome()), /LeadershipLost/)
  assert.deepEqual(b.network.take(), [])
})

test('buckets that are being given up are not released when the replica has lost its own Lease', async () => {
  const { clock, server, start } = stage()
  const hold = new Latch()
  let isHeld = false
  const b = await start('b', {
    intercept: async (request, next) => {
      if (isHeld && request.method === 'GET' && request.path.includes('op-bucket-')) await hold.opened
      return await next(request)
    },
  })
  isHeld = true
  await b.stop()
  const other = { spec: { holderIdentity: 'other', leaseDurationSeconds: 30 } }
  await b.client.patch(LEASE, ref('op-replica-b'), { merge: other })
  await clock.advance(5000)
  assert.match(String(b.outcome()), /LeadershipLost/)
  b.network.take()
  server.closeWatches()
  await clock.advance(9000)
  hold.open()
  await clock.advance(60_000)
  assert.deepEqual(b.network.take(), [])
})

test('what a replica does after its stop has run out of time is fenced, and its Leases expire', async () => {
  const { clock, start, holding, aborted } = stage({ grace: '10s' })
  const [name = ''] = names
  const hold = holding(name)
  const b = await start('b')
  await create(b.client, [name])
  await clock.advance(0)
  await b.stop()
  await clock.advance(9_500)
  assert.deepEqual(aborted, [`b ${name}`])
  await clock.advance(20_000)
  assert.notEqual(b.outcome(), undefined)
  const holders = Object.entries(await leases(b.client)).filter(([lease]) => lease.startsWith('op-bucket-'))
  for (const [lease, holder] of holders) assert.equal(holder, isIn(lease, name) ? 'b' : '', lease)
  b.network.take()
  await clock.advance(10_000)
  assert.deepEqual(b.network.take(), [])
  hold.open()
  await clock.advance(0)
  assert.equal((await b.client.get(ConfigMap, ref(name)))?.data, undefined)
})

test('a deletion while no replica had the bucket is reconciled by the next one, if it passes the filters', async () => {
  const { clock, start, take } = stage()
  await using a = await start('a')
  const other = Array.from(names, (_, at) => `other-${at}`).find((each) => ownerOfName(each, 'a', 'b') === 'b')!
  await create(a.client, [...names, other])
  const { intercept, cut } = cuttable()
  const b = await start('b', { intercept })
  await clock.advance(60_000)
  take()
  cut()
  const [name] = namesOf('b', 'a', 'b')
  for (const each of [name!, other]) await a.client.delete(ConfigMap, ref(each))
  await clock.advance(60_000)
  assert.deepEqual(take().filter((run) => run.startsWith('a gone')), [`a gone ${name}`])
  assert.notEqual(b.outcome(), undefined)
})

test('the deletions in a deleted Namespace are reconciled also by a replica that has left it', async () => {
  const { clock, start, take } = stage({ namespaces: { labels: 'team=a' } })
  const { intercept, cut } = cuttable()
  const [{ client, stop }] = [await start('a'), await start('b', { intercept })]
  await clock.advance(60_000)
  await client.create(Namespace, { metadata: { name: 'one', labels: { team: 'a' } } })
  for (const name of names) await client.create(ConfigMap, { metadata: { namespace: 'one', name } })
  await clock.advance(1000)
  assert.ok(take().some((run) => run.startsWith('b ')))
  cut()
  await client.delete(Namespace, { name: 'one' })
  await clock.advance(60_000)
  // The watches of the other replica are open, but it may have ended before these runs did anything.
  const own = take().filter((run) => run.startsWith('a '))
  assert.deepEqual(own, names.map((name) => `a gone ${name}`).toSorted())
  await stop()
})

test('a replica with another number of buckets waits until the others have ended, also if its watch of the Leases is late', async () => {
  const { clock, server, start, take } = stage()
  const a = await start('a')
  let isLate = false
  const other = stage({ sharding: { buckets: 2 * COUNT } })
  await using c = await starting(other.describe('c'), {
    ...{ clock, server, identity: 'c' },
    intercept: async (request, next) =>
      isLate && request.path.includes('watch=') && request.path.includes('replica-of')
        ? await new Promise(() => {})
        : await next(request),
  })
  await clock.advance(30_000)
  assert.equal(messages(c, 'warn').filter((text) => text.includes('another number of buckets')).length, 1)
  isLate = true
  server.closeWatches()
  await clock.advance(60_000)
  await create(a.client)
  await clock.advance(0)
  assert.deepEqual([take().length, other.take()], [names.length, []])
  await a.stop()
  isLate = false
  server.closeWatches()
  await clock.advance(240_000)
  assert.deepEqual([take(), [...new Set(other.take())].length], [[], names.length])
})

test('a replica that lacks a controller is named once: another operator may have the name, and keep its keys', async () => {
  const { clock, server, start } = stage()
  const app = operator(BUCKETS)
  app.controllerFor(Secret).reconcile(async () => {})
  await using a = await start('a')
  await using b = await starting(app, { clock, server, identity: 'b' })
  await clock.advance(60_000)
  const lines = [a, b].map((each) => messages(each, 'warn').map((line) => line.replace(/: it is of .*"op"$/, '')))
  assert.deepEqual(lines, [
    ['"b" has no controller "configmap", whose keys wait in its buckets'],
    ['"a" has no controller "secret", whose keys wait in its buckets'],
  ])
})

test('a bucket that is being given up is kept when a replica with another number of buckets comes', async () => {
  const { clock, server, start, take, holding } = stage({ grace: 'forever' })
  const [name = ''] = namesOf('b', 'a', 'b')
  const hold = holding(name)
  await using a = await start('a')
  await create(a.client, [name])
  await using _ = await start('b')
  await clock.advance(60_000)
  take()
  const c = await starting(stage({ sharding: { buckets: 2 * COUNT } }).describe('c'), { clock, server, identity: 'c' })
  await a.client.patch(ConfigMap, ref(name), { merge: { data: { changed: 'yes' } } })
  hold.open()
  await clock.advance(10_000)
  assert.deepEqual([...new Set(take())], [`a ${name}`])
  await c.stop()
  await clock.advance(60_000)
  assert.deepEqual([...new Set(take())], [`b ${name}`])
})

test('a configuration without a namespace is warned of once, not for each Lease', async () => {
  const app = operator({ name: 'op', sharding: { buckets: COUNT } })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  await using started = await starting(app, { identity: 'a', cluster: { server: 'https://127.0.0.1' } })
  await started.clock.advance(1000)
  assert.equal(Object.values(await leases(started.client)).filter((holder) => holder === 'a').length, 1 + COUNT)
  assert.equal(messages(started, 'warn').filter((line) => line.includes('names no namespace')).length, 1)
})

test('a role that cannot list Leases, as that of one leader, is named while the keys wait', async () => {
  const { start, take } = stage()
  const refused = 'cannot list resource "leases" in API group "coordination.k8s.io"'
  const intercept = only(/^GET .*leases\?(?!.*watch=)/, () => Promise.resolve(refusal(403, 'Forbidden', {}, refused)))
  await using a = await start('a', { intercept })
  await create(a.client)
  await a.clock.advance(60_000)
  const [line, ...others] = messages(a, 'warn')
  assert.match(line!, /^The keys of taken buckets wait: .*verbs: \["get", "list", "watch", "create", .*trying again$/)
  assert.deepEqual([take(), others.length < 7], [[], true])
})

/** A stream of keys that each replica opens, with a channel for each. */
function outside() {
  const channels: EventChannel<{ namespace: string; name: string }>[] = []
  const open = (): EventChannel<{ namespace: string; name: string }> => {
    const channel = new EventChannel<{ namespace: string; name: string }>()
    channels.push(channel)
    return channel
  }
  return { channels, open }
}

/** Starts the replicas a and b of an operator with buckets, to which `describe` adds the controllers. */
async function both(describe: (app: Operator, replica: string) => unknown): Promise<[Started, Started]> {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const start = async (identity: string): Promise<Started> => {
    const app = operator(BUCKETS)
    describe(app, identity)
    const started = await starting(app, { clock, server, identity })
    await clock.advance(60_000)
    return started
  }
  return [await start('a'), await start('b')]
}

test('keys of owned and watched objects, of streams and of every run where their bucket is', async () => {
  const runs: string[] = []
  const { channels, open } = outside()
  const [a, b] = await both((app, replica) =>
    app.controllerFor(ConfigMap, { when: () => false, concurrency: names.length })
      .watches(Secret, ({ metadata }) => names.map((name) => ({ namespace: metadata.namespace, name })))
      .from('outside', open)
      .reconcileKey(async ({ name }) => void runs.push(`${replica} ${name}`))
  )
  const wanted = names.map((name) => `${ownerOfName(name, 'a', 'b')} ${name}`).toSorted()
  await a.client.create(Secret, { metadata: ref('x') })
  await a.clock.advance(0)
  assert.deepEqual(runs.splice(0).toSorted(), wanted)
  for (const channel of channels) for (const name of names) await channel.send(ref(name))
  await a.clock.advance(0)
  assert.deepEqual(runs.splice(0).toSorted(), wanted)
  await b.stop()
  await a.clock.advance(30_000)
  // The mapped keys of the buckets that were taken, although no object has them.
  assert.deepEqual(runs.splice(0).toSorted(), namesOf('b', 'a', 'b').map((name) => `a ${name}`).toSorted())
  assert.equal(channels.length, 2)
  await a.stop()
})

test('what a deleted object of another kind, or a period, mapped to runs where the bucket is taken, and not long after', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const runs: string[] = []
  const { intercept, cut } = cuttable()
  const start = async (identity: string, more: StartingOptions = {}): Promise<Started> => {
    const app = operator(BUCKETS)
    app.controllerFor(ConfigMap, { when: () => false, concurrency: names.length })
      .watches(Secret, () => names.slice(0, 20).map(ref))
      .every('2m', () => names.slice(20).map(ref))
      .reconcileKey(async ({ name }) => void runs.push(`${identity} ${name}`))
    return await starting(app, { clock, server, identity, ...more })
  }
  const [{ client, stop }] = [await start('a'), await start('b', { intercept })]
  await client.create(Secret, { metadata: ref('x') })
  await clock.advance(119_000)
  cut()
  await client.delete(Secret, ref('x'))
  await clock.advance(0)
  runs.length = 0
  await clock.advance(30_000)
  assert.deepEqual(
    runs.filter((run) => run.startsWith('a ')).toSorted(),
    [
      ...namesOf('b', 'a', 'b'),
      ...namesOf('a', 'a', 'b').filter((each) => names.indexOf(each) >= 20),
    ].map((each) => `a ${each}`).toSorted(),
  )
  await clock.advance(280_000)
  runs.length = 0
  for (const { metadata } of await client.list<Lease>(LEASE)) {
    if (!metadata.name.startsWith('op-bucket-')) continue
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 5 }
    await client.patch(LEASE, ref(metadata.name), { merge: { spec } })
  }
  await clock.advance(60_000)
  assert.equal(await heldBy(client, names[0]!), 'a')
  assert.deepEqual(runs.filter((run) => names.findIndex((name) => run === `a ${name}`) < 20), [])
  await stop()
})

test('keys of a stream that came before a bucket was taken run where it is taken', async () => {
  const runs: string[] = []
  const { channels, open } = outside()
  const [a, b] = await both((app, replica) =>
    app.controllerFor(ConfigMap, { concurrency: names.length })
      .watches(Secret, () => names.map(ref))
      .from('secrets', open)
      .reconcileKey(async ({ name }, { signal }) => {
        runs.push(`${replica} ${name}`)
        if (replica === 'b') await aborted(signal)
      })
  )
  // Keys of a kind are not kept, although the stream has its name.
  await a.client.create(Secret, { metadata: ref('x') })
  await a.client.delete(Secret, ref('x'))
  await a.clock.advance(301_000)
  const sent = names.filter((_, at) => at % 2 === 0)
  for (const channel of channels) for (const name of sent) await channel.send(ref(name))
  await a.clock.advance(0)
  runs.length = 0
  await b.stop()
  await a.clock.advance(60_000)
  const moved = namesOf('b', 'a', 'b').filter((name) => sent.includes(name))
  assert.deepEqual(runs.toSorted(), moved.map((name) => `a ${name}`).toSorted())
  await a.stop()
})

test('keys of cluster-scoped kinds run once, whatever namespace a map function gives, and those of every replica in each', async () => {
  const runs: string[] = []
  const [a, b] = await both((app, replica) => {
    app.controllerFor(Node, { when: () => false, concurrency: names.length })
      .watches(Secret, ({ metadata: { namespace } }) => names.map((name) => ({ namespace, name }) as never))
      .reconcileKey(async ({ name }) => void runs.push(name))
    app.controllerFor(ConfigMap, { everyReplica: true, when: isOurs })
      .reconcileKey(async ({ name }) => void runs.push(`${replica} ${name}`))
  })
  await a.client.create(Secret, { metadata: ref('x') })
  await a.clock.advance(0)
  assert.deepEqual(runs.splice(0).toSorted(), names.toSorted())
  await create(a.client, ['map-0'])
  await a.clock.advance(0)
  assert.deepEqual(runs.toSorted(), ['a map-0', 'b map-0'])
  for (const each of [a, b]) await each.stop()
})

test('a map function that fails while a bucket is taken is called again', async () => {
  const app = operator({ name: 'op', leaderElection: { namespace: 'default' }, sharding: { buckets: 2 } })
  const runs: string[] = []
  let calls = 0
  app.controllerFor(ConfigMap, { when: () => false })
    .watches(Secret, ({ metadata }) => {
      if (++calls === 2) throw new Error('try again')
      return [metadata]
    })
    .reconcileKey(async ({ name }) => void runs.push(name))
  await using started = await starting(app, {
    identity: 'a',
    before: async (client) => await client.create(Secret, { metadata: ref('x') }),
  })
  const { clock, client } = started
  await clock.advance(30_000)
  // By the call before the buckets were taken, and by the last one.
  assert.deepEqual([runs, calls], [['x', 'x'], 3])
  // Not any more when the buckets are lost: it is called for the new and the old object of a change.
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 30 }
  for (const at of [0, 1]) await client.patch(LEASE, ref(`op-bucket-${at}`), { merge: { spec } })
  await clock.advance(60_000)
  calls = 10
  await client.patch(Secret, ref('x'), { merge: { data: { changed: btoa('yes') } } })
  await clock.advance(0)
  assert.equal(calls, 12)
})

test('the Lease of a replica that ended long ago is deleted, unless it is renewed in that moment', async () => {
  const { clock, start } = stage({ sharding: { buckets: 2 } })
  let renewals = 0
  const a: Started = await start('a', {
    intercept: async (request, next) => {
      const isFirst = request.method === 'DELETE' && renewals++ === 0
      if (isFirst) await a.client.patch(LEASE, ref('op-replica-b'), { merge: { spec: { holderIdentity: 'b' } } })
      return await next(request)
    },
  })
  const b = await start('b')
  await clock.advance(30_000)
  await b.stop()
  await clock.advance(200_000)
  assert.ok('op-replica-b' in await leases(a.client))
  await clock.advance(200_000)
  assert.deepEqual([renewals, (await leases(a.client))['op-replica-b']], [1, 'b'])
  await clock.advance(400_000)
  assert.deepEqual(Object.keys(await leases(a.client)).filter((name) => name.includes('replica')), ['op-replica-a'])
  await a.stop()
  assert.deepEqual([...new Set(Object.values(await leases(b.client)))], [''])
})

test('the role has the Leases, and what needs one leader is refused', async () => {
  const { everywhere, inNamespaces } = rightsOf(stage().describe('a').description, 'default')
  const rules = [...everywhere, ...[...inNamespaces.values()].flat()]
  assert.deepEqual(rules.find(({ resources }) => resources?.includes('leases'))?.verbs, [
    ...['get', 'list', 'watch', 'create', 'update', 'delete'],
  ])
  const refused = async (options: Partial<OperatorOptions>, message: RegExp, more = (_app: Operator) => {}) => {
    const app = operator({ name: 'op', sharding: { buckets: COUNT }, ...options })
    app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
    more(app)
    await using started = await starting(app, { identity: 'a' })
    assert.match(String(started.outcome()), message)
  }
  await refused({ sharding: { buckets: 1 } }, /sharding.buckets is 1, and must be an integer from 2 to 128/)
  await refused({ sharding: { buckets: 128 } }, /^undefined$/)
  await refused({ sharding: { buckets: 129 } }, /sharding.buckets is 129, and must be an integer from 2 to 128/)
  await refused({ sharding: { buckets: 2, ring: 'r' } }, /sharding has buckets beside ring or unsharded/)
  await refused({ sharding: {} }, /sharding needs the name of a ControllerRing, .*, or \{ buckets: 16 \}/)
  await refused({ leaderElection: true }, /leaderElection is for one leader/)
  await refused({}, /no shard is the leader that runs the task "t"/, (app) => app.add('t', async () => {}))
  await refused({}, /a group of clusters is for one leader/, (app) => {
    const clusters = app.clusters('g', () => new EventChannel())
    app.controllerFor(Secret, { clusters }).reconcile(async () => {})
  })
})

test('a replica reports no run of keys that are not its own, also of those that it had', async () => {
  const { clock, start } = stage({}, restingClock(), true)
  const reports: string[] = []
  const note = (replica: string): StartingOptions => ({
    onReconcile: ({ key }) => void reports.push(`${replica} ${key.split('/')[1]}`),
  })
  const [moved = ''] = namesOf('b', 'a', 'b')
  await using a = await start('a', note('a'))
  await create(a.client)
  await clock.advance(0)
  assert.equal(reports.splice(0).length, names.length)
  await using _ = await start('b', note('b'))
  await clock.advance(60_000)
  reports.splice(0)
  await a.client.patch(ConfigMap, ref(moved), { merge: { data: { changed: 'yes' } } })
  // Of all keys, which come back.
  await clock.advance(100_000)
  for (const name of names) {
    const runs = reports.filter((report) => report.endsWith(` ${name}`))
    assert.deepEqual([...new Set(runs)], [`${ownerOfName(name, 'a', 'b')} ${name}`])
  }
})

test('the caches catch up before the keys of a taken bucket run', async () => {
  const { clock, start } = stage({ sharding: { buckets: 2 } })
  const a = await start('a')
  await using b = await start('b')
  await clock.advance(10_000)
  b.network.take()
  await a.stop()
  await clock.advance(10_000)
  assert.ok(b.network.take().includes('GET /api/v1/configmaps'))
})

test('a deletion of long ago is not reconciled again by the next replica', async () => {
  const { clock, start, take } = stage({ sharding: { buckets: 2 } })
  await using a = await start('a')
  const b = await start('b')
  await clock.advance(10_000)
  await create(a.client)
  await clock.advance(0)
  await a.client.delete(ConfigMap, ref(take().find((run) => run.startsWith('b '))!.slice(2)))
  await clock.advance(400_000)
  take()
  await b.stop()
  await clock.advance(20_000)
  const runs = take()
  assert.ok(runs.length > 0)
  assert.deepEqual(runs.filter((run) => run.includes('gone')), [])
})

test('a run has the signals of its run and of its bucket, and none begins in a bucket that is not open', async () => {
  const fence = (stop: AbortController): Fence => ({ signal: stop.signal, check() {} })
  const lease = countedSignal()
  const bucket: Bucket = {
    ...{ phase: 'held', isOpen: false, running: 0, stop: new AbortController() },
    fence: fence(lease.controller),
  }
  const description = stage().describe('a').description.controllers[0]!
  let idle = 0
  const gate = new Gate(description, [bucket], { clock: restingClock() }, () => idle++)
  const seen: { run: Run; clients: Clients }[] = []
  const end = new Latch()
  const made = (() => {}) as unknown as Clients
  let madeTimes = 0
  const reconcile = gate.reconcile(async (run, clients) => {
    seen.push({ run, clients })
    await end.opened
  }, () => (madeTimes++, made))
  const [signal, stopping] = [new AbortController(), new AbortController()]
  const run = { key: ref('x'), attempt: 1, signal: signal.signal, stopping: stopping.signal, onWrite: undefined }
  await reconcile(run as unknown as Run)
  assert.deepEqual([seen.length, bucket.running], [0, 0])
  bucket.isOpen = true
  const running = reconcile(run as unknown as Run)
  const [own] = seen
  assert.deepEqual([own!.clients === made, bucket.running], [true, 1])
  stopping.abort()
  assert.deepEqual([own!.run.stopping.aborted, own!.run.signal.aborted], [true, false])
  signal.abort()
  assert.equal(own!.run.signal.aborted, true)
  bucket.phase = 'draining'
  end.open()
  await running
  assert.deepEqual([bucket.running, idle, lease.listeners()], [0, 1, 0])
  bucket.phase = 'held'
  const other = reconcile({ ...run, signal: new AbortController().signal } as unknown as Run)
  await other
  assert.equal(seen[1]!.run.signal.aborted, true, 'a call that was not awaited is aborted at the end')
  assert.equal(madeTimes, 1, 'clients of one fence are made once')
  assert.equal(idle, 1, 'nothing waits for the end of a run in a bucket that is kept')

  // Otherwise the objects of one name in many clusters would all be in one bucket.
  const [main, west] = ['configmaps', 'configmaps@west'].map((kind) => bucketOf(kind, 'default/x', COUNT))
  const buckets = names.map((_, at) => ({ ...bucket, isOpen: at === west })).slice(0, COUNT)
  const inWest = { ...description, options: { ...description.options, cluster: { name: 'west' } as never } }
  const gateInWest = new Gate(inWest, buckets, { clock: restingClock() }, () => {})
  await gateInWest.reconcile(async (run, clients) => void seen.push({ run, clients }), () => made)(
    run as unknown as Run,
  )
  assert.deepEqual([seen.length, main === west], [3, false])
})

test('a key that was deleted is queued when its bucket is taken, unless it was created again; others while it is open', async () => {
  const bucket: Bucket = { phase: 'held', isOpen: false, running: 0, fence: undefined, stop: new AbortController() }
  const description = stage().describe('a').description.controllers[0]!
  const gate = new Gate(description, [bucket], { clock: restingClock() }, () => {})
  const added: unknown[] = []
  const into: Sink = { add: (key) => added.push(key), passes: () => true }
  const starting = countedSignal()
  let inner!: Sink
  const source = {
    ...{ name: 'of maps', idle: false, warms: true, missing: ['kinds'], failing: [{}] as never },
    start: (sink: Sink) => Promise.resolve(void (inner = sink)),
  }
  const filling = { name: 'of y', start: (sink: Sink) => Promise.resolve(sink.add('y')) }
  gate.guards({ watch: (each: Source) => each.start(into, starting.controller.signal) } as never, () => [filling])
  const [guarded] = gate.guarded([source])
  await guarded!.start(into, starting.controller.signal)
  const { idle, warms, missing, failing } = guarded!
  assert.deepEqual({ idle, warms, missing, failing }, { idle: false, warms: true, missing: ['kinds'], failing: [{}] })
  const object = { metadata: ref('x') } as never
  inner.sees!({ kind: 'deleted', object, stale: false })
  inner.add(ref('x'))
  for (const [isOpen, expected] of [[false, ['default/x']], [true, ['default/x', 'y']], [true, ['y']]] as const) {
    bucket.isOpen = isOpen
    await gate.fill(new Set([bucket]), starting.controller.signal)
    assert.deepEqual([added.splice(0), starting.listeners()], [expected, 0])
    if (isOpen) inner.sees!({ kind: 'added', object, initial: false })
  }
})

test('a bucket that is taken just when others have been opened is opened, too', async () => {
  const description = stage({ sharding: { buckets: 2 } }).describe('a').description
  const [first, second] = [0, 1].map((at) => names.find((name) => bucketOf('configmaps', `default/${name}`, 2) === at)!)
  for (let turns = 0; turns < 8; turns++) {
    const clock = restingClock()
    const leads: ((fence: Fence) => void)[] = []
    const caughtUp = [new Latch(), new Latch()]
    const caches = [...caughtUp]
    const { controller: { signal }, listeners } = countedSignal()
    const fence: Fence = { signal, check() {} }
    const buckets = new Buckets(description, 'a', {}, {
      ...{ clock, log: silentLog, fence },
      clusters: {
        main: { leaseApi: { listPage: async () => ({ items: [] }) } },
        all: [{ beforeLeading: () => caches.shift()!.opened }],
      },
      elect: () => ({
        start: async (stop: AbortSignal, lead: (typeof leads)[0]) => (leads.push(lead), await aborted(stop)),
      }),
      inform: () => ({ addHandler: () => ({ synced: async () => {} }), start: aborted }),
    } as unknown as BucketsSetup)
    let sink: Sink | undefined
    const opened: string[] = []
    const source = { name: 'x', start: async (own: Sink) => void (sink = own) }
    await buckets.gateOf(description.controllers[0]!)!.guarded([source])[0]!
      .start({ add: (key) => void opened.push(String(key)), passes: () => true }, fence.signal)
    const stop = new AbortController()
    const running = buckets.start(stop.signal)
    await clock.advance(0)
    leads[0]!(fence)
    await clock.advance(0)
    caughtUp[0]!.open()
    for (let turn = 0; turn < turns; turn++) await undefined
    leads[1]!(fence)
    caughtUp[1]!.open()
    await clock.advance(0)
    for (const name of [first!, second!]) sink!.add(`default/${name}`)
    assert.deepEqual(opened, [`default/${first}`, `default/${second}`], `after ${turns} turns`)
    stop.abort()
    await running
    assert.equal(listeners(), 1) // of the replica's own Lease
  }
})

test('late renewals of many buckets are a few lines', async () => {
  const app = operator({ name: 'op', sharding: { buckets: 64 } })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const warnings: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (line: string) => void warnings.push(line) }
  await using w = await world(app, { replicas: 2, log })
  await w.advance('40s')
  w.fault({ verb: 'update', resource: LEASE, status: 503, times: 100 })
  await w.advance('3s')
  const ofBuckets = warnings.filter((line) => line.startsWith('Cannot renew lease "default/op-bucket-'))
  assert.equal(ofBuckets.length, 10, warnings.join('\n'))
  await w.advance('1m')
  w.fault({ verb: 'update', resource: LEASE, status: 503, times: 100 })
  await w.advance('3s')
  assert.ok(warnings.some((line) => /; trying again \(and \d\d more like it\)$/.test(line)), warnings.join('\n'))
})

/** Buckets of a replica alone, which takes none. `watch`: that of the Leases. */
function idle(watch: (signal: AbortSignal) => Promise<void>) {
  const clock = new FakeClock()
  const fence: Fence = { signal: new AbortController().signal, check() {} }
  const buckets = new Buckets(stage().describe('a').description, 'a', {}, {
    ...{ clock, log: silentLog, fence, clusters: { main: {}, all: [] }, elect: () => ({ start: aborted }) },
    inform: () => ({ addHandler: () => ({ synced: async () => {} }), start: watch }),
  } as unknown as BucketsSetup)
  return { clock, buckets }
}

test('six hours of a replica leave nothing in memory', { skip: collector() ? false : UNCOLLECTED }, async () => {
  const { clock, buckets } = idle(aborted)
  const stop = new AbortController()
  const running = buckets.start(stop.signal)
  const heapAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms)
    collector()!()
    return process.memoryUsage().heapUsed
  }
  const before = await heapAfter(10_000)
  const periods = 6 * 3_600_000 / 2000
  const each = (await heapAfter(periods * 2000) - before) / periods
  assert.ok(each < 100, `${each} bytes for each period`)
  stop.abort()
  await running
})

test('a watch of the Leases that fails for good ends the replica', async () => {
  const { buckets } = idle(async () => await Promise.reject(new Error('no permission')))
  await assert.rejects(buckets.start(new AbortController().signal), /no permission/)
})
