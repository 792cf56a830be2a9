import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkError } from '../../lib/core/errors.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { Api } from '../../lib/client/api.ts'
import { Informer, type InformerOptions } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import { failing, keptLog, list, POD, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

const never = new AbortController().signal

function informing(server: ScriptedServer, more: Partial<InformerOptions> = {}) {
  const clock = new FakeClock()
  const { lines, log } = keptLog()
  const informer = new Informer({
    api: new Api({ transport: server.transport }),
    resource: POD,
    clock,
    log,
    random: () => 0,
    ...more,
  })
  const signal = countedSignal()
  return {
    clock,
    lines,
    informer,
    signal: signal.controller.signal,
    listeners: signal.listeners,
    stop: (): void => signal.controller.abort(new Error('the test is over')),
    start: async (): Promise<void> => {
      const ended = informer.start(signal.controller.signal)
      ended.catch(() => {})
      await clock.advance(0)
    },
  }
}

const told = (heard: string[]) => (delta: Delta): void =>
  void heard.push(
    `${delta.kind} ${delta.object.metadata.name}${delta.kind === 'added' && delta.initial ? ' initial' : ''}`,
  )

test('the store is written before a handler is told, all of a list before the first', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  const seen: string[] = []
  i.informer.addHandler(({ kind, object: { metadata } }) =>
    seen.push(
      `${kind} ${metadata.name}: ${[...i.informer.store.values()].map((each) => each.metadata.resourceVersion)}`,
    )
  )
  await i.start()
  stream.send('MODIFIED', pod('b', '6'))
  stream.send('DELETED', pod('a', '7'))
  await i.clock.advance(0)
  assert.deepEqual(seen, ['added a: 1,2', 'added b: 1,2', 'updated b: 1,6', 'deleted a: 6'])
  i.stop()
})

test('items of a list have apiVersion and kind, as those of a watch', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1')]))
  const i = informing(server)
  await i.start()
  const { apiVersion, kind } = i.informer.store.get('default/a')!
  assert.deepEqual([apiVersion, kind], ['v1', 'Pod'])
  i.stop()
})

test('only what the first list brings is initial; a second list tells of the difference', async () => {
  const server = new ScriptedServer()
  server.lists.push(
    list('5', [pod('a', '1'), pod('b', '2'), pod('c', '3', { uid: 'old' })]),
    list('9', [pod('b', '2'), pod('c', '8', { uid: 'new' }), pod('d', '7')]),
  )
  server.watches.push(refusal(410, 'Expired'))
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  await i.start()
  await i.clock.advance(800)
  assert.deepEqual(heard, [
    'added a initial',
    'added b initial',
    'added c initial',
    'deleted a',
    'deleted c',
    'added c',
    'added d',
  ])
  i.stop()
})

test('a late handler is told of everything in the store, as initial, and of changes once', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  await i.start()
  stream.send('ADDED', pod('b', '6'))
  await i.clock.advance(0)
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  assert.deepEqual(heard, ['added a initial', 'added b initial'])
  stream.send('MODIFIED', pod('a', '7'))
  await i.clock.advance(0)
  assert.deepEqual(heard.splice(2), ['updated a'])
  i.stop()
})

test('a handler that is added by another one, in the middle of a list, hears of each object once', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2'), pod('c', '3')]))
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler(({ object }) => void (object.metadata.name === 'b' && i.informer.addHandler(told(heard))))
  await i.start()
  assert.deepEqual(heard, ['added a initial', 'added b initial', 'added c initial'])
  i.stop()
})

test('a handler that is removed in the middle hears nothing more, and removing twice does no harm', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler(() => registration.remove())
  const registration = i.informer.addHandler(told(heard))
  await i.start()
  registration.remove()
  assert.deepEqual(heard, [])
  i.stop()
})

