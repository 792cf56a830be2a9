/** Groups of clusters, which a provider adds and removes while the operator runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  type Clock,
  Cluster,
  type ClusterChange,
  type ClusterGroup,
  type ControllerOptions,
  defineResource,
  EventChannel,
  type KubeObject,
  limiters,
  type Operator,
  operator,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import { Registry } from 'prom-client'
import * as z from 'zod'
import { countListeners } from '../async/counted_signal.ts'
import { Latch } from '../../lib/async/latch.ts'
import { CRD } from '../../lib/core/resource.ts'
import { optionalIn, syncTimeoutsOf } from '../../lib/operator/description/used_kinds.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { recorder, refusal } from '../client/transports.ts'
import { collector, leftOf, UNCOLLECTED } from '../tools/collector.ts'
import { create, failures, messages, ours, ref, replicas, restingClock, starting } from './starting.ts'

const config = { server: 'https://127.0.0.1:1' }

interface Fleet {
  readonly app: Operator
  readonly members: ClusterGroup
  readonly runs: string[]
  /** Sends a change to the provider of each replica. */
  send(change: ClusterChange): void
}

function fleet(options: ControllerOptions<KubeObject> = {}, operatorOptions: { leaderElection?: boolean } = {}): Fleet {
  const app = operator({ name: 'op', ...operatorOptions })
  const channels = new Set<EventChannel<ClusterChange>>()
  const members = app.clusters('members', ({ signal }) => {
    const channel = new EventChannel<ClusterChange>()
    channels.add(channel)
    signal.addEventListener('abort', () => channels.delete(channel))
    return channel
  })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { ...options as object, clusters: members, when: ours })
    .reconcileKey(async ({ cluster, name }) => void runs.push(`${cluster} ${name}`))
  return { app, members, runs, send: (change) => channels.forEach((channel) => channel.send(change)) }
}

/**
 * APIs of members by name, each with what the operator sends. All have one clock: by the real one, a watch would keep
 * the process after a failure, and work of more than 8 ms would take more turns than a test waits.
 */
function servers() {
  const clock = restingClock()
  const of = new Map<string, { client: Client; network: ReturnType<typeof recorder> }>()
  const at = (name: string) => {
    if (!of.has(name)) {
      const { handle } = new ApiServer({ clock })
      of.set(name, {
        client: new Cluster({ name: 'test', transport: handle, clock }).client,
        network: recorder(handle),
      })
    }
    return of.get(name)!
  }
  return { clock, at, connect: (name: string): Transport => at(name).network.transport }
}

test('clusters come and go: their keys are reconciled while they are there, and others go on', async () => {
  const { app, runs, send } = fleet()
  await using w = await world(app)
  const taken = () => runs.splice(0).toSorted()
  const [a, b] = [w.clientOf({ name: 'a' }), w.clientOf({ name: 'b' })]
  await create(a, 'x')
  for (const add of ['a', 'b', 'a']) send({ add, config })
  await create(b, 'x')
  await w.settle()
  assert.deepEqual(taken(), ['a x', 'b x'])
  send({ remove: 'a' })
  send({ remove: 'never' })
  await w.settle()
  await create(a, 'y')
  await create(b, 'y')
  await w.settle()
  assert.deepEqual(taken(), ['b y'])
  send({ add: 'a', config })
  await w.settle()
  assert.deepEqual(taken(), ['a x', 'a y'])
  // Another configuration is another connection, with all keys; the same one is none.
  send({ add: 'b', config: { ...config, token: 'new' } })
  send({ add: 'a', config: { ...config } })
  await w.settle()
  assert.deepEqual(taken(), ['b x', 'b y'])
})

