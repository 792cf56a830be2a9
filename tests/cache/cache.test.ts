import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { metadataOf, type Resource } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { Api } from '../../lib/client/api.ts'
import type { Reader } from '../../lib/client/client.ts'
import { Cache, type CacheDependencies } from '../../lib/cache/cache.ts'
import type { CacheOptions } from '../../lib/cache/cache_options.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { BY_NAMESPACE, type Store } from '../../lib/cache/store.ts'
import { keptLog, list, NODE, POD, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

const Pod = POD as Resource<KubeObject>
const Node = NODE as Resource<KubeObject>
const byTeam = defineIndex(Pod, ({ metadata }) => metadata.labels?.['team'])
const names = (objects: readonly KubeObject[]): string[] => objects.map(({ metadata }) => metadata.name)

function caching(more: Partial<CacheDependencies> = {}) {
  const server = new ScriptedServer()
  const clock = new FakeClock()
  const cache = new Cache({
    api: new Api({ transport: server.transport }),
    clock,
    log: keptLog().log,
    random: () => 0,
    ...more,
  })
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
    listeners,
    stop: () => controller.abort(new Error('the test is over')),
  }
}

test('all declarations of a kind share one informer', () => {
  const { cache } = caching()
  assert.equal(cache.declare(POD), cache.declare({ ...POD }))
  assert.equal([...cache.informers()].length, 1)
})

test('a kind has one set of options: later declarations must have the same options, or none', () => {
  const { cache } = caching()
  const strip = (): void => {}
  cache.declare(POD, { labels: { a: 'b' }, strip })
  assert.equal(cache.declare(POD).length, 1)
  cache.declare(POD, { labels: { a: 'b' }, strip })
  assert.throws(
    () => cache.declare(POD, { labels: { a: 'c' } }),
    /Cannot cache pods twice: it was declared with labels {"a":"b"}, a strip function, now with labels {"a":"c"}, and a kind is watched once/,
  )
})

test('a difference in any single option makes declarations conflict', () => {
  const declarations: readonly CacheOptions[] = [{ labels: 'a' }, { fields: 'a=b' }, { namespaces: ['a'] }, {
    strip() {},
  }, { read: 'live' }]
  for (const options of declarations) {
    const { cache } = caching()
    cache.declare(POD)
    assert.throws(
      () => cache.declare(POD, options),
      /^Error: Cannot cache pods twice: it was declared with default options, now with /,
      Object.keys(options)[0],
    )
    const other = caching().cache
    other.declare(POD, options)
    other.declare(POD, options)
    assert.throws(
      () => other.declare(POD, { labels: 'z', ...options, ...('labels' in options && { labels: 'z' }) }),
      /Cannot cache pods twice/,
    )
  }
})

test('with namespaces, a namespaced kind has one informer per namespace; a cluster-scoped kind has one', () => {
  const { cache } = caching({ namespaces: ['a', 'b', 'a'] })
  assert.deepEqual(cache.declare(POD).map(({ namespace }) => namespace), ['a', 'b'])
  assert.deepEqual(cache.declare(NODE).map(({ namespace }) => namespace), [undefined])
  assert.deepEqual(caching({ namespaces: [] }).cache.declare(POD).map(({ namespace }) => namespace), [undefined])
})

test('the cache runs kinds that are declared before and after the start, and leaves nothing at the end', async () => {
  const { cache, server, clock, signal, listeners, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]), list('6'))
  cache.declare(POD)
  const running = cache.start(signal)
  await clock.advance(0)
  const [nodes] = cache.declare(NODE)
  assert.equal(nodes!.isSynced, false)
  await cache.synced(signal)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'list', 'watch 6'])
  stop()
  await running
  assert.deepEqual([clock.pending, listeners()], [0, 0])
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