test('a handler that throws, or rejects, is logged and disturbs neither the others nor itself later', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  const heard: string[] = []
  let calls = 0
  i.informer.addHandler(() => {
    calls++
    throw new Error('mine')
  })
  // TypeScript takes an async function for a handler, and its rejection would end the process.
  i.informer.addHandler(async () => Promise.reject(new Error('mine, later')))
  i.informer.addHandler(told(heard))
  await i.start()
  stream.send('ADDED', pod('b', '6'))
  await i.clock.advance(0)
  assert.deepEqual([calls, heard, i.informer.isSynced], [2, ['added a initial', 'added b'], true])
  assert.equal(i.lines.filter((line) => /^error A handler of pods threw.*: mine$/.test(line)).length, 2)
  assert.equal(i.lines.filter((line) => line.endsWith('mine, later')).length, 2)
  assert.deepEqual(server.took(), ['list', 'watch 5'])
  i.stop()
})

test('synced settles with the first list, when every handler was told', async () => {
  const server = new ScriptedServer()
  server.lists.push(refusal(503, 'ServiceUnavailable'), list('5', [pod('a', '1')]))
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  const synced = i.informer.synced(i.signal).then(() => heard.push('synced'))
  await i.start()
  assert.deepEqual([i.informer.isSynced, heard], [false, []])
  await i.clock.advance(800)
  await synced
  assert.deepEqual(heard, ['added a initial', 'synced'])
  i.stop()
})

test('who waits for a sync that is aborted gets the reason; for an informer that is stopped, what happened', async () => {
  const i = informing(new ScriptedServer())
  const controller = new AbortController()
  const waiting = i.informer.synced(controller.signal)
  const other = i.informer.synced(never)
  controller.abort(new Error('mine'))
  await assert.rejects(waiting, /mine/)
  // Stopped without having been started, too.
  i.informer.stop()
  await assert.rejects(other, /Cannot sync pods: its informer was stopped before the first list was in/)
  await i.informer.ended
  assert.throws(() => i.informer.addHandler(() => {}), /Cannot add a handler to the informer of pods: it was stopped/)
})

test('a stopped informer tells nobody, leaves nothing, and cannot begin again', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  const ended = i.informer.start(i.signal)
  await i.clock.advance(0)
  stream.send('ADDED', pod('b', '6'))
  i.informer.stop()
  await ended
  assert.deepEqual([heard, i.clock.pending, i.listeners(), stream.cancelled], [['added a initial'], 0, 0, true])
  await assert.rejects(i.informer.start(i.signal), /it was started already/)
})

test('an informer that a handler stops in the middle of a list tells nobody the rest', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
  const i = informing(server)
  const heard: string[] = []
  i.informer.addHandler((delta) => {
    told(heard)(delta)
    i.informer.stop()
  })
  i.informer.addHandler(told(heard))
  await i.start()
  assert.deepEqual([heard, i.clock.pending], [['added a initial'], 0])
})

test('managedFields go, what strip takes goes, and what is frozen throws when changed', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  const big = (version: string): object => ({ ...pod('a', version, { labels: { x: 'y' }, spec: { big: [1] } }) })
  server.lists.push(list('5', [big('1') as never]))
  server.watches.push(stream.answer)
  const i = informing(server, { freeze: true, strip: (object) => void delete (object as { spec?: unknown }).spec })
  await i.start()
  const object = pod('b', '6', { spec: {} })
  stream.send('ADDED', { ...object, metadata: { ...object.metadata, managedFields: [{}] } })
  await i.clock.advance(0)
  for (const name of ['a', 'b']) {
    const kept = i.informer.store.get(`default/${name}`)!
    assert.deepEqual(['managedFields' in kept.metadata, 'spec' in kept, Object.isFrozen(kept.metadata)], [
      false,
      false,
      true,
    ])
    assert.throws(() => ((kept.metadata as { name: string }).name = 'x'), TypeError)
  }
  i.stop()
})

test('a strip function that throws keeps the store as it was, and is named', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1'), pod('bad', '2')]), list('6', [pod('a', '1')]))
  const i = informing(server, { strip: ({ metadata }) => void (metadata.name === 'bad' && assert.fail('mine')) })
  await i.start()
  assert.deepEqual([i.informer.store.size, i.informer.isSynced], [0, false])
  assert.match(
    i.lines.at(-1) ?? '',
    /^warn Cannot keep Pod "default\/bad": its strip function threw: mine; next try in 800 ms$/,
  )
  await i.clock.advance(800)
  assert.equal(i.informer.store.size, 1)
  i.stop()
})

