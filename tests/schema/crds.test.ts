import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as z from 'zod'
import { crdOf } from '../../lib/schema/crds.ts'
import { type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'
import { crdDifferences } from '../../lib/schema/crd_differences.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import type { CustomResourceConversion, CustomResourceDefinition, DefinedResource } from '../../lib/core/resource.ts'
import { Deployment } from 'kubeloop/kinds'

interface Extra {
  cluster?: boolean
  kind?: string
  plural?: string
  served?: boolean
  deprecated?: boolean | string
}

function version(name: string, extra: Extra = {}): DefinedResource {
  return defineResource({
    group: 'example.com',
    kind: 'Site',
    ...extra,
    version: name,
    spec: z.object({ [name]: z.string() }),
  })
}

function outline(crds: readonly CustomResourceDefinition[]): object {
  return Object.fromEntries(
    crds.map((
      crd,
    ) => [crd.metadata.name, crd.spec.versions.map((one) => one.storage ? `${one.name} stored` : one.name)]),
  )
}

test('versions of one kind share a CRD, and the one of the highest priority is stored', () => {
  const resources = [version('v1alpha1'), version('v1'), version('v1beta1'), version('v1', { kind: 'Other' })]
  assert.deepEqual(outline(crdOf(resources)), {
    'sites.example.com': ['v1 stored', 'v1beta1', 'v1alpha1'],
    'others.example.com': ['v1 stored'],
  })
})

test('each version keeps its schema', () => {
  const [crd] = crdOf([version('v1alpha1'), version('v1')])
  const parts = crd!.spec.versions.map(({ schema }) =>
    schema.openAPIV3Schema['properties'] as { spec: { properties: object } }
  )
  assert.deepEqual(parts.map(({ spec }) => Object.keys(spec.properties)), [['v1'], ['v1alpha1']])
})

function conversion(from: DefinedResource, hub: DefinedResource): ConversionDescription {
  const convert = (): never => assert.fail('not called')
  return describeConversion(from, hub, { up: convert, down: convert })
}

const webhook: CustomResourceConversion = {
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:9443/convert' } },
}

test('the hub of conversions is the stored version, whatever its priority', () => {
  const hub = version('v1alpha1')
  const later = version('v1')
  assert.deepEqual(outline(crdOf([hub, later], { conversions: [conversion(later, hub)] })), {
    'sites.example.com': ['v1', 'v1alpha1 stored'],
  })
})

test('versions that only a conversion mentions are in the CRD, once', () => {
  const [old, middle, hub] = [version('v1alpha1'), version('v1beta1'), version('v1')] as const
  const conversions = [conversion(old, hub), conversion(middle, hub)]
  for (const resources of [[], [hub], [old, hub]]) {
    assert.deepEqual(outline(crdOf(resources, { conversions })), {
      'sites.example.com': ['v1 stored', 'v1beta1', 'v1alpha1'],
    })
  }
})

test('only kinds with conversions get the webhook', () => {
  const [old, hub, other] = [version('v1alpha1'), version('v1'), version('v1', { kind: 'Other' })] as const
  const crds = crdOf([other], { conversions: [conversion(old, hub)], conversion: webhook })
  assert.deepEqual(
    crds.map(({ metadata, spec }) => [metadata.name, spec.conversion]),
    [['others.example.com', undefined], ['sites.example.com', webhook]],
  )
})

test('a version of a converted kind without a conversion is refused', () => {
  const [old, middle, hub] = [version('v1alpha1'), version('v1beta1'), version('v1')] as const
  assert.throws(
    () => crdOf([middle], { conversions: [conversion(old, hub)] }),
    /^TypeError: Cannot make one CRD of "sites\.example\.com": its version "v1beta1" has no conversion to "v1", which is stored; declare it with app\.convert\(\)$/,
  )
})

test('versions are served and deprecated as they are defined', () => {
  const resources = [
    version('v1'),
    version('v1beta1', { deprecated: 'use v1' }),
    version('v1alpha2', { deprecated: true }),
    version('v1alpha1', { served: false, deprecated: false }),
  ]
  assert.deepEqual(
    crdOf(resources)[0]!.spec.versions.map(({ name, served, storage, deprecated, deprecationWarning }) => {
      return { name, served, storage, deprecated, deprecationWarning }
    }),
    [
      { name: 'v1', served: true, storage: true, deprecated: undefined, deprecationWarning: undefined },
      { name: 'v1beta1', served: true, storage: false, deprecated: true, deprecationWarning: 'use v1' },
      { name: 'v1alpha2', served: true, storage: false, deprecated: true, deprecationWarning: undefined },
      { name: 'v1alpha1', served: false, storage: false, deprecated: undefined, deprecationWarning: undefined },
    ],
  )
  assert.throws(() => crdOf([version('v1', { served: false })]), /no version of it is served/)
  for (const deprecated of ['', 'x'.repeat(257), 'é'.repeat(129), 'two\nlines']) {
    assert.throws(
      () => version('v1', { deprecated }),
      /^TypeError: Cannot define resource "Site": the warning of deprecated must be one line of 1 to 256 bytes$/,
    )
  }
  version('v1', { deprecated: 'é'.repeat(128) })
})

test('the same resource twice is one version, and kinds without a definition have no CRD', () => {
  const site = version('v1')
  assert.deepEqual(outline(crdOf([site, Deployment, site])), { 'sites.example.com': ['v1 stored'] })
  assert.deepEqual(crdOf([Deployment]), [])
})

test('contradicting versions are refused', () => {
  assert.throws(() => crdOf([version('v1'), version('v1')]), /its version "v1" is defined twice/)
  assert.throws(() => crdOf([version('v1'), version('v2', { cluster: true })]), /versions differ in scope: .*"Cluster"/)
  assert.throws(
    () => crdOf([version('v1', { plural: 'sites' }), version('v2', { kind: 'Page', plural: 'sites' })]),
    /versions differ in kind: /,
  )
  const [first, second] = [version('v1'), version('v2')] as const
  const both = [conversion(first, second), conversion(second, first)]
  assert.throws(() => crdOf([], { conversions: both }), /only one version can be stored, not "v2" and "v1"/)
})

const spec = z.object({
  size: z.int32().max(50).default(1),
  mode: z.enum(['a', 'b']),
  hosts: z.array(z.object({ name: z.string() })),
  tags: z.record(z.string(), z.string().min(1)).optional(),
  open: z.unknown().optional(),
  note: z.string().nullable().optional(),
}).meta({ 'x-kubernetes-validations': [{ rule: 'self.size < 40', message: 'too large' }] })
const Site = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Site',
  spec,
  status: z.object({ ready: z.boolean(), sites: z.int32() }),
  scale: { specReplicas: '.spec.size', statusReplicas: '.status.sites' },
  selectableFields: ['.spec.mode', '.status.ready'],
  shortNames: ['si', 'st'],
  categories: ['all'],
  columns: { Size: '.spec.size' },
})
const ours = Site.definition!.crd

