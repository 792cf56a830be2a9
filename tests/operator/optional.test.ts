/** Optional clusters and kinds of an operator, which appear late, disappear and return. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  Cluster,
  type ClusterConfig,
  defineResource,
  NetworkError,
  type Operator,
  operator,
  type OtherCluster,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, CustomResourceDefinition as CRD, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import { Registry } from 'prom-client'
import * as z from 'zod'
import { Latch } from '../../lib/async/latch.ts'
import { lateConnection, untilDone } from '../../lib/operator/description/optional.ts'
import { optionalIn } from '../../lib/operator/description/used_kinds.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { answer, type Recorder, refusal, silence } from '../client/transports.ts'
import { create, only, ours, ref, restingClock, type Started, starting, type StartingOptions } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }
const spec = z.object({ size: z.int32().default(1) })
const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec })
const [thingCrd] = crdOf([Thing])
const never = new AbortController().signal

const gone = (): NetworkError =>
  new NetworkError('Cannot reach the server: there is no way to it', { phase: 'connect', code: 'ECONNREFUSED' })

/** The network to a cluster, which a test cuts and restores; open connections break. */
function way(isUp: boolean) {
  let broken = new AbortController()
  const intercept: Recorder['intercept'] = async (request, next) => {
    if (!isUp) throw gone()
    const signal = request.signal ? AbortSignal.any([request.signal, broken.signal]) : broken.signal
    return await next({ ...request, signal })
  }
  return {
    intercept,
    up: () => void (isUp = true),
    down() {
      isUp = false
      broken.abort(gone())
      broken = new AbortController()
    },
  }
}

function lines({ log }: Started, like: RegExp): string[] {
  return log.filter(({ level, message }) => level !== 'debug' && like.test(message)).map(({ level, message }) =>
    `${level} ${message}`
  )
}

/** Copies config maps in the own cluster, and counts those of the west. */
function twoClusters(options: Partial<Parameters<typeof operator>[0]> = {}, optional = true) {
  const app = operator({ name: 'x', ...options })
  const west = app.cluster('west', nowhere, { optional })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { name: 'here', when: ours }).reconcile(async ({ metadata }) =>
    void runs.push(`here ${metadata.name}`)
  )
  app.controllerFor(ConfigMap, { name: 'there', cluster: west, when: ours }).reconcile(async ({ metadata }) =>
    void runs.push(`there ${metadata.name}`)
  )
  return { app, west, runs, take: () => runs.splice(0).toSorted() }
}

async function ended(s: Started): Promise<void> {
  await s.stop()
  await s.clock.advance(0)
  assert.equal(s.outcome(), 'resolved')
  assert.equal(s.clock.pending, 0, 'no timer is left')
}

test('an operator starts without an optional cluster that is down, logs it, and works there when it is available', async () => {
  const { app, west, take } = twoClusters()
  const road = way(false)
  const s = await starting(app, { intercepts: { west: road.intercept }, before: (client) => create(client, 'a') })
  assert.deepEqual(take(), ['here a'])
  assert.deepEqual(lines(s, /^Starting without/), [
    'warn Starting without configmaps in cluster "west" (Cannot reach the server: there is no way to it); what needs it starts when it is available',
  ])
  await create(s.clientOf(west), 'b')
  // Longer than any timeout for a first list.
  await s.clock.advance(600_000)
  await create(s.client, 'c')
  await s.clock.advance(0)
  assert.deepEqual(take(), ['here c'])
  assert.equal(s.outcome(), undefined)
  assert.deepEqual(lines(s, /again$/), [])
  road.up()
  await s.clock.advance(61_000)
  assert.deepEqual(take(), ['there b'])
  assert.deepEqual(lines(s, /^Watching/), ['info Watching configmaps in cluster "west"'], 'not again: it never was')
  await create(s.clientOf(west), 'd')
  await s.clock.advance(0)
  assert.deepEqual(take(), ['there d'])

  road.down()
  await create(s.clientOf(west), 'e')
  await s.client.delete(ConfigMap, ref('a'))
  await create(s.client, 'f')
  await s.clock.advance(600_000)
  assert.deepEqual(take(), ['here f'])
  road.up()
  await s.clock.advance(61_000)
  assert.deepEqual(take(), ['there e'])
  await ended(s)
})