test(
  'a removed cluster leaves no timer, watch, part or object behind',
  { skip: collector() ? false : UNCOLLECTED },
  async () => {
    const { app, send } = fleet({ warmup: true })
    const { clock, at, connect } = servers()
    // The fake clock holds timers that are cancelled, until they are due.
    const ahead: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, fire) => ms === Infinity ? () => {} : clock.after(ms, fire),
    }
    const s = await starting(app, { clock, ahead, connect })
    const seen: WeakRef<object>[] = []
    const round = async () => {
      send({ add: 'a', config })
      await s.clock.advance(1)
      await create(at('a').client, `x${seen.length}`)
      await s.clock.advance(1000)
      seen.push(new WeakRef(s.parts!.controllers.get('configmap@a')!))
      send({ remove: 'a' })
      await s.clock.advance(1)
    }
    const before = [s.clock.pending, s.parts!.controllers.size]
    await round()
    assert.deepEqual([s.clock.pending, s.parts!.controllers.size], before)
    const watches = at('a').network.requests.splice(0).filter(({ path }) => path.includes('watch='))
    assert.deepEqual(watches.map(({ signal }) => signal?.aborted), [true])
    watches.length = 0
    for (let more = 0; more < 3; more++) await round()
    for (const { requests } of [at('a').network, s.network]) requests.length = 0
    s.log.length = 0
    await s.clock.advance(600_000)
    assert.equal(await leftOf(seen, collector()!), 0)
    await s.stop()
    assert.equal(s.outcome(), 'resolved')
  },
)

test('functions of a configuration that comes again replace those of before, without another connection', async () => {
  const { app, send } = fleet()
  const s = await starting(app, { clock: restingClock() })
  const calls: string[] = []
  const token = (name: string) => () => Promise.reject(new Error(String(calls.push(name))))
  const added = () => messages(s, 'info').filter((line) => line.endsWith('was added')).length
  send({ add: 'a', config: { ...config, token: token('old') } })
  await s.clock.advance(1000)
  assert.deepEqual(new Set(calls.splice(0)), new Set(['old']))
  send({ add: 'a', config: { ...config, token: token('new') } })
  await s.clock.advance(60_000)
  assert.deepEqual([new Set(calls.splice(0)), added()], [new Set(['new']), 1])
  send({ add: 'a', config: { ...config, credentials: async () => ({ token: await token('other')() }) } })
  await s.clock.advance(60_000)
  assert.deepEqual([new Set(calls), added()], [new Set(['other']), 2], 'another function needs another connection')
  await s.stop()
})

test('the running reconcile of a removed cluster may end within grace, then it is aborted', async () => {
  const app = operator({ name: 'op', grace: '10s' })
  const channel = new EventChannel<ClusterChange>()
  const members = app.clusters('members', () => channel)
  const [ends, stops]: [string[], string[]] = [[], []]
  app.controllerFor(ConfigMap, { clusters: members, when: ours, concurrency: 2 })
    .reconcile(async ({ metadata: { name } }, { client, clock, signal, stopping }) => {
      stopping.addEventListener('abort', () => stops.push(`${name}: ${(stopping.reason as Error).message}`))
      if (name === 'short') await new Promise<void>((resolve) => clock.after(5000, resolve))
      else await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await client.apply(Secret, { metadata: ref(name) }).then(
        () => ends.push(`${name} wrote`),
        (error: Error) => ends.push(`${name} ${error.message}`),
      )
    })
  const { clock, at, connect } = servers()
  const s = await starting(app, { clock, connect })
  channel.send({ add: 'a', config })
  await s.clock.advance(1)
  await create(at('a').client, 'short', 'hangs')
  await s.clock.advance(1)
  channel.send({ remove: 'a' })
  await s.clock.advance(1)
  assert.deepEqual(stops.toSorted(), ['hangs: The cluster "a" was removed', 'short: The cluster "a" was removed'])
  await s.clock.advance(4999)
  assert.deepEqual(ends, ['short wrote'])
  // The same name waits for the end of the first.
  channel.send({ add: 'a', config })
  await s.clock.advance(4999)
  assert.equal(s.log.filter(({ message }) => message.endsWith('was added')).length, 1)
  await s.clock.advance(10)
  assert.deepEqual(ends, ['short wrote', 'hangs The cluster "a" was removed'])
  assert.equal(s.log.filter(({ message }) => message.endsWith('was added')).length, 2)
  await s.stop()
  await s.clock.advance(1000)
  const waiting = s.log.findLast(({ message }) => message.startsWith('Waiting '))?.message
  assert.match(waiting ?? '', /^Waiting up to 9 s more for the reconcile of ConfigMap "default\/hangs"/)
  await s.clock.advance(20_000)
  // The stop of the operator aborts it, too.
  assert.equal(ends.length, 4)
})

