/** Tests the comparison of committed definitions with those of an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'js-yaml'
import { type AnyResource, defineResource } from 'kubeloop'
import { cel, intOrString, listMap } from 'kubeloop/schema'
import * as z from 'zod'
import { type CommittedCrd, configurationChanges, type CrdChange, crdChanges } from '../../lib/cli/crd/changes.ts'
import { manifestText } from '../../lib/cli/manifests.ts'
import type { CustomResourceDefinition } from '../../lib/core/resource.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { configurationsOf } from '../../lib/webhook/configurations/configurations.ts'
import { goldenCases } from './golden.ts'

const list = (value: number) =>
  z.array(z.object({ key: z.string(), n: z.int32().default(value) })).check(listMap('key')).optional()

const fields = {
  size: z.int32().min(1).max(10),
  mode: z.enum(['a', 'b']),
  name: z.string().regex(/^a/).optional(),
  port: z.optional(intOrString),
  list: list(1),
  labels: z.record(z.string(), z.string()).optional(),
}
type Options = { [Name in keyof Parameters<typeof defineResource>[0]]?: unknown }

const of = (shape: z.ZodRawShape = fields, options: Options = {}, wrap = (spec: z.ZodObject): z.ZodType => spec) =>
  defineResource(
    {
      ...{ group: 'example.com', version: 'v1', kind: 'Foo', columns: { Size: '.spec.size' }, shortNames: ['fo', 'f'] },
      ...{ spec: wrap(z.object(shape)), status: z.object({ ready: z.boolean().optional() }) },
      ...options,
    } as Parameters<typeof defineResource>[0],
  ) as AnyResource

const crd = (...resources: readonly AnyResource[]) => crdOf(resources)[0]!
const textOf = ({ text, effect }: CrdChange): string => `${text}${effect ? ` (${effect})` : ''}`
const without = (name: keyof typeof fields): z.ZodRawShape =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name))

const ruled = (message: string): AnyResource => of(fields, {}, (spec) => spec.check(cel('self.size > 1', message)))
const status = z.object({ replicas: z.int32() })
const scale = { specReplicas: '.spec.size', statusReplicas: '.status.replicas' }
const protectedGroup = crd(of(fields, { group: 'x.k8s.io' }))
const plain = crd(of())
const converted = (path: string, more: object = {}): CustomResourceDefinition => {
  const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: `https://a${path}`, ...more } }
  return { ...plain, spec: { ...plain.spec, conversion: { strategy: 'Webhook', webhook } } } as typeof plain
}

type Side = CustomResourceDefinition | AnyResource | readonly AnyResource[]

const CASES: Readonly<Record<string, Side | { readonly before: Side; readonly after: Side }>> = {
  'nothing': of(),
  'a field that is gone': of(without('name')),
  'a field that is back': { before: of(without('name')), after: of() },
  'a renamed field': of({ ...without('name'), title: z.string().optional() }),
  'a new required field': of({ ...fields, more: z.string() }),
  'a new field with a default': of({ ...fields, more: z.string().default('x') }),
  'another type': of({ ...fields, size: z.string() }),
  'narrower limits': of({ ...fields, size: z.int32().min(2).max(5) }),
  'wider limits': of({ ...fields, size: z.int32().min(0).max(11) }),
  'a value of an enum that is gone, and another': of({ ...fields, mode: z.enum(['c', 'b']) }),
  'a new enum': { before: of({ ...fields, mode: z.string() }), after: of() },
  'an enum that is gone': of({ ...fields, mode: z.string() }),
  'another order of an enum': of({ ...fields, mode: z.enum(['b', 'a']) }),
  'another pattern': of({ ...fields, name: z.string().regex(/^b/).optional() }),
  'an optional field': of({ ...fields, size: fields.size.optional() }),
  'another default': of({ ...fields, list: list(2) }),
  'a new rule': ruled('a'),
  'a rule that is gone': { before: ruled('a'), after: of() },
  'another message of a rule': { before: ruled('a'), after: ruled('b') },
  'a description': of({ ...fields, size: fields.size.describe('How large.') }),
  'a title and an example': of({ ...fields, size: fields.size.meta({ title: 'Size', examples: [3] }) }),
  'a deprecation': of(fields, { deprecated: 'use v2' }),
  'a record of other values': of({ ...fields, labels: z.record(z.string(), z.int32()).optional() }),
  'an open object': of(fields, {}, () => z.looseObject(fields)),
  'a new version': [of(), of(fields, { version: 'v2' })],
  'another version alone': of(fields, { version: 'v2' }),
  'a version that is not served': [of(fields, { served: false }), of(fields, { version: 'v2' })],
  'another scope': of(fields, { cluster: true }),
  'names': of(fields, { shortNames: ['f', 'foo'], categories: ['all'] }),
  'columns': of(fields, { columns: { Size: { path: '.spec.size', priority: 1 }, Mode: '.spec.mode' } }),
  'subresources and selectable fields': of(fields, { status: undefined, selectableFields: ['.spec.mode'] }),
  'a scale subresource': { before: of(fields, { status }), after: of(fields, { status, scale }) },
  'the annotation that the server requires for a protected group': {
    before: { ...protectedGroup, metadata: { name: protectedGroup.metadata.name } },
    after: protectedGroup,
  },
  'a definition that kept all fields': {
    before: { ...plain, spec: { ...plain.spec, preserveUnknownFields: true } } as typeof plain,
    after: of(),
  },
  'a conversion': converted('/x'),
  'the address of a conversion': { before: converted('/y'), after: converted('/x') },
  'the certificate of a conversion': { before: converted('/x', { caBundle: 'abc' }), after: converted('/x') },
}

const definitionOf = (side: Side): CustomResourceDefinition =>
  Array.isArray(side) ? crd(...side) : 'spec' in side ? side : crd(side as AnyResource)

test('the changes are those of the golden file', () => {
  const cases = Object.entries(CASES).map(([title, given]) => {
    const { before, after } = 'before' in given ? given : { before: of(), after: given }
    const found = crdChanges(definitionOf(before), definitionOf(after)).map(textOf).toSorted()
    return [title, found] as const
  })
  goldenCases('crd_changes.txt', cases)
})

test('a definition that a server or another tool has written means the same', () => {
  const tags = z.array(z.string()).optional()
  const definition = crd(of({ ...fields, tags, at: z.object({ apiVersion: z.string() }).optional() }))
  const text = manifestText([definition])
  const other = load(text) as CommittedCrd & { spec: Record<string, unknown> }
  const { versions, names } = other.spec as {
    versions: { schema: { openAPIV3Schema: Record<string, unknown> }; additionalPrinterColumns: object[] }[]
    names: Record<string, unknown>
  }
  Object.assign(other.metadata, {
    annotations: { 'controller-gen.kubebuilder.io/version': 'v0.18.0' },
    labels: { app: 'x' },
    uid: 'u',
    managedFields: [],
  })
  Object.assign(other, { status: { conditions: [], storedVersions: ['v1'] } })
  Object.assign(other.spec, { conversion: { strategy: 'None' }, preserveUnknownFields: false })
  names['shortNames'] = ['f', 'fo']
  delete names['listKind']
  delete names['singular']
  const [version] = versions
  Object.assign(version!.additionalPrinterColumns[0]!, { priority: 0 })
  const root = version!.schema.openAPIV3Schema as {
    properties: Record<string, Record<string, unknown>>
  }
  root.properties = {
    apiVersion: { type: 'string', description: 'APIVersion defines the versioned schema' },
    kind: { type: 'string', description: 'Kind is a string value' },
    metadata: { type: 'object', description: 'x' },
    ...Object.fromEntries(Object.entries(root.properties).filter(([name]) => /^(spec|status)$/.test(name)).reverse()),
  }
  const spec = root.properties['spec'] as { properties: Record<string, Record<string, unknown>>; required: string[] }
  Object.assign(spec.properties['port']!, { anyOf: [{ type: 'integer' }, { type: 'string' }], nullable: false })
  Object.assign(spec.properties['tags']!, { 'x-kubernetes-list-type': 'atomic' })
  Object.assign(spec.properties['labels']!, { 'x-kubernetes-map-type': 'granular' })
  spec.required.reverse()
  assert.deepEqual(crdChanges(other, definition), [])
  Object.assign(spec.properties['port']!, { anyOf: [{ type: 'integer' }, { pattern: 'x' }] })
  assert.equal(crdChanges(other, definition).length, 1)
})

test('webhook configurations are compared with all that decides which requests they get', () => {
  const ours = configurationsOf({
    operator: 'foo',
    admissions: [{ resource: of(), path: '/validate', mutating: false }],
    target: { url: 'https://a' },
  }).validating!
  const [webhook] = ours.webhooks
  const changes = (more: object): readonly string[] => {
    const committed = { ...ours, metadata: { ...ours.metadata, uid: 'x' }, webhooks: [{ ...webhook, ...more }] }
    return configurationChanges(committed, ours).map(textOf)
  }
  assert.deepEqual(changes({ clientConfig: { ...webhook!.clientConfig, caBundle: 'x' } }), [])
  assert.deepEqual(changes({ failurePolicy: 'Ignore' }), ['webhooks[0].failurePolicy is "Fail", not "Ignore"'])
  // What other hands have added keeps requests from the webhook.
  const labels = { matchLabels: { team: 'a' } }
  assert.deepEqual(changes({ namespaceSelector: labels, matchConditions: [{ name: 'a', expression: 'false' }] }), [
    'webhooks[0].namespaceSelector.matchLabels is absent, not {"team":"a"}',
    'webhooks[0].matchConditions is absent, not [{"name":"a","expression":"false"}]',
  ])
})