test('isReady reports an optional cluster before it is available, while it is, and while it is down again', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere, { optional: true })
  const empty = app.cluster('empty', nowhere, { optional: true })
  const asked: boolean[][] = []
  app.controllerFor(ConfigMap, { when: ours })
    .owns(Thing, { optional: true })
    .watches(ConfigMap, () => [], { cluster: west })
    .watches(Secret, () => [], { cluster: west, optional: true })
    .reconcile(async (_, { isReady }) => void asked.push([isReady(), isReady(west), isReady(empty)]))
  const road = way(false)
  const s = await starting(app, { intercepts: { west: road.intercept }, before: (client) => create(client, 'a') })
  await s.clock.advance(10_000)
  const take = async (name: string): Promise<boolean[] | undefined> => {
    await create(s.client, name)
    await s.clock.advance(0)
    return asked.at(-1)
  }
  assert.deepEqual(asked, [[true, false, true]], 'the kind that may be missing here does not count')
  road.up()
  await s.clock.advance(61_000)
  assert.deepEqual(await take('b'), [true, true, true])
  road.down()
  await s.clock.advance(0)
  assert.deepEqual(await take('c'), [true, false, true])
  road.up()
  await s.clock.advance(61_000)
  assert.deepEqual(await take('d'), [true, true, true])
  await ended(s)
})

test('a cluster stays ready while a kind is listed again because its version has expired', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  const ready: boolean[] = []
  app.controllerFor(ConfigMap, { when: ours })
    .watches(Secret, () => [], { cluster: west })
    .reconcile(async (_, { isReady }) => void ready.push(isReady(west)))
  const road = way(true)
  let hasExpired = false
  const s = await starting(app, {
    intercepts: {
      west: (request, next) => {
        if (!hasExpired) return road.intercept(request, next)
        return /resourceVersion=\d/.test(request.path) ? Promise.resolve(refusal(410, 'Expired')) : silence(request)
      },
    },
  })
  hasExpired = true
  road.down()
  await s.clock.advance(5000)
  await create(s.client, 'a')
  await s.clock.advance(0)
  assert.deepEqual(ready, [true])
  await ended(s)
})

test('a missing kind that is optional by itself neither keeps its cluster from being ready nor is defined there', async () => {
  for (const optional of [false, true]) {
    for (const crds of ['install', 'verify'] as const) {
      const app = operator({ name: 'x', crds })
      const west = app.cluster('west', nowhere, { optional })
      const ready: boolean[] = []
      app.controllerFor(ConfigMap, { cluster: west, when: ours })
        .watches(Thing, () => [], { cluster: west, optional: true })
        .reconcile(async (_, { isReady }) => void ready.push(isReady(west)))
      const s = await starting(app)
      await s.clock.advance(61_000)
      await create(s.clientOf(west), 'a')
      await s.clock.advance(0)
      assert.deepEqual([ready, await s.clientOf(west).list(CRD)], [[true], []], `${optional} ${crds}`)
      await ended(s)
    }
  }
})

test('a required cluster delays the start, and fails it after the time limit', async () => {
  const { app, take } = twoClusters({}, false)
  const s = await starting(app, { intercepts: { west: way(false).intercept }, before: (client) => create(client, 'a') })
  await s.clock.advance(119_000)
  assert.deepEqual([take(), s.outcome()], [[], undefined])
  await s.clock.advance(2000)
  assert.match(String(s.outcome()), /Cannot sync the cache of cluster "west" within 2 m: /)
})

test('the start waits 5 s for an optional cluster that does not answer', async () => {
  for (const crds of ['verify', 'ignore'] as const) {
    // A shorter limit for a required kind does not apply.
    const app = operator({ name: 'x', crds, syncTimeout: '2s' })
    const west = app.cluster('west', nowhere, { optional: true })
    const runs: string[] = []
    app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
    app.controllerFor(Thing, { cluster: west }).reconcile(async () => {})
    const s = await starting(app, { intercepts: { west: silence }, before: (client) => create(client, 'a') })
    await s.clock.advance(4900)
    assert.deepEqual(runs, [])
    await s.clock.advance(200)
    assert.deepEqual(runs, ['a'])
    assert.deepEqual(lines(s, /^Starting without/), [
      crds === 'verify'
        ? 'warn Starting without the cluster "west": it has not answered within 5 s; what needs it starts when it is available'
        : 'warn Starting without things.test.dev in cluster "west"; what needs it starts when it is available',
    ])
    await ended(s)
  }
})

