import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as z from 'zod'
import { crdOf } from '../../lib/schema/crds.ts'
import { type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'
import { crdDifferences } from '../../lib/schema/crd_differences.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import type {
  AnyResource,
  CustomResourceConversion,
  CustomResourceDefinition,
  DefinedResource,
} from '../../lib/core/resource.ts'

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
  const builtIn: AnyResource = {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    scope: 'Namespaced',
  }
  assert.deepEqual(outline(crdOf([site, builtIn, site])), { 'sites.example.com': ['v1 stored'] })
  assert.deepEqual(crdOf([builtIn]), [])
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

type Mutable = { [key: string]: Mutable } & Mutable[]

/** Returns the differences of a changed copy. The second argument of `change` is the schema of its spec. */
function after(change: (crd: Mutable, spec: Mutable) => void): readonly string[] {
  const copy = structuredClone(ours) as unknown as Mutable
  change(copy, copy['spec']!['versions']![0]!['schema']!['openAPIV3Schema']!['properties']!['spec']!)
  return crdDifferences(ours, copy as object)
}

const set = (object: Mutable, key: string, value: unknown): void =>
  void ((object as Record<string, unknown>)[key] = value)

test('a CRD does not differ from itself', () => assert.deepEqual(after(() => undefined), []))

const differences: readonly (readonly [string, (crd: Mutable, spec: Mutable) => void, readonly string[]])[] = [
  ['another scope', (crd) => set(crd['spec']!, 'scope', 'Cluster'), ['its scope is Cluster, not Namespaced']],
  ['another kind', (crd) => set(crd['spec']!['names']!, 'kind', 'Sight'), ['its kind is Sight, not Site']],
  [
    'names in use by another CRD',
    (crd) =>
      set(crd, 'status', {
        conditions: [{ type: 'NamesAccepted', status: 'False', message: '"sites" is already in use' }],
      }),
    ['it is not served: "sites" is already in use'],
  ],
  ['a missing version', (crd) => set(crd['spec']!['versions']![0]!, 'name', 'v2'), ['version v1 is missing']],
  ['a version that is not served', (crd) => set(crd['spec']!['versions']![0]!, 'served', false), [
    'version v1 is not served',
  ]],
  ['no subresources', (crd) => set(crd['spec']!['versions']![0]!, 'subresources', {}), [
    'version v1 has no status subresource',
    'version v1 has no such scale subresource',
  ]],
  [
    'another scale',
    (crd) => set(crd['spec']!['versions']![0]!['subresources']!['scale']!, 'specReplicasPath', '.spec.x'),
    [
      'version v1 has no such scale subresource',
    ],
  ],
  [
    'one selectable field less, and another',
    (crd) =>
      set(crd['spec']!['versions']![0]!, 'selectableFields', [{ jsonPath: '.status.ready' }, {
        jsonPath: '.spec.size',
      }]),
    ['version v1 has no selectable field .spec.mode'],
  ],
  ['a missing field', (_, spec) => void delete spec['properties']!['size'], ['v1: spec.size is missing']],
  ['a missing nested field', (_, spec) => set(spec['properties']!['hosts']!['items']!, 'properties', {}), [
    'v1: spec.hosts[].name is missing',
  ]],
  ['another type', (_, spec) => set(spec['properties']!['size']!, 'type', 'string'), [
    'v1: type of spec.size is "string", not "integer"',
  ]],
  ['no default', (_, spec) => void delete spec['properties']!['size']!['default'], [
    'v1: default of spec.size is absent, not 1',
  ]],
  ['another default', (_, spec) => set(spec['properties']!['size']!, 'default', 2), [
    'v1: default of spec.size is 2, not 1',
  ]],
  ['a narrower enum', (_, spec) => set(spec['properties']!['mode']!, 'enum', ['a']), [
    'v1: enum of spec.mode lacks "b"',
  ]],
  ['an unexpected required field', (_, spec) => set(spec, 'required', ['hosts', 'mode', 'zone']), [
    'v1: required of spec has "zone"',
  ]],
  ['an object in place of a map', (_, spec) => set(spec['properties']!, 'tags', { type: 'object' }), [
    'v1: additionalProperties of spec.tags is absent, not {"type":"string","minLength":1}',
  ]],
  [
    'a map of other values',
    (_, spec) => set(spec['properties']!['tags']!['additionalProperties']!, 'type', 'integer'),
    ['v1: type of spec.tags{} is "integer", not "string"'],
  ],
  [
    'an unexpected nested required field',
    (_, spec) => set(spec['properties']!['hosts']!['items']!, 'required', ['name', 'port']),
    ['v1: required of spec.hosts[] has "port"'],
  ],
  [
    'items of another type',
    (_, spec) => set(spec['properties']!['hosts']!['items']!['properties']!['name']!, 'type', 'integer'),
    ['v1: type of spec.hosts[].name is "integer", not "string"'],
  ],
  ['a type where any value is expected', (_, spec) => set(spec['properties']!, 'open', { type: 'object' }), [
    'v1: type of spec.open is "object", not "anything"',
  ]],
  [
    'an integer or a string',
    (_, spec) => set(spec['properties']!, 'size', { 'x-kubernetes-int-or-string': true, default: 1 }),
    ['v1: type of spec.size is "int-or-string", not "integer"'],
  ],
  ['a map in place of fields', (_, spec) => {
    set(spec, 'properties', {})
    set(spec, 'additionalProperties', { type: 'integer' })
  }, [
    'v1: format of spec.size is absent, not "int32"',
    'v1: maximum of spec.size is absent, not 50',
    'v1: default of spec.size is absent, not 1',
    'v1: type of spec.mode is "integer", not "string"',
    'v1: type of spec.hosts is "integer", not "array"',
    'v1: type of spec.tags is "integer", not "object"',
    'v1: type of spec.open is "integer", not "anything"',
    'v1: type of spec.note is "integer", not "string"',
    'v1: additionalProperties of spec is {"type":"integer"}, not absent',
  ]],
  ['a lower maximum', (_, spec) => set(spec['properties']!['size']!, 'maximum', 10), [
    'v1: maximum of spec.size is 10, not 50',
  ]],
  ['a higher maximum', (_, spec) => set(spec['properties']!['size']!, 'maximum', 99), [
    'v1: maximum of spec.size is 99, not 50',
  ]],
  ['an unexpected minimum', (_, spec) => set(spec['properties']!['size']!, 'minimum', 0), [
    'v1: minimum of spec.size is 0, not absent',
  ]],
  [
    'no minLength in a map',
    (_, spec) => void delete spec['properties']!['tags']!['additionalProperties']!['minLength'],
    ['v1: minLength of spec.tags{} is absent, not 1'],
  ],
  ['a value more', (_, spec) => set(spec['properties']!['mode']!, 'enum', ['c', 'b', 'a']), [
    'v1: enum of spec.mode has "c"',
  ]],
  ['another value', (_, spec) => set(spec['properties']!['mode']!, 'enum', ['c', 'b']), [
    'v1: enum of spec.mode lacks "a"',
    'v1: enum of spec.mode has "c"',
  ]],
  ['any value', (_, spec) => void delete spec['properties']!['mode']!['enum'], [
    'v1: enum of spec.mode lacks "a", "b"',
  ]],
  ['an unexpected pattern', (_, spec) => set(spec['properties']!['note']!, 'pattern', '^a'), [
    'v1: pattern of spec.note is "^a", not absent',
  ]],
  ['a list of another kind', (_, spec) => set(spec['properties']!['hosts']!, 'x-kubernetes-list-type', 'set'), [
    'v1: x-kubernetes-list-type of spec.hosts is "set", not absent',
  ]],
  ['a required field that should be optional', (_, spec) => set(spec, 'required', ['note', 'mode', 'hosts']), [
    'v1: required of spec has "note"',
  ]],
  ['an optional field that should be required', (_, spec) => set(spec, 'required', ['mode']), [
    'v1: required of spec lacks "hosts"',
  ]],
  ['nothing required', (_, spec) => void delete (spec as Record<string, unknown>)['required'], [
    'v1: required of spec lacks "mode", "hosts"',
  ]],
  [
    'an optional spec',
    (crd) =>
      void delete (crd['spec']!['versions']![0]!['schema']!['openAPIV3Schema'] as Record<string, unknown>)['required'],
    ['v1: required of the object lacks "spec"'],
  ],
  ['an unexpected nullable field', (_, spec) => set(spec['properties']!['size']!, 'nullable', true), [
    'v1: nullable of spec.size is true, not absent',
  ]],
  ['an unexpected default', (_, spec) => set(spec['properties']!['mode']!, 'default', 'a'), [
    'v1: default of spec.mode is "a", not absent',
  ]],
  [
    'a field of any type',
    (_, spec) => set(spec['properties']!, 'mode', { 'x-kubernetes-preserve-unknown-fields': true }),
    ['v1: type of spec.mode is "anything", not "string"'],
  ],
  [
    'a list that keeps unknown fields',
    (_, spec) => set(spec['properties']!['hosts']!['items']!, 'x-kubernetes-preserve-unknown-fields', true),
    ['v1: additionalProperties of spec.hosts[] is {}, not absent'],
  ],
  ['no rule', (_, spec) => void delete (spec as Record<string, unknown>)['x-kubernetes-validations'], [
    'v1: x-kubernetes-validations of spec lacks {"rule":"self.size < 40","message":"too large"}',
  ]],
  [
    'a rule more',
    (_, spec) =>
      set(spec, 'x-kubernetes-validations', [{ rule: 'self.size > 2' }, {
        message: 'too large',
        rule: 'self.size < 40',
      }]),
    ['v1: x-kubernetes-validations of spec has {"rule":"self.size > 2"}'],
  ],
  ['a renamed column', (crd) => set(crd['spec']!['versions']![0]!['additionalPrinterColumns']![0]!, 'name', 'Length'), [
    'v1: column "Size" is missing',
  ]],
  [
    'a column with another path',
    (crd) => set(crd['spec']!['versions']![0]!['additionalPrinterColumns']![0]!, 'jsonPath', '.spec.mode'),
    ['v1: column "Size" shows .spec.mode (integer), not .spec.size (integer)'],
  ],
  [
    'a column of another type',
    (crd) => set(crd['spec']!['versions']![0]!['additionalPrinterColumns']![0]!, 'type', 'string'),
    ['v1: column "Size" shows .spec.size (string), not .spec.size (integer)'],
  ],
  [
    'no columns',
    (crd) => void delete (crd['spec']!['versions']![0] as Record<string, unknown>)['additionalPrinterColumns'],
    ['v1: column "Size" is missing', 'v1: column "Age" is missing'],
  ],
  ['a missing short name', (crd) => set(crd['spec']!['names']!, 'shortNames', ['st']), [
    'its shortNames is st, not si,st',
  ]],
  ['no short names', (crd) => void delete (crd['spec']!['names'] as Record<string, unknown>)['shortNames'], [
    'its shortNames is absent, not si,st',
  ]],
  ['another category', (crd) => set(crd['spec']!['names']!, 'categories', ['some']), [
    'its categories is some, not all',
  ]],
  ['another singular', (crd) => set(crd['spec']!['names']!, 'singular', 'place'), ['its singular is place, not site']],
  ['another kind of list', (crd) => set(crd['spec']!['names']!, 'listKind', 'Sites'), [
    'its listKind is Sites, not SiteList',
  ]],
  [
    'a version without a schema',
    (crd) => void delete (crd['spec']!['versions']![0] as Record<string, unknown>)['schema'],
    ['v1: type of the object is "anything", not "object"'],
  ],
  [
    'a schema that keeps everything',
    (crd) =>
      set(crd['spec']!['versions']![0]!['schema']!, 'openAPIV3Schema', {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
      }),
    [
      'v1: type of spec is "anything", not "object"',
      'v1: type of status is "anything", not "object"',
      'v1: required of the object lacks "spec"',
      'v1: additionalProperties of the object is {}, not absent',
    ],
  ],
  ['several differences', (crd, spec) => {
    set(crd['spec']!, 'scope', 'Cluster')
    set(spec['properties']!['size']!, 'type', 'string')
    void delete spec['properties']!['mode']
  }, [
    'its scope is Cluster, not Namespaced',
    'v1: type of spec.size is "string", not "integer"',
    'v1: spec.mode is missing',
  ]],
  [
    'a condition that it is not established',
    (crd) => set(crd, 'status', { conditions: [{ type: 'Established', status: 'False' }] }),
    [
      'it is not served: Established',
    ],
  ],
  ['null refused', (_, spec) => set(spec['properties']!['note']!, 'nullable', false), [
    'v1: nullable of spec.note is absent, not true',
  ]],
]

