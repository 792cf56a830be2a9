import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkError } from '../../lib/core/errors.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { Api } from '../../lib/client/api.ts'
import { Informer, type InformerOptions } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { isPartial } from '../../lib/core/partial.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import { type Answer, failing, keptLog, list, POD, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

const never = new AbortController().signal

/** An informer of pods whose lists and watches are answered in order; the first watch is `stream` by default. */
function informing(
  lists: readonly Answer[],
  more: Partial<InformerOptions> = {},
  watches?: readonly Answer[],
  cluster?: string,
) {
  const [server, clock, stream] = [new ScriptedServer(), new FakeClock(), new Stream()]
  server.lists.push(...lists)
  server.watches.push(...watches ?? [stream.answer])
  const { lines, log } = keptLog()
  const api = new Api({ transport: server.transport, cluster })
  const informer = new Informer({ api, resource: POD, clock, log, random: () => 0, ...more })
  const { controller, listeners } = countedSignal()
  const stop = (): void => controller.abort(new Error('the test is over'))
  return {
    ...{ server, stream, clock, lines, informer, listeners, stop },
    signal: controller.signal,
    [Symbol.dispose]: stop,
    start: async (): Promise<void> => {
      const ended = informer.start(controller.signal)
      ended.catch(() => {})
      await clock.advance(0)
    },
  }
}

const recorder = (received: string[]) => (delta: Delta): void =>
  void received.push(
    `${delta.kind} ${delta.object.metadata.name}${delta.kind === 'added' && delta.initial ? ' initial' : ''}`,
  )

test('the store is written before handlers are called, with a whole list before the first call', async () => {
  using i = informing([list('5', [pod('a', '1'), pod('b', '2')])])
  const seen: string[] = []
  i.informer.addHandler(({ kind, object: { metadata } }) =>
    seen.push(
      `${kind} ${metadata.name}: ${[...i.informer.store.values()].map((each) => each.metadata.resourceVersion)}`,
    )
  )
  await i.start()
  i.stream.send('MODIFIED', pod('b', '6'))
  i.stream.send('DELETED', pod('a', '7'))
  await i.clock.advance(0)
  assert.deepEqual(seen, ['added a: 1,2', 'added b: 1,2', 'updated b: 1,6', 'deleted a: 6'])
})

test('an error of a handler is logged, and affects neither the others nor its later calls', async () => {
  using i = informing([list('5', [pod('a', '1')])])
  const received: string[] = []
  let calls = 0
  i.informer.addHandler(() => {
    calls++
    throw new Error('mine')
  })
  // An async function is assignable to Handler, and its unhandled rejection would end the process.
  i.informer.addHandler(async () => Promise.reject(new Error('mine, later')))
  i.informer.addHandler(recorder(received))
  await i.start()
  i.stream.send('ADDED', pod('b', '6'))
  await i.clock.advance(0)
  assert.deepEqual([calls, received, i.informer.isSynced], [2, ['added a initial', 'added b'], true])
  assert.equal(i.lines.filter((line) => /^error A handler of pods threw.*: mine$/.test(line)).length, 2)
  assert.equal(i.lines.filter((line) => line.endsWith('mine, later')).length, 2)
  assert.deepEqual(i.server.recorded(), ['list', 'watch 5'])
})

test('synced rejects with the reason of an abort, or with an error if the informer is stopped', async () => {
  const i = informing([])
  const controller = new AbortController()
  const waiting = i.informer.synced(controller.signal)
  const other = i.informer.synced(never)
  controller.abort(new Error('mine'))
  await assert.rejects(waiting, /mine/)
  // Also if it was never started.
  i.informer.stop()
  await assert.rejects(other, /Cannot sync pods: its informer was stopped before the first list was in/)
  await i.informer.ended
  assert.throws(() => i.informer.addHandler(() => {}), /Cannot add a handler to the informer of pods: it was stopped/)
})

