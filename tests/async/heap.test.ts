import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Heap } from '../../lib/async/heap.ts'

test('the smallest element is popped first, and none is lost, for any pushes and pops', () => {
  const operation = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -20, max: 20 }) }, {
    weight: 2,
    arbitrary: fc.constant('pop' as const),
  })
  fc.assert(fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
    const heap = new Heap<number>((a, b) => a < b)
    const model: number[] = []
    for (const each of operations) {
      if (each === 'pop') assert.equal(heap.pop(), model.shift())
      else {
        heap.push(each)
        model.push(each)
        model.sort((a, b) => a - b)
      }
      assert.equal(heap.size, model.length)
      assert.equal(heap.peek(), model[0])
      assert.deepEqual([...heap].sort((a, b) => a - b), model)
    }
  }))
})

test('undefined is a valid element', () => {
  const heap = new Heap<number | undefined>((a, b) => (a ?? 0) < (b ?? 0))
  for (const each of [2, undefined, 1]) heap.push(each)
  assert.deepEqual([heap.pop(), heap.pop(), heap.pop(), heap.size], [undefined, 1, 2, 0])
})

test('a cleared heap is empty and usable', () => {
  const heap = new Heap<number>((a, b) => a < b)
  heap.push(1)
  heap.clear()
  assert.equal(heap.pop(), undefined)
  heap.push(2)
  assert.equal(heap.pop(), 2)
})
