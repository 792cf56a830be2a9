import { test } from 'node:test'
import assert from 'node:assert/strict'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { defineResource } from '../../lib/schema/define_resource.ts'
import { dynamicResource } from '../../lib/schema/dynamic_resource.ts'

const base = { group: 'example.com', version: 'v1', kind: 'Foo' }
const Site = defineResource({
  ...base,
  shortNames: ['fo'],
  categories: ['all'],
  columns: {
    Ready: '.status.ready',
    Size: '.spec.size',
    Since: '.status.since',
    Ratio: '.spec.ratio',
    First: '.spec.hosts[0]',
    Quoted: '.spec["size"]',
    Label: '.metadata.labels.app\\.kubernetes\\.io/name',
    Deleted: '.metadata.deletionTimestamp',
    Generation: '.metadata.generation',
    State: '.status.conditions[?(@.type=="Ready")].status',
    Port: '.spec.port',
  },
  spec: z.object({
    size: z.int32().default(1),
    ratio: z.number().optional(),
    hosts: z.array(z.string().min(1)).optional(),
    port: z.union([z.int(), z.string()]).optional(),
  }),
  status: z.object({
    ready: z.boolean(),
    since: z.iso.datetime().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
  }),
})

test('a resource has the names of the definition', () => {
  const { group, version, kind, plural, scope } = Site
  assert.deepEqual({ group, version, kind, plural, scope }, { ...base, plural: 'foos', scope: 'Namespaced' })
  assert.equal(defineResource({ ...base, cluster: true, spec: z.object({}) }).scope, 'Cluster')
  assert.equal(defineResource({ ...base, plural: 'fooses', spec: z.object({}) }).plural, 'fooses')
})

test('the CRD is complete', () => {
  const { crd } = Site.definition
  assert.equal(crd.metadata.name, 'foos.example.com')
  assert.deepEqual(crd.spec.names, {
    kind: 'Foo',
    listKind: 'FooList',
    plural: 'foos',
    singular: 'foo',
    shortNames: ['fo'],
    categories: ['all'],
  })
  const [version] = crd.spec.versions
  assert.deepEqual(version!.subresources, { status: {} })
  assert.deepEqual(version!.schema.openAPIV3Schema['required'], ['spec'])
  const columns = Object.fromEntries(version!.additionalPrinterColumns!.map(({ name, type }) => [name, type]))
  assert.deepEqual(columns, {
    Ready: 'boolean',
    Size: 'integer',
    Since: 'date',
    Ratio: 'number',
    First: 'string',
    Quoted: 'integer',
    Label: 'string',
    Deleted: 'date',
    Generation: 'integer',
    State: 'string',
    Port: 'string',
    Age: 'date',
  })
})

test('without a status schema there is no status subresource', () => {
  const [version] = defineResource({ ...base, spec: z.object({}) }).definition.crd.spec.versions
  assert.equal(version!.subresources, undefined)
  assert.equal(version!.additionalPrinterColumns, undefined)
  assert.ok(!('status' in (version!.schema.openAPIV3Schema['properties'] as object)))
})

test('a spec with a default is not required', () => {
  const [version] =
    defineResource({ ...base, spec: z.object({ a: z.string().default('x') }).prefault({}) }).definition.crd.spec
      .versions
  assert.equal(version!.schema.openAPIV3Schema['required'], undefined)
})

test('a stated age column is not repeated', () => {
  const columns = { Born: '.metadata.creationTimestamp' }
  const [version] = defineResource({ ...base, columns, spec: z.object({}) }).definition.crd.spec.versions
  assert.deepEqual(version!.additionalPrinterColumns, [{
    name: 'Born',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
  }])
})

test('a column with an unknown path is refused', () => {
  const define = (path: string): unknown =>
    defineResource({ ...base, columns: { X: path }, spec: z.object({ a: z.string() }) })
  assert.throws(
    () => define('.spec.b'),
    /Cannot define resource "Foo": column "X" shows ".spec.b", but the schema has no ".spec.b"/,
  )
  assert.throws(() => define('.status.ready'), /has no ".status"/)
  assert.throws(() => define('.spec.a.b'), /has no ".spec.a.b"/)
  assert.throws(() => define('spec.a'), /needs a JSON path such as ".spec.replicas", not "spec.a"/)
})

test('a name that the server would refuse is refused', () => {
  assert.throws(
    () => defineResource({ ...base, group: 'g', spec: z.object({}) }),
    /^TypeError: Cannot define resource "Foo": group "g" must be a domain/,
  )
})

test('a group of the Kubernetes project gets the annotation that the server requires', () => {
  const { crd } = defineResource({ ...base, group: 'samplecontroller.k8s.io', spec: z.object({}) }).definition
  assert.deepEqual(crd.metadata, {
    name: 'foos.samplecontroller.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, experimental-only' },
  })
  assert.ok(!('annotations' in Site.definition.crd.metadata))
})

