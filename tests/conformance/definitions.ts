/** Cases of CustomResourceDefinitions: which are refused. */
import { type Api, type Body, type Case, CRDS } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'

const INT = { type: 'integer' }
const TEXT = { type: 'string' }
const COLUMN = { name: 'C', type: 'string', jsonPath: '.spec.s' }

function object(properties: Body, more: Body = {}): Body {
  return { type: 'object', properties, ...more }
}

function list(items: Body, listType: string, more: Body = {}): Body {
  return { type: 'array', items, 'x-kubernetes-list-type': listType, ...more }
}

/** A list whose items have a key. */
function keyed(items: Body, ...keys: readonly string[]): Body {
  return list(items, 'map', { 'x-kubernetes-list-map-keys': keys })
}

const SCHEMA = object({
  spec: object({
    n: INT,
    s: TEXT,
    b: { type: 'boolean' },
    d: { type: 'number' },
    l: { type: 'array', items: TEXT },
    o: object({ x: INT }),
    m: { type: 'object', additionalProperties: TEXT },
    date: { type: 'string', format: 'date-time' },
    e: { type: 'string', enum: ['a', 'b'] },
    f: { 'x-kubernetes-int-or-string': true },
  }),
  status: object({ n: INT, sel: TEXT, conditions: { type: 'array', items: object({ type: TEXT, status: TEXT }) } }),
})

/** An object with a default, of whose field a condition states the format. */
function ofFormat(format: string, type: Body, value: unknown): Body {
  return { spec: object({ a: type }, { default: { a: value }, anyOf: [{ properties: { a: { format } } }] }) }
}

/** Properties of the root of a schema. */
const SCHEMAS: readonly (readonly [name: string, properties: Body])[] = [
  ['null type', { spec: { type: 'null' } }],
  ['bad type', { spec: { type: 'nope' } }],
  ['array no items', { spec: { type: 'array' } }],
  ['items list', { spec: { type: 'array', items: [TEXT] } }],
  ['ref', { spec: { $ref: '#/x' } }],
  ['unique', { spec: { type: 'array', items: TEXT, uniqueItems: true } }],
  ...['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies'].map((keyword) =>
    [keyword, { spec: { ...TEXT, [keyword]: keyword === 'id' ? 'x' : { a: TEXT } } }] as const
  ),
  ['both, true', { spec: object({ a: TEXT }, { additionalProperties: true }) }],
  ['both', { spec: object({ a: TEXT }, { additionalProperties: TEXT }) }],
  ['addl false', { spec: { type: 'object', additionalProperties: false } }],
  ['preserve false', { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } }],
  ['ios typed', { spec: { type: 'string', 'x-kubernetes-int-or-string': true } }],
  ['ios anyOf', { spec: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] } }],
  ['ios allOf', {
    spec: {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'x' }],
    },
  }],
  ['anyOf typed', { spec: { type: 'string', anyOf: [{ type: 'string' }] } }],
  ['allOf typed', { spec: { type: 'string', allOf: [{ type: 'string' }] } }],
  ['oneOf typed', { spec: { type: 'string', oneOf: [{ type: 'string' }] } }],
  ['not typed', { spec: { type: 'string', not: { type: 'string' } } }],
  ['anyOf field', { spec: object({ a: TEXT }, { anyOf: [{ properties: { b: { pattern: 'x' } } }] }) }],
  ['pattern', { spec: { type: 'string', pattern: '[' } }],
  ['pattern re2', { spec: { type: 'string', pattern: '(?i)^a\\z' } }],
  ['pattern lookahead', { spec: { type: 'string', pattern: '(?=a)' } }],
  ['set of objects', { spec: list(object({ a: TEXT }), 'set') }],
  ['set of lists', { spec: list(list(TEXT, 'set'), 'set') }],
  ['map no keys', { spec: list(object({ a: TEXT }), 'map') }],
  ['map wrong key', { spec: keyed(object({ a: TEXT }), 'b') }],
  ['map key optional', { spec: keyed(object({ a: TEXT }), 'a') }],
  ['map dup', { spec: keyed(object({ a: TEXT }, { required: ['a'] }), 'a', 'a') }],
  ['map obj key', { spec: keyed(object({ a: object({}) }, { required: ['a'] }), 'a') }],
  ['map scalar', { spec: keyed(TEXT, 'a') }],
  ['list type on string', { spec: { type: 'string', 'x-kubernetes-list-type': 'set' } }],
  ['list type nope', { spec: list(TEXT, 'nope') }],
  ['keys without', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-map-keys': ['a'] } }],
  ['map type', { spec: { type: 'string', 'x-kubernetes-map-type': 'atomic' } }],
  ['map type nope', { spec: { type: 'object', 'x-kubernetes-map-type': 'nope' } }],
  ['nullable items', { spec: list({ ...TEXT, nullable: true }, 'set') }],
  ['embedded', { spec: { type: 'object', 'x-kubernetes-embedded-resource': true } }],
  ['embedded string', { spec: { type: 'string', 'x-kubernetes-embedded-resource': true } }],
  ['default type', { spec: { type: 'string', default: 1 } }],
  ['default min', { spec: { type: 'integer', minimum: 5, default: 1 } }],
  ['default pruned', { spec: object({ a: TEXT }, { default: { b: 1 } }) }],
  ['default embedded', {
    spec: object({}, {
      ...{ 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      default: { apiVersion: 'v1', kind: 'A', metadata: { name: '' } },
    }),
  }],
  ['default null', { spec: { type: 'string', default: null } }],
  ['default null nullable', { spec: { type: 'string', nullable: true, default: null } }],
  ['default int32', ofFormat('int32', INT, 1)],
  ['default int64', ofFormat('int64', INT, 1)],
  ['default float', ofFormat('float', { type: 'number' }, 1.5)],
  ['default double', ofFormat('double', { type: 'number' }, 1.5)],
  ['default date-time', ofFormat('date-time', TEXT, '2026-01-01T00:00:00Z')],
  ['default enum', { spec: { type: 'string', enum: ['a'], default: 'b' } }],
  ['default in default', { spec: object({ a: TEXT }, { default: { a: 1 } }) }],
  ['default in items', { spec: { type: 'array', items: object({ a: { ...TEXT, default: 1 } }) } }],
  ['default in addl', { spec: { type: 'object', additionalProperties: { ...TEXT, default: 1 } } }],
  ['meta props', { spec: TEXT, metadata: object({ name: TEXT, labels: TEXT }) }],
  ['meta name', { spec: TEXT, metadata: object({ name: { ...TEXT, maxLength: 5 } }) }],
  ['kind type', { spec: TEXT, kind: INT }],
]

/** Returns a version with these fields. */
function only(fields: Body): readonly Body[] {
  return [{ name: 'v1', storage: true, ...fields }]
}

function column(change: Body): readonly Body[] {
  return only({ additionalPrinterColumns: [{ ...COLUMN, ...change }] })
}

function selectable(...paths: readonly string[]): readonly Body[] {
  return only({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) })
}

