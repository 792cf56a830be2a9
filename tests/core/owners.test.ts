import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, OwnerReference } from '../../lib/core/objects.ts'
import { controllerOf, refersTo, splitApiVersion, withController } from '../../lib/core/owners.ts'

const owner = (over: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Foo',
  metadata: { name: 'foo', namespace: 'ns', uid: 'u1', resourceVersion: '1', creationTimestamp: '', ...over },
})
const object = { what: 'Deployment "ns/a"', namespace: 'ns' }
const reference: OwnerReference = {
  apiVersion: 'example.dev/v1',
  kind: 'Foo',
  name: 'foo',
  uid: 'u1',
  controller: true,
  blockOwnerDeletion: true,
}

test('an existing owner is not added twice, and keeps its place', () => {
  const plain = { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u9' }
  assert.deepEqual(withController([reference, plain], owner(), object), [reference, plain])
  assert.deepEqual(withController([plain, reference, plain], owner(), object), [plain, reference, plain])
})

test('an owner in another version, or recreated under the same name, replaces its former reference', () => {
  assert.deepEqual(withController([{ ...reference, apiVersion: 'example.dev/v1alpha1' }], owner(), object), [reference])
  assert.deepEqual(withController([{ ...reference, uid: 'before' }], owner(), object), [reference])
  // A kind that moved to another group, as Deployment did from extensions to apps.
  assert.deepEqual(withController([{ ...reference, apiVersion: 'former.dev/v1beta1' }], owner(), object), [reference])
  assert.deepEqual(
    withController([{ apiVersion: 'example.dev/v1', kind: 'Foo', name: 'foo', uid: 'u1' }], owner(), object),
    [reference],
  )
})

test('the controller of an object is found, and matched by group and kind', () => {
  const owned = owner({ ownerReferences: [{ ...reference, controller: false, uid: 'u0' }, reference] })
  assert.equal(controllerOf(owned), reference)
  assert.equal(controllerOf(owner()), undefined)
  assert.equal(refersTo(reference, { group: 'example.dev', kind: 'Foo' }), true)
  assert.equal(refersTo({ ...reference, apiVersion: 'example.dev/v2' }, { group: 'example.dev', kind: 'Foo' }), true)
  assert.equal(refersTo(reference, { group: '', kind: 'Foo' }), false)
  assert.deepEqual(splitApiVersion('v1'), { group: '', version: 'v1' })
  assert.deepEqual(splitApiVersion('apps/v1'), { group: 'apps', version: 'v1' })
})
