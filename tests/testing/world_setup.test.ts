/** Tests the objects, time and servers of a world, and the errors that name what keeps it busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, type Operator, operator, Server } from 'kubeloop'
import { ConfigMap, Deployment, Namespace, Pod, Secret } from 'kubeloop/kinds'
import { FakeClock, world } from 'kubeloop/testing'
import * as z from 'zod'
import { sleep } from '../../lib/async/clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { isOurs, map, ref, silent } from './worlds.ts'

const waiting = (): Operator =>
  operator({ name: 'x', leaderElection: true }).add(
    'wait',
    ({ signal, clock }) => sleep(clock, 1e9, signal).catch(() => {}),
  )

const define = (kind: string, version = 'v1', cluster = false) =>
  defineResource({ group: 'own.dev', version, kind, cluster, spec: z.object({ n: z.int32().default(1) }) })
const [Foo, FooBeta, Bar, Baz] = [define('Foo'), define('Foo', 'v1beta1'), define('Bar', 'v1', true), define('Baz')]
const foo = { apiVersion: 'own.dev/v1', kind: 'Foo', metadata: ref('a'), spec: {} }
const bar = { apiVersion: 'own.dev/v1', kind: 'Bar', metadata: { name: 'b' }, spec: { n: 2 } }
const baz = { apiVersion: 'own.dev/v1', kind: 'Baz', metadata: ref('c'), spec: {} }

test('the client of a test refuses unknown fields, and returns frozen objects', async () => {
  await using w = await world(waiting())
  await assert.rejects(w.client.create(ConfigMap, { ...map('a'), oops: 1 } as never), /unknown field "oops"/)
  assert.ok(Object.isFrozen(await w.client.create(ConfigMap, map('a'))))
})

test('objects of the operator’s kinds exist before it starts, whatever its crds option is', async () => {
  for (const crds of [undefined, 'install', 'verify', 'ignore', { mode: 'install', narrow: true }] as const) {
    const seen: string[] = []
    const app = operator({ name: 'x', ...(crds && { crds }) })
    const note = (kind: string) => async ({ spec: { n } }: { readonly spec: { readonly n: number } }): Promise<void> =>
      void seen.push(`${kind} ${n}`)
    app.controllerFor(Foo).watches(FooBeta, () => []).owns(Bar).reconcile(note('Foo'))
    app.controllerFor(Bar).watches(Baz, () => [], { optional: true }).reconcile(note('Bar'))
    await using w = await world(app, {
      objects: [foo, { ...foo, apiVersion: 'own.dev/v1beta1', metadata: ref('z') }, bar, baz],
    })
    assert.deepEqual(await w.settle(), [])
    assert.deepEqual(seen.toSorted(), ['Bar 2', 'Foo 1', 'Foo 1'], JSON.stringify(crds))
  }
})

test('a given definition is used instead of the operator’s', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(Foo).reconcile(async () => {})
  const crd = structuredClone(Foo.definition.crd) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: object } }[] }
  }
  crd.spec.versions[0]!.schema.openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const other = { ...foo, spec: { n: 'text' } }
  await assert.rejects(
    world(app, { objects: [crd, other], log: silent }),
    /its schema becomes narrower .* Foo "default\/a"/,
    'the object was created by the definition that was given',
  )
  await assert.rejects(world(app, { objects: [other] }), /Foo.* is invalid: spec\.n/)
})

test('objects without a kind, or of kinds that are not served, are refused by their index and kind', async () => {
  const metadata = ref('a')
  const cannot = /^TypeError: Cannot create objects\[1\] of the world: it has no /
  const wrong: readonly (readonly [unknown, string])[] = [
    [undefined, 'apiVersion and no kind and no metadata.name; give whole objects: {'],
    [null, 'apiVersion and no kind and no metadata.name;'],
    ['text', 'apiVersion and no kind and no metadata.name;'],
    [{ metadata, spec: {} }, 'apiVersion and no kind; give'],
    [{ apiVersion: 'v1', metadata }, 'kind; give'],
    [{ apiVersion: 'v1', kind: 'ConfigMap' }, 'metadata.name; give'],
    [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default' } }, 'metadata.name; give'],
    [{ apiVersion: 'v1', kind: 5, metadata }, 'kind; give'],
  ]
  const first = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('first') }
  for (const [object, text] of wrong) {
    await assert.rejects(world(waiting(), { objects: [first, object as object] }), (error: Error) => {
      assert.match(String(error), cannot)
      assert.ok(error.message.includes(`it has no ${text}`), error.message)
      return true
    })
  }
  await assert.rejects(
    world(waiting(), { objects: [{ ...foo, kind: 'Widget' }] }),
    /^TypeError: Cannot create Widget "a": the world does not serve own\.dev\/v1 Widget, and no controller .* add its CustomResourceDefinition before it/,
  )
  await assert.rejects(
    world(waiting(), { objects: [{ ...first, metadata: { name: 'a' } }] }),
    /Cannot create ConfigMap "a": it needs a namespace/,
  )
  await using w = await world(waiting(), {
    objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', generateName: 'a-' } }],
  })
  assert.equal((await w.client.list(ConfigMap, { namespace: 'default' })).length, 1)
})

test('a world starts at the given time', async () => {
  const times: number[] = []
  const app = operator({ name: 'x' }).add('note', async ({ clock }) => void times.push(clock.now()))
  const began = [undefined, new Date('2031-05-06T07:08:09Z'), new Date(0)]
  for (const now of began) {
    await using w = await world(app, now ? { now } : {})
    const beganMs = now?.getTime() ?? Date.UTC(2026, 0, 1)
    assert.deepEqual([w.clock.now(), times.pop()], [beganMs, beganMs])
    const { metadata } = await w.client.create(ConfigMap, map('a'))
    assert.equal(Date.parse(metadata.creationTimestamp), beganMs)
  }
  await assert.rejects(
    world(app, { now: new Date('soon') }),
    /^RangeError: Cannot create a world: now is an invalid Date$/,
  )
  await assert.rejects(
    world(app, { now: '2031-05-06' as never }),
    /^TypeError: Cannot create a world: now is "2031-05-06", and must be a Date$/,
  )
})

test('a world refuses options of webhooks that it does not use, and with which a cluster has none', async () => {
  for (
    const [webhooks, problem] of [
      [
        { url: 'https://a', service: 'b' },
        /^TypeError: Cannot serve webhooks: both webhooks\.url and webhooks\.service/,
      ],
      [{ url: 'http://a' }, /^TypeError: Cannot use "http:\/\/a" as the URL of webhooks/],
      [{ certs: { secret: 'Bad_Name' } }, /^TypeError: Cannot serve webhooks: webhooks\.certs\.secret is "Bad_Name"/],
      [{ certs: { secret: 'a', duration: '59m' } }, /^TypeError: .* webhooks\.certs\.duration must be 1 hour/],
    ] as const
  ) {
    const app = operator({ name: 'x', webhooks }).admission(ConfigMap, { validate: () => [] })
    await assert.rejects(world(app), problem)
  }
})

test('a world of one replica, where sharding is off, refuses what sharding refuses in a cluster', async () => {
  for (const sharding of [{ ring: 'r' }, { buckets: 4 }]) {
    const app = operator({ name: 'x', sharding }).schedule('daily', '@daily', async () => {})
    app.controllerFor(ConfigMap).reconcile(async () => {})
    await assert.rejects(world(app), /^TypeError: Cannot shard operator "x": no shard .* runs the schedule "daily"/)
  }
})

function serving(leaderElection = true): Operator {
  const app = operator({ name: 'x', leaderElection })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  let replicas = 0
  return app.extend(({ manager, cluster }) => {
    const replica = replicas++
    const answer = async (request: Request): Promise<Response> => {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/broken') throw new Error('no answer')
      if (pathname === '/write') await cluster.client.create(Secret, { metadata: ref('written') })
      return new Response(`${replica} ${request.method} ${pathname}${search} ${await request.text()}`)
    }
    manager.add(new Server({ name: 'every', fetch: answer }))
    manager.add(new Server({ name: 'leader', fetch: answer, everyReplica: false }))
    manager.add({ name: 'hook', role: 'webhook', start: async () => {}, fetch: answer } as never)
    manager.add({ name: 'mute', role: 'server', start: async () => {} })
  })
}

test('fetch calls servers of extensions by their names', async () => {
  const w = await world(serving(false))
  const text = async (response: Promise<Response>): Promise<string> => (await response).text()
  assert.equal(await text(w.fetch('every', '/a?b=c')), '0 GET /a?b=c ')
  assert.equal(await text(w.fetch('hook', '/a', { method: 'POST', body: 'x' })), '0 POST /a x')
  assert.equal(await text(w.fetch('leader', new Request('https://a.b/c', { method: 'PUT', body: 'y' }))), '0 PUT /c y')
  assert.equal(await text(w.fetch('every', '/write')), '0 GET /write ')
  assert.ok(await w.client.get(Secret, ref('written')))
  await assert.rejects(
    w.fetch('other', '/a'),
    /^TypeError: Cannot fetch \/a from the server "other": the operator has the servers "every", "leader", "hook"$/,
  )
  await assert.rejects(w.fetch('mute', '/a'), /^TypeError: /)
  await w.stop()
  await assert.rejects(w.fetch('every', '/a'), /^TypeError: .*: no replica runs$/)
  await using without = await world(waiting())
  await assert.rejects(without.fetch('every', '/a'), /: no extension adds a server$/)
})

test('a server that throws responds with 500, and the error is logged', async () => {
  const errors: string[] = []
  await using w = await world(serving(), { log: { ...silent, error: (message) => void errors.push(message) } })
  const response = await w.fetch('every', '/broken')
  assert.deepEqual([response.status, await response.text()], [500, ''])
  assert.deepEqual(errors, ['The server "every" could not answer a request: no answer'])
})

test('fetch calls the first running replica, or the leader for a server that runs only there', async () => {
  await using w = await world(serving(), { replicas: 3 })
  const by = async (name: string): Promise<string> => (await (await w.fetch(name, '/')).text())[0]!
  const leader = await by('leader')
  assert.equal(await by('every'), '0')
  w.kill(Number(leader))
  await assert.rejects(
    w.fetch('leader', '/'),
    /^Error: Cannot fetch .*: it listens only on the leader, and no replica leads$/,
  )
  await w.advance('30s')
  assert.notEqual(await by('leader'), leader)
  assert.notEqual(await by('every'), leader)
})

test('the error of a stop that does not end names the keys in work and the requests without a response', async () => {
  const app = operator({ name: 'x', grace: 0 })
  app.controllerFor(ConfigMap, { name: 'copier', when: isOurs, concurrency: 2 })
    .watches(Pod, () => new Promise(() => {}))
    .reconcile(() => new Promise(() => {}))
  const w = await world(app, { realTimeout: '10ms' })
  await w.client.create(ConfigMap, map('a'))
  await w.client.create(ConfigMap, map('b'))
  await assert.rejects(
    w.settle(),
    /still work: the controller "copier" reconciles "default\/a", the controller "copier" reconciles "default\/b"; does/,
  )
  await w.stop().catch(() => {})
  const mapping = await world(app, { realTimeout: '10ms' })
  await mapping.client.create(Pod, { metadata: ref('p'), spec: { containers: [{ name: 'c', image: 'i' }] } })
  await assert.rejects(
    mapping.settle(),
    /still work: the controller "copier" has keys that wait, or events that are being mapped; /,
  )
  await mapping.stop().catch(() => {})
})

test('the error of an endless loop names keys and requests that repeat', async () => {
  const app = operator({ name: 'x', grace: 0 })
  app.controllerFor(ConfigMap, { name: 'poller', when: isOurs })
    .from('loop', async function* () {
      for (;; await nextTurn()) yield ref('a')
    })
    .reconcile(async (_, { client }) => void (await client.live.get(Namespace, { name: 'default' })))
  await assert.rejects(
    world(app, { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }], log: silent, realTimeout: '10ms' }),
    /: .*ConfigMap "default\/a" by the controller "poller" was reconciled \d+ times, GET \/api\/v1\/namespaces\/default was sent \d+ times; does/,
  )
})

test('work before the last rest is not named', async () => {
  const app = operator({ name: 'x', grace: 0 })
  let runs = 0
  let hangs = false
  app.controllerFor(ConfigMap, { when: isOurs })
    .from('some', async function* () {
      for (let i = 0; i < 300; i++, await nextTurn()) yield ref('a')
    })
    .reconcile(async (_, { client }) => {
      if (hangs) return await new Promise(() => {})
      await client.live.get(Namespace, { name: 'default' })
      runs++
    })
  const w = await world(app, { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }], realTimeout: '10ms' })
  assert.ok(runs > 50, `${runs} runs`)
  hangs = true
  await w.client.create(ConfigMap, map('b'))
  await assert.rejects(w.settle(), /still work: the controller "configmap" reconciles "default\/b"; does/)
  await w.stop().catch(() => {})
})

test('keys of a warm-up wait for the lease, and do not keep a world from rest', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  const seen: string[] = []
  app.controllerFor(ConfigMap, { warmup: true, when: isOurs }).reconcile(({ metadata }) => {
    seen.push(metadata.name)
    return Promise.resolve()
  })
  await using w = await world(app, { replicas: 2, objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }] })
  assert.deepEqual(await w.settle(), [])
  assert.deepEqual(seen, ['a'])
  w.kill()
  await w.advance('30s')
  assert.deepEqual(seen, ['a', 'a'])
})

test('replicas of an operator that states its identity do not share it: one leads', async () => {
  const leaders = new Set<string>()
  const app = operator({
    name: 'x',
    leaderElection: { identity: 'me', namespace: 'default', onNewLeader: (identity) => void leaders.add(identity) },
  })
  const seen: string[] = []
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(({ metadata }) => {
    seen.push(metadata.name)
    return Promise.resolve()
  })
  await using w = await world(app, { replicas: 2 })
  await w.client.create(ConfigMap, map('a'))
  assert.deepEqual(await w.settle(), [])
  assert.deepEqual(seen, ['a'])
  w.kill()
  await w.advance('30s')
  assert.deepEqual([...leaders].toSorted(), ['me', 'me-1'])
})

test('the time of a world is in whole milliseconds, after a back-off with jitter, too', async () => {
  const times: number[] = []
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile((_, { clock }) => {
    times.push(clock.now())
    return Promise.resolve({ requeueAfter: 1000 / 3 })
  })
  await using w = await world(app, { replicas: 2 })
  await w.client.create(ConfigMap, map('a'))
  await w.advance('2s')
  w.kill()
  await w.advance('30s')
  assert.ok(times.length > 5)
  assert.deepEqual(times.filter((ms) => !Number.isInteger(ms)), [])
})

test('a clock refuses to advance by what is no number, which would never end', async () => {
  for (const ms of [NaN, Infinity, '1m' as never]) await assert.rejects(new FakeClock().advance(ms), RangeError)
})

/** Returns objects that state what a server sets itself: a definition is that of the operator. */
const stated = () => {
  const metadata = {
    ...ref('owner'),
    uid: '11111111-2222-3333-4444-555555555555',
    generation: 7,
    creationTimestamp: '2020-01-01T00:00:00Z',
  }
  const owner = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata, spec: {}, status: { phase: 'Ready' } }
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const spec = { replicas: 2, selector: { matchLabels: { a: 'b' } }, template }
  const ownedBy = (
    uid?: string,
  ) => [{ apiVersion: 'example.dev/v1', kind: 'Widget', name: 'owner', ...(uid && { uid }) }]
  const child = (name: string, uid?: string) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...ref(name), ownerReferences: ownedBy(uid) },
    spec,
    status: { replicas: 2, readyReplicas: 1, observedGeneration: 1 },
  })
  return { owner, child, metadata }
}