function scale(specReplicasPath: string, statusReplicasPath: string, more: Body = {}): readonly Body[] {
  return only({ subresources: { scale: { specReplicasPath, statusReplicasPath, ...more } } })
}

/** Keywords at the root of a schema with a status. */
const ROOTS: readonly Body[] = [
  { description: 'd', title: 't', example: {}, externalDocs: { url: 'https://a.b' }, required: ['spec'] },
  { 'x-kubernetes-preserve-unknown-fields': true },
  { maxProperties: 9 },
  { nullable: true },
]

/** Versions of a definition. */
const VERSIONS: readonly (readonly [name: string, versions: readonly Body[]])[] = [
  ['col ok', column({})],
  ['col type', column({ type: 'nope' })],
  ['col no type', column({ type: undefined })],
  ['col no name', column({ name: undefined })],
  ['col no path', column({ jsonPath: undefined })],
  ['col path', column({ jsonPath: 'spec.s' })],
  ['col path2', column({ jsonPath: '.spec[' })],
  ['col format', column({ type: 'integer', format: 'int64' })],
  ['col format bad', column({ format: 'nope' })],
  ['col cel', column({ jsonPath: '{.spec.s}' })],
  ['sel ok', selectable('.spec.s', '.spec.n', '.spec.b')],
  [
    'sel of one version',
    ['v1', 'v2'].map((name) => ({
      name,
      storage: name === 'v1',
      ...(name === 'v2' && { selectableFields: [{ jsonPath: '.spec.s' }] }),
    })),
  ],
  [
    'sel of both versions',
    ['.spec.s', '.spec.n'].map((jsonPath) => ({
      name: jsonPath === '.spec.s' ? 'v1' : 'v2',
      storage: jsonPath === '.spec.s',
      selectableFields: [{ jsonPath }],
    })),
  ],
  [
    'sel common, schemas not',
    ['v1', 'v2'].map((name) => ({
      name,
      storage: name === 'v1',
      schema: { openAPIV3Schema: object({ ...SCHEMA.properties, [name]: TEXT }) },
      selectableFields: [{ jsonPath: '.spec.s' }],
    })),
  ],
  ['sel dup', selectable('.spec.s', '.spec.s')],
  ['sel nodot', selectable('spec.s')],
  ['sel missing', selectable('.spec.nope')],
  ['sel array', selectable('.spec.l')],
  ['sel item', selectable('.spec.l[0]')],
  ['sel object', selectable('.spec.o')],
  ['sel number', selectable('.spec.d')],
  ['sel meta', selectable('.metadata.name')],
  ['sel map', selectable('.spec.m.x')],
  ['sel many', selectable(...Array.from({ length: 9 }, (_, i) => `.spec.${i}`))],
  ['sel empty', selectable('')],
  ['sel enum', selectable('.spec.e')],
  ['sel ios', selectable('.spec.f')],
  ['sel date', selectable('.spec.date')],
  ['sel status', selectable('.status.n')],
  ['scale ok', scale('.spec.n', '.status.n', { labelSelectorPath: '.status.sel' })],
  ['scale none', only({ subresources: { scale: {} } })],
  ['scale nodot', scale('spec.n', '.status.n')],
  ['scale under', scale('.status.n', '.spec.n', { labelSelectorPath: '.meta' })],
  ...ROOTS.map((more): (typeof VERSIONS)[number] => [
    `root ${Object.keys(more).join()}`,
    only({ subresources: { status: {} }, schema: { openAPIV3Schema: { ...SCHEMA, ...more } } }),
  ]),
  ['two storage', [{ name: 'v1', storage: true }, { name: 'v2', storage: true }]],
  ['no storage', [{ name: 'v1' }, { name: 'v2' }]],
  ['dup version', [{ name: 'v1', storage: true }, { name: 'v1' }]],
  ['version name', [{ name: 'V_1', storage: true }]],
  ['two ok', [{ name: 'v1', storage: true }, { name: 'v2' }]],
  ['none served', only({ served: false })],
  ['no schema', only({ schema: undefined })],
  ['no schema in 2', [{ name: 'v1', storage: true }, { name: 'v2', schema: undefined }]],
  ['deprecation', only({ deprecated: false, deprecationWarning: 'x' })],
  ['deprecation empty', only({ deprecated: true, deprecationWarning: '' })],
  ['deprecation long', only({ deprecated: true, deprecationWarning: 'x'.repeat(300) })],
  ['deprecation nl', only({ deprecated: true, deprecationWarning: 'x\ny' })],
]

