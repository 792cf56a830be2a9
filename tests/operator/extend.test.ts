/** The endpoints and extensions of an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, EventChannel, type Log, operator, type Parts, predicates } from 'kubeloop'
import { ConfigMap, Lease } from 'kubeloop/kinds'
import { FakeClock, world } from 'kubeloop/testing'
import { Registry } from 'prom-client'
import { Latch } from '../../lib/async/latch.ts'
import { StreamSource } from '../../lib/controller/stream_source.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { running } from './running.ts'
import { ref, starting } from './starting.ts'

const ours = predicates.matchesLabels('ours')

async function get(port: number | undefined, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: response.status, text: await response.text() }
}

/** Returns a log, and the ports of the servers by their names. */
function listening(): { ports: Map<string, number>; log: Log } {
  const ports = new Map<string, number>()
  const info = (line: string): void => {
    const [, name, port] = /^Serving (.+) on 127\.0\.0\.1:(\d+)$/.exec(line) ?? []
    if (name) ports.set(name, Number(port))
  }
  return { ports, log: { debug() {}, info, warn() {}, error() {} } }
}

test('profiles are served only at their address', async () => {
  const app = operator({ name: 'x', profiling: 0, health: 0, metrics: 0 })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const { ports, log } = listening()
  await running(app, { log }, async ({ parts: { health, metrics } }) => {
    assert.deepEqual([...ports.keys()].toSorted(), ['health', 'metrics', 'profiling'])
    const { status, text } = await get(ports.get('profiling'), '/debug/pprof/')
    assert.equal(status, 200)
    assert.match(text, /^profile\?seconds=30/)
    assert.deepEqual([ports.get('health'), ports.get('metrics')], [health!.port, metrics!.port])
    for (const { port } of [health!, metrics!]) assert.equal((await get(port, '/debug/pprof/')).status, 404)
  })
})

test("the time of a profile is measured by the operator's clock", async () => {
  const app = operator({ name: 'x', profiling: 0 }).controllerFor(ConfigMap).reconcile(async () => {})
  const { ports, log } = listening()
  const fake = new FakeClock()
  const asked = new Latch()
  const clock: Clock = {
    now: () => fake.now(),
    monotonic: () => fake.monotonic(),
    after(ms, fire) {
      if (ms === 300_000) asked.open()
      return fake.after(ms, fire)
    },
  }
  await running(app, { log, clock }, async () => {
    const profile = get(ports.get('profiling'), '/debug/pprof/profile?seconds=300')
    await asked.opened
    assert.equal((await get(ports.get('profiling'), '/debug/pprof/profile?seconds=1')).status, 409, 'one at a time')
    await fake.advance(300_000)
    assert.equal((await profile).status, 200)
  })
})

test('each server listens on its address', async () => {
  for (const nested of [false, true]) {
    const [health, metrics, profiling] = [await freePort(), await freePort(), await freePort()]
    const app = operator({
      name: 'x',
      health,
      metrics: nested ? { address: metrics } : metrics,
      profiling: `127.0.0.1:${profiling}`,
    })
    app.controllerFor(ConfigMap).reconcile(async () => {})
    await running(app, {}, async () => {
      assert.equal((await get(health, '/healthz')).text, 'ok')
      assert.match((await get(metrics, '/metrics')).text, /^controller_runtime_reconcile_total/m)
      assert.equal((await get(profiling, '/debug/pprof/')).status, 200)
    })
  }
})

test('a registry without an address, or an absent option, starts no server', async () => {
  for (
    const [options, serves, expected] of [
      [{}, true, []],
      [{ metrics: { registry: new Registry() } }, true, []],
      [{ health: 0, metrics: 0, profiling: 0 }, true, ['health', 'metrics', 'profiling']],
      [{ health: 0, metrics: 0, profiling: 0 }, false, []],
    ] as const
  ) {
    const app = operator({ name: 'x', ...options }).controllerFor(ConfigMap).reconcile(async () => {})
    const { ports, log } = listening()
    await running(app, { log, serves }, async ({ parts: { health, metrics, meter } }) => {
      assert.deepEqual([...ports.keys()].toSorted(), expected)
      assert.deepEqual([health !== undefined, metrics !== undefined], [expected.length > 0, expected.length > 0])
      assert.equal(meter !== undefined, serves && 'metrics' in options)
    })
  }
})

test('the clients of an extension write only while this replica leads; unfenced ones always do', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const spec = { holderIdentity: 'another', leaseDurationSeconds: 3600 }
  await using waiting = await starting(app, {
    before: (client) => client.create(Lease, { metadata: ref('x'), spec }),
  })
  const { cluster, clusterOf } = waiting.parts!
  const target = { resource: ConfigMap, namespace: 'default' }
  const metadata = ref('a')
  for (const each of [cluster, clusterOf(west)]) {
    for (const client of [each.client, each.client.live, each.client.bound(new AbortController())]) {
      const writes = [
        client.create(ConfigMap, { metadata }),
        client.apply(ConfigMap, { metadata }),
        client.patch(ConfigMap, metadata, { merge: {} }),
        client.createOrUpdate(ConfigMap, metadata, () => {}),
        client.delete(ConfigMap, metadata),
        client.deleteAll(ConfigMap, { namespace: 'default' }),
      ]
      for (const write of writes) await assert.rejects(write, /this process does not hold it yet/)
    }
    await assert.rejects(each.api.create(target, { metadata }, {}), /this process does not hold it yet/)
    assert.equal(await each.client.get(ConfigMap, metadata), undefined)
    await each.unfenced.client.create(ConfigMap, { metadata })
    assert.ok(await each.client.live.get(ConfigMap, metadata))
    assert.equal(each.cache, each.unfenced.cache)
  }
  assert.notEqual(cluster.unfenced, clusterOf(west).unfenced)
  await using leading = await starting(operator({ name: 'y', leaderElection: true }).add('task', async () => {}))
  const { client, api } = leading.parts!.cluster
  await client.create(ConfigMap, { metadata })
  await api.delete({ ...target, name: 'a' }, {})
})

test('a watch can be added to a running controller, and removed', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ours }).reconcileKey(async ({ name }) => void runs.push(name))
  let parts: Parts | undefined
  app.extend((made) => void (parts = made))
  await using w = await world(app)
  const { controllers, clock, log } = parts!
  const channel = new EventChannel<{ namespace: string; name: string }>()
  const watch = new AbortController()
  await controllers.get('configmap')!.watch(
    new StreamSource({ name: 'later', open: () => channel, clock, log }),
    watch.signal,
  )
  await channel.send(ref('heard'))
  await w.settle()
  watch.abort()
  await w.settle()
  await channel.send(ref('too late'))
  await w.settle()
  assert.deepEqual(runs, ['heard'])
})
