import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineIndex, type Index } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { metadataOf, type Resource } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { Api } from '../../lib/client/api.ts'
import type { Reader } from '../../lib/client/client.ts'
import { Cache, type CacheDependencies } from '../../lib/cache/cache.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { BY_NAMESPACE, type Store } from '../../lib/cache/store.ts'
import { type Answer, list, NODE, POD, pod, refusal, ScriptedServer } from './scripted_server.ts'

const Pod = POD as Resource<KubeObject>
const Node = NODE as Resource<KubeObject>
const byTeam = defineIndex(Pod, ({ metadata }) => metadata.labels?.['team'])
const names = (objects: Iterable<KubeObject>): string[] => Array.from(objects, ({ metadata }) => metadata.name)

function caching(more: Partial<CacheDependencies> = {}) {
  const server = new ScriptedServer()
  const clock = new FakeClock()
  const cache = new Cache({ api: new Api({ transport: server.transport }), clock, random: () => 0, ...more })
  const live: string[] = []
  const requested = <T>(what: string, answer: T): Promise<T> => (live.push(what), Promise.resolve(answer))
  const reader = new CachedReader(cache, {
    get: (resource, ref) => requested(`get ${resource.plural} ${JSON.stringify(ref)}`, undefined),
    list: (resource, options) => requested(`list ${resource.plural} ${JSON.stringify(options ?? {})}`, []),
    lookup: (index, key) => requested(`lookup ${index.resource.plural} ${key}`, []),
  } as Reader)
  const { controller, listeners } = countedSignal()
  return {
    server,
    clock,
    cache,
    reader,
    live: () => live.splice(0),
    signal: controller.signal,
    stop: () => controller.abort(new Error('the test is over')),
    checkEnded: () => assert.deepEqual([clock.pending, listeners()], [0, 0]),
  }
}

/** A cache that runs with these declarations, whose first lists are answered in order. */
async function running(
  lists: readonly Answer[],
  declare: (cache: Cache) => void,
  more: Partial<CacheDependencies> = {},
) {
  const c = caching(more)
  c.server.lists.push(...lists)
  declare(c.cache)
  const ended = c.cache.start(c.signal)
  await c.clock.advance(0)
  return {
    ...c,
    [Symbol.asyncDispose]: async () => {
      c.stop()
      await ended
      c.checkEnded()
    },
  }
}

test('ten declarations of a kind share one informer, with one list and one watch', async () => {
  const received: string[] = []
  await using c = await running([list('5', [pod('a', '1')])], (cache) => {
    for (let i = 0; i < 10; i++) {
      for (const informer of cache.declare({ ...POD })) {
        informer.addHandler(({ object }) => received.push(object.metadata.name))
      }
    }
  })
  assert.deepEqual(
    [c.server.recorded(), received.length, [...c.cache.informers()].length],
    [['list', 'watch 5'], 10, 1],
  )
})

test('a kind has one set of options', () => {
  const { cache } = caching({ namespaces: ['a'] })
  cache.declare(POD, { labels: { a: 'b' }, strip() {} })
  assert.equal(cache.declare(POD).length, 1)
  assert.throws(
    () => cache.declare(POD, { labels: { a: 'c' } }),
    /Cannot cache pods twice: it was declared with labels {"a":"b"}, a strip function, now with labels {"a":"c"}, and a kind is watched once/,
  )
  assert.throws(() => caching().cache.declare(POD, { labels: 'a in b' }), /a in b/)
})

test('the cache runs kinds that are declared before and after the start, and leaves nothing at the end', async () => {
  const { cache, server, clock, signal, stop, checkEnded } = caching()
  server.lists.push(list('5', [pod('a', '1')]), list('6'))
  cache.declare(POD)
  const ended = cache.start(signal)
  await clock.advance(0)
  const [nodes] = cache.declare(NODE)
  assert.equal(nodes!.isSynced, false)
  await cache.synced(signal)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'list', 'watch 6'])
  stop()
  await ended
  checkEnded()
  await assert.rejects(cache.start(signal), /it was started already/)
  // An informer that is declared after the end, ends at once.
  const [late] = cache.declare({ ...POD, plural: 'others' })
  await late!.ended
})

