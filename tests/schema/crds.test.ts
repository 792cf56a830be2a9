import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as z from 'zod'
import { crdOf } from '../../lib/schema/crds.ts'
import { crdDifferences } from '../../lib/schema/crd_differences.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import type { AnyResource, CustomResourceDefinition } from '../../lib/core/resource.ts'

function version(name: string, extra: { cluster?: boolean; kind?: string; plural?: string } = {}): AnyResource {
  return defineResource({ group: 'example.com', kind: 'Site', ...extra, version: name, spec: z.object({ [name]: z.string() }) })
}

function outline(crds: readonly CustomResourceDefinition[]): object {
  return Object.fromEntries(crds.map((crd) => [crd.metadata.name,
    crd.spec.versions.map((one) => one.storage ? `${one.name} stored` : one.name)]))
}

test('versions of one kind share a CRD, and the best is stored', () => {
  const resources = [version('v1alpha1'), version('v1'), version('v1beta1'), version('v1', { kind: 'Other' })]
  assert.deepEqual(outline(crdOf(resources)), { 'sites.example.com': ['v1 stored', 'v1beta1', 'v1alpha1'],
    'others.example.com': ['v1 stored'] })
})

test('each version keeps its schema', () => {
  const [crd] = crdOf([version('v1alpha1'), version('v1')])
  const parts = crd!.spec.versions.map(({ schema }) => schema.openAPIV3Schema['properties'] as { spec: { properties: object } })
  assert.deepEqual(parts.map(({ spec }) => Object.keys(spec.properties)), [['v1'], ['v1alpha1']])
})

test('a hub is stored, whatever its name', () => {
  const hub = version('v1alpha1')
  assert.deepEqual(outline(crdOf([hub, version('v1')], { hubs: [hub] })), { 'sites.example.com': ['v1', 'v1alpha1 stored'] })
})

test('the same resource twice is one version, and kinds without a definition have no CRD', () => {
  const site = version('v1')
  const builtIn: AnyResource = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', scope: 'Namespaced' }
  assert.deepEqual(outline(crdOf([site, builtIn, site])), { 'sites.example.com': ['v1 stored'] })
  assert.deepEqual(crdOf([builtIn]), [])
})

test('versions that contradict each other are refused', () => {
  assert.throws(() => crdOf([version('v1'), version('v1')]), /its version "v1" is defined twice/)
  assert.throws(() => crdOf([version('v1'), version('v2', { cluster: true })]), /of its scope, .*"Cluster"/)
  assert.throws(() => crdOf([version('v1', { plural: 'sites' }), version('v2', { kind: 'Page', plural: 'sites' })]), /of its kind, /)
  const both = [version('v1'), version('v2')]
  assert.throws(() => crdOf(both, { hubs: both }), /only one version can be stored, not "v2" and "v1"/)
})

const spec = z.object({
  size: z.int32().default(1), mode: z.enum(['a', 'b']), hosts: z.array(z.object({ name: z.string() })),
    tags: z.record(z.string(), z.string()).optional(),
  open: z.unknown().optional(), note: z.string().nullable().optional(),
})
const Site = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec, status: z.object({ ready: z.boolean() }) })
const ours = Site.definition!.crd

type Mutable = { [key: string]: Mutable } & Mutable[]

/** The differences of a copy after a change to it. The second argument is the schema of its spec. */
function after(change: (crd: Mutable, spec: Mutable) => void): readonly string[] {
  const copy = structuredClone(ours) as unknown as Mutable
  change(copy, copy['spec']!['versions']![0]!['schema']!['openAPIV3Schema']!['properties']!['spec']!)
  return crdDifferences(ours, copy as object)
}

const set = (object: Mutable, key: string, value: unknown): void => void ((object as Record<string, unknown>)[key] = value)

test('a CRD will do for itself', () => assert.deepEqual(after(() => undefined), []))

