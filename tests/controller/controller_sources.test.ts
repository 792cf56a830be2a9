import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Controller, type ReconcileReport } from '../../lib/controller/controller.ts'
import { ownKey } from '../../lib/controller/handlers.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import type { Sink, Source } from '../../lib/controller/source.ts'
import { StreamSource } from '../../lib/controller/stream_source.ts'
import { TickerSource } from '../../lib/controller/ticker_source.ts'
import { aborted } from '../../lib/async/abort.ts'
import { EventChannel } from '../../lib/async/event_channel.ts'
import { keyOf, type ObjectKey } from '../../lib/core/objects.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import type { RateLimiter } from '../../lib/queue/rate_limiter.ts'
import { controlling, fed, keptSink, scriptedInformer, settle } from './fixture.ts'

/** A source that the test controls. */
function custom(
  more: Partial<Source> & { readonly begin?: (sink: Sink) => void } = {},
): Source & { readonly ended: PromiseWithResolvers<void>; starts: number; signal: AbortSignal | undefined } {
  const { begin, ...rest } = more
  const ended = Promise.withResolvers<void>()
  const source: ReturnType<typeof custom> = {
    name: 'custom',
    ended,
    starts: 0,
    signal: undefined,
    warms: true,
    start(sink, signal) {
      source.starts++
      source.signal = signal
      begin?.(sink)
      return Promise.race([aborted(signal), ended.promise])
    },
    ...rest,
  }
  return source
}

test('a controller is idle when all its sources are', async () => {
  await using c = controlling({ reconcile: async () => {} })
  let isIdle = false
  await c.start()
  await c.controller.watch(custom())
  await c.controller.watch(Object.defineProperty(custom(), 'idle', { get: () => isIdle }))
  await c.settle()
  assert.equal(c.controller.idle, false)
  isIdle = true
  assert.equal(c.controller.idle, true)
})

test('the sources of a controller whose signal is aborted already have an aborted signal', async () => {
  const { controller } = controlling({ reconcile: async () => {} })
  const seen: (boolean | undefined)[] = []
  const source = custom({ begin: () => void seen.push(source.signal?.aborted) })
  await controller.watch(source)
  await controller.start(AbortSignal.abort(new Error('over')))
  assert.deepEqual(seen, [true])
})

test('sources of all types feed one queue, and start in parallel', async () => {
  const runs: string[] = []
  const channel = new EventChannel<ObjectKey>()
  await channel.send({ name: 'sent' })
  const c = controlling({
    reconcile: async ({ key }) => void runs.push(key.name),
    feeds: (clock) => [fed(clock, [pod('listed', '1')])],
  })
  const { log } = keptLog()
  void c.controller.watch(new StreamSource({ name: 'stream', open: () => channel, clock: c.clock, log }))
  void c.controller.watch(
    new TickerSource({ name: 'ticker', everyMs: 1000, keys: () => [{ name: 'ticked' }], clock: c.clock, log }),
  )
  void c.controller.watch(
    custom({ begin: (sink) => (sink.add('default/text'), sink.add({ name: 'parts' }, { priority: 10 })) }),
  )
  await c.start()
  assert.deepEqual(runs.splice(0), ['parts', 'sent', 'text', 'listed'].sort((a, b) => order(a) - order(b)))
  await c.clock.advance(1000)
  await c.settle()
  assert.deepEqual(runs, ['ticked'])
  await c.end()
  function order(name: string): number {
    return ['parts', 'text', 'sent', 'listed'].indexOf(name)
  }
})

test('a source starts once', async () => {
  const stop = AbortSignal.abort()
  const sources = {
    'the source "mine"': new StreamSource({ name: 'mine', open: () => new EventChannel<ObjectKey>() }),
    'the source "yours"': new TickerSource({ name: 'yours', everyMs: 1000, keys: () => [] }),
    'the source of pods': new KindSource({ informers: [scriptedInformer().informer] }),
  }
  for (const [what, source] of Object.entries(sources)) {
    const { sink } = keptSink()
    await source.start(sink, stop)
    await assert.rejects(source.start(sink, stop), new RegExp(`Cannot start ${what}: it was started already`))
  }
})

test('a key without a name is refused when it is added', async () => {
  const thrown: unknown[] = []
  await using c = controlling({
    sources: [custom({
      begin: (sink) => {
        for (const key of ['', { name: '' }]) {
          try {
            sink.add(key)
          } catch (error) {
            thrown.push(error)
          }
        }
      },
    })],
  })
  await c.start()
  assert.match(thrown.join(), /TypeError: Cannot queue a key: it is empty,TypeError: Cannot name an object/)
})

