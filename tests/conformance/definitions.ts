/** Cases of CustomResourceDefinitions: which are refused. */
import { type Api, type Body, type Case, CRDS } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'

const INT = { type: 'integer' }
const TEXT = { type: 'string' }
const COLUMN = { name: 'C', type: 'string', jsonPath: '.spec.s' }

function object(properties: Body, more: Body = {}): Body {
  return { type: 'object', properties, ...more }
}

function paths(...given: readonly string[]): Body {
  return given.map((jsonPath) => ({ jsonPath }))
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

/** Properties of the root of a schema, with the causes of their refusal. */
const SCHEMAS: readonly (readonly [name: string, properties: Body])[] = [
  ['null type', { spec: { type: 'null' } }],
  ['bad type', { spec: { type: 'nope' } }],
  ['array no items', { spec: { type: 'array' } }],
  ['items list', { spec: { type: 'array', items: [TEXT] } }],
  ['ref', { spec: { $ref: '#/x' } }],
  ['unique', { spec: { type: 'array', items: TEXT, uniqueItems: true } }],
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
  ['anyOf field', { spec: object({ a: TEXT }, { anyOf: [{ properties: { b: { pattern: 'x' } } }] }) }],
  ['pattern', { spec: { type: 'string', pattern: '[' } }],
  ['pattern re2', { spec: { type: 'string', pattern: '(?i)^a\\z' } }],
  ['pattern lookahead', { spec: { type: 'string', pattern: '(?=a)' } }],
  ['set of objects', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-type': 'set' } }],
  ['set of lists', {
    spec: {
      type: 'array',
      items: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'set' },
      'x-kubernetes-list-type': 'set',
    },
  }],
  ['map no keys', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-type': 'map' } }],
  ['map wrong key', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['b'],
    },
  }],
  ['map key optional', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    },
  }],
  ['map dup', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }, { required: ['a'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a', 'a'],
    },
  }],
  ['map obj key', {
    spec: {
      type: 'array',
      items: object({ a: object({}) }, { required: ['a'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    },
  }],
  ['map scalar', {
    spec: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] },
  }],
  ['list type on string', { spec: { type: 'string', 'x-kubernetes-list-type': 'set' } }],
  ['list type nope', { spec: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'nope' } }],
  ['keys without', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-map-keys': ['a'] } }],
  ['map type', { spec: { type: 'string', 'x-kubernetes-map-type': 'atomic' } }],
  ['map type nope', { spec: { type: 'object', 'x-kubernetes-map-type': 'nope' } }],
  ['nullable items', { spec: { type: 'array', items: { ...TEXT, nullable: true }, 'x-kubernetes-list-type': 'set' } }],
  ['embedded', { spec: { type: 'object', 'x-kubernetes-embedded-resource': true } }],
  ['embedded string', { spec: { type: 'string', 'x-kubernetes-embedded-resource': true } }],
  ['default type', { spec: { type: 'string', default: 1 } }],
  ['default min', { spec: { type: 'integer', minimum: 5, default: 1 } }],
  ['default pruned', { spec: object({ a: TEXT }, { default: { b: 1 } }) }],
  ['default null', { spec: { type: 'string', default: null } }],
  ['default null nullable', { spec: { type: 'string', nullable: true, default: null } }],
  ['default enum', { spec: { type: 'string', enum: ['a'], default: 'b' } }],
  ['default in items', { spec: { type: 'array', items: object({ a: { ...TEXT, default: 1 } }) } }],
  ['default in addl', { spec: { type: 'object', additionalProperties: { ...TEXT, default: 1 } } }],
  ['meta props', { spec: TEXT, metadata: object({ name: TEXT, labels: TEXT }) }],
  ['meta name', { spec: TEXT, metadata: object({ name: { ...TEXT, maxLength: 5 } }) }],
  ['kind type', { spec: TEXT, kind: INT }],
]