test('a stopped informer calls no handler, leaves nothing, and cannot be started again', async () => {
  using i = informing([list('5', [pod('a', '1')])])
  const received: string[] = []
  i.informer.addHandler(recorder(received))
  const ended = i.informer.start(i.signal)
  await i.clock.advance(0)
  i.stream.send('ADDED', pod('b', '6'))
  i.informer.stop()
  await ended
  assert.deepEqual([received, i.clock.pending, i.listeners(), i.stream.cancelled], [['added a initial'], 0, 0, true])
  assert.equal(i.informer.beginWrite({ resource: POD, namespace: 'default', name: 'a' }), undefined)
  await assert.rejects(i.informer.start(i.signal), /it was started already/)
})

test('managedFields and stripped parts are removed, and changing a frozen object throws', async () => {
  const big = (version: string): object => ({ ...pod('a', version, { labels: { x: 'y' }, spec: { big: [1] } }) })
  using i = informing([list('5', [big('1') as never])], {
    freeze: true,
    strip: (object) => void delete (object as { spec?: unknown }).spec,
  })
  await i.start()
  const object = pod('b', '6', { spec: {} })
  i.stream.send('ADDED', { ...object, metadata: { ...object.metadata, managedFields: [{}] } })
  await i.clock.advance(0)
  for (const name of ['a', 'b']) {
    const kept = i.informer.store.get(`default/${name}`)!
    assert.deepEqual(
      ['managedFields' in kept.metadata, 'spec' in kept, Object.isFrozen(kept.metadata)],
      [false, false, true],
    )
    assert.throws(() => ((kept.metadata as { name: string }).name = 'x'), TypeError)
  }
})

for (const kind of ['a', 'an async'] as const) {
  test(`${kind} strip function that throws costs only its object's stripping; logged at a limited rate`, async () => {
    const strip = (object: KubeObject): void => {
      delete (object.metadata as { labels?: unknown }).labels
      if (object.metadata.name === 'bad') assert.fail('mine')
    }
    using i = informing([list('5', [pod('a', '1'), pod('bad', '2', { spec: { x: 1 } })])], {
      freeze: true,
      strip: kind === 'a' ? strip : async (object) => strip(object),
    })
    await i.start()
    assert.deepEqual([i.informer.store.size, i.informer.isSynced], [2, true])
    for (let version = 6; version < 20; version++) {
      i.stream.send('MODIFIED', pod('bad', `${version}`, { spec: { x: 1 }, labels: { l: '' } }))
    }
    i.stream.send('MODIFIED', pod('a', '20'))
    await i.clock.advance(0)
    const bad = i.informer.store.get('default/bad')!
    assert.deepEqual((bad as { spec?: unknown }).spec, { x: 1 })
    // Its function may have removed something before it threw.
    assert.deepEqual([isPartial(bad), bad.metadata.labels, bad.metadata.resourceVersion], [true, { l: '' }, '19'])
    assert.equal(i.informer.store.get('default/a')!.metadata.resourceVersion, '20')
    const line = 'error The function of strip threw for Pod "default/bad", so it is kept as the function left it: mine'
    assert.deepEqual(i.lines.filter((each) => each.startsWith('error')), Array<string>(5).fill(line))
  })
}

test('an object for which the function of an index throws is logged, and lookups go on without it', async () => {
  using i = informing([list('5', [pod('a', '1'), pod('bad', '2')])], {}, [new Stream().answer], 'east')
  await i.start()
  const index = defineIndex<KubeObject>(POD, ({ metadata }) => metadata.name === 'bad' ? assert.fail('mine') : 'x')
  await i.informer.index(index)
  assert.deepEqual(i.informer.reader.lookup(index, 'x').map(({ metadata }) => metadata.name), ['a'])
  const write = i.informer.beginWrite({ resource: POD, namespace: 'default', name: 'bad' })!
  write.answered(pod('bad', '7'))
  write.end()
  assert.deepEqual(i.informer.reader.lookup(index, 'x').map(({ metadata }) => metadata.name), ['a'])
  // A field that is null, or of a wrong type, must not end the watch.
  for (const [value, failures] of [[null, 0], [{}, 2]] as const) {
    const known = i.lines.length
    assert.deepEqual(i.informer.store.lookup(defineIndex<KubeObject>(POD, () => value as never), 'x'), [])
    const lines = i.lines.splice(known).filter((line) =>
      line.startsWith('error The function of an index threw for Pod ')
    )
    assert.equal(lines.length, failures)
  }
  assert.deepEqual(i.lines.filter((each) => each.startsWith('error')), [
    'error The function of an index threw for Pod "default/bad" in cluster "east", so lookups leave it out: mine',
  ])
})

