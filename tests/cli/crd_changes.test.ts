/** Tests the comparison of committed definitions with those of an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'js-yaml'
import { type AnyResource, defineResource } from 'kubeloop'
import { cel, intOrString, listMap } from 'kubeloop/schema'
import * as z from 'zod'
import { type CommittedCrd, type CrdChange, crdChanges } from '../../lib/cli/crd/changes.ts'
import { configurationChanges } from '../../lib/cli/crd/configurations.ts'
import { yamlText } from '../../lib/cli/yaml_text.ts'
import { crdOf } from '../../lib/schema/crds.ts'

const fields = {
  size: z.int32().min(1).max(10),
  mode: z.enum(['a', 'b']),
  name: z.string().regex(/^a/).optional(),
  port: z.optional(intOrString),
  list: z.array(z.object({ key: z.string(), n: z.int32().default(1) })).check(listMap('key')).optional(),
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
const changes = (before: readonly AnyResource[], after: readonly AnyResource[]): string[] =>
  crdChanges(crd(...before), crd(...after)).map(textOf)

const BREAKS = '(breaks stored objects)'
const MAY = '(may break stored objects)'
const without = (name: keyof typeof fields): z.ZodRawShape =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name))

const CASES: readonly (readonly [string, readonly AnyResource[], readonly string[]])[] = [
  ['nothing', [of()], []],
  ['a field that is gone', [of(without('name'))], [`v1 spec.name is gone ${BREAKS}`]],
  ['a renamed field', [of({ ...without('name'), title: z.string().optional() })], [
    `v1 spec.name is gone ${BREAKS}`,
    'v1 spec.title is new',
  ]],
  ['a new required field', [of({ ...fields, more: z.string() })], [
    'v1 spec.more is new',
    `v1 spec requires more ${BREAKS}`,
  ]],
  ['a new field with a default', [of({ ...fields, more: z.string().default('x') })], ['v1 spec.more is new']],
  ['another type', [of({ ...fields, size: z.string() })], [
    `v1 spec.size: type is "string", not "integer" ${BREAKS}`,
    'v1 column "Size" is {"name":"Size","type":"string","jsonPath":".spec.size"}, not {"name":"Size","type":"integer","jsonPath":".spec.size"}',
  ]],
  ['narrower limits', [of({ ...fields, size: z.int32().min(2).max(5) })], [
    `v1 spec.size: maximum is 5, not 10 ${BREAKS}`,
    `v1 spec.size: minimum is 2, not 1 ${BREAKS}`,
  ]],
  ['wider limits', [of({ ...fields, size: z.int32().min(0).max(11) })], [
    'v1 spec.size: maximum is 11, not 10',
    'v1 spec.size: minimum is 0, not 1',
  ]],
  ['a value of an enum that is gone, and another', [of({ ...fields, mode: z.enum(['c', 'b']) })], [
    `v1 spec.mode no longer allows "a" ${BREAKS}`,
    'v1 spec.mode allows "c"',
  ]],
  ['another order of an enum', [of({ ...fields, mode: z.enum(['b', 'a']) })], []],
  ['another pattern', [of({ ...fields, name: z.string().regex(/^b/).optional() })], [
    `v1 spec.name: pattern is "^b", not "^a" ${MAY}`,
  ]],
  ['an optional field', [of({ ...fields, size: fields.size.optional() })], ['v1 spec no longer requires size']],
  ['another default', [
    of({
      ...fields,
      list: z.array(z.object({ key: z.string(), n: z.int32().default(2) })).check(listMap('key')).optional(),
    }),
  ], ['v1 spec.list[].n: default is 2, not 1']],
  ['a new rule', [of(fields, {}, (spec) => spec.check(cel('self.size > 1', 'too small')))], [
    `v1 spec has the new rule "self.size > 1" ${MAY}`,
  ]],
  ['a description', [of({ ...fields, size: fields.size.describe('How large.') })], [
    'v1 spec.size: description is "How large.", not absent',
  ]],
  ['a title and an example', [of({ ...fields, size: fields.size.meta({ title: 'Size', examples: [3] }) })], [
    'v1 spec.size: title is "Size", not absent',
    'v1 spec.size: example is 3, not absent',
  ]],
  ['a deprecation', [of(fields, { deprecated: 'use v2' })], [
    'v1 deprecated is true, not absent',
    'v1 deprecationWarning is "use v2", not absent',
  ]],
  ['a record of other values', [of({ ...fields, labels: z.record(z.string(), z.int32()).optional() })], [
    `v1 spec.labels{}: type is "integer", not "string" ${BREAKS}`,
  ]],
  ['an open object', [of(fields, {}, () => z.looseObject(fields))], ['v1 spec keeps fields that it does not name']],
  ['a new version', [of(), of(fields, { version: 'v2' })], [
    'version v2 is new',
    'v1 is no longer stored',
  ]],
  ['another version alone', [of(fields, { version: 'v2' })], [
    'version v2 is new',
    'version v1 is gone (breaks stored objects, which are stored in it)',
  ]],
  ['a version that is not served', [of(fields, { served: false }), of(fields, { version: 'v2' })], [
    'version v2 is new',
    'v1 is no longer served (breaks its clients)',
    'v1 is no longer stored',
  ]],
  ['another scope', [of(fields, { cluster: true })], [
    'scope is "Cluster", not "Namespaced" (cannot be changed: the kind must be deleted with its objects)',
  ]],
  ['names', [of(fields, { shortNames: ['f', 'foo'], categories: ['all'] })], [
    'short names have "foo"',
    'short names no longer have "fo"',
    'categories have "all"',
  ]],
  ['columns', [of(fields, { columns: { Size: { path: '.spec.size', priority: 1 }, Mode: '.spec.mode' } })], [
    'v1 column "Size" is {"name":"Size","type":"integer","jsonPath":".spec.size","priority":1}, not {"name":"Size","type":"integer","jsonPath":".spec.size"}',
    'v1 column "Mode" is new',
  ]],
  ['subresources and selectable fields', [of(fields, { status: undefined, selectableFields: ['.spec.mode'] })], [
    'v1 status subresource is absent, not {}',
    'v1 selectable fields have ".spec.mode"',
    `v1 status is gone ${BREAKS}`,
  ]],
]

for (const [name, after, expected] of CASES) {
  test(`the changes of ${name}`, () => {
    const found = changes([of()], after)
    assert.deepEqual(found.toSorted(), expected.toSorted())
  })
}

test('a scale subresource is compared', () => {
  const status = z.object({ replicas: z.int32() })
  const scale = { specReplicas: '.spec.size', statusReplicas: '.status.replicas' }
  assert.deepEqual(changes([of(fields, { status })], [of(fields, { status, scale })]), [
    'v1 scale subresource is {"specReplicasPath":".spec.size","statusReplicasPath":".status.replicas"}, not absent',
  ])
})

test('changes that undo a restriction are harmless', () => {
  const ruled = (message: string): AnyResource => of(fields, {}, (spec) => spec.check(cel('self.size > 1', message)))
  assert.deepEqual(changes([ruled('a')], [of()]), ['v1 spec no longer has the rule "self.size > 1"'])
  assert.deepEqual(changes([ruled('a')], [ruled('b')]), [
    'v1 spec: the rule "self.size > 1" has another message, reason or path',
  ])
  assert.deepEqual(changes([of(without('name'))], [of()]), ['v1 spec.name is new'])
})

test('a definition that a server or another tool has written means the same', () => {
  const tags = z.array(z.string()).optional()
  const definition = crd(of({ ...fields, tags, at: z.object({ apiVersion: z.string() }).optional() }))
  const text = yamlText(definition)
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

test('the annotation that the server requires for a protected group is compared', () => {
  const definition = crd(of(fields, { group: 'x.k8s.io' }))
  const { metadata: { name }, ...rest } = definition
  assert.deepEqual(crdChanges({ ...rest, metadata: { name } }, definition).map(textOf), [
    'annotation api-approved.kubernetes.io is "unapproved, experimental-only", not absent',
  ])
})

test('conversions are compared by strategy and address, without certificates', () => {
  const conversion = (path: string, more: object = {}) => ({
    strategy: 'Webhook' as const,
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: `https://a${path}`, ...more } },
  })
  const base = crd(of())
  const ours = { ...base, spec: { ...base.spec, conversion: conversion('/x') } }
  const as = (given: object): CommittedCrd => ({ ...base, spec: { ...base.spec, conversion: given as never } })
  assert.deepEqual(crdChanges(as(conversion('/x', { caBundle: 'abc' })), ours), [])
  assert.deepEqual(crdChanges(as(conversion('/y')), ours).map(textOf), ['conversion webhook has another address'])
  assert.deepEqual(crdChanges(base, ours).map(textOf), ['conversion strategy is "Webhook", not "None"'])
})

test('webhook configurations are compared as far as the operator states them', () => {
  const ours = {
    kind: 'X',
    webhooks: [{ name: 'a', rules: [{ resources: ['x'] }], clientConfig: { url: 'https://a' } }],
  }
  const theirs = {
    ...ours,
    metadata: { uid: 'x' },
    webhooks: [{ ...ours.webhooks[0], timeoutSeconds: 10, clientConfig: { url: 'https://a', caBundle: 'x' } }],
  }
  assert.deepEqual(configurationChanges(theirs, ours), [])
  const more = { ...ours, webhooks: [{ ...ours.webhooks[0], rules: [{ resources: ['x', 'y'] }] }] }
  assert.deepEqual(configurationChanges(theirs, more).map(textOf), [
    'webhooks[0].rules[0].resources is ["x","y"], not ["x"]',
  ])
})
