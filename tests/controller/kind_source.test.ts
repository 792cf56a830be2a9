import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerReference } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { controllerKey, type KeyMapper, ownerKeys, ownKey } from '../../lib/controller/handlers.ts'
import { KindSource, type KindSourceOptions } from '../../lib/controller/kind_source.ts'
import type { Sink } from '../../lib/controller/source.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog, NODE, pod } from '../cache/scripted_server.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { type Fed, fed, keptSink, scriptedInformer, settle } from './fixture.ts'

const FOO: AnyResource = { group: 'example.dev', version: 'v1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' }
const NO_CALL = { signal: new AbortController().signal }

/** Returns a source of pods with a first list. */
function sourcing(
  options: Partial<KindSourceOptions> & {
    readonly pods?: Parameters<typeof fed>[1]
    readonly inputs?: (clock: FakeClock) => Fed[]
    readonly passes?: Sink['passes']
  } = {},
) {
  const { pods, inputs, passes, ...more } = options
  const clock = new FakeClock()
  const feeds = inputs?.(clock) ?? [fed(clock, pods ?? [])]
  const { lines, log } = keptLog()
  const source = new KindSource({
    informers: feeds.map(({ informer }) => informer),
    map: ownKey,
    own: true,
    clock,
    log,
    ...more,
  })
  const signal = countedSignal()
  const caching = new AbortController()
  const kept = keptSink(passes)
  let over = false
  const state = { isSynced: false }
  return {
    source,
    clock,
    lines,
    feeds,
    stream: feeds[0]!.stream,
    informer: feeds[0]!.informer,
    listeners: signal.listeners,
    state,
    keys: kept.keys,
    added: kept.added,
    isOver: () => over,
    stop: () => signal.controller.abort(new Error('the test is over')),
    end: () => caching.abort(new Error('the test is over')),
    [Symbol.dispose]: () => {
      signal.controller.abort(new Error('the test is over'))
      caching.abort(new Error('the test is over'))
    },
    async start(): Promise<void> {
      source.start(kept.sink, signal.controller.signal).then(() => (over = true), () => {})
      source.synced(signal.controller.signal).then(() => (state.isSynced = true), () => {})
      for (const { informer } of feeds) void informer.start(caching.signal)
      await settle(clock)
    },
  }
}

test('it is synced when the keys of all objects in all informers are queued', async () => {
  const s = sourcing({ inputs: (clock) => [fed(clock, [pod('a', '1'), pod('b', '2')]), fed(clock, [pod('c', '3')])] })
  await s.start()
  assert.deepEqual(
    [s.keys().sort(), s.state.isSynced, s.source.missing],
    [['default/a', 'default/b', 'default/c'], true, []],
  )
  const waiting = sourcing({ inputs: (clock) => [fed(clock, []), fed(clock, undefined, NODE)] })
  await waiting.start()
  assert.deepEqual([waiting.state.isSynced, waiting.source.missing], [false, ['nodes']])
  for (const each of [s, waiting]) (each.stop(), each.end())
})

test('controllerKey maps to the controlling owner, by group and kind in any version', () => {
  const map = (object: ReturnType<typeof pod>) => controllerKey(FOO)(object, NO_CALL)
  const owned = (over: object = {}): ReturnType<typeof pod> =>
    pod('a', '1', {
      ownerReferences: [{
        apiVersion: 'example.dev/v1beta1',
        kind: 'Foo',
        name: 'f',
        uid: 'u',
        controller: true,
        ...over,
      }],
    })
  assert.deepEqual(map(owned()), [{ namespace: 'default', name: 'f' }])
  assert.deepEqual(map(owned({ controller: false })), [])
  assert.deepEqual(map(owned({ kind: 'Bar' })), [])
  assert.deepEqual(map(owned({ apiVersion: 'other.dev/v1' })), [])
  assert.deepEqual(map(pod('a', '1')), [])
  assert.deepEqual(controllerKey({ ...FOO, scope: 'Cluster' })(owned(), NO_CALL), [{ name: 'f' }])
})

