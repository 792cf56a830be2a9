/**
 * Shapes of fields, each with values that a schema accepts and refuses.
 *
 * The list runs in memory (structural.test.ts), and manually with a real API server (tests/tools/shapes.ts).
 */
import * as z from 'zod'
import * as mini from 'zod/mini'
import type { $ZodType } from 'zod/v4/core'
import {
  atomic,
  cel,
  conditionList,
  dateTime,
  duration,
  embedded,
  embeddedObject,
  entries,
  intOrString,
  listMap,
  listSet,
  quantity,
} from 'kubeloop/schema'

export interface Shape {
  readonly name: string
  readonly schema: $ZodType
  readonly accepts: readonly unknown[]
  readonly refuses: readonly unknown[]
}

/** The schemas by name, with the values that they accept and refuse. */
type Rows = Readonly<
  Record<string, readonly [schema: $ZodType, accepts: readonly unknown[], refuses: readonly unknown[]]>
>

const strings: Rows = {
  string: [z.string(), ['', 'a'], [1, null, true, [], {}]],
  length: [z.string().min(2).max(4), ['ab', 'abcd'], ['a', 'abcde']],
  'narrowed length': [z.string().min(2).min(3).max(9).length(4), ['abcd'], ['abc', 'abcde']],
  pattern: [z.string().regex(/^[a-z]+(?<tail>-\d+)?$/), ['a', 'b-12'], ['', 'A', 'a-']],
  'two patterns': [z.string().regex(/^a/).regex(/z$/), ['az', 'a-z'], ['a', 'z']],
  'pattern with flags': [z.string().regex(/^abc$/i), ['ABC'], ['ABD']],
  'pattern with escapes': [z.string().regex(/^[[\]\/\u00e9]\x41[^\s\S]?[^]$/), ['éAx', '[A]'], ['eAx', 'éA']],
  'unicode pattern': [z.string().regex(/^\p{L}\u{1F600}$/u), ['é\u{1F600}'], ['1\u{1F600}', 'é']],
  'starts, ends, includes': [z.string().startsWith('a.').endsWith('z').includes('+'), ['a.+z'], ['ab+z', 'a.z']],
  'lower case': [z.string().lowercase(), ['abc-1'], ['aBc']],
  email: [z.email(), ['a.b@example.com'], ['a', 'a@b', 'A <a@example.com>']],
  uuid: [z.uuid(), ['0b5e4d3a-6b1f-4c8e-9d2a-1f2e3d4c5b6a'], ['x', '0b5e4d3a6b1f4c8e9d2a1f2e3d4c5b6a']],
  url: [z.url(), ['http://a.example/x?y#z', 'mailto:a@example.com'], ['/a', 'a', '']],
  'http url': [z.httpUrl(), ['HTTPS://A.Example:8443/x', 'http://u@a.example'], ['ftp://a.example', 'http://a']],
  hostname: [z.hostname(), ['a', 'a-b.example.'], ['-a', 'a..b', '']],
  instant: [z.iso.datetime(), ['2020-02-29T12:00:00Z', '2020-01-01T00:00:00.123Z'], [
    '2021-02-29T12:00:00Z',
    '2020-01-01',
    '2020-01-01T00:00:00+01:00',
  ]],
  'instant with offset': [z.iso.datetime({ offset: true }), ['2020-01-01T00:00:00+01:00'], ['2020-01-01T00:00:00']],
  'local instant': [z.iso.datetime({ local: true }), ['2020-01-01T00:00:00', '2020-01-01T00:00'], ['2020-01-01']],
  date: [z.iso.date(), ['2020-01-31'], ['2020-02-30', '2020-1-1']],
  time: [z.iso.time(), ['12:34', '12:34:56.7'], ['24:00', '1:2']],
  duration: [z.iso.duration(), ['P3W', 'P1Y', 'PT5M', 'P1DT1.5S'], ['P', 'PT', 'P1DT', '5m', 'P1W1D']],
  ipv4: [z.ipv4(), ['10.0.0.1'], ['10.0.0.256', '::1']],
  ipv6: [z.ipv6(), ['::1', 'fe80::1', '::ffff:10.0.0.1'], ['10.0.0.1', '::g']],
  cidrv4: [z.cidrv4(), ['10.0.0.0/8'], ['10.0.0.0', '10.0.0.0/33']],
  cidrv6: [z.cidrv6(), ['fe80::/10'], ['10.0.0.0/8', 'fe80::', 'fe80::/129', 'fe80::/010']],
  base64: [z.base64(), ['', 'YWI=', 'YQ==', 'YWJj'], ['YQ=', 'a', 'Y===', '_-__']],
  base64url: [z.base64url(), ['', '_-__', 'YQ'], ['YQ==', 'a', '++++']],
  'names of machines': [
    z.object({
      id: z.nanoid().optional(),
      ulid: z.ulid().optional(),
      mac: z.mac().optional(),
      tel: z.e164().optional(),
      md5: z.hash('md5').optional(),
    }),
    [{
      ulid: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      mac: '00:1a:2b:3c:4d:5e',
      tel: '+14155550123',
      md5: 'd41d8cd98f00b204e9800998ecf8427e',
    }],
    [{ id: 'x' }, { ulid: 'x' }, { mac: 'x' }, { tel: '1' }, { md5: 'x' }],
  ],
  'template literal': [z.templateLiteral(['v', z.int().min(0), z.enum(['a', 'b'])]), ['v12a'], ['v12', '12a']],
}

