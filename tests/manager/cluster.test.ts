import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Runnable } from '../../lib/core/runnable.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { aborted } from '../../lib/async/abort.ts'
import { ConfigMap, Secret } from '../../lib/kinds/mod.ts'
import { cachesSynced } from '../../lib/manager/servers/health.ts'
import { Cluster, type ClusterOptions } from '../../lib/manager/cluster.ts'
import { healthServer } from '../../lib/manager/servers/health.ts'
import { Server } from '../../lib/manager/servers/server.ts'
import { Manager } from '../../lib/manager/manager.ts'
import { serveHttp } from '../../lib/runtime/net/http_server.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { answer, bodyOf, type Recorder, recorder, refusal, silence } from '../client/transports.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { recordingLog, watchOutcome } from './parts.ts'

const SERVICE = { group: '', version: 'v1', kind: 'Service', plural: 'services', scope: 'Namespaced' } as const
const never = new AbortController().signal

interface Setup {
  readonly clock: FakeClock
  readonly server: ApiServer
  readonly network: Recorder
  readonly lines: string[]
  readonly cluster: Cluster
}

function setup(options: Partial<ClusterOptions> = {}, clock = new FakeClock()): Setup {
  const server = new ApiServer({ clock })
  const network = recorder(server.handle)
  const lines: string[] = []
  const cluster = new Cluster({
    name: 'test',
    transport: network.transport,
    clock,
    log: recordingLog(lines),
    random: () => 0,
    ...options,
  })
  return { clock, server, network, lines, cluster }
}

/** Starts a cluster or a manager. `end` stops it, and asserts that it ends in order. */
function started(clock: FakeClock, what: { start(signal: AbortSignal): Promise<void> }) {
  const { controller, listeners } = countedSignal()
  const running = watchOutcome(what.start(controller.signal))
  const end = async (): Promise<void> => {
    assert.equal(listeners(), 1, 'listeners of what is over')
    controller.abort()
    await clock.advance(0)
    assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
  }
  return { signal: controller.signal, end }
}

const refuseSecrets = async (request: Parameters<Transport>[0], next: Transport): ReturnType<Transport> =>
  request.path.includes('/secrets') ? refusal(403, 'Forbidden', {}, 'user "secret" cannot list') : await next(request)

test('a cluster sends nothing before its start, and writes with its name as field manager', async () => {
  const { cluster, network, clock } = setup()
  cluster.cache.declare(ConfigMap)
  await clock.advance(60_000)
  assert.deepEqual([network.requests.length, clock.pending], [0, 0])
  const map = await cluster.client.apply(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { b: 'c' } })
  assert.equal(map.metadata.name, 'a')
  assert.match(network.requests.at(-1)!.path, /fieldManager=test/)
})

test('the client reads cached kinds from the cache, also by index, others from the server; live always from the server', async () => {
  const { cluster, network, clock } = setup()
  const byData = defineIndex(ConfigMap, (map) => map.data?.['b'])
  cluster.cache.declare(ConfigMap)
  await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { b: 'c' } })
  const { end } = started(clock, cluster)
  await clock.advance(0)
  await cluster.ready(never)
  network.take()
  assert.equal((await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['b'], 'c')
  assert.equal((await cluster.client.lookup(byData, 'c')).length, 1)
  assert.deepEqual(network.take(), [])
  await cluster.client.live.get(ConfigMap, { namespace: 'default', name: 'a' })
  await cluster.client.get(Secret, { namespace: 'default', name: 'a' })
  assert.deepEqual(network.take(), [
    'GET /api/v1/namespaces/default/configmaps/a',
    'GET /api/v1/namespaces/default/secrets/a',
  ])
  assert.equal((await cluster.kinds.find({ apiVersion: 'apps/v1', kind: 'Deployment' }))?.plural, 'deployments')
  await end()
})

test("a throttled request is retried by the cluster's clock and random numbers, and a warning is logged once", async () => {
  for (const [random, waitMs] of [[0, 2000], [0.5, 2100]] as const) {
    const { clock, cluster, network, lines } = setup({ random: () => random })
    const times: number[] = []
    network.intercept = async (request, next) => {
      times.push(clock.monotonic())
      if (times.length === 1) return answer(429, {}, { 'retry-after': '2' })
      return { ...await next(request), headers: { 'content-type': 'application/json', warning: '299 - "v1 is old"' } }
    }
    const listed = cluster.client.list(ConfigMap)
    await clock.advance(waitMs)
    await listed
    await cluster.client.list(ConfigMap)
    assert.deepEqual(times, [0, waitMs, waitMs])
    assert.deepEqual(lines, [
      'debug The server is busy; retrying the request later',
      'warn The API server warns: v1 is old',
    ])
  }
})

