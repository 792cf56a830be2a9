import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyResource } from '../../lib/core/resource.ts'
import { controllerKey, ownKey, Source, type KeyMapper, type SourceOptions } from '../../lib/controller/source.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog, NODE, pod } from '../cache/scripted_server.ts'
import { fed, settle, type Fed } from './fixture.ts'

const FOO: AnyResource = { group: 'example.dev', version: 'v1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' }

/** A source of pods that begins with those given. */
function sourcing(options: Partial<SourceOptions> & { readonly pods?: Parameters<typeof fed>[1]; readonly inputs?: (clock: FakeClock) => Fed[] } = {}) {
  const { pods, inputs, ...more } = options
  const clock = new FakeClock()
  const feeds = inputs?.(clock) ?? [fed(clock, pods ?? [])]
  const { lines, log } = keptLog()
  const source = new Source({ informers: feeds.map(({ informer }) => informer), map: ownKey, own: true, clock, log, random: () => 0, ...more })
  const signal = countedSignal()
  const caching = new AbortController()
  const keys: string[] = []
  let over = false
  const state = { isSynced: false }
  return {
    source, clock, lines, feeds, stream: feeds[0]!.stream, informer: feeds[0]!.informer, listeners: signal.listeners, state,
    keys: () => keys.splice(0),
    isOver: () => over,
    stop: () => signal.controller.abort(new Error('the test is over')),
    end: () => caching.abort(new Error('the test is over')),
    async start(): Promise<void> {
      source.start((key) => keys.push(key), signal.controller.signal).then(() => (over = true), () => {})
      source.synced(signal.controller.signal).then(() => (state.isSynced = true), () => {})
      for (const { informer } of feeds) void informer.start(caching.signal)
      await settle(clock)
    },
  }
}

test('it is synced when the keys of all that exists in every informer are queued', async () => {
  const s = sourcing({ inputs: (clock) => [fed(clock, [pod('a', '1'), pod('b', '2')]), fed(clock, [pod('c', '3')])] })
  await s.start()
  assert.deepEqual([s.keys().sort(), s.state.isSynced, s.source.missing], [['default/a', 'default/b', 'default/c'], true, []])
  const waiting = sourcing({ inputs: (clock) => [fed(clock, []), fed(clock, undefined, NODE)] })
  await waiting.start()
  assert.deepEqual([waiting.state.isSynced, waiting.source.missing], [false, ['nodes']])
  for (const each of [s, waiting]) (each.stop(), each.end())
})

test('the controlling owner is whom a change concerns, by group and kind in whatever version', () => {
  const map = controllerKey(FOO)
  const owned = (over: object = {}): ReturnType<typeof pod> => pod('a', '1', { ownerReferences: [{ apiVersion: 'example.dev/v1beta1', kind: 'Foo', name: 'f', uid: 'u', controller: true, ...over }] })
  assert.deepEqual(map(owned()), [{ namespace: 'default', name: 'f' }])
  assert.deepEqual(map(owned({ controller: false })), [])
  assert.deepEqual(map(owned({ kind: 'Bar' })), [])
  assert.deepEqual(map(owned({ apiVersion: 'other.dev/v1' })), [])
  assert.deepEqual(map(pod('a', '1')), [])
  assert.deepEqual(controllerKey({ ...FOO, scope: 'Cluster' })(owned()), [{ name: 'f' }])
})

test('an object that moves from one owner to another concerns both, and one that stays is told of once', async () => {
  const map: KeyMapper = ({ metadata }) => [{ name: metadata.labels?.['owner'] ?? 'none' }]
  const s = sourcing({ pods: [pod('a', '1', { labels: { owner: 'x' } })], map })
  await s.start()
  s.keys()
  s.stream.send('MODIFIED', pod('a', '6', { labels: { owner: 'y' } }))
  s.stream.send('MODIFIED', pod('a', '7', { labels: { owner: 'y' } }))
  s.stream.send('DELETED', pod('a', '8', { labels: { owner: 'y' } }))
  await settle(s.clock)
  assert.deepEqual(s.keys(), ['y', 'x', 'y', 'y'])
  s.stop()
  s.end()
})

test('a predicate keeps out what it does not want, and is told what was before', async () => {
  const asked: string[] = []
  const s = sourcing({ pods: [pod('a', '1')], when: (now, before) => (asked.push(`${before?.metadata.resourceVersion}→${now.metadata.resourceVersion}`), now.metadata.resourceVersion !== '6') })
  await s.start()
  s.stream.send('MODIFIED', pod('a', '6'))
  s.stream.send('MODIFIED', pod('a', '7'))
  s.stream.send('DELETED', pod('a', '8'))
  await settle(s.clock)
  assert.deepEqual([s.keys(), asked], [['default/a', 'default/a', 'default/a'], ['undefined→1', '1→6', '6→7', 'undefined→8']])
  s.stop()
  s.end()
})

