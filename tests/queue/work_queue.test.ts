import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WorkQueue } from '../../lib/queue/work_queue.ts'
import { nextTurn } from '../../lib/runtime/turn.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'

const never = new AbortController().signal

test('keys leave in the order they came, once', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  assert.equal(queue.length, 3)
  assert.deepEqual([await queue.get(never), await queue.get(never), await queue.get(never)], ['a', 'b', 'c'])
})

test('workers that wait are served in the order they came', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const order: string[] = []
  const workers = ['first', 'second'].map((name) => queue.get(never).then((key) => order.push(`${name} ${key}`)))
  queue.add('a')
  // Late, and must not overtake those that wait while the hand-out is on its way.
  workers.push(queue.get(never).then((key) => order.push(`third ${key}`)))
  queue.add('b')
  queue.add('c')
  await Promise.all(workers)
  assert.deepEqual(order, ['first a', 'second b', 'third c'])
})

test('several adds in one turn are one key, also when a worker waits', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const got = queue.get(never)
  queue.add('a')
  queue.add('a')
  assert.equal(await got, 'a')
  queue.done('a')
  assert.equal(queue.length, 0)
})

test('a key in work is not handed out; N adds meanwhile are one more time', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  queue.add('a')
  await queue.get(never)
  let second: string | undefined
  const waiting = queue.get(never).then((key) => (second = key))
  for (let i = 0; i < 5; i++) queue.add('a')
  await nextTurn()
  assert.equal(second, undefined)
  queue.done('a')
  assert.equal(await waiting, 'a')
  queue.done('a')
  assert.equal(queue.idle, true)
})

test('an aborted get leaves the key to others and no listener behind', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const { controller, listeners } = countedSignal()
  const gone = queue.get(controller.signal)
  controller.abort(new Error('stop'))
  await assert.rejects(gone, /stop/)
  const patient = countedSignal()
  const stays = queue.get(patient.controller.signal)
  queue.add('a')
  assert.equal(await stays, 'a')
  assert.deepEqual([listeners() <= 1, patient.listeners()], [true, 0])
})

test('a worker that aborts while the hand-out is on its way loses no key', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const controller = new AbortController()
  const gone = queue.get(controller.signal)
  queue.add('a')
  controller.abort(new Error('stop'))
  await assert.rejects(gone, /stop/)
  assert.equal(await queue.get(never), 'a')
})

test('a delayed key comes at its time; two delays keep the earlier; one timer serves all', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('late', { afterMs: 300 })
  queue.add('a', { afterMs: 200 })
  queue.add('a', { afterMs: 100 })
  queue.add('a', { afterMs: 150 })
  assert.deepEqual([queue.length, queue.delayed, clock.pending, queue.idle], [0, 2, 1, true])
  await clock.advance(99)
  assert.equal(queue.length, 0)
  await clock.advance(1)
  assert.equal(await queue.get(never), 'a')
  queue.done('a')
  await clock.advance(150)
  assert.deepEqual([queue.length, queue.delayed], [0, 1])
  await clock.advance(50)
  assert.equal(await queue.get(never), 'late')
  assert.equal(clock.pending, 0)
})

test('a timer that fires early promotes nothing early, and is set again', async () => {
  const timers: { fire: () => void; ms: number }[] = []
  let now = 0
  const queue = new WorkQueue<string>({ clock: { now: () => now, monotonic: () => now, after: (ms, fire) => (timers.push({ fire, ms }), () => {}) } })
  queue.add('a', { afterMs: 10 })
  now = 9.4
  timers.shift()!.fire()
  assert.deepEqual([queue.length, queue.delayed, timers.length], [0, 1, 1])
  now = 10
  timers.shift()!.fire()
  assert.deepEqual([queue.length, queue.delayed, timers.length], [1, 0, 0])
})

test('retry waits as the limiter says, and forget begins anew', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  assert.deepEqual([queue.retry('a'), queue.retry('a'), queue.failures('a')], [5, 10, 2])
  queue.forget('a')
  assert.deepEqual([queue.retry('a'), queue.failures('a')], [5, 1])
  await clock.advance(5)
  assert.equal(queue.length, 1)
})

test('shutting down hands out what waits, drops what is delayed, takes nothing more, and frees the workers', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('a')
  queue.add('later', { afterMs: 10 })
  await queue.shutDown()
  queue.add('b')
  queue.add('c', { afterMs: 1 })
  assert.deepEqual([clock.pending, queue.delayed], [0, 0])
  assert.deepEqual([await queue.get(never), await queue.get(never)], ['a', undefined])
  const idle = new WorkQueue<string>({ clock })
  const workers = [idle.get(never), idle.get(never)]
  await idle.shutDown()
  assert.deepEqual(await Promise.all(workers), [undefined, undefined])
})

test('draining waits for what is in work and for what it brings back; every drain is told', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  queue.add('a')
  await queue.get(never)
  queue.add('a')
  let drained = 0
  const drains = [queue.shutDown({ drain: true }), queue.shutDown({ drain: true })].map((drain) => drain.then(() => drained++))
  queue.done('a')
  await nextTurn()
  assert.equal(drained, 0)
  assert.equal(await queue.get(never), 'a')
  queue.done('a')
  await Promise.all(drains)
  assert.equal(drained, 2)
  await queue.shutDown({ drain: true })
})

test('a plain shut down ends a drain', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  queue.add('stuck')
  await queue.get(never)
  const drain = queue.shutDown({ drain: true })
  await queue.shutDown()
  await drain
})

test('onTake hears of a key as it is handed out, before anything can be added to the next time', async () => {
  const heard: string[] = []
  const queue = new WorkQueue<string>({ clock: new FakeClock(), onTake: (key) => heard.push(key) })
  const got = queue.get(never)
  queue.add('a')
  assert.deepEqual(heard, [])
  await got
  assert.deepEqual(heard, ['a'])
})

test('with any number of workers and any adds, no key is in two hands and none is lost', async () => {
  const add = fc.record({ key: fc.constantFrom('a', 'b', 'c'), afterMs: fc.constantFrom(0, 0, 3, 7), passMs: fc.nat(4) })
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(add, { maxLength: 25, size: 'max' }), fc.array(fc.nat(6), { maxLength: 25, size: 'max' }), async (count, adds, works) => {
    const clock = new FakeClock()
    const queue = new WorkQueue<string>({ clock })
    const inWork = new Set<string>()
    const stop = new AbortController()
    const lastAdded = new Map<string, number>()
    const lastBegun = new Map<string, number>()
    let step = 0
    const work = async (): Promise<void> => {
      for (let key = await queue.get(stop.signal); key !== undefined; key = await queue.get(stop.signal)) {
        assert.ok(!inWork.has(key), `"${key}" is in two hands`)
        inWork.add(key)
        lastBegun.set(key, step++)
        const ms = works.shift() ?? 0
        if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve))
        inWork.delete(key)
        queue.done(key)
      }
    }
    const workers = Array.from({ length: count }, work)
    for (const { key, afterMs, passMs } of adds) {
      lastAdded.set(key, step++)
      queue.add(key, { afterMs })
      if (passMs > 0) await clock.advance(passMs)
    }
    await clock.advance(1000)
    assert.deepEqual([queue.idle, queue.delayed, inWork.size], [true, 0, 0])
    for (const [key, at] of lastAdded) assert.ok((lastBegun.get(key) ?? -1) > at, `"${key}" was not worked on after it was added last`)
    await queue.shutDown({ drain: true })
    await Promise.all(workers)
  }), { numRuns: 60 })
})