/** Names that are added to those of a definition. */
const NAMES: readonly Body[] = [
  { singular: 'one' },
  { singular: 'O_ne' },
  { kind: 'De fined' },
  { listKind: 'Define-ds' },
  { listKind: 'Defined' },
  { shortNames: ['d', 'D'] },
  { categories: ['all', 'a.b'] },
]

export const DEFINITION_CASES: readonly Case[] = [
  recordedCase('definitions', 'schemas of definitions', async function* (api) {
    const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } }
    for (const [name, properties] of SCHEMAS) {
      const versions = [{ ...version, schema: { openAPIV3Schema: object(properties) } }]
      yield lineOf(name, await answerTo(api, versions))
    }
  }),
  recordedCase('definitions', 'versions of definitions', async function* (api) {
    for (const [name, versions] of VERSIONS) {
      const full = versions.map((each) => ({
        served: true,
        storage: false,
        schema: { openAPIV3Schema: SCHEMA },
        ...each,
      }))
      yield lineOf(name, await answerTo(api, full))
    }
  }),
  recordedCase('definitions', 'names of definitions', async function* (api) {
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: SCHEMA } }]
    for (const names of NAMES) yield lineOf(JSON.stringify(names), await answerTo(api, versions, names))
  }),
]

async function answerTo(api: Api, versions: readonly Body[], names: Body = {}): Promise<string> {
  const { status, body } = await api.request('POST', `${CRDS}?dryRun=All`, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `defineds.${api.group}` },
    spec: { group: api.group, scope: 'Cluster', names: { plural: 'defineds', kind: 'Defined', ...names }, versions },
  })
  const causes = (body.details?.causes ?? []) as Body[]
  const texts = new Set(causes.map(({ reason, field }) => `${String(reason).replace('FieldValue', '')} ${field}`))
  return [status, [...texts].sort().join('; ')].join(' ').trim()
}