test('ownerKeys maps to all owners of the kind', () => {
  const reference = (name: string, controller: boolean): OwnerReference => ({
    apiVersion: 'example.dev/v1',
    kind: 'Foo',
    name,
    uid: name,
    controller,
  })
  const owned = pod('a', '1', {
    ownerReferences: [reference('f', true), reference('g', false), { ...reference('h', false), kind: 'Bar' }],
  })
  assert.deepEqual(ownerKeys(FOO)(owned, NO_CALL), [{ namespace: 'default', name: 'f' }, {
    namespace: 'default',
    name: 'g',
  }])
  assert.deepEqual(ownerKeys({ ...FOO, scope: 'Cluster' })(owned, NO_CALL), [{ name: 'f' }, { name: 'g' }])
  assert.deepEqual(ownerKeys(FOO)(pod('a', '1'), NO_CALL), [])
})

test('a cluster-scoped object has no owner in a namespace', () => {
  const owned = pod('a', '1', {
    namespace: '',
    ownerReferences: [{ apiVersion: 'example.dev/v1', kind: 'Foo', name: 'f', uid: 'u', controller: true }],
  })
  assert.deepEqual([controllerKey(FOO)(owned, NO_CALL), ownerKeys(FOO)(owned, NO_CALL)], [[], []])
})

test('an object that moves from one owner to another queues both, and one that stays queues its owner once', async () => {
  const map: KeyMapper = ({ metadata }) => [{ name: metadata.labels?.['owner'] ?? 'none' }]
  using s = sourcing({ pods: [pod('a', '1', { labels: { owner: 'x' } })], map })
  await s.start()
  s.keys()
  s.stream.send('MODIFIED', pod('a', '6', { labels: { owner: 'y' } }))
  s.stream.send('MODIFIED', pod('a', '7', { labels: { owner: 'y' } }))
  s.stream.send('DELETED', pod('a', '8', { labels: { owner: 'y' } }))
  await settle(s.clock)
  assert.deepEqual(s.keys(), ['y', 'x', 'y', 'y'])
})

test('a predicate that throws a thousand times passes all events, and causes a few lines', async () => {
  using s = sourcing({
    pods: Array.from({ length: 1000 }, (_, i) => pod(`p${i}`, '1')),
    when: () => assert.fail('mine'),
  })
  await s.start()
  assert.deepEqual([s.keys().length, s.lines.length], [1000, 5])
  await s.clock.advance(60_000)
  s.stream.send('ADDED', pod('late', '6'))
  await settle(s.clock)
  assert.equal(
    s.lines.at(-1),
    'error A predicate failed for Pod "default/late", so the event passes: mine (and 995 more like it)',
  )
})

test('an event whose map function throws is parked and retried with back-off; later events continue', async () => {
  let failures = 3
  const map: KeyMapper = (
    { metadata },
  ) => (metadata.name === 'bad' && failures-- > 0 ? assert.fail('mine') : [{ name: metadata.name }])
  const s = sourcing({ pods: [pod('a', '1'), pod('bad', '2'), pod('c', '3')], map })
  await s.start()
  assert.deepEqual([s.keys(), s.state.isSynced, s.source.idle], [['a', 'c'], true, true])
  assert.deepEqual(s.source.missing, ['the keys of Pod "default/bad" (mine)'])
  await s.clock.advance(100 + 200 + 399)
  assert.deepEqual(s.keys(), [])
  await s.clock.advance(1)
  await settle(s.clock)
  assert.deepEqual([s.added, s.source.missing], [[{ key: 'bad', priority: -100 }], []])
  assert.deepEqual(s.lines.filter((line) => line.startsWith('error')), [
    'error Cannot map Pod "default/bad" to keys: mine (retry 1 in 100 ms)',
    'error Cannot map Pod "default/bad" to keys: mine (retry 2 in 200 ms)',
  ])
  s.stop()
  s.end()
  await settle(s.clock)
  assert.deepEqual([s.listeners(), s.clock.pending], [0, 0])
})

test('later events of an object whose map function fails wait: its newest state is mapped, and former owners are queued', async () => {
  let isBroken = true
  const asked: string[] = []
  const map: KeyMapper = (
    { metadata },
  ) => (asked.push(metadata.resourceVersion),
    isBroken ? assert.fail('mine') : [{ name: metadata.labels?.['owner'] ?? 'none' }])
  using s = sourcing({ pods: [pod('a', '1', { labels: { owner: 'x' } })], map })
  await s.start()
  for (const [version, owner] of [['6', 'y'], ['7', 'z']] as const) {
    s.stream.send('MODIFIED', pod('a', version, { labels: { owner } }))
  }
  await settle(s.clock)
  assert.deepEqual(asked, ['1'], 'an event behind the failed one was mapped before its turn')
  isBroken = false
  await s.clock.advance(100)
  await settle(s.clock)
  assert.deepEqual([s.added, asked], [
    [{ key: 'z', priority: 0 }, { key: 'y', priority: 0 }, { key: 'x', priority: 0 }],
    ['1', '7', '6', '1'],
  ])
})

