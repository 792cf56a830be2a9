import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Body, must, send } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import { envelope, part, PROTOBUF } from './protobuf_writer.ts'

/** Large enough that work in the square of it takes ten seconds, and linear work a fifth of one. */
const MANY = 20_000
/** Of processor time: other processes do not count. */
const LIMIT_MS = 2500

const PODS = '/api/v1/namespaces/default/pods'
const SERVICES = '/api/v1/namespaces/default/services'
const MAPS = '/api/v1/namespaces/default/configmaps'

const many = (make: (index: number) => unknown, count = MANY): unknown[] =>
  Array.from({ length: count }, (_, index) => make(index))
const map = (metadata: object, data: object = {}): object => ({ metadata: { name: 'x', ...metadata }, data })
const pod = (spec: object, name = 'x'): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'a', image: 'b' }], ...spec },
})
const env = (count: number, more: object = {}): unknown[] =>
  many((index) => ({ name: `e${index}`, value: 'v', ...more }), count)
const amount = (cpu: string): object =>
  pod({ containers: [{ name: 'a', image: 'b', resources: { requests: { cpu } } }] })
const ports = (type: string): object => ({
  metadata: { name: 'x' },
  spec: { type, ports: many((index) => ({ name: `p${index}`, port: 1 + index }), MANY / 4) },
})

type Request = readonly [
  method: 'DELETE' | 'PATCH' | 'POST' | 'PUT',
  path: string,
  body: object | string | Uint8Array,
  type?: string,
]

const STRATEGIC = 'application/strategic-merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

/** Each: what takes its time, a request that prepares it, and the request. */
const COSTS: readonly (readonly [string, Request | undefined, Request])[] = [
  ['a strategic merge of lists by a key', [
    'POST',
    PODS,
    pod({ containers: [{ name: 'a', image: 'b', env: env(MANY / 8) }] }),
  ], ['PATCH', `${PODS}/x`, { spec: { containers: [{ name: 'a', env: env(MANY) }] } }, STRATEGIC]],
  ['a strategic deletion from lists', [
    'POST',
    PODS,
    pod({ containers: [{ name: 'a', image: 'b', env: env(MANY / 2) }] }),
  ], [
    'PATCH',
    `${PODS}/x`,
    { spec: { containers: [{ name: 'a', env: env(MANY / 2, { $patch: 'delete' }) }] } },
    STRATEGIC,
  ]],
  ['a strategic deletion from a list of texts', ['POST', MAPS, map({ finalizers: many((index) => `a/b${index}`) })], [
    'PATCH',
    `${MAPS}/x`,
    { metadata: { '$deleteFromPrimitiveList/finalizers': many((index) => `a/b${index}`) } },
    STRATEGIC,
  ]],
  ['comments of YAML', undefined, [
    'POST',
    MAPS,
    `${'#'.repeat(MANY)}\n`.repeat(10) + 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n',
    'application/yaml',
  ]],
  ['many owners', undefined, ['POST', MAPS, map({ ownerReferences: many((index) => ({ uid: `u${index % 9000}` })) })]],
  ['ports of a Service', ['POST', SERVICES, ports('ClusterIP')], ['PUT', `${SERVICES}/x`, ports('NodePort')]],
  ['tolerations', [
    'POST',
    PODS,
    pod({ tolerations: many((index) => ({ key: `k${index}`, operator: 'Exists' }), MANY / 2) }),
  ], [
    'PATCH',
    `${PODS}/x`,
    { metadata: { labels: { a: 'b' } } },
    STRATEGIC,
  ]],
  ['a tiny quantity', undefined, ['POST', PODS, amount('1e-999999999')]],
  ['a quantity of many digits', undefined, ['POST', PODS, amount('9'.repeat(MANY))]],
  ['digits in a text', undefined, ['POST', MAPS, map({}, { a: '1'.repeat(1_000_000) })]],
  ['escapes in a text', undefined, [
    'POST',
    MAPS,
    `{"metadata":{"name":"x"},"data":{"a":"${'\\ud800'.repeat(90_000)}"}}`,
  ]],
  ['insertions at the front of a list', ['POST', MAPS, map({ finalizers: ['a/b'] })], [
    'PATCH',
    `${MAPS}/x`,
    many((index) => ({ op: 'add', path: '/metadata/finalizers/0', value: `a/b${index}` }), 10_000),
    JSON_PATCH,
  ]],
  ['faults of a built-in kind', undefined, ['POST', PODS, pod({ containers: many(() => ({}), MANY) })]],
  ['faults of a definition', undefined, [
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    {
      metadata: { name: 'foos.example.com' },
      spec: { group: 'example.com', scope: 'Namespaced', names: {}, versions: many(() => ({}), 2 * MANY) },
    },
  ]],
  ['managers of fields', undefined, [
    'POST',
    MAPS,
    map({
      managedFields: many((index) => ({
        manager: `m${index}`,
        operation: 'Update',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [`f:k${index}`]: {} } },
      }), MANY / 4),
    }),
  ]],
]

for (const [name, before, request] of COSTS) {
  test(`${name}: one request takes time by its length, and no more`, async () => {
    const server = new ApiServer({ clock: new FakeClock() })
    const sent = async ([method, path, body, type = 'application/json']: Request): Promise<number> =>
      (await send(server, method, path, body, { headers: { 'content-type': type } })).status
    if (before) assert.equal(await sent(before), 201)
    const began = process.cpuUsage()
    const status = await sent(request)
    const { user, system } = process.cpuUsage(began)
    assert.ok(status >= 200 && status < 504 && status !== 413, `status ${status}`)
    const ms = (user + system) / 1000
    assert.ok(ms < LIMIT_MS, `${ms.toFixed(0)} ms of processor time`)
  })
}

