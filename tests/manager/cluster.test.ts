import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { defineIndex } from '../../lib/core/index.ts'
import type { Runnable } from '../../lib/core/runnable.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { aborted } from '../../lib/async/abort.ts'
import { ConfigMap, Secret } from '../../lib/kinds/mod.ts'
import { cachesSynced } from '../../lib/manager/checks.ts'
import { Cluster, type ClusterOptions } from '../../lib/manager/cluster.ts'
import { HealthServer } from '../../lib/manager/health.ts'
import { Manager } from '../../lib/manager/manager.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { recorder, refusal, silence, type Recorder } from '../client/transports.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { recordingLog, watchOutcome } from './parts.ts'

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
  const cluster = new Cluster({ name: 'test', transport: network.transport, clock, log: recordingLog(lines), random: () => 0, ...options })
  return { clock, server, network, lines, cluster }
}

const refuseSecrets = async (request: Parameters<Transport>[0], next: Transport): ReturnType<Transport> =>
  request.path.includes('/secrets') ? refusal(403, 'Forbidden', {}, 'user "secret" cannot list') : await next(request)

test('a cluster asks for nothing before its start, and writes in its name', async () => {
  const { cluster, network, clock } = setup()
  cluster.cache.declare(ConfigMap)
  await clock.advance(60_000)
  assert.deepEqual([network.requests.length, clock.pending], [0, 0])
  const map = await cluster.client.apply(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { b: 'c' } })
  assert.equal(map.metadata.name, 'a')
  assert.match(network.requests.at(-1)!.path, /fieldManager=test/)
})

test('it reads from the cache what that has, by index too, and all else from the server; live always from the server', async () => {
  const { cluster, network, clock } = setup()
  const stop = new AbortController()
  const byData = defineIndex(ConfigMap, (map) => map.data?.['b'])
  cluster.cache.declare(ConfigMap)
  await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { b: 'c' } })
  const running = watchOutcome(cluster.start(stop.signal))
  await clock.advance(0)
  await cluster.ready(never)
  network.take()
  assert.equal((await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['b'], 'c')
  assert.equal((await cluster.client.lookup(byData, 'c')).length, 1)
  assert.deepEqual(network.take(), [])
  await cluster.client.live.get(ConfigMap, { namespace: 'default', name: 'a' })
  await cluster.client.get(Secret, { namespace: 'default', name: 'a' })
  assert.deepEqual(network.take(), ['GET /api/v1/namespaces/default/configmaps/a', 'GET /api/v1/namespaces/default/secrets/a'])
  assert.equal((await cluster.kinds.find({ apiVersion: 'apps/v1', kind: 'Deployment' }))?.plural, 'deployments')
  stop.abort()
  await clock.advance(0)
  assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
})

test('requests are counted, with the host that they go to', async () => {
  const meter = memoryMeter()
  const config = { server: 'https://user:password@10.0.0.1:6443/prefix' }
  const { cluster } = setup({ meter, config })
  await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' })
  assert.equal(meter.value('rest_client_requests_total', { code: '404', host: '10.0.0.1:6443', method: 'GET' }), 1)
  assert.equal(cluster.name, 'cluster 10.0.0.1:6443')
})

test('a cluster needs somewhere to be; what it opened it closes', () => {
  assert.throws(() => new Cluster({ name: 'a' }), /^TypeError: Cannot make a cluster: it needs a config or a transport$/)
  assert.throws(() => new Cluster({ name: 'a', config: { server: 'nowhere' } }), ConfigError)
  const cluster = new Cluster({ name: 'a', config: { server: 'http://127.0.0.1:1' } })
  cluster.close()
  cluster.close()
  return assert.rejects(cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }), /it was closed by this process/)
})

/** Notes what of the caches was there when it began. */
function looking(name: string, clusters: readonly Cluster[], seen: string[], over: Partial<Runnable> = {}): Runnable {
  return {
    name,
    async start(signal) {
      for (const [at, cluster] of clusters.entries()) seen.push(`${name}: ${at} ${cluster.cache.unsynced().length === 0 ? 'synced' : 'unsynced'}`)
      await aborted(signal)
    },
    ...over,
  }
}