test('the end of the cache waits for every informer, including the last one and one that was declared while it ran', async () => {
  const slow = slowServer()
  const { cache, clock, signal, listeners, stop } = caching({ api: new Api({ transport: slow.transport }) })
  cache.declare(POD)
  let ended = false
  const running = cache.start(signal).then(() => void (ended = true))
  await clock.advance(0)
  cache.declare(NODE)
  await clock.advance(0)
  assert.deepEqual(slow.requested(), ['pods', 'nodes'])
  stop()
  await clock.advance(0)
  slow.answer('pods')
  await clock.advance(0)
  assert.equal(ended, false, 'one of two has not ended')
  slow.answer('nodes')
  await running
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('an informer that is declared during the end is awaited', async () => {
  const slow = slowServer()
  const { cache, clock, signal, stop } = caching({ api: new Api({ transport: slow.transport }) })
  const order: string[] = []
  const [pods] = cache.declare(POD)
  const running = cache.start(signal).then(() => order.push('cache'))
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
  await Promise.all([running, chain])
  assert.deepEqual(order, ['pods', 'late5', 'late4', 'late3', 'late2', 'late1', 'cache'])
  assert.deepEqual(slow.requested(), ['pods'], 'it sent no request')
})

test('an informer that was already started ends the cache with an error, and all other informers', async () => {
  const { cache, server, clock, signal, listeners } = caching()
  server.lists.push(list('5'), list('5'))
  const [pods] = cache.declare(POD)
  cache.declare(NODE)
  const other = new AbortController()
  const stray = pods!.start(other.signal)
  await assert.rejects(cache.start(signal), /Cannot start the informer of pods: it was started already/)
  other.abort()
  await stray
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('remove ends the watch of a kind and releases waiting syncs; the kind can be declared again', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]), refusal(403, 'Forbidden'))
  cache.declare(POD)
  const [nodes] = cache.declare(NODE)
  const running = cache.start(signal)
  const synced = cache.synced(signal)
  await clock.advance(0)
  assert.deepEqual(cache.unsynced(), [
    "nodes (Cannot list nodes: scripted Forbidden (the operator's role needs list and watch on nodes))",
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
  stop()
  await running
})

test('cached kinds are read without a request, and all others from the server', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  const items = [
    pod('a', '1', { labels: { team: 'red' } }),
    pod('b', '2', { namespace: 'other', labels: { team: 'red' } }),
    pod('c', '3', { labels: { team: 'blue' } }),
  ]
  server.lists.push(list('5', items))
  cache.declare(POD)
  const running = cache.start(signal)
  await cache.synced(signal)
  assert.equal((await reader.get(Pod, { namespace: 'other', name: 'b' }))?.metadata.resourceVersion, '2')
  assert.equal(await reader.get(Pod, { namespace: 'default', name: 'b' }), undefined)
  assert.deepEqual(names(await reader.list(Pod)), ['a', 'b', 'c'])
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'default' })), ['a', 'c'])
  assert.deepEqual(names(await reader.list(Pod, { labels: 'team in (red)' })), ['a', 'b'])
  assert.deepEqual(names(await reader.lookup(byTeam, 'blue')), ['c'])
  assert.deepEqual(live(), [])
  await reader.get(Node, { name: 'n' } as never)
  await reader.list(Pod, { fields: 'spec.nodeName=n' })
  assert.deepEqual(live(), ['get nodes {"name":"n"}', 'list pods {"fields":"spec.nodeName=n"}'])
  stop()
  await running
})

test('reads go to the server before the first list, and for namespaces that are not watched', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching({ namespaces: ['mine', 'ours'] })
  cache.declare(POD)
  await reader.get(Pod, { namespace: 'mine', name: 'a' })
  await reader.list(Pod)
  await reader.lookup(byTeam, 'red')
  // Only the objects that the cache will have.
  const lists = ['list pods {"namespace":"mine"}', 'list pods {"namespace":"ours"}']
  assert.deepEqual(live(), ['get pods {"namespace":"mine","name":"a"}', ...lists, ...lists])
  server.lists.push(
    list('5', [pod('a', '1', { namespace: 'mine', labels: { team: 'red' } })]),
    refusal(503, 'ServiceUnavailable'),
    list('6', [pod('b', '2', { namespace: 'ours' })]),
  )
  const running = cache.start(signal)
  await clock.advance(0)
  // One of the two informers is synced, and answers for its own namespace.
  assert.equal((await reader.get(Pod, { namespace: 'mine', name: 'a' }))?.metadata.name, 'a')
  await reader.list(Pod)
  assert.deepEqual(live(), lists)
  await clock.advance(800)
  assert.deepEqual(names(await reader.list(Pod)), ['a', 'b'])
  assert.deepEqual(names(await reader.lookup(byTeam, 'red')), ['a'])
  await reader.get(Pod, { namespace: 'theirs', name: 'x' })
  await reader.list(Pod, { namespace: 'theirs' })
  assert.deepEqual(live(), ['get pods {"namespace":"theirs","name":"x"}', 'list pods {"namespace":"theirs"}'])
  stop()
  await running
})

