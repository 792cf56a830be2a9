import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'

test('sleep resolves after its time and leaves no timer', async () => {
  const clock = new FakeClock()
  let awake = false
  const sleeping = sleep(clock, 1000, new AbortController().signal).then(() => (awake = true))
  await clock.advance(999)
  assert.equal(awake, false)
  await clock.advance(1)
  await sleeping
  assert.equal(clock.pending, 0)
})

test('an abort ends sleep with its reason and leaves no timer', async () => {
  const clock = new FakeClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 1000, controller.signal)
  controller.abort(new Error('stop'))
  await assert.rejects(sleeping, /stop/)
  assert.equal(clock.pending, 0)
})

test('the real clock fires in order, not what was cancelled, and nothing at once because it is far away', async () => {
  const fired: string[] = []
  const cancelFar = systemClock.after(2 ** 31 + 1000, () => fired.push('far'))
  systemClock.after(1, () => fired.push('cancelled'))()
  const began = systemClock.monotonic()
  await new Promise<void>((resolve) => systemClock.after(5, () => (fired.push('near'), resolve())))
  cancelFar()
  assert.deepEqual(fired, ['near'])
  assert.ok(systemClock.monotonic() - began >= 3)
  assert.ok(systemClock.now() > Date.UTC(2026, 0, 1))
})
