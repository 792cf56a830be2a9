import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from '../../lib/async/bounded_map.ts'

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
      for (const [key, value] of model) assert.equal(map.get(key), value)
      assert.deepEqual([...map], model)
    })
  }))
})
