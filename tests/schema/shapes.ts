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

const strings: readonly Shape[] = [
  { name: 'string', schema: z.string(), accepts: ['', 'a'], refuses: [1, null, true, [], {}] },
  { name: 'length', schema: z.string().min(2).max(4), accepts: ['ab', 'abcd'], refuses: ['a', 'abcde'] },
  {
    name: 'narrowed length',
    schema: z.string().min(2).min(3).max(9).length(4),
    accepts: ['abcd'],
    refuses: ['abc', 'abcde'],
  },
  {
    name: 'pattern',
    schema: z.string().regex(/^[a-z]+(?<tail>-\d+)?$/),
    accepts: ['a', 'b-12'],
    refuses: ['', 'A', 'a-'],
  },
  { name: 'two patterns', schema: z.string().regex(/^a/).regex(/z$/), accepts: ['az', 'a-z'], refuses: ['a', 'z'] },
  { name: 'pattern with flags', schema: z.string().regex(/^abc$/i), accepts: ['ABC'], refuses: ['ABD'] },
  {
    name: 'pattern with escapes',
    schema: z.string().regex(/^[[\]\/\u00e9]\x41[^\s\S]?[^]$/),
    accepts: ['éAx', '[A]'],
    refuses: ['eAx', 'éA'],
  },
  {
    name: 'unicode pattern',
    schema: z.string().regex(/^\p{L}\u{1F600}$/u),
    accepts: ['é\u{1F600}'],
    refuses: ['1\u{1F600}', 'é'],
  },
  {
    name: 'starts, ends, includes',
    schema: z.string().startsWith('a.').endsWith('z').includes('+'),
    accepts: ['a.+z'],
    refuses: ['ab+z', 'a.z'],
  },
  { name: 'lower case', schema: z.string().lowercase(), accepts: ['abc-1'], refuses: ['aBc'] },
  { name: 'email', schema: z.email(), accepts: ['a.b@example.com'], refuses: ['a', 'a@b', 'A <a@example.com>'] },
  {
    name: 'uuid',
    schema: z.uuid(),
    accepts: ['0b5e4d3a-6b1f-4c8e-9d2a-1f2e3d4c5b6a'],
    refuses: ['x', '0b5e4d3a6b1f4c8e9d2a1f2e3d4c5b6a'],
  },
  {
    name: 'url',
    schema: z.url(),
    accepts: ['http://a.example/x?y#z', 'mailto:a@example.com'],
    refuses: ['/a', 'a', ''],
  },
  {
    name: 'http url',
    schema: z.httpUrl(),
    accepts: ['https://a.example:8443/x', 'http://u@a.example'],
    refuses: ['ftp://a.example', 'http://a'],
  },
  { name: 'hostname', schema: z.hostname(), accepts: ['a', 'a-b.example.'], refuses: ['-a', 'a..b', ''] },
  {
    name: 'instant',
    schema: z.iso.datetime(),
    accepts: ['2020-02-29T12:00:00Z', '2020-01-01T00:00:00.123Z'],
    refuses: ['2021-02-29T12:00:00Z', '2020-01-01', '2020-01-01T00:00:00+01:00'],
  },
  {
    name: 'instant with offset',
    schema: z.iso.datetime({ offset: true }),
    accepts: ['2020-01-01T00:00:00+01:00'],
    refuses: ['2020-01-01T00:00:00'],
  },
  {
    name: 'local instant',
    schema: z.iso.datetime({ local: true }),
    accepts: ['2020-01-01T00:00:00', '2020-01-01T00:00'],
    refuses: ['2020-01-01'],
  },
  { name: 'date', schema: z.iso.date(), accepts: ['2020-01-31'], refuses: ['2020-02-30', '2020-1-1'] },
  { name: 'time', schema: z.iso.time(), accepts: ['12:34', '12:34:56.7'], refuses: ['24:00', '1:2'] },
  {
    name: 'duration',
    schema: z.iso.duration(),
    accepts: ['P3W', 'P1Y', 'PT5M', 'P1DT1.5S'],
    refuses: ['P', 'PT', 'P1DT', '5m', 'P1W1D'],
  },
  { name: 'ipv4', schema: z.ipv4(), accepts: ['10.0.0.1'], refuses: ['10.0.0.256', '::1'] },
  { name: 'ipv6', schema: z.ipv6(), accepts: ['::1', 'fe80::1', '::ffff:10.0.0.1'], refuses: ['10.0.0.1', '::g'] },
  { name: 'cidrv4', schema: z.cidrv4(), accepts: ['10.0.0.0/8'], refuses: ['10.0.0.0', '10.0.0.0/33'] },
  { name: 'cidrv6', schema: z.cidrv6(), accepts: ['fe80::/10'], refuses: ['10.0.0.0/8', 'fe80::', 'fe80::/129'] },
  { name: 'base64', schema: z.base64(), accepts: ['', 'YWI=', 'YQ==', 'YWJj'], refuses: ['YQ=', 'a', 'Y===', '_-__'] },
  { name: 'base64url', schema: z.base64url(), accepts: ['', '_-__', 'YQ'], refuses: ['YQ==', 'a', '++++'] },
  {
    name: 'names of machines',
    schema: z.object({
      id: z.nanoid().optional(),
      ulid: z.ulid().optional(),
      mac: z.mac().optional(),
      tel: z.e164().optional(),
      md5: z.hash('md5').optional(),
    }),
    accepts: [{
      ulid: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      mac: '00:1a:2b:3c:4d:5e',
      tel: '+14155550123',
      md5: 'd41d8cd98f00b204e9800998ecf8427e',
    }],
    refuses: [{ id: 'x' }, { ulid: 'x' }, { mac: 'x' }, { tel: '1' }, { md5: 'x' }],
  },
  {
    name: 'template literal',
    schema: z.templateLiteral(['v', z.int().min(0), z.enum(['a', 'b'])]),
    accepts: ['v12a'],
    refuses: ['v12', '12a'],
  },
]