for (const crds of ['install', 'verify'] as const) {
  test(`crds "${crds}": the CRDs of an optional cluster are prepared when it is available, and its caches start after that`, async () => {
    const app = operator({ name: 'x', crds })
    const west = app.cluster('west', nowhere, { optional: true })
    const runs: string[] = []
    app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
    app.controllerFor(Thing, { cluster: west }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
    const road = way(false)
    const s = await starting(app, { intercepts: { west: road.intercept }, before: (client) => create(client, 'a') })
    assert.deepEqual(runs, ['a'])
    assert.deepEqual(lines(s, /west/), [
      'warn Starting without the cluster "west": Cannot reach the server: there is no way to it; what needs it starts when it is available',
    ])
    s.networkOf(west).take()
    await s.clock.advance(600_000)
    const tries = s.networkOf(west).take().length
    assert.ok(tries >= 10 && tries <= 40, `${tries} tries in ten minutes`)
    assert.equal(lines(s, /west/).length, 1, 'the same reason is not repeated')
    road.up()
    await s.clock.advance(61_000)
    if (crds === 'verify') {
      assert.match(
        lines(s, /west/).at(-1)!,
        /^warn The cluster "west" is not available yet: Cannot start: CustomResourceDefinition "things\.test\.dev" is not installed in this cluster; /,
      )
      assert.ok(
        !s.networkOf(west).requests.some(({ path }) => path.startsWith('/apis/test.dev')),
        'its caches have not begun',
      )
      await s.clientOf(west).create(CRD, thingCrd as never)
      await s.clock.advance(61_000)
    }
    assert.deepEqual(lines(s, /west" is available$/), ['info The cluster "west" is available'])
    await s.clientOf(west).create(Thing, { metadata: ref('t'), spec: {} })
    await s.clock.advance(5000)
    assert.deepEqual(runs, ['a', 't'])
    await ended(s)
  })
}

const adminOf = ({ handle }: ApiServer): Client => new Cluster({ name: 'test', transport: handle }).client

async function install(server: ApiServer, resource: typeof Thing | ReturnType<typeof defineResource>): Promise<void> {
  await adminOf(server).create(CRD, crdOf([resource])[0] as never)
}

/** Several replicas on one pair of clusters, under one clock. */
async function replicasOf(
  app: Operator,
  count: number,
  options: StartingOptions & { readonly west: Pick<ApiServer, 'handle'>; readonly up: () => boolean },
) {
  const { west, up, clock = restingClock(), ...others } = options
  const server = new ApiServer({ clock })
  const started: Started[] = []
  for (let at = 0; at < count; at++) {
    const intercept: Recorder['intercept'] = async (request) => {
      if (!up()) throw gone()
      return await west.handle(request)
    }
    const replica = await starting(app, {
      ...others,
      clock,
      server,
      instance: `replica-${at}`,
      intercepts: { west: intercept },
    })
    await clock.advance(3000)
    started.push(replica)
  }
  return { clock, server, started }
}

test('with leader election: only the work in the optional cluster waits for its CRDs, and the next leader continues it', async () => {
  const app = operator({ name: 'x', leaderElection: true, crds: 'install' })
  const west = app.cluster('west', nowhere, { optional: true })
  const runs: string[] = []
  let at = 0
  app.extend((parts) => {
    const replica = `replica-${at++}`
    parts.manager.add({ name: 'begins', start: async () => void runs.push(`${replica} leads`) })
  })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  app.controllerFor(Thing, { name: 'things', cluster: west, warmup: true }).reconcile(
    async ({ metadata }, { clientOf }) => {
      runs.push(metadata.name)
      await clientOf(west).apply(ConfigMap, { metadata: ref(`of-${metadata.name}`) })
    },
  )
  app.controllerFor(Thing, { name: 'everywhere', cluster: west, everyReplica: true }).reconcile(async ({ metadata }) =>
    void runs.push(`${metadata.name} everywhere`)
  )
  let isUp = false
  let isRefused = true
  const refusedAt: number[] = []
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const far: Pick<ApiServer, 'handle'> = {
    async handle(request) {
      const isOfDefinition = request.method === 'PUT' && request.path.includes('customresourcedefinitions')
      if (!isRefused || !isOfDefinition) return await server.handle(request)
      // The leader lacks the right to change CRDs at first.
      refusedAt.push(clock.monotonic())
      return refusal(403, 'Forbidden', {}, 'not yet')
    },
  }
  await install(server, defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({}) }))
  const { started: [leader, follower], server: home } = await replicasOf(app, 2, {
    west: far,
    up: () => isUp,
    clock,
    random: () => 0,
  })
  await create(adminOf(home), 'a')
  await clock.advance(600_000)
  assert.deepEqual(runs.splice(0), ['replica-0 leads', 'a'])
  assert.deepEqual([leader!.outcome(), follower!.outcome()], [undefined, undefined])

  isUp = true
  const away = adminOf(server)
  await away.create(Thing, { metadata: ref('t'), spec: {} } as never)
  await clock.advance(61_000)
  // Its caches and the work on every replica run; the leader's work there waits for its CRDs.
  assert.deepEqual(runs.splice(0), ['t everywhere', 't everywhere'])
  assert.match(
    lines(leader!, /wait for its definitions/).at(-1)!,
    /^warn The controllers of the cluster "west" wait for its definitions: .*not yet/,
  )
  assert.deepEqual(lines(follower!, /wait for its definitions/), [])
  assert.deepEqual(refusedAt.slice(1).map((at, i) => at - refusedAt[i]!), [30_000], 'by the chance of the start')
  assert.equal(follower!.parts!.controllers.get('things')!.idle, false, 'it is warm before it leads')
  isRefused = false
  await clock.advance(61_000)
  assert.deepEqual(runs.splice(0), ['t'])
  assert.ok(await away.get(ConfigMap, ref('of-t')))

  await leader!.stop()
  await clock.advance(30_000)
  assert.equal(leader!.outcome(), 'resolved')
  assert.deepEqual(runs.splice(0).toSorted(), ['a', 'replica-1 leads', 't'])
  await follower!.stop()
  await clock.advance(10_000)
  assert.equal(follower!.outcome(), 'resolved')
  assert.equal(clock.pending, 0)
})

test('a follower wins the lease before the optional cluster is available, and works there later', async () => {
  const { app, take } = twoClusters({ leaderElection: true })
  let isUp = false
  const clock = restingClock()
  const west = new ApiServer({ clock })
  const { started: [leader, follower] } = await replicasOf(app, 2, { west, up: () => isUp, clock })
  await leader!.stop()
  await clock.advance(30_000)
  assert.deepEqual([leader!.outcome(), follower!.parts!.manager.isElected], ['resolved', true])
  await create(adminOf(west), 'b')
  isUp = true
  await clock.advance(61_000)
  assert.deepEqual(take(), ['there b'])
  await follower!.stop()
  await clock.advance(0)
  assert.equal(follower!.outcome(), 'resolved')
})

test('a stop during the wait for an optional cluster ends the operator at once', async () => {
  for (const leaderElection of [false, true]) {
    for (const crds of ['install', 'verify', 'ignore'] as const) {
      for (
        const [afterMs, intercept] of [[0, silence], [0, way(false).intercept], [6000, silence], [
          90_000,
          way(false).intercept,
        ]] as const
      ) {
        const app = operator({ name: 'x', leaderElection, crds })
        const west = app.cluster('west', nowhere, { optional: true })
        app.controllerFor(ConfigMap).reconcile(async () => {})
        app.controllerFor(Thing, { cluster: west, warmup: leaderElection }).reconcile(async () => {})
        const s = await starting(app, { intercepts: { west: intercept } })
        await s.clock.advance(afterMs)
        assert.equal(s.outcome(), undefined)
        const said = lines(s, /west/).length
        await ended(s)
        assert.deepEqual([s.log.filter(({ level }) => level === 'error'), lines(s, /west/).length], [[], said])
      }
    }
  }
})

for (const how of ['watches', 'owns', 'cache'] as const) {
  test(`an optional kind without its CRD delays nothing: ${how}`, async () => {
    const app = operator({ name: 'x', crds: 'install' })
    const runs: string[] = []
    const controller = app.controllerFor(ConfigMap, { when: ours })
    if (how === 'watches') controller.watches(Thing, ({ metadata }) => [ref(metadata.name)], { optional: true })
    if (how === 'owns') controller.owns(Thing, { optional: true })
    // A declaration of its cache does not make it required.
    app.cache(Thing, how === 'cache' ? { optional: true } : { labels: 'kept' })
    controller.reconcileKey(async ({ name }, { client }) => {
      runs.push(
        `${name} ${await client.get(Thing, ref(name)).then(
          (thing) => String(thing !== undefined),
          (error: Error) => error.name,
        )}`,
      )
    })
    const s = await starting(app, { before: (client) => create(client, 'a') })
    assert.deepEqual(runs.splice(0), ['a ApiError'])
    assert.match(
      lines(s, /^Starting without/).join(),
      /^warn Starting without things\.test\.dev \(.*\); what needs it starts when it is available$/,
    )
    assert.match(lines(s, /^Cannot watch/).join(), /\(install its CustomResourceDefinition\); next try/)
    await s.clock.advance(600_000)
    assert.deepEqual([runs, s.outcome()], [[], undefined])
    assert.deepEqual(
      s.network.requests.filter(({ method, path }) => method !== 'GET' && path.includes('customresourcedefinitions')),
      [],
      'its definition is not ours',
    )
    const owner = (await s.client.get(ConfigMap, ref('a')))!
    const ownerReferences = how === 'owns'
      ? [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: owner.metadata.uid, controller: true }]
      : []
    for (let round = 0; round < 2; round++) {
      await s.client.create(CRD, thingCrd as never)
      await s.clock.advance(1000)
      await s.client.create(Thing, { metadata: { ...ref('a'), labels: { kept: '' }, ownerReferences }, spec: {} })
      await s.clock.advance(61_000)
      if (how === 'cache') await s.client.patch(ConfigMap, ref('a'), { merge: { data: { at: String(s.clock.now()) } } })
      await s.clock.advance(0)
      assert.deepEqual([...new Set(runs.splice(0))], ['a true'])
      s.network.take()
      await s.parts!.cluster.client.get(Thing, ref('a'))
      assert.deepEqual(s.network.take(), [], 'it is read from the cache')
      await s.client.delete(CRD, { name: 'things.test.dev' })
      await s.clock.advance(120_000)
      runs.splice(0)
      assert.equal(s.outcome(), undefined)
    }
    await ended(s)
  })
}