/** Versions of a definition, with the causes of their refusal. */
const VERSIONS: readonly (readonly [name: string, versions: readonly Body[]])[] = [
  ['col ok', [{ name: 'v1', storage: true, ...{ additionalPrinterColumns: [{ ...COLUMN, ...{} }] } }]],
  ['col type', [{ name: 'v1', storage: true, ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: 'nope' } }] } }]],
  ['col no type', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: undefined } }] },
  }]],
  ['col no name', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ name: undefined } }] },
  }]],
  ['col no path', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: undefined } }] },
  }]],
  ['col path', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: 'spec.s' } }] },
  }]],
  ['col path2', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: '.spec[' } }] },
  }]],
  ['col format', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: 'integer', format: 'int64' } }] },
  }]],
  ['col format bad', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ format: 'nope' } }] },
  }]],
  ['col cel', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: '{.spec.s}' } }] },
  }]],
  ['sel ok', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.s', '.spec.n', '.spec.b') } }]],
  ['sel dup', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.s', '.spec.s') } }]],
  ['sel nodot', [{ name: 'v1', storage: true, ...{ selectableFields: paths('spec.s') } }]],
  ['sel missing', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.nope') } }]],
  ['sel array', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.l') } }]],
  ['sel item', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.l[0]') } }]],
  ['sel object', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.o') } }]],
  ['sel number', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.d') } }]],
  ['sel meta', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.metadata.name') } }]],
  ['sel map', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.m.x') } }]],
  ['sel many', [{
    name: 'v1',
    storage: true,
    ...{ selectableFields: paths(...Array.from({ length: 9 }, (_, i) => `.spec.${i}`)) },
  }]],
  ['sel empty', [{ name: 'v1', storage: true, ...{ selectableFields: paths('') } }]],
  ['sel enum', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.e') } }]],
  ['sel ios', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.f') } }]],
  ['sel date', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.date') } }]],
  ['sel status', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.status.n') } }]],
  ['scale ok', [{
    name: 'v1',
    storage: true,
    ...{
      subresources: {
        scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.sel' },
      },
    },
  }]],
  ['scale none', [{ name: 'v1', storage: true, ...{ subresources: { scale: {} } } }]],
  ['scale nodot', [{
    name: 'v1',
    storage: true,
    ...{ subresources: { scale: { specReplicasPath: 'spec.n', statusReplicasPath: '.status.n' } } },
  }]],
  ['scale under', [{
    name: 'v1',
    storage: true,
    ...{
      subresources: {
        scale: { specReplicasPath: '.status.n', statusReplicasPath: '.spec.n', labelSelectorPath: '.meta' },
      },
    },
  }]],
  ['two storage', [{ name: 'v1', storage: true }, { name: 'v2', storage: true }]],
  ['no storage', [{ name: 'v1' }, { name: 'v2' }]],
  ['dup version', [{ name: 'v1', storage: true }, { name: 'v1' }]],
  ['version name', [{ name: 'V_1', storage: true }]],
  ['two ok', [{ name: 'v1', storage: true }, { name: 'v2' }]],
  ['none served', [{ name: 'v1', storage: true, served: false }]],
  ['no schema', [{ name: 'v1', storage: true, schema: undefined }]],
  ['no schema in 2', [{ name: 'v1', storage: true }, { name: 'v2', schema: undefined }]],
  ['deprecation', [{ name: 'v1', storage: true, deprecated: false, deprecationWarning: 'x' }]],
  ['deprecation empty', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: '' }]],
  ['deprecation long', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: 'x'.repeat(300) }]],
  ['deprecation nl', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: 'x\ny' }]],
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
]

async function answerTo(api: Api, versions: readonly Body[]): Promise<string> {
  const { status, body } = await api.request('POST', `${CRDS}?dryRun=All`, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `defineds.${api.group}` },
    spec: { group: api.group, scope: 'Cluster', names: { plural: 'defineds', kind: 'Defined' }, versions },
  })
  const causes = (body.details?.causes ?? []) as Body[]
  const texts = causes.map(({ reason, field, message }) =>
    `${String(reason).replace('FieldValue', '')} ${field}: ${message}`
  )
  return [status, texts.join('; ')].join(' ').trim()
}
