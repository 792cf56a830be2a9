/** Tests which reads of a cluster's client use the cache or the server, and that both have the same objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import type { Client } from '../../lib/client/client.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import { ConfigMap, Namespace, Secret } from '../../lib/kinds/mod.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import type { Log } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { type Recorder, recorder } from '../client/transports.ts'

const byTeam = defineIndex(ConfigMap, ({ data }) => data?.['team'])
const secretsByType = defineIndex(Secret, ({ type }) => type)

interface Bench {
  readonly network: Recorder
  readonly cluster: Cluster
  readonly client: Client
  readonly warnings: string[]
  sync(): Promise<void>
  stop(): Promise<void>
}

/** ConfigMaps a and b in the namespaces one, two and three; those named a have the label `kept`. */
async function bench(declare: (cluster: Cluster) => void): Promise<Bench> {
  const clock = new FakeClock()
  const network = recorder(new ApiServer({ clock }).handle)
  const admin = new Cluster({ name: 'admin', transport: network.transport, clock }).client
  for (const namespace of ['one', 'two', 'three']) {
    await admin.create(Namespace, { metadata: { name: namespace } })
    for (const name of ['a', 'b']) {
      await admin.create(ConfigMap, {
        metadata: { namespace, name, labels: name === 'a' ? { kept: '', in: namespace } : {} },
        data: { team: 't' },
      })
    }
  }
  const warnings: string[] = []
  const log: Log = {
    debug() {},
    info() {},
    warn: (message) => warnings.push(message),
    error: (message) => assert.fail(message),
  }
  const cluster = new Cluster({ name: 'mine', transport: network.transport, clock, log })
  declare(cluster)
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  network.take()
  return {
    network,
    cluster,
    client: cluster.client,
    warnings,
    sync: async () => {
      running = cluster.start(stopping.signal)
      await cluster.ready(stopping.signal)
      network.take()
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

const names = (objects: readonly { metadata: { namespace?: string | undefined; name: string } }[]): string =>
  objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).sort().join(' ')

test('a list from the server has the same objects as the cache', async () => {
  const b = await bench(({ cache }) =>
    void cache.declare(ConfigMap, { labels: { kept: '' }, namespaces: ['one', 'two'] })
  )
  // Before the first list, after it, and with a field selector.
  const lists = async (fields?: string): Promise<string[]> => {
    const given = fields ? { fields } : {}
    return [
      names(await b.client.list(ConfigMap, given)),
      names(await b.client.list(ConfigMap, { ...given, namespace: 'one' })),
      names(await b.client.list(ConfigMap, { ...given, labels: 'in=two' })),
      names(await b.client.list(ConfigMap, { ...given, labels: { in: 'two' }, namespace: 'one' })),
    ]
  }
  const expected = ['one/a two/a', 'one/a', 'two/a', '']
  assert.deepEqual([await lists(), await lists('metadata.name!=x')], [expected, expected])
  assert.equal(names(await b.client.lookup(byTeam, 't')), 'one/a two/a')
  await b.sync()
  assert.deepEqual(await lists(), expected)
  assert.equal(names(await b.client.lookup(byTeam, 't')), 'one/a two/a')
  assert.deepEqual(b.network.take(), [])
  assert.deepEqual(await lists('metadata.name!=x'), expected)
  assert.equal(b.network.take().length, 6)
  assert.equal(names(await b.client.list(ConfigMap, { fields: 'metadata.name=b' })), '')
  // A namespace that is not watched, and a live read, use the server without the selection.
  assert.equal(names(await b.client.list(ConfigMap, { namespace: 'three' })), 'three/a three/b')
  assert.equal(names(await b.client.live.list(ConfigMap, { fields: 'metadata.namespace=one' })), 'one/a one/b')
  assert.deepEqual(b.warnings, [])
  await b.stop()
})

test('the field selectors of the cache and of the list are combined', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { fields: 'metadata.name=a' }))
  await b.sync()
  assert.equal(names(await b.client.list(ConfigMap, { fields: 'metadata.namespace!=two' })), 'one/a three/a')
  assert.equal(names(await b.client.list(ConfigMap, { namespace: 'one' })), 'one/a')
  await b.stop()
})

test('a lookup in a kind that is not cached lists it each time, and a warning is logged once per kind', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { read: 'live' }))
  await b.sync()
  for (let time = 0; time < 3; time++) {
    assert.equal(names(await b.client.lookup(byTeam, 't')).length, 'one/a one/b two/a two/b three/a three/b'.length)
    assert.deepEqual(await b.client.lookup(secretsByType, 'Opaque'), [])
    await b.client.live.lookup(byTeam, 't')
  }
  assert.deepEqual(b.warnings, [
    'Each lookup in an index of configmaps lists all of them on the server, because they are not cached; add app.cache(ConfigMap)',
    'Each lookup in an index of secrets lists all of them on the server, because they are not cached; add app.cache(Secret)',
  ])
  await b.stop()
})

test('a kind with read: live is watched and read from the server, own writes included', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { read: 'live', labels: 'kept' }))
  const [informer] = b.cluster.cache.informersOf(ConfigMap)!
  await b.sync()
  assert.equal(informer!.store.size, 3)
  const ref = { namespace: 'one', name: 'a' }
  assert.equal((await b.client.get(ConfigMap, ref))?.metadata.name, 'a')
  assert.equal((await b.client.list(ConfigMap)).length, 6)
  const desired = { metadata: ref, data: { team: 'u' } }
  for (let time = 0; time < 2; time++) await b.client.apply(ConfigMap, desired)
  assert.deepEqual(b.network.take(), [
    'GET /api/v1/namespaces/one/configmaps/a',
    'GET /api/v1/configmaps',
    ...Array.from({ length: 2 }, () => 'PATCH /api/v1/namespaces/one/configmaps/a'),
  ])
  assert.equal(new CachedReader(b.cluster.cache, b.client.live).watches(ConfigMap), false)
  assert.throws(
    () => b.cluster.cache.declare(ConfigMap, { labels: 'kept' }),
    /it was declared with labels "kept", read "live", now with labels "kept"/,
  )
  assert.equal(b.cluster.cache.declare(ConfigMap)[0], informer)
  await b.stop()
})