test('a failure is there as long as it lasts: until a list, an event, or a watch that is accepted', async () => {
  const server = new ScriptedServer()
  server.lists.push(refusal(403, 'Forbidden'), list('5'))
  const cut = new NetworkError('cut', { phase: 'connect' })
  server.watches.push(failing(cut), new Stream().answer)
  const i = informing(server)
  await i.start()
  assert.match(String(i.informer.failure), /scripted Forbidden/)
  await i.clock.advance(800)
  assert.equal(i.informer.failure, cut)
  await i.clock.advance(1600)
  assert.equal(i.informer.failure, undefined)
  i.stop()
})

test('each handler has its own sync: with the list for an early one, at once for a late one, never for one that was removed', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1')]))
  const i = informing(server)
  const heard: string[] = []
  const early = i.informer.addHandler(told(heard))
  const removed = i.informer.addHandler(told([]))
  const waiting = removed.synced(i.signal)
  void early.synced(i.signal).then(() => heard.push('synced'))
  assert.deepEqual([early.isSynced, removed.isSynced], [false, false])
  removed.remove()
  await assert.rejects(waiting, /Cannot sync a handler of pods: it was removed/)
  await i.start()
  assert.deepEqual([heard, early.isSynced, removed.isSynced], [['added a initial', 'synced'], true, false])
  const late = i.informer.addHandler(told(heard))
  assert.equal(late.isSynced, true)
  await late.synced(i.signal)
  const unsynced = informing(new ScriptedServer())
  const stopped = unsynced.informer.addHandler(told([])).synced(unsynced.signal)
  unsynced.informer.stop()
  await assert.rejects(stopped, /Cannot sync pods: its informer was stopped/)
  i.stop()
})

test('a resync tells the handler that asked for it, and no other, of every object as an update of itself, without the server', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  const [often, rarely, never] = [[], [], []] as [string[], string[], string[]]
  i.informer.addHandler(told(often), { resyncMs: 10_000 })
  const registration = i.informer.addHandler(
    (delta) => void (delta.kind === 'updated' && delta.old === delta.object && rarely.push(delta.object.metadata.name)),
    { resyncMs: 20_000 },
  )
  i.informer.addHandler(told(never))
  await i.start()
  server.took()
  await i.clock.advance(8999)
  assert.deepEqual(often.splice(0), ['added a initial', 'added b initial'])
  await i.clock.advance(1)
  assert.deepEqual(often.splice(0), ['updated a', 'updated b'])
  stream.send('DELETED', pod('a', '6'))
  await i.clock.advance(9000)
  assert.deepEqual([often.splice(0), rarely, never.splice(0)], [['deleted a', 'updated b'], ['b'], [
    'added a initial',
    'added b initial',
    'deleted a',
  ]])
  registration.remove()
  await i.clock.advance(100_000)
  assert.deepEqual([rarely, server.took(), i.clock.pending], [['b'], [], 2])
  i.stop()
  await i.clock.advance(0)
  assert.equal(i.clock.pending, 0)
  assert.throws(
    () => informing(server).informer.addHandler(() => {}, { resyncMs: 999 }),
    /Cannot resync a handler of pods every 999 ms: the shortest period is 1 s/,
  )
})

test('a handler that is removed in the middle of a resync hears no more, and what it deletes meanwhile is not replayed', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
  const i = informing(server)
  const heard: string[] = []
  const registration = i.informer.addHandler(({ kind, object }) => {
    if (kind !== 'updated') return
    heard.push(object.metadata.name)
    registration.remove()
  }, { resyncMs: 1000 })
  await i.start()
  await i.clock.advance(5000)
  assert.deepEqual(heard, ['a'])
  i.stop()
})