test('an object that was mapped after failures starts with the first back-off when it fails again', async () => {
  let failures = 2
  using s = sourcing({
    map: ({ metadata }) => (failures-- > 0 ? assert.fail('mine') : [{ name: metadata.resourceVersion }]),
  })
  await s.start()
  s.stream.send('ADDED', pod('a', '6'))
  await s.clock.advance(300)
  await settle(s.clock)
  assert.deepEqual(s.keys(), ['6'])
  failures = 2 // of the new and the old state
  s.stream.send('MODIFIED', pod('a', '7'))
  await s.clock.advance(100)
  await settle(s.clock)
  assert.deepEqual(s.keys(), ['7', '6'])
})

test('an event that arrives during a retry of its object is mapped too', async () => {
  const answers = [
    Promise.reject(new Error('mine')),
    Promise.withResolvers<{ name: string }[]>(),
    Promise.resolve([{ name: 'newest' }]),
  ] as const
  answers[0].catch(() => {})
  let at = 0
  const map: KeyMapper = () => at === 0 ? (at++, answers[0]) : at === 1 ? (at++, answers[1].promise) : answers[2]
  using s = sourcing({ pods: [pod('a', '1')], map })
  await s.start()
  await s.clock.advance(100)
  await settle(s.clock)
  s.stream.send('MODIFIED', pod('a', '6'))
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.source.idle], [[], false])
  answers[1].resolve([{ name: 'first' }])
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.source.idle, s.source.missing], [['first', 'newest'], true, []])
})

test('an event whose map function does not settle within a minute is parked, its signal is aborted, and other events continue', async () => {
  const signals: AbortSignal[] = []
  const map: KeyMapper = ({ metadata }, call) => {
    if (metadata.name !== 'hangs') return [{ name: metadata.name }]
    signals.push(call.signal)
    return new Promise(() => {})
  }
  const s = sourcing({ pods: [pod('hangs', '1'), pod('b', '2')], map })
  await s.start()
  await s.clock.advance(59_999)
  assert.deepEqual([s.keys(), s.state.isSynced], [[], false])
  await s.clock.advance(1)
  await settle(s.clock)
  assert.deepEqual([s.keys(), s.state.isSynced, signals[0]!.aborted], [['b'], true, true])
  assert.deepEqual(s.source.missing, ['the keys of Pod "default/hangs" (The map function did not answer within 1 m)'])
  s.stop()
  s.end()
  await settle(s.clock)
  assert.deepEqual([s.isOver(), s.clock.pending, s.listeners()], [true, 0, 0])
})

test('first lists and updates without a change have low priority, all other events priority 0', async () => {
  const { informer, send } = scriptedInformer()
  const { sink, added } = keptSink()
  const stop = new AbortController()
  const run = new KindSource({ informers: [informer], clock: new FakeClock() }).start(sink, stop.signal)
  const [object, old] = [pod('a', '2'), pod('a', '1')]
  for (const initial of [true, false]) send({ kind: 'added', object, initial })
  for (const before of [object, old]) send({ kind: 'updated', object, old: before })
  for (const stale of [true, false]) send({ kind: 'deleted', object, stale })
  assert.deepEqual(added.map(({ priority }) => priority), [-100, 0, -100, 0, 0, 0])
  stop.abort()
  await run
})

test('the controller’s predicate is called before the source’s, and events that either drops are not mapped', async () => {
  const asked: string[] = []
  const passes: Sink['passes'] = (delta) => (asked.push(`controller ${delta.kind}`), delta.kind !== 'updated')
  using s = sourcing({
    pods: [pod('a', '1')],
    passes: (delta) => passes(delta) || delta.object.metadata.resourceVersion === '7',
    when: (
      _,
      before,
      change,
    ) => (asked.push(`source ${change.kind}${before?.metadata.resourceVersion ?? ''}`), change.kind === 'added'),
  })
  await s.start()
  s.stream.send('MODIFIED', pod('a', '6'))
  s.stream.send('MODIFIED', pod('a', '7'))
  s.stream.send('DELETED', pod('a', '8'))
  await settle(s.clock)
  assert.deepEqual([s.keys(), asked], [['default/a'], [
    'controller added',
    'source added',
    'controller updated',
    'controller updated',
    'source updated6',
    'controller deleted',
    'source deleted',
  ]])
})