test('zod and zod/mini give the same CRD', () => {
  const classic = defineResource({
    ...base,
    spec: z.object({
      region: z.enum(['eu', 'us']),
      keep: z.boolean().default(false),
      name: z.string().min(1).optional(),
    }),
  })
  const small = defineResource({
    ...base,
    spec: mini.object({
      region: mini.enum(['eu', 'us']),
      keep: mini._default(mini.boolean(), false),
      name: mini.optional(mini.string().check(mini.minLength(1))),
    }),
  })
  assert.deepEqual(small.definition.crd, classic.definition.crd)
})

const object = { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: 'x' } }

test('a valid object with unknown fields has no problems', () => {
  const { validate } = Site.definition
  assert.deepEqual(validate({ ...object, spec: { size: 1 } }), [])
  assert.deepEqual(validate({ ...object, spec: { later: true }, status: { ready: true, more: 1 }, other: 1 }), [])
  const strict = defineResource({
    ...base,
    spec: z.strictObject({ deep: z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string() })]) }),
  })
  assert.deepEqual(strict.definition.validate({ spec: { later: 1, deep: { a: 'x', later: 1 } } }), [])
})

test('problems name fields as the server does', () => {
  const { validate } = Site.definition
  assert.deepEqual(
    validate({ ...object, spec: { size: 'x', hosts: ['a', ''] }, status: {} }).map(({ field }) => field),
    ['spec.size', 'spec.hosts[1]', 'status.ready'],
  )
  assert.deepEqual(validate({ ...object }).map(({ field }) => field), ['spec'])
  assert.deepEqual(validate(null).map(({ field }) => field), ['spec'])
})

test('problems of a union are those of the closest alternative', () => {
  const spec = z.object({
    tls: z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('off') }),
      z.object({ mode: z.literal('on'), secret: z.string() }),
    ]).optional(),
    probe: z.union([
      z.object({ http: z.object({ port: z.int() }) }),
      z.object({ exec: z.object({ command: z.string() }) }),
    ]).optional(),
    port: z.union([z.int(), z.string()]).optional(),
    map: z.record(z.string(), z.int()).optional(),
    at: z.union([z.object({ x: z.int(), y: z.int() }), z.object({ x: z.int() })]).optional(),
  })
  const { validate } = defineResource({ ...base, spec }).definition
  const fields = (value: object): readonly string[] => validate({ spec: value }).map(({ field }) => field)
  assert.deepEqual(fields({ tls: { mode: 'on' } }), ['spec.tls.secret'])
  assert.deepEqual(fields({ tls: { mode: 'x' } }), ['spec.tls.mode'])
  assert.deepEqual(fields({ at: { x: '1' } }), ['spec.at.x'], 'the one with fewer problems')
  assert.deepEqual(fields({ probe: { http: { port: 'x' } } }), ['spec.probe.http.port'])
  assert.deepEqual(fields({ map: { 'a.b': 'x' } }), ['spec.map[a.b]'])
  const [port] = validate({ spec: { port: true } })
  assert.equal(port!.field, 'spec.port')
  assert.match(port!.message, /number.*, or .*string/)
})

test('a custom message is kept', () => {
  const { validate } = defineResource({ ...base, spec: z.object({ a: z.string().min(3, 'Too short a name') }) })
    .definition
  assert.deepEqual(validate({ spec: { a: 'x' } }), [{ field: 'spec.a', message: 'Too short a name' }])
})

test('a dynamic resource has defaults for plural and scope', () => {
  assert.deepEqual(dynamicResource({ group: 'a.b', version: 'v1', kind: 'Policy' }), {
    group: 'a.b',
    version: 'v1',
    kind: 'Policy',
    plural: 'policies',
    scope: 'Namespaced',
  })
  assert.deepEqual(dynamicResource({ group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' }), {
    group: '',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    scope: 'Cluster',
  })
  assert.throws(() => dynamicResource({ group: 'a.b', version: '', kind: 'Policy' }), /Cannot name a kind/)
  const bad = ['v1/namespaces/kube-system/configmaps/victim?x=', '..', 'a/b', 'a%2fb', 'a?b', 'a b', 'a#b', '-a']
  for (const part of ['group', 'version', 'kind', 'plural'] as const) {
    for (const name of [...bad, ...(part === 'group' || part === 'plural' ? [] : ['Vé'])]) {
      assert.throws(
        () => dynamicResource({ group: 'a.b', version: 'v1', kind: 'Policy', [part]: name }),
        new RegExp(`^TypeError: Cannot name a kind: ${part} `),
        `${part} ${name}`,
      )
    }
  }
  assert.equal(
    dynamicResource({
      group: 'external.metrics.k8s.io',
      version: 'v1beta1',
      kind: 'ExternalMetricValueList',
      plural: 'queue_length',
    }).plural,
    'queue_length',
  )
})
