/** Tests which reads of a cluster's client use the cache or the server, and that both have the same objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { CacheOptions } from '../../lib/cache/cache_options.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import type { Client, LookupOptions } from '../../lib/client/client.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import { ConfigMap, Namespace, Secret } from '../../lib/kinds/mod.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import type { Log } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Recorder, recorder, refusal, silence } from '../client/transports.ts'

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
async function bench(declare: (cluster: Cluster) => void, expect?: 'error'): Promise<Bench> {
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
    error: (message) => expect ? void warnings.push(message) : assert.fail(message),
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

test('a lookup within a namespace and by labels is the same from the cache and from the server', async () => {
  const odd = defineIndex(
    ConfigMap,
    ({ metadata, data }) => metadata.name === 'b' ? assert.fail('odd') : data?.['team'],
  )
  for (const declared of [{}, { namespaces: ['one', 'two'] }, { read: 'live' as const }]) {
    const b = await bench(({ cache }) => void cache.declare(ConfigMap, declared), 'error')
    const all = declared.namespaces ? ['one', 'two'] : ['one', 'two', 'three']
    const found = async (index: typeof byTeam, key: string, options?: LookupOptions) =>
      names(await b.client.lookup(index, key, options))
    for (const state of ['before', 'after']) {
      if (state === 'after') await b.sync()
      assert.deepEqual(
        [
          await found(byTeam, 't', { namespace: 'one' }),
          await found(byTeam, 't', { labels: 'kept' }),
          await found(byTeam, 't', { namespace: 'two', labels: { in: 'two' } }),
          await found(byTeam, 't', { namespace: 'two', labels: 'in=one' }),
          await found(odd, 't'),
          await found(byTeam, 'none', { namespace: 'one' }),
          await found(byTeam, 't', { namespace: 'three' }),
        ],
        [
          'one/a one/b',
          all.map((each) => `${each}/a`).sort().join(' '),
          'two/a',
          '',
          all.map((each) => `${each}/a`).sort().join(' '),
          '',
          'three/a three/b',
        ],
        `${JSON.stringify(declared)}, ${state}`,
      )
    }
    // Also a lookup that reads from the server reports what it leaves out.
    const errors = b.warnings.filter((line) => /ConfigMap "\w+\/b", so lookups leave it out: odd$/.test(line))
    assert.ok(errors.length > 0, b.warnings.join('\n'))
    assert.equal(names(await b.client.live.lookup(odd, 't', { namespace: 'three' })), 'three/a')
    const typo = { namepace: 'one' } as LookupOptions
    await assert.rejects(async () => await b.client.lookup(byTeam, 't', typo), /did you mean "namespace"/)
    assert.equal(b.network.take().length, declared.read ? 8 : declared.namespaces ? 2 : 1)
    await b.stop()
  }
})

test('a key without a namespace is refused before the first list and after it: it would be that of no object', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap))
  const key = { name: 'a' } as { namespace: string; name: string }
  for (const state of ['before', 'after']) {
    if (state === 'after') await b.sync()
    for (const call of [b.client.get(ConfigMap, key), b.client.edit(ConfigMap, key, () => {})]) {
      await assert.rejects(call, /^TypeError: Cannot get ConfigMap "a": it needs a namespace/, state)
    }
  }
  assert.equal((await b.client.get(Namespace, { ...key, namespace: 'x', name: 'one' } as never))?.metadata.name, 'one')
  await b.stop()
})

test('a lookup in a kind that is not cached lists it each time, and a warning is logged once per kind', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { read: 'live' }))
  await b.sync()
  for (let time = 0; time < 3; time++) {
    assert.equal(names(await b.client.lookup(byTeam, 't')), 'one/a one/b three/a three/b two/a two/b')
    assert.deepEqual(await b.client.lookup(secretsByType, 'Opaque'), [])
    await b.client.live.lookup(byTeam, 't')
    // Each run has a client of its own.
    await b.cluster.client.bound({ signal: new AbortController().signal }).lookup(byTeam, 't')
  }
  assert.deepEqual(b.warnings, [
    "Each lookup in an index of configmaps lists all of them on the server, because they are not read from a cache; use app.cache(ConfigMap) without read: 'live'",
    "Each lookup in an index of secrets lists all of them on the server, because they are not read from a cache; use app.cache(Secret) without read: 'live'",
  ])
  await b.stop()
})

/** What is read of the config maps a and b of the namespaces one and three: three is not watched where one is. */
const SELECTIONS: readonly (readonly [what: string, options: CacheOptions, read: string])[] = [
  ['labels', { labels: 'kept' }, 'one/a three/a'],
  ['fields of metadata', { fields: 'metadata.name!=a' }, 'one/b three/b'],
  ['fields', { fields: 'immutable!=true' }, 'one/a one/b three/a three/b'],
  ['fields and labels', { fields: 'immutable!=true', labels: 'kept' }, 'one/a three/a'],
  ['namespaces and labels', { namespaces: ['one'], labels: 'kept' }, 'one/a three/a three/b'],
  [
    'a selection of each namespace',
    { namespaces: { one: { labels: 'kept' }, '*': { labels: '!kept' } } },
    'one/a three/b',
  ],
]