test('a kind may have its own namespaces instead of the common ones; an empty list means all', () => {
  const { cache } = caching({ namespaces: ['common'] })
  const namespaces = (informers: readonly { namespace: string | undefined }[]): unknown[] =>
    informers.map(({ namespace }) => namespace)
  assert.deepEqual(namespaces(cache.declare(POD, { namespaces: ['b', 'a', 'b'] })), ['b', 'a'])
  assert.equal(cache.declare(POD, { namespaces: ['a', 'b'] }).length, 2)
  assert.equal(cache.declare(POD).length, 2)
  assert.throws(
    () => cache.declare(POD, { namespaces: ['a'] }),
    /Cannot cache pods twice: it was declared with namespaces \["b","a","b"\], now with namespaces \["a"\]/,
  )
  assert.throws(
    () => cache.declare(NODE, { namespaces: ['a'] }),
    /Cannot cache nodes in namespaces: it is cluster-scoped/,
  )
  assert.deepEqual(namespaces(cache.declare(NODE)), [undefined])
  const { cache: other } = caching({ namespaces: ['common'] })
  assert.throws(() => other.declare(POD, { namespaces: ['', 'a'] }), /Cannot cache pods in a namespace without a name/)
  assert.deepEqual(namespaces(other.declare(POD, { namespaces: [] })), [undefined])
})

test('selectors and namespaces are sent with the requests', async () => {
  const { cache, server, clock, signal, stop } = caching()
  server.lists.push(list('5'), list('6'))
  cache.declare(POD, { labels: { app: 'a' }, fields: 'spec.nodeName=n', namespaces: ['x', 'y'] })
  const running = cache.start(signal)
  await clock.advance(0)
  const requested = server.requests.map(({ path }) => path)
  assert.deepEqual(
    requested.map((path) => path.split('?')[0]),
    ['x', 'y', 'x', 'y'].map((each) => `/api/v1/namespaces/${each}/pods`),
  )
  for (const path of requested) assert.match(path, /\?labelSelector=app%3Da&fieldSelector=spec\.nodeName%3Dn&/)
  stop()
  await running
})

/** Returns the request of each informer of a kind. */
const selections = (requests: readonly { path: string }[]): string[] =>
  requests.filter(({ path }) => !path.includes('watch=true')).map(({ path }) => {
    const url = new URL(path, 'http://localhost')
    const { labelSelector = '', fieldSelector = '' } = Object.fromEntries(url.searchParams)
    return `${/namespaces\/([^/]+)/.exec(url.pathname)?.[1] ?? '*'} ${labelSelector} ${fieldSelector}`.trim()
  })

test('a namespace may have its own selection; * stands for all that are not named', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching({ labels: 'common', namespaces: ['nowhere'] })
  server.lists.push(
    list('5', [pod('a', '1', { namespace: 'system' })]),
    list('6', [pod('b', '2', { namespace: 'prod' })]),
    list('7', [pod('c', '3', { namespace: 'other' })]),
  )
  const namespaces = {
    system: { labels: { app: 'a' }, fields: 'spec.nodeName=n' },
    '*': { fields: 'status.phase=Running' },
    prod: { strip: (each: KubeObject) => void delete (each as { spec?: unknown }).spec },
  }
  const informers = cache.declare(POD, { labels: 'kind', namespaces })
  assert.deepEqual(informers.map(({ namespace }) => namespace), ['system', undefined, 'prod'])
  const running = cache.start(signal)
  await clock.advance(0)
  assert.deepEqual(selections(server.requests), [
    'system app=a spec.nodeName=n',
    '* kind status.phase=Running,metadata.namespace!=system,metadata.namespace!=prod',
    'prod kind',
  ])
  assert.deepEqual(names(await reader.list(Pod)).toSorted(), ['a', 'b', 'c'])
  stop()
  await running
  assert.deepEqual(live(), [])
})