test('the recorder has its own retries, the log and the meter; its default instance is the name', async () => {
  const about = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }
  for (
    const [random, pauses, instance] of [[0, [0, 3000, 5000], undefined], [0.8, [0, 3000, 5400], 'pod-1']] as const
  ) {
    const meter = memoryMeter()
    const { clock, cluster, network, lines } = setup({ random: () => random, meter, instance })
    const [times, told]: [number[], unknown[]] = [[], []]
    network.intercept = (request) => {
      times.push(clock.monotonic())
      told.push((bodyOf(request) as { reportingInstance: string }).reportingInstance)
      const busy = refusal(429, 'TooManyRequests')
      return Promise.resolve(
        times.length === 1
          ? { ...busy, headers: { 'retry-after': '3' } }
          : times.length === 2
          ? busy
          : refusal(403, 'Forbidden'),
      )
    }
    const stop = new AbortController()
    const running = watchOutcome(cluster.recorder.start(stop.signal))
    cluster.recorder.normal(about, 'Told', 'hello')
    await clock.advance(8000)
    assert.deepEqual([times, [...new Set(told)]], [pauses, [instance ?? 'test']])
    assert.ok(
      !lines.some((line) => line.includes('the request is sent again later')),
      'a request of its own is not put off within itself',
    )
    assert.equal(meter.value('kubeloop_events_dropped_total', { cause: 'forbidden' }), 1)
    assert.equal(meter.value('rest_client_requests_total', { code: '403', host: 'in-memory', method: 'POST' }), 1)
    assert.ok(lines.some((line) => line.startsWith('warn ') && line.includes('events')), lines.join())
    stop.abort()
    await clock.advance(10_000)
    assert.equal(running.outcome, 'resolved')
  }
})

test("requests over the cluster's connection have a User-Agent", async () => {
  const agents: (string | null)[] = []
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1000,
    onError: () => {},
    fetch: (
      request,
    ) => (agents.push(request.headers.get('user-agent')), Response.json({ kind: 'List', metadata: {}, items: [] })),
  })
  const cluster = new Cluster({ name: 'my-operator', config: { server: `http://127.0.0.1:${server.port}` } })
  await cluster.client.list(ConfigMap)
  cluster.close()
  await server.close(AbortSignal.abort())
  assert.deepEqual(agents, ['my-operator kubeloop'])
})

test('a kind that is no longer served is asked for again by all clients', async () => {
  const { cluster: { client }, network } = setup()
  const [kind, path] = [{ apiVersion: 'v1', kind: 'ConfigMap' }, '/apis/apps/v1']
  const deployment = await client.kindOf<KubeObject, object>({ apiVersion: 'apps/v1', kind: 'Deployment' })
  await client.bound(new AbortController()).kindOf({ apiVersion: 'apps/v1', kind: 'Deployment' })
  await client.kindOf(kind)
  assert.deepEqual(network.take(), [`GET ${path}`, 'GET /api/v1'])
  network.intercept = () => Promise.resolve(refusal(404, 'NotFound'))
  await assert.rejects(client.get(deployment, { namespace: 'default', name: 'a' }), /does not serve this kind/)
  network.intercept = undefined
  network.take()
  await client.live.kindOf({ apiVersion: 'apps/v1', kind: 'Deployment' })
  assert.deepEqual(network.take(), [`GET ${path}`])
})

test('errors of a cluster have its label: of its connection, and of an index', async () => {
  const config = { server: 'http://127.0.0.1:1' }
  const { cluster: away } = setup({ label: 'west', config, transport: undefined })
  await assert.rejects(away.client.list(ConfigMap), /cluster "west" \(127\.0\.0\.1:1\)/)
  away.close()
  const { cluster, server, lines } = setup({ label: 'west' })
  await new Cluster({ name: 'other', transport: server.handle }).client.create(ConfigMap, {
    metadata: { namespace: 'default', name: 'a' },
  })
  const broken = defineIndex(ConfigMap, () => assert.fail('mine'))
  assert.deepEqual(await cluster.client.lookup(broken, 'x', { namespace: 'default' }), [])
  assert.ok(lines.some((line) => line.includes('ConfigMap "default/a" in cluster "west"')), lines.join('\n'))
})