test('the names of the missing kinds do not include optional ones, which do not delay the start', async () => {
  const app = operator({ name: 'x', crds: 'ignore', syncTimeout: '30s' })
  app.controllerFor(ConfigMap).watches(Thing, () => [], { optional: true }).watches(Secret, () => []).reconcile(
    async () => {},
  )
  const s = await starting(app, {
    intercept: only(/\/secrets/, silence),
  })
  await s.clock.advance(10_000)
  assert.deepEqual(lines(s, /^Still waiting/), ['warn Still waiting for the cache of cluster in-memory: secrets'])
  await s.clock.advance(21_000)
  assert.match(String(s.outcome()), /within 30 s: secrets \([^)]*\)$/)
})

test('the start does not wait for a stopped optional informer', async () => {
  const { cache } = new Cluster({
    name: 'x',
    transport: silence,
    optional: ({ kind }) => kind === 'Thing',
    clock: restingClock(),
  })
  const [thing] = cache.declare(Thing)
  const [map] = cache.declare(ConfigMap)
  assert.deepEqual([thing!.optional, map!.optional], [true, false])
  const tried = [thing!.tried(never), assert.rejects(map!.tried(never), /its informer was stopped/)]
  for (const each of [thing!, map!]) each.stop()
  await Promise.all(tried)
})