test('each namespace is read from the informer that watches it', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching()
  // The second of three lists, of all other namespaces, is still missing.
  server.lists.push(
    list('5', [pod('a', '1', { namespace: 'system' })]),
    refusal(503, 'ServiceUnavailable'),
    list('6', [pod('b', '2', { namespace: 'other' })]),
  )
  cache.declare(POD, { namespaces: { system: { labels: 'app=a' }, '': {} } })
  const running = cache.start(signal)
  await clock.advance(0)
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'system' })), ['a'])
  assert.equal((await reader.get(Pod, { namespace: 'system', name: 'a' }))?.metadata.name, 'a')
  assert.equal(await reader.get(Pod, { namespace: 'system', name: 'unselected' }), undefined)
  assert.deepEqual(live(), [])
  await reader.get(Pod, { namespace: 'other', name: 'b' })
  await reader.list(Pod)
  await reader.lookup(byTeam, 'red')
  // Before the first list, reads of the server are limited to what the cache will have.
  const both = [
    'list pods {"namespace":"system","labels":"app=a"}',
    'list pods {"fields":"metadata.namespace!=system"}',
  ]
  assert.deepEqual(live(), ['get pods {"namespace":"other","name":"b"}', ...both, ...both])
  await clock.advance(800)
  assert.equal((await reader.get(Pod, { namespace: 'other', name: 'b' }))?.metadata.name, 'b')
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'other' })), ['b'])
  assert.deepEqual([await reader.list(Pod, { namespace: 'system' }), names(await reader.list(Pod))].flat().length, 3)
  assert.deepEqual(live(), [])
  stop()
  await running
})

test('a namespace without a selection is read from the server', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  server.lists.push(list('5'))
  cache.declare(POD, { namespaces: { system: { labels: 'app=a' } } })
  const running = cache.start(signal)
  await cache.synced(signal)
  await reader.get(Pod, { namespace: 'other', name: 'b' })
  assert.deepEqual([live(), await reader.get(Pod, { namespace: 'system', name: 'b' })], [[
    'get pods {"namespace":"other","name":"b"}',
  ], undefined])
  stop()
  await running
})

test('own writes are visible only in their namespace, and only if its selection matches', async () => {
  const { cache, reader, server, signal, stop } = caching()
  server.lists.push(list('5'), list('5'))
  const [system, others] = cache.declare(POD, { namespaces: { system: { labels: 'app=a' }, '*': {} } })
  const running = cache.start(signal)
  await cache.synced(signal)
  const write = (object: KubeObject, namespace: string): void => {
    const write = cache.begin({ resource: POD, namespace, name: object.metadata.name })
    write?.answered(object)
    write?.end()
  }
  write(pod('a', '6', { namespace: 'system', labels: { app: 'a' } }), 'system')
  write(pod('b', '7', { namespace: 'system' }), 'system')
  write(pod('c', '8', { namespace: 'other' }), 'other')
  assert.deepEqual([names([...system!.reader.values()]), names([...others!.reader.values()])], [['a'], ['c']])
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'system' })), ['a'])
  assert.equal(await reader.get(Pod, { namespace: 'system', name: 'b' }), undefined)
  assert.equal(others!.beginWrite({ resource: POD, namespace: 'system', name: 'a' }), undefined)
  assert.notEqual(others!.beginWrite({ resource: POD, namespace: 'other', name: 'a' }), undefined)
  stop()
  await running
})

test('the informers of a kind and of its metadata are notified of a write until its end', async () => {
  const { cache, reader, server, signal, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]), list('5', [pod('a', '1')]), list('5', [pod('a', '1')]))
  const [whole] = cache.declare(POD)
  const [metadata] = cache.declare(metadataOf(Pod))
  const running = cache.start(signal)
  await cache.synced(signal)
  const began = [whole!, metadata!].map((informer) => {
    const ends: string[] = []
    const begin = informer.beginWrite.bind(informer)
    informer.beginWrite = (target) => {
      const write = begin(target)!
      return {
        answered: write.answered,
        deleted: (answer) => (ends.push('deleted'), write.deleted(answer)),
        end: () => (ends.push('end'), write.end()),
      }
    }
    return ends
  })
  const write = cache.begin({ resource: POD, namespace: 'default', name: 'a' })!
  write.deleted({ kind: 'Status', apiVersion: 'v1', status: 'Success', details: { uid: 'uid-a' } })
  write.end()
  assert.deepEqual(began, [['deleted', 'end'], ['deleted', 'end']])
  assert.equal(await reader.get(Pod, { namespace: 'default', name: 'a' }), undefined)
  assert.equal(await reader.get(metadataOf(Pod), { namespace: 'default', name: 'a' }), undefined)
  stop()
  await running
})