/** A server that ignores aborts; the test decides when it answers. */
function slowServer() {
  const answers = new Map<string, () => void>()
  const transport: Transport = ({ path }) =>
    path.includes('watch=true')
      ? Promise.resolve(refusal(422, 'Invalid')({ method: 'GET', path }))
      : new Promise((resolve) =>
        answers.set(/v1\/(\w+)/.exec(path)![1]!, () => resolve(list('5')({ method: 'GET', path })))
      )
  return { transport, answer: (plural: string) => answers.get(plural)!(), requested: () => [...answers.keys()] }
}

test('the end of the cache waits for every informer, including those that are declared while it runs or ends', async () => {
  const slow = slowServer()
  const { cache, clock, signal, stop, checkEnded } = caching({ api: new Api({ transport: slow.transport }) })
  const order: string[] = []
  const [pods] = cache.declare(POD)
  const ended = cache.start(signal).then(() => order.push('cache'))
  await clock.advance(0)
  cache.declare(NODE)
  await clock.advance(0)
  stop()
  await clock.advance(0)
  // Each informer is declared when the one before it ends.
  const declareAfter = async (informer: Informer, count: number): Promise<void> => {
    await informer.ended
    order.push(informer.resource.plural)
    if (count > 0) await declareAfter(cache.declare({ ...POD, plural: `late${count}` })[0]!, count - 1)
  }
  const chain = declareAfter(pods!, 5)
  slow.answer('pods')
  await chain
  await clock.advance(0)
  assert.deepEqual(order, ['pods', 'late5', 'late4', 'late3', 'late2', 'late1'], 'one has not ended')
  slow.answer('nodes')
  await ended
  assert.deepEqual(slow.requested(), ['pods', 'nodes'], 'late ones send no request')
  checkEnded()
})

test('an informer that was already started ends the cache with an error, and all other informers', async () => {
  const { cache, server, signal, checkEnded } = caching()
  server.lists.push(list('5'), list('5'))
  const [pods] = cache.declare(POD)
  cache.declare(NODE)
  const other = new AbortController()
  const stray = pods!.start(other.signal)
  await assert.rejects(cache.start(signal), /Cannot start the informer of pods: it was started already/)
  other.abort()
  await stray
  checkEnded()
})

test('remove ends the watch of a kind and releases waiting syncs; the kind can be declared again', async () => {
  await using c = await running([list('5', [pod('a', '1')]), refusal(403, 'Forbidden')], (cache) => {
    cache.declare(POD)
    cache.declare(NODE)
  })
  const { cache, reader, server, clock, signal, live } = c
  const [nodes] = cache.informersOf(NODE)!
  const synced = cache.synced(signal)
  assert.deepEqual(cache.unsynced(), [
    'nodes (Cannot list nodes: scripted Forbidden)',
  ])
  cache.remove(NODE)
  await synced
  await nodes!.ended
  assert.deepEqual([cache.unsynced(), cache.informersOf(NODE)], [[], undefined])
  cache.remove(POD)
  await clock.advance(0)
  assert.equal(clock.pending, 0, 'a watch is left')
  assert.deepEqual([await reader.list(Pod), live()], [[], ['list pods {}']])
  server.lists.push(list('9', [pod('b', '8')]))
  cache.declare(POD)
  await cache.synced(signal)
  assert.deepEqual(names(await reader.list(Pod)), ['b'])
})

test('the selection of each namespace is sent with its requests, and its objects are read together', async () => {
  const lists = [['system', '5'], ['prod', '6'], ['other', '7']].map(([namespace, version]) =>
    list(version!, [pod(`of-${namespace}`, '1', { namespace: namespace! })])
  )
  await using c = await running(lists, (cache) => {
    cache.declare(POD, {
      namespaces: { system: { labels: { app: 'a' }, fields: 'spec.nodeName=n' }, '*': {}, prod: {} },
    })
  }, { labels: 'common' })
  assert.deepEqual(c.server.requests.slice(0, 3).map(({ path }) => decodeURIComponent(path.split('&limit')[0]!)), [
    '/api/v1/namespaces/system/pods?labelSelector=app=a&fieldSelector=spec.nodeName=n',
    '/api/v1/pods?labelSelector=common&fieldSelector=metadata.namespace!=system,metadata.namespace!=prod',
    '/api/v1/namespaces/prod/pods?labelSelector=common',
  ])
  assert.deepEqual(names(await c.reader.list(Pod)).toSorted(), ['of-other', 'of-prod', 'of-system'])
})