test('objects of the start keep their status, uids, times, generations and owners; later ones have those of the server', async () => {
  const Widget = defineResource({
    group: 'example.dev',
    version: 'v1',
    kind: 'Widget',
    spec: z.object({}),
    status: z.object({ phase: z.string().optional() }),
  })
  const app = operator({ name: 'x' })
  app.controllerFor(Widget).owns(Deployment).reconcile(async () => {})
  const { owner, child, metadata } = stated()
  const going = {
    ...owner,
    metadata: { ...ref('going'), deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a.example/b'] },
  }
  const objects = [owner, child('stated', metadata.uid), child('left-out'), going]
  await using w = await world(app, { objects })
  await w.advance('1h')
  const found = await w.client.get(Widget, ref('owner'))
  const { uid, generation, creationTimestamp } = found!.metadata
  assert.deepEqual([{ ...ref('owner'), uid, generation, creationTimestamp }, found?.status], [metadata, owner.status])
  for (const name of ['stated', 'left-out']) {
    const deployment = await w.client.get(Deployment, ref(name))
    assert.equal(deployment?.metadata.ownerReferences?.[0]?.uid, metadata.uid)
    assert.deepEqual(deployment.status, child(name).status)
    assert.notEqual(deployment.metadata.uid, metadata.uid)
  }
  assert.ok((await w.client.get(Widget, ref('going')))?.metadata.deletionTimestamp)
  await w.client.delete(Widget, ref('owner'))
  await w.settle()
  assert.equal(await w.client.get(Deployment, ref('stated')), undefined, 'it is collected with its owner')
  const later = await w.client.create(Widget, { ...owner, metadata: { ...metadata, name: 'later' } } as never)
  const { uid: laterUid, generation: first } = later.metadata
  assert.deepEqual([laterUid === metadata.uid, first, later.status], [false, 1, undefined])
})

test('checks of definitions log no deprecation of a version that they list', async () => {
  const site = { group: 'web.example.dev', kind: 'Site', spec: z.object({ host: z.string().optional() }) }
  const Old = defineResource({ ...site, version: 'v1alpha1', deprecated: true })
  const Site = defineResource({ ...site, version: 'v1' })
  const hosts: (string | undefined)[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(Site).reconcile(async ({ spec }) => void hosts.push(spec.host))
  app.convert(Old, Site, { up: ({ spec }) => ({ spec }), down: ({ spec }) => ({ spec }) })
  const lines: string[] = []
  const object = { apiVersion: 'web.example.dev/v1alpha1', kind: 'Site', metadata: ref('a'), spec: { host: 'x' } }
  const log = { ...silent, warn: (line: string) => void lines.push(line) }
  await using _ = await world(app, { log, objects: [crdOf([Old])[0]!, object] })
  assert.deepEqual([hosts, lines], [['x'], []])
})

test('an object in an old version of the operator is converted, as by the replica that runs later', async () => {
  const kind = { group: 'web.example.dev', kind: 'Site' }
  const Old = defineResource({ ...kind, version: 'v1alpha1', spec: z.object({ host: z.string() }) })
  const Site = defineResource({ ...kind, version: 'v1', spec: z.object({ hosts: z.array(z.string()) }) })
  const hosts: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(Site).reconcile(async ({ spec }) => void hosts.push(...spec.hosts))
  app.convert(Old, Site, {
    up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts[0]! } }),
  })
  const object = { apiVersion: 'web.example.dev/v1alpha1', kind: 'Site', metadata: ref('a'), spec: { host: 'x' } }
  await using w = await world(app, { log: silent, objects: [object] })
  assert.deepEqual([hosts, (await w.client.get(Old, ref('a')))?.spec], [['x'], { host: 'x' }])
})