test('events that the controller’s own predicate drops are not queued, of any kind; if it throws, they pass', async () => {
  const runs: string[] = []
  await using c = controlling({
    pods: [pod('a', '1'), pod('b', '1'), pod('later', '1'), pod('odd', '1')],
    reconcile: async ({ key }) => void runs.push(key.name),
    when: ({ metadata: { name } }) =>
      name === 'odd' ? assert.fail('mine') : name === 'later' ? Promise.resolve(false) as never : name === 'a',
  })
  await c.start()
  assert.deepEqual(runs, ['a', 'later', 'odd'])
  const line = (name: string, why: string): string =>
    `error A predicate failed for Pod "default/${name}", so the event passes: ${why}`
  assert.ok(c.lines.includes(line('later', 'it returned a promise; a predicate cannot wait')), c.lines.join('\n'))
  assert.ok(c.lines.some((each) => each.startsWith(line('odd', 'mine'))))
})

test('a source that does not sync in time is named, and one that does not end after that is not waited for', async () => {
  const hangs = custom({ name: 'hangs', synced: () => new Promise(() => {}), start: () => new Promise(() => {}) })
  const c = controlling({ sources: [hangs, custom()], syncTimeoutMs: 1000 })
  await c.start()
  await c.clock.advance(1000)
  await c.settle()
  assert.equal(c.ended(), undefined)
  await c.clock.advance(5000)
  await c.settle()
  assert.equal(
    String(c.ended()?.error),
    'Error: Cannot start controller "test": its sources were not in sync within 1 s; still missing: the source "hangs"',
  )
  assert.match(
    c.lines.at(-1)!,
    /warn Controller "test" no longer waits for its sources, which did not end within 5 s: "hangs"/,
  )
  assert.equal(c.clock.pending - c.feeds.length, 0)
})

test('a source that fails before its sync rejects the start with its name and cause', async () => {
  const cause = new Error('mine')
  const failing: Partial<Source>[] = [
    { synced: () => Promise.reject(cause) },
    { start: () => Promise.reject(cause) },
    { start: () => assert.fail(cause) },
    { start: () => Promise.reject(cause), synced: () => new Promise(() => {}) },
  ]
  for (const each of failing) {
    const other = custom()
    const c = controlling({ sources: [custom(each), other] })
    await c.start()
    const error = c.ended()?.error as Error
    assert.deepEqual(
      [String(error), error.cause, other.signal?.aborted],
      ['Error: Cannot start controller "test": the source "custom" failed: mine', cause, true],
    )
  }
})

test('a source that fails after its sync stops the controller, which would miss keys silently', async () => {
  const source = custom()
  const gate = Promise.withResolvers<void>()
  const c = controlling({
    sources: [source, custom({ begin: (sink) => sink.add('a') })],
    reconcile: () => gate.promise.then(() => Promise.reject(new Error('down'))),
  })
  await c.start()
  source.ended.reject(new Error('mine'))
  await c.settle()
  assert.deepEqual([c.ended(), c.lines.at(-1)], [
    undefined,
    'error Controller "test" stops: the source "custom" failed: mine',
  ])
  gate.resolve()
  await c.settle()
  assert.equal(c.lines.at(-1), 'error Cannot reconcile Pod "a": down (retried after the next start)')
  assert.equal(String(c.ended()?.error), 'Error: Cannot go on with controller "test": the source "custom" failed: mine')
  assert.equal(c.listeners(), 0)
})

test('sources end with the signal, before the last reconcile', async () => {
  const source = custom({ begin: (sink) => sink.add('a') })
  const gate = Promise.withResolvers<void>()
  await using c = controlling({ sources: [source], reconcile: () => gate.promise })
  await c.start()
  c.stop()
  await c.settle()
  assert.deepEqual([source.signal?.aborted, c.ended()], [true, undefined])
  gate.resolve()
})

test('the end of a source is not a failure, and a failure while stopping is logged', async () => {
  const source = custom()
  const late = custom({
    name: 'late',
    start: async (_sink, signal) => {
      await aborted(signal)
      throw new Error('mine')
    },
  })
  const c = controlling({ sources: [source, late] })
  await c.start()
  source.ended.resolve()
  await c.settle()
  assert.equal(c.ended(), undefined)
  await c.end()
  assert.match(c.lines.at(-1)!, /warn The source "late" of controller "test" failed while stopping: mine/)
})

