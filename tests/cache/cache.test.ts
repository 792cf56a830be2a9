import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineIndex } from '../../lib/core/index.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { metadataOf, type Resource } from '../../lib/core/resource.ts'
import { Api } from '../../lib/client/api.ts'
import type { Reader } from '../../lib/client/client.ts'
import { Cache, type CacheDependencies } from '../../lib/cache/cache.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog, list, NODE, pod, POD, refusal, ScriptedServer } from './scripted_server.ts'

const Pod = POD as Resource<KubeObject>
const Node = NODE as Resource<KubeObject>
const byTeam = defineIndex(Pod, ({ metadata }) => metadata.labels?.['team'])
const names = (objects: readonly KubeObject[]): string[] => objects.map(({ metadata }) => metadata.name)

function caching(more: Partial<CacheDependencies> = {}) {
  const server = new ScriptedServer()
  const clock = new FakeClock()
  const cache = new Cache({ api: new Api({ transport: server.transport }), clock, log: keptLog().log, random: () => 0, ...more })
  const live: string[] = []
  const asked = <T>(what: string, answer: T): Promise<T> => (live.push(what), Promise.resolve(answer))
  const reader = new CachedReader(cache, {
    get: (resource, ref) => asked(`get ${resource.plural} ${JSON.stringify(ref)}`, undefined),
    list: (resource, options) => asked(`list ${resource.plural} ${JSON.stringify(options ?? {})}`, []),
    lookup: (index, key) => asked(`lookup ${index.resource.plural} ${key}`, []),
  } as Reader)
  const { controller, listeners } = countedSignal()
  return { server, clock, cache, reader, live: () => live.splice(0), signal: controller.signal, listeners, stop: () => controller.abort(new Error('the test is over')) }
}

test('a kind has one informer, whoever declares it', () => {
  const { cache } = caching()
  assert.equal(cache.declare(POD), cache.declare({ ...POD }))
  assert.equal([...cache.informers()].length, 1)
})

test('a kind cannot be watched in two ways at once: later options must be the same, or none', () => {
  const { cache } = caching()
  const strip = (): void => {}
  cache.declare(POD, { labels: { a: 'b' }, strip })
  assert.equal(cache.declare(POD).length, 1)
  cache.declare(POD, { labels: { a: 'b' }, strip })
  assert.throws(() => cache.declare(POD, { labels: { a: 'c' } }), /Cannot cache pods twice: it was declared with labels {"a":"b"}, a strip function, now with labels {"a":"c"}, and a kind is watched once/)
})

test('with namespaces, a namespaced kind has an informer in each, once; a cluster-scoped kind has one', () => {
  const { cache } = caching({ namespaces: ['a', 'b', 'a'] })
  assert.deepEqual(cache.declare(POD).map(({ namespace }) => namespace), ['a', 'b'])
  assert.deepEqual(cache.declare(NODE).map(({ namespace }) => namespace), [undefined])
  assert.deepEqual(caching({ namespaces: [] }).cache.declare(POD).map(({ namespace }) => namespace), [undefined])
})

test('it runs what is declared before the start and after it, and ends without anything left', async () => {
  const { cache, server, clock, signal, listeners, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]), list('6'))
  cache.declare(POD)
  const running = cache.start(signal)
  await clock.advance(0)
  const [nodes] = cache.declare(NODE)
  assert.equal(nodes!.isSynced, false)
  await cache.synced(signal)
  assert.deepEqual(server.took(), ['list', 'watch 5', 'list', 'watch 6'])
  stop()
  await running
  assert.deepEqual([clock.pending, listeners()], [0, 0])
  await assert.rejects(cache.start(signal), /it was started already/)
  // Declared after the end: it ends as soon as it has begun.
  const [late] = cache.declare({ ...POD, plural: 'others' })
  await late!.ended
})

test('an informer that somebody else started ends the cache with an error, and all others with it', async () => {
  const { cache, server, clock, signal } = caching()
  server.lists.push(list('5'), list('5'))
  const [pods] = cache.declare(POD)
  cache.declare(NODE)
  const other = new AbortController()
  const stray = pods!.start(other.signal)
  await assert.rejects(cache.start(signal), /Cannot start the informer of pods: it was started already/)
  other.abort()
  await stray
  assert.equal(clock.pending, 0)
})

test('a removed kind is not watched any more; who waits for its sync goes on; it can be declared again', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]), refusal(403, 'Forbidden'))
  cache.declare(POD)
  const [nodes] = cache.declare(NODE)
  const running = cache.start(signal)
  const synced = cache.synced(signal)
  await clock.advance(0)
  assert.deepEqual(cache.unsynced(), ['nodes (Cannot list nodes: scripted Forbidden)'])
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