const numbers: readonly Shape[] = [
  { name: 'number', schema: z.number(), accepts: [0, -1.5, 1e300], refuses: ['0', null, true] },
  { name: 'limits', schema: z.number().min(1).max(2), accepts: [1, 1.5, 2], refuses: [0.9, 2.1] },
  { name: 'exclusive limits', schema: z.number().gt(1).lt(2), accepts: [1.5], refuses: [1, 2] },
  { name: 'narrower limits win', schema: z.number().min(1).gt(1).min(0).lt(9).max(9), accepts: [1.5], refuses: [1, 9] },
  { name: 'multiples', schema: z.number().multipleOf(5), accepts: [0, -10], refuses: [7] },
  { name: 'several multiples', schema: z.number().multipleOf(2).multipleOf(3), accepts: [6], refuses: [2, 3] },
  { name: 'integer', schema: z.int(), accepts: [0, Number.MAX_SAFE_INTEGER, -5], refuses: [1.5, 2 ** 60, '1'] },
  { name: 'number that is an integer', schema: z.number().int().positive(), accepts: [1], refuses: [0, 1.5] },
  { name: 'int32', schema: z.int32(), accepts: [2 ** 31 - 1, -(2 ** 31)], refuses: [2 ** 31, 0.5] },
  { name: 'int32 within limits', schema: z.int32().min(0).max(10), accepts: [0, 10], refuses: [-1, 11] },
  { name: 'uint32', schema: z.uint32(), accepts: [0, 2 ** 32 - 1], refuses: [-1, 2 ** 32] },
  { name: 'float32', schema: z.float32(), accepts: [1.5], refuses: [1e39] },
]