test('failure is set until a list, an event or an accepted watch', async () => {
  const cut = new NetworkError('cut', { phase: 'connect' })
  using i = informing([refusal(403, 'Forbidden'), list('5')], {}, [failing(cut), new Stream().answer])
  await i.start()
  assert.match(String(i.informer.failure), /scripted Forbidden/)
  await i.clock.advance(800)
  assert.equal(i.informer.failure, cut)
  await i.clock.advance(1600)
  assert.equal(i.informer.failure, undefined)
})

test('each handler has its own sync: an early one with the list, a late one at once, a removed one never', async () => {
  using i = informing([list('5', [pod('a', '1')])])
  const received: string[] = []
  const early = i.informer.addHandler(recorder(received))
  const removed = i.informer.addHandler(recorder([]))
  const waiting = removed.synced(i.signal)
  void early.synced(i.signal).then(() => received.push('synced'))
  assert.deepEqual([early.isSynced, removed.isSynced], [false, false])
  removed.remove()
  await assert.rejects(waiting, /Cannot sync a handler of pods: it was removed/)
  await i.start()
  assert.deepEqual([received, early.isSynced, removed.isSynced], [['added a initial', 'synced'], true, false])
  const late = i.informer.addHandler(recorder(received))
  assert.equal(late.isSynced, true)
  await late.synced(i.signal)
  const unsynced = informing([])
  const stopped = unsynced.informer.addHandler(recorder([])).synced(unsynced.signal)
  unsynced.informer.stop()
  await assert.rejects(stopped, /Cannot sync pods: its informer was stopped/)
})

test('a resync delivers every object as an update, without a request, only to the handler with resyncMs', async () => {
  using i = informing([list('5', [pod('a', '1'), pod('b', '2')])])
  const [often, rarely, never] = [[], [], []] as [string[], string[], string[]]
  i.informer.addHandler(recorder(often), { resyncMs: 10_000 })
  const registration = i.informer.addHandler(
    (delta) => void (delta.kind === 'updated' && delta.old === delta.object && rarely.push(delta.object.metadata.name)),
    { resyncMs: 20_000 },
  )
  i.informer.addHandler(recorder(never))
  await i.start()
  i.server.recorded()
  await i.clock.advance(8999)
  assert.deepEqual(often.splice(0), ['added a initial', 'added b initial'])
  await i.clock.advance(1)
  assert.deepEqual(often.splice(0), ['updated a', 'updated b'])
  i.stream.send('DELETED', pod('a', '6'))
  await i.clock.advance(9000)
  assert.deepEqual([often.splice(0), rarely, never.splice(0)], [['deleted a', 'updated b'], ['b'], [
    'added a initial',
    'added b initial',
    'deleted a',
  ]])
  registration.remove()
  await i.clock.advance(100_000)
  assert.deepEqual([rarely, i.server.recorded(), i.clock.pending], [['b'], [], 2])
  i.stop()
  await i.clock.advance(0)
  assert.equal(i.clock.pending, 0)
  assert.throws(
    () => informing([]).informer.addHandler(() => {}, { resyncMs: 999 }),
    /Cannot resync a handler of pods every 999 ms: the shortest period is 1 s/,
  )
})

