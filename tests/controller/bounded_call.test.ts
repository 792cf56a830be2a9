import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundedCall, type Call } from '../../lib/controller/bounded_call.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'

test('a call that has ended, in any way, leaves no listener and no timer, and its signal is aborted', async () => {
  const clock = new FakeClock()
  const { controller, listeners } = countedSignal()
  const limits = { what: 'It', maxMs: 1000, clock, signal: controller.signal }
  const signals: AbortSignal[] = []
  const keep = ({ signal }: Call): void => void signals.push(signal)
  const calls: ((call: Call) => unknown)[] = [
    keep,
    async (call) => keep(call),
    (call) => (keep(call), assert.fail('mine')),
    async (call) => (keep(call), assert.fail('mine')),
  ]
  for (let i = 0; i < 100; i++) await Promise.resolve(boundedCall(calls[i % calls.length]!, limits)).catch(() => {})
  assert.deepEqual([listeners(), clock.pending, signals.length], [0, 0, 100])
  assert.ok(signals.every(({ aborted }) => aborted))
  const late = boundedCall((call) => (keep(call), new Promise<void>(() => {})), limits)
  assert.deepEqual([listeners(), clock.pending], [2, 1])
  await clock.advance(1000)
  await assert.rejects(Promise.resolve(late), { name: 'TimeoutError', message: 'It did not answer within 1 s' })
  assert.deepEqual([listeners(), clock.pending, signals.at(-1)!.aborted], [0, 0, true])
  const stopped = boundedCall((call) => (keep(call), new Promise<void>(() => {})), limits)
  controller.abort(new Error('stop'))
  await assert.rejects(Promise.resolve(stopped), /stop/)
  await clock.advance(0)
  assert.deepEqual([listeners(), clock.pending, signals.at(-1)!.aborted], [0, 0, true])
})