const values: readonly Shape[] = [
  { name: 'boolean', schema: z.boolean(), accepts: [true, false], refuses: [0, 'true', null] },
  { name: 'enum', schema: z.enum(['a', 'b']), accepts: ['a'], refuses: ['c', 1, null] },
  { name: 'numeric enum', schema: z.enum({ One: 1, Two: 2 }), accepts: [1], refuses: [3, 'One'] },
  { name: 'literal', schema: z.literal(['x', 'y']), accepts: ['x'], refuses: ['z'] },
  { name: 'true', schema: z.literal(true), accepts: [true], refuses: [false, 'true'] },
  { name: 'nullable string', schema: z.string().min(2).nullable(), accepts: [null, 'ab'], refuses: ['a', 1] },
  {
    name: 'nullable enum',
    schema: z.enum(['a.b', 'c']).nullable(),
    accepts: [null, 'a.b', 'c'],
    refuses: ['a-b', 'd', 'xc'],
  },
  { name: 'nullable numbers', schema: z.literal([1, 3]).nullable(), accepts: [null, 1, 3], refuses: [2] },
  { name: 'nullable true', schema: z.literal(true).nullable(), accepts: [null, true], refuses: [false] },
  { name: 'literal or null', schema: z.literal(['a', null]), accepts: [null, 'a'], refuses: ['b'] },
  {
    name: 'nullable object',
    schema: z.object({ a: z.string() }).nullable(),
    accepts: [null, { a: 'x' }],
    refuses: [{}, 1],
  },
  { name: 'anything', schema: z.unknown(), accepts: [1, 'a', null, [1, 'a'], { a: { b: null } }], refuses: [] },
  { name: 'any', schema: z.any(), accepts: [1, null], refuses: [] },
  {
    name: 'mini',
    schema: mini.string().check(mini.minLength(2), mini.regex(/^a/)),
    accepts: ['ab'],
    refuses: ['a', 'bb'],
  },
  {
    name: 'brand and readonly',
    schema: z.array(z.string().brand('Name')).readonly(),
    accepts: [['a']],
    refuses: [[1]],
  },
]

const containers: readonly Shape[] = [
  { name: 'array', schema: z.array(z.int()).min(1).max(2), accepts: [[1], [1, 2]], refuses: [[], [1, 2, 3], ['a'], 1] },
  { name: 'array of length', schema: z.array(z.string()).length(2), accepts: [['a', 'b']], refuses: [['a']] },
  {
    name: 'object',
    schema: z.object({ a: z.string(), b: z.int().optional(), c: z.boolean().default(true) }),
    accepts: [{ a: 'x' }, { a: 'x', b: 1, c: false }],
    refuses: [{}, { a: 1 }, []],
  },
  { name: 'empty object', schema: z.object({}), accepts: [{}], refuses: [1] },
  {
    name: 'loose object',
    schema: z.looseObject({ a: z.string() }),
    accepts: [{ a: 'x', b: { c: 1 } }],
    refuses: [{ b: 1 }],
  },
  {
    name: 'object of anything typed',
    schema: z.object({}).catchall(z.int()),
    accepts: [{ a: 1 }],
    refuses: [{ a: 'x' }],
  },
  { name: 'record', schema: z.record(z.string(), z.int()), accepts: [{}, { a: 1 }], refuses: [{ a: 'x' }, []] },
  {
    name: 'record of an enum',
    schema: z.record(z.enum(['a', 'b']), z.int()),
    accepts: [{ a: 1, b: 2 }],
    refuses: [{ a: 1 }],
  },
  {
    name: 'record of literals and an enum',
    schema: z.record(z.union([z.literal(['a', 1]), z.enum(['b'])]), z.int()),
    accepts: [{ a: 1, 1: 2, b: 3 }],
    refuses: [{ a: 1, b: 3 }, { a: 1, 1: 'x', b: 3 }],
  },
  {
    name: 'partial record',
    schema: z.partialRecord(z.enum(['a', 'b']), z.int()),
    accepts: [{}, { a: 1 }],
    refuses: [{ a: 'x' }],
  },
  {
    name: 'intersection',
    schema: z.object({ a: z.string() }).and(z.object({ b: z.int() })),
    accepts: [{ a: 'x', b: 1 }],
    refuses: [{ a: 'x' }, { b: 1 }],
  },
  {
    name: 'overlapping intersection',
    schema: z.object({ a: z.string().min(2) }).and(z.object({ a: z.string().max(3) })),
    accepts: [{ a: 'xx' }],
    refuses: [{ a: 'x' }, { a: 'xxxx' }],
  },
  {
    name: 'defaults at depth',
    schema: z.array(z.object({ n: z.int().default(3), deep: z.object({ s: z.string().default('x') }).prefault({}) })),
    accepts: [[{}], [{ n: 1, deep: { s: 'y' } }]],
    refuses: [[{ n: 'a' }]],
  },
  { name: 'nullable default', schema: z.string().nullable().default('x'), accepts: [null, 'a'], refuses: [1] },
]

