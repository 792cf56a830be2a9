import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { QueueState } from '../../lib/queue/queue_state.ts'

/** client-go's workqueue, as slow and as plain as can be. */
class Model {
  queue: string[] = []
  dirty: string[] = []
  processing: string[] = []
  delayed: { key: string; due: number; order: number }[] = []
  order = 0

  add(key: string): void {
    if (this.dirty.includes(key)) return
    this.dirty.push(key)
    if (!this.processing.includes(key)) this.queue.push(key)
  }
  addAt(key: string, due: number): void {
    const known = this.delayed.find((entry) => entry.key === key)
    if (known && known.due <= due) return
    this.delayed = this.delayed.filter((entry) => entry !== known)
    this.delayed.push({ key, due, order: this.order++ })
    this.delayed.sort((a, b) => a.due - b.due || a.order - b.order)
  }
  promote(now: number): void {
    while (this.delayed[0] && this.delayed[0].due <= now) this.add(this.delayed.shift()!.key)
  }
  take(): string | undefined {
    const key = this.queue.shift()
    if (key === undefined) return undefined
    this.dirty = this.dirty.filter((each) => each !== key)
    this.processing.push(key)
    return key
  }
  done(key: string): void {
    if (!this.processing.includes(key)) return
    this.processing = this.processing.filter((each) => each !== key)
    if (this.dirty.includes(key)) this.queue.push(key)
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('addAt' as const), key, ms: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(30) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dropDelayed' as const) }) },
)

test('whatever is done to it, it does what the plain model of client-go’s queue does', () => {
  fc.assert(fc.property(fc.array(operation, { maxLength: 400, size: 'max' }), (operations) => {
    const state = new QueueState<string>()
    const model = new Model()
    let now = 0
    for (const each of operations) {
      switch (each.do) {
        case 'add':
          state.add(each.key)
          model.add(each.key)
          break
        case 'addAt':
          state.addAt(each.key, now + each.ms)
          model.addAt(each.key, now + each.ms)
          break
        case 'pass':
          now += each.ms
          state.promote(now)
          model.promote(now)
          break
        case 'take': {
          const before = [...model.processing]
          const taken = state.take()
          assert.equal(taken, model.take())
          assert.ok(taken === undefined || !before.includes(taken), `"${taken}" was handed out twice`)
          break
        }
        case 'done':
          state.done(each.key)
          model.done(each.key)
          break
        case 'dropDelayed':
          state.dropDelayed()
          model.delayed = []
          break
      }
      assert.deepEqual(
        [state.length, state.processing, state.delayed, state.nextDueMs(), state.idle],
        [model.queue.length, model.processing.length, model.delayed.length, model.delayed[0]?.due, model.dirty.length + model.processing.length === 0],
      )
    }
    // Nothing is lost: what is still wanted comes out.
    state.promote(Infinity)
    model.promote(Infinity)
    for (const each of [...model.processing]) {
      state.done(each)
      model.done(each)
    }
    for (let taken = model.take(); taken !== undefined; taken = model.take()) assert.equal(state.take(), taken)
    assert.equal(state.take(), undefined)
  }), { numRuns: 300 })
})

test('N adds while a key is in work are one more turn, behind those that wait', () => {
  const state = new QueueState<string>()
  state.add('a')
  assert.equal(state.take(), 'a')
  state.add('b')
  for (let i = 0; i < 10; i++) state.add('a')
  assert.equal(state.length, 1)
  state.done('a')
  assert.deepEqual([state.take(), state.take(), state.take()], ['b', 'a', undefined])
})

test('a second delay keeps the earlier time, and equal times leave in the order they were asked for', () => {
  const state = new QueueState<string>()
  for (const [key, due] of [['late', 50], ['x', 30], ['y', 30], ['late', 20], ['x', 40]] as const) state.addAt(key, due)
  assert.equal(state.nextDueMs(), 20)
  state.promote(30)
  assert.deepEqual([state.take(), state.take(), state.take(), state.take()], ['late', 'x', 'y', undefined])
  assert.equal(state.nextDueMs(), undefined)
})

test('a key that is asked for ever earlier comes once, at the earliest time', () => {
  const state = new QueueState<string>()
  for (let due = 2000; due > 0; due--) for (const key of ['a', 'b']) state.addAt(key, due)
  assert.deepEqual([state.delayed, state.nextDueMs()], [2, 1])
  state.addAt('c', 1)
  state.promote(5000)
  assert.deepEqual([state.take(), state.take(), state.take(), state.take(), state.nextDueMs()], ['a', 'b', 'c', undefined, undefined])
})

test('a plain add does not cancel a delayed one', () => {
  const state = new QueueState<string>()
  state.addAt('a', 10)
  state.add('a')
  state.done(state.take()!)
  state.promote(10)
  assert.equal(state.take(), 'a')
})

test('done of a key that was not handed out changes nothing', () => {
  const state = new QueueState<string>()
  state.add('a')
  state.done('a')
  assert.deepEqual([state.length, state.take(), state.take()], [1, 'a', undefined])
})

test('order holds across a burst that is larger than what is kept of consumed keys', () => {
  const state = new QueueState<number>()
  let [next, expected] = [0, 0]
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 1000; i++) state.add(next++)
    for (let i = 0; i < 900; i++) {
      assert.equal(state.take(), expected)
      state.done(expected++)
    }
  }
  assert.equal(state.length, 2000)
  while (state.length > 0) assert.equal(state.take(), expected++)
  assert.equal(expected, next)
})