test('the caches of every cluster are in sync before anything else begins; a controller reads from one and writes to another', async () => {
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
  manager.add(looking('other', clusters, seen, { leaderOnly: false }))
  manager.add(looking('leader', clusters, seen))
  manager.add(async function copier() {
    for (const { metadata, data } of await one.cluster.client.list(ConfigMap)) {
      await two.cluster.client.apply(ConfigMap, { metadata: { namespace: metadata.namespace ?? '', name: metadata.name }, data })
    }
  })
  // The second one's answer takes its time.
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  two.network.intercept = async (request, next) => (await gate, await next(request))
  const stop = new AbortController()
  const running = watchOutcome(manager.start(stop.signal))
  await one.clock.advance(5000)
  assert.deepEqual(seen, [])
  go()
  await one.clock.advance(5000)
  assert.deepEqual(seen, ['other: 0 synced', 'other: 1 synced', 'leader: 0 synced', 'leader: 1 synced'])
  assert.equal((await two.cluster.client.get(ConfigMap, { namespace: 'default', name: 'a' }))?.data?.['b'], 'c')
  stop.abort()
  await one.clock.advance(0)
  assert.deepEqual([running.outcome, one.clock.pending], ['resolved', 0])
})

test('a cluster that is added to a manager that runs starts, and syncs', async () => {
  const { clock, cluster } = setup()
  const manager = new Manager({ clock, log: recordingLog([]) })
  const stop = new AbortController()
  const running = watchOutcome(manager.start(stop.signal))
  await clock.advance(0)
  cluster.cache.declare(ConfigMap)
  manager.add(cluster)
  await clock.advance(1000)
  assert.deepEqual(cluster.cache.unsynced(), [])
  stop.abort()
  await clock.advance(0)
  assert.equal(running.outcome, 'resolved')
})

test('a kind that is refused is waited for loudly, then ends the start with an error that names it and why', async () => {
  const { clock, cluster, network, lines } = setup()
  network.intercept = refuseSecrets
  cluster.cache.declare(ConfigMap)
  cluster.cache.declare(Secret)
  const health = new HealthServer({ clock })
  health.addReadiness('caches-synced', cachesSynced([cluster.cache]))
  const manager = new Manager({ clock, log: recordingLog([]) })
  const seen: string[] = []
  manager.add(cluster)
  manager.add(looking('other', [cluster], seen, { leaderOnly: false }))
  const running = watchOutcome(manager.start(never))
  await clock.advance(119_000)
  assert.deepEqual([running.outcome, seen], [undefined, []])
  const notes = lines.filter((line) => line.startsWith('warn Still waiting'))
  assert.equal(notes.length, 4) // after 10, 20, 40 and 80 s
  assert.match(notes[0]!, /^warn Still waiting for the cache of cluster in-memory: secrets \(.*user "secret" cannot list\)$/)
  const readyz = await health.fetch(new Request('http://localhost/readyz/caches-synced'))
  assert.deepEqual([readyz.status, await readyz.text()], [500, 'internal server error: not synced: secrets\n'])
  await clock.advance(1000)
  assert.match((running.outcome as Error).message, /^Cannot sync the cache of cluster in-memory within 2 m: secrets \(.*user "secret" cannot list\)$/)
  assert.deepEqual([seen, clock.pending], [[], 0])
})

test('what is refused at first and allowed in time is no failure, and a cluster may wait for ever', async () => {
  const { clock, cluster, network } = setup({ syncTimeoutMs: Infinity })
  network.intercept = refuseSecrets
  cluster.cache.declare(Secret)
  const stop = new AbortController()
  const running = watchOutcome(cluster.start(stop.signal))
  const ready = watchOutcome(cluster.ready(never))
  await clock.advance(3_600_000)
  assert.equal(ready.outcome, undefined)
  network.intercept = undefined
  await clock.advance(120_000)
  assert.equal(ready.outcome, 'resolved')
  stop.abort()
  await clock.advance(0)
  assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
})

test('a stop during the first lists ends the wait at once', async () => {
  const { clock, cluster, network } = setup()
  network.intercept = silence
  cluster.cache.declare(ConfigMap)
  const manager = new Manager({ clock, log: recordingLog([]) })
  manager.add(cluster)
  const stop = new AbortController()
  const running = watchOutcome(manager.start(stop.signal))
  await clock.advance(5000)
  stop.abort()
  await clock.advance(0)
  assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
})