test('synced rejects at once if the signal is aborted, even if nothing is declared', async () => {
  const { cache } = caching()
  await assert.rejects(cache.synced(AbortSignal.abort(new Error('too late'))), /too late/)
})

test('an unsynced kind is reported with its namespace and its failure', async () => {
  const { cache, server, clock, signal, stop } = caching()
  server.lists.push(list('5'), refusal(403, 'Forbidden'))
  cache.declare(POD, { namespaces: ['a', 'b'] })
  assert.deepEqual(cache.unsynced(), ['pods in namespace "a"', 'pods in namespace "b"'])
  const running = cache.start(signal)
  await clock.advance(0)
  assert.deepEqual(cache.unsynced(), [
    `pods in namespace "b" (Cannot list pods in namespace "b": scripted Forbidden (the operator's role needs list and watch on pods))`,
  ])
  stop()
  await running
})

test('the namespace in a read of a cluster-scoped kind is ignored, as by the server', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  server.lists.push(
    list('5', [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u', resourceVersion: '1' } } as KubeObject,
    ]),
  )
  cache.declare(NODE)
  const running = cache.start(signal)
  await cache.synced(signal)
  assert.deepEqual([names(await reader.list(Node, { namespace: 'default' })), live()], [['n'], []])
  assert.deepEqual([reader.watches(NODE), reader.watches(POD), reader.watches(metadataOf(Node))], [true, false, false])
  stop()
  await running
})

test('each option that a declaration does not set has the default of the cache', async () => {
  const requested = async (
    common: Partial<CacheDependencies>,
    options: CacheOptions | undefined,
    resource = POD,
  ): Promise<string[]> => {
    const { cache, server, clock, signal, stop } = caching(common)
    for (let i = 0; i < 4; i++) server.lists.push(list('5'))
    cache.declare(resource, options)
    const running = cache.start(signal)
    await clock.advance(0)
    stop()
    await running
    return selections(server.requests)
  }
  const common = { labels: 'common', fields: 'spec.a=b', namespaces: { a: { labels: 'common-a' }, '*': {} } }
  const rest = 'spec.a=b,metadata.namespace!=a'
  assert.deepEqual(await requested(common, undefined), ['a common-a spec.a=b', `* common ${rest}`])
  assert.deepEqual(await requested(common, { labels: 'own' }), ['a own spec.a=b', `* own ${rest}`])
  assert.deepEqual(await requested(common, { labels: '' }), ['a  spec.a=b', `*  ${rest}`])
  assert.deepEqual(await requested(common, { namespaces: ['a', 'b'] }), ['a common-a spec.a=b', 'b common spec.a=b'])
  assert.deepEqual(await requested(common, { namespaces: { a: { fields: 'spec.c=d' } }, labels: 'own' }), [
    'a own spec.c=d',
  ])
  assert.deepEqual(await requested(common, { namespaces: [] }), ['* common spec.a=b'])
  assert.deepEqual(await requested({ ...common, namespaces: {} }, { namespaces: {} }), ['* common spec.a=b'])
  assert.deepEqual(await requested(common, undefined, NODE), ['* common spec.a=b'])
  assert.deepEqual(await requested(common, { labels: 'own' }, NODE), ['* own spec.a=b'])
  assert.deepEqual(await requested(common, { namespaces: [] }, NODE), ['* common spec.a=b'])
})

