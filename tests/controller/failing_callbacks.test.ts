/** A user's callback may throw anywhere in a controller: no key is lost, and nothing stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { type KeyMapper, ownKey } from '../../lib/controller/handlers.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import { EventMapper } from '../../lib/controller/event_mapper.ts'
import { StreamSource } from '../../lib/controller/stream_source.ts'
import { TickerSource } from '../../lib/controller/ticker_source.ts'
import { partMeter } from '../../lib/manager/metrics.ts'
import type { Log } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { pod } from '../cache/scripted_server.ts'
import { controlling } from './controlling.ts'
import { keptSink, scriptedInformer, settle } from './fixture.ts'

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

test('a log that throws while a map function fails loses no event, neither that one nor later ones', () =>
  quietly(async () => {
    for (const isAsync of [true, false]) {
      const clock = new FakeClock()
      const { log, lines } = brokenLog()
      const stop = new AbortController()
      let fails = true
      const keys = ({ metadata: { name } }: KubeObject) => {
        if (fails) throw new Error('api down')
        return [{ name }]
      }
      const reported: string[] = []
      const map: KeyMapper = isAsync ? async (object) => keys(object) : keys
      const mapping = new EventMapper({
        map,
        onKeys: (all) => void reported.push(...all),
        clock,
        log,
        signal: stop.signal,
      })
      const retrying = mapping.retry()
      mapping.take(added('a'))
      await settle(clock)
      fails = false
      for (const name of ['b', 'c', 'd']) mapping.take(added(name))
      await settle(clock)
      assert.deepEqual([reported, mapping.idle], [['b', 'c', 'd'], true])
      await clock.advance(1000)
      await settle(clock)
      assert.deepEqual([reported, mapping.idle, mapping.failures, lines.length > 0], [
        ['b', 'c', 'd', 'a'],
        true,
        [],
        true,
      ])
      stop.abort()
      await retrying
    }
  }))

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
    const c = controlling({
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
        'A predicate threw',
        'Cannot read the stream',
        'Cannot queue an item',
        'Cannot get the keys',
        'the user’s',
      ]
    ) {
      assert.ok(lines.some((line) => line.includes(text)), text)
    }
    for (const name of ['a', 'streamed', 'ticked']) {
      assert.ok(runs.filter((run) => run === name).length >= 3, `${name}: ${runs.join()}`)
    }
    assert.equal(c.ended(), undefined)
    hold.resolve()
    await c.settle()
    await c.end()
  }))

test('if a limiter throws or returns an invalid delay, the key is retried with the default back-off', async () => {
  const broken = (): never => assert.fail('the limiter’s')
  const limiters = [
    { when: broken, failures: broken, forget: broken },
    { when: () => NaN, failures: () => NaN, forget: () => {} },
    { when: () => Infinity, failures: () => -1, forget: () => {} },
  ]
  for (const limiter of limiters) {
    const runs: string[] = []
    const c = controlling({
      pods: [pod('a', '1')],
      limiter,
      reconcile: async ({ attempt }) => {
        runs.push(`${c.clock.monotonic()} #${attempt}`)
        if (runs.length < 4) throw new Error('mine')
      },
    })
    await c.start()
    await c.clock.advance(1000)
    await c.settle()
    assert.deepEqual(runs, ['0 #1', '5 #2', '15 #3', '35 #4'])
    assert.ok(
      c.lines.some((line) => line.startsWith('error A rate limiter failed; the default back-off is used instead: ')),
      c.lines.join('\n'),
    )
    // The success reset the count: the next failure is the first.
    runs.length = 3
    c.stream.send('MODIFIED', pod('a', '6'))
    await c.settle()
    assert.match(runs[3]!, / #1$/)
    await c.end()
  }
})

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
  const c = controlling({
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
  await c.end()
})

test('a listener that rejects, a cause that throws and an error without a text stop nothing', async () => {
  let runs = 0
  const c = controlling({
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
  await c.end()
  // Without a listener the failure is logged.
  runs = 0
  const plain = controlling({
    pods: [pod('a', '1')],
    reconcile: async () => {
      if (++runs === 1) throw Object.create(null)
    },
  })
  await plain.start()
  await plain.clock.advance(5)
  await plain.settle()
  assert.equal(runs, 2)
  assert.ok(
    plain.lines.includes(
      'error Cannot reconcile Pod "default/a": a value that cannot be converted to text was thrown (retry 1 in 5 ms)',
    ),
  )
  await plain.end()
})

test('a map function that returns one key instead of a list fails, and does not count as one without keys', async () => {
  const clock = new FakeClock()
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const stop = new AbortController()
  const reported: string[] = []
  const map = (() => ({ name: 'alone' })) as unknown as KeyMapper
  const mapping = new EventMapper({
    map,
    onKeys: (all) => void reported.push(...all),
    clock,
    log: { debug: write, info: write, warn: write, error: write },
    signal: stop.signal,
  })
  const retrying = mapping.retry()
  mapping.take(added('a'))
  await settle(clock)
  assert.deepEqual([reported, lines.length, mapping.failures.length], [[], 1, 1])
  stop.abort()
  await retrying
})