const numbers: Rows = {
  number: [z.number(), [0, -1.5, 1e300], ['0', null, true]],
  limits: [z.number().min(1).max(2), [1, 1.5, 2], [0.9, 2.1]],
  'exclusive limits': [z.number().gt(1).lt(2), [1.5], [1, 2]],
  'fractional limits': [z.number().gt(0.5).max(2.5), [0.6, 1, 2, 2.5], [0, 0.5, 3]],
  'fractional limits below zero': [z.number().min(-2.5).lt(-0.5), [-2.5, -2, -1, -0.6], [-3, -0.5, 0]],
  'limits between whole numbers': [z.number().min(0.2).max(0.8), [0.2, 0.5], [0.1, 0.9, 1]],
  'fractional limits of integers': [z.int().min(0.5).lt(2.5), [1, 2], [0, 3]],
  'narrower limits win': [z.number().min(1).gt(1).min(0).lt(9).max(9), [1.5], [1, 9]],
  multiples: [z.number().multipleOf(5), [0, -10], [7]],
  'several multiples': [z.number().multipleOf(2).multipleOf(3), [6], [2, 3]],
  integer: [z.int(), [0, Number.MAX_SAFE_INTEGER, -5], [1.5, 2 ** 60, '1']],
  'number that is an integer': [z.number().int().positive(), [1], [0, 1.5]],
  int32: [z.int32(), [2 ** 31 - 1, -(2 ** 31)], [2 ** 31, 0.5]],
  'int32 within limits': [z.int32().min(0).max(10), [0, 10], [-1, 11]],
  uint32: [z.uint32(), [0, 2 ** 32 - 1], [-1, 2 ** 32]],
  float32: [z.float32(), [1.5], [1e39]],
}

const values: Rows = {
  boolean: [z.boolean(), [true, false], [0, 'true', null]],
  enum: [z.enum(['a', 'b']), ['a'], ['c', 1, null]],
  'numeric enum': [z.enum({ One: 1, Two: 2 }), [1], [3, 'One']],
  literal: [z.literal(['x', 'y']), ['x'], ['z']],
  true: [z.literal(true), [true], [false, 'true']],
  'nullable string': [z.string().min(2).nullable(), [null, 'ab'], ['a', 1]],
  'nullable enum': [z.enum(['a.b', 'c']).nullable(), [null, 'a.b', 'c'], ['a-b', 'd', 'xc']],
  'nullable numbers': [z.literal([1, 3]).nullable(), [null, 1, 3], [2]],
  'nullable true': [z.literal(true).nullable(), [null, true], [false]],
  'literal or null': [z.literal(['a', null]), [null, 'a'], ['b']],
  'nullable object': [z.object({ a: z.string() }).nullable(), [null, { a: 'x' }], [{}, 1]],
  anything: [z.unknown(), [1, 'a', null, [1, 'a'], { a: { b: null } }], []],
  any: [z.any(), [1, null], []],
  mini: [mini.string().check(mini.minLength(2), mini.regex(/^a/)), ['ab'], ['a', 'bb']],
  'brand and readonly': [z.array(z.string().brand('Name')).readonly(), [['a']], [[1]]],
}

