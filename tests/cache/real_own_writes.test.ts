/** Own writes on a real kube-apiserver: with a late watch, and in races with other clients. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import { isReason } from '../../lib/core/errors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { ConfigMap, Deployment, Namespace, Pod, ServiceAccount } from '../../lib/kinds/mod.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { delayedWatches } from './delayed_watch.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'
const never = new AbortController().signal

let envtest: Envtest
let connection: ClosableTransport

before(async () => {
  if (skip) return
  envtest = await startEnvtest()
  connection = httpTransport(envtest.config, { clock: systemClock, log: silentLog, userAgent: 'kubeloop-own-writes' })
})

after(async () => {
  if (skip) return
  connection.close()
  await envtest.stop()
})

/** A cluster that caches config maps and service accounts of one namespace; `others` is another client. */
async function caching(namespace: string, wrap: (inner: Transport) => Transport) {
  const others = new Cluster({ name: 'others', transport: connection }).client
  await others.create(Namespace, { metadata: { name: namespace } })
  const cluster = new Cluster({ name: 'test', transport: wrap(connection), namespaces: [namespace], freeze: true })
  cluster.cache.declare(ConfigMap)
  cluster.cache.declare(ServiceAccount)
  const [informer] = cluster.cache.informersOf(ConfigMap)!
  const waiting = new Map<string, () => void>()
  informer!.addHandler((delta) => {
    if (delta.kind === 'added') waiting.get(delta.object.metadata.name)?.()
  })
  const stop = new AbortController()
  const running = cluster.start(stop.signal)
  await cluster.ready(never)
  let marks = 0
  return {
    client: cluster.client,
    others,
    informer: informer!,
    /** Resolves when the watch has delivered all earlier writes. */
    catchUp: async () => {
      const name = `mark-${++marks}`
      const seen = new Promise<void>((resolve) => void waiting.set(name, resolve))
      await others.create(ConfigMap, { metadata: { namespace, name } })
      await seen
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
    },
  }
}

test(
  'with a watch that is two seconds late, reads after 300 writes return what was written',
  { skip, timeout: 60_000 },
  async () => {
    const namespace = 'late'
    await using w = await caching(namespace, (inner) => delayedWatches(inner, systemClock, 2000))
    const a = { namespace, name: 'a' }
    const value = async (): Promise<unknown> => (await w.client.get(ConfigMap, a))?.data?.['value']
    for (let round = 0; round < 50; round++) {
      await w.client.create(ConfigMap, {
        metadata: { ...a, finalizers: ['example.dev/f'] },
        data: { value: `${round} created` },
      })
      assert.equal(await value(), `${round} created`)
      await w.client.edit(ConfigMap, a, (draft) => void (draft.data = { value: `${round} edited` }))
      assert.equal(await value(), `${round} edited`)
      await w.client.patch(ConfigMap, a, { merge: { data: { value: `${round} patched` } } })
      assert.equal(await value(), `${round} patched`)
      await w.client.apply(ConfigMap, { metadata: a, data: { value: `${round} applied` } })
      assert.equal(await value(), `${round} applied`)
      await w.client.delete(ConfigMap, a)
      assert.ok((await w.client.get(ConfigMap, a))?.metadata.deletionTimestamp, 'it does not wait for its finalizer')
      await w.client.edit(ConfigMap, a, (draft) => void (draft.metadata.finalizers = []))
      assert.equal(await value(), undefined)
    }
    await w.catchUp()
    assert.equal(await value(), undefined)
    assert.equal(w.informer.reader, w.informer.store, 'own writes are left')
  },
)

test(
  'an object of a kind whose deletion is answered with the object itself is also gone at once',
  { skip, timeout: 60_000 },
  async () => {
    const namespace = 'accounts'
    await using w = await caching(namespace, (inner) => delayedWatches(inner, systemClock, 1000))
    const a = { namespace, name: 'a' }
    const first = await w.client.create(ServiceAccount, { metadata: a })
    assert.equal((await w.client.get(ServiceAccount, a))?.metadata.uid, first.metadata.uid)
    await w.client.delete(ServiceAccount, a)
    assert.equal(await w.client.get(ServiceAccount, a), undefined)
    const second = await w.client.create(ServiceAccount, { metadata: a })
    assert.equal((await w.client.get(ServiceAccount, a))?.metadata.uid, second.metadata.uid)
  },
)