test('requests are counted by host', async () => {
  const meter = memoryMeter()
  const config = { server: 'https://10.0.0.1:6443/prefix' }
  const { cluster } = setup({ meter, config })
  await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' })
  assert.equal(meter.value('rest_client_requests_total', { code: '404', host: '10.0.0.1:6443', method: 'GET' }), 1)
  assert.equal(cluster.name, 'cluster 10.0.0.1:6443')
})

test('a cluster needs a config or a transport, and closes only the connections that it opened', () => {
  assert.throws(
    () => new Cluster({ name: 'a' }),
    /^TypeError: Cannot make a cluster: it needs a config or a transport$/,
  )
  assert.throws(() => new Cluster({ name: 'a', config: { server: 'nowhere' } }), ConfigError)
  const cluster = new Cluster({ name: 'a', config: { server: 'http://127.0.0.1:1' } })
  cluster.close()
  cluster.close()
  return assert.rejects(
    cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }),
    /it was closed by this process/,
  )
})

/** Records the contents of the caches at its start. */
function looking(name: string, clusters: readonly Cluster[], seen: string[], over: Partial<Runnable> = {}): Runnable {
  return {
    name,
    async start(signal) {
      for (const [at, cluster] of clusters.entries()) {
        seen.push(`${name}: ${at} ${cluster.cache.unsynced().length === 0 ? 'synced' : 'unsynced'}`)
      }
      await aborted(signal)
    },
    ...over,
  }
}

test('the caches of all clusters sync before other work starts; a controller reads from one and writes to another', async () => {
  const one = setup()
  const two = setup({}, one.clock)
  const manager = new Manager({ clock: one.clock, log: recordingLog([]) })
  const seen: string[] = []
  const clusters = [one.cluster, two.cluster]
  for (const cluster of clusters) {
    cluster.cache.declare(ConfigMap)
    manager.add(cluster)
  }
  await one.cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { b: 'c' } })
  manager.add(looking('other', clusters, seen, { everyReplica: true }))
  manager.add(looking('leader', clusters, seen))
  manager.add(async function copier() {
    for (const { metadata, data } of await one.cluster.client.list(ConfigMap)) {
      await two.cluster.client.apply(ConfigMap, {
        metadata: { namespace: metadata.namespace ?? '', name: metadata.name },
        data,
      })
    }
  })
  // The second cluster answers late.
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  two.network.intercept = async (request, next) => (await gate, await next(request))
  const { end } = started(one.clock, manager)
  await one.clock.advance(5000)
  assert.deepEqual(seen, [])
  go()
  await one.clock.advance(5000)
  assert.deepEqual(seen, ['other: 0 synced', 'other: 1 synced', 'leader: 0 synced', 'leader: 1 synced'])
  assert.equal((await two.cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['b'], 'c')
  await end()
})

test('a wait for a refused kind is logged, then the start fails with its name and the reason', async () => {
  const { clock, cluster, network, lines } = setup()
  network.intercept = refuseSecrets
  cluster.cache.declare(ConfigMap)
  cluster.cache.declare(Secret)
  const health = healthServer(Server, { clock })
  health.addReadiness('caches-synced', cachesSynced([cluster.cache]))
  const manager = new Manager({ clock, log: recordingLog([]) })
  const seen: string[] = []
  manager.add(cluster)
  manager.add(looking('other', [cluster], seen, { everyReplica: true }))
  const running = watchOutcome(manager.start(never))
  await clock.advance(119_000)
  assert.deepEqual([running.outcome, seen], [undefined, []])
  const notes = lines.filter((line) => line.startsWith('warn Still waiting'))
  assert.equal(notes.length, 4) // after 10, 20, 40 and 80 s
  assert.match(
    notes[0]!,
    /^warn Still waiting for the cache of cluster in-memory: secrets \(.*user "secret" cannot list\)$/,
  )
  assert.equal(lines.filter((line) => line.startsWith('warn Cannot list secrets')).length, 1, 'the cache says it, too')
  const readyz = await health.fetch(new Request('http://localhost/readyz/caches-synced'))
  assert.deepEqual([readyz.status, await readyz.text()], [500, 'internal server error: not synced: secrets\n'])
  await clock.advance(1000)
  assert.match(
    (running.outcome as Error).message,
    /^Cannot sync the cache of cluster in-memory within 2 m: secrets \(.*user "secret" cannot list\)$/,
  )
  assert.deepEqual([seen, clock.pending], [[], 0])
})