const containers: Rows = {
  array: [z.array(z.int()).min(1).max(2), [[1], [1, 2]], [[], [1, 2, 3], ['a'], 1]],
  'array of length': [z.array(z.string()).length(2), [['a', 'b']], [['a']]],
  object: [z.object({ a: z.string(), b: z.int().optional(), c: z.boolean().default(true) }), [{ a: 'x' }, {
    a: 'x',
    b: 1,
    c: false,
  }], [{}, { a: 1 }, []]],
  'empty object': [z.object({}), [{}], [1]],
  'loose object': [z.looseObject({ a: z.string() }), [{ a: 'x', b: { c: 1 } }], [{ b: 1 }]],
  'object of anything typed': [z.object({}).catchall(z.int()), [{ a: 1 }], [{ a: 'x' }]],
  record: [z.record(z.string(), z.int()), [{}, { a: 1 }], [{ a: 'x' }, []]],
  'record of an enum': [z.record(z.enum(['a', 'b']), z.int()), [{ a: 1, b: 2 }], [{ a: 1 }]],
  'record of literals and an enum': [z.record(z.union([z.literal(['a', 1]), z.enum(['b'])]), z.int()), [{
    a: 1,
    1: 2,
    b: 3,
  }], [{ a: 1, b: 3 }, { a: 1, 1: 'x', b: 3 }]],
  'partial record': [z.partialRecord(z.enum(['a', 'b']), z.int()), [{}, { a: 1 }], [{ a: 'x' }]],
  intersection: [
    z.object({ a: z.string() }).and(z.object({ constructor: z.int() })),
    [{ a: 'x', constructor: 1 }],
    [{ a: 'x' }, { constructor: 1 }],
  ],
  'overlapping intersection': [z.object({ a: z.string().min(2) }).and(z.object({ a: z.string().max(3) })), [{
    a: 'xx',
  }], [{ a: 'x' }, { a: 'xxxx' }]],
  'defaults at depth': [
    z.array(z.object({ n: z.int().default(3), deep: z.object({ s: z.string().default('x') }).prefault({}) })),
    [[{}], [{ n: 1, deep: { s: 'y' } }]],
    [[{ n: 'a' }]],
  ],
  'nullable default': [z.string().nullable().default('x'), [null, 'a'], [1]],
}

