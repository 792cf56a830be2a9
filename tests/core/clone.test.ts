import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cloneJson } from '../../lib/core/clone.ts'

test('a copy of any JSON value is equal and shares no object with it', () => {
  fc.assert(fc.property(fc.json().map((text) => JSON.parse(text) as unknown), (value) => {
    const copy = cloneJson(value)
    assert.equal(JSON.stringify(copy), JSON.stringify(value))
    assert.ok(sharesNothing(value, copy))
  }))
})

test('a key "__proto__" is copied like any other', () => {
  const value = JSON.parse('{"data":{"__proto__":{"a":1},"b":2}}') as { data: object }
  const copy = cloneJson(value)
  assert.deepEqual(Object.keys(copy.data), ['__proto__', 'b'])
  assert.equal(JSON.stringify(copy), JSON.stringify(value))
  assert.equal(Object.getPrototypeOf(copy.data), Object.prototype)
})

function sharesNothing(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return true
  return a !== b &&
    Object.keys(a).every((key) =>
      sharesNothing((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
    )
}