test('watches are added and removed at run time: first keys of a new one are queued, a removed one adds none, and none is left', async () => {
  const runs: string[] = []
  await using c = controlling({ reconcile: async ({ key }) => void runs.push(key.name) })
  await c.start()
  for (let round = 0; round < 20; round++) {
    const { informer, send, handlers } = scriptedInformer()
    const own = countedSignal()
    const begun = custom({ begin: (sink) => sink.add(`initial-${round}`), failing: [{ error: round }] })
    await c.controller.watch(
      new KindSource({ informers: [informer], map: ownKey, own: true, clock: c.clock, log: keptLog().log }),
      own.controller.signal,
    )
    await c.controller.watch(begun, own.controller.signal)
    send({ kind: 'added', object: pod(`sent-${round}`, '1'), initial: false })
    await c.settle()
    assert.deepEqual(runs.splice(0), [`initial-${round}`, `sent-${round}`])
    assert.deepEqual(c.controller.failing, [{ source: 'custom', error: round }])
    own.controller.abort()
    await c.settle()
    send({ kind: 'added', object: pod('ignored', '1'), initial: false })
    await c.settle()
    assert.deepEqual(
      [runs, handlers(), own.listeners(), begun.signal?.aborted, c.controller.idle],
      [[], 0, 0, true, true],
    )
    assert.deepEqual(c.controller.failing, [])
  }
})

test('a watch that fails while it is added rejects that call, and the others continue', async () => {
  const runs: string[] = []
  await using c = controlling({ reconcile: async ({ key }) => void runs.push(key.name) })
  await c.start()
  const own = countedSignal()
  for (const part of ['start', 'synced']) {
    const failing = custom({ [part]: () => Promise.reject(new Error('mine')) })
    await assert.rejects(c.controller.watch(failing, own.controller.signal), /the source "custom" failed: mine/)
    assert.equal(own.listeners(), part === 'start' ? 0 : 1)
  }
  c.stream.send('ADDED', pod('a', '6'))
  await c.settle()
  assert.deepEqual([runs, c.ended()], [['a'], undefined])
})

/** A controller with a warm-up; the test decides when it leads. */
function warm(sources: readonly Source[], more: Partial<ConstructorParameters<typeof Controller>[0]> = {}) {
  const { clock = new FakeClock() } = more as { clock?: FakeClock }
  const { lines, log } = keptLog()
  const runs: string[] = []
  const controller = new Controller({
    name: 'test',
    kind: 'Pod',
    sources,
    reconcile: async ({ key }) => void runs.push(key.name),
    clock,
    log,
    warmup: true,
    ...more,
  })
  const [warming, working] = [countedSignal(), countedSignal()]
  const outcomes: Record<string, unknown> = {}
  const keep = (name: string, run: Promise<void>): void =>
    void run.then(() => (outcomes[name] = 'ended'), (error: unknown) => (outcomes[name] = String(error)))
  return {
    controller,
    clock,
    runs,
    lines,
    outcomes,
    listeners: () => [warming.listeners(), working.listeners(), clock.pending],
    warmUp: () => (keep('warm', controller.warmup!(warming.controller.signal)), settle(clock)),
    elect: () => (keep('work', controller.start(working.controller.signal)), settle(clock)),
    stop:
      () => (working.controller.abort(new Error('over')), warming.controller.abort(new Error('over')), settle(clock)),
    stopWarming: () => (warming.controller.abort(new Error('over')), settle(clock)),
  }
}

test('a warm-up fills the queue without a reconcile; the start continues from there, and starts no source twice', async () => {
  const source = custom({ begin: (sink) => (sink.add('a'), sink.add('b'), sink.add('a')) })
  const w = warm([source])
  await w.warmUp()
  assert.deepEqual([w.runs, source.starts, w.controller.idle, w.outcomes], [[], 1, false, {}])
  await w.elect()
  assert.deepEqual([w.runs, source.starts, w.outcomes], [['a', 'b'], 1, { warm: 'ended' }])
  await w.stop()
  assert.deepEqual(
    [w.outcomes, w.listeners(), source.signal?.aborted],
    [{ warm: 'ended', work: 'ended' }, [0, 0, 0], true],
  )
})