/** What is set in a CRD, by path from one of {@link ROOTS}, or from the fields of its spec; undefined is removed. */
type Edits = Readonly<Record<string, unknown>>
type Mutable = Record<string, unknown>

const VERSION = 'spec/versions/0'
const SCHEMA = `${VERSION}/schema/openAPIV3Schema`
const SPEC = `${SCHEMA}/properties/spec`
const ROOTS: Readonly<Record<string, string>> = {
  status: 'status',
  crd: 'spec',
  version: VERSION,
  schema: SCHEMA,
  spec: SPEC,
}

function edited(crd: CustomResourceDefinition, edits: Edits): CustomResourceDefinition {
  const copy = structuredClone(crd)
  for (const [path, value] of Object.entries(edits)) {
    const [root = '', ...below] = path.split('/')
    const steps = [...(ROOTS[root] ?? `${SPEC}/properties/${root}`).split('/'), ...below]
    const last = steps.pop()!
    const at = steps.reduce((object, step) => object[step] as Mutable, copy as unknown as Mutable)
    if (value === undefined) delete at[last]
    else at[last] = value
  }
  return copy
}

const after = (edits: Edits): readonly string[] => crdDifferences(ours, edited(ours, edits))

test('a CRD does not differ from itself', () => assert.deepEqual(after({}), []))

