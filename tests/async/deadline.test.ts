import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deadline } from '../../lib/async/deadline.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

test('a deadline fires once, on the millisecond, counted from the last set', async () => {
  const clock = new FakeClock()
  const came: number[] = []
  const due = deadline(clock, 100, (ms) => came.push(ms))
  await clock.advance(99)
  due.set(100)
  await clock.advance(99)
  assert.deepEqual(came, [])
  await clock.advance(1)
  assert.deepEqual(came, [100])
  await clock.advance(1000)
  assert.deepEqual(came, [100])
})

test('a deadline can be moved later and earlier', async () => {
  for (const ms of [250, 10]) {
    const clock = new FakeClock()
    const came: number[] = []
    const due = deadline(clock, 100, (ms) => came.push(ms))
    await clock.advance(50)
    due.set(ms)
    await clock.advance(ms - 1)
    assert.deepEqual(came, [])
    await clock.advance(1)
    assert.deepEqual(came, [ms])
    assert.equal(clock.pending, 0)
  }
})

test('moving a deadline a thousand times takes one timer, and cancelling clears it', async () => {
  const clock = new FakeClock()
  const due = deadline(clock, 100, () => assert.fail())
  for (let i = 0; i < 1000; i++) due.set(100)
  assert.equal(clock.pending, 1)
  await clock.advance(60)
  due.set(200)
  await clock.advance(60)
  assert.equal(clock.pending, 1)
  due.cancel()
  assert.equal(clock.pending, 0)
  due.set(1)
  assert.equal(clock.pending, 0, 'a later set has no effect')
})