test('of a kind whose metadata alone is wanted, that is asked for and kept, whatever the server sends; it keeps its own name', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  const partial = ({ metadata }: { metadata: object }): object => ({
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadata',
    metadata,
  })
  server.lists.push(list('5', [pod('a', '1', { spec: { big: [1] } })]))
  server.watches.push(stream.answer)
  const i = informing(server, { resource: metadataOf(POD) })
  await i.start()
  stream.send('ADDED', partial(pod('b', '6')))
  stream.send('ADDED', pod('c', '7', { spec: {} }))
  await i.clock.advance(0)
  for (const name of ['a', 'b', 'c']) {
    const { apiVersion, kind, ...rest } = i.informer.store.get(`default/${name}`)!
    assert.deepEqual([apiVersion, kind, Object.keys(rest)], ['v1', 'Pod', ['metadata']])
  }
  const accepts = server.requests.map(({ headers }) => headers?.['accept'])
  assert.deepEqual(
    accepts,
    ['List', ''].map((as) => `application/json;as=PartialObjectMetadata${as};g=meta.k8s.io;v=v1,application/json`),
  )
  i.stop()
})

test('the last version that was seen is known, of lists, events and bookmarks, before anybody is told', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1')]))
  server.watches.push(stream.answer)
  const i = informing(server, {
    strip: ({ metadata }) => void delete (metadata as { resourceVersion?: string }).resourceVersion,
  })
  const seen: (string | undefined)[] = [i.informer.lastSeen]
  i.informer.addHandler(() => seen.push(i.informer.lastSeen))
  await i.start()
  stream.send('ADDED', pod('b', '6'))
  stream.bookmark('60')
  await i.clock.advance(0)
  assert.deepEqual([seen, i.informer.lastSeen], [[undefined, '5', '6'], '60'])
  i.stop()
})

/** An informer on whose clock each object takes a turn of the event loop, or two of them do. */
function slow(server: ScriptedServer, more: Partial<InformerOptions> = {}) {
  const clock = new SlowClock(0)
  const i = informing(server, { clock, ...more })
  return {
    ...i,
    clock,
    /** From now on it takes so long. */
    slowDown: () => void (clock.lookMs = 10),
    start: async (): Promise<void> => {
      void i.informer.start(i.signal).catch(() => {})
      await i.clock.advance(0)
    },
    turns: async (count = 60): Promise<void> => {
      for (let turn = 0; turn < count; turn++) await nextTurn()
    },
  }
}

const many = Array.from({ length: 6 }, (_, i) => pod(`p${i}`, `${i + 1}`))

test('initial adds that take long go on in later turns, in order; changes that come meanwhile are told after them, and then it is synced', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('9', many))
  server.watches.push(stream.answer)
  const i = slow(server)
  await i.start()
  i.slowDown()
  const heard: string[] = []
  const registration = i.informer.addHandler(told(heard))
  void registration.synced(never).then(() => heard.push('synced'))
  assert.ok(heard.length < 3, `${heard.length} in one turn`)
  assert.deepEqual([registration.isSynced, i.informer.isSynced], [false, true])
  stream.send('MODIFIED', pod('p0', '10'))
  stream.send('DELETED', pod('p5', '11', { uid: 'uid-p5' }))
  stream.send('ADDED', pod('new', '12'))
  await i.turns(4)
  assert.ok(heard.length > 1 && heard.length < 6, `${heard.length} in some turns`)
  await i.turns()
  const initial = many.map(({ metadata }) => `added ${metadata.name} initial`)
  assert.deepEqual(heard, [...initial, 'synced', 'updated p0', 'deleted p5', 'added new'])
  assert.equal(registration.isSynced, true)
  // It keeps up again: it is told at once.
  stream.send('MODIFIED', pod('new', '13'))
  i.clock.lookMs = 0
  await i.turns(3)
  assert.equal(heard.at(-1), 'updated new')
  i.stop()
})

test('an informer is synced when every handler was told of its first list, however long that takes; its objects can be read before', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('9', many))
  const i = slow(server)
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  let heardAtSync: number | undefined
  void i.informer.synced(never).then(() => (heardAtSync = heard.length))
  i.slowDown()
  await i.start()
  for (let turn = 0; turn < 60 && !i.informer.isSynced; turn++) await nextTurn()
  assert.ok(i.informer.isSynced && heard.length < 6, `${heard.length} before it can be read`)
  assert.equal(i.informer.store.size, 6)
  await i.turns()
  assert.equal(heardAtSync, 6)
  i.stop()
})