const unions: readonly Shape[] = [
  { name: 'integer or string', schema: z.union([z.int(), z.string()]), accepts: [1, 'a'], refuses: [1.5, true, null] },
  {
    name: 'limited integer or string',
    schema: z.union([z.string().regex(/^\d+%$/), z.int32().min(0)]),
    accepts: [1, '5%'],
    refuses: [-1, '5'],
  },
  { name: 'or null', schema: z.union([z.string(), z.null()]), accepts: ['a', null], refuses: [1] },
  {
    name: 'strings of two kinds',
    schema: z.union([z.ipv4(), z.literal('auto')]),
    accepts: ['10.0.0.1', 'auto'],
    refuses: ['b'],
  },
  {
    name: 'enums together',
    schema: z.enum(['a']).or(z.enum(['b'])).or(z.null()),
    accepts: ['a', 'b', null],
    refuses: ['c'],
  },
  {
    name: 'discriminated',
    schema: z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('off') }),
      z.object({ mode: z.literal('on'), secret: z.string().min(2), tags: z.array(z.string().min(1)).optional() }),
    ]),
    accepts: [{ mode: 'off' }, { mode: 'on', secret: 'ab', tags: ['x'] }],
    refuses: [{}, { mode: 'on' }, { mode: 'x' }, { mode: 'on', secret: 'a' }, { mode: 'on', secret: 'ab', tags: [''] }],
  },
  {
    name: 'nullable discriminated',
    schema: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), n: z.int() })])
      .nullable(),
    accepts: [null, { k: 'a' }],
    refuses: [{ k: 'b' }],
  },
  {
    name: 'discriminated alternatives that keep unknown fields',
    schema: z.discriminatedUnion('k', [
      z.looseObject({ k: z.literal('a') }),
      z.looseObject({ k: z.literal('b'), n: z.int() }),
    ]),
    accepts: [{ k: 'a', n: 1 }, { k: 'a', m: 'x' }, { k: 'b', n: 1 }],
    refuses: [{ k: 'b' }, { k: 'c' }],
  },
  {
    name: 'discriminated alternatives with different alternatives in one field',
    schema: z.discriminatedUnion(
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
    accepts: [{ k: 'a', in: { t: 'x', n: 1 } }, { k: 'b', in: { t: 'y', n: 1 } }, { k: 'a', in: { t: 'y' } }],
    refuses: [{ k: 'b', in: { t: 'y' } }, { k: 'a', in: { t: 'z' } }],
  },
  {
    name: 'alternatives with a name of two types of values',
    schema: z.union([z.object({ k: z.literal('a') }), z.object({ k: z.literal(['a', 'b']), n: z.int() })]),
    accepts: [{ k: 'a' }, { k: 'b', n: 1 }, { k: 'a', n: 1 }],
    refuses: [{ k: 'b' }, {}],
  },
  {
    name: 'alternatives with a field in common',
    schema: z.union([
      z.object({ a: z.string().min(2), b: z.int() }),
      z.object({ a: z.string().min(2), c: z.array(z.string().min(1)) }),
    ]),
    accepts: [{ a: 'xx', b: 1 }, { a: 'xx', c: ['x'] }],
    refuses: [{ a: 'x', b: 1 }, { a: 'xx' }, { b: 1 }, { a: 'xx', c: [''] }],
  },
  {
    name: 'arrays of two lengths',
    schema: z.union([z.array(z.string().min(2)).length(1), z.array(z.string().min(2)).length(3)]),
    accepts: [['ab'], ['ab', 'ab', 'ab']],
    refuses: [[], ['a'], ['ab', 'ab'], ['ab', 'ab', 'a']],
  },
  {
    name: 'alternatives within alternatives',
    schema: z.union([z.union([z.string().regex(/^a/), z.string().regex(/^b/)]), z.string().min(3)]),
    accepts: ['a', 'b', 'ccc'],
    refuses: ['c', 1],
  },
  {
    name: 'alternatives and more',
    schema: z.object({ a: z.int() }).and(
      z.discriminatedUnion('k', [z.object({ k: z.literal('x') }), z.object({ k: z.literal('y'), n: z.int() })]),
    )
      .and(z.discriminatedUnion('m', [z.object({ m: z.literal('x') }), z.object({ m: z.literal('y'), o: z.int() })])),
    accepts: [{ a: 1, k: 'x', m: 'x' }, { a: 1, k: 'y', n: 1, m: 'y', o: 1 }],
    refuses: [{ k: 'x', m: 'x' }, { a: 1, k: 'y', m: 'x' }, { a: 1, k: 'x', m: 'y' }, { a: 1, k: 'z', m: 'x' }],
  },
  {
    name: 'nullable alternatives of numbers',
    schema: z.union([z.literal([1, 2]), z.int().min(10)]).nullable(),
    accepts: [null, 1, 2, 11],
    refuses: [3],
  },
  {
    name: 'one of several keys',
    schema: z.union([
      z.object({ http: z.object({ port: z.int32() }) }),
      z.object({ exec: z.object({ command: z.array(z.string()).min(1) }) }),
    ]),
    accepts: [{ http: { port: 1 } }, { exec: { command: ['a'] } }],
    refuses: [{}, { http: {} }, { exec: { command: [] } }],
  },
]