test('for a metadata-only kind only the metadata is requested and stored, and its kind stays', async () => {
  const partial = ({ metadata }: { metadata: object }): object => ({
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadata',
    metadata,
  })
  using i = informing([list('5', [pod('a', '1', { spec: { big: [1] } })])], { resource: metadataOf(POD) })
  await i.start()
  i.stream.send('ADDED', partial(pod('b', '6')))
  i.stream.send('ADDED', pod('c', '7', { spec: {} }))
  await i.clock.advance(0)
  for (const name of ['a', 'b', 'c']) {
    const { apiVersion, kind, ...rest } = i.informer.store.get(`default/${name}`)!
    assert.deepEqual([apiVersion, kind, Object.keys(rest)], ['v1', 'Pod', ['metadata', 'kubeloop.partial']])
  }
  const accepts = i.server.requests.map(({ headers }) => headers?.['accept'])
  assert.deepEqual(
    accepts,
    ['List', ''].map((as) => `application/json;as=PartialObjectMetadata${as};g=meta.k8s.io;v=v1,application/json`),
  )
})

test('lastSeen is the version of the last list, event or bookmark, before handlers are called', async () => {
  using i = informing([list('5', [pod('a', '1')])], {
    strip: ({ metadata }) => void delete (metadata as { resourceVersion?: string }).resourceVersion,
  })
  const seen: (string | undefined)[] = [i.informer.lastSeen]
  i.informer.addHandler(() => seen.push(i.informer.lastSeen))
  await i.start()
  i.stream.send('ADDED', pod('b', '6'))
  i.stream.bookmark('60')
  await i.clock.advance(0)
  assert.deepEqual([seen, i.informer.lastSeen], [[undefined, '5', '6'], '60'])
})