const differences: readonly (readonly [string, (crd: Mutable, spec: Mutable) => void, readonly string[]])[] = [
  ['another scope', (crd) => set(crd['spec']!, 'scope', 'Cluster'), ['its scope is Cluster, not Namespaced']],
  ['another kind', (crd) => set(crd['spec']!['names']!, 'kind', 'Sight'), ['its kind is Sight, not Site']],
  ['names that are taken', (crd) => set(crd, 'status', { conditions: [{ type: 'NamesAccepted', status: 'False',
    message: '"sites" is already in use' }] }), ['it is not served: "sites" is already in use']],
  ['no such version', (crd) => set(crd['spec']!['versions']![0]!, 'name', 'v2'), ['version v1 is missing']],
  ['a version that is not served', (crd) => set(crd['spec']!['versions']![0]!, 'served', false), ['version v1 is not served']],
  ['no status subresource', (crd) => set(crd['spec']!['versions']![0]!, 'subresources', {}), ['version v1 has no status subresource']],
  ['a missing field', (_, spec) => void delete spec['properties']!['size'], ['v1: spec.size is missing']],
  ['a missing field at depth', (_, spec) => set(spec['properties']!['hosts']!['items']!, 'properties', {}),
    ['v1: spec.hosts[].name is missing']],
  ['another type', (_, spec) => set(spec['properties']!['size']!, 'type', 'string'), ['v1: spec.size is string, not integer']],
  ['no default', (_, spec) => void delete spec['properties']!['size']!['default'], ['v1: spec.size has no default, not 1']],
  ['another default', (_, spec) => set(spec['properties']!['size']!, 'default', 2), ['v1: spec.size has the default 2, not 1']],
  ['a narrower enum', (_, spec) => set(spec['properties']!['mode']!, 'enum', ['a']), ['v1: spec.mode refuses "b"']],
  ['a required field of theirs', (_, spec) => set(spec, 'required', ['hosts', 'zone']), ['v1: spec.zone is required, and not known to us']],
  ['a map that is none', (_, spec) => set(spec['properties']!, 'tags', { type: 'object' }), ['v1: spec.tags keeps no fields but its own']],
  ['a map of other values', (_, spec) => set(spec['properties']!['tags']!['additionalProperties']!, 'type', 'integer'),
    ['v1: spec.tags{} is integer, not string']],
  ['a required field of theirs at depth', (_, spec) => set(spec['properties']!['hosts']!['items']!, 'required', ['name', 'port']),
    ['v1: spec.hosts[].port is required, and not known to us']],
  ['items of another type', (_, spec) => set(spec['properties']!['hosts']!['items']!['properties']!['name']!, 'type', 'integer'),
    ['v1: spec.hosts[].name is integer, not string']],
  ['a type where anything may be', (_, spec) => set(spec['properties']!, 'open', { type: 'object' }), ['v1: spec.open is object, not anything']],
  ['an integer or a string', (_, spec) => set(spec['properties']!, 'size', { 'x-kubernetes-int-or-string': true, default: 1 }),
    ['v1: spec.size is int-or-string, not integer']],
  ['fields that are like those of a map', (_, spec) => {
    set(spec, 'properties', {})
    set(spec, 'additionalProperties', { type: 'integer' })
  }, ['v1: spec.size has no default, not 1', 'v1: spec.mode is integer, not string', 'v1: spec.hosts is integer, not array',
    'v1: spec.tags is integer, not object', 'v1: spec.open is integer, not anything', 'v1: spec.note is integer, not string']],
  ['no schema of the version', (crd) => void delete (crd['spec']!['versions']![0] as Record<string, unknown>)['schema'], []],
  ['several differences', (crd, spec) => {
    set(crd['spec']!, 'scope', 'Cluster')
    set(spec['properties']!['size']!, 'type', 'string')
    void delete spec['properties']!['mode']
  }, ['its scope is Cluster, not Namespaced', 'v1: spec.size is string, not integer', 'v1: spec.mode is missing']],
  ['that is not established', (crd) => set(crd, 'status', { conditions: [{ type: 'Established', status: 'False' }] }), ['it is not served: Established']],
  ['null refused', (_, spec) => set(spec['properties']!['note']!, 'nullable', false), ['v1: spec.note refuses null']],
]

