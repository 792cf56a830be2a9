import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Runnable } from '../../lib/core/runnable.ts'
import { aggregate, ManagerStopping, RunnableGroup, StopTimeout } from '../../lib/manager/runnable_group.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { part, watchOutcome } from './parts.ts'

const never = new AbortController().signal

function group(): { group: RunnableGroup; failures: [string, unknown][] } {
  const failures: [string, unknown][] = []
  return { failures, group: new RunnableGroup('others', (error, { name }) => failures.push([name, error])) }
}

test('a runnable added before the start waits for it; one added later starts at once', async () => {
  const told: string[] = []
  const { group: others } = group()
  others.add(part('a', told))
  await nextTurn()
  assert.deepEqual([told, others.started, others.running], [[], false, 0])
  await others.start(never)
  others.add(part('b', told))
  assert.deepEqual([told, others.started, others.running], [['+a', '+b'], true, 2])
})

test('a runnable added while the group becomes ready starts, too', async () => {
  const told: string[] = []
  const { group: others } = group()
  const slow = part('slow', told, { unready: true })
  others.add(slow)
  const started = watchOutcome(others.start(never))
  others.add(part('late', told))
  await nextTurn()
  assert.deepEqual([told, started.outcome], [['+slow', '+late'], undefined])
  slow.becomeReady()
  await nextTurn()
  assert.equal(started.outcome, 'resolved')
})

test('the start resolves when the slowest runnable is ready', async () => {
  const { group: others } = group()
  const parts = ['a', 'b', 'c'].map((name) => part(name, [], { unready: true }))
  for (const each of parts) others.add(each)
  const started = watchOutcome(others.start(never))
  for (const each of parts) {
    await nextTurn()
    assert.equal(started.outcome, undefined)
    each.becomeReady()
  }
  await nextTurn()
  assert.equal(started.outcome, 'resolved')
})

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

test('a start with an aborted signal starts nothing', async () => {
  const told: string[] = []
  const { group: others } = group()
  others.add(part('a', told))
  await assert.rejects(others.start(AbortSignal.abort(new Error('stop'))), /^Error: stop$/)
  assert.deepEqual([told, others.started], [[], false])
})

test('a group starts once, and not after its stop', async () => {
  const { group: others } = group()
  await others.start(never)
  await assert.rejects(others.start(never), /Cannot start the group "others": it was started already/)
  await others.stopAndWait(never)
  const { group: stopped } = group()
  await stopped.stopAndWait(never)
  await assert.rejects(stopped.start(never), /Cannot start the group "others": it is stopping/)
})

test('a stop aborts all runnables, and waits for the last', async () => {
  const told: string[] = []
  const { group: others } = group()
  const slow = part('slow', told, { lingers: true })
  others.add(part('quick', told))
  others.add(slow)
  await others.start(never)
  const stopped = watchOutcome(others.stopAndWait(never))
  await nextTurn()
  assert.deepEqual([told, stopped.outcome, others.running], [
    ['+quick', '+slow', '-quick', '-slow', '.quick'],
    undefined,
    1,
  ])
  slow.end()
  await nextTurn()
  assert.deepEqual([stopped.outcome, others.running], ['resolved', 0])
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
  assert.match(
    (stopped.outcome as Error).message,
    /^Cannot stop the group "others" in time: the grace period of 1 s is over; still running: "a", "c"$/,
  )
})

test('without a running runnable, a passed deadline is no failure', async () => {
  const { group: others } = group()
  others.add(part('queued', []))
  await others.stopAndWait(AbortSignal.abort())
  const { group: ended } = group()
  const a = part('a', [])
  ended.add(a)
  await ended.start(never)
  a.end()
  await nextTurn()
  await ended.stopAndWait(AbortSignal.abort())
})