const extended: readonly Shape[] = [
  {
    name: 'refined with CEL',
    schema: z.object({ a: z.int(), b: z.int() }).refine((v) => v.a < v.b)
      .meta({ 'x-kubernetes-validations': [{ rule: 'self.a < self.b', message: 'a must be less than b' }] }),
    accepts: [{ a: 1, b: 2 }],
    refuses: [{ a: 'x', b: 2 }],
  },
  {
    name: 'refined with CEL in mini',
    schema: mini.string().check(
      mini.refine((s) => s !== 'x'),
      mini.meta({ 'x-kubernetes-validations': [{ rule: "self != 'x'" }] }),
    ),
    accepts: ['a'],
    refuses: [1],
  },
  {
    name: 'a list with keys',
    schema: z.array(z.object({ name: z.string(), n: z.int().optional() })).meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    }),
    accepts: [[{ name: 'a' }]],
    refuses: [[{}]],
  },
  {
    name: 'described',
    schema: z.string().describe('a name').min(1).meta({ title: 'Name', id: 'ShapeName' }),
    accepts: ['a'],
    refuses: [''],
  },
  {
    name: 'an embedded object',
    schema: z.looseObject({}).meta({ 'x-kubernetes-embedded-resource': true }),
    accepts: [{ apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: { a: 1 } }],
    refuses: [1],
  },
  {
    name: 'unchecked',
    schema: z.custom<{ a: number }>().meta({ 'x-kubernetes-preserve-unknown-fields': true }),
    accepts: [{ a: 1 }],
    refuses: [],
  },
  { name: 'lazy', schema: z.lazy(() => z.string().min(1)), accepts: ['a'], refuses: [''] },
]