const unions: Rows = {
  'integer or string': [z.union([z.int(), z.string()]), [1, 'a'], [1.5, true, null]],
  'limited integer or string': [z.union([z.string().regex(/^\d+%$/), z.int32().min(0)]), [1, '5%'], [-1, '5']],
  'or null': [z.union([z.string(), z.null()]), ['a', null], [1]],
  'an alternative that always holds': [z.union([z.string(), z.string().min(3)]), ['a', 'abc'], [1]],
  'alternatives with numbers, and a default': [
    z.union([
      z.object({ a: z.int32().min(1), b: z.array(z.float32()).optional(), x: z.string() }),
      z.object({ a: z.int(), b: z.array(z.number()).optional(), constructor: z.string() }),
    ]).default({ a: 3, b: [1.5], x: 'x' }),
    [{ a: 5, x: 'x' }, { a: 2 ** 40, b: [1], constructor: 'y' }],
    [{ a: 2 ** 31, x: 'x' }, { a: 0, x: 'x' }, { a: 1.5, constructor: 'y' }],
  ],
  'strings of two kinds': [z.union([z.ipv4(), z.literal('auto')]), ['10.0.0.1', 'auto'], ['b']],
  'enums together': [z.enum(['a']).or(z.enum(['b'])).or(z.null()), ['a', 'b', null], ['c']],
  discriminated: [
    z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('off') }),
      z.object({ mode: z.literal('on'), secret: z.string().min(2), tags: z.array(z.string().min(1)).optional() }),
    ]),
    [{ mode: 'off' }, { mode: 'on', secret: 'ab', tags: ['x'] }],
    [{}, { mode: 'on' }, { mode: 'x' }, { mode: 'on', secret: 'a' }, { mode: 'on', secret: 'ab', tags: [''] }],
  ],
  'nullable discriminated': [
    z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), n: z.int() })])
      .nullable(),
    [null, { k: 'a' }],
    [{ k: 'b' }],
  ],
  'discriminated alternatives that keep unknown fields': [
    z.discriminatedUnion('k', [
      z.looseObject({ k: z.literal('a') }),
      z.looseObject({ k: z.literal('b'), n: z.int() }),
    ]),
    [{ k: 'a', n: 1 }, { k: 'a', m: 'x' }, { k: 'b', n: 1 }],
    [{ k: 'b' }, { k: 'c' }],
  ],
  'discriminated alternatives with different alternatives in one field': [
    z.discriminatedUnion(
      'k',
      ['a', 'b'].map((k) =>
        z.object({
          k: z.literal(k),
          in: z.discriminatedUnion('t', [
            z.object({ t: z.literal('x'), n: z.int().optional() }),
            z.object({ t: z.literal('y'), ...(k === 'b' && { n: z.int() }) }),
          ]),
        })
      ) as never,
    ),
    [{ k: 'a', in: { t: 'x', n: 1 } }, { k: 'b', in: { t: 'y', n: 1 } }, { k: 'a', in: { t: 'y' } }],
    [{ k: 'b', in: { t: 'y' } }, { k: 'a', in: { t: 'z' } }],
  ],
  'alternatives with a name of two types of values': [
    z.union([z.object({ k: z.literal('a') }), z.object({ k: z.literal(['a', 'b']), n: z.int() })]),
    [{ k: 'a' }, { k: 'b', n: 1 }, { k: 'a', n: 1 }],
    [{ k: 'b' }, {}],
  ],
  'alternatives with a field in common': [
    z.union([
      z.object({ a: z.string().min(2), b: z.int() }),
      z.object({ a: z.string().min(2), c: z.array(z.string().min(1)) }),
    ]),
    [{ a: 'xx', b: 1 }, { a: 'xx', c: ['x'] }],
    [{ a: 'x', b: 1 }, { a: 'xx' }, { b: 1 }, { a: 'xx', c: [''] }],
  ],
  'arrays of two lengths': [z.union([z.array(z.string().min(2)).length(1), z.array(z.string().min(2)).length(3)]), [[
    'ab',
  ], ['ab', 'ab', 'ab']], [[], ['a'], ['ab', 'ab'], ['ab', 'ab', 'a']]],
  'alternatives within alternatives': [
    z.union([z.union([z.string().regex(/^a/), z.string().regex(/^b/)]), z.string().min(3)]),
    ['a', 'b', 'ccc'],
    ['c', 1],
  ],
  'alternatives and more': [
    z.object({ a: z.int() }).and(
      z.discriminatedUnion('k', [z.object({ k: z.literal('x') }), z.object({ k: z.literal('y'), n: z.int() })]),
    )
      .and(z.discriminatedUnion('m', [z.object({ m: z.literal('x') }), z.object({ m: z.literal('y'), o: z.int() })])),
    [{ a: 1, k: 'x', m: 'x' }, { a: 1, k: 'y', n: 1, m: 'y', o: 1 }],
    [{ k: 'x', m: 'x' }, { a: 1, k: 'y', m: 'x' }, { a: 1, k: 'x', m: 'y' }, { a: 1, k: 'z', m: 'x' }],
  ],
  'nullable alternatives of numbers': [z.union([z.literal([1, 2]), z.int().min(10)]).nullable(), [null, 1, 2, 11], [3]],
  'one of several keys': [
    z.union([
      z.object({ http: z.object({ port: z.int32() }) }),
      z.object({ exec: z.object({ command: z.array(z.string()).min(1) }) }),
    ]),
    [{ http: { port: 1 } }, { exec: { command: ['a'] } }],
    [{}, { http: {} }, { exec: { command: [] } }],
  ],
}

