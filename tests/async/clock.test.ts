import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInTime, sleep, systemClock, within } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from './counted_signal.ts'

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

test('what takes longer than its limit has its signal aborted, and what ends before leaves neither timer nor listener', async () => {
  const clock = new FakeClock()
  const { controller: parent, listeners } = countedSignal()
  const late = (): Error => new Error('too late')
  const hanging = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const limited = within(clock, 1000, late, hanging, parent.signal)
  const refused = assert.rejects(limited, /too late/)
  await clock.advance(999)
  assert.equal(clock.pending, 1)
  await clock.advance(1)
  await refused
  assert.equal(await within(clock, 1000, late, async (signal) => signal.aborted, parent.signal), false)
  await assert.rejects(within(clock, 1000, late, () => Promise.reject(new Error('mine')), parent.signal), /mine/)
  assert.deepEqual([clock.pending, listeners()], [0, 0])
  const ended = assert.rejects(within(clock, 1000, late, hanging, parent.signal), /parent/)
  parent.abort(new Error('parent'))
  await ended
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('whether a promise is in time: the timer goes with it, and what it does later is of no interest', async () => {
  const clock = new FakeClock()
  assert.equal(await isInTime(clock, 1000, Promise.resolve()), true)
  await assert.rejects(isInTime(clock, 1000, Promise.reject(new Error('mine'))), /mine/)
  assert.equal(clock.pending, 0)
  const { promise, reject } = Promise.withResolvers<void>()
  let answer: boolean | undefined
  const asked = isInTime(clock, 1000, promise).then((isIn) => (answer = isIn))
  await clock.advance(999)
  assert.equal(answer, undefined)
  await clock.advance(1)
  await asked
  assert.equal(answer, false)
  reject(new Error('late'))
  assert.equal(clock.pending, 0)
})