const differences: readonly (readonly [name: string, Edits, ...expected: string[]])[] = [
  ['another scope', { 'crd/scope': 'Cluster' }, 'its scope is Cluster, not Namespaced'],
  ['another kind', { 'crd/names/kind': 'Sight' }, 'its kind is Sight, not Site'],
  ['names in use by another CRD', {
    'status': { conditions: [{ type: 'NamesAccepted', status: 'False', message: '"sites" is already in use' }] },
  }, 'it is not served: "sites" is already in use'],
  ['a missing version', { 'version/name': 'v2' }, 'version v1 is missing'],
  ['a version that is not served', { 'version/served': false }, 'version v1 is not served'],
  [
    'no subresources',
    { 'version/subresources': {} },
    'version v1 has no status subresource',
    'version v1 has no such scale subresource',
  ],
  [
    'another scale',
    { 'version/subresources/scale/specReplicasPath': '.spec.x' },
    'version v1 has no such scale subresource',
  ],
  ['one selectable field less, and another', {
    'version/selectableFields': [{ jsonPath: '.status.ready' }, { jsonPath: '.spec.size' }],
  }, 'version v1 has no selectable field .spec.mode'],
  ['a missing field', { 'size': undefined }, 'spec.size is missing'],
  ['a missing nested field', { 'hosts/items/properties': {} }, 'spec.hosts[].name is missing'],
  ['another type', { 'size/type': 'string' }, 'type of spec.size is "string", not "integer"'],
  ['no default', { 'size/default': undefined }, 'default of spec.size is absent, not 1'],
  ['another default', { 'size/default': 2 }, 'default of spec.size is 2, not 1'],
  ['a narrower enum', { 'mode/enum': ['a'] }, 'enum of spec.mode lacks "b"'],
  ['an unexpected required field', { 'spec/required': ['hosts', 'mode', 'zone'] }, 'required of spec has "zone"'],
  [
    'an object in place of a map',
    { 'tags': { type: 'object' } },
    'additionalProperties of spec.tags is absent, not {"type":"string","minLength":1}',
  ],
  [
    'a map of other values',
    { 'tags/additionalProperties/type': 'integer' },
    'type of spec.tags{} is "integer", not "string"',
  ],
  [
    'an unexpected nested required field',
    { 'hosts/items/required': ['name', 'port'] },
    'required of spec.hosts[] has "port"',
  ],
  [
    'items of another type',
    { 'hosts/items/properties/name/type': 'integer' },
    'type of spec.hosts[].name is "integer", not "string"',
  ],
  [
    'a type where any value is expected',
    { 'open': { type: 'object' } },
    'type of spec.open is "object", not "anything"',
  ],
  [
    'an integer or a string',
    { 'size': { 'x-kubernetes-int-or-string': true, default: 1 } },
    'type of spec.size is "int-or-string", not "integer"',
  ],
  [
    'a map in place of fields',
    { 'spec/properties': {}, 'spec/additionalProperties': { type: 'integer' } },
    'format of spec.size is absent, not "int32"',
    'maximum of spec.size is absent, not 50',
    'default of spec.size is absent, not 1',
    'type of spec.mode is "integer", not "string"',
    'type of spec.hosts is "integer", not "array"',
    'type of spec.tags is "integer", not "object"',
    'type of spec.open is "integer", not "anything"',
    'type of spec.note is "integer", not "string"',
    'additionalProperties of spec is {"type":"integer"}, not absent',
  ],
  ['a lower maximum', { 'size/maximum': 10 }, 'maximum of spec.size is 10, not 50'],
  ['a higher maximum', { 'size/maximum': 99 }, 'maximum of spec.size is 99, not 50'],
  ['an unexpected minimum', { 'size/minimum': 0 }, 'minimum of spec.size is 0, not absent'],
  [
    'no minLength in a map',
    { 'tags/additionalProperties/minLength': undefined },
    'minLength of spec.tags{} is absent, not 1',
  ],
  ['a value more', { 'mode/enum': ['c', 'b', 'a'] }, 'enum of spec.mode has "c"'],
  ['another value', { 'mode/enum': ['c', 'b'] }, 'enum of spec.mode lacks "a"', 'enum of spec.mode has "c"'],
  ['any value', { 'mode/enum': undefined }, 'enum of spec.mode lacks "a", "b"'],
  ['an unexpected pattern', { 'note/pattern': '^a' }, 'pattern of spec.note is "^a", not absent'],
  [
    'a list of another kind',
    { 'hosts/x-kubernetes-list-type': 'set' },
    'x-kubernetes-list-type of spec.hosts is "set", not absent',
  ],
  [
    'a required field that should be optional',
    { 'spec/required': ['note', 'mode', 'hosts'] },
    'required of spec has "note"',
  ],
  ['an optional field that should be required', { 'spec/required': ['mode'] }, 'required of spec lacks "hosts"'],
  ['nothing required', { 'spec/required': undefined }, 'required of spec lacks "mode", "hosts"'],
  ['an optional spec', { 'schema/required': undefined }, 'required of the object lacks "spec"'],
  ['an unexpected nullable field', { 'size/nullable': true }, 'nullable of spec.size is true, not absent'],
  ['an unexpected default', { 'mode/default': 'a' }, 'default of spec.mode is "a", not absent'],
  [
    'a field of any type',
    { 'mode': { 'x-kubernetes-preserve-unknown-fields': true } },
    'type of spec.mode is "anything", not "string"',
  ],
  [
    'a list that keeps unknown fields',
    { 'hosts/items/x-kubernetes-preserve-unknown-fields': true },
    'additionalProperties of spec.hosts[] is {}, not absent',
  ],
  [
    'no rule',
    { 'spec/x-kubernetes-validations': undefined },
    'x-kubernetes-validations of spec lacks {"rule":"self.size < 40","message":"too large"}',
  ],
  ['a rule more', {
    'spec/x-kubernetes-validations': [{ rule: 'self.size > 2' }, { message: 'too large', rule: 'self.size < 40' }],
  }, 'x-kubernetes-validations of spec has {"rule":"self.size > 2"}'],
  ['a renamed column', { 'version/additionalPrinterColumns/0/name': 'Length' }, 'column "Size" is missing'],
  [
    'a column with another path',
    { 'version/additionalPrinterColumns/0/jsonPath': '.spec.mode' },
    'column "Size" shows .spec.mode (integer), not .spec.size (integer)',
  ],
  [
    'a column of another type',
    { 'version/additionalPrinterColumns/0/type': 'string' },
    'column "Size" shows .spec.size (string), not .spec.size (integer)',
  ],
  [
    'no columns',
    { 'version/additionalPrinterColumns': undefined },
    'column "Size" is missing',
    'column "Age" is missing',
  ],
  ['a missing short name', { 'crd/names/shortNames': ['st'] }, 'its shortNames is st, not si,st'],
  ['no short names', { 'crd/names/shortNames': undefined }, 'its shortNames is absent, not si,st'],
  ['another category', { 'crd/names/categories': ['some'] }, 'its categories is some, not all'],
  ['another singular', { 'crd/names/singular': 'place' }, 'its singular is place, not site'],
  ['another kind of list', { 'crd/names/listKind': 'Sites' }, 'its listKind is Sites, not SiteList'],
  ['a version without a schema', { 'version/schema': undefined }, 'type of the object is "anything", not "object"'],
  [
    'a schema that keeps everything',
    { 'schema': { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    'type of spec is "anything", not "object"',
    'type of status is "anything", not "object"',
    'required of the object lacks "spec"',
    'additionalProperties of the object is {}, not absent',
  ],
  [
    'several differences',
    { 'crd/scope': 'Cluster', 'size/type': 'string', 'mode': undefined },
    'its scope is Cluster, not Namespaced',
    'type of spec.size is "string", not "integer"',
    'spec.mode is missing',
  ],
  [
    'a condition that it is not established',
    { 'status': { conditions: [{ type: 'Established', status: 'False' }] } },
    'it is not served: Established',
  ],
  ['null refused', { 'note/nullable': false }, 'nullable of spec.note is absent, not true'],
]

for (const [name, edits, ...expected] of differences) {
  test(`the cluster's CRD has ${name}`, () =>
    assert.deepEqual(after(edits).map((text) => text.replace(/^v1: /, '')), expected))
}

const columns = ours.spec.versions[0]!.additionalPrinterColumns!

const harmless: readonly (readonly [string, Edits])[] = [
  ['more fields', {
    'zone': { type: 'string' },
    'hosts/items/properties/port': { type: 'integer', default: 80 },
  }],
  ['an additional older version', {
    'crd/versions': [{ name: 'v1alpha1', served: true, storage: false }, ...ours.spec.versions],
  }],
  ['another stored version', { 'version/storage': false }],
  ['other descriptions', { 'mode/description': 'x' }],
  ['no schema of apiVersion, kind and metadata', {
    'schema/properties/apiVersion': undefined,
    'schema/properties/kind': undefined,
    'schema/properties/metadata': undefined,
  }],
  ['the same in another order', {
    'spec/required': ['hosts', 'mode'],
    'mode/enum': ['b', 'a'],
    'crd/names/shortNames': ['st', 'si'],
    'version/additionalPrinterColumns': columns.toReversed(),
  }],
  ['additional short names, categories and columns', {
    'crd/names/shortNames': ['a', 'si', 'st'],
    'crd/names/categories': ['all', 'some'],
    'version/additionalPrinterColumns': [...columns, { name: 'Mode', type: 'string', jsonPath: '.spec.mode' }],
  }],
  ['any value without `nullable`, where any value and null are expected', { 'open/nullable': undefined }],
  ['conditions without effect', {
    status: { conditions: [{ type: 'Terminating', status: 'False' }, { type: 'Established', status: 'Unknown' }] },
  }],
  ['its status', {
    status: { conditions: [{ type: 'Established', status: 'True' }, { type: 'NamesAccepted', status: 'True' }] },
  }],
]

for (const [name, edits] of harmless) {
  test(`the cluster's CRD may have ${name}`, () => assert.deepEqual(after(edits), []))
}

test('each version is compared with the version of the same name', () => {
  const [first, second] = [version('v1'), version('v2')].map((resource) => resource.definition!.crd.spec.versions[0]!)
  const both = { ...ours, spec: { ...ours.spec, versions: [first!, second!] } }
  const broken = edited(both, { 'crd/versions/1/schema/openAPIV3Schema/properties/spec/properties': {} })
  assert.deepEqual(crdDifferences(both, broken), ['v2: spec.v2 is missing'])
  assert.deepEqual(crdDifferences(both, { spec: { ...both.spec, versions: both.spec.versions.toReversed() } }), [])
})

test('a converted kind needs the strategy, wherever the webhook is', () => {
  const converted = { ...ours, spec: { ...ours.spec, conversion: webhook } }
  const elsewhere = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://elsewhere.example' } },
  }
  assert.deepEqual(crdDifferences(converted, { ...ours, spec: { ...ours.spec, conversion: elsewhere } }), [])
  assert.deepEqual(crdDifferences(ours, { ...ours, spec: { ...ours.spec, conversion: elsewhere } }), [])
  for (const spec of [ours.spec, { ...ours.spec, conversion: { strategy: 'None' } }]) {
    assert.deepEqual(crdDifferences(converted, { ...ours, spec }), ['its conversion strategy is None, not Webhook'])
  }
})

test('a version that is not to be served may be served or not', () => {
  const hidden = edited(ours, { 'version/served': false })
  assert.deepEqual([crdDifferences(hidden, ours), crdDifferences(hidden, hidden)], [[], []])
})

const crdWith = (spec: z.ZodType): CustomResourceDefinition =>
  defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec }).definition!.crd

