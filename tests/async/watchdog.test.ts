import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchdog } from '../../lib/async/watchdog.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'

test('silence is counted from what was heard last, to the millisecond, and reported once', async () => {
  const clock = new FakeClock()
  let barked = 0
  const dog = watchdog(clock, 100, () => barked++)
  await clock.advance(99)
  dog.heard()
  await clock.advance(99)
  assert.equal(barked, 0)
  await clock.advance(1)
  assert.equal(barked, 1)
  await clock.advance(1000)
  assert.equal(barked, 1)
})

test('hearing a lot takes one timer, and disposing takes it away', () => {
  const clock = new FakeClock()
  const dog = watchdog(clock, 100, () => assert.fail())
  for (let i = 0; i < 1000; i++) dog.heard()
  assert.equal(clock.pending, 1)
  dog[Symbol.dispose]()
  assert.equal(clock.pending, 0)
})
