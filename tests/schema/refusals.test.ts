/** Tests that what a CRD cannot express is refused on definition, with its path and advice. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { userFrames } from '../../lib/observe/stack.ts'
import { cel } from '../../lib/schema/checks.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import type { $ZodType } from 'zod/v4/core'

const source = readFileSync(new URL(import.meta.url), 'utf8')

interface Tree {
  readonly children: readonly Tree[]
}
const recursive: z.ZodType<Tree> = z.object({
  get children() {
    return z.array(recursive)
  },
})
/** A schema whose getter makes a new schema on each call. */
function endless(): z.ZodType {
  return z.object({
    get next(): z.ZodType {
      return endless()
    },
  })
}
const lazily: z.ZodType = z.lazy(() => z.array(lazily))

const CHECKED_KEYS: readonly (readonly [string, z.ZodType])[] = [
  ['a pattern of keys', z.record(z.string().regex(/^[a-z]+$/), z.string())],
  ['a length of keys', z.record(z.string().min(2), z.string())],
  ['a maximum length of keys', z.record(z.string().max(63), z.string())],
  ['a format of keys', z.record(z.uuid(), z.string())],
  ['a change of keys', z.record(z.string().toLowerCase(), z.string())],
  ['a refinement of keys', z.record(z.string().refine((key) => key !== '..'), z.string())],
  ['a rule of keys', z.record(z.string().check(cel('self != ".."')), z.string())],
  ['a rule of keys as metadata', z.record(z.string().meta({ 'x-kubernetes-validations': [{ rule: 'x' }] }), z.int())],
  ['a rule of values beside a pattern of keys', z.record(z.string().regex(/^a/), z.string().check(cel('self != ""')))],
  ['a partial record with a pattern of keys', z.partialRecord(z.string().regex(/^a/), z.string())],
  ['a loose record', z.looseRecord(z.string().regex(/^a/), z.string())],
  ['a loose record of an enum', z.looseRecord(z.enum(['a']), z.string())],
  ['a refined enum of keys', z.record(z.enum(['a', 'b']).refine((key) => key !== 'b'), z.string())],
  ['a refined alternative of keys', z.record(z.union([z.literal('a'), z.enum(['b']).refine(() => false)]), z.string())],
]