for (const [name, change, expected] of differences) {
  test(`the cluster's CRD has ${name}`, () => assert.deepEqual(after(change), expected))
}

const harmless: readonly (readonly [string, (crd: Mutable, spec: Mutable) => void])[] = [
  ['more fields', (_, spec) => set(spec['properties']!, 'zone', { type: 'string' })],
  ['an older version beside', (crd) => set(crd['spec']!, 'versions',
    [{ name: 'v1alpha1', served: true, storage: false }, ...crd['spec']!['versions']!])],
  ['other descriptions and looser limits', (_, spec) => set(spec['properties']!, 'mode', { type: 'string', description: 'x' })],
  ['a schema that keeps everything', (crd) => set(crd['spec']!['versions']![0]!['schema']!, 'openAPIV3Schema',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })],
  ['required fields that we have as optional', (_, spec) => set(spec, 'required', ['hosts', 'mode', 'note', 'size'])],
  ['null where we have none', (_, spec) => set(spec['properties']!['size']!, 'nullable', true)],
  ['anything, and no word of null, where we have anything or null', (_, spec) => void delete spec['properties']!['open']!['nullable']],
  ['anything for a field that may be null', (_, spec) => set(spec['properties']!, 'note', { 'x-kubernetes-preserve-unknown-fields': true })],
  ['a default where we have none', (_, spec) => set(spec['properties']!['mode']!, 'default', 'a')],
  ['values beside ours', (_, spec) => set(spec['properties']!['mode']!, 'enum', ['c', 'b', 'a'])],
  ['any value', (_, spec) => void delete spec['properties']!['mode']!['enum']],
  ['tighter limits', (_, spec) => set(spec['properties']!['size']!, 'maximum', 5)],
  ['conditions that say nothing', (crd) => set(crd, 'status', { conditions: [{ type: 'Terminating', status: 'False' }, { type: 'Established', status: 'Unknown' }] })],
  ['its status', (crd) => set(crd, 'status', { conditions: [{ type: 'Established', status: 'True' },
    { type: 'NamesAccepted', status: 'True' }] })],
]

for (const [name, change] of harmless) {
  test(`the cluster's CRD may have ${name}`, () => assert.deepEqual(after(change), []))
}

test('of two versions, each is compared with its own', () => {
  const [first, second] = [version('v1'), version('v2')].map((resource) => resource.definition!.crd.spec.versions[0]!)
  const both = { ...ours, spec: { ...ours.spec, versions: [first!, second!] } }
  const broken = structuredClone(both) as unknown as Mutable
  set(broken['spec']!['versions']![1]!['schema']!['openAPIV3Schema']!['properties']!['spec']!, 'properties', {})
  assert.deepEqual(crdDifferences(both, broken as object), ['v2: spec.v2 is missing'])
  assert.deepEqual(crdDifferences(both, { spec: { ...both.spec, versions: both.spec.versions.toReversed() } }), [])
})

test('what keeps unknown fields must keep them', () => {
  const open = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.looseObject({ a: z.looseObject({}) }) }).definition!.crd
  const closed = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.object({ a: z.object({}) }) }).definition!.crd
  assert.deepEqual(crdDifferences(open, closed), ['v1: spec.a keeps no fields but its own', 'v1: spec keeps no fields but its own'])
  assert.deepEqual(crdDifferences(closed, open), [])
})

test('what others require in what we keep open is no difference: we may have it', () => {
  const open = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.looseObject({}) }).definition!.crd
  const copy = structuredClone(open) as unknown as Mutable
  set(copy['spec']!['versions']![0]!['schema']!['openAPIV3Schema']!['properties']!['spec']!, 'required', ['zone'])
  assert.deepEqual(crdDifferences(open, copy as object), [])
})
