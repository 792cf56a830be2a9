/** Tests every shape in memory; tests/tools/shapes.ts tests with a real server. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as z from 'zod'
import { safeParse } from 'zod/v4/core'
import { toRe2 } from '../../lib/schema/pattern.ts'
import { structuralSchema } from '../../lib/schema/structural.ts'
import { isValid, stored, structuralFaults } from './json_schema.ts'
import { shapes } from './shapes.ts'

/** Of a range and a prefix that a real server refuses, and the embedded one does not. */
const UNCHECKED: readonly unknown[] = [1e39, 'fe80::/129']

for (const { name, schema, accepts, refuses } of shapes) {
  test(`a field of the shape "${name}"`, () => {
    const whole = z.object({ v: schema })
    const crd = structuralSchema(whole, { kind: 'Shape', path: 'spec' }) as Record<string, unknown>
    assert.deepEqual(structuralFaults(crd), [])
    for (const [values, expected] of [[accepts, true], [refuses, false]] as const) {
      for (const v of values) {
        assert.equal(safeParse(whole, { v }).success, expected, `zod, of ${JSON.stringify(v)}`)
        if (UNCHECKED.includes(v)) continue
        assert.equal(
          isValid(crd, stored(crd, { v })),
          expected,
          `the CRD, of ${JSON.stringify(v)}: ${JSON.stringify(crd)}`,
        )
      }
    }
  })
}

/** Cases where the text of the schema matters, not only its meaning. */
const texts: readonly (readonly [string, z.ZodType, object])[] = [
  ['int32 with limits and a default', z.int32().min(0).max(10).default(1), {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: 10,
    default: 1,
  }],
  ['keys that are numbers', z.record(z.literal([1, 2]), z.boolean()), {
    type: 'object',
    required: ['1', '2'],
    properties: { 1: { type: 'boolean' }, 2: { type: 'boolean' } },
  }],
  ['a float', z.float32(), { type: 'number', format: 'float' }],
  ['a network of IPv6', z.cidrv6(), { type: 'string', format: 'cidr', pattern: ':.*/(?:0|[1-9][0-9]*)$' }],
  ['exclusive limits', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  ['safe integers', z.int(), {
    type: 'integer',
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  }],
  // The server's format requires seconds and an offset.
  ...([[{}, true], [{ offset: true }, true], [{ precision: 3 }, true], [{ local: true }, false], [
    { precision: -1 },
    false,
  ]] as const).map(([options, isKnown]): readonly [string, z.ZodType, object] => {
    const schema = z.iso.datetime(options)
    const { source } = schema._zod.def.pattern!
    return [`an instant with ${JSON.stringify(options)}`, schema, {
      type: 'string',
      pattern: toRe2(new RegExp(source), assert.fail),
      ...(isKnown && { format: 'date-time' }),
    }]
  }),
  ['a date, with the format that kubectl and CEL know', z.iso.date(), {
    type: 'string',
    format: 'date',
    pattern: z.iso.date()._zod.def.pattern!.source,
  }],
  [
    'descriptions and list types',
    z.array(z.object({ name: z.string().describe('which') })).meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      description: 'all',
      id: 'no',
      deprecated: true,
    }),
    {
      type: 'array',
      description: 'all',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string', description: 'which' } } },
    },
  ],
  [
    'every extension',
    z.object({
      a: z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set' }),
      b: z.looseObject({}).meta({ 'x-kubernetes-embedded-resource': true, 'x-kubernetes-map-type': 'atomic' }),
      c: z.custom().meta({ 'x-kubernetes-preserve-unknown-fields': true }),
      d: z.array(z.object({ n: z.string() })).meta({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['n'],
      }),
    }),
    {
      type: 'object',
      properties: {
        a: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        b: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-map-type': 'atomic',
        },
        c: { nullable: true, 'x-kubernetes-preserve-unknown-fields': true },
        d: {
          type: 'array',
          items: { type: 'object', properties: { n: { type: 'string' } }, required: ['n'] },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['n'],
        },
      },
      required: ['a', 'b', 'c', 'd'],
    },
  ],
  [
    'infinite lengths',
    z.object({ a: z.string().min(0).max(Infinity), b: z.array(z.string()).min(-Infinity).max(3).length(2) }),
    {
      type: 'object',
      properties: {
        a: { type: 'string', minLength: 0 },
        b: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
      },
      required: ['a', 'b'],
    },
  ],
  ['a default with unknown fields that are kept', z.looseObject({ a: z.int() }).default({ a: 1, b: { c: null } }), {
    type: 'object',
    properties: {
      a: { type: 'integer', format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    },
    required: ['a'],
    'x-kubernetes-preserve-unknown-fields': true,
    default: { a: 1, b: { c: null } },
  }],
  ...([[z.uuid(), 'uuid'], [z.ipv4(), 'ipv4']] as const).map((
    [schema, format],
  ): readonly [string, z.ZodType, object] => [
    `the format ${format}, which the server knows`,
    schema,
    { type: 'string', format, pattern: toRe2(schema._zod.def.pattern!, assert.fail) },
  ]),
  [
    'all limits of an integer or a string',
    z.union([z.int().gt(0).lt(9).multipleOf(3), z.string().min(1).max(5).regex(/^a/)]),
    {
      'x-kubernetes-int-or-string': true,
      ...{ minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true, multipleOf: 3 },
      ...{ minLength: 1, maxLength: 5, pattern: '^a' },
    },
  ],
  [
    'an example of one alternative, which is none of the union',
    z.union([z.string().min(2).meta({ examples: ['ab'] }), z.string().regex(/^x$/)]),
    { type: 'string', anyOf: [{ minLength: 2 }, { pattern: '^x$' }] },
  ],
  ['an inner and an outer description', z.string().describe('inner').optional().describe('outer'), {
    type: 'string',
    description: 'outer',
  }],
  [
    'rules of a wrapper and of its inner schema',
    z.string().meta({ 'x-kubernetes-validations': [{ rule: 'a' }] }).optional().meta({
      'x-kubernetes-validations': [{ rule: 'b' }],
    }),
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'a' }, { rule: 'b' }] },
  ],
  ['an object with defaults', z.object({ a: z.string().default('x') }).prefault({}), {
    type: 'object',
    properties: { a: { type: 'string', default: 'x' } },
    default: {},
  }],
  [
    'alternatives',
    z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b'), n: z.string().min(1) })]),
    {
      type: 'object',
      properties: { t: { type: 'string', enum: ['a', 'b'] }, n: { type: 'string', minLength: 1 } },
      required: ['t'],
      'x-kubernetes-validations': [
        {
          rule: '!has(self.n) || self.t == "b"',
          message: 'n is allowed only when t is b',
          reason: 'FieldValueForbidden',
          fieldPath: '.n',
        },
        {
          rule: 'has(self.n) || self.t != "b"',
          message: 'n is required when t is b',
          reason: 'FieldValueRequired',
          fieldPath: '.n',
        },
      ],
    },
  ],
  [
    'a tag with the same description in all alternatives',
    z.discriminatedUnion('t', [
      z.object({ t: z.literal('a').describe('How.') }),
      z.object({ t: z.literal('b').describe('How.') }),
    ]),
    { type: 'object', properties: { t: { type: 'string', enum: ['a', 'b'], description: 'How.' } }, required: ['t'] },
  ],
  [
    'a tag that one alternative describes',
    z.discriminatedUnion('t', [z.object({ t: z.literal('a').describe('How.') }), z.object({ t: z.literal('b') })]),
    { type: 'object', properties: { t: { type: 'string', enum: ['a', 'b'] } }, required: ['t'] },
  ],
  [
    'alternatives with names that CEL escapes, and one without a supported CEL name',
    z.discriminatedUnion('in', [
      z.object({ in: z.literal(true), namespace: z.string() }),
      z.object({ in: z.literal(false), 'a-b': z.string().optional() }),
    ]),
    {
      type: 'object',
      properties: { in: { type: 'boolean' }, namespace: { type: 'string' }, 'a-b': { type: 'string' } },
      required: ['in'],
      allOf: [{ anyOf: [{ not: { required: ['a-b'] } }, { properties: { in: { enum: [false] } } }] }],
      'x-kubernetes-validations': [
        {
          rule: '!has(self.__namespace__) || self.__in__ == true',
          message: 'namespace is allowed only when in is true',
          reason: 'FieldValueForbidden',
          fieldPath: '.namespace',
        },
        {
          rule: 'has(self.__namespace__) || self.__in__ != true',
          message: 'namespace is required when in is true',
          reason: 'FieldValueRequired',
          fieldPath: '.namespace',
        },
      ],
    },
  ],
  [
    'numeric tags with and without fractions',
    z.discriminatedUnion('t', [
      z.object({ t: z.literal(1.5) }),
      z.object({ t: z.literal(2), n: z.string().optional() }),
    ]),
    {
      type: 'object',
      properties: { t: { type: 'number', enum: [1.5, 2] }, n: { type: 'string' } },
      required: ['t'],
      allOf: [{ anyOf: [{ not: { required: ['n'] } }, { properties: { t: { enum: [2] } } }] }],
    },
  ],
]