/** What `kubeloop/schema` makes, without rules. */
export const helperShapes: readonly Shape[] = [
  {
    name: 'quantity',
    schema: quantity,
    accepts: ['500m', '1.5Gi', '0', '-1', '+.5', '1.', '1e3', '1E-3', '5E', '12u', '7n', '3k', 4, -4],
    refuses: ['', 'Gi', '1.5.2', '1KiB', '1 Gi', '1e', '1e1.5', '1K', 1.5, null, true],
  },
  {
    name: 'int or string',
    schema: intOrString,
    accepts: [1, -1, '50%', '', 'http'],
    refuses: [1.5, 2 ** 31, true, []],
  },
  {
    name: 'duration',
    schema: duration,
    accepts: ['0', '90s', '1h30m', '-1.5h', '+.5s', '1.s', '250ms', '3us', '3µs', '3μs', '7ns', '0s'],
    refuses: ['', 's', '1', '1d', '1 h', '1h 30m', 'PT1H', '-', '.s', 5],
  },
  {
    name: 'instant of RFC 3339',
    schema: dateTime,
    accepts: ['2026-01-31T08:00:00Z', '2026-01-31T08:00:00.123456Z', '2026-01-31T08:00:00+01:00'],
    refuses: ['2026-01-31', '2026-01-31T08:00:00', '2026-02-30T08:00:00Z', 1],
  },
  {
    name: 'any embedded object',
    schema: embeddedObject,
    accepts: [
      { apiVersion: 'v1', kind: 'Pod' },
      { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 'b' } }, spec: { a: [1] } },
    ],
    refuses: [{}, { apiVersion: 'v1' }, { apiVersion: '', kind: 'Pod' }, { apiVersion: 'v1', kind: '' }, 'x'],
  },
  {
    name: 'a typed embedded object',
    schema: z.object({ apiVersion: z.string(), kind: z.string(), spec: z.object({ a: z.int() }) }).check(embedded()),
    accepts: [{ apiVersion: 'v1', kind: 'Pod', spec: { a: 1 } }],
    refuses: [{ apiVersion: 'v1', kind: 'Pod', spec: {} }, { apiVersion: '', kind: 'Pod', spec: { a: 1 } }],
  },
  {
    name: 'a map of items',
    schema: z.array(z.object({ name: z.string(), protocol: z.string().default('TCP'), n: z.int().optional() }))
      .check(listMap('name', 'protocol')),
    accepts: [
      [],
      [{ name: 'a', protocol: 'TCP' }, { name: 'a', protocol: 'UDP' }, { name: 'b', protocol: 'TCP' }],
    ],
    refuses: [
      [{ protocol: 'TCP' }],
      [{ name: 'a', protocol: 'TCP' }, { name: 'a', protocol: 'TCP', n: 1 }],
      [{ name: 'a' }, { name: 'b' }, { name: 'a', protocol: 'TCP' }],
    ],
  },
  {
    name: 'a set',
    schema: z.array(z.string()).check(listSet()).optional(),
    accepts: [[], ['a', 'b']],
    refuses: [['a', 'b', 'a']],
  },
  { name: 'a set of numbers', schema: z.array(z.int()).check(listSet()), accepts: [[1, 2]], refuses: [[1, 1]] },
  {
    name: 'a set of either',
    schema: z.array(intOrString).check(listSet()),
    accepts: [[1, '1']],
    refuses: [['1', '1']],
  },
  {
    name: 'a set of atomic objects',
    schema: z.array(z.object({ a: z.int(), b: z.int() }).check(atomic())).check(listSet()),
    accepts: [[{ a: 1, b: 1 }, { a: 1, b: 2 }]],
    refuses: [[{ a: 1, b: 1 }, { b: 1, a: 1 }]],
  },
  {
    name: 'a set of lists',
    schema: z.array(z.array(z.string())).check(listSet()),
    accepts: [[['a', 'b'], ['b', 'a']]],
    refuses: [[['a'], ['a']]],
  },
  {
    name: 'atomic values',
    schema: z.object({ l: z.array(z.int()).check(atomic()), m: z.record(z.string(), z.int()).check(atomic()) }),
    accepts: [{ l: [1, 1], m: { a: 1 } }],
    refuses: [{ l: [1] }],
  },
  {
    name: 'a record of limited size',
    schema: z.record(z.string(), z.int()).check(entries({ min: 1, max: 2 })),
    accepts: [{ a: 1 }, { a: 1, b: 2 }],
    refuses: [{}, { a: 1, b: 2, c: 3 }],
  },
  {
    name: 'one field of several',
    schema: z.object({ a: z.int().optional(), b: z.int().optional() }).check(entries({ min: 1, max: 1 })),
    accepts: [{ a: 1 }, { b: 1 }],
    refuses: [{}, { a: 1, b: 1 }],
  },
  {
    name: 'with an example',
    schema: z.object({ a: z.int().meta({ examples: [3, 4] }), b: z.string().meta({ example: 'x' }).optional() }),
    accepts: [{ a: 1 }],
    refuses: [{}],
  },
]

/** Shapes with rules, which only a server evaluates; refinements state the same for zod. */
export const ruleShapes: readonly Shape[] = [
  {
    name: 'rules with all that they may state',
    schema: z.object({ min: z.int(), max: z.int(), tags: z.array(z.string().max(9)).max(9) })
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
    accepts: [{ min: 1, max: 1, tags: [] }],
    refuses: [{ min: 2, max: 1, tags: [] }, { min: 1, max: 2, tags: ['x'] }, { min: 1, max: 2 }],
  },
  {
    name: 'a rule of a string, of an optional list and of a record',
    schema: z.object({
      s: z.string().refine((s) => s !== 'x').check(cel("self != 'x'")).max(5),
      l: z.array(z.string()).refine((l) => l.length > 1).optional().check(cel('self.size() > 1')),
      m: z.record(z.string(), z.int()).refine((m) => !('a' in m)).check(cel("!('a' in self)")),
    }),
    accepts: [{ s: 'a', m: {} }, { s: 'a', l: ['a', 'b'], m: { b: 1 } }],
    refuses: [{ s: 'x', m: {} }, { s: 'a', l: ['a'], m: {} }, { s: 'a', m: { a: 1 } }, { s: 'abcdef', m: {} }],
  },
]

export const shapes: readonly Shape[] = [
  ...[strings, numbers, values, containers, unions, extended, helperShapes].flat(),
]