test('whether unknown fields are kept must not differ', () => {
  const open = crdWith(z.looseObject({ a: z.looseObject({}) }))
  const closed = crdWith(z.object({ a: z.object({}) }))
  assert.deepEqual(crdDifferences(open, closed), [
    'v1: additionalProperties of spec.a is absent, not {}',
    'v1: additionalProperties of spec is absent, not {}',
  ])
  assert.deepEqual(crdDifferences(closed, open), [
    'v1: additionalProperties of spec.a is {}, not absent',
    'v1: additionalProperties of spec is {}, not absent',
  ])
})

test('a difference of a field hides no difference of a field with the same prefix', () => {
  const expected = crdWith(z.object({ a: z.object({ b: z.int() }), ab: z.string().max(5) }))
  assert.deepEqual(crdDifferences(expected, crdWith(z.object({ a: z.string(), ab: z.string().max(6) }))), [
    'v1: type of spec.a is "string", not "object"',
    'v1: maxLength of spec.ab is 6, not 5',
  ])
})

test('a required field inside an open object is a difference: objects may lack it', () => {
  const open = crdWith(z.looseObject({}))
  const found = crdDifferences(open, edited(open, { 'spec/required': ['zone'] }))
  assert.deepEqual(found, ['v1: required of spec has "zone"'])
})
