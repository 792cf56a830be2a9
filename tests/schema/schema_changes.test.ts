/** Tests the comparison of schemas, which changes narrow, and which fields a schema prunes. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { structuralSchema } from '../../lib/schema/structural.ts'
import { changeText, isNarrowing, prunedField, schemaChanges } from '../../lib/schema/schema_changes.ts'
import type { JsonSchema } from '../../lib/core/resource.ts'
import * as z from 'zod'
import { isValid, stored } from './json_schema.ts'
import { cases, plainNode } from './random_schemas.ts'
import { tries } from '../tools/fuzz.ts'

const object = (properties: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
})
const ANYTHING = { 'x-kubernetes-preserve-unknown-fields': true }
const text = { type: 'string' }

/** A change of the field `f`, whether it narrows, and its text. */
const changes: readonly (readonly [string, JsonSchema, JsonSchema, boolean, string])[] = [
  ['a lower maximum', { maximum: 5 }, { maximum: 4 }, true, 'maximum of f is 4, not 5'],
  ['a higher maximum', { maximum: 5 }, { maximum: 6 }, false, 'maximum of f is 6, not 5'],
  ['a new maximum', {}, { maximum: 4 }, true, 'maximum of f is 4, not absent'],
  ['a removed maximum', { maximum: 4 }, {}, false, 'maximum of f is absent, not 4'],
  ['a higher minimum', { minimum: 0 }, { minimum: 1 }, true, 'minimum of f is 1, not 0'],
  ['a lower minimum', { minimum: 1 }, { minimum: 0 }, false, 'minimum of f is 0, not 1'],
  ['a lower maximum length', { maxLength: 5 }, { maxLength: 4 }, true, 'maxLength of f is 4, not 5'],
  ['a higher minimum of items', { minItems: 1 }, { minItems: 2 }, true, 'minItems of f is 2, not 1'],
  [
    'an exclusive limit',
    { minimum: 1 },
    { minimum: 1, exclusiveMinimum: true },
    true,
    'exclusiveMinimum of f is true, not absent',
  ],
  ['a removed value', { enum: ['a', 'b'] }, { enum: ['a'] }, true, 'enum of f is ["a"], not ["a","b"]'],
  ['an added value', { enum: ['a'] }, { enum: ['b', 'a'] }, false, 'enum of f is ["b","a"], not ["a"]'],
  ['another value', { enum: ['a'] }, { enum: ['b'] }, true, 'enum of f is ["b"], not ["a"]'],
  [
    'a new required field',
    { required: ['a'] },
    { required: ['a', 'b'] },
    true,
    'required of f is ["a","b"], not ["a"]',
  ],
  [
    'a removed required field',
    { required: ['a', 'b'] },
    { required: ['b'] },
    false,
    'required of f is ["b"], not ["a","b"]',
  ],
  ['the first required field', {}, { required: ['a'] }, true, 'required of f is ["a"], not absent'],
  [
    'another type',
    { ...text, maxLength: 3 },
    { type: 'integer', minimum: 3 },
    true,
    'type of f is "integer", not "string"',
  ],
  ['another pattern', { pattern: 'a' }, { pattern: 'b' }, true, 'pattern of f is "b", not "a"'],
  ['a removed pattern', { pattern: 'a' }, {}, false, 'pattern of f is absent, not "a"'],
  [
    'another alternative',
    { anyOf: [{ minimum: 1 }] },
    { anyOf: [{ minimum: 0 }] },
    true,
    'anyOf of f is [{"minimum":0}], not [{"minimum":1}]',
  ],
  ['a rule', {}, { 'x-kubernetes-validations': [] }, true, 'x-kubernetes-validations of f is [], not absent'],
  ['null no longer allowed', { ...text, nullable: true }, text, true, 'nullable of f is absent, not true'],
  ['null allowed', text, { ...text, nullable: true }, false, 'nullable of f is true, not absent'],
  [
    'unknown fields no longer kept',
    object({}, ANYTHING),
    object({}),
    true,
    'additionalProperties of f is absent, not {}',
  ],
  ['unknown fields kept', object({}), object({}, ANYTHING), false, 'additionalProperties of f is {}, not absent'],
  ['a type where any was allowed', ANYTHING, text, true, 'type of f is "string", not "anything"'],
  [
    'any type instead of one',
    text,
    ANYTHING,
    false,
    'type of f is "anything", not "string"; additionalProperties of f is {}, not absent',
  ],
  [
    'numbers no longer allowed',
    { 'x-kubernetes-int-or-string': true },
    text,
    true,
    'type of f is "string", not "int-or-string"',
  ],
  ['numbers allowed', text, { 'x-kubernetes-int-or-string': true }, true, 'type of f is "int-or-string", not "string"'],
  [
    'a map no longer',
    { type: 'object', additionalProperties: text },
    object({}),
    true,
    'additionalProperties of f is absent, not {"type":"string"}',
  ],
  [
    'a map now',
    object({}),
    { type: 'object', additionalProperties: text },
    false,
    'additionalProperties of f is {"type":"string"}, not absent',
  ],
  [
    'a map of other values',
    { type: 'object', additionalProperties: text },
    { type: 'object', additionalProperties: { type: 'integer' } },
    true,
    'type of f{} is "integer", not "string"',
  ],
  ['another default', { default: 1 }, { default: 2 }, false, 'default of f is 2, not 1'],
  ['a default of false', {}, { default: false }, false, 'default of f is false, not absent'],
  ['a removed default', { default: 1 }, {}, false, 'default of f is absent, not 1'],
  ['a field less', object({ a: text, b: text }), object({ a: text }), true, 'f.b is missing'],
  ['a field more', object({ a: text }), object({ a: text, b: text }), false, 'f.b is new'],
  [
    'a typed field in an open object',
    object({}, ANYTHING),
    object({ b: text }, ANYTHING),
    true,
    'type of f.b is "string", not "anything"',
  ],
]

