/** What the property test does not state: errors, signals, and how runnables fail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Runnable } from '../../lib/core/runnable.ts'
import { aggregate, ManagerStopping, RunnableGroup, StopTimeout } from '../../lib/manager/runnable_group.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { part, watchOutcome } from './parts.ts'

const never = new AbortController().signal

function group(): { group: RunnableGroup; failures: [string, unknown][] } {
  const failures: [string, unknown][] = []
  return { failures, group: new RunnableGroup('others', (error, { name }) => failures.push([name, error])) }
}

test('the start rejects if one cannot become ready, even by a synchronous throw', async () => {
  for (
    const ready of [() => Promise.reject(new Error('no')), () => {
      throw new Error('no')
    }]
  ) {
    const { group: others } = group()
    others.add(part('hanging', [], { unready: true }))
    others.add({ name: 'broken', start: () => Promise.resolve(), ready })
    await assert.rejects(others.start(never), /^Error: no$/)
  }
})

test('an abort ends the wait for readiness with its reason, and without an unhandled rejection', async () => {
  const { group: others } = group()
  const hanging = part('hanging', [], { unready: true })
  others.add(hanging)
  const stop = new AbortController()
  const started = watchOutcome(others.start(stop.signal))
  await nextTurn()
  stop.abort(new Error('stop'))
  await nextTurn()
  assert.equal((started.outcome as Error).message, 'stop')
  hanging.becomeReady(new Error('never heard')) // an unhandled rejection would fail this test's process
  await nextTurn()
})

test('a runnable that aborts the start while it starts leaves no unhandled rejection', async () => {
  const { group: others } = group()
  const stop = new AbortController()
  others.add({
    name: 'a',
    start: async () => stop.abort(new Error('stop')),
    ready: () => Promise.reject(new Error('not ready')),
  })
  await assert.rejects(others.start(stop.signal), /^Error: stop$/)
  await nextTurn()
})

test('a group starts once, and neither starts nor takes runnables after its stop', async () => {
  const { group: others } = group()
  await others.start(never)
  await assert.rejects(others.start(never), /Cannot start the group "others": it was started already/)
  await others.stopAndWait(never)
  const { group: stopped } = group()
  await stopped.stopAndWait(never)
  await assert.rejects(stopped.start(never), /Cannot start the group "others": it is stopping/)
  const text = 'Cannot add "b" to the group "others": it is stopping'
  assert.throws(() => stopped.add(part('b', [])), new ManagerStopping(text))
  const { group: starting } = group()
  const started: string[] = []
  for (const name of ['a', 'b']) starting.add({ name, start: () => Promise.resolve(void started.push(name)) })
  await Promise.all([starting.start(never), starting.stopAndWait(never)])
  assert.deepEqual(started, ['a'])
})

test('a stop that takes too long names the remaining runnables', async () => {
  const { group: others } = group()
  for (const name of ['a', 'b', 'c']) others.add(part(name, [], { lingers: name !== 'b' }))
  await others.start(never)
  const deadline = new AbortController()
  const stopped = watchOutcome(others.stopAndWait(deadline.signal))
  await nextTurn()
  deadline.abort(new Error('the grace period of 1 s is over'))
  await nextTurn()
  assert.ok(stopped.outcome instanceof StopTimeout)
  assert.deepEqual(stopped.outcome.running, ['a', 'c'])
  assert.equal(
    stopped.outcome.message,
    'Cannot stop the group "others" in time: the grace period of 1 s is over; still running: "a", "c"',
  )
})

test('ready gets the signal of the group, not that of the start', async () => {
  const { group: others } = group()
  let heard: AbortSignal | undefined
  others.add({ name: 'a', start: () => Promise.resolve(), ready: async (signal) => void (heard = signal) })
  await others.start(never)
  assert.equal(heard?.aborted, false)
  await others.stopAndWait(never)
  assert.equal(heard?.aborted, true)
})

test('an abort error during a stop is no failure, in any form; another error is', async () => {
  const ways: readonly (readonly [string, (signal: AbortSignal) => unknown])[] = [
    ['the reason', (signal) => signal.reason],
    ['an AbortError of its own', () => new DOMException('aborted', 'AbortError')],
    ['an error because of the reason', (signal) => new Error('Cannot list', { cause: signal.reason })],
    [
      'an error because of an AbortError',
      () => new Error('Cannot list', { cause: new DOMException('aborted', 'AbortError') }),
    ],
    ['a failure', () => new Error('disk full')],
    ['a timeout', () => new DOMException('too late', 'TimeoutError')],
  ]
  const { group: others, failures } = group()
  for (const [name, way] of ways) {
    others.add({
      name,
      start: (signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(way(signal) as Error))),
    })
  }
  await others.start(never)
  await others.stopAndWait(never)
  assert.deepEqual(failures.map(([name]) => name), ['a failure', 'a timeout'])
})

test('an AbortError before the stop is a failure', async () => {
  const { group: others, failures } = group()
  others.add({ name: 'a', start: () => Promise.reject(new DOMException('aborted', 'AbortError')) } satisfies Runnable)
  await others.start(never)
  await nextTurn()
  assert.deepEqual(failures.map(([name]) => name), ['a'])
})

test('a function is a runnable with its name', async () => {
  const { group: others, failures } = group()
  let signal: AbortSignal | undefined
  others.add(async function count(given) {
    signal = given
    throw new Error('no')
  })
  others.add(async () => {
    throw new Error('nor')
  })
  await others.start(never)
  await nextTurn()
  assert.equal(signal?.aborted, false)
  assert.deepEqual(failures.map(([name, error]) => [name, (error as Error).message]), [['count', 'no'], [
    'anonymous',
    'nor',
  ]])
})

test('a stop is no failure of a runnable that becomes ready', async () => {
  const { group: others, failures } = group()
  await others.start(never)
  others.add({
    name: 'waiting',
    start: () => Promise.resolve(),
    ready: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  await others.stopAndWait(never)
  await nextTurn()
  assert.deepEqual(failures, [])
})

test('aggregate returns a single error as it is, and several in one', () => {
  const one = new RangeError('a')
  assert.equal(aggregate([one]), one)
  const both = aggregate([one, new Error('b')])
  assert.ok(both instanceof AggregateError)
  assert.deepEqual([both.message, both.errors[0]], ['a; b', one])
})