const refused: readonly (readonly [string, $ZodType, RegExp])[] = [
  [
    'a transform',
    z.string().transform(Number),
    /at is a transform, which a CRD schema cannot express; parse where it is used/,
  ],
  ['a mini transform', mini.pipe(mini.string(), mini.transform(Number)), /at is a transform/],
  ['a codec', z.stringbool(), /at is a transform/],
  ['preprocessing', z.preprocess(String, z.string()), /at is a transform/],
  ['a coercion', z.coerce.number(), /at is coerced/],
  ['a Date', z.date(), /at is a Date, .*; use z\.iso\.datetime\(\)/],
  ['a bigint', z.bigint(), /at is a bigint/],
  ['a refinement', z.string().refine((s) => s === s.trim()), /at is a refinement, .*\.check\(cel\(rule, message\)\)/],
  ['a refinement of an object', z.object({}).superRefine(() => undefined), /at is a refinement/],
  ['a mini refinement', mini.string().check(mini.refine(() => true)), /at is a refinement/],
  [
    'a refinement in a field of an object with rules',
    z.array(z.string().refine(() => true)).meta({ 'x-kubernetes-validations': [{ rule: 'true' }] }),
    /spec\.at\[\] is a refinement/,
  ],
  ['trimming', z.string().trim(), /at is changed when it is read/],
  ['a catch', z.string().catch('x'), /at is a catch/],
  ['a tuple', z.tuple([z.string()]), /at is a tuple/],
  [
    'a map',
    z.map(z.string(), z.string()),
    /at is z\.map\(\), which a CRD schema cannot express; JSON has no such values/,
  ],
  ['a set', z.set(z.string()), /at is z\.set\(\)/],
  ['a class', z.instanceof(URL), /at is checked by a function/],
  ['never', z.never(), /at is z\.never\(\)/],
  ['undefined', z.undefined(), /at is z\.undefined\(\), which a CRD schema cannot express/],
  ['only null', z.null(), /at is nothing but null/],
  ['a literal undefined', z.literal([undefined]), /at is a literal undefined/],
  ['several types of values', z.literal(['a', 1]), /at is a set of values of several types \(string, number\)/],
  ['a union of types', z.union([z.string(), z.boolean()]), /at is a union of strings and booleans/],
  [
    'a union of numbers and strings',
    z.union([z.number(), z.string()]),
    /at is a union of numbers and strings, .*a field has one type, or is an integer or a string/,
  ],
  ['an exclusive union', z.xor([z.string(), z.int()]), /at is an exclusive union/],
  [
    'a field of two types',
    z.union([z.object({ a: z.string() }), z.object({ a: z.int() })]),
    /spec\.at\.a is a union of strings and integers/,
  ],
  [
    'a default in one alternative',
    z.union([z.object({ a: z.string() }), z.object({ b: z.int().default(1) })]),
    /spec\.at\.b is a default in one alternative only/,
  ],
  [
    'different checks of metadata in alternatives',
    z.union([z.object({ a: z.object({ metadata: z.object({ b: z.string() }) }) }), z.object({ c: z.string() })]),
    /spec\.at\.a\.metadata is a field "metadata" whose checks differ between alternatives/,
  ],
  [
    'different checks of metadata in tagged alternatives',
    z.discriminatedUnion(
      't',
      [1, 2].map((t) =>
        z.object({ t: z.literal(t), list: z.array(z.object({ metadata: z.string().min(t) })) })
      ) as never,
    ),
    /spec\.at\.list\[\]\.metadata is a field "metadata"/,
  ],
  ...CHECKED_KEYS.flatMap(([what, record]) => {
    const expected =
      /at is a record whose keys are checked, .*\.refine\(…\)\.check\(cel\('self\.all\(key, …\)', message\)\)/
    // A rule of the record does not replace the checks of its keys.
    return ([['', record], [' beside a rule', record.check(cel('size(self) < 9'))], [
      ' inside of a rule',
      record.optional().check(cel('size(self) < 9')),
    ]] as const).map(([where, schema]) => [`${what}${where}`, schema, expected] as const)
  }),
  ...['propertyNames', 'patternProperties'].map((keyword) =>
    [
      keyword,
      z.record(z.string(), z.string()).meta({ [keyword]: {} }).check(cel('true')),
      new RegExp(`spec\\.at is given "${keyword}", .*; check the names in a CEL rule`),
    ] as const
  ),
  ['transformed keys', z.record(z.enum(['a']).transform((key) => key), z.string()), /with keys of type pipe/],
  ['any string beside a key', z.record(z.union([z.literal('a'), z.string()]), z.string()), /with keys of type union/],
  [
    'template literals as keys',
    z.record(z.templateLiteral(['a-', z.int()]), z.string()),
    /with keys of type template_/,
  ],
  ['numeric keys', z.record(z.number(), z.string()), /at is a record with keys of type number/],
  [
    'a typed catchall beside fields',
    z.object({ a: z.string() }).catchall(z.int()),
    /at is an object with typed fields and a typed catchall/,
  ],
  ['recursion by a getter', recursive, /spec\.at\.children\[\] is recursive/],
  ['recursion by lazy', lazily, /spec\.at(\[\])+ is recursive/],
  ['a lookahead', z.string().regex(/^(?!x)/), /at is a regular expression with lookaround/],
  ['a backreference', z.string().regex(/(a)\1/), /at is a regular expression with a backreference/],
  ...['credit_card', 'iban', 'jwt', 'json_string', 'emoji'].map((format) =>
    [
      `the format ${format}`,
      z.stringFormat(format, /^x/),
      new RegExp(`spec\\.at is a string of format "${format}"`),
    ] as const
  ),
  [
    'a format by function',
    z.stringFormat('even', (s) => s.length % 2 === 0),
    /at is a string of format "even" checked by a function/,
  ],
  // The server would refuse 0.
  [
    'a fractional minimum',
    z.number().gt(-0.5),
    /at is limited by -0\.5, .*; for whole numbers the API server takes its whole part/,
  ],
  ['a fractional maximum', z.number().lt(0.5), /at is limited by 0\.5/],
  ['a fractional multiple', z.number().multipleOf(0.5), /at is a multiple of 0\.5/],
  ['a multiple of zero', z.number().multipleOf(0), /at is a multiple of 0/],
  ['a random default', z.number().default(() => Math.random()), /at is given a default that changes from call to call/],
  ['a default that is not JSON', z.number().default(NaN), /at is given a default that is not JSON/],
  ['a default of null', z.string().nullable().default(null), /at is given the default null, .*; use \.nullish\(\)/],
  ['a default of null for any value', z.unknown().default(null), /at is given the default null/],
  ['a prefault of null', z.int().nullable().prefault(null), /at is given the default null/],
  [
    'a nested default of null',
    z.array(z.object({ b: z.int().nullable().default(null) })),
    /spec\.at\[\]\.b is given the default null/,
  ],
  [
    'a default with an unknown field',
    z.object({ a: z.int() }).default({ a: 1, b: 2 } as { a: number }),
    /at is given a default with the field spec\.at\.b, which its schema does not have/,
  ],
  [
    'a default with a nested unknown field',
    z.array(z.object({ a: z.int() })).default([{ a: 1 }, { a: 1, b: 2 } as { a: number }]),
    /a default with the field spec\.at\[1\]\.b/,
  ],
  [
    'a default in one of several tagged alternatives',
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('copy') }),
      z.object({ type: z.literal('merge'), into: z.string().default('x') }),
    ]),
    /spec\.at\.into is a default in one alternative only/,
  ],
  ['a fractional length', z.string().min(1.5), /at is limited to a length of 1\.5, .*; lengths are integers/],
  ['a fractional maximum length', z.string().max(2.5), /at is limited to a length of 2\.5/],
  ['a fractional exact length', z.string().length(0.5), /at is limited to a length of 0\.5/],
  ['a fractional number of items', z.array(z.string()).max(1.5), /at is limited to a length of 1\.5/],
  ['an infinite length', z.string().min(Infinity), /at is limited to a length of Infinity/],
  [
    'a misspelled extension',
    z.string().meta({ 'x-kubernetes-validation': [{ rule: 'true' }] }),
    /at is given "x-kubernetes-validation", .*; there is no such extension/,
  ],
  ['a garbled class', z.string().regex(/[a-\d]/), /at is a regular expression with a range that ends in a class/],
  ['recursion by new schemas', endless(), /spec\.at(\.next)+ is recursive/],
  [
    'a default that its schema refuses',
    z.string().min(3).default('a'),
    /the default of spec\.at does not fit its own schema: Too small/,
  ],
]

