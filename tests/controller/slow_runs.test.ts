import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlowRuns } from '../../lib/controller/slow_runs.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'

function watching() {
  const clock = new FakeClock()
  const told: string[] = []
  const slow = new SlowRuns(clock, 60_000, ({ key }, ms) => void told.push(`${key} ${ms}`))
  const begin = (key: string) => {
    const run = { key, beganMs: clock.monotonic() }
    slow.begin(run)
    return run
  }
  return { clock, told, slow, begin }
}

test('a run that is slow is told of once, in its time, also long after a look that found none', async () => {
  const { clock, told, slow, begin } = watching()
  for (const round of [0, 1, 2]) {
    slow.end(begin(`fast-${round}`))
    await clock.advance(90_000)
    assert.equal(clock.pending, 0)
    const run = begin(`slow-${round}`)
    await clock.advance(59_999)
    assert.deepEqual(told, [])
    await clock.advance(1)
    assert.deepEqual(told.splice(0), [`slow-${round} 60000`])
    await clock.advance(600_000)
    slow.end(run)
    assert.deepEqual([told, clock.pending], [[], 0])
  }
})

test('one timer serves all runs, however many begin and end', async () => {
  const { clock, told, slow, begin } = watching()
  for (let i = 0; i < 1000; i++) {
    slow.end(begin(`key-${i}`))
    if (i % 100 === 0) await clock.advance(1000)
    assert.ok(clock.pending <= 1, `${clock.pending} timers`)
  }
  begin('a')
  await clock.advance(10_000)
  begin('b')
  await clock.advance(49_999)
  assert.deepEqual(told, [])
  await clock.advance(1)
  assert.deepEqual([told.splice(0), clock.pending], [['a 60000'], 1])
  await clock.advance(10_000)
  assert.deepEqual([told.splice(0), clock.pending], [['b 60000'], 0])
})

test('the keys of the runs under way are known, also of those that were reported', async () => {
  const { clock, slow, begin } = watching()
  const a = begin('a')
  await clock.advance(60_000)
  const b = begin('b')
  assert.deepEqual(slow.keys, ['a', 'b'])
  slow.end(a)
  assert.deepEqual(slow.keys, ['b'])
  slow.end(b)
  assert.deepEqual(slow.keys, [])
  begin('c')
  slow.stop()
  assert.deepEqual(slow.keys, [])
})

test('nothing is told after the stop, and no timer is left; a run that begins later is watched again', async () => {
  const { clock, told, slow, begin } = watching()
  begin('a')
  slow.stop()
  slow.stop()
  assert.equal(clock.pending, 0)
  await clock.advance(120_000)
  assert.deepEqual(told, [])
  begin('b')
  await clock.advance(60_000)
  assert.deepEqual(told, ['b 60000'])
})