test('a generator that fails half way, a key without a name, and no list of keys are failures too: nothing is lost', async () => {
  const wrong: KeyMapper[] = [
    function* () {
      yield { name: 'half' }
      throw new Error('mine')
    },
    () => [{ name: '' }],
    (() => undefined) as unknown as KeyMapper,
    (() => ({ name: 'alone' })) as unknown as KeyMapper,
    () => Promise.reject(new Error('mine')),
  ]
  for (const fails of wrong) {
    let tries = 0
    using s = sourcing({
      pods: [pod('a', '1')],
      map: (object, call, event) => (tries++ === 0 ? fails(object, call, event) : [{ name: 'right' }]),
    })
    await s.start()
    assert.deepEqual(s.keys(), [], String(fails))
    await s.clock.advance(100)
    await settle(s.clock)
    assert.deepEqual(s.keys(), ['right'], String(fails))
  }
})

test('an abort stops it at once, also if a map function never settles or waits for a retry, and nothing is left', async () => {
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

test('an event in the same turn as the abort, after it, is ignored', async () => {
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

test('the sync resolves if its informer is stopped', async () => {
  const s = sourcing({ inputs: (clock) => [fed(clock, undefined)] })
  await s.start()
  assert.equal(s.state.isSynced, false)
  s.informer.stop()
  await settle(s.clock)
  assert.deepEqual([s.state.isSynced, s.isOver()], [true, true])
  s.end()
})

test('without a map function it queues the objects’ own keys, with the causes of the controller’s own kind', async () => {
  const { informer, send } = scriptedInformer()
  const causes: (string | undefined)[] = []
  const tellAll = async (options: Partial<KindSourceOptions>): Promise<void> => {
    const stop = new AbortController()
    const source = new KindSource({ informers: [informer], ...options })
    const running = source.start(
      { add: (_key, added) => void causes.push(added?.cause?.()), passes: () => true },
      stop.signal,
    )
    send({ kind: 'added', object: pod('a', '1'), initial: false })
    stop.abort()
    await running
  }
  await tellAll({})
  await tellAll({ map: ({ metadata }) => [{ name: metadata.name }] })
  await tellAll({ own: false })
  await tellAll({ map: ({ metadata }) => [{ name: metadata.name }], own: true })
  assert.deepEqual(causes, ['added', 'Pod default/a: added', 'Pod default/a: added', 'added'])
})

test('it is synced when its own handler has got all objects, even if the informer was synced before', async () => {
  const clock = new SlowClock(0)
  const { informer } = fed(clock as unknown as FakeClock, Array.from({ length: 6 }, (_, i) => pod(`p${i}`, '1')))
  const caching = new AbortController()
  void informer.start(caching.signal)
  await clock.fake.advance(0)
  assert.equal(informer.isSynced, true)
  clock.lookMs = 10
  const kept = keptSink()
  const source = new KindSource({ informers: [informer], map: ownKey, own: true, clock, log: keptLog().log })
  const running = source.start(kept.sink, caching.signal)
  let keysAtSync: number | undefined
  void source.synced(caching.signal).then(() => (keysAtSync = kept.added.length))
  assert.ok(kept.added.length < 6)
  for (let turn = 0; turn < 30; turn++) await clock.fake.advance(0)
  assert.equal(keysAtSync, 6)
  caching.abort()
  await running
})

test('a controller that starts without an optional first list waits for the keys of a complete one', async () => {
  for (const [optional, isListed, waits] of [[true, true, true], [true, false, false], [false, false, true]] as const) {
    const handled = new Latch()
    const stub = {
      resource: FOO,
      isSynced: isListed,
      ended: new Promise(() => {}),
      addHandler: () => ({ isSynced: false, synced: () => handled.opened, remove() {} }),
    } as unknown as Informer
    const source = new KindSource({ informers: [stub], optional, clock: new FakeClock() })
    const stop = new AbortController()
    const running = source.start(keptSink().sink, stop.signal)
    let isSynced = false
    const synced = source.synced(stop.signal).then(() => void (isSynced = true))
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    assert.equal(isSynced, !waits)
    handled.open()
    await synced
    stop.abort()
    await running
  }
})