test(
  'a scale, deleteAll and writes of pods that the server selects are read back, and an apply after a scale is sent',
  { skip, timeout: 60_000 },
  async () => {
    const namespace = 'hidden'
    await using w = await caching(namespace, (inner) => delayedWatches(inner, systemClock, 100))
    const cluster = new Cluster({ name: 'test', transport: connection, namespaces: [namespace] })
    cluster.cache.declare(Deployment)
    cluster.cache.declare(Pod, { fields: 'spec.nodeName!=b' })
    const stop = new AbortController()
    const running = cluster.start(stop.signal)
    await cluster.ready(never)
    const a = { namespace, name: 'a' }
    const containers = [{ name: 'c', image: 'i' }]
    const labels = { app: 'x' }
    const spec = {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    }
    for (let round = 0; round < 30; round++) {
      await cluster.client.apply(Deployment, { metadata: a, spec })
      await cluster.client.subresource(Deployment, a, 'scale').patch({ merge: { spec: { replicas: 7 } } })
      if (round % 2) assert.equal((await cluster.client.get(Deployment, a))?.spec?.replicas, 7)
      await cluster.client.apply(Deployment, { metadata: a, spec })
      assert.equal((await w.others.get(Deployment, a))?.spec?.replicas, 3)
      const pod = await cluster.client.create(Pod, {
        metadata: { namespace, generateName: 'p-' },
        spec: { containers },
      })
      assert.equal((await cluster.client.get(Pod, pod))?.metadata.uid, pod.metadata.uid)
      await cluster.client.delete(Pod, pod, { gracePeriodSeconds: 0 })
      assert.equal(await cluster.client.get(Pod, pod), undefined)
      for (let n = 0; n < (round === 0 ? 20 : 2); n++) {
        await w.client.create(ConfigMap, { metadata: { namespace, name: `m-${n}`, labels } })
      }
      await w.client.deleteAll(ConfigMap, { namespace, labels })
      assert.deepEqual(await w.client.list(ConfigMap, { namespace, labels }), [])
    }
    stop.abort()
    await running
  },
)

for (const [how, delayMs] of [['as it comes', 0], ['100 ms late', 100]] as const) {
  test(`3,000 updates that race with another client's delete leave no own write, with the watch ${how}`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const namespace = `race-${delayMs}`
    await using w = await caching(
      namespace,
      (inner) => (delayMs > 0 ? delayedWatches(inner, systemClock, delayMs) : inner),
    )
    const outcomes = { 'written first': 0, 'deleted first': 0 }
    const round = async (n: number): Promise<void> => {
      const ref = { namespace, name: `r-${n}` }
      const created = await w.client.create(ConfigMap, { metadata: ref })
      const write = w.client.update(ConfigMap, { ...created, data: { n: String(n) } }).then(
        () => true,
        (error: unknown) => {
          if (isReason(error, 'NotFound') || isReason(error, 'Conflict')) return false
          throw error
        },
      )
      // Every third deletion is our own, so its answer also races with that of the update.
      const [written] = await Promise.all([write, (n % 3 === 0 ? w.client : w.others).delete(ConfigMap, ref)])
      outcomes[written ? 'written first' : 'deleted first']++
    }
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < 3000) await round(next++)
    }
    await Promise.all(Array.from({ length: 16 }, worker))
    await w.catchUp()
    const names = async (client: typeof w.client) =>
      (await client.list(ConfigMap, { namespace })).map(({ metadata }) => metadata.name).toSorted()
    assert.deepEqual(await names(w.client), await names(w.others))
    assert.equal(w.informer.reader, w.informer.store, 'own writes are left')
    assert.ok(outcomes['written first'] > 100, 'too few races were won')
    t.diagnostic(JSON.stringify(outcomes))
  })
}