test('a warm-up starts no source that does not read from a cache, also one that is added meanwhile', async () => {
  const clock = new FakeClock()
  const stream = new StreamSource({ name: 'stream', open: () => new EventChannel<ObjectKey>(), clock })
  const ticker = new TickerSource({ name: 'ticker', everyMs: 1000, keys: () => [], clock })
  const kind = new KindSource({ informers: [scriptedInformer().informer], clock })
  assert.deepEqual([stream, ticker, kind].map((source: Source) => source.warms ?? false), [false, false, true])
  const later = (): ReturnType<typeof custom> => custom({ warms: false, begin: (sink) => sink.add('message') })
  const all = [custom(), later(), later(), custom()] as const
  const w = warm(all.slice(0, 2))
  await w.warmUp()
  for (const added of all.slice(2)) await w.controller.watch(added)
  await settle(w.clock)
  assert.deepEqual(all.map(({ starts }) => starts), [1, 0, 0, 1])
  await w.elect()
  assert.deepEqual([all.map(({ starts }) => starts), w.runs], [[1, 1, 1, 1], ['message']])
  await w.stop()
  assert.deepEqual([w.outcomes, w.listeners()], [{ warm: 'ended', work: 'ended' }, [0, 0, 0]])
})

test('a start waits for the sources that a warm-up did not start, within the sync timeout', async () => {
  const slow = custom({ name: 'slow', warms: false, synced: () => new Promise(() => {}) })
  const w = warm([custom({ begin: (sink) => sink.add('a') }), slow], { syncTimeoutMs: 1000 })
  await w.warmUp()
  await w.clock.advance(10_000)
  await w.elect()
  assert.deepEqual([w.runs, w.outcomes], [[], { warm: 'ended' }])
  await w.clock.advance(1000)
  await settle(w.clock)
  assert.match(String(w.outcomes['work']), /not in sync within 1 s; still missing: the source "slow"$/)
})

const MINUTES = 60_000
/** What happens to the object on a waiting replica, and the keys that run when it leads. */
const GONE: Readonly<
  Record<string, [step: 'object' | 'key', happens: (o: ReturnType<typeof owned>) => unknown, runs: string[]]>
> = {
  'is deleted: an object’s reconcile does nothing': ['object', (o) => o.delete(), []],
  'is deleted: a key’s reconcile handles it': ['key', (o) => o.delete(), ['a']],
  'was deleted long ago: the last leader has handled it': ['key', (o) => (o.delete(), o.wait(5 * MINUTES)), []],
  'was deleted not so long ago': ['key', (o) => (o.delete(), o.wait(4 * MINUTES)), ['a']],
  'is deleted, and its dependents after it': ['object', (o) => (o.delete(), o.dependent()), []],
  'is deleted before the key comes from elsewhere': ['key', (o) => (o.delete(), o.dependent()), ['a']],
  'is created again': ['object', (o) => (o.delete(), o.create()), ['a']],
  'is created again, long ago': ['key', (o) => (o.delete(), o.create(), o.wait(9 * MINUTES)), ['a']],
  'was created again and is queued by a dependent': [
    'object',
    (o) => (o.delete(), o.create(), o.dependent()),
    ['a'],
  ],
  'lives, and a dependent is deleted': ['object', (o) => o.dependent(), ['a']],
  'lives, and an object of another kind with its name is deleted': ['object', (o) => o.namesake(), ['a']],
}

/** A pod `a`, and a dependent of it. */
function owned(clock: FakeClock) {
  const [pods, others, namesakes] = [scriptedInformer(), scriptedInformer(), scriptedInformer()]
  let version = 1
  return {
    sources: [
      new KindSource({
        informers: [pods.informer],
        own: true,
        clock,
        // The deletion must be noticed although no event of it passes.
        when: (_now, _before, change) => change.kind !== 'deleted' || version % 2 === 1,
      }),
      new KindSource({ informers: [others.informer], map: () => [keyOf(pod('a', '1'))], clock }),
      new KindSource({ informers: [namesakes.informer], clock }),
    ],
    create: () => pods.send({ kind: 'added', object: pod('a', `${version++}`), initial: false }),
    delete: () => pods.send({ kind: 'deleted', object: pod('a', `${version++}`), stale: false }),
    dependent: () => others.send({ kind: 'deleted', object: pod('a-1', '1'), stale: false }),
    namesake: () => namesakes.send({ kind: 'deleted', object: pod('a', '1'), stale: false }),
    wait: (ms: number) => clock.advance(ms),
  }
}

for (const [what, [step, happens, runs]] of Object.entries(GONE)) {
  test(`a warm-up holds no key of an object that is gone: it ${what}`, async () => {
    for (const isFiltered of [false, true]) {
      const clock = new FakeClock()
      const o = owned(clock)
      const w = warm(o.sources, { skipsGone: step === 'object', clock })
      await w.warmUp()
      if (isFiltered) o.create()
      o.create()
      await happens(o)
      await settle(clock)
      await w.elect()
      assert.deepEqual(w.runs, runs, `the deletion is filtered: ${isFiltered}`)
      o.delete()
      o.dependent()
      await settle(clock)
      assert.equal(w.runs.length > runs.length, true, 'a leader runs all keys')
      await w.stop()
    }
  })
}

