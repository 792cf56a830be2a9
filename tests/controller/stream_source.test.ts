import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectKey } from '../../lib/core/objects.ts'
import { StreamSource, type StreamSourceOptions } from '../../lib/controller/stream_source.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn, sleep } from '../../lib/async/clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { keptSink, settle } from './fixture.ts'

function streaming(
  open: StreamSourceOptions['open'],
  more: Partial<StreamSourceOptions> = {},
  clock = new FakeClock(),
) {
  const { lines, log } = keptLog()
  const signal = countedSignal()
  const kept = keptSink()
  const source = new StreamSource({ name: 'mine', open, clock, log, random: () => 0, ...more })
  const run = source.start(kept.sink, signal.controller.signal)
  let isOver = false
  run.then(() => (isOver = true), () => {})
  return {
    source,
    clock,
    lines,
    run,
    added: kept.added,
    keys: kept.keys,
    listeners: signal.listeners,
    isOver: () => isOver,
    settle: () => settle(clock),
    async end(): Promise<void> {
      signal.controller.abort(new Error('the test is over'))
      await settle(clock)
      assert.deepEqual([isOver, clock.pending, signal.listeners()], [true, 0, 0])
    },
  }
}

test('keys and objects of a stream are queued with its priority, and the source ends with the stream', async () => {
  const s = streaming(async function* () {
    yield { namespace: 'default', name: 'a' }
    yield pod('b', '1')
    yield { name: 'cluster-scoped' }
  }, { priority: 7 })
  await s.settle()
  assert.deepEqual(s.added, ['default/a', 'default/b', 'cluster-scoped'].map((key) => ({ key, priority: 7 })))
  await s.end()
  await s.run
})

test('a stream that throws is opened again with back-off, which starts again after an item', async () => {
  const opened: number[] = []
  const clock = new FakeClock()
  let left = 4
  const failing: number[] = []
  const signals: AbortSignal[] = []
  const listening: number[] = []
  const s = streaming(
    async function* (signal) {
      assert.ok(signals.every(({ aborted }) => aborted), 'the signal of an earlier stream is aborted')
      signals.push(signal)
      opened.push(clock.monotonic())
      if (opened.length > 1) {
        failing.push(s.source.failing.length)
        listening.push(s.listeners())
      }
      if (opened.length === 4) yield { name: 'a' }
      if (left-- > 0) throw new Error('broken')
      return 'done'
    },
    {},
    clock,
  )
  await s.settle()
  assert.match(String(s.source.failing[0]?.error), /broken/)
  await s.clock.advance(10_000)
  await s.settle()
  assert.deepEqual([opened, s.keys(), s.isOver()], [[0, 100, 300, 700, 800], ['a'], true])
  assert.equal(new Set(listening).size, 1, `listeners of each opening: ${listening}`)
  assert.deepEqual(failing, [0, 0, 0, 0])
  assert.equal(s.lines[0], 'error Cannot read the stream of the source "mine": broken (opened again in 100 ms)')
  await s.end()
})

const ENDS: Readonly<
  Record<string, [lastsMs: number, items: number, end: unknown, openedMs: number[], warnings: number, line: RegExp]>
> = {
  'at once': [0, 0, undefined, [0, 100, 300, 700, 1500], 3, /^warn The stream .* ended without an item \(/],
  'after an item': [0, 1, undefined, [0, 100, 300, 700, 1500], 0, /^debug The stream .*"mine" has ended \(/],
  'after a while': [2_000, 0, 'DONE', [0, 2100, 4300, 6700], 3, /^warn .*\(opened again in 100 ms\)$/],
  'after a long while': [5_000, 0, undefined, [0, 5100, 10_200], 2, /^warn .*\(opened again in 100 ms\)$/],
  'with the word for it': [0, 1, 'done', [0], 0, /^debug The source "mine" is done$/],
}
for (const [when, [lastsMs, items, end, openedMs, warnings, line]] of Object.entries(ENDS)) {
  test(`a stream that ends ${when} is opened again with back-off, unless it says that it is done`, async () => {
    const clock = new FakeClock()
    const opened: number[] = []
    const signals: AbortSignal[] = []
    const s = streaming(
      async function* (signal) {
        assert.ok(signals.every(({ aborted }) => aborted), 'an earlier stream was not told that it is no longer read')
        signals.push(signal)
        opened.push(clock.monotonic())
        if (lastsMs > 0) await sleep(clock, lastsMs, signal)
        for (let i = 0; i < items; i++) yield { name: 'a' }
        return end
      },
      {},
      clock,
    )
    await s.settle()
    for (let ms = 0; ms < 12_000; ms += 100) await clock.advance(100)
    assert.deepEqual([opened.slice(0, openedMs.length), s.isOver()], [openedMs, end === 'done'])
    assert.match(s.lines[0]!, line)
    assert.deepEqual(s.lines.filter((each) => each.startsWith('warn')).length, warnings)
    await s.end()
  })
}

test('an item without a name is logged, and the others are queued', async () => {
  const s = streaming(async function* () {
    yield { name: '' }
    yield undefined as unknown as ObjectKey
    yield { name: 'a' }
  })
  await s.settle()
  assert.deepEqual([s.keys(), s.lines.filter((line) => line.startsWith('error')).length], [['a'], 2])
  assert.match(s.lines[0]!, /Cannot queue an item of the source "mine": Cannot name an object: its name is missing/)
  await s.end()
})

test('the next item is requested when the previous one is queued, and none before the start', async () => {
  let asked = 0
  const s = streaming(() => ({
    [Symbol.asyncIterator]: () => ({
      next:
        () => (asked++,
          asked > 3 ? new Promise(() => {}) : Promise.resolve({ done: false, value: { name: `${asked}` } })),
    }),
  }))
  await s.settle()
  assert.deepEqual([s.keys(), asked], [['1', '2', '3'], 4])
  await s.end()
})

test('an abort stops it while it waits for an item or a back-off, and closes the stream', async () => {
  let closed = 0
  const waits = streaming((signal) => ({
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: () => (closed++, assert.equal(signal.aborted, true), Promise.resolve({ done: true, value: undefined })),
    }),
  }))
  await waits.settle()
  await waits.end()
  const fails = streaming(() => assert.fail('mine'))
  await fails.settle()
  await fails.end()
  assert.equal(closed, 1)
})

test('a generator that does not end is not waited for after five seconds, with a warning', async () => {
  const s = streaming(async function* () {
    yield { name: 'a' }
    await new Promise(() => {})
  })
  await s.settle()
  const stopping = s.end().catch((error: unknown) => error)
  await s.clock.advance(4_999)
  assert.equal(s.isOver(), false)
  await s.clock.advance(1)
  await s.settle()
  assert.equal(s.isOver(), true)
  assert.match(
    s.lines.at(-1)!,
    /warn Cannot close the stream of the source "mine": it did not end within 5 s; end it when its signal is aborted/,
  )
  await stopping
})

test('a stream that always has an item does not block timers', async () => {
  let produced = 0
  const s = streaming(async function* () {
    while (produced < 3_000) {
      produced++
      yield { name: 'a' }
    }
  })
  await nextTurn()
  await nextTurn()
  assert.ok(produced < 1000, `${produced} items in two turns`)
  await s.end()
})

test('a stream for which Deno denies a permission is not opened again', async () => {
  const error = Object.assign(new Error('no'), { name: 'NotCapable' })
  let opened = 0
  const s = streaming(async function* () {
    opened++
    yield* []
    throw error
  })
  await assert.rejects(s.run, error)
  assert.deepEqual([opened, s.clock.pending], [1, 0])
})
