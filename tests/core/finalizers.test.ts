import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as finalizers from '../../lib/core/finalizers.ts'

test('a finalizer is appended once, and all of its occurrences are removed', () => {
  const object: { metadata: { finalizers?: string[] } } = { metadata: {} }
  assert.equal(finalizers.remove(object, 'a.dev/x'), false)
  assert.deepEqual(object, { metadata: {} })
  assert.deepEqual(
    [finalizers.add(object, 'a.dev/x'), finalizers.add(object, 'a.dev/x'), finalizers.add(object, 'b.dev/y')],
    [true, false, true],
  )
  assert.deepEqual(object.metadata.finalizers, ['a.dev/x', 'b.dev/y'])
  object.metadata.finalizers!.push('a.dev/x')
  assert.deepEqual([
    finalizers.has(object, 'a.dev/x'),
    finalizers.remove(object, 'a.dev/x'),
    finalizers.remove(object, 'a.dev/x'),
    finalizers.has(object, 'a.dev/x'),
  ], [true, true, false, false])
  assert.deepEqual(object.metadata.finalizers, ['b.dev/y'])
  const shared = Object.freeze(['a.dev/x'])
  const other = { metadata: { finalizers: shared as string[] } }
  assert.equal(finalizers.add(other, 'b.dev/y'), true)
  assert.equal(finalizers.remove(other, 'a.dev/x'), true)
  assert.deepEqual([shared, other.metadata.finalizers], [['a.dev/x'], ['b.dev/y']])
})