test('each namespace is read from the informer that watches it', async () => {
  // The second of three lists, of all other namespaces, is still missing.
  const lists = [
    list('5', [pod('a', '1', { namespace: 'system', labels: { team: 'red' } })]),
    refusal(503, 'ServiceUnavailable'),
    list('6', [pod('b', '2', { namespace: 'other' })]),
  ]
  await using c = await running(
    lists,
    (cache) => void cache.declare(POD, { namespaces: { system: { labels: 'app=a' }, '': {} } }),
  )
  const { reader, live } = c
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'system' })), ['a'])
  assert.equal((await reader.get(Pod, { namespace: 'system', name: 'a' }))?.metadata.name, 'a')
  assert.equal(await reader.get(Pod, { namespace: 'system', name: 'unselected' }), undefined)
  assert.deepEqual(live(), [])
  await reader.get(Pod, { namespace: 'other', name: 'b' })
  assert.deepEqual(names(await reader.list(Pod)), ['a'])
  assert.deepEqual(names(await reader.lookup(byTeam, 'red')), ['a'])
  // Without a first list the server is read, limited to what the cache will have. The others are not: they may be many.
  const missing = 'list pods {"fields":"metadata.namespace!=system"}'
  assert.deepEqual(live(), ['get pods {"namespace":"other","name":"b"}', missing, missing])
  await c.clock.advance(800)
  assert.equal((await reader.get(Pod, { namespace: 'other', name: 'b' }))?.metadata.name, 'b')
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'other' })), ['b'])
  assert.deepEqual([...await reader.list(Pod, { namespace: 'system' }), ...await reader.list(Pod)].length, 3)
  assert.deepEqual(live(), [])
})

test('own writes are visible only in their namespace, and only if its selection matches', async () => {
  await using c = await running(
    [list('5'), list('5')],
    (cache) => void cache.declare(POD, { namespaces: { system: { labels: 'app=a' }, '*': {} } }),
  )
  const [system, others] = c.cache.informersOf(POD)!
  const write = (object: KubeObject, namespace: string): void => {
    const write = c.cache.begin({ resource: POD, namespace, name: object.metadata.name })
    write?.answered(object)
    write?.end()
  }
  write(pod('a', '6', { namespace: 'system', labels: { app: 'a' } }), 'system')
  write(pod('b', '7', { namespace: 'system' }), 'system')
  write(pod('c', '8', { namespace: 'other' }), 'other')
  assert.deepEqual([names(system!.reader.values()), names(others!.reader.values())], [['a'], ['c']])
  assert.deepEqual(names(await c.reader.list(Pod, { namespace: 'system' })), ['a'])
  assert.equal(await c.reader.get(Pod, { namespace: 'system', name: 'b' }), undefined)
  assert.equal(others!.beginWrite({ resource: POD, namespace: 'system', name: 'a' }), undefined)
  assert.notEqual(others!.beginWrite({ resource: POD, namespace: 'other', name: 'a' }), undefined)
})

test('the informers of a kind and of its metadata are notified of a write until its end', async () => {
  const kinds = [Pod, metadataOf(Pod)]
  const lists = kinds.map(() => list('5', [pod('a', '1')]))
  await using c = await running(lists, (cache) => kinds.forEach((kind) => cache.declare(kind)))
  const began = kinds.map((kind) => {
    const [informer] = c.cache.informersOf(kind)!
    const ends: string[] = []
    const begin = informer!.beginWrite.bind(informer)
    informer!.beginWrite = (target) => {
      const write = begin(target)!
      return {
        answered: write.answered,
        deleted: (answer) => (ends.push('deleted'), write.deleted(answer)),
        end: () => (ends.push('end'), write.end()),
      }
    }
    return ends
  })
  const write = c.cache.begin({ resource: POD, namespace: 'default', name: 'a' })!
  write.deleted({ kind: 'Status', apiVersion: 'v1', status: 'Success', details: { uid: 'uid-a' } })
  write.end()
  assert.deepEqual(began, [['deleted', 'end'], ['deleted', 'end']])
  for (const kind of kinds) assert.equal(await c.reader.get(kind, { namespace: 'default', name: 'a' }), undefined)
})

