import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Timeouts } from '../../lib/async/timeouts.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

test('each timeout is due after its time, in order, with one timer for all', async () => {
  const clock = new FakeClock(), due: string[] = []
  const timeouts = new Timeouts(clock, 1000)
  timeouts.begin(() => void due.push('a'))
  await clock.advance(300)
  timeouts.begin(() => void due.push('b'))
  timeouts.begin(() => void due.push('c'))
  assert.equal(clock.pending, 1)
  await clock.advance(699)
  assert.equal(due.length, 0)
  await clock.advance(1)
  assert.deepEqual(due, ['a'])
  await clock.advance(299)
  assert.deepEqual(due, ['a'])
  await clock.advance(1)
  assert.deepEqual([due, clock.pending], [['a', 'b', 'c'], 0])
})

test('a cancelled timeout is not called, and the next one is due after its own time', async () => {
  const clock = new FakeClock(), due: string[] = []
  const timeouts = new Timeouts(clock, 1000)
  timeouts.begin(() => void due.push('a'))()
  await clock.advance(600)
  const cancel = timeouts.begin(() => void due.push('b'))
  await clock.advance(999)
  assert.equal(due.length, 0)
  await clock.advance(1)
  assert.deepEqual(due, ['b'])
  cancel()
  timeouts.begin(() => void due.push('c'))
  await clock.advance(1000)
  assert.deepEqual(due, ['b', 'c'])
})

test('close cancels all, and frees the timer', async () => {
  const clock = new FakeClock()
  const timeouts = new Timeouts(clock, 1000)
  timeouts.begin(() => assert.fail('cancelled'))
  timeouts.close()
  assert.equal(clock.pending, 0)
  await clock.advance(2000)
})