const extended: Rows = {
  'refined with CEL': [
    z.object({ a: z.int(), b: z.int() }).refine((v) => v.a < v.b)
      .meta({ 'x-kubernetes-validations': [{ rule: 'self.a < self.b', message: 'a must be less than b' }] }),
    [{ a: 1, b: 2 }],
    [{ a: 'x', b: 2 }],
  ],
  'refined with CEL in mini': [
    mini.string().check(
      mini.refine((s) => s !== 'x'),
      mini.meta({ 'x-kubernetes-validations': [{ rule: "self != 'x'" }] }),
    ),
    ['a'],
    [1],
  ],
  'a list with keys': [
    z.array(z.object({ name: z.string(), n: z.int().optional() })).meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    }),
    [[{ name: 'a' }]],
    [[{}]],
  ],
  described: [z.string().describe('a name').min(1).meta({ title: 'Name', id: 'ShapeName' }), ['a'], ['']],
  'an embedded object': [z.looseObject({}).meta({ 'x-kubernetes-embedded-resource': true }), [{
    apiVersion: 'v1',
    kind: 'X',
    metadata: { name: 'x' },
    spec: { a: 1 },
  }], [1]],
  unchecked: [z.custom<{ a: number }>().meta({ 'x-kubernetes-preserve-unknown-fields': true }), [{ a: 1 }], []],
  lazy: [z.lazy(() => z.string().min(1)), ['a'], ['']],
}

const CONDITION = {
  ...{ type: 'Ready', status: 'True', reason: 'Done', message: '' },
  lastTransitionTime: '2026-01-31T08:00:00Z',
}

/** What `kubeloop/schema` makes, without rules. */
export const helperShapes: readonly Shape[] = shapesOf({
  quantity: [quantity, ['500m', '1.5Gi', '0', '-1', '+.5', '1.', '1e3', '1E-3', '5E', '12u', '7n', '3k', 4, -4], [
    '',
    'Gi',
    '1.5.2',
    '1KiB',
    '1 Gi',
    '1e',
    '1e1.5',
    '1K',
    1.5,
    null,
    true,
  ]],
  'int or string': [intOrString, [1, -1, '50%', '', 'http'], [1.5, 2 ** 31, true, []]],
  duration: [duration, ['0', '90s', '1h30m', '-1.5h', '+.5s', '1.s', '250ms', '3us', '3µs', '3μs', '7ns', '0s'], [
    '',
    's',
    '1',
    '1d',
    '1 h',
    '1h 30m',
    'PT1H',
    '-',
    '.s',
    5,
  ]],
  'instant of RFC 3339': [dateTime, [
    '2026-01-31T08:00:00Z',
    '2026-01-31T08:00:00.123456Z',
    '2026-01-31T08:00:00+01:00',
  ], ['2026-01-31', '2026-01-31T08:00:00', '2026-02-30T08:00:00Z', 1]],
  'any embedded object': [embeddedObject, [
    { apiVersion: 'v1', kind: 'Pod' },
    { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 'b' } }, spec: { a: [1] } },
  ], [{}, { apiVersion: 'v1' }, { apiVersion: '', kind: 'Pod' }, { apiVersion: 'v1', kind: '' }, 'x']],
  'a typed embedded object': [
    z.object({ apiVersion: z.string(), kind: z.string(), spec: z.object({ a: z.int() }) }).check(embedded()),
    [{ apiVersion: 'v1', kind: 'Pod', spec: { a: 1 } }],
    [{ apiVersion: 'v1', kind: 'Pod', spec: {} }, { apiVersion: '', kind: 'Pod', spec: { a: 1 } }],
  ],
  'a map of items': [
    z.array(z.object({ name: z.string(), protocol: z.string().default('TCP'), n: z.int().optional() }))
      .check(listMap('name', 'protocol')),
    [
      [],
      [{ name: 'a', protocol: 'TCP' }, { name: 'a', protocol: 'UDP' }, { name: 'b', protocol: 'TCP' }],
    ],
    [
      [{ protocol: 'TCP' }],
      [{ name: 'a', protocol: 'TCP' }, { name: 'a', protocol: 'TCP', n: 1 }],
      [{ name: 'a' }, { name: 'b' }, { name: 'a', protocol: 'TCP' }],
    ],
  ],
  'a map of items beside alternatives, and in one': [
    z.object({ a: z.array(z.object({ k: z.string() })).check(listMap('k')) }).and(z.union([
      z.object({ b: z.array(z.object({ k: z.string(), n: z.int() })).check(listMap('k')) }),
      z.object({ c: z.int() }),
    ])),
    [{ a: [], b: [{ k: 'x', n: 1 }] }, { a: [{ k: 'x' }], c: 1 }],
    [{ a: [] }, { a: [{}], c: 1 }, { a: [], b: [{ n: 1 }] }, { a: [{ k: 'x' }, { k: 'x' }], c: 1 }],
  ],
  conditions: [conditionList, [[], [CONDITION]], [[{}], [CONDITION, CONDITION]]],
  'a set': [z.array(z.string()).check(listSet()).optional(), [[], ['a', 'b']], [['a', 'b', 'a']]],
  'a set of numbers': [z.array(z.int()).check(listSet()), [[1, 2]], [[1, 1]]],
  'a set of either': [z.array(intOrString).check(listSet()), [[1, '1']], [['1', '1']]],
  'a set of atomic objects': [z.array(z.object({ a: z.int(), b: z.int() }).check(atomic())).check(listSet()), [[{
    a: 1,
    b: 1,
  }, { a: 1, b: 2 }]], [[{ a: 1, b: 1 }, { b: 1, a: 1 }]]],
  'a set of lists': [z.array(z.array(z.string())).check(listSet()), [[['a', 'b'], ['b', 'a']]], [[['a'], ['a']]]],
  'atomic values': [
    z.object({ l: z.array(z.int()).check(atomic()), m: z.record(z.string(), z.int()).check(atomic()) }),
    [{ l: [1, 1], m: { a: 1 } }],
    [{ l: [1] }],
  ],
  'a record of many': [
    z.record(z.string(), z.int()).check(entries({ min: 4 })),
    [{ a: 1, b: 1, c: 1, d: 1 }],
    [{ a: 1, b: 1, c: 1 }],
  ],
  'a record of limited size': [z.record(z.string(), z.int()).check(entries({ min: 1, max: 2 })), [{ a: 1 }, {
    a: 1,
    b: 2,
  }], [{}, { a: 1, b: 2, c: 3 }]],
  'one field of several': [
    z.object({ a: z.int().optional(), b: z.int().optional() }).check(entries({ min: 1, max: 1 })),
    [{ a: 1 }, { b: 1 }],
    [{}, { a: 1, b: 1 }],
  ],
  'with an example': [
    z.object({ a: z.int().meta({ examples: [3, 4] }), b: z.string().meta({ example: 'x' }).optional() }),
    [{ a: 1 }],
    [{}],
  ],
})