for (const [name, at, message] of refused) {
  test(`${name} is refused`, () => {
    assert.throws(
      () =>
        defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({ at: at as z.ZodType }) }),
      (error: unknown) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, /^Cannot define resource "Foo": (?:the default of )?spec\.at/)
        assert.match(error.message, message)
        return true
      },
    )
  })
}

test('a deep schema, or one used twice, is not recursive', () => {
  let deep: z.ZodType = z.string()
  for (let depth = 0; depth < 60; depth++) deep = z.array(deep)
  const twice = z.object({ a: z.string() })
  defineResource({
    group: 'example.com',
    version: 'v1',
    kind: 'Foo',
    spec: z.object({ deep, one: twice, two: z.object({ again: twice }) }),
  })
})

test('a spec must be an object', () => {
  const spec = z.string()
  assert.throws(
    () => defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec }),
    /spec is not an object, .*; begin with z\.object\(\)/,
  )
})

test('a status is checked like a spec', () => {
  const definition = {
    group: 'example.com',
    version: 'v1',
    kind: 'Foo',
    spec: z.object({}),
    status: z.object({ at: z.date() }),
  }
  assert.throws(() => defineResource(definition), /status\.at is a Date/)
})

const define = (spec: unknown): unknown =>
  defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec: spec as $ZodType })

