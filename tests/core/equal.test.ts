import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cloneJson } from '../../lib/core/clone.ts'
import { jsonEqual, project } from '../../lib/core/equal.ts'
import { asJson } from '../../lib/core/exact_json.ts'
import { tries } from '../tools/fuzz.ts'
import { mutated } from '../tools/hostile.ts'

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

test('fuzz: equality matches the equality of canonical texts, both ways, and that of a copy', () => {
  const key = fc.oneof(fc.constantFrom('a', '__proto__', 'constructor', 'toString', ''), fc.string())
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))
  const canonical = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(canonical)
      : typeof value === 'object' && value !== null
      ? { fields: Object.keys(value).sort().map((key) => [key, canonical((value as Record<string, unknown>)[key])]) }
      : value
  const text = (value: unknown): string => JSON.stringify(canonical(value))
  const pair = fc.oneof(fc.tuple(value, value), value.chain((a) => mutated(a, 1).map((b) => [a, b] as const)))
  fc.assert(
    fc.property(pair, ([a, other]) => {
      const [b, copy] = asJson([other, a], '') as readonly unknown[]
      const isSame = text(a) === text(b)
      assert.deepEqual([jsonEqual(a, b), jsonEqual(b, a)], [isSame, isSame])
      assert.ok(jsonEqual(a, cloneJson(a)) && jsonEqual(cloneJson(a), copy))
      assert.ok(jsonEqual(project(a, a), a) && (!isSame || jsonEqual(project(a, b), b)))
    }),
    { numRuns: tries(1000), examples: [[[JSON.parse('{"__proto__":{}}'), {}]]] },
  )
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

test('a value as JSON is what the wire carries', () => {
  assert.deepEqual(asJson({ a: undefined, at: new Date(0), list: [undefined] }, ''), {
    at: '1970-01-01T00:00:00.000Z',
    list: [null],
  })
  for (const none of [undefined, null]) assert.throws(() => asJson(none, 'set it'), /^TypeError: Cannot set it: it is /)
})
