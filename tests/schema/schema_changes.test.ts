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
const closed = object({})
const open = object({}, ANYTHING)
const texts = { type: 'object', additionalProperties: text }
const either = { 'x-kubernetes-int-or-string': true }
const flag = { minimum: 1, exclusiveMinimum: true }

/** A change of the field `f`, whether it narrows, and its text, without ` of f`. */
const changes: readonly (readonly [string, JsonSchema, JsonSchema, boolean, string])[] = [
  ['a lower maximum', { maximum: 5 }, { maximum: 4 }, true, 'maximum is 4, not 5'],
  ['a higher maximum', { maximum: 5 }, { maximum: 6 }, false, 'maximum is 6, not 5'],
  ['a new maximum', {}, { maximum: 4 }, true, 'maximum is 4, not absent'],
  ['a removed maximum', { maximum: 4 }, {}, false, 'maximum is absent, not 4'],
  ['a higher minimum', { minimum: 0 }, { minimum: 1 }, true, 'minimum is 1, not 0'],
  ['a lower minimum', { minimum: 1 }, { minimum: 0 }, false, 'minimum is 0, not 1'],
  ['a lower maximum length', { maxLength: 5 }, { maxLength: 4 }, true, 'maxLength is 4, not 5'],
  ['a higher minimum of items', { minItems: 1 }, { minItems: 2 }, true, 'minItems is 2, not 1'],
  ['a lower maximum of entries', { maxProperties: 5 }, { maxProperties: 4 }, true, 'maxProperties is 4, not 5'],
  ['a new minimum of entries', {}, { minProperties: 1 }, true, 'minProperties is 1, not absent'],
  ['a removed minimum of entries', { minProperties: 1 }, {}, false, 'minProperties is absent, not 1'],
  ['an exclusive limit', { minimum: 1 }, flag, true, 'exclusiveMinimum is true, not absent'],
  ['a removed value', { enum: ['a', 'b'] }, { enum: ['a'] }, true, 'enum is ["a"], not ["a","b"]'],
  ['an added value', { enum: ['a'] }, { enum: ['b', 'a'] }, false, 'enum is ["b","a"], not ["a"]'],
  ['another value', { enum: ['a'] }, { enum: ['b'] }, true, 'enum is ["b"], not ["a"]'],
  ['a new required field', { required: ['a'] }, { required: ['a', 'b'] }, true, 'required is ["a","b"], not ["a"]'],
  [
    'a removed required field',
    { required: ['a', 'b'] },
    { required: ['b'] },
    false,
    'required is ["b"], not ["a","b"]',
  ],
  ['the first required field', {}, { required: ['a'] }, true, 'required is ["a"], not absent'],
  ['another type', { ...text, maxLength: 3 }, { type: 'integer', minimum: 3 }, true, 'type is "integer", not "string"'],
  ['another pattern', { pattern: 'a' }, { pattern: 'b' }, true, 'pattern is "b", not "a"'],
  ['a removed pattern', { pattern: 'a' }, {}, false, 'pattern is absent, not "a"'],
  [
    'another alternative',
    { anyOf: [{ minimum: 1 }] },
    { anyOf: [{ minimum: 0 }] },
    true,
    'anyOf is [{"minimum":0}], not [{"minimum":1}]',
  ],
  ['a rule', {}, { 'x-kubernetes-validations': [] }, true, 'x-kubernetes-validations is [], not absent'],
  ['null no longer allowed', { ...text, nullable: true }, text, true, 'nullable is absent, not true'],
  ['null allowed', text, { ...text, nullable: true }, false, 'nullable is true, not absent'],
  ['unknown fields no longer kept', open, closed, true, 'additionalProperties is absent, not {}'],
  ['unknown fields kept', closed, open, false, 'additionalProperties is {}, not absent'],
  ['a type where any was allowed', ANYTHING, text, true, 'type is "string", not "anything"'],
  [
    'any type instead of one',
    text,
    ANYTHING,
    false,
    'type is "anything", not "string"; additionalProperties is {}, not absent',
  ],
  ['numbers refused', either, text, true, 'type is "string", not "int-or-string"'],
  ['numbers allowed', text, either, true, 'type is "int-or-string", not "string"'],
  ['a map no longer', texts, closed, true, 'additionalProperties is absent, not {"type":"string"}'],
  ['a map now', closed, texts, false, 'additionalProperties is {"type":"string"}, not absent'],
  [
    'a map of other values',
    texts,
    { type: 'object', additionalProperties: { type: 'integer' } },
    true,
    'type of f{} is "integer", not "string"',
  ],
  ['another default', { default: 1 }, { default: 2 }, false, 'default is 2, not 1'],
  ['a default of false', {}, { default: false }, false, 'default is false, not absent'],
  ['a removed default', { default: 1 }, {}, false, 'default is absent, not 1'],
  ['a field less', object({ a: text, b: text }), object({ a: text }), true, 'f.b is missing'],
  ['a field more', object({ a: text }), object({ a: text, b: text }), false, 'f.b is new'],
  [
    'a typed field in an open object',
    open,
    object({ b: text }, ANYTHING),
    true,
    'type of f.b is "string", not "anything"',
  ],
]

for (const [name, from, to, narrows, said] of changes) {
  test(`${name} ${narrows ? 'narrows' : 'does not narrow'}`, () => {
    const found = schemaChanges(object({ f: from }), object({ f: to }))
    assert.equal(found.map(changeText).join('; ').replaceAll(' of f is ', ' is '), said)
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
    object({ a: { type: 'array', items: object({ b: text, c: closed }) } }),
    'a[1].c.d',
  ],
  ['nothing of a map', { a: { b: 'x' } }, object({ a: texts }), undefined],
  [
    "a field of a map's value",
    { a: { b: { c: 1 } } },
    object({ a: { ...texts, additionalProperties: closed } }),
    'a.b.c',
  ],
  ['nothing of an open field', { a: { b: { c: [1, { d: 1 }] } } }, object({ a: ANYTHING }), undefined],
  ['nothing of an open object', { a: { b: { c: 1 } } }, object({ a: open }), undefined],
  [
    'a field of a typed field in an open object',
    { a: { b: { c: 1 } } },
    object({ a: object({ b: closed }, ANYTHING) }),
    'a.b.c',
  ],
  ['all of an object without fields', { a: { b: 1 } }, object({ a: { type: 'object' } }), 'a.b'],
  ['a field called constructor', { constructor: 1 }, object({ a: text }), 'constructor'],
  ['nothing of a null', { a: null }, object({ a: closed }), undefined],
  [
    'no metadata of an embedded object',
    { a: { apiVersion: 'v1', kind: 'Foo', metadata: { name: 'b' } } },
    object({ a: { ...closed, 'x-kubernetes-embedded-resource': true } }),
    undefined,
  ],
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
    { numRuns: tries(500) },
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
  assert.ok(kept > 0, `only ${kept} pairs did not narrow`)
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
    { numRuns: tries(200) },
  )
})