/** An informer with a clock on which each object, or each pair, takes a whole turn of the event loop. */
function slow(lists: readonly Answer[], more: Partial<InformerOptions> = {}, watches?: readonly Answer[]) {
  const clock = new SlowClock(0)
  const i = informing(lists, { clock, ...more }, watches)
  return {
    ...i,
    clock,
    /** Sets the time that each object takes from now on. */
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

test('slow initial adds go on in later turns, in order; changes follow them, and then the handler is synced', async () => {
  using i = slow([list('9', many)])
  await i.start()
  i.slowDown()
  const received: string[] = []
  const registration = i.informer.addHandler(recorder(received))
  void registration.synced(never).then(() => received.push('synced'))
  assert.ok(received.length < 3, `${received.length} in one turn`)
  assert.deepEqual([registration.isSynced, i.informer.isSynced], [false, true])
  i.stream.send('MODIFIED', pod('p0', '10'))
  i.stream.send('DELETED', pod('p5', '11', { uid: 'uid-p5' }))
  i.stream.send('ADDED', pod('new', '12'))
  await i.turns(4)
  assert.ok(received.length > 1 && received.length < 6, `${received.length} in some turns`)
  await i.turns()
  const initial = many.map(({ metadata }) => `added ${metadata.name} initial`)
  assert.deepEqual(received, [...initial, 'synced', 'updated p0', 'deleted p5', 'added new'])
  assert.equal(registration.isSynced, true)
  // The backlog is empty again, so the handler is called at once.
  i.stream.send('MODIFIED', pod('new', '13'))
  i.clock.lookMs = 0
  await i.turns(3)
  assert.equal(received.at(-1), 'updated new')
})

test('an informer is synced when every handler got the first list; its objects can be read before', async () => {
  using i = slow([list('9', many)])
  const received: string[] = []
  i.informer.addHandler(recorder(received))
  let heardAtSync: number | undefined
  void i.informer.synced(never).then(() => (heardAtSync = received.length))
  i.slowDown()
  await i.start()
  for (let turn = 0; turn < 60 && !i.informer.isSynced; turn++) await nextTurn()
  assert.ok(i.informer.isSynced && received.length < 6, `${received.length} before it can be read`)
  assert.equal(i.informer.store.size, 6)
  await i.turns()
  assert.equal(heardAtSync, 6)
})

test('a slow list replaces the store at once, and a stop before that discards it', async () => {
  const more = Array.from({ length: 400 }, (_, at) => pod(`q${at}`, `${at + 10}`))
  const [first, second] = [new Stream(), new Stream()]
  let kept = 0
  using i = slow(
    [
      list('9', many),
      list('500', more),
      list('900', Array.from({ length: 400 }, (_, at) => pod(`r${at}`, `${at + 500}`))),
    ],
    { strip: () => void kept++ },
    [first.answer, second.answer],
  )
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
  // The new list is now compared with the store.
  await i.turns(3)
  assert.ok(i.informer.store.get('default/q0'))
  i.stop()
  await i.turns()
  assert.equal(i.informer.store.get('default/r0'), undefined)
})

test('an index of many objects is built over several turns, once for all callers, and includes changes meanwhile', async () => {
  using i = slow([list('9', many)])
  await i.start()
  i.slowDown()
  const indexed: string[] = []
  const byName = defineIndex(POD as never, ({ metadata }: KubeObject) => {
    indexed.push(metadata.name)
    return metadata.name
  })
  const building = i.informer.index(byName)
  assert.ok(building)
  assert.equal(i.informer.index(byName), building)
  assert.ok(indexed.length < 3, `${indexed.length} in one turn`)
  i.stream.send('ADDED', pod('new', '10'))
  i.stream.send('DELETED', pod('p0', '11'))
  await i.turns()
  await building
  assert.equal(i.informer.index(byName), undefined)
  assert.deepEqual(['p0', 'p5', 'new'].map((name) => i.informer.store.lookup(byName, name).length), [0, 1, 1])
  assert.equal(indexed.filter((name) => name === 'p5').length, 1)
})

test('an own object that was deleted while no watch was open is reported as deleted by the next list, once', async () => {
  // The watch has failed; "known" was in the store before.
  using i = informing([list('5', [pod('known', '4')]), list('9', [pod('c', '9')])])
  await i.start()
  const seen: string[] = []
  i.informer.addHandler((delta) =>
    seen.push(`${delta.kind} ${delta.object.metadata.name} ${delta.object.metadata.resourceVersion}`)
  )
  seen.length = 0
  for (const [name, version] of [['new', '6'], ['known', '7']] as const) {
    const own = i.informer.beginWrite({ resource: POD, namespace: 'default', name })!
    own.answered(pod(name, version))
    own.end()
  }
  i.stream.error(410, 'Expired')
  await i.clock.advance(1000)
  assert.deepEqual(seen, ['deleted new 6', 'deleted known 4', 'added c 9'])
  assert.equal(i.informer.reader.get('default/new'), undefined)
})

test('a handler that gets a change reads that change, not an older own write', async () => {
  using i = informing([list('5', [pod('a', '1')]), list('9', [pod('a', '8'), pod('c', '9')])])
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
  i.stream.send('MODIFIED', pod('a', '7'))
  await i.clock.advance(0)
  assert.deepEqual(seen.splice(0), ['a 7: 7'])
  // The event of another object shows that the watch has passed our write.
  const other = i.informer.beginWrite({ resource: POD, namespace: 'default', name: 'gone' })!
  other.answered(pod('gone', '8', { uid: 'gone' }))
  other.end()
  assert.equal(i.informer.reader.get('default/gone')?.metadata.name, 'gone')
  i.informer.addHandler(({ object: { metadata } }) =>
    seen.push(`${metadata.name}: ${i.informer.reader.get('default/gone')?.metadata.name}`)
  )
  seen.length = 0
  i.stream.error(410, 'Expired')
  await i.clock.advance(800)
  assert.deepEqual(seen.filter((line) => !/^\S+ \d/.test(line)), ['gone: undefined', 'a: undefined', 'c: undefined'])
})

test('a missing permission of Deno ends the informer, and synced rejects with the reason', async () => {
  const cause = new NetworkError('Cannot connect to 127.0.0.1:1: Deno needs --allow-net=127.0.0.1:1', {
    phase: 'connect',
    code: 'NotCapable',
  })
  for (const stage of ['lists', 'watches'] as const) {
    const answers = [failing(cause)]
    const i = stage === 'lists' ? informing(answers) : informing([list('5')], {}, answers)
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
