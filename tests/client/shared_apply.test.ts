/** The fields that an apply would remove, compared with what it removes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, Cluster } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { Deployment, Service } from 'kubeloop/kinds'
import { lostFields } from '../../lib/client/shared_apply.ts'
import type { KubeObject } from '../../lib/core/objects.ts'

const metadata = { namespace: 'default', name: 'a' }
const container = (name: string, more: object = {}) => ({ name, image: 'i', ...more })
const deployment = (containers: readonly object[], spec: object = {}, meta: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...metadata, ...meta },
  spec: {
    selector: { matchLabels: { a: '' } },
    template: { metadata: { labels: { a: '' } }, spec: { containers } },
    ...spec,
  },
})
const service = (ports: readonly object[], spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata,
  spec: { ports, ...spec },
})
const env = (name: string, value: string) => ({ name, value })
const inContainer = (name: string) => `spec.template.spec.containers[{"name":"${name}"}]`

/** The first apply, the second, and what the second one removes. */
const ROWS: Readonly<Record<string, readonly [object, object, readonly string[]]>> = {
  'other values': [deployment([container('c')], { replicas: 1 }), deployment([container('c')], { replicas: 2 }), []],
  'a field more': [deployment([container('c')]), deployment([container('c')], { replicas: 2 }), []],
  'a field less': [deployment([container('c')], { paused: true }), deployment([container('c')]), ['spec.paused']],
  'an undefined one': [
    deployment([container('c')], { paused: true }),
    deployment([container('c')], { paused: undefined }),
    ['spec.paused'],
  ],
  'a label, with dots': [
    deployment([container('c')], {}, { labels: { 'a.b/c': '', d: '' } }),
    deployment([container('c')], {}, { labels: { d: '' } }),
    ['metadata.labels.a.b/c'],
  ],
  'all labels': [
    deployment([container('c')], {}, { labels: { d: '' } }),
    deployment([container('c')]),
    ['metadata.labels'],
  ],
  'an item of a list by key': [
    deployment([container('c'), container('d')]),
    deployment([container('d')]),
    [inContainer('c')],
  ],
  'a field of an item, and an item within': [
    deployment([container('c', { tty: true, env: [env('A', '1'), env('B', '2')] })]),
    deployment([container('c', { env: [env('B', '3')] })]),
    [`${inContainer('c')}.env[{"name":"A"}]`, `${inContainer('c')}.tty`],
  ],
  'another order': [deployment([container('c'), container('d')]), deployment([container('d'), container('c')]), []],
  'keys that the server fills in': [
    service([{ name: 'a', port: 1, protocol: 'TCP' }, { name: 'b', port: 2 }]),
    service([{ name: 'b', port: 2, protocol: 'TCP' }]),
    ['spec.ports[{"port":1,"protocol":"TCP"}]'],
  ],
  'a default left out': [service([{ port: 1, protocol: 'TCP' }]), service([{ port: 1 }]), []],
  'an item of a set': [
    deployment([container('c')], {}, { finalizers: ['a.b/c', 'a.b/d'] }),
    deployment([container('c')], {}, { finalizers: ['a.b/d'] }),
    ['metadata.finalizers["a.b/c"]'],
  ],
  'items of an atomic list': [
    deployment([container('c', { args: ['a', 'b'] })]),
    deployment([container('c', { args: ['a'] })]),
    [],
  ],
}

function client(): Client {
  return new Cluster({ name: 'm', transport: new ApiServer().handle }).client
}

for (const [what, [first, second, lost]] of Object.entries(ROWS)) {
  test(`${what}: ${lost.length === 0 ? 'nothing is lost' : lost.join(', ')}`, async () => {
    const c = client()
    const kind = ('ports' in (first as { spec: object }).spec ? Service : Deployment) as typeof Deployment
    const apply = (object: object) => c.apply(kind, object as never) as Promise<KubeObject>
    const current = await apply(first)
    const found = lostFields(current, second, 'm')
    assert.deepEqual(found.toSorted(), [...lost])
    assert.deepEqual(lostFields(current, second, 'n'), [], 'another manager')
    assert.deepEqual(lostFields(current, first, 'm'), [])
    // After it, the second one loses nothing any more, and what is lost is no longer owned.
    const after = await apply(second)
    assert.deepEqual(lostFields(after, second, 'm'), [])
    const gone = lostFields(after, { metadata: {} }, 'm')
    for (const path of lost) assert.ok(!gone.includes(path), path)
  })
}

test('fields that another manager owns, by any operation, are not lost', async () => {
  const c = client()
  const all = deployment([container('c', { tty: true })], { paused: true, replicas: 1 })
  await c.apply(Deployment, all as never)
  await c.apply(Deployment, deployment([container('c', { tty: true })]) as never, { fieldManager: 'other' })
  await c.patch(Deployment, metadata, { merge: { spec: { paused: false } } }, { fieldManager: 'editor' })
  const current = (await c.live.get(Deployment, metadata))! as KubeObject
  assert.deepEqual(lostFields(current, deployment([container('d')]), 'm'), ['spec.replicas'])
  assert.deepEqual(lostFields(current, deployment([container('d')]), 'editor'), [], 'an update is no apply')
})

test('fields of another version are not judged, nor those of a subresource', () => {
  const entry = { manager: 'm', operation: 'Apply', apiVersion: 'v1', fieldsV1: { 'f:a': {} } }
  const of = (change: object, object: object = {}): string[] =>
    lostFields(
      { apiVersion: 'v1', metadata: { managedFields: [{ ...entry, ...change }] }, ...object } as unknown as KubeObject,
      {},
      'm',
    )
  assert.deepEqual(of({}), ['a'])
  assert.deepEqual(of({ operation: 'Update' }), [])
  assert.deepEqual([of({ apiVersion: 'v2' }), of({ subresource: 'status' }), of({ fieldsV1: undefined })], [[], [], []])
  assert.deepEqual(lostFields({ apiVersion: 'v1', metadata: {} } as KubeObject, {}, 'm'), [])
})
