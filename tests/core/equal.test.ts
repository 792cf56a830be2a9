import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { asJson, jsonEqual, project } from '../../lib/core/equal.ts'

test('JSON values are equal by content, in any order of fields', () => {
  assert.equal(jsonEqual({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }), true)
  for (
    const [a, b] of [
      [{ a: 1 }, { a: 2 }],
      [[1, 2], [2, 1]],
      [[1], [1, 1]],
      [[], {}],
      [null, {}],
      [{}, null],
      [0, false],
      ['', null],
      [{ a: {} }, { a: [] }],
      ['1', 1],
    ]
  ) {
    assert.equal(jsonEqual(a, b), false, `${JSON.stringify(a)} and ${JSON.stringify(b)}`)
    assert.equal(jsonEqual(b, a), false)
  }
})

test('an undefined field counts as absent; null is a value', () => {
  assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true)
  assert.equal(jsonEqual({ a: 1 }, { a: 1, b: undefined }), true)
  assert.equal(jsonEqual({ a: null }, {}), false)
  assert.equal(jsonEqual({}, { a: null }), false)
  assert.equal(jsonEqual({ a: undefined, b: 1 }, { b: 1, c: 2 }), false)
  assert.equal(jsonEqual([undefined], []), false)
})

test('inherited names are not fields, and "__proto__" is an ordinary field', () => {
  assert.equal(jsonEqual({}, { toString: undefined }), true)
  assert.equal(jsonEqual({ constructor: 'a' }, {}), false)
  assert.equal(jsonEqual({}, { constructor: 'a' }), false)
  const one = JSON.parse('{"data":{"__proto__":"a"}}') as unknown
  const two = JSON.parse('{"data":{"__proto__":"b"}}') as unknown
  assert.equal(jsonEqual(one, two), false)
  assert.equal(jsonEqual(one, JSON.parse('{"data":{"__proto__":"a"}}')), true)
  assert.equal(jsonEqual(project(one, one), project(two, two)), false)
})

test('equality matches the equality of canonical texts', () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  const canonical = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(canonical)
      : typeof value === 'object' && value !== null
      ? Object.keys(value).sort().map((key) => [key, canonical((value as Record<string, unknown>)[key])])
      : [value]
  const text = (value: unknown): string => JSON.stringify([Array.isArray(value), typeof value, canonical(value)])
  fc.assert(fc.property(value, value, (a, b) => jsonEqual(a, b) === (text(a) === text(b)) && jsonEqual(a, asJson(a))), {
    seed: 2,
    numRuns: 1000,
  })
})

test('a projection has only the fields of the mask, and lists as a whole', () => {
  const value = { spec: { replicas: 1, paused: false, list: [{ a: 1, b: 2 }] }, status: { x: 1 } }
  assert.deepEqual(project(value, { spec: { replicas: 9, list: [{ a: 0 }] } }), {
    spec: { replicas: 1, list: [{ a: 1, b: 2 }] },
  })
  assert.deepEqual(project(value, { spec: { replicas: undefined } }), { spec: {} })
  assert.equal(jsonEqual(project(value, { gone: { deep: 1 } }), {}), true)
  assert.deepEqual(project({ a: 1 }, { a: { b: 1 } }), { a: 1 })
})

test('a value projected by itself is unchanged', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
  fc.assert(fc.property(object, (value) => jsonEqual(project(value, value), value)), { seed: 3, numRuns: 500 })
})

test('a value as JSON is what the wire carries', () => {
  assert.deepEqual(asJson({ a: undefined, at: new Date(0), list: [undefined] }), {
    at: '1970-01-01T00:00:00.000Z',
    list: [null],
  })
  assert.equal(asJson(undefined), undefined)
})
