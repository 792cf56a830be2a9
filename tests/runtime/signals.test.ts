/** Signals of this process. They are emitted by hand: a real one would reach the runner of this file, too. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { onSignals } from '../../lib/runtime/os/signals.ts'

type Heard = `${string} ${number}`

async function listening(use: (clock: FakeClock, heard: Heard[]) => Promise<void>): Promise<void> {
  const clock = new FakeClock()
  const heard: Heard[] = []
  const release = onSignals(['SIGINT', 'SIGHUP'], (signal, count) => heard.push(`${signal} ${count}`), clock)
  try {
    await use(clock, heard)
  } finally {
    release()
  }
}

test('one signal that comes twice within half a second is counted once, and later again', () =>
  listening(async (clock, heard) => {
    process.emit('SIGINT')
    process.emit('SIGINT')
    await clock.advance(499)
    process.emit('SIGINT')
    assert.deepEqual(heard, ['SIGINT 1'])
    await clock.advance(1)
    process.emit('SIGINT')
    assert.deepEqual(heard, ['SIGINT 1', 'SIGINT 2'])
    // The second wish is sent twice as well.
    await clock.advance(10)
    process.emit('SIGINT')
    assert.deepEqual(heard, ['SIGINT 1', 'SIGINT 2'])
  }))

test('a signal that does not stop coming counts twice a second', () =>
  listening(async (clock, heard) => {
    for (let ms = 0; ms < 1200; ms += 30) {
      process.emit('SIGINT')
      await clock.advance(30)
    }
    assert.deepEqual(heard, ['SIGINT 1', 'SIGINT 2', 'SIGINT 3'])
  }))

test('another signal is another one, at once; the repeats of each are its own', () =>
  listening(async (_, heard) => {
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGINT', 'SIGHUP'] as const) process.emit(signal)
    assert.deepEqual(heard, ['SIGINT 1', 'SIGHUP 2'])
  }))

test('after the release nothing is heard', async () => {
  const heard: Heard[] = []
  const before = process.listenerCount('SIGHUP')
  const release = onSignals(['SIGHUP'], (signal, count) => heard.push(`${signal} ${count}`))
  assert.equal(process.listenerCount('SIGHUP'), before + 1)
  release()
  assert.equal(process.listenerCount('SIGHUP'), before)
  assert.deepEqual(heard, [])
})