/** Shapes with rules, which only a server evaluates; refinements state the same for zod. */
export const ruleShapes: readonly Shape[] = shapesOf({
  'rules with all that they may state': [
    z.object({ min: z.int(), max: z.int(), tags: z.array(z.string().max(9)).max(9) })
      .refine(({ min, max }) => min <= max)
      .refine(({ tags }) => !tags.includes('x'))
      .check(
        cel('self.min <= self.max', {
          messageExpression: "'min must not exceed ' + 'max'",
          reason: 'FieldValueForbidden',
          fieldPath: '.min',
        }),
        cel("!('x' in self.tags)", 'no x'),
        cel('!oldSelf.hasValue() || oldSelf.value().min <= self.min', {
          message: 'min cannot shrink',
          optionalOldSelf: true,
        }),
      ),
    [{ min: 1, max: 1, tags: [] }],
    [{ min: 2, max: 1, tags: [] }, { min: 1, max: 2, tags: ['x'] }, { min: 1, max: 2 }],
  ],
  'a rule of a string, of an optional list and of a record': [
    z.object({
      s: z.string().refine((s) => s !== 'x').check(cel("self != 'x'")).max(5),
      l: z.array(z.string()).refine((l) => l.length > 1).optional().check(cel('self.size() > 1')),
      m: z.record(z.string(), z.int()).refine((m) => !('a' in m)).check(cel("!('a' in self)")),
    }),
    [{ s: 'a', m: {} }, { s: 'a', l: ['a', 'b'], m: { b: 1 } }],
    [{ s: 'x', m: {} }, { s: 'a', l: ['a'], m: {} }, { s: 'a', m: { a: 1 } }, { s: 'abcdef', m: {} }],
  ],
})

export const shapes: readonly Shape[] = [
  ...shapesOf({ ...strings, ...numbers, ...values, ...containers, ...unions, ...extended }),
  ...helperShapes,
]

function shapesOf(rows: Rows): readonly Shape[] {
  return Object.entries(rows).map(([name, [schema, accepts, refuses]]) => ({ name, schema, accepts, refuses }))
}