const OPTIONAL: readonly (readonly [what: string, describe: (app: Operator, west: OtherCluster) => unknown])[] = [
  ['optional for one controller and required for another', (app) => {
    app.controllerFor(ConfigMap).watches(Thing, () => [], { optional: true })
    app.controllerFor(Secret).watches(Thing, () => [])
  }],
  ['optional in another cluster', (app, cluster) => {
    app.controllerFor(ConfigMap).watches(Thing, () => []).watches(Thing, () => [], { cluster, optional: true })
  }],
  ['cached as optional in another cluster', (app, cluster) => {
    app.cache(Thing).cache(Thing, { cluster, optional: true })
  }],
  ['not optional', (app) => app.controllerFor(Thing)],
]
for (const [what, describe] of OPTIONAL) {
  test(`the operator does not start without a kind that is ${what}`, () => {
    const app = operator({ name: 'x' })
    describe(app, app.cluster('west', nowhere))
    assert.equal(optionalIn(app.description)(Thing), false)
  })
}

test('a required kind delays the start, and its name is in the error', async () => {
  const app = operator({ name: 'x', crds: 'ignore', syncTimeout: '30s' }).controllerFor(Thing).reconcile(async () => {})
  const s = await starting(app)
  await s.clock.advance(29_000)
  assert.equal(s.outcome(), undefined)
  await s.clock.advance(2000)
  assert.match(String(s.outcome()), /Cannot sync the cache of cluster in-memory within 30 s: things\.test\.dev \(/)
})

test('readiness does not depend on optional kinds, and a metric reports them', async () => {
  const registry = new Registry()
  const { app, west } = twoClusters({ health: 0, metrics: { registry } })
  app.controllerFor(Secret).watches(Thing, () => [], { optional: true }).reconcile(async () => {})
  const road = way(false)
  const s = await starting(app, { serves: true, intercepts: { west: road.intercept } })
  const health = s.parts!.health!
  await health.ready(never)
  await s.clock.advance(0)
  const readyz = async (): Promise<string> => (await health.fetch(new Request('http://localhost/readyz'))).text()
  const synced = async (): Promise<Record<string, number>> => {
    const values = (await registry.getSingleMetric('kubeloop_cache_synced')!.get()).values
    return Object.fromEntries(
      values.map(({ labels, value }) => [`${labels['cluster']}/${labels['resource']}${labels['namespace']}`, value]),
    )
  }
  try {
    const here = { '/configmaps': 1, '/secrets': 1, '/things.test.dev': 0 }
    assert.deepEqual([await readyz(), await synced()], ['ok', { ...here, 'west/configmaps': 0 }])
    road.up()
    await s.clock.advance(61_000)
    assert.deepEqual([await readyz(), await synced()], ['ok', { ...here, 'west/configmaps': 1 }])
    road.down()
    s.networkOf(west).intercept = () => Promise.resolve(refusal(403, 'Forbidden'))
    await s.clock.advance(1000)
    assert.deepEqual([await readyz(), await synced()], ['ok', { ...here, 'west/configmaps': 0 }])
    s.parts!.clusterOf(west).cache.remove(ConfigMap)
    assert.deepEqual(await synced(), here, 'what is watched no more is measured no more')
    // A required kind still counts.
    s.network.intercept = silence
    s.parts!.cluster.cache.declare(CRD)
    assert.match(await readyz(), /caches-synced failed/)
  } finally {
    await s.stop()
    // Servers close in real time.
    await s.ended
  }
  assert.deepEqual(await synced(), {}, 'what has ended is measured no more')
})

test('the configuration of an optional cluster is retried until it resolves', async () => {
  let asked = 0
  let isThere = false
  const app = operator({ name: 'x' })
  const west = app.cluster('west', () => {
    asked++
    if (!isThere) throw new Error('no such context')
    return { server: 'no URL' }
  }, { optional: true })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  app.controllerFor(ConfigMap, { name: 'there', cluster: west }).reconcile(async () => {})
  const s = await configured(app)
  assert.deepEqual(runs, ['a'])
  assert.match(
    lines(s, /^Starting without/).join(),
    /configmaps in cluster "west" \(Cannot watch configmaps in cluster "west": cannot find the cluster "west": no such context\)/,
  )
  const before = asked
  await s.clock.advance(60_000)
  assert.ok(asked > before)
  assert.equal(s.outcome(), undefined)
  isThere = true
  await s.clock.advance(61_000)
  assert.ok(s.log.some(({ message }) => message.includes('no URL')), 'what it is then is used')
  await ended(s)
})

test('configurations of optional clusters that are late delay the start by 5 s in all, and are used when they come', async () => {
  const app = operator({ name: 'x' })
  const asked = ['east', 'west'].map((name) => {
    const asked: Latch<ClusterConfig>[] = []
    const cluster = app.cluster(name, () => asked[asked.push(new Latch<ClusterConfig>()) - 1]!.opened, {
      optional: true,
    })
    app.controllerFor(ConfigMap, { name, cluster }).reconcile(async () => {})
    return asked
  })
  app.cluster('never', () => new Promise<never>(() => {}), { optional: true })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  const s = await configured(app)
  await s.clock.advance(4999)
  assert.deepEqual([runs, asked.map(({ length }) => length), s.parts], [[], [1, 1], undefined])
  await s.clock.advance(5002)
  assert.deepEqual([runs, asked.map(({ length }) => length)], [['a'], [1, 1]])
  for (const [latch] of asked) latch!.open({ server: 'no URL' })
  await s.clock.advance(2000)
  assert.equal(s.log.filter(({ message }) => message.includes('no URL')).length, 2, 'what it is then is used')
  await ended(s)
})

test('a stop during a configuration or an extension that never settles ends the operator at once', async () => {
  for (const optional of [true, false, undefined]) {
    const app = operator({ name: 'x' })
    if (optional === undefined) app.extend(() => new Promise(() => {}))
    else app.cluster('west', () => new Promise<never>(() => {}), { optional })
    app.controllerFor(ConfigMap).reconcile(async () => {})
    const s = await configured(app)
    assert.deepEqual([s.outcome(), s.parts], [undefined, undefined])
    await ended(s)
  }
  // So does another one that fails.
  const app = operator({ name: 'x' })
  app.cluster('never', () => new Promise<never>(() => {}), { optional: true })
  app.cluster('west', () => Promise.reject(new Error('no such context')))
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const s = await configured(app)
  assert.match(String(s.outcome()), /Cannot find the cluster "west": no such context/)
  assert.equal(s.clock.pending, 0)
})

test('what lacks a permission of Deno is not tried again', async () => {
  const error = Object.assign(new Error('no'), { name: 'NotCapable' })
  const stop = new AbortController()
  const [setup, again] = [
    { name: 'west', clock: restingClock(), random: Math.random, log: silentLog },
    new Error('tried again'),
  ]
  await assert.rejects(untilDone(() => Promise.reject(error), () => stop.abort(again), setup, stop.signal), error)
})

/** Starts an operator with the configurations of its description. */
function configured(app: Operator): Promise<Started> {
  const start: Operator['start'] = (signal, options) => app.start(signal, { ...options, transports: {} })
  return starting(
    Object.create(app, { description: { value: app.description }, start: { value: start } }) as Operator,
    { before: (client) => create(client, 'a') },
  )
}

test('in a world, settle does not wait for an optional cluster; a fault may exist from the start, and may end', async () => {
  const { app, west, take } = twoClusters()
  const down = new AbortController()
  await using w = await world(app, { faults: [{ cluster: west, cut: true, times: Infinity, until: down.signal }] })
  await create(w.client, 'a')
  await create(w.clientOf(west), 'b')
  await w.settle()
  assert.deepEqual(take(), ['here a'])
  await w.advance('5m')
  assert.deepEqual(take(), [])
  down.abort()
  await w.advance('1m')
  assert.deepEqual(take(), ['there b'])
})

/** A connection under a test's control, and its state. */
function late() {
  const [told, asked]: [string[], Latch<ClusterConfig | Error>[]] = [[], []]
  const transport = lateConnection(async () => {
    const latch = new Latch<ClusterConfig | Error>()
    asked.push(latch)
    const config = await latch.opened
    if (config instanceof Error) throw config
    const { server } = config
    return Object.assign(async () => (told.push(`asked ${server}`), answer(200, {})), {
      close: () => void told.push(`closed ${server}`),
    })
  })
  const send = (signal?: AbortSignal) =>
    transport({ method: 'GET', path: '/', ...(signal && { signal }) }).then(
      ({ status }) => status,
      (error: Error) => error.message,
    )
  return { told, asked, transport, send }
}

test('an aborted request does not wait for a configuration, and a connection opened after the end is closed', async () => {
  const { told, asked, transport, send } = late()
  const scope = new AbortController()
  const sent = send(scope.signal)
  scope.abort(new Error('enough'))
  assert.equal(await sent, 'enough')
  transport.close()
  asked[0]!.open({ server: 'a' })
  await send()
  assert.deepEqual(told.toSorted(), ['asked a', 'closed a'])
})
