/** Tests that the memory of a queue is bounded by its current keys, not by its history. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DelayedKeys } from '../../lib/queue/delayed_keys.ts'
import { KeyTable, PriorityOrder } from '../../lib/queue/priority_order.ts'
import { QueueState } from '../../lib/queue/queue_state.ts'
import { exponentialLimiter } from '../../lib/queue/rate_limiter.ts'
import { WorkQueue } from '../../lib/queue/work_queue.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { collector, leftOf, UNCOLLECTED } from '../tools/collector.ts'

const never = new AbortController().signal
const MANY = 20_000

test('a key that is added with ever earlier times leaves a bounded number of replaced entries', () => {
  const keys = new DelayedKeys<string>()
  for (let due = MANY; due > 0; due--) {
    keys.add('a', due, 0, false)
    assert.ok(keys.entries <= 2 * keys.size + 64, `${keys.entries} entries of ${keys.size} keys`)
  }
  assert.deepEqual([keys.size, keys.nextDueMs(), keys.takeDue(MANY)], [1, 1, { key: 'a', priority: 0 }])
  assert.deepEqual([keys.size, keys.nextDueMs(), keys.takeDue(MANY)], [0, undefined, undefined])
})

test('cancelled retries leave a bounded number of replaced entries, with and without a plain delay', () => {
  for (const plain of [undefined, MANY]) {
    const keys = new DelayedKeys<string>()
    keys.add('first', 0, 0, false)
    if (plain !== undefined) keys.add('a', plain, 0, false)
    const size = keys.size
    for (let i = 0; i < MANY / 10; i++) {
      keys.add('a', 10, 0, true)
      assert.equal(keys.cancelRetry('a'), true)
      assert.equal(keys.cancelRetry('a'), false)
      assert.equal(keys.size, size)
      assert.ok(keys.entries <= 2 * keys.size + 64, `${keys.entries} entries of ${keys.size} keys`)
    }
    for (let i = 0; plain === undefined && i < MANY / 10; i++) {
      keys.add('removed', 10, 0, true)
      keys.remove('removed')
      assert.ok(keys.entries <= 2 * keys.size + 64, `${keys.entries} entries of ${keys.size} keys`)
    }
    assert.equal(keys.takeDue(MANY - 1)?.key, 'first')
    assert.equal(keys.takeDue(MANY - 1), undefined)
    assert.equal(keys.takeDue(MANY)?.key, plain === undefined ? undefined : 'a')
    assert.deepEqual([keys.size, keys.nextDueMs(), keys.entries], [0, undefined, 0])
  }
})

test('clear removes all keys, and a key that is added afterwards is returned once', () => {
  const keys = new DelayedKeys<string>()
  for (let i = 0; i < 1000; i++) keys.add(`key-${i}`, i, 0, i % 2 === 0)
  keys.clear()
  assert.deepEqual([keys.size, keys.entries, keys.nextDueMs(), keys.cancelRetry('key-0')], [0, 0, undefined, false])
  keys.add('key-1', 5, 3, false)
  assert.deepEqual([keys.takeDue(5), keys.takeDue(5)], [{ key: 'key-1', priority: 3 }, undefined])
})

test('a table reuses the rows of deleted keys', () => {
  const table = new KeyTable<string>()
  const [one, other] = [table.add('one'), table.add('other')]
  for (let i = 0; i < MANY; i++) table.delete(table.add(`key-${i}`))
  assert.deepEqual([table.size, table.large, table.status.length], [2, false, 256])
  assert.deepEqual([table.keyOf(one), table.keyOf(other), table.slotOf('key-0')], ['one', 'other', undefined])
  table.delete(one)
  assert.equal(table.keyOf(one), undefined, 'the key of a free row is kept')
})

test('a growing table keeps all columns of each key, and doubles one column at a time', () => {
  const table = new KeyTable<number>()
  const columns = () => [
    table.status,
    table.priority,
    table.addedMs,
    table.turnPriority,
    table.takenMs,
    table.byPriority.before,
    table.byPriority.after,
    table.byAge.before,
    table.byAge.after,
  ]
  const valueOf = (column: number, row: number): number => (row * 9 + column) % 251
  let lengths = columns().map(({ length }) => length)
  for (let row = 0; row < 5000; row++) {
    const slot = table.add(row)
    const now = columns().map(({ length }) => length)
    const grown = now.filter((length, i) => length !== lengths[i])
    assert.ok(grown.length <= 1, `${grown.length} columns grew at the row ${row}`)
    assert.ok(now.every((length) => length > slot) && table.capacity > slot)
    lengths = now
    columns().forEach((column, i) => (column[slot] = valueOf(i, row)))
  }
  for (let row = 0; row < 5000; row++) {
    const slot = table.slotOf(row)!
    assert.deepEqual(columns().map((column) => column[slot]), columns().map((_, i) => valueOf(i, row)), `row ${row}`)
  }
})

test('after two hundred thousand keys were added, delayed, retried and removed, no memory is kept for them', async () => {
  const state = new QueueState<number>()
  const small = state.capacity
  for (let i = 0; i < 200_000; i++) state.add(i, 0, 0)
  assert.ok(state.capacity >= 200_000)
  for (let key = state.take(0); key !== undefined; key = state.take(0)) state.done(key)
  assert.deepEqual([state.capacity, state.length, state.processing, state.idle], [small, 0, 0, true])
  const clock = new FakeClock()
  const limiter = exponentialLimiter<number>()
  const queue = new WorkQueue<number>({ clock, limiter })
  for (let i = 0; i < 2_000; i++) {
    queue.retry(i)
    queue.add(i, { afterMs: 1000 })
    queue.forget(i)
  }
  assert.deepEqual([queue.delayed, clock.pending], [2_000, 1])
  await clock.advance(1000)
  assert.deepEqual([queue.length, queue.delayed, clock.pending], [2_000, 0, 0])
  for (let i = 0; i < 2_000; i++) queue.done((await queue.get(never))!)
  assert.deepEqual([queue.idle, queue.delayed, clock.pending], [true, 0, 0])
})

test('a queue that is emptied often makes no new table each time', (t) => {
  const original = globalThis.Float64Array
  let made = 0
  t.after(() => void (globalThis.Float64Array = original))
  globalThis.Float64Array = new Proxy(original, {
    construct: (...call) => (made++, Reflect.construct(...call) as object),
  })
  const state = new QueueState<string>()
  const first = made
  for (let i = 0; i < 100; i++) {
    state.add('a', 0, 0)
    state.done(state.take(0)!)
  }
  assert.deepEqual([first > 0, made - first], [true, 0])
})

test('raised keys, and keys that leave by age, leave a bounded number of empty priorities', () => {
  const table = new KeyTable<string>()
  const order = new PriorityOrder(table as KeyTable<unknown>)
  for (const key of ['other', 'it']) order.enter(table.add(key))
  const it = table.slotOf('it')!
  for (let priority = 1; priority <= MANY; priority++) order.raise(it, priority)
  assert.ok(order.levels <= 200, `${order.levels} levels of 2 keys`)
  assert.deepEqual([order.size, table.keyOf(order.first), [...order.depths()].sort()], [2, 'it', [[0, 1], [MANY, 1]]])
  // The highest key stays, as if the others left by age, so no other priority reaches the top.
  for (let priority = -MANY; priority < 0; priority++) {
    const slot = table.add('passing')
    table.priority[slot] = priority
    order.enter(slot)
    order.leave(slot)
    table.delete(slot)
  }
  assert.ok(order.levels <= 200, `${order.levels} levels of 2 keys`)
  order.leave(it)
  assert.equal(table.keyOf(order.first), 'other')
})

const collect = collector()
const uncollected = collect ? false : UNCOLLECTED

test('a limiter drops forgotten keys', { skip: uncollected }, async () => {
  const limiter = exponentialLimiter<object>()
  const forgotten = Array.from({ length: 8 }, () => {
    const key = {}
    limiter.when(key)
    limiter.forget(key)
    return new WeakRef(key)
  })
  assert.equal(await leftOf(forgotten, collect!), 0)
  assert.equal(limiter.failures({}), 0)
})

test('a queue drops workers that aborted their wait', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  for (let i = 0; i < 1000; i++) {
    const stop = new AbortController()
    const got = queue.get(stop.signal)
    stop.abort(new Error('stop'))
    await assert.rejects(got, /stop/)
  }
  // A worker that still waited would get the key, and nothing would process it.
  queue.add('a')
  assert.deepEqual([await queue.get(never), queue.length], ['a', 0])
})