for (const [name, from, to, narrows, said] of changes) {
  test(`${name} ${narrows ? 'narrows' : 'does not narrow'}`, () => {
    const found = schemaChanges(object({ f: from }), object({ f: to }))
    assert.equal(found.map(changeText).join('; '), said)
    assert.equal(found.some(isNarrowing), narrows)
  })
}

test('changes in lists and maps are found, each with its path', () => {
  const at = (max: number): JsonSchema =>
    object({
      l: {
        type: 'array',
        items: object({ m: { type: 'object', additionalProperties: { type: 'integer', maximum: max } } }),
      },
    })
  const schema = { type: 'integer', maximum: 1 }
  assert.deepEqual(schemaChanges(at(1), at(2)), [{ path: 'l[].m{}', keyword: 'maximum', from: 1, to: 2, schema }])
})

test('all changes are found, and a change of the root is named', () => {
  const found = schemaChanges(
    object({ a: text, b: text }, { required: ['a'] }),
    object({ a: { type: 'integer' }, c: text }),
  )
  assert.deepEqual(
    found.map(changeText).toSorted(),
    ['b is missing', 'c is new', 'required of the object is absent, not ["a"]', 'type of a is "integer", not "string"']
      .toSorted(),
  )
})

test('a removed field of an open object allows any value, and nullable is no change', () => {
  const found = schemaChanges(object({ b: { ...text, default: 'x' } }, ANYTHING), object({}, ANYTHING))
  assert.deepEqual([found.map(changeText), found.some(isNarrowing)], [[
    'type of b is "anything", not "string"',
    'default of b is absent, not "x"',
    'additionalProperties of b is {}, not absent',
  ], false])
  assert.deepEqual(schemaChanges({ ...ANYTHING, nullable: true }, ANYTHING), [])
})