test('resyncs of a handler that does not keep up do not pile up', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('9', many))
  const i = slow(server)
  await i.start()
  const heard: string[] = []
  i.informer.addHandler(told(heard), { resyncMs: 1000 })
  i.slowDown()
  await i.clock.fake.advance(20_000)
  i.clock.lookMs = 0
  const before = heard.length
  await i.turns()
  assert.ok(before > 10, `${before} in time`)
  assert.ok(heard.length - before <= 6, `${heard.length - before} were left`)
  i.stop()
})

test('of two handlers in the middle of their initial adds the one that is removed hears nothing more, the other all; a late one of the store as it is', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('9', many))
  server.watches.push(stream.answer)
  const i = slow(server)
  await i.start()
  i.slowDown()
  const [one, two, three] = [[], [], []] as [string[], string[], string[]]
  const removed = i.informer.addHandler(told(one))
  i.informer.addHandler(told(two))
  const waiting = removed.synced(never)
  waiting.catch(() => {})
  await i.turns(3)
  removed.remove()
  const before = one.length
  stream.send('DELETED', pod('p3', '10'))
  await i.turns(10)
  i.informer.addHandler(told(three))
  await i.turns()
  await assert.rejects(waiting, /Cannot sync a handler of pods: it was removed/)
  assert.ok(before < 6)
  assert.equal(one.length, before)
  assert.deepEqual([two.length, two.at(-1), three.length], [7, 'deleted p3', 5])
  i.stop()
})

test('a stop in the middle of initial adds ends them, and who waits for their sync is told', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('9', many))
  const i = slow(server)
  await i.start()
  i.slowDown()
  const heard: string[] = []
  const registration = i.informer.addHandler(told(heard))
  const synced = registration.synced(never)
  i.informer.stop()
  await assert.rejects(synced, /Cannot sync pods: its informer was stopped before the first list was in/)
  const before = heard.length
  await i.turns()
  assert.equal(heard.length, before)
})

test('a relist while initial adds are told comes after them, as the difference', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('9', many), list('20', [...many.slice(0, 4), pod('p4', '15'), pod('p9', '16')]))
  const stream = new Stream()
  server.watches.push(stream.answer)
  const i = slow(server)
  await i.start()
  i.slowDown()
  const heard: string[] = []
  i.informer.addHandler(told(heard))
  stream.error(410, 'Expired')
  await i.turns(2)
  await i.clock.fake.advance(2000)
  await i.turns()
  await i.turns()
  assert.deepEqual(heard, [
    ...many.map(({ metadata }) => `added ${metadata.name} initial`),
    'deleted p5',
    'updated p4',
    'added p9',
  ])
  i.stop()
})

test('a list that takes long is in the store at once, and a stop before that leaves it out', async () => {
  const server = new ScriptedServer()
  const more = Array.from({ length: 400 }, (_, at) => pod(`q${at}`, `${at + 10}`))
  server.lists.push(
    list('9', many),
    list('500', more),
    list('900', Array.from({ length: 400 }, (_, at) => pod(`r${at}`, `${at + 500}`))),
  )
  const [first, second] = [new Stream(), new Stream()]
  server.watches.push(first.answer, second.answer)
  let kept = 0
  const i = slow(server, { strip: () => void kept++ })
  await i.start()
  i.slowDown()
  const sizes = new Set<number>()
  first.error(410, 'Expired')
  await i.turns(2)
  await i.clock.fake.advance(2000)
  for (let turn = 0; turn < 1000; turn++) {
    sizes.add(i.informer.store.size)
    await nextTurn()
  }
  assert.deepEqual([...sizes], [6, 400])
  kept = 0
  second.error(410, 'Expired')
  await i.turns(2)
  await i.clock.fake.advance(2000)
  for (let turn = 0; turn < 1000 && kept < 400; turn++) await nextTurn()
  // What came is compared now with what there was.
  await i.turns(3)
  assert.ok(i.informer.store.get('default/q0'))
  i.stop()
  await i.turns()
  assert.equal(i.informer.store.get('default/r0'), undefined)
})