for (const [name, schema, expected] of texts) {
  test(`the schema of ${name}`, () => {
    assert.deepEqual(structuralSchema(schema, { kind: 'Words', path: 'spec' }), expected)
  })
}

/** Unions in lists and maps, and whether the cost of their rules is low enough for a server. */
const costs: readonly (readonly [string, z.ZodType, boolean])[] = [
  ['by itself', union(2), true],
  ['in a list of lists with small limits', z.array(z.array(union(2)).max(100)).max(100), true],
  ['in a list of lists with large limits', z.array(z.array(union(2)).max(10_000)).max(10_000), false],
  ['in a list without a limit', z.array(union(2)), true],
  ['in a list without a limit, in a list with a large limit', z.array(z.array(union(2))).max(1_000_000), true],
  ['with many values', union(60), true],
  ['with many values in a list without a limit', z.array(union(60)), false],
  ['with many values in a map', z.record(z.string(), union(60)), false],
  ['with many values in a list with a limit', z.array(union(60)).max(100), true],
]

function union(values: number): z.ZodType {
  const names = Array.from({ length: values }, (_, at) => `name-${at}`)
  return z.discriminatedUnion('type', [
    z.object({ type: z.literal('none') }),
    z.object({ type: z.literal(names), field: z.string().optional() }),
  ])
}

for (const [name, schema, isRule] of costs) {
  test(`a union ${name} ${isRule ? 'has a rule' : 'has no rule, as a server would refuse it'}`, () => {
    const text = JSON.stringify(structuralSchema(schema, { kind: 'Cost', path: 'spec' }))
    assert.deepEqual([text.includes('FieldValueForbidden'), text.includes('{"not":{"required":["field"]}}')], [
      isRule,
      !isRule,
    ])
  })
}