test('a thousand objects that are gone leave nothing in the queue of a waiting replica', async () => {
  for (const skipsGone of [true, false]) {
    const clock = new FakeClock()
    const pods = scriptedInformer()
    const reports: ReconcileReport[] = []
    const onReconcile = (report: ReconcileReport): void => void reports.push(report)
    const queue = (): { rateLimited: boolean } => ({ rateLimited: true })
    const sources = [new KindSource({ informers: [pods.informer], own: true, clock, queue })]
    const counted = new Set<string>()
    const limiter: RateLimiter<string> = {
      when: (key) => (counted.add(key), 0),
      failures: (key) => Number(counted.has(key)),
      forget: (key) => void counted.delete(key),
    }
    const w = warm(sources, { clock, skipsGone, onReconcile, limiter })
    await w.warmUp()
    for (let i = 0; i < 1000; i++) {
      const object = pod(`${i}`, '1')
      pods.send({ kind: 'added', object, initial: false })
      pods.send({ kind: 'updated', object, old: pod(`${i}`, '0') })
      pods.send({ kind: 'deleted', object, stale: false })
      await clock.advance(10_000)
    }
    assert.equal(counted.size, skipsGone ? 0 : 30)
    pods.send({ kind: 'added', object: pod('0', '2'), initial: false })
    await w.elect()
    await settle(clock, 60)
    assert.equal(w.runs.length, skipsGone ? 1 : 30)
    assert.deepEqual(reports.find(({ key }) => key === 'default/0')?.causes, ['added'], 'earlier causes are forgotten')
    await w.stop()
  }
})

test('a start waits for a warm-up in progress, in either order', async () => {
  for (const first of ['warmUp', 'elect'] as const) {
    const answer = Promise.withResolvers<void>()
    const source = custom({ begin: (sink) => sink.add('a'), synced: () => answer.promise })
    const w = warm([source])
    await w.warmUp()
    await w.elect()
    assert.deepEqual([w.runs, source.starts], [[], 1], first)
    answer.resolve()
    await settle(w.clock)
    assert.deepEqual([w.runs, source.starts], [['a'], 1])
    await w.stop()
    assert.deepEqual([w.outcomes, w.listeners()], [{ warm: 'ended', work: 'ended' }, [0, 0, 0]])
  }
})

test('a controller that never leads leaves nothing', async () => {
  const ended = Promise.withResolvers<void>()
  const source = custom({
    start: async (sink, signal) => {
      sink.add('a')
      await aborted(signal)
      await ended.promise
    },
  })
  const meter = memoryMeter()
  const w = warm([source], { meter })
  await w.warmUp()
  assert.equal(meter.value('workqueue_adds_total', { controller: 'test', name: 'test' }), 1)
  await w.stopWarming()
  assert.deepEqual(w.outcomes, {}, 'the warm-up ended before what it began')
  ended.resolve()
  await settle(w.clock)
  assert.deepEqual([w.outcomes, w.runs, w.listeners(), meter.series()], [{ warm: 'ended' }, [], [0, 0, 0], []])
})

test('a warm-up rejects after the sync timeout, and if a source fails', async () => {
  const slow = warm([custom({ synced: () => new Promise(() => {}) })], { syncTimeoutMs: 1000 })
  await slow.warmUp()
  await slow.clock.advance(1000)
  await settle(slow.clock)
  assert.deepEqual([slow.outcomes, slow.listeners()], [{
    warm:
      'Error: Cannot start controller "test": its sources were not in sync within 1 s; still missing: the source "custom"',
  }, [0, 0, 0]])
  const source = custom()
  const failing = warm([source])
  await failing.warmUp()
  source.ended.reject(new Error('mine'))
  await settle(failing.clock)
  assert.deepEqual([failing.outcomes, failing.listeners()], [{
    warm: 'Error: Cannot go on with controller "test": the source "custom" failed: mine',
  }, [0, 0, 0]])
  await failing.elect()
  assert.equal(failing.outcomes['work'], 'Error: Cannot go on with controller "test": the source "custom" failed: mine')
})

test('there is no warm-up without the option; after the start it does nothing, and a second one is refused', async () => {
  assert.equal(warm([], { warmup: false }).controller.warmup, undefined)
  const w = warm([])
  await w.elect()
  await w.warmUp()
  assert.deepEqual(w.outcomes, { warm: 'ended' })
  await w.warmUp()
  assert.deepEqual(w.outcomes, { warm: 'Error: Cannot warm controller "test" up: it was warmed up already' })
  await w.stop()
})