test('an index of many objects is built in turns, once for all who wait, and kept up to date meanwhile', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('9', many))
  server.watches.push(stream.answer)
  const i = slow(server)
  await i.start()
  i.slowDown()
  const asked: string[] = []
  const byName = defineIndex(POD as never, ({ metadata }: KubeObject) => {
    asked.push(metadata.name)
    return metadata.name
  })
  const building = i.informer.index(byName)
  assert.ok(building)
  assert.equal(i.informer.index(byName), building)
  assert.ok(asked.length < 3, `${asked.length} in one turn`)
  stream.send('ADDED', pod('new', '10'))
  stream.send('DELETED', pod('p0', '11'))
  await i.turns()
  await building
  assert.equal(i.informer.index(byName), undefined)
  assert.deepEqual(['p0', 'p5', 'new'].map((name) => i.informer.store.lookup(byName, name).length), [0, 1, 1])
  assert.equal(asked.filter((name) => name === 'p5').length, 1)
  i.stop()
})

test('a handler that is told of a change reads it, and not an own write that is older', async () => {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(list('5', [pod('a', '1')]), list('9', [pod('a', '8'), pod('c', '9')]))
  server.watches.push(stream.answer)
  const i = informing(server)
  await i.start()
  const write = (version: string): void => {
    const own = i.informer.beginWrite({ resource: POD, namespace: 'default', name: 'a' })!
    own.answered(pod('a', version))
    own.end()
  }
  const read = (): string | undefined => i.informer.reader.get('default/a')?.metadata.resourceVersion
  const seen: string[] = []
  i.informer.addHandler(({ object: { metadata } }) =>
    seen.push(`${metadata.name} ${metadata.resourceVersion}: ${read()}`)
  )
  write('6')
  assert.equal(read(), '6')
  seen.length = 0
  stream.send('MODIFIED', pod('a', '7'))
  await i.clock.advance(0)
  assert.deepEqual(seen.splice(0), ['a 7: 7'])
  // Of another object: that the watch is past our write is what counts.
  const other = i.informer.beginWrite({ resource: POD, namespace: 'default', name: 'gone' })!
  other.answered(pod('gone', '8', { uid: 'gone' }))
  other.end()
  assert.equal(i.informer.reader.get('default/gone')?.metadata.name, 'gone')
  i.informer.addHandler(({ object: { metadata } }) =>
    seen.push(`${metadata.name}: ${i.informer.reader.get('default/gone')?.metadata.name}`)
  )
  seen.length = 0
  stream.error(410, 'Expired')
  await i.clock.advance(800)
  assert.deepEqual(seen.filter((line) => !/^\S+ \d/.test(line)), ['a: undefined', 'c: undefined'])
  i.stop()
})

test('what Deno does not permit ends it, and who waits for it hears why', async () => {
  const server = new ScriptedServer()
  const cause = new NetworkError('Cannot connect to 127.0.0.1:1: Deno needs --allow-net=127.0.0.1:1', {
    phase: 'connect',
    code: 'NotCapable',
  })
  for (const stage of ['lists', 'watches'] as const) {
    if (stage === 'watches') server.lists.push(list('5', [pod('a', '1')]))
    server[stage].push(failing(cause))
    const i = informing(server)
    const run = i.informer.start(i.signal)
    const synced = i.informer.synced(never)
    const expected = {
      message: 'Cannot watch pods: cannot connect to 127.0.0.1:1: Deno needs --allow-net=127.0.0.1:1',
      cause,
    }
    await Promise.all([assert.rejects(run, expected), stage === 'lists' ? assert.rejects(synced, expected) : synced])
    await i.informer.ended
    assert.equal(i.clock.pending, 0)
  }
})

test('a watch that was refused for long, while its server was down, is soon open once that is up and reads its storage', async () => {
  const server = new ScriptedServer()
  const down = new NetworkError('refused', { phase: 'connect' })
  server.lists.push(list('5', [pod('a', '1')]))
  server.watches.push(
    failing(down),
    failing(down),
    failing(down),
    failing(down),
    refusal(503, 'storage is (re)initializing'),
  )
  const i = informing(server)
  await i.start()
  await i.clock.advance(800 + 1600 + 3200 + 6400)
  assert.equal(server.took().length, 6)
  await i.clock.advance(799)
  assert.deepEqual(server.took(), [])
  await i.clock.advance(1)
  assert.deepEqual(server.took(), ['watch 5'])
  i.stop()
})
