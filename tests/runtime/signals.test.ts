/** Tests signal handling with emitted signals: a real one would also reach the test runner. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { onIdleEnd, onSignals } from '../../lib/runtime/os/signals.ts'

type Counted = `${string} ${number}`

async function withSignals(use: (clock: FakeClock, counted: Counted[]) => Promise<void>): Promise<void> {
  const clock = new FakeClock()
  const counted: Counted[] = []
  const release = onSignals(['SIGINT', 'SIGHUP'], (signal, count) => counted.push(`${signal} ${count}`), clock)
  try {
    await use(clock, counted)
  } finally {
    release()
  }
}

test('a repeat of a signal within 500 ms is not counted, and a later one is', () =>
  withSignals(async (clock, counted) => {
    process.emit('SIGINT')
    process.emit('SIGINT')
    await clock.advance(499)
    process.emit('SIGINT')
    assert.deepEqual(counted, ['SIGINT 1'])
    await clock.advance(1)
    process.emit('SIGINT')
    assert.deepEqual(counted, ['SIGINT 1', 'SIGINT 2'])
    // The second signal is repeated, too.
    await clock.advance(10)
    process.emit('SIGINT')
    assert.deepEqual(counted, ['SIGINT 1', 'SIGINT 2'])
  }))

test('a signal that repeats without end is counted twice a second', () =>
  withSignals(async (clock, counted) => {
    for (let ms = 0; ms < 1200; ms += 30) {
      process.emit('SIGINT')
      await clock.advance(30)
    }
    assert.deepEqual(counted, ['SIGINT 1', 'SIGINT 2', 'SIGINT 3'])
  }))

test('different signals are counted at once, each with its own repeats', () =>
  withSignals(async (_, counted) => {
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGINT', 'SIGHUP'] as const) process.emit(signal)
    assert.deepEqual(counted, ['SIGINT 1', 'SIGHUP 2'])
  }))

test('after the release no signal is reported', async () => {
  const counted: Counted[] = []
  const before = process.listenerCount('SIGHUP')
  const release = onSignals(['SIGHUP'], (signal, count) => counted.push(`${signal} ${count}`))
  assert.equal(process.listenerCount('SIGHUP'), before + 1)
  release()
  assert.equal(process.listenerCount('SIGHUP'), before)
  assert.deepEqual(counted, [])
})

test('lines for an idle end share one listener, as a process warns of more than ten, and each can be withdrawn', () => {
  const listeners = process.listenerCount('beforeExit')
  const withdraw = Array.from({ length: 20 }, () => onIdleEnd(() => undefined))
  assert.equal(process.listenerCount('beforeExit'), listeners + 1)
  for (const each of withdraw) each()
  assert.equal(process.listenerCount('beforeExit'), listeners)
})

test('a line for an idle end is asked for once, also if the process goes on after that', () => {
  const listeners = process.listenerCount('beforeExit')
  let asked = 0
  for (let ends = 1; ends <= 2; ends++) {
    onIdleEnd(() => void asked++)
    assert.equal(process.listenerCount('beforeExit'), listeners + 1)
    const listener = process.listeners('beforeExit').at(-1)!
    process.off('beforeExit', listener)
    listener(0)
    assert.equal(asked, ends)
  }
})