test('synced rejects at once if the signal is aborted, even if nothing is declared', async () => {
  await assert.rejects(caching().cache.synced(AbortSignal.abort(new Error('too late'))), /too late/)
})

test('the namespace in a read of a cluster-scoped kind is ignored, as by the server', async () => {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u', resourceVersion: '1' } }
  await using c = await running([list('5', [node as KubeObject])], (cache) => void cache.declare(NODE))
  assert.deepEqual([names(await c.reader.list(Node, { namespace: 'default' })), c.live()], [['n'], []])
  assert.deepEqual([NODE, POD, metadataOf(Node)].map((kind) => c.reader.watches(kind)), [true, false, false])
})

test('index() builds an index of a declared kind before its first use, before or after the objects came', async () => {
  let calls = 0
  const counted = defineIndex(Pod, ({ metadata }) => (calls++, metadata.labels?.['team']))
  assert.throws(
    () => caching().cache.index(counted),
    /Cannot index pods: it is not declared in the cache; declare it first/,
  )
  const labels = { team: 'red' }
  const lists = [list('5', [pod('a', '1', { labels })]), list('5', [pod('b', '2', { namespace: 'other', labels })])]
  await using c = await running(lists, (cache) => {
    cache.declare(POD)
    cache.index(counted)
  }, { namespaces: ['default', 'other'] })
  assert.equal(calls, 2)
  assert.deepEqual([names(await c.reader.lookup(counted, 'red')), calls], [['a', 'b'], 2])
  c.cache.index(counted)
  assert.equal(calls, 2)
})

test('the objects of one namespace are found by an index, own writes in the same order with new objects last', async () => {
  const of = (name: string, namespace: string, version: string, labels?: Record<string, string>): KubeObject =>
    pod(name, version, { namespace, ...(labels && { labels }) })
  const items = [of('c', 'two', '1'), of('a', 'one', '2', { x: 'y' }), of('d', 'two', '3', { x: 'y' })]
  await using c = await running([list('5', items)], (cache) => void cache.declare(POD))
  const [informer] = c.cache.informersOf(POD)!
  const inNamespace = async (namespace: string, labels?: string): Promise<string> =>
    names(await c.reader.list(Pod, { namespace, ...(labels && { labels }) })).join()
  // It is built in turns of the event loop, and not by the first read of the store.
  const built: unknown[] = []
  const index = informer!.index.bind(informer!)
  Object.assign(informer!, { index: (of: Index<KubeObject>) => (built.push(of), index(of)) })
  assert.deepEqual(
    [await inNamespace('two'), await inNamespace('two', 'x=y'), await inNamespace('none')],
    ['c,d', 'd', ''],
  )
  assert.equal(built[0], BY_NAMESPACE)
  let looks = 0
  const values = informer!.store.values.bind(informer!.store)
  Object.assign(informer!.store, {
    values: (namespace?: string) => (namespace === undefined && looks++, values(namespace)),
  })
  await inNamespace('two')
  assert.equal(looks, 0)
  const own = informer!.beginWrite({ resource: POD, namespace: 'two', name: 'c' })!
  own.answered(of('c', 'two', '9', { own: 'yes' }))
  own.answered(of('f', 'two', '10'))
  own.answered(of('g', 'one', '11'))
  own.end()
  assert.deepEqual(
    [await inNamespace('two'), await inNamespace('one'), await inNamespace('two', 'own=yes')],
    ['c,d,f', 'a,g', 'c'],
  )
  assert.deepEqual(c.live(), [])
})

test('an informer of one namespace uses no namespace index', async () => {
  await using c = await running(
    [list('5', [pod('a', '1', { namespace: 'one' })])],
    (cache) => void cache.declare(POD),
    { namespaces: ['one'] },
  )
  assert.deepEqual(names(await c.reader.list(Pod, { namespace: 'one' })), ['a'])
  assert.equal((c.cache.informersOf(POD)![0]!.store as Store).has(BY_NAMESPACE), false)
})