test('false flags, which the server drops, and descriptions are no change', () => {
  const plain = object({ a: text, d: text, m: { type: 'object', additionalProperties: {} } })
  const wordy = object({
    a: { ...text, description: 'x', title: 'y', example: 'z', nullable: false, exclusiveMaximum: false },
    d: { ...text, default: undefined, externalDocs: { url: 'https://example.com' } },
    m: { type: 'object', additionalProperties: true },
  }, { description: 'z' })
  assert.deepEqual([schemaChanges(plain, wordy), schemaChanges(wordy, plain)], [[], []])
})

test('a field named like a method of every object is compared', () => {
  assert.deepEqual(schemaChanges(object({}), object({ constructor: text })).map(changeText), ['constructor is new'])
})

const prunes: readonly (readonly [string, unknown, JsonSchema, string | undefined])[] = [
  ['nothing of a valid object', { a: 'x' }, object({ a: text }), undefined],
  ['an unknown field', { a: 'x', b: 1 }, object({ a: text }), 'b'],
  [
    'a nested field',
    { a: [{ b: 1 }, { c: { d: 1 } }] },
    object({ a: { type: 'array', items: object({ b: text, c: object({}) }) } }),
    'a[1].c.d',
  ],
  ['nothing of a map', { a: { b: 'x' } }, object({ a: { type: 'object', additionalProperties: text } }), undefined],
  [
    "a field of a map's value",
    { a: { b: { c: 1 } } },
    object({ a: { type: 'object', additionalProperties: object({}) } }),
    'a.b.c',
  ],
  ['nothing of an open field', { a: { b: { c: [1, { d: 1 }] } } }, object({ a: ANYTHING }), undefined],
  ['nothing of an open object', { a: { b: { c: 1 } } }, object({ a: object({}, ANYTHING) }), undefined],
  [
    'a field of a typed field in an open object',
    { a: { b: { c: 1 } } },
    object({ a: object({ b: object({}) }, ANYTHING) }),
    'a.b.c',
  ],
  ['all of an object without fields', { a: { b: 1 } }, object({ a: { type: 'object' } }), 'a.b'],
  ['a field called constructor', { constructor: 1 }, object({ a: text }), 'constructor'],
  ['nothing of a null', { a: null }, object({ a: object({}) }), undefined],
]

for (const [name, value, schema, expected] of prunes) {
  test(`a server prunes ${name}`, () => assert.equal(prunedField(value, schema), expected))
}

test('pruning a stored value finds nothing', () => {
  fc.assert(
    fc.property(cases(plainNode), ([schema, value]) => {
      const crd = structuralSchema(schema, { kind: 'Random', path: 'spec' }) as Record<string, unknown>
      if (schema.safeParse(value).success) assert.equal(prunedField(stored(crd, value), crd), undefined)
    }),
    { numRuns: 500 },
  )
})

test('a change that does not narrow keeps every value valid and unpruned', () => {
  let kept = 0
  fc.assert(
    fc.property(cases(plainNode), cases(plainNode), ([from, value], [to]) => {
      const [a, b] = [from, to].map((schema) =>
        structuralSchema(schema, { kind: 'Random', path: 'spec' }) as Record<string, unknown>
      ) as [Record<string, unknown>, Record<string, unknown>]
      const before = stored(a, value)
      if (!isValid(a, before) || schemaChanges(a, b).some(isNarrowing)) return
      assert.ok(
        isValid(b, stored(b, before)),
        `${JSON.stringify(a)} took ${JSON.stringify(before)}, ${JSON.stringify(b)} does not`,
      )
      assert.equal(prunedField(before, b), undefined)
      kept++
    }),
    { numRuns: tries(1500) },
  )
  // About 30 of 1500 on average.
  assert.ok(kept > 5, `only ${kept} pairs did not narrow`)
})

test('a schema does not differ from itself', () => {
  fc.assert(
    fc.property(cases(plainNode), ([schema]) => {
      const place = { kind: 'Random', path: 'spec' }
      assert.deepEqual(
        schemaChanges(
          structuralSchema(schema, place),
          structuralSchema(z.object({}).extend((schema as z.ZodObject).shape), place),
        ),
        [],
      )
    }),
    { numRuns: 200 },
  )
})
