/** Refinements without CEL, which only admission checks, and the options of a definition's validation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { defineResource, type ZodSchema } from '../../lib/schema/define_resource.ts'

const names = { group: 'example.com', version: 'v1', kind: 'Foo' } as const

function define<Spec extends ZodSchema>(spec: Spec, status?: ZodSchema) {
  return defineResource({ ...names, spec, ...(status && { status }), refinements: 'admission' }).definition
}

function specOf(spec: ZodSchema, refinements?: 'admission'): unknown {
  const { definition } = defineResource({ ...names, spec, ...(refinements && { refinements }) })
  const root = definition.crd.spec.versions[0]!.schema.openAPIV3Schema as { properties: { spec: unknown } }
  return root.properties.spec
}

test('refinements are left out of the CustomResourceDefinition, and checked by validate', () => {
  const field = z.string().min(1)
  const plain = z.object({ a: field, list: z.array(z.object({ b: z.int() })).optional() })
  const refined = z.object({
    a: field.refine((text) => text === text.trim(), 'has spaces around'),
    list: z.array(z.object({ b: z.int().check(z.refine((n) => n % 2 === 0, 'is odd')) })).optional(),
  }).superRefine(({ a, list }, context) => {
    if (a === 'list' && !list) context.addIssue({ code: 'custom', path: ['list'], message: 'is missing' })
  })
  assert.deepEqual(specOf(refined, 'admission'), specOf(plain))
  const definition = define(refined)
  assert.equal(definition.hasRefinements, true)
  assert.deepEqual(definition.validate({ spec: { a: 'x', list: [{ b: 2 }] } }), [])
  assert.deepEqual(definition.validate({ spec: { a: ' x', list: [{ b: 2 }, { b: 3 }] } }), [
    { field: 'spec.a', message: 'has spaces around' },
    { field: 'spec.list[1].b', message: 'is odd' },
  ])
  assert.deepEqual(definition.validate({ spec: { a: 'list' } }), [{ field: 'spec.list', message: 'is missing' }])
})

test('a definition says whether it has refinements that only admission checks', () => {
  const rules = { 'x-kubernetes-validations': [{ rule: 'self.a != ""' }] }
  const ruled = z.object({ a: z.string() }).refine(() => true).meta(rules)
  assert.equal(define(z.object({ a: z.string() })).hasRefinements, false)
  assert.equal(define(ruled).hasRefinements, false)
  assert.equal(defineResource({ ...names, spec: ruled }).definition.hasRefinements, false)
  assert.equal(define(z.object({}), z.object({ a: z.string().refine(() => true) })).hasRefinements, true)
  assert.equal(define(mini.object({ a: mini.string().check(mini.refine(() => true)) })).hasRefinements, true)
  const union = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('a') }),
    z.object({ kind: z.literal('b'), n: z.int() }).refine(({ n }) => n > 0, 'n is not positive'),
  ])
  const inUnion = define(z.object({ u: union }))
  assert.equal(inUnion.hasRefinements, true)
  assert.deepEqual(inUnion.validate({ spec: { u: { kind: 'b', n: 0 } } }), [{
    field: 'spec.u',
    message: 'n is not positive',
  }])
})

test('without the option they are refused, and other checks by functions always', () => {
  const spec = z.object({ a: z.string().refine(() => true) })
  assert.throws(
    () => defineResource({ ...names, spec }),
    /spec\.a is a refinement, .*\.check\(cel\(rule, message\)\) of kubeloop\/schema, or define the kind with refinements: 'admission'/,
  )
  for (const other of [z.string().transform(Number), z.string().trim(), z.instanceof(URL)]) {
    assert.throws(() => define(z.object({ a: other })), TypeError)
  }
  assert.throws(
    () => defineResource({ ...names, spec, refinements: 'webhook' as 'admission' }),
    /^TypeError: Cannot define resource "Foo": refinements is "webhook"; it must be "admission"$/,
  )
})

test('validate leaves refinements out on request, also in unions', () => {
  const refined = z.object({ a: z.int().refine((n) => n > 0), b: z.string() }).refine(() => false)
  const { validate } = define(z.object({ one: refined, either: z.union([refined, z.object({ c: z.string() })]) }))
  const part = { a: 0, b: 'x' }
  assert.equal(validate({ spec: { one: part, either: part } }).length, 4)
  assert.deepEqual(validate({ spec: { one: part, either: part } }, { refinements: false }), [])
  const wrong = validate({ spec: { one: { a: 'x', b: 'x' }, either: part } }, { refinements: false })
  assert.deepEqual(wrong.map(({ field }) => field), ['spec.one.a'])
})

test('validate takes an equal spec or status, and the limits of an equal field, as the stored object has them', () => {
  const limited = z.object({
    list: z.array(z.string().max(2)),
    id: z.string().regex(/^a/).optional(),
    mode: z.enum(['on', 'off']).optional(),
    few: z.int().min(3).optional(),
    even: z.int().multipleOf(2).optional(),
  }).refine(({ list }) => list.length > 0, 'list is empty')
  const { validate } = define(limited, z.object({ n: z.int() }))
  const fields = (spec: unknown, old: unknown, more: object = {}) =>
    validate({ spec, ...more }, { old: { spec: old, ...more } }).map(({ field }) => field)
  const stored = { list: ['abc'], id: 'b', mode: 'old' }
  assert.deepEqual(fields(stored, stored), [])
  assert.deepEqual(fields({ ...stored, mode: 'on' }, stored), [])
  assert.deepEqual(fields({ ...stored, id: 'c' }, stored), ['spec.id', 'spec.mode'])
  const below = { list: ['a'], few: 1, even: 3 }
  assert.deepEqual(fields({ ...below, list: ['b'] }, below), [])
  assert.deepEqual(fields({ ...below, few: 2, even: 5 }, below), ['spec.few', 'spec.even'])
  assert.deepEqual(fields({ ...stored, list: ['abc', 'abc'] }, stored), ['spec.list[1]', 'spec.mode'])
  assert.deepEqual(fields({ list: [] }, { list: ['a'] }), ['spec'])
  assert.deepEqual(fields({ list: [], id: 'a' }, { list: [] }), ['spec'], 'a refinement concerns a changed spec')
  assert.deepEqual(fields({ list: ['a'] }, undefined), [])
  assert.deepEqual(fields({ list: ['abc'] }, undefined), ['spec.list[0]'])
  assert.deepEqual(fields({ list: ['a'] }, { list: ['b'] }, { status: { n: 'x' } }), [])
  const status = validate({ spec: { list: ['a'] }, status: { n: 'x' } }, { old: { spec: stored, status: { n: 1 } } })
  assert.deepEqual(status.map(({ field }) => field), ['status.n'])
  for (const old of [undefined, null, 'x', []]) assert.equal(validate({ spec: stored }, { old }).length, 3)
})