/** Just below the limit of fields and items; the objects themselves are too large for etcd, or not valid. */
const MOST = 79_000

const FOOS = '/apis/example.com/v1/namespaces/default/foos'
const foo = (spec: unknown): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Foo',
  metadata: { name: 'x' },
  spec,
})
const items = (count: number): object => foo({ items: many((index) => ({ name: `n${index}` }), count / 2) })
const keys = (count: number): object =>
  foo(Object.fromEntries(many((index) => [`k${index}`, 1], count) as [string, 1][]))
const yaml = (count: number): string =>
  `{apiVersion: example.com/v1, kind: Foo, metadata: {name: x}, spec: {${
    many((index) => `k${index}: 1`, count).join()
  }}}`
const protobuf = (count: number): Uint8Array => {
  const container = part(2, '')
  const containers = Uint8Array.from({ length: count * container.length }, (_, at) => container[at % container.length]!)
  return envelope('v1', 'Pod', part(2, containers))
}
const APPLY = 'application/apply-patch+yaml'

const BODIES: readonly (readonly [string, (count: number) => Request])[] = [
  ['JSON', (count) => ['POST', FOOS, items(count)]],
  ['YAML', (count) => ['POST', FOOS, yaml(count), 'application/yaml']],
  ['protobuf', (count) => ['POST', PODS, protobuf(count), PROTOBUF]],
  ['an apply', (count) => ['PATCH', `${FOOS}/y?fieldManager=a`, { ...items(count), metadata: {} }, APPLY]],
  ['a merge patch', (count) => ['PATCH', `${FOOS}/y`, keys(count), 'application/merge-patch+json']],
  ['a strategic patch', (count) => ['PATCH', `${PODS}/y`, pod({ tolerations: many(() => ({}), count) }), STRATEGIC]],
  [
    'a JSON patch',
    (count) => ['PATCH', `${FOOS}/y`, [{ op: 'add', path: '/spec', value: { items: items(count) } }], JSON_PATCH],
  ],
  ['a review', (count) => [
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { spec: { user: 'a', groups: many(String, count) } },
  ]],
  ['options', (count) => ['DELETE', `${MAPS}/y`, { x: many(() => ({}), count) }]],
]

/** Returns a function that sends a request to a new server with the kinds of {@link BODIES}, and measures it. */
async function measuring() {
  const server = new ApiServer({ clock: new FakeClock() })
  const schema = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: {
      items: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      },
    },
  }
  await must(server, 'POST', CRDS, definitionOf({ scope: 'Namespaced', properties: { spec: schema } }))
  await must(server, 'POST', FOOS, { ...foo({ items: [] }), metadata: { name: 'y' } })
  await must(server, 'POST', PODS, pod({}, 'y'))
  await must(server, 'POST', MAPS, { metadata: { name: 'y' } })
  return async ([method, path, body, type = 'application/json']: Request) => {
    const began = process.cpuUsage()
    const { status, body: { message } } = await send(server, method, path, body, { headers: { 'content-type': type } })
    const { user, system } = process.cpuUsage(began)
    return { status, message, ms: (user + system) / 1000 }
  }
}

for (const [name, make] of BODIES) {
  test(`a body of many fields takes a part of a second of one turn, and one with more is refused: ${name}`, async () => {
    const sent = await measuring()
    const over = await sent(make(2 * MOST))
    assert.equal(over.status, 413)
    assert.match(over.message, /^Request entity too large: limit is 80000 fields and items/)
    const { status, ms } = await sent(make(MOST))
    assert.notEqual(status, 413)
    assert.ok(Math.max(ms, over.ms) < LIMIT_MS, `${ms.toFixed(0)} and ${over.ms.toFixed(0)} ms of processor time`)
  })
}

test('patches that add many fields to an object are refused', async () => {
  const sent = await measuring()
  const half = foo({ numbers: many(() => 1, MOST / 2) })
  assert.equal((await sent(['POST', FOOS, { ...half, metadata: { name: 'z' } }])).status, 201)
  const copies = many((index) => ({ op: 'copy', from: '/spec/numbers', path: `/spec/copy${index}` }), 2)
  const { status } = await sent(['PATCH', `${FOOS}/z`, copies, JSON_PATCH])
  assert.equal(status, 413)
})

test('an answer names the first 1000 faults; those of alternatives that fail do not count', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const items = { type: 'string', anyOf: [{ maxLength: 0 }, { minLength: 1, maxLength: 1 }] }
  await must(server, 'POST', CRDS, definitionOf({ properties: { spec: { type: 'array', items } } }))
  const foos = async (value: string, count: number): Promise<{ status: number; causes: readonly string[] }> => {
    const foo = { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: 'a' }, spec: Array(count).fill(value) }
    const { status, body } = await send(server, 'POST', '/apis/example.com/v1/foos?dryRun=All', foo)
    return { status, causes: (body.details?.causes ?? []).map(({ message }: Body) => message) }
  }
  assert.equal((await foos('a', 3000)).status, 201)
  // Each has two: it fits no alternative, and it is not what the first one asks for.
  const fitting = await foos('aa', 500)
  assert.equal(fitting.causes.length, 1000)
  assert.ok(!fitting.causes.some((message) => message.includes('only the first')))
  const { status, causes } = await foos('aa', 501)
  assert.equal(status, 422)
  assert.deepEqual(causes, [...fitting.causes, 'only the first 1000 faults are named'])
})