test('strip functions have the same precedence: the namespace, the kind, the cache', async () => {
  const strip = (name: string) => (object: KubeObject): void => void Object.assign(object, { by: name })
  const by = async (options: CacheOptions): Promise<unknown[]> => {
    const { cache, reader, server, signal, stop } = caching({ strip: strip('cache') })
    server.lists.push(list('5', [pod('a', '1', { namespace: 'a' })]), list('5', [pod('b', '1', { namespace: 'b' })]))
    cache.declare(POD, options)
    const running = cache.start(signal)
    await cache.synced(signal)
    const found = await reader.list(Pod)
    stop()
    await running
    return found.map((object) => (object as { by?: unknown }).by)
  }
  assert.deepEqual(await by({ namespaces: ['a', 'b'] }), ['cache', 'cache'])
  assert.deepEqual(await by({ namespaces: { a: { strip: strip('a') }, b: {} } }), ['a', 'cache'])
  assert.deepEqual(await by({ strip: strip('kind'), namespaces: { a: { strip: strip('a') }, b: {} } }), ['a', 'kind'])
})

test('selections by namespace agree if they are equal', () => {
  const { cache } = caching()
  const strip = (): void => {}
  const informers = cache.declare(POD, { namespaces: { a: { labels: { x: 'y' } }, '*': { strip } } })
  assert.equal(cache.declare(POD, { namespaces: { '': { strip }, a: { labels: { x: 'y' } } } }), informers)
  assert.equal(cache.declare(POD), informers)
  for (
    const namespaces of [['a'], {}, { a: {}, '*': { strip } }, { a: { labels: { x: 'y' } } }, {
      a: { labels: { x: 'y' } },
      '*': { strip: () => {} },
    }, { a: { labels: { x: 'y' } }, b: { strip } }]
  ) {
    assert.throws(() => cache.declare(POD, { namespaces }), /Cannot cache pods twice/, JSON.stringify(namespaces))
  }
  assert.throws(() => cache.declare(POD, { labels: 'a' }), /Cannot cache pods twice/)
  assert.throws(
    () => cache.declare(POD, { namespaces: { a: { labels: { x: 'y' }, fields: 'metadata.name=a' }, '*': { strip } } }),
    /Cannot cache pods twice/,
  )
  const { cache: other } = caching()
  const plain = other.declare(POD, { namespaces: ['a', 'b'] })
  assert.equal(other.declare(POD, { namespaces: { b: {}, a: {} } }), plain)
})

test('invalid namespaces and selectors are refused at the declaration', () => {
  const refused = (options: CacheOptions, why: RegExp, resource = POD): void =>
    assert.throws(() => caching().cache.declare(resource, options), why)
  refused({ namespaces: { '': {}, '*': {} } }, /Cannot cache pods in "" and "\*": both mean all other namespaces/)
  refused({ namespaces: ['*'] }, /Cannot cache pods in the namespace "\*": .*; use \[\] for all namespaces/)
  for (const name of ['kube-system/pods', 'A', 'a.b', '-a', 'x'.repeat(64)]) {
    refused({ namespaces: { [name]: {} } }, new RegExp(`in the namespace "${name}": a name has at most 63 lower-case`))
  }
  refused({ namespaces: { a: {} } }, /Cannot cache nodes in namespaces: it is cluster-scoped/, NODE)
  refused({ labels: 'a in b' }, /a in b/)
  refused({ namespaces: { a: { labels: { 'a b': 'c' } } } }, /Cannot select by the label "a b"/)
})

test('the metadata of a kind has its own watch and its own informer', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  const Meta = metadataOf(Pod)
  server.lists.push(list('5', [pod('a', '1', { spec: { big: 1 } })]), list('5', [pod('a', '1', { spec: { big: 1 } })]))
  cache.declare(Pod)
  cache.declare(Meta)
  const running = cache.start(signal)
  await cache.synced(signal)
  const ref = { namespace: 'default', name: 'a' }
  assert.deepEqual([
    Object.keys((await reader.get(Pod, ref))!).includes('spec'),
    Object.keys((await reader.get(Meta, ref))!).includes('spec'),
  ], [true, false])
  cache.remove(Meta)
  await reader.list(Meta)
  assert.deepEqual([names(await reader.list(Pod)), live()], [['a'], ['list pods {}']])
  stop()
  await running
})