test('a reconcile that ignores its abort delays its own name alone, for 5 s; the last change of the name counts', async () => {
  for (const grace of ['10s', 'forever'] as const) {
    const registry = new Registry()
    const app = operator({ name: 'op', grace, metrics: { registry } })
    const channel = new EventChannel<ClusterChange>()
    const members = app.clusters('members', () => channel)
    const [runs, hangs]: [string[], Latch[]] = [[], []]
    app.controllerFor(ConfigMap, { clusters: members, when: ours }).reconcile(async ({ metadata }, { key }) => {
      runs.push(`${key.cluster} ${metadata.name}`)
      if (key.cluster === 'a') await (hangs[hangs.push(new Latch()) - 1]!).opened
    })
    const { clock, at, connect } = servers()
    const s = await starting(app, { clock, connect, serves: true })
    const send = (name: string, token?: string) =>
      channel.send({ add: name, config: { ...config, ...(token && { token }) } })
    const of = (what: string) =>
      s.log.filter(({ message }) => message === `The cluster "a" of "members" was ${what}`).length
    const active = async () =>
      /^controller_runtime_active_workers\{controller="configmap@a"\} (.*)$/m.exec(await registry.metrics())?.[1]
    await send('a')
    await create(at('a').client, 'x')
    await create(at('b').client, 'x')
    await clock.advance(1)
    await send('a', 'rotated')
    await send('b')
    await clock.advance(999)
    assert.deepEqual(runs, ['a x', 'b x'])
    await clock.advance(1)
    assert.deepEqual(messages(s, 'info').filter((line) => line.includes('waits')), [
      `The cluster "a" of "members" waits for the reconcile of ConfigMap "default/x" (${
        grace === '10s' ? 'aborted after 10 s' : 'without a limit'
      })`,
    ])
    channel.send({ remove: 'a' })
    await clock.advance(12_999)
    if (grace === '10s') {
      await send('a', 'newest')
      await clock.advance(1000)
      assert.deepEqual([of('added'), of('removed'), await active()], [1, 0, '1'])
      await clock.advance(1)
      assert.deepEqual(messages(s, 'warn'), [
        'The cluster "a" of "members" waits no longer for the reconcile of ConfigMap "default/x", which ignores its abort of 5 s ago',
      ])
      assert.deepEqual([of('added'), of('removed'), runs.length, await active()], [2, 1, 3, '1'])
      // It ends after all, and leaves what has its name now alone.
      hangs.shift()!.open()
      await clock.advance(1)
      assert.deepEqual([[...s.parts!.controllers.keys()], await active()], [['configmap@b', 'configmap@a'], '1'])
      assert.match(await registry.metrics(), /^workqueue_adds_total\{[^}]*"configmap@a"[^}]*\} 1$/m)
    } else {
      await clock.advance(600_000)
      assert.deepEqual([of('removed'), messages(s, 'warn').filter((line) => line.includes('no longer'))], [0, []])
      hangs.shift()!.open()
      await clock.advance(1)
      assert.deepEqual([of('added'), of('removed')], [1, 1])
    }
    for (const hang of hangs) hang.open()
    await s.stop()
    await s.ended
    assert.equal(s.outcome(), 'resolved')
  }
})

