/** Tests the checks and the schemas of `kubeloop/schema`, and what else a definition says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as z from 'zod'
import * as mini from 'zod/mini'
import type { $ZodType } from 'zod/v4/core'
import { defineResource, type Desired, type ObjectOf } from 'kubeloop'
import {
  atomic,
  cel,
  dateTime,
  duration,
  durationMs,
  embedded,
  embeddedObject,
  entries,
  type FieldSchema,
  intOrString,
  labelSelector,
  listMap,
  listSet,
  quantity,
} from 'kubeloop/schema'
import { ApiServer } from 'kubeloop/apiserver'
import { Api } from '../../lib/client/api.ts'
import { CRD, type JsonSchema } from '../../lib/core/resource.ts'
import { structuralSchema } from '../../lib/schema/structural.ts'
import { helperShapes, ruleShapes } from './shapes.ts'

const schemaOf = (schema: $ZodType): JsonSchema => structuralSchema(schema, { kind: 'Foo', path: 'spec.at' })
const names = { group: 'example.com', version: 'v1', kind: 'Foo' }

test('the schemas of fields are optional by their method, as by z.optional', () => {
  const fields = { quantity, intOrString, duration, dateTime, embeddedObject, labelSelector }
  const define = (optional: (schema: FieldSchema<unknown>) => $ZodType) => {
    const shape = Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, optional(each as never)]))
    return defineResource({ ...names, spec: z.object(shape) }).definition.crd
  }
  assert.deepEqual(define((schema) => schema.optional()), define((schema) => z.optional(schema)))
  const Timed = defineResource({ ...names, spec: z.object({ every: duration.optional(), at: dateTime.optional() }) })
  const timed: Desired<typeof Timed> = { metadata: { name: 'a' }, spec: { every: '30s' } }
  assert.deepEqual(Timed.definition.validate({ ...timed, apiVersion: 'example.com/v1', kind: 'Foo' } as never), [])
  const spec = Timed.definition.crd.spec.versions[0]!.schema.openAPIV3Schema['properties'] as Record<string, JsonSchema>
  assert.equal(spec['spec']!['required'], undefined)
})

const SCHEMAS: readonly (readonly [string, $ZodType, JsonSchema])[] = [
  ['a quantity', quantity, {
    'x-kubernetes-int-or-string': true,
    pattern: '^[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  }],
  ['an int or string', intOrString, {
    'x-kubernetes-int-or-string': true,
    minimum: -(2 ** 31),
    maximum: 2 ** 31 - 1,
  }],
  ['a duration', z._default(duration, '30s'), {
    type: 'string',
    pattern: '^[+-]?(?:0|(?:(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$',
    default: '30s',
  }],
  ['an embedded object', z.optional(embeddedObject), {
    type: 'object',
    properties: {
      apiVersion: { type: 'string', minLength: 1 },
      kind: { type: 'string', minLength: 1 },
      metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
    required: ['apiVersion', 'kind'],
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-embedded-resource': true,
  }],
  [
    'atomic lists, objects and records',
    z.object({
      l: z.array(z.int32()).check(atomic()),
      o: z.object({ a: z.int32() }).check(atomic()).optional(),
      m: z.record(z.string(), z.int32()).check(atomic(), entries({ max: 3 })).optional(),
    }),
    {
      type: 'object',
      properties: {
        l: { type: 'array', items: { type: 'integer', format: 'int32' }, 'x-kubernetes-list-type': 'atomic' },
        o: {
          type: 'object',
          properties: { a: { type: 'integer', format: 'int32' } },
          required: ['a'],
          'x-kubernetes-map-type': 'atomic',
        },
        m: {
          type: 'object',
          additionalProperties: { type: 'integer', format: 'int32' },
          'x-kubernetes-map-type': 'atomic',
          maxProperties: 3,
        },
      },
      required: ['l'],
    },
  ],
  [
    'a description and an example',
    z.string().describe('How.').meta({ examples: ['a', 'b'] }),
    { type: 'string', description: 'How.', example: 'a' },
  ],
  [
    'rules of zod/mini',
    mini.optional(mini.string().check(cel("self != 'x'", 'not x'), mini.maxLength(3), cel("self != 'y'"))),
    {
      type: 'string',
      maxLength: 3,
      'x-kubernetes-validations': [{ rule: "self != 'x'", message: 'not x' }, { rule: "self != 'y'" }],
    },
  ],
]

for (const [name, schema, expected] of SCHEMAS) {
  test(`the schema of ${name}`, () => assert.deepEqual(schemaOf(schema), expected))
}

test('a check stays when a schema is refined further, and does not change other uses of the schema', () => {
  const name = z.string().max(9)
  const fixed = name.check(cel('self == oldSelf', 'fixed')).min(1).optional()
  const rules = [{ rule: 'self == oldSelf', message: 'fixed' }]
  assert.deepEqual(schemaOf(z.object({ fixed, name, again: fixed })), {
    type: 'object',
    properties: {
      fixed: { type: 'string', minLength: 1, maxLength: 9, 'x-kubernetes-validations': rules },
      name: { type: 'string', maxLength: 9 },
      again: { type: 'string', minLength: 1, maxLength: 9, 'x-kubernetes-validations': rules },
    },
    required: ['name'],
  })
})

test('zod accepts and refuses the values of every helper', () => {
  for (const { name, schema, accepts, refuses } of [...helperShapes, ...ruleShapes]) {
    for (const value of accepts) assert.ok(z.safeParse(schema, value).success, `${name}: ${JSON.stringify(value)}`)
    for (const value of refuses) assert.ok(!z.safeParse(schema, value).success, `${name}: ${JSON.stringify(value)}`)
  }
})

test('problems of checks name the field', () => {
  const { validate } = defineResource({
    ...names,
    spec: z.object({
      ports: z.array(z.object({ name: z.string() })).check(listMap('name')),
      labels: z.record(z.string(), z.string()).check(entries({ max: 1 })),
      template: embeddedObject,
    }),
  }).definition
  const spec = { ports: [{ name: 'a' }, { name: 'b' }, { name: 'a' }], labels: { a: '', b: '' }, template: {} }
  assert.deepEqual(
    validate({ spec: { ...spec, template: { apiVersion: 'v1', kind: '' } } }).map(({ field }) => field),
    [
      'spec.ports[2]',
      'spec.labels',
      'spec.template.kind',
      'spec.template.kind',
    ],
  )
  assert.match(
    validate({ spec }).map(({ field, message }) => `${field}: ${message}`).join('; '),
    /spec\.ports\[2\]: Duplicate value; spec\.labels: Too many entries: 2, expected at most 1/,
  )
  let reads = 0
  const of = (name: number) => ({
    name: {
      get value() {
        return reads++, name
      },
    },
  })
  z.array(z.any()).check(listMap('name')).parse(Array.from({ length: 100 }, (_, index) => of(index)))
  assert.equal(reads, 100, 'items are compared with all others')
})

const REFUSED: readonly (readonly [string, $ZodType, RegExp])[] = [
  [
    'a set of objects',
    z.array(z.object({ a: z.int() })).check(listSet()),
    /^is a set of objects, .*atomic\(\), or use listMap\(\)$/,
  ],
  [
    'a set of sets',
    z.array(z.array(z.int()).check(listSet())).check(listSet()),
    /^is a set of lists that are not atomic/,
  ],
  ['a set with null', z.array(z.string().nullable()).check(listSet()), /^is a set whose items may be null/],
  ['a set that is no list', z.string().check(listSet()), /^is given listSet\(\), .*; it is for arrays$/],
  [
    'an optional key',
    z.array(z.object({ n: z.string().optional() })).check(listMap('n')),
    /^is a list with the key "n", which is optional, .*; require it, or give it a default$/,
  ],
  [
    'a missing key',
    z.array(z.object({ n: z.string() })).check(listMap('m')),
    /^is a list with the key "m", which is no field of its items/,
  ],
  ['a key that is an object', z.array(z.object({ n: z.object({}) })).check(listMap('n')), /"n", which is no scalar/],
  [
    'a key that may be null',
    z.array(z.object({ n: z.string().nullable() })).check(listMap('n')),
    /"n", which may be null/,
  ],
  ['a key twice', z.array(z.object({ n: z.string() })).check(listMap('n', 'n')), /names a key twice/],
  ['a map of strings', z.array(z.string()).check(listMap('n')), /whose items are no objects, .*listSet\(\)/],
  ['an atomic string', z.string().check(atomic()), /given atomic\(\), .*; it is for objects$/],
  ['an embedded string', z.string().check(embedded()), /given embedded\(\), .*; it is for objects$/],
  ['an embedded record', z.record(z.string(), z.int()).check(embedded()), /a record that is an embedded object/],
  ['entries of a list', z.array(z.int()).check(entries({ max: 1 })), /given entries\(\), .*; it is for objects$/],
  ['a fraction of entries', z.object({}).check(entries({ max: 1.5 })), /limited to 1\.5 entries/],
  ['a rule without an expression', z.string().check(cel(' ')), /^is given a CEL rule without an expression/],
  ['an empty message', z.string().check(cel('true', '')), /a CEL rule whose message is empty/],
  ['a message of two lines', z.string().check(cel('true', 'a\nb')), /whose message has more than one line/],
  [
    'a rule of two lines without a message',
    z.string().check(cel('true\n&& true')),
    /of several lines, without a message/,
  ],
  [
    'a reason',
    z.string().check(cel('true', { reason: 'Bad' as 'FieldValueInvalid' })),
    /with the reason "Bad"; it may be FieldValueInvalid, /,
  ],
  [
    'a field path',
    z.object({ a: z.int() }).check(cel('true', { fieldPath: '.b' })),
    /^is given a CEL rule with the fieldPath "\.b", which is no field of it/,
  ],
  [
    'a field path into a list',
    z.object({ a: z.array(z.int()) }).check(cel('true', { fieldPath: '.a[0]' })),
    /with the fieldPath "\.a\[0\]"/,
  ],
  [
    'a misspelled option',
    z.string().check(cel('true', { fieldpath: '.a' } as object)),
    /a CEL rule with "fieldpath", which is none of rule, message, /,
  ],
  [
    'a rule in one alternative',
    z.discriminatedUnion('k', [
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') })]).check(cel('true')),
      z.object({ k: z.literal('b') }),
    ]),
    /^is a union of one with x-kubernetes-validations /,
  ],
  [
    'an example that does not fit',
    z.int().meta({ examples: ['x'] }),
    /the example of spec\.at does not fit its own schema: /,
  ],
]

for (const [name, schema, message] of REFUSED) {
  test(`${name} is refused with its path`, () => {
    assert.throws(() => defineResource({ ...names, spec: z.object({ at: schema as z.ZodType }) }), (error: Error) => {
      assert.ok(error instanceof TypeError)
      assert.match(error.message.replace(/^Cannot define resource "Foo": (?:spec\.at )?/, ''), message)
      return true
    })
  })
}

test('scale, selectable fields and columns are in the definition', () => {
  const Foo = defineResource({
    ...names,
    scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', labelSelector: '.status.selector' },
    selectableFields: ['.spec.color', '.spec.replicas'],
    columns: {
      Color: '.spec.color',
      Since: { path: '.status.since', priority: 1, description: 'Since when.' },
      Replicas: { path: '.spec.replicas', type: 'string', format: 'int32', priority: 0 },
      Other: '.spec.open.any[0].field',
    },
    spec: z.object({ replicas: z.int32().default(1), color: z.enum(['red', 'blue']), open: z.looseObject({}) }),
    status: z.object({ replicas: z.int32(), selector: z.string(), since: z.optional(dateTime) }),
  })
  const [version] = Foo.definition.crd.spec.versions
  assert.deepEqual(version?.subresources, {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  })
  assert.deepEqual(version.selectableFields, [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.replicas' }])
  assert.deepEqual(version.additionalPrinterColumns, [
    { name: 'Color', type: 'string', jsonPath: '.spec.color' },
    { name: 'Since', type: 'date', jsonPath: '.status.since', description: 'Since when.', priority: 1 },
    { name: 'Replicas', type: 'string', jsonPath: '.spec.replicas', format: 'int32' },
    { name: 'Other', type: 'string', jsonPath: '.spec.open.any[0].field' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ])
})

const replicas = { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas' }
const WRONG: readonly (readonly [string, object, RegExp])[] = [
  [
    'a scale without a status',
    { scale: replicas, status: undefined },
    /scale\.statusReplicas is "\.status\.replicas", and must be a field of type integer below \.status$/,
  ],
  [
    'a scale of a missing field',
    { scale: { ...replicas, specReplicas: '.spec.size' } },
    /specReplicas is "\.spec\.size"/,
  ],
  ['a scale of a string', { scale: { ...replicas, specReplicas: '.spec.color' } }, /type integer below \.spec$/],
  [
    'a scale of another part',
    { scale: { ...replicas, specReplicas: '.status.replicas' } },
    /type integer below \.spec$/,
  ],
  ['a scale in a list', { scale: { ...replicas, specReplicas: '.spec.list[0]' } }, /type integer below \.spec$/],
  ['a scale without a path', { scale: {} }, /scale\.specReplicas is "undefined", and must be a field/],
  [
    'a selector that is a number',
    { scale: { ...replicas, labelSelector: '.status.replicas' } },
    /type string below \.spec or \.status$/,
  ],
  [
    'a column of a missing field',
    { columns: { A: { path: '.spec.a' } } },
    /column "A" shows "\.spec\.a", but the schema has no/,
  ],
]

for (const [name, part, message] of WRONG) {
  test(`${name} is refused`, () => {
    const spec = z.object({ replicas: z.int32(), color: z.string(), list: z.array(z.int32()) })
    const status = z.object({ replicas: z.int32(), selector: z.string() })
    assert.throws(() => defineResource({ ...names, spec, status, ...part }), (error: Error) => {
      assert.ok(error instanceof TypeError)
      assert.match(error.message, message)
      return error.message.startsWith('Cannot define resource "Foo": ')
    })
  })
}

test('the types follow from the helpers', () => {
  const Foo = defineResource({
    ...names,
    spec: z.object({ storage: quantity, every: z._default(duration, '1h'), template: z.optional(embeddedObject) }),
  })
  const desired: Desired<typeof Foo>['spec'] = { storage: 1 }
  const read = (spec: ObjectOf<typeof Foo>['spec']): string => `${spec.every}${spec.template?.kind ?? ''}`
  assert.equal(read({ ...desired, every: '1h' }), '1h')
})

test('a rule may have each reason of the API', () => {
  for (const reason of ['Invalid', 'Forbidden', 'Required', 'Duplicate'].map((each) => `FieldValue${each}` as const)) {
    const { 'x-kubernetes-validations': rules } = schemaOf(z.string().check(cel('true', { reason: reason as never })))
    assert.deepEqual(rules, [{ rule: 'true', reason }])
  }
})

test('long values hold the event loop for a moment only: an admission judges them before the API server does', () => {
  const items = Array.from({ length: 20_000 }, (_, a) => ({ a }))
  const set = z.array(z.object({ a: z.int() }).check(atomic())).check(listSet())
  for (
    const [schema, value, isValid] of [
      [duration, '1'.repeat(40_000), false],
      [quantity, `${'1'.repeat(40_000)}x`, false],
      [set, items, true],
      [set, [...items, { a: 7 }], false],
    ] as const
  ) {
    const began = performance.now()
    assert.equal(z.safeParse(schema, value).success, isValid)
    assert.ok(performance.now() - began < 2000)
  }
})

test('durations are read as Go reads them', () => {
  const cases = {
    '1h30m': 5_400_000,
    '0': 0,
    '-1.5s': -1500,
    '250ms': 250,
    '3\u00b5s': 0.003,
    '3\u03bcs': 0.003,
    '.5m': 30_000,
    '7ns': 7e-6,
  }
  for (const [text, ms] of Object.entries(cases)) assert.equal(durationMs(text), ms, text)
  assert.throws(() => durationMs('1d'), /^RangeError: Cannot read duration "1d": write numbers with units/)
})

test('the embedded API accepts of random values what zod accepts', async () => {
  const api = new Api({ transport: new ApiServer().handle })
  const item = fc.record({ n: fc.constantFrom('a', 'b', 'c'), p: fc.constantFrom(1, 2) }, { requiredKeys: ['n'] })
  const text = fc.array(fc.constantFrom('1', '.', '5', 'm', 's', 'h', 'Gi', 'e', '-', 'u', 'k'), { maxLength: 5 })
    .map((parts) => parts.join(''))
  const fields: Record<string, readonly [z.ZodType, fc.Arbitrary<unknown>]> = {
    map: [
      z.array(z.object({ n: z.string(), p: z.int().default(1) })).check(listMap('n', 'p')),
      fc.array(item, { maxLength: 3 }),
    ],
    set: [z.array(z.union([z.int(), z.string()])).check(listSet()), fc.array(fc.constantFrom(1, 2, '1', '2'))],
    sets: [
      z.array(z.object({ a: z.int().optional(), b: z.int().optional() }).check(atomic())).check(listSet()),
      fc.array(fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom(1, 2)), { maxLength: 3 }),
    ],
    few: [
      z.record(z.string(), z.int()).check(entries({ min: 1, max: 2 })),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constant(1)),
    ],
    quantity: [z.optional(quantity), fc.oneof(text, fc.integer(), fc.constant(1.5))],
    duration: [z.optional(duration), fc.oneof(text, fc.integer({ max: 3 }))],
    either: [z.optional(intOrString), fc.oneof(fc.integer(), fc.constantFrom(2 ** 31, 0.5, 'x', true))],
    rule: [
      z.string().max(5).refine((s) => !s.includes('m')).check(cel("!self.contains('m')")),
      text,
    ],
  }
  const shape = Object.fromEntries(Object.entries(fields).map(([name, [schema]]) => [name, schema.optional()]))
  const spec = z.object(shape)
  const Foo = defineResource({ ...names, spec })
  const { crd } = Foo.definition
  await api.create({ resource: CRD, name: crd.metadata.name }, crd as never, { fieldValidation: 'Strict' })
  const counts = { accepted: 0, refused: 0 }
  const any = fc.oneof(
    ...Object.entries(fields).map(([name, [, values]]) => values.map((value) => ({ [name]: value }))),
  )
  await fc.assert(
    fc.asyncProperty(any, async (value) => {
      const target = { resource: Foo, namespace: 'default', name: 'x' }
      const object = { metadata: { name: 'x', namespace: 'default' }, spec: value }
      const problem = await api.create(target, object, { dryRun: true }).then(() => undefined, (e: Error) => e.message)
      const { success } = spec.safeParse(value)
      counts[success ? 'accepted' : 'refused']++
      assert.equal(problem === undefined, success, `${JSON.stringify(value)}: ${problem ?? 'accepted by the server'}`)
    }),
    { numRuns: 1000 },
  )
  assert.ok(counts.accepted > 200 && counts.refused > 200, JSON.stringify(counts))
})
