import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { ConfigMap, Namespace } from 'kubeloop/kinds'
import { world, type World } from 'kubeloop/testing'
import sample, { Foo } from '../../examples/sample_controller.ts'

/** An operator that does nothing: what these tests are about runs beside it. */
const idle = operator({ name: 'idle' }).add('wait', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))

const map = (name: string, owners: readonly { metadata: { name: string; uid: string } }[] = []) => ({
  metadata: {
    namespace: 'default',
    name,
    ownerReferences: owners.map(({ metadata }) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true })),
  },
})
const ref = (name: string) => ({ namespace: 'default', name })
const exists = async (w: World, name: string): Promise<boolean> => (await w.client.get(ConfigMap, ref(name))) !== undefined

test('dependents go after their owner, and theirs after them', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  const child = await w.client.create(ConfigMap, map('child', [owner]))
  await w.client.create(ConfigMap, map('grandchild', [child]))
  await w.client.create(ConfigMap, map('stranger'))
  await w.client.delete(ConfigMap, ref('owner'))
  await w.settle()
  assert.deepEqual([await exists(w, 'child'), await exists(w, 'grandchild'), await exists(w, 'stranger')], [false, false, true])
  await w.stop()
})

test('in the foreground the owner goes last', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, { ...map('child', [owner]), metadata: { ...map('child', [owner]).metadata, finalizers: ['test/held'] } })
  await w.client.delete(ConfigMap, ref('owner'), { propagation: 'Foreground' })
  await w.settle()
  assert.deepEqual([await exists(w, 'owner'), await exists(w, 'child')], [true, true])
  await w.client.edit(ConfigMap, ref('child'), (draft) => void (draft.metadata.finalizers = []))
  await w.settle()
  assert.deepEqual([await exists(w, 'owner'), await exists(w, 'child')], [false, false])
  await w.stop()
})

test('orphans stay, without the reference', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, map('child', [owner]))
  await w.client.delete(ConfigMap, ref('owner'), { propagation: 'Orphan' })
  await w.settle()
  assert.equal(await exists(w, 'owner'), false)
  const child = await w.client.get(ConfigMap, ref('child'))
  assert.ok(child && (child.metadata.ownerReferences ?? []).length === 0)
  await w.stop()
})

test('an object with two owners stays until both are gone', async () => {
  const w = await world(idle)
  const [a, b] = [await w.client.create(ConfigMap, map('a')), await w.client.create(ConfigMap, map('b'))]
  await w.client.create(ConfigMap, map('child', [a, b]))
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual((await w.client.get(ConfigMap, ref('child')))?.metadata.ownerReferences?.map(({ name }) => name), ['b'])
  await w.client.delete(ConfigMap, ref('b'))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('an object that names an owner that never was is collected', async () => {
  const w = await world(idle)
  await w.client.create(ConfigMap, map('child', [{ metadata: { name: 'nobody', uid: '00000000-0000-0000-0000-000000000000' } }]))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('a namesake with another uid is no owner', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, map('child', [{ metadata: { name: 'owner', uid: `${owner.metadata.uid}x` } }]))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('kinds that are defined later are collected too', async () => {
  const w = await world(sample)
  const foo = await w.client.create(Foo, { metadata: ref('foo'), spec: { deploymentName: 'd' } })
  await w.client.create(ConfigMap, { metadata: { ...ref('child'), ownerReferences: [{ apiVersion: foo.apiVersion, kind: foo.kind, name: 'foo', uid: foo.metadata.uid }] } })
  await w.settle()
  assert.equal(await exists(w, 'child'), true)
  await w.client.delete(Foo, ref('foo'))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('a cluster-scoped owner has dependents in namespaces', async () => {
  const w = await world(idle)
  const owner = await w.client.create(Namespace, { metadata: { name: 'owner' } })
  await w.client.create(ConfigMap, { metadata: { ...ref('child'), ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'owner', uid: owner.metadata.uid }] } })
  await w.settle()
  assert.equal(await exists(w, 'child'), true)
  await w.stop()
})
