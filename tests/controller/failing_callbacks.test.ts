/** A user's callback may throw anywhere in a controller: no key is lost, and nothing stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Delta } from '../../lib/cache/store.ts'
import { type KeyMapper, ownKey } from '../../lib/controller/handlers.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import { StreamSource } from '../../lib/controller/stream_source.ts'
import { TickerSource } from '../../lib/controller/ticker_source.ts'
import { partMeter } from '../../lib/manager/metrics.ts'
import type { Log } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { pod } from '../cache/scripted_server.ts'
import { controlling, keptSink, scriptedInformer, settle } from './fixture.ts'

/** A log that counts its lines and throws at each. Its failures are written to standard error, which is not tested here. */
function brokenLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = []
  const write = (message: string): void => {
    lines.push(message)
    throw new Error('EPIPE in the log')
  }
  return { log: { debug: write, info: write, warn: write, error: write }, lines }
}

/** Runs `work` without standard error, where a failing log is reported. */
async function quietly(work: () => Promise<void>): Promise<void> {
  const { error } = console
  console.error = () => {}
  try {
    await work()
  } finally {
    console.error = error
  }
}

const added = (name: string): Delta => ({ kind: 'added', object: pod(name, '1'), initial: false })

test('after a sink throws, the event is retried, as after a map function throws', async () => {
  const maps: readonly KeyMapper[] = [
    ownKey,
    ({ metadata: { name } }) => [{ namespace: 'default', name }],
    async ({ metadata: { name } }) => [{ namespace: 'default', name }],
  ]
  for (const map of maps) {
    const clock = new FakeClock()
    const { informer, send } = scriptedInformer()
    let isBroken = true
    const kept = keptSink()
    const lines: string[] = []
    const write = (line: string): void => void lines.push(line)
    const source = new KindSource({
      informers: [informer],
      map,
      clock,
      log: { debug: write, info: write, warn: write, error: write },
    })
    const stop = new AbortController()
    const add: typeof kept.sink.add = (
      key,
      options,
    ) => (isBroken ? assert.fail('the sink’s') : kept.sink.add(key, options))
    const running = source.start({ ...kept.sink, add }, stop.signal)
    for (const name of ['a', 'b']) send(added(name))
    await settle(clock)
    assert.deepEqual(kept.keys(), [])
    isBroken = false
    send(added('c'))
    await settle(clock)
    assert.deepEqual(kept.keys(), ['default/c'])
    await clock.advance(1000)
    await settle(clock)
    assert.deepEqual([kept.keys().sort(), source.missing], [['default/a', 'default/b'], []])
    assert.match(lines[0]!, /^Cannot map Pod "default\/a" to keys: the sink’s/)
    stop.abort()
    await running
  }
})

test('a controller whose log throws at every line continues: failing runs, slow runs, predicates, maps, streams and ticks', () =>
  quietly(async () => {
    const { log, lines } = brokenLog()
    const runs: string[] = []
    const hold = Promise.withResolvers<void>()
    await using c = controlling({
      log,
      pods: [pod('a', '1'), pod('slow', '2')],
      concurrency: 2,
      when: () => assert.fail('the predicate’s'),
      reconcile: async ({ key, log }) => {
        runs.push(key.name)
        log.info('the user’s')
        if (key.name === 'slow') return await hold.promise
        if (runs.filter((name) => name === key.name).length < 3) throw new Error('mine')
      },
    })
    await c.start()
    let opened = 0
    const open = async function* () {
      if (opened++ === 0) throw new Error('the stream’s')
      yield { name: '' }
      yield { name: 'streamed' }
    }
    let ticks = 0
    let maps = 0
    const map = (): { name: string }[] => (maps++ < 3 ? assert.fail('the map’s') : [{ name: `mapped` }])
    const { informer, send } = scriptedInformer()
    void c.controller.watch(new KindSource({ informers: [informer], map, clock: c.clock, log, when: () => true }))
    for (const name of ['x', 'y', 'z']) send(added(name))
    const keys = (): { name: string }[] => (ticks++ === 0 ? assert.fail('the ticker’s') : [{ name: 'ticked' }])
    void c.controller.watch(new StreamSource({ name: 'stream', open, clock: c.clock, log, random: () => 0 }))
    void c.controller.watch(new TickerSource({ name: 'ticker', everyMs: 1000, keys, clock: c.clock, log }))
    await c.clock.advance(2500)
    await c.settle()
    await c.clock.advance(60_000)
    await c.settle()
    for (
      const text of [
        'Cannot reconcile',
        'has run for',
        'A predicate failed',
        'Cannot read the stream',
        'Cannot queue an item',
        'Cannot get the keys',
        'Cannot map',
        'the user’s',
      ]
    ) {
      assert.ok(lines.some((line) => line.includes(text)), text)
    }
    for (const name of ['a', 'streamed', 'ticked', 'mapped']) {
      assert.ok(runs.filter((run) => run === name).length >= 3, `${name}: ${runs.join()}`)
    }
    assert.equal(c.ended(), undefined)
    hold.resolve()
    await c.settle()
  }))

test('metrics that throw stop no run and no controller', async () => {
  const broken = (): never => assert.fail('the meter’s')
  const series = { with: () => ({ inc: broken, dec: broken, observe: broken, set: () => {} }), remove: () => {} }
  const meter = partMeter({
    counter: () => series,
    gauge: () => series,
    histogram: () => series,
    onScrape: () => () => {},
  })
  let runs = 0
  await using c = controlling({
    meter,
    pods: [pod('a', '1')],
    reconcile: async () => {
      if (++runs < 3) throw new Error('mine')
    },
  })
  await c.start()
  await c.clock.advance(1000)
  await c.settle()
  assert.deepEqual([runs, c.ended(), c.controller.idle], [3, undefined, true])
  assert.ok(
    c.lines.some((line) => line.startsWith('error A metric of the controller "test" threw: the meter’s')),
    c.lines.join('\n'),
  )
})

test('what is thrown, and throws when it is read, is a failure of its run alone', async () => {
  const throwing = (field: string): Error =>
    Object.defineProperty(new Error(), field, { get: () => assert.fail('mine') })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const thrown = [throwing('name'), throwing('cause'), proxy]
  let runs = 0
  await using c = controlling({
    pods: [pod('a', '1')],
    reconcile: async () => {
      if (runs++ < thrown.length) throw thrown[runs - 1]
    },
  })
  await c.start()
  await c.clock.advance(5 + 10 + 20)
  await c.settle()
  assert.deepEqual([runs, c.ended()], [4, undefined])
})

test('a listener that rejects, a cause that throws and an error without a text stop nothing', async () => {
  let runs = 0
  await using c = controlling({
    pods: [pod('a', '1')],
    onReconcile: async (report) => {
      assert.deepEqual(report.causes.slice(0, 1), runs === 1 ? ['added'] : ['retry 1'])
      throw new Error('the listener’s')
    },
    reconcile: async () => {
      if (++runs === 1) throw Object.create(null)
    },
  })
  await c.start()
  await c.clock.advance(5)
  await c.settle()
  assert.deepEqual([
    runs,
    c.lines.filter((line) => line.includes('The onReconcile listener of controller "test" threw: the listener’s'))
      .length,
  ], [2, 2])
  const added = Promise.withResolvers<void>()
  await c.controller.watch({
    name: 'mine',
    start: async (sink) => {
      sink.add('default/b', { cause: () => assert.fail('the cause’s') })
      added.resolve()
    },
  })
  await added.promise
  await c.settle()
  assert.deepEqual([runs, c.ended()], [3, undefined])
})
