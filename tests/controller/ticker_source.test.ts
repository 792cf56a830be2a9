import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTick, TickerSource, type TickerSourceOptions } from '../../lib/controller/ticker_source.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { keptLog } from '../cache/scripted_server.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { keptSink, settle } from './fixture.ts'

function ticking(keys: TickerSourceOptions['keys'], more: Partial<TickerSourceOptions> = {}) {
  const clock = new FakeClock()
  const { lines, log } = keptLog()
  const signal = countedSignal()
  const kept = keptSink()
  const source = new TickerSource({ name: 'mine', everyMs: 1000, keys, clock, log, ...more })
  const run = source.start(kept.sink, signal.controller.signal)
  return {
    source,
    clock,
    lines,
    added: kept.added,
    keys: kept.keys,
    async end(): Promise<void> {
      signal.controller.abort(new Error('the test is over'))
      await settle(clock)
      assert.deepEqual([clock.pending, signal.listeners(), source.idle], [0, 0, true])
      await run
    },
  }
}

test('keys are requested after each interval, and queued with low priority by default', async () => {
  const s = ticking(() => [{ namespace: 'default', name: 'a' }, { name: 'b' }])
  await s.clock.advance(999)
  assert.deepEqual([s.added, s.source.idle], [[], true])
  await s.clock.advance(1)
  assert.deepEqual(s.added.splice(0), [{ key: 'default/a', priority: -100 }, { key: 'b', priority: -100 }])
  await s.clock.advance(2000)
  assert.equal(s.added.length, 4)
  await s.end()
  const urgent = ticking(async () => [{ name: 'a' }], { priority: 0 })
  await urgent.clock.advance(1000)
  assert.deepEqual(urgent.added, [{ key: 'a', priority: 0 }])
  await urgent.end()
})

test('ticks do not overlap; ticks missed during a slow function count as one, and the next keep to their times', async () => {
  const at: number[] = []
  const s = ticking(async () => {
    at.push(s.clock.monotonic())
    if (at.length === 1) await new Promise<void>((resolve) => void s.clock.after(3500, resolve))
    return []
  })
  await s.clock.advance(4499)
  assert.deepEqual([at, s.source.idle], [[1000], false])
  await s.clock.advance(2000)
  assert.deepEqual(at, [1000, 5000, 6000])
  await s.end()
})

test('the next tick is a whole number of intervals after the last, and after now', () => {
  assert.deepEqual(
    [[0, 0], [0, 999.5], [0, 1000], [1000, 999.9], [1000, 9_500_123]].map(([last, now]) => nextTick(last!, 1000, now!)),
    [1000, 1000, 2000, 2000, 9_501_000],
  )
})

test('a function that throws, rejects or returns no keys is logged, and called again at the next tick', async () => {
  const answers: (() => Promise<{ name: string }[]> | { name: string }[])[] = [
    () => assert.fail('mine'),
    () => Promise.reject(new Error('mine')),
    () => [{ name: '' }],
    () => [{ name: 'a' }],
  ]
  const s = ticking(() => answers.shift()!())
  await s.clock.advance(3000)
  assert.equal(s.source.failing.length, 1)
  await s.clock.advance(1000)
  assert.deepEqual(s.source.failing, [])
  assert.deepEqual([s.keys(), s.lines.length], [['a'], 3])
  assert.equal(s.lines[0], 'error Cannot get the keys of the source "mine": mine')
  await s.end()
})

test('a function that never settles fails after a minute, and its signal is aborted', async () => {
  const signals: AbortSignal[] = []
  const s = ticking(({ signal }) => (signals.push(signal), signals.length === 1 ? new Promise(() => {}) : []))
  await s.clock.advance(60_999)
  assert.deepEqual([signals.length, signals[0]!.aborted], [1, false])
  await s.clock.advance(1)
  await settle(s.clock)
  assert.deepEqual([signals[0]!.aborted, s.lines], [true, [
    'error Cannot get the keys of the source "mine": its keys function did not answer within 1 m',
  ]])
  await s.clock.advance(1000)
  assert.equal(signals.length, 2)
  await s.end()
})

test('a function may take as long as an interval of more than a minute', async () => {
  const s = ticking(() => new Promise(() => {}), { everyMs: 600_000 })
  await s.clock.advance(1_199_999)
  assert.deepEqual(s.lines, [])
  await s.clock.advance(1)
  await settle(s.clock)
  assert.match(s.lines.join(), /did not answer within 10 m$/)
  await s.end()
})

test('an abort stops it at once, also while its function does not settle', async () => {
  const s = ticking(() => new Promise(() => {}))
  await s.clock.advance(1000)
  await s.end()
})

test('an invalid interval is refused', () => {
  for (const everyMs of [0, -1, NaN, Infinity]) {
    assert.throws(
      () => new TickerSource({ name: 'mine', everyMs, keys: () => [], clock: new FakeClock(), log: keptLog().log }),
      /its interval is/,
    )
  }
})

test('many keys are queued in turns of the event loop, and not after an abort', async () => {
  const clock = new SlowClock(0)
  const stop = new AbortController()
  const kept = keptSink()
  const keys = Array.from({ length: 10_000 }, (_, i) => ({ name: `k${i}` }))
  const source = new TickerSource({ name: 'mine', everyMs: 1000, keys: () => keys, clock, log: keptLog().log })
  const run = source.start(kept.sink, stop.signal)
  const tick = async (): Promise<number> => {
    clock.lookMs = 0
    await clock.fake.advance(999)
    clock.lookMs = 10
    await clock.fake.advance(1)
    return kept.added.length
  }
  const atOnce = await tick()
  assert.ok(atOnce > 0 && atOnce < 5_000, `${atOnce} in a few turns`)
  assert.equal(source.idle, false)
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.deepEqual([kept.keys(), source.idle], [keys.map(({ name }) => name), true])
  for (let i = 0; i < 100 && kept.added.length === 0; i++) await clock.fake.advance(20)
  const before = kept.added.length
  assert.ok(before > 0 && before < 10_000, `${before} before the abort`)
  stop.abort()
  await run
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.equal(kept.added.length, before)
})