test('a cluster that cannot be added keeps out no other, leaves nothing behind, and is tried again', async () => {
  const app = operator({ name: 'op' })
  const changes = new EventChannel<ClusterChange>()
  const members = app.clusters('members', () => changes)
  let fails = true
  app.controllerFor(ConfigMap, { clusters: members }).reconcile(async () => {})
  app.controllerFor(ConfigMap, {
    clusters: members,
    name: 'limited',
    limiter: () => {
      if (fails) throw new Error('not yet')
      return limiters.fastSlowLimiter({ fastMs: 10, slowMs: 1000, fastTries: 2 })
    },
  }).reconcile(async () => {})
  const { clock, connect } = servers()
  await using s = await starting(app, { clock, connect: (name) => name === 'bad' ? undefined : connect(name) })
  const listeners = countListeners(s.parts!.manager.abandon)
  for (let times = 0; times < 2; times++) {
    for (const name of ['bad', 'a', 'gone']) {
      await changes.send({ add: name, config: { server: name === 'bad' ? '' : config.server } })
    }
    await changes.send({ remove: 'gone' })
  }
  await s.clock.advance(100_000)
  assert.deepEqual(failures(s).map((line) => line.replace(/^Cannot add the cluster | \(tried again.*$/g, '')), [
    '"bad" of "members": Cannot use server "": it must be a URL such as https://127.0.0.1:6443, without a user',
    '"a" of "members": not yet',
    ...Array(2).fill('"gone" of "members": not yet') as string[],
  ])
  assert.ok(s.log.find(({ level }) => level === 'error')!.fields['error'] instanceof Error)
  assert.deepEqual([s.parts!.controllers.size, listeners()], [0, 0])
  fails = false
  await s.clock.advance(61_000)
  assert.deepEqual([...s.parts!.controllers.keys()], ['configmap@a', 'limited@a'])
  // This is a mistake of the provider, which is opened again.
  await changes.send('a' as never)
  await s.clock.advance(1000)
  assert.match(failures(s).at(-1)!, /^Cannot read the stream of the source "members": /)
})

test('a removed cluster is closed after its Events are written', async () => {
  const app = operator({ name: 'op' })
  const channel = new EventChannel<ClusterChange>()
  const members = app.clusters('members', () => channel)
  app.controllerFor(ConfigMap, { clusters: members, when: ours })
    .reconcile(async (map, { events }) => events.normal(map, 'Seen', 'it is there'))
  const { clock, at, connect } = servers()
  const gate = Promise.withResolvers<void>()
  at('a').network.intercept = async (request, next) => {
    if (request.path.includes('/events')) await gate.promise
    return await next(request)
  }
  await using s = await starting(app, { clock, connect })
  const listeners = new Map<AbortSignal, number>()
  const counting = <F extends AbortSignal['addEventListener']>(change: number, inner: F): F =>
    function (this: AbortSignal, ...args: Parameters<F>): void {
      listeners.set(this, (listeners.get(this) ?? 0) + change)
      return inner.apply(this, args)
    } as F
  const { prototype } = AbortSignal
  const { addEventListener, removeEventListener } = prototype
  using _ = {
    [Symbol.dispose]: () => void Object.assign(prototype, { addEventListener, removeEventListener }),
  }
  Object.assign(prototype, {
    addEventListener: counting(1, addEventListener),
    removeEventListener: counting(-1, removeEventListener),
  })
  const added = () => [...listeners].reduce((sum, [{ aborted }, count]) => aborted ? sum : sum + count, 0)
  channel.send({ add: 'a', config })
  await s.clock.advance(1)
  assert.ok(added() > 0)
  await create(at('a').client, 'x')
  await s.clock.advance(1)
  channel.send({ remove: 'a' })
  await s.clock.advance(1000)
  assert.equal(s.parts!.controllers.size, 1)
  gate.resolve()
  await s.clock.advance(1)
  assert.deepEqual([s.parts!.controllers.size, added()], [0, 0])
})

test('only the leader reconciles; a follower watches, and takes over what is there', async () => {
  const { app, runs, send } = fleet({ warmup: true }, { leaderElection: true })
  const { clock, at, connect } = servers()
  const [leader, follower] = await replicas(app, 2, { clock, connect })
  await create(at('a').client, 'x')
  for (const add of ['a', 'gone']) send({ add, config })
  await leader!.clock.advance(1000)
  assert.deepEqual(runs.splice(0), ['a x'])
  send({ remove: 'gone' })
  await leader!.clock.advance(1)
  for (const { parts } of [leader!, follower!]) assert.deepEqual([...parts!.controllers.keys()], ['configmap@a'])
  await leader!.stop()
  await leader!.clock.advance(5000)
  assert.deepEqual(runs, ['a x'])
  // Its caches have what the last leader wrote.
  const lists = at('a').network.requests.filter(({ path, headers }) =>
    !path.includes('watch=true') && headers?.['accept']?.includes('PartialObjectMetadataList')
  )
  assert.deepEqual(lists.map(({ path }) => path), ['/api/v1/configmaps?limit=500'])
  await create(at('a').client, 'y')
  await leader!.clock.advance(1)
  assert.deepEqual(runs, ['a x', 'a y'])
  await follower!.stop()
})

test('a controller on every replica runs in each; a cluster that is down stops no other', async () => {
  const { app, runs, send } = fleet({ everyReplica: true }, { leaderElection: true })
  const { clock, at, connect } = servers()
  const [leader, follower] = await replicas(app, 2, { clock, connect })
  await create(at('a').client, 'x')
  at('down').network.intercept = () => Promise.resolve(refusal(503, 'ServiceUnavailable', {}, 'away'))
  for (const add of ['down', 'a']) send({ add, config })
  await leader!.clock.advance(200_000)
  assert.deepEqual(runs, ['a x', 'a x'])
  assert.ok(
    leader!.log.some(({ level, message }) => level === 'warn' && /Starting without .*"down".*away/.test(message)),
  )
  at('down').network.intercept = undefined
  await create(at('down').client, 'z')
  await leader!.clock.advance(60_000)
  assert.deepEqual(runs, ['a x', 'a x', 'down z', 'down z'])
  for (const each of [leader!, follower!]) await each.stop()
})

test("a kind that a group's controller watches in the own cluster is defined and allowed there, and members are ready", async () => {
  const kind = (kind: string) => defineResource({ group: 'x.example.dev', version: 'v1', kind, spec: z.object({}) })
  const [Plan, Bar, Foo] = [kind('Plan'), kind('Bar'), kind('Foo')]
  for (const optional of [false, true]) {
    const app = operator({ name: 'op', health: 8081 })
    const channel = new EventChannel<ClusterChange>()
    const members = app.clusters('members', () => channel)
    const runs: string[] = []
    app.controllerFor(Bar, { clusters: members, syncTimeout: '7s' })
      .owns(Foo, { optional })
      .watches(Plan, ({ metadata }) => [metadata], { cluster: 'own' })
      .watches(Secret, () => [], { cluster: 'own', optional: true })
      .reconcile(async ({ metadata }, { key }) => void runs.push(`${key.cluster} ${metadata.name}`))
    const limit = syncTimeoutsOf(app.description)
    assert.deepEqual([Plan, Bar].map((each) => limit(each)), [7000, undefined])
    assert.deepEqual([Plan, Secret].map((each) => optionalIn(app.description)(each)), [false, true])
    await using w = await world(app, { as: 'service-account' })
    await channel.send({ add: 'a', config })
    await w.advance('1m')
    const member = w.clientOf({ name: 'a' })
    await member.create(Bar, { metadata: ref('b'), spec: {} })
    await w.advance('1m')
    await w.client.create(Plan, { metadata: ref('b'), spec: {} })
    await w.advance('1m')
    const { status } = await w.fetch('/readyz')
    const defined = async (client: Client): Promise<string[]> =>
      (await client.list(CRD)).map(({ spec }) => spec.names.kind).sort()
    assert.deepEqual(
      [runs, status, await defined(w.client), await defined(member)],
      [['a b', 'a b'], 200, ['Plan'], optional ? ['Bar'] : ['Bar', 'Foo']],
    )
  }
})

test('definitions are installed in each cluster, by the leader alone if they change', async () => {
  for (const leaderElection of [false, true]) {
    const Thing = defineResource({ group: 'far.example.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })
    const app = operator({ name: 'op', crds: 'install', leaderElection })
    const runs: string[] = []
    const members = app.clusters('members', async function* () {
      yield { add: 'a', config }
    })
    app.cache(Thing, { cluster: members, labels: 'ours' })
    app.controllerFor(Thing, { clusters: members }).finalize(async () => {}).reconcile(async ({ metadata }) =>
      void runs.push(metadata.name)
    )
    const { clock, at, connect } = servers()
    const client = at('a').client
    let isRefused = true
    if (leaderElection) {
      // What is there keeps its objects from the controllers until the leader may change it.
      const { crd } = Thing.definition
      await client.create(CRD, { ...crd, spec: { ...crd.spec, names: { ...crd.spec.names, shortNames: ['old'] } } })
      at('a').network.intercept = (request, next) =>
        isRefused && request.method === 'PUT' && request.path.includes('customresourcedefinitions')
          ? Promise.resolve(refusal(403, 'Forbidden', {}, 'not yet'))
          : next(request)
      await clock.advance(1000)
      await client.create(Thing, { metadata: { ...ref('early'), labels: { ours: '' } }, spec: {} })
    }
    const s = await starting(app, { clock, connect })
    await clock.advance(10_000)
    assert.deepEqual(runs.splice(0), [])
    isRefused = false
    await clock.advance(60_000)
    assert.deepEqual(runs.splice(0), leaderElection ? ['early'] : [])
    for (const name of ['theirs', 'mine']) {
      await client.create(Thing, {
        metadata: { ...ref(name), ...(name === 'mine' && { labels: { ours: '' } }) },
        spec: {},
      })
    }
    await s.clock.advance(1)
    assert.deepEqual(runs, ['mine'])
    assert.deepEqual((await client.get(Thing, ref('mine')))?.metadata.finalizers, ['op/thing'])
    await s.stop()
    assert.equal(s.outcome(), 'resolved')
  }
})

test('a provider that throws is reported and read again; a name that is refused is reported', async () => {
  let calls = 0
  const long = 'a'.repeat(64)
  const changes: unknown[] = ['No Name', long, 'west', 'a'].map((add) => ({ add, config }))
  const app = operator({ name: 'op' })
  app.cluster('west', config)
  const members = app.clusters('members', async function* ({ client }) {
    calls++
    await client.list(ConfigMap)
    for (let change = changes.shift(); change; change = changes.shift()) yield change as ClusterChange
    if (calls < 4) throw new Error('not today')
    if (calls === 4) yield { add: 'b', config }
    return calls > 4 ? 'done' : undefined
  })
  app.controllerFor(ConfigMap, { clusters: members }).reconcile(async () => {})
  const { clock, connect } = servers()
  await using s = await starting(app, { clock, connect })
  await s.clock.advance(10_000)
  assert.deepEqual([calls, [...s.parts!.controllers.keys()]], [5, ['configmap@a', 'configmap@b']])
  assert.deepEqual(failures(s).map((line) => line.replace(/ \(opened again.*/, '')), [
    ...['No Name', long].map((name) =>
      `Cannot add the cluster "${name}" of "members": the name must be lower-case letters, digits and dashes (tried again with back-off)`
    ),
    'Cannot add the cluster "west" of "members": another one has its name (tried again with back-off)',
    ...Array(3).fill('Cannot read the stream of the source "members": not today') as string[],
  ])
  assert.deepEqual(s.log.filter(({ message }) => message.includes('without an item')), [])
})

test('the names of groups are those of no other cluster, and their controllers are checked as others are', async () => {
  const app = operator({ name: 'op' })
  const provider = async function* () {}
  app.cluster('west', config)
  const members = app.clusters('members', provider)
  for (const name of ['west', 'members']) assert.throws(() => app.clusters(name, provider), /Cannot name two clusters/)
  assert.throws(() => app.cluster('members', config), /Cannot name two clusters "members"/)
  assert.throws(() => app.clusters('x', provider, { optional: true } as never), /optional/)
  assert.throws(
    () => operator({ name: 'other' }).controllerFor(ConfigMap, { clusters: members }),
    /are those of another operator/,
  )
  for (let i = 0; i < 2; i++) app.controllerFor(ConfigMap, { clusters: members }).reconcile(async () => {})
  await assert.rejects(world(app), /two controllers are called "configmap"/)
})