test('a predicate that throws lets pass, and is logged', async () => {
  const s = sourcing({ pods: [pod('a', '1')], when: () => assert.fail('mine') })
  await s.start()
  assert.deepEqual([s.keys(), s.lines], [['default/a'], ['error A predicate threw for Pod "default/a", which passes: mine']])
  s.stop()
  s.end()
})

test('a map function that throws keeps its event, is tried again later and later, and those behind it wait their turn', async () => {
  let failures = 3
  const map: KeyMapper = ({ metadata }) => (metadata.name === 'bad' && failures-- > 0 ? assert.fail('mine') : [{ name: metadata.name }])
  const s = sourcing({ pods: [pod('a', '1'), pod('bad', '2'), pod('c', '3')], map })
  await s.start()
  assert.deepEqual([s.keys(), s.state.isSynced, s.source.idle], [['a'], false, false])
  assert.deepEqual(s.source.missing, ['the keys of Pod "default/bad" (mine)'])
  await s.clock.advance(100 + 200 + 399)
  assert.deepEqual(s.keys(), [])
  await s.clock.advance(1)
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.state.isSynced, s.source.idle, s.source.missing], [['bad', 'c'], true, true, []])
  assert.equal(s.lines.filter((line) => line === 'error Cannot map Pod "default/bad" to keys: mine').length, 3)
  s.stop()
  s.end()
})

test('a generator that fails half way, a key without a name, and no keys at all are failures too: nothing is lost', async () => {
  const wrong: KeyMapper[] = [
    function* () {
      yield { name: 'half' }
      throw new Error('mine')
    },
    () => [{ name: '' }],
    (() => undefined) as unknown as KeyMapper,
    () => Promise.reject(new Error('mine')),
  ]
  for (const fails of wrong) {
    let tries = 0
    const s = sourcing({ pods: [pod('a', '1')], map: (object) => (tries++ === 0 ? fails(object) : [{ name: 'right' }]) })
    await s.start()
    assert.deepEqual(s.keys(), [], String(fails))
    await s.clock.advance(100)
    await settle(s.clock)
    assert.deepEqual(s.keys(), ['right'], String(fails))
    s.stop()
    s.end()
  }
})

test('map functions that answer later keep the order of the events, and are asked one after the other', async () => {
  const open = new Map<string, PromiseWithResolvers<void>>()
  const map: KeyMapper = ({ metadata }) => {
    const gate = Promise.withResolvers<void>()
    open.set(metadata.name, gate)
    return gate.promise.then(() => [{ name: metadata.name }])
  }
  const s = sourcing({ pods: [pod('slow', '1'), pod('fast', '2')], map })
  await s.start()
  assert.deepEqual([...open.keys()], ['slow'])
  open.get('slow')!.resolve()
  await settle(s.clock)
  open.get('fast')!.resolve()
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.source.idle, s.state.isSynced], [['slow', 'fast'], true, true])
  s.stop()
  s.end()
})

test('an abort ends it at once, also while a map function never answers or waits to be tried again, and nothing is left', async () => {
  for (const map of [() => new Promise<never>(() => {}), () => assert.fail('mine')] as KeyMapper[]) {
    const s = sourcing({ pods: [pod('a', '1'), pod('b', '2')], map })
    await s.start()
    s.stop()
    await settle(s.clock)
    assert.deepEqual([s.isOver(), s.source.idle, s.listeners(), s.keys()], [true, true, 0, []])
    s.stream.send('ADDED', pod('late', '6'))
    s.end()
    await settle(s.clock)
    assert.deepEqual([s.keys(), s.clock.pending], [[], 0])
  }
})

test('an event that comes in the same moment as the abort, after it, is not heard', async () => {
  const clock = new FakeClock()
  const feed = fed(clock, [])
  const aborting: (() => void)[] = []
  feed.informer.addHandler(() => aborting.forEach((abort) => abort()))
  const s = sourcing({ inputs: () => [feed] })
  await s.start()
  aborting.push(s.stop)
  feed.stream.send('ADDED', pod('late', '6'))
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.isOver(), feed.informer.store.size], [[], true, 1])
  s.end()
})

test('it ends when its informers were stopped, with what they told until then, and lets go of its signal', async () => {
  let failures = 1
  const s = sourcing({ pods: [pod('a', '1')], map: () => (failures-- > 0 ? assert.fail('mine') : [{ name: 'x' }]) })
  await s.start()
  s.informer.stop()
  await settle(s.clock)
  assert.equal(s.isOver(), false)
  await s.clock.advance(100)
  await settle(s.clock)
  assert.deepEqual([s.isOver(), s.keys(), s.listeners()], [true, ['x'], 0])
  s.end()
})

test('who waits for the sync of an informer that is stopped goes on', async () => {
  const s = sourcing({ inputs: (clock) => [fed(clock, undefined)] })
  await s.start()
  assert.equal(s.state.isSynced, false)
  s.informer.stop()
  await settle(s.clock)
  assert.deepEqual([s.state.isSynced, s.isOver()], [true, true])
  s.end()
})