test('owners and deletions that cannot be are refused, with what to do', async () => {
  const app = operator({ name: 'x' })
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('owner') }
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'x' }]
  const child = { ...map, metadata: { ...ref('child'), ownerReferences } }
  await assert.rejects(
    world(app, { objects: [map, child] }),
    /^TypeError: Cannot create ConfigMap "child": its owner ConfigMap "owner" has the uid [-0-9a-f]{36}, and not x; give the owner this uid, or leave it out of the reference$/,
  )
  const gone = { ...map, metadata: { ...ref('gone'), deletionTimestamp: '2026-01-01T00:00:00Z' } }
  await assert.rejects(world(app, { objects: [gone] }), /^TypeError: .* it has a deletionTimestamp and no finalizers/)
})

test('an operator with an admission is ready in a world, whose API server calls it in memory', async () => {
  const app = operator({ name: 'x', health: 0 })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  app.admission(ConfigMap, { validate: () => [] })
  await using w = await world(app)
  assert.equal((await w.fetch('/readyz')).status, 200)
})

test('health and metrics of an operator are fetched in a world, by their paths and by their names', async () => {
  const app = operator({ name: 'x', health: ':8081', metrics: ':8080', profiling: '127.0.0.1:6060' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  let isReady = false
  app.extend(({ health }) =>
    health?.addReadiness('own', () => {
      if (!isReady) throw new Error('not yet')
    })
  )
  await using w = await world(app, { log: silent, objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }] })
  assert.equal((await w.fetch('/readyz')).status, 500)
  isReady = true
  for (const path of ['/readyz', '/healthz'] as const) assert.equal((await w.fetch(path)).status, 200, path)
  assert.match(await (await w.fetch('health', '/readyz?verbose')).text(), /caches-synced ok[^]*own ok/)
  assert.match(await (await w.fetch('/metrics')).text(), /controller_runtime_reconcile_total\{[^}]*configmap[^}]*\} 1/)
  assert.equal((await w.fetch('profiling', '/debug/pprof/')).status, 200)
  await using bare = await world(
    operator({ name: 'y' }).add('z', ({ signal }) => new Promise((r) => signal.addEventListener('abort', () => r()))),
  )
  await assert.rejects(
    bare.fetch('/readyz'),
    /^TypeError: Cannot fetch \/readyz from the server "health": the operator states no health$/,
  )
})