test('a value that is not a schema of zod 4 is refused', () => {
  const message = 'Cannot define resource "Foo": spec is not a schema of zod 4.1.13 or later'
  // The last looks like a schema of zod 3.
  for (const spec of [undefined, 'x', { at: z.string() }, { _def: { typeName: 'ZodObject' }, parse: () => ({}) }]) {
    assert.throws(() => define(spec), { name: 'TypeError', message })
  }
})

test('schemas of a zod without the global registry are refused, as their metadata would be lost', () => {
  const shared = globalThis as { __zod_globalRegistry?: unknown }
  const registry = shared.__zod_globalRegistry
  delete shared.__zod_globalRegistry
  try {
    assert.throws(
      () => define(z.object({})),
      /^TypeError: Cannot define resource "Foo": spec is not a schema of zod 4\.1\.13 or later$/,
    )
  } finally {
    shared.__zod_globalRegistry = registry
  }
  assert.ok(define(z.object({})))
})

test('an asynchronous validation throws when called', () => {
  const rules = { 'x-kubernetes-validations': [{ rule: 'true' }] }
  const Foo = defineResource({
    group: 'example.com',
    version: 'v1',
    kind: 'Foo',
    spec: z.object({}).refine(async () => false).meta(rules),
  })
  assert.throws(() => Foo.definition.validate({ spec: {} }), {
    name: 'TypeError',
    message: 'Cannot validate: the schema is asynchronous',
  })
})

test('names that are missing are refused by their names', () => {
  const whole = { group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({}) }
  for (const name of ['group', 'version', 'kind'] as const) {
    assert.throws(() => defineResource({ ...whole, [name]: undefined }), {
      name: 'TypeError',
      message: `Cannot define a resource: its ${name} must be a string`,
    })
  }
})

/** A schema that refuses its innermost field, this many objects deep. */
const nested = (depth: number): z.ZodType =>
  depth === 0 ? z.date() : z.object({ at: z.array(nested(depth - 1)).optional() })

function helper(depth: number): void {
  define(z.object({ at: nested(depth) })) // the place of the call
  assert.fail('it was not refused')
}

test('the stack of a refusal has the place of the call, however deep the schema is', () => {
  const line = source.split('\n').findIndex((text) => text.endsWith('// the place of the call')) + 1
  for (const depth of [0, 2, 20]) {
    assert.throws(() => helper(depth), (error: Error) => {
      assert.match(error.message, /is a Date, which/)
      assert.match(error.stack!, /^TypeError: Cannot define resource "Foo"/)
      const places = userFrames(error.stack)
      assert.match(places[0]!, /refusals\.test\.ts:\d+:\d+$/, `${depth} deep`)
      assert.ok(places.some((place) => place.includes(`refusals.test.ts:${line}:`)), `${depth} deep: ${places.join()}`)
      return true
    })
  }
})

test('an error of a getter of the user’s keeps its own place', () => {
  const broken = z.object({
    get at(): z.ZodType {
      throw new RangeError('no schema') // the place of the throw
    },
  })
  const line = source.split('\n').findIndex((text) => text.endsWith('// the place of the throw')) + 1
  assert.throws(
    () => define(broken),
    (error: Error) => error instanceof RangeError && userFrames(error.stack)[0]!.includes(`refusals.test.ts:${line}:`),
  )
})