for (const [what, options, read] of SELECTIONS) {
  test(`an object that ${what} do not select does not exist: before the first list, after it, and for live reads`, async () => {
    for (const mode of ['live', undefined] as const) {
      const b = await bench(({ cache }) => {
        for (const kind of [ConfigMap, metadataOf(ConfigMap)]) cache.declare(kind, { ...options, read: mode })
      })
      // Supports every field, as the server of a kind with more fields would.
      b.network.intercept = (request, next) =>
        next({ ...request, path: request.path.replace(/immutable(%21|!)%3Dtrue(%2C)?/, '') })
      for (const state of ['before', 'after']) {
        if (state === 'after') await b.sync()
        for (const kind of [ConfigMap, metadataOf(ConfigMap)]) {
          const got = []
          for (const namespace of ['one', 'three']) {
            for (const name of ['a', 'b']) got.push(await b.client.get(kind, { namespace, name }))
          }
          const [inOne, all] = [await b.client.list(kind, { namespace: 'one' }), await b.client.list(kind)]
          const watched = all.filter(({ metadata }) => ['one', 'three'].includes(metadata.namespace!))
          const selected = options.namespaces && !('*' in options.namespaces) ? read.split(' three')[0] : read
          assert.deepEqual(
            [names(got.filter((object) => object !== undefined)), names(inOne), names(watched)],
            [read, read.split(' three')[0], selected],
            `${state}, read: ${mode}`,
          )
        }
      }
      await b.stop()
    }
  })
}

test('a kind with read: live is watched and read from the server, own writes included', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { read: 'live', labels: 'kept' }))
  const [informer] = b.cluster.cache.informersOf(ConfigMap)!
  await b.sync()
  assert.equal(informer!.store.size, 3)
  const ref = { namespace: 'one', name: 'a' }
  assert.equal((await b.client.get(ConfigMap, ref))?.metadata.name, 'a')
  assert.equal((await b.client.list(ConfigMap)).length, 3)
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

test('of a kind in several namespaces, only those without a first list are read from the server', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { labels: 'kept', namespaces: ['one', 'two'] }))
  b.network.intercept = (request, next) =>
    request.path.includes('/two/') && request.path.includes('watch=') ? silence(request) : next(request)
  const syncing = b.sync()
  await b.cluster.cache.informersOf(ConfigMap, 'one')![0]!.synced(new AbortController().signal)
  b.network.take()
  assert.equal(names(await b.client.list(ConfigMap)), 'one/a two/a')
  assert.equal(names(await b.client.lookup(byTeam, 't')), 'one/a two/a')
  assert.equal(names(await b.client.lookup(byTeam, 't', { labels: 'in=two' })), 'two/a')
  assert.deepEqual(await b.client.lookup(byTeam, 'u'), [])
  const path = 'GET /api/v1/namespaces/two/configmaps'
  assert.deepEqual(b.network.take(), [path, path, path, path])
  assert.deepEqual(b.warnings, [])
  await Promise.all([b.stop(), assert.rejects(syncing)])
})

test('no write sends a read first: not in a namespace that is not watched, and not before the first list', async () => {
  const b = await bench(({ cache }) => void cache.declare(ConfigMap, { namespaces: ['one', 'two'] }))
  // The role has the verbs of the writes only.
  b.network.intercept = (request, next) => {
    return request.method === 'GET' && request.path.endsWith('/a')
      ? Promise.resolve(refusal(403, 'Forbidden'))
      : next(request)
  }
  const writes = async (namespace: string): Promise<readonly string[]> => {
    const metadata = { namespace, name: 'a' }
    for (let time = 0; time < 2; time++) await b.client.apply(ConfigMap, { metadata, data: { team: 'u' } })
    await assert.rejects(
      b.client.setStatus(ConfigMap as never, metadata, { phase: 'Ready' } as never),
      /does not serve this kind or subresource/,
    )
    return b.network.take().map((line) => line.replace(/ .*configmaps/, ''))
  }
  assert.deepEqual(await writes('one'), ['PATCH/a', 'PATCH/a', 'PATCH/a/status'])
  await b.sync()
  assert.deepEqual(await writes('three'), ['PATCH/a', 'PATCH/a', 'PATCH/a/status'])
  assert.deepEqual(await writes('one'), ['PATCH/a', 'PATCH/a/status'], 'the second apply was skipped')
  await b.stop()
})

test('a read of all namespaces has each of them, also if one leaves the selection while the read waits', async () => {
  const informers = ['one', 'two', 'three'].map((namespace, at) => ({
    ...{ namespace, isSynced: true, selection: {}, index: () => undefined, settled: async () => {} },
    unclear: () => at === 0 ? new Map([['one/a', {}]]) : undefined,
    reader: { values: () => [{ metadata: { namespace } }], lookup: () => [{ metadata: { namespace } }] },
  }))
  const declared = { informersOf: () => informers, readableOf: () => informers, namespacesOf: () => undefined }
  const left = informers.slice()
  const listAt = async (): Promise<object> => {
    informers.splice(informers.indexOf(left.shift()!), 1)
    return { items: [], metadata: {} }
  }
  const reader = new CachedReader(declared as never, { listAt } as never)
  const spaces = (all: readonly object[]) => all.map((each) => (each as { metadata: object }).metadata)
  assert.deepEqual(spaces(await reader.list(ConfigMap)), ['one', 'two', 'three'].map((namespace) => ({ namespace })))
  informers[0]!.unclear = () => new Map([['two/a', {}]])
  assert.deepEqual(spaces(await reader.lookup(byTeam, 't')), ['two', 'three'].map((namespace) => ({ namespace })))
})