test('reads of what is cached do not ask the server; those of the rest do', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  const items = [pod('a', '1', { labels: { team: 'red' } }), pod('b', '2', { namespace: 'other', labels: { team: 'red' } }), pod('c', '3', { labels: { team: 'blue' } })]
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

test('a cache that cannot know is not asked: before its first list, and for namespaces that it does not watch', async () => {
  const { cache, reader, server, clock, signal, live, stop } = caching({ namespaces: ['mine', 'ours'] })
  cache.declare(POD)
  await reader.get(Pod, { namespace: 'mine', name: 'a' })
  await reader.list(Pod)
  await reader.lookup(byTeam, 'red')
  assert.deepEqual(live(), ['get pods {"namespace":"mine","name":"a"}', 'list pods {}', 'lookup pods red'])
  server.lists.push(list('5', [pod('a', '1', { namespace: 'mine', labels: { team: 'red' } })]), refusal(503, 'ServiceUnavailable'), list('6', [pod('b', '2', { namespace: 'ours' })]))
  const running = cache.start(signal)
  await clock.advance(0)
  // One of the two is synced: it answers for itself alone.
  assert.equal((await reader.get(Pod, { namespace: 'mine', name: 'a' }))?.metadata.name, 'a')
  await reader.list(Pod)
  assert.deepEqual(live(), ['list pods {}'])
  await clock.advance(800)
  assert.deepEqual(names(await reader.list(Pod)), ['a', 'b'])
  assert.deepEqual(names(await reader.lookup(byTeam, 'red')), ['a'])
  await reader.get(Pod, { namespace: 'theirs', name: 'x' })
  await reader.list(Pod, { namespace: 'theirs' })
  assert.deepEqual(live(), ['get pods {"namespace":"theirs","name":"x"}', 'list pods {"namespace":"theirs"}'])
  stop()
  await running
})

test('a kind may have namespaces of its own, instead of the common ones; none means all', () => {
  const { cache } = caching({ namespaces: ['common'] })
  const namespaces = (informers: readonly { namespace: string | undefined }[]): unknown[] => informers.map(({ namespace }) => namespace)
  assert.deepEqual(namespaces(cache.declare(POD, { namespaces: ['b', 'a', 'b'] })), ['b', 'a'])
  assert.equal(cache.declare(POD, { namespaces: ['a', 'b'] }).length, 2)
  assert.equal(cache.declare(POD).length, 2)
  assert.throws(() => cache.declare(POD, { namespaces: ['a'] }), /Cannot cache pods twice: it was declared with namespaces \["b","a","b"\], now with namespaces \["a"\]/)
  assert.throws(() => cache.declare(NODE, { namespaces: ['a'] }), /Cannot cache nodes in namespaces: it is cluster-scoped/)
  assert.deepEqual(namespaces(cache.declare(NODE)), [undefined])
  const { cache: other } = caching({ namespaces: ['common'] })
  assert.throws(() => other.declare(POD, { namespaces: ['', 'a'] }), /Cannot cache pods in a namespace without a name/)
  assert.deepEqual(namespaces(other.declare(POD, { namespaces: [] })), [undefined])
})

test('selectors and namespaces go with the requests', async () => {
  const { cache, server, clock, signal, stop } = caching()
  server.lists.push(list('5'), list('6'))
  cache.declare(POD, { labels: { app: 'a' }, fields: 'spec.nodeName=n', namespaces: ['x', 'y'] })
  const running = cache.start(signal)
  await clock.advance(0)
  const asked = server.requests.map(({ path }) => path)
  assert.deepEqual(asked.map((path) => path.split('?')[0]), ['x', 'y', 'x', 'y'].map((each) => `/api/v1/namespaces/${each}/pods`))
  for (const path of asked) assert.match(path, /\?labelSelector=app%3Da&fieldSelector=spec\.nodeName%3Dn&/)
  stop()
  await running
})

test('the metadata of a kind is watched beside the kind, and read from its own informer', async () => {
  const { cache, reader, server, signal, live, stop } = caching()
  const Meta = metadataOf(Pod)
  server.lists.push(list('5', [pod('a', '1', { spec: { big: 1 } })]), list('5', [pod('a', '1', { spec: { big: 1 } })]))
  cache.declare(Pod)
  cache.declare(Meta)
  const running = cache.start(signal)
  await cache.synced(signal)
  const ref = { namespace: 'default', name: 'a' }
  assert.deepEqual([Object.keys((await reader.get(Pod, ref))!).includes('spec'), Object.keys((await reader.get(Meta, ref))!).includes('spec')], [true, false])
  cache.remove(Meta)
  await reader.list(Meta)
  assert.deepEqual([names(await reader.list(Pod)), live()], [['a'], ['list pods {}']])
  stop()
  await running
})

test('an index is built before its first use where that is asked for, of a kind that is declared, before or after its objects came', async () => {
  const { cache, reader, server, signal, stop } = caching({ namespaces: ['default', 'other'] })
  let calls = 0
  const counted = defineIndex(Pod, ({ metadata }) => (calls++, metadata.labels?.['team']))
  assert.throws(() => cache.index(counted), /Cannot index pods: the cache does not have it; declare it first/)
  server.lists.push(list('5', [pod('a', '1', { labels: { team: 'red' } })]), list('5', [pod('b', '2', { namespace: 'other', labels: { team: 'red' } })]))
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

test('ten who declare one kind cause one list and one watch', async () => {
  const { cache, server, clock, signal, stop } = caching()
  server.lists.push(list('5', [pod('a', '1')]))
  const heard: string[] = []
  for (let i = 0; i < 10; i++) for (const informer of cache.declare({ ...POD })) informer.addHandler(({ object }) => heard.push(object.metadata.name))
  const running = cache.start(signal)
  await clock.advance(0)
  assert.deepEqual([server.took(), heard.length], [['list', 'watch 5'], 10])
  stop()
  await running
})