test('a group that never started runs nothing on its stop, and refuses further runnables', async () => {
  const told: string[] = []
  const { group: others } = group()
  others.add(part('a', told))
  await others.stopAndWait(never)
  assert.throws(
    () => others.add(part('b', told)),
    /^ManagerStopping: Cannot add "b" to the group "others": it is stopping$/,
  )
  await nextTurn()
  assert.deepEqual(told, [])
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

test('each failure is reported with its runnable, thrown at once or later; an end without an error is none', async () => {
  const { group: others, failures } = group()
  const late = part('late', [])
  const well = part('well', [])
  others.add({
    name: 'at once',
    start: () => {
      throw new Error('1')
    },
  })
  others.add(late)
  others.add(well)
  await others.start(never)
  late.end(new Error('2'))
  well.end()
  await nextTurn()
  assert.deepEqual(failures.map(([name, error]) => [name, (error as Error).message]), [['at once', '1'], ['late', '2']])
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

test('a stop that takes too long rejects with StopTimeout, with the names in it', async () => {
  const { group: others } = group()
  others.add(part('a', [], { lingers: true }))
  await others.start(never)
  const error = await others.stopAndWait(AbortSignal.abort(new Error('no time'))).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof StopTimeout)
  assert.deepEqual(error.running, ['a'])
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

test('a runnable added after the start that cannot become ready has failed', async () => {
  const { group: others, failures } = group()
  await others.start(never)
  others.add({ name: 'late', start: () => Promise.resolve(), ready: () => Promise.reject(new Error('no')) })
  await nextTurn()
  assert.deepEqual(failures.map(([name]) => name), ['late'])
  others.add({
    name: 'waiting',
    start: () => Promise.resolve(),
    ready: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  await others.stopAndWait(never)
  await nextTurn()
  assert.equal(failures.length, 1) // being stopped is no failure of readiness
})

test('a second stop is the first one, also from a runnable', async () => {
  const told: string[] = []
  const { group: others } = group()
  const slow = part('slow', told, { lingers: true })
  others.add(slow)
  let within: Promise<void> | undefined
  others.add((signal) =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        within = others.stopAndWait(never)
        assert.throws(() => others.add(part('too late', told)), ManagerStopping)
        resolve()
      })
    )
  )
  await others.start(never)
  const stop = others.stopAndWait(never)
  assert.equal(others.stopAndWait(AbortSignal.abort()), stop)
  await nextTurn()
  assert.equal(within, stop)
  slow.end()
  await stop
  assert.deepEqual(told, ['+slow', '-slow', '.slow'])
})

test('one runnable starts per turn of the event loop, none after a stop or an abort, and one that cannot become ready ends the start at once', async () => {
  const told: string[] = []
  const names = (): string[] => told.splice(0)
  const launching = (unready?: string) => {
    const { group: others } = group()
    const start = new AbortController()
    const parts = ['a', 'b', 'c'].map((name) => part(name, told, { unready: name === unready }))
    for (const each of parts) others.add(each)
    return { others, start, parts, started: watchOutcome(others.start(start.signal)) }
  }
  const all = launching()
  assert.deepEqual(names(), ['+a'])
  await nextTurn()
  assert.deepEqual(names(), ['+b'])
  await nextTurn()
  assert.deepEqual([names(), all.started.outcome], [['+c'], 'resolved'])

  const stopped = launching()
  await stopped.others.stopAndWait(never)
  const aborted = launching()
  aborted.start.abort(new Error('enough'))
  const failing = launching('a')
  failing.parts[0]!.becomeReady(new Error('mine'))
  for (let i = 0; i < 5; i++) await nextTurn()
  assert.deepEqual(names(), ['+a', '-a', '.a', '+a', '+a'])
  assert.deepEqual([stopped.started.outcome, String(aborted.started.outcome), String(failing.started.outcome)], [
    'resolved',
    'Error: enough',
    'Error: mine',
  ])
  for (const { others } of [all, aborted, failing]) await others.stopAndWait(never)
})

test('a stopped group holds no runnables', async () => {
  const { group: others } = group()
  const deadline = countedSignal()
  const start = countedSignal()
  const parts = Array.from({ length: 20 }, (_, at) => part(`${at}`, [], { unready: at % 2 === 0 }))
  for (const each of parts) others.add(each)
  const started = watchOutcome(others.start(start.controller.signal))
  for (const each of parts) each.becomeReady()
  for (const _ of parts) await nextTurn()
  assert.deepEqual([started.outcome, start.listeners()], ['resolved', 0])
  await others.stopAndWait(deadline.controller.signal)
  assert.deepEqual([others.running, deadline.listeners()], [0, 0])
})

test('aggregate returns a single error as it is, and several in one', () => {
  const one = new RangeError('a')
  assert.equal(aggregate([one]), one)
  const both = aggregate([one, new Error('b')])
  assert.ok(both instanceof AggregateError)
  assert.deepEqual([both.message, both.errors[0]], ['a; b', one])
})