test('index() builds an index of a declared kind before its first use, before or after the objects came', async () => {
  const { cache, reader, server, signal, stop } = caching({ namespaces: ['default', 'other'] })
  let calls = 0
  const counted = defineIndex(Pod, ({ metadata }) => (calls++, metadata.labels?.['team']))
  assert.throws(() => cache.index(counted), /Cannot index pods: it is not declared in the cache; declare it first/)
  server.lists.push(
    list('5', [pod('a', '1', { labels: { team: 'red' } })]),
    list('5', [pod('b', '2', { namespace: 'other', labels: { team: 'red' } })]),
  )
  cache.declare(POD)
  cache.index(counted)
  const running = cache.start(signal)
  await cache.synced(signal)
  assert.equal(calls, 2)
  assert.deepEqual([names(await reader.lookup(counted, 'red')), calls], [['a', 'b'], 2])
  cache.index(counted)
  assert.equal(calls, 2)
  stop()
  await running
})

test('ten declarations of a kind cause one list and one watch', async () => {
  const { cache, server, clock, signal, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]))
  const received: string[] = []
  for (let i = 0; i < 10; i++) {
    for (const informer of cache.declare({ ...POD })) {
      informer.addHandler(({ object }) => received.push(object.metadata.name))
    }
  }
  const running = cache.start(signal)
  await clock.advance(0)
  assert.deepEqual([server.recorded(), received.length], [['list', 'watch 5'], 10])
  stop()
  await running
})

test('the objects of one namespace are found by an index, in the order of all objects, after changes and with labels too', async () => {
  const { cache, server, clock, reader, live, signal, stop } = caching()
  let looks = 0
  const counted = (name: string, namespace: string, version: string, labels?: Record<string, string>): KubeObject =>
    pod(name, version, { namespace, ...(labels && { labels }) })
  const stream = new Stream()
  server.lists.push(
    list('5', [
      counted('c', 'two', '1'),
      counted('a', 'one', '2', { x: 'y' }),
      counted('d', 'two', '3', { x: 'y' }),
      counted('b', 'two', '4'),
    ]),
  )
  server.watches.push(stream.answer)
  const [informer] = cache.declare(POD)
  void cache.start(signal)
  await clock.advance(0)
  const inNamespace = async (namespace: string, labels?: string): Promise<string[]> =>
    names(await reader.list(Pod, { namespace, ...(labels && { labels }) }))
  assert.deepEqual([await inNamespace('two'), await inNamespace('one'), await inNamespace('none')], [['c', 'd', 'b'], [
    'a',
  ], []])
  assert.deepEqual(await inNamespace('two', 'x=y'), ['d'])
  stream.send('MODIFIED', counted('c', 'two', '6'))
  stream.send('DELETED', counted('d', 'two', '7'))
  stream.send('ADDED', counted('e', 'two', '8'))
  await clock.advance(0)
  assert.deepEqual(await inNamespace('two'), ['c', 'b', 'e'])
  const values = informer!.store.values.bind(informer!.store)
  Object.assign(informer!.store, {
    values: (namespace?: string) => (namespace === undefined && looks++, values(namespace)),
  })
  await inNamespace('two')
  assert.equal(looks, 0)
  // The view of own writes has the same order, with new objects last.
  const own = informer!.beginWrite({ resource: POD, namespace: 'two', name: 'c' })!
  own.answered(counted('c', 'two', '9', { own: 'yes' }))
  own.answered(counted('f', 'two', '10'))
  own.answered(counted('g', 'one', '11'))
  own.end()
  assert.deepEqual([await inNamespace('two'), await inNamespace('one'), await inNamespace('two', 'own=yes')], [
    ['c', 'b', 'e', 'f'],
    ['a', 'g'],
    ['c'],
  ])
  assert.deepEqual(live(), [])
  stop()
})

test('an informer of one namespace uses no namespace index', async () => {
  const { cache, server, clock, reader, signal, stop } = caching({ namespaces: ['one'] })
  server.lists.push(list('5', [pod('a', '1', { namespace: 'one' })]))
  const [informer] = cache.declare(POD)
  void cache.start(signal)
  await clock.advance(0)
  assert.deepEqual(names(await reader.list(Pod, { namespace: 'one' })), ['a'])
  assert.equal((informer!.store as Store).has(BY_NAMESPACE), false)
  stop()
})
