import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from '../../lib/async/bounded_map.ts'

test('a new key in a full map drops the entry that was set longest ago', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('c', 3)
  assert.deepEqual([...map], [['b', 2], ['c', 3]])
  map.set('d', 4)
  assert.deepEqual([...map.keys()], ['c', 'd'])
})

test('setting a known key makes it the newest and drops nothing', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('b', 3)
  assert.deepEqual([...map], [['a', 1], ['b', 3]])
  map.set('a', 4)
  assert.deepEqual([...map], [['b', 3], ['a', 4]])
  map.set('c', 5)
  assert.deepEqual([...map.keys()], ['a', 'c'])
})

test('reading a key does not change the order', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2)
  assert.deepEqual([map.get('a'), map.has('a'), map.get('x')], [1, true, undefined])
  map.set('c', 3)
  assert.equal(map.get('a'), undefined)
})

test('a deleted entry leaves room for another', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2)
  assert.deepEqual([map.delete('a'), map.delete('a')], [true, false])
  map.set('c', 3)
  assert.deepEqual([...map.keys()], ['b', 'c'])
  map.clear()
  assert.equal(map.size, 0)
})

test('it holds the last keys that were set, never more than the maximum', () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ set: fc.nat(8) }) },
    { weight: 2, arbitrary: fc.record({ delete: fc.nat(8) }) },
    { weight: 1, arbitrary: fc.constant('clear' as const) },
  )
  fc.assert(fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
    const map = new BoundedMap<number, number>(max)
    let model: [number, number][] = []
    steps.forEach((each, at) => {
      if (each === 'clear') {
        map.clear()
        model = []
      } else if ('delete' in each) {
        map.delete(each.delete)
        model = model.filter(([key]) => key !== each.delete)
      } else {
        map.set(each.set, at)
        model = [...model.filter(([key]) => key !== each.set), [each.set, at] as [number, number]].slice(-max)
      }
      assert.deepEqual([...map], model)
    })
  }))
})