test('of a kind that is refused in many namespaces, lines and errors name the first ones', async () => {
  const { clock, cluster, network, lines } = setup()
  network.intercept = refuseSecrets
  const namespaces = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  cluster.cache.declare(Secret, { namespaces })
  const manager = new Manager({ clock, log: recordingLog([]) })
  manager.add(cluster)
  const running = watchOutcome(manager.start(never))
  await clock.advance(120_000)
  const first = /secrets in namespace "a" \(.*secrets in namespace "e" \(.*cannot list\), and 2 more$/
  assert.match(lines.find((line) => line.startsWith('warn Still waiting'))!, first)
  assert.match((running.outcome as Error).message, first)
  assert.deepEqual(namespaces.filter((each) => (running.outcome as Error).message.includes(`"${each}"`)).length, 5)
})

/** The runtime's timers fire at once for an infinite delay. */
class FiniteClock extends FakeClock {
  override after(ms: number, fire: () => void): () => void {
    assert.ok(Number.isFinite(ms), `a timer of ${ms} ms`)
    return super.after(ms, fire)
  }
}

test('each kind has its own time limit, and the error names only late kinds', async () => {
  const limits: Record<string, number | undefined> = { ConfigMap: Infinity, Secret: 200_000 }
  for (
    const [kinds, endMs, text] of [
      [
        [ConfigMap, Secret, SERVICE],
        120_000,
        /within 2 m: services \(Cannot list services: [^;]*refused\)$/,
      ],
      [
        [ConfigMap, Secret],
        200_000,
        /within 3\.3 m: secrets \(Cannot list secrets: [^;]*refused\)$/,
      ],
      [[ConfigMap], Infinity, undefined],
    ] as const
  ) {
    const { clock, cluster, network } = setup({ syncTimeoutMs: ({ kind }) => limits[kind] }, new FiniteClock())
    network.intercept = () => Promise.resolve(refusal(403, 'Forbidden', {}, 'refused'))
    for (const kind of kinds) cluster.cache.declare(kind)
    const stop = new AbortController()
    const running = watchOutcome(cluster.start(stop.signal))
    const ready = watchOutcome(cluster.ready(stop.signal))
    await clock.advance(Math.min(endMs, 3_600_000) - 1)
    assert.equal(ready.outcome, undefined)
    await clock.advance(1)
    if (text) assert.match(String(ready.outcome), text)
    stop.abort()
    await clock.advance(0)
    assert.ok(running.outcome === 'resolved' && ready.outcome !== undefined)
    assert.equal(clock.pending, 0)
  }
})

test('the time limit of a synced kind does not fail the start', async () => {
  const { clock, cluster, network } = setup({ syncTimeoutMs: ({ kind }) => (kind === 'Secret' ? 60_000 : 5000) })
  network.intercept = refuseSecrets
  cluster.cache.declare(ConfigMap)
  cluster.cache.declare(Secret)
  const { end, signal } = started(clock, cluster)
  const ready = watchOutcome(cluster.ready(signal))
  await clock.advance(30_000)
  network.intercept = undefined
  await clock.advance(29_000)
  assert.equal(ready.outcome, 'resolved')
  await end()
})

test('a sync timeout shorter than the wait for optional kinds does not count for them', async () => {
  const { cluster, network, clock, lines } = setup({ optional: ({ kind }) => kind === 'Secret', syncTimeoutMs: 1000 })
  network.intercept = (request, next) => request.path.includes('/secrets') ? silence(request) : next(request)
  for (const kind of [ConfigMap, Secret]) cluster.cache.declare(kind)
  const { end } = started(clock, cluster)
  const ready = watchOutcome(cluster.ready(never))
  await clock.advance(5000)
  assert.equal(ready.outcome, 'resolved')
  assert.match(lines.at(-1)!, /Starting without secrets/)
  await end()
})