for (const [name, change, expected] of differences) {
  test(`the cluster's CRD has ${name}`, () => assert.deepEqual(after(change), expected))
}

const harmless: readonly (readonly [string, (crd: Mutable, spec: Mutable) => void])[] = [
  ['more fields', (_, spec) => {
    set(spec['properties']!, 'zone', { type: 'string' })
    set(spec['properties']!['hosts']!['items']!['properties']!, 'port', { type: 'integer', default: 80 })
  }],
  [
    'an additional older version',
    (crd) =>
      set(crd['spec']!, 'versions', [{ name: 'v1alpha1', served: true, storage: false }, ...crd['spec']!['versions']!]),
  ],
  ['another stored version', (crd) => set(crd['spec']!['versions']![0]!, 'storage', false)],
  ['other descriptions', (_, spec) => set(spec['properties']!['mode']!, 'description', 'x')],
  ['no schema of apiVersion, kind and metadata', (crd) => {
    const properties = crd['spec']!['versions']![0]!['schema']!['openAPIV3Schema']!['properties'] as Record<
      string,
      unknown
    >
    for (const name of ['apiVersion', 'kind', 'metadata']) delete properties[name]
  }],
  ['the same in another order', (crd, spec) => {
    set(spec, 'required', ['hosts', 'mode'])
    set(spec['properties']!['mode']!, 'enum', ['b', 'a'])
    set(crd['spec']!['names']!, 'shortNames', ['st', 'si'])
    set(
      crd['spec']!['versions']![0]!,
      'additionalPrinterColumns',
      crd['spec']!['versions']![0]!['additionalPrinterColumns']!.toReversed(),
    )
  }],
  ['additional short names, categories and columns', (crd) => {
    set(crd['spec']!['names']!, 'shortNames', ['a', 'si', 'st'])
    set(crd['spec']!['names']!, 'categories', ['all', 'some'])
    set(crd['spec']!['versions']![0]!, 'additionalPrinterColumns', [
      ...crd['spec']!['versions']![0]!['additionalPrinterColumns']!,
      { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    ])
  }],
  [
    'any value without `nullable`, where any value and null are expected',
    (_, spec) => void delete spec['properties']!['open']!['nullable'],
  ],
  [
    'conditions without effect',
    (crd) =>
      set(crd, 'status', {
        conditions: [{ type: 'Terminating', status: 'False' }, { type: 'Established', status: 'Unknown' }],
      }),
  ],
  [
    'its status',
    (crd) =>
      set(crd, 'status', {
        conditions: [{ type: 'Established', status: 'True' }, { type: 'NamesAccepted', status: 'True' }],
      }),
  ],
]

for (const [name, change] of harmless) {
  test(`the cluster's CRD may have ${name}`, () => assert.deepEqual(after(change), []))
}

test('each version is compared with the version of the same name', () => {
  const [first, second] = [version('v1'), version('v2')].map((resource) => resource.definition!.crd.spec.versions[0]!)
  const both = { ...ours, spec: { ...ours.spec, versions: [first!, second!] } }
  const broken = structuredClone(both) as unknown as Mutable
  set(broken['spec']!['versions']![1]!['schema']!['openAPIV3Schema']!['properties']!['spec']!, 'properties', {})
  assert.deepEqual(crdDifferences(both, broken as object), ['v2: spec.v2 is missing'])
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
  const hidden = structuredClone(ours) as unknown as Mutable
  set(hidden['spec']!['versions']![0]!, 'served', false)
  assert.deepEqual(crdDifferences(hidden as never, ours), [])
  assert.deepEqual(crdDifferences(hidden as never, hidden as object), [])
})

test('whether unknown fields are kept must not differ', () => {
  const open =
    defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.looseObject({ a: z.looseObject({}) }) })
      .definition!.crd
  const closed =
    defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.object({ a: z.object({}) }) })
      .definition!.crd
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
  const of = (inner: z.ZodType, other: z.ZodType): typeof ours => {
    return defineResource({
      group: 'example.com',
      version: 'v1',
      kind: 'Site',
      spec: z.object({ a: inner, ab: other }),
    }).definition!.crd
  }
  assert.deepEqual(crdDifferences(of(z.object({ b: z.int() }), z.string().max(5)), of(z.string(), z.string().max(6))), [
    'v1: type of spec.a is "string", not "object"',
    'v1: maxLength of spec.ab is 6, not 5',
  ])
})

test('a required field inside an open object is a difference: objects may lack it', () => {
  const open =
    defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.looseObject({}) }).definition!.crd
  const copy = structuredClone(open) as unknown as Mutable
  set(copy['spec']!['versions']![0]!['schema']!['openAPIV3Schema']!['properties']!['spec']!, 'required', ['zone'])
  assert.deepEqual(crdDifferences(open, copy as object), ['v1: required of spec has "zone"'])
})
