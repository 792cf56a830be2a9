import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, OwnerReference } from '../../lib/core/objects.ts'
import {
  AlreadyOwned,
  controllerOf,
  controllerReference,
  groupOf,
  refersTo,
  withController,
} from '../../lib/core/owners.ts'

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

test('an owner becomes the controller of an object without one', () => {
  assert.deepEqual(withController(undefined, owner(), object), [reference])
  const plain = { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u9' }
  assert.deepEqual(withController([plain], owner(), object), [plain, reference])
})

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

test('an object with another controller is refused', () => {
  const other = { ...reference, name: 'bar', uid: 'u2' }
  assert.throws(
    () => withController([other], owner(), object),
    /^AlreadyOwned: Cannot make Foo "foo" own Deployment "ns\/a": Foo "bar" controls it already$/,
  )
  assert.throws(
    () => withController([{ ...reference, apiVersion: 'other.dev/v1', uid: 'u2' }], owner(), object),
    (error) => error instanceof AlreadyOwned && error.controller.uid === 'u2',
  )
})

test('an owner must be in the same namespace, unless it is cluster-scoped', () => {
  assert.throws(
    () => withController([], owner(), { what: 'Secret "b/x"', namespace: 'b' }),
    /the owner is in namespace "ns" and the object is in namespace "b"/,
  )
  assert.throws(
    () => withController([], owner(), { what: 'Node "x"', namespace: undefined }),
    /the object is cluster-scoped/,
  )
  assert.equal(withController([], owner({ namespace: undefined }), object).length, 1)
  assert.equal(
    withController([], owner({ namespace: undefined }), { what: 'Node "x"', namespace: undefined }).length,
    1,
  )
})

test('an owner without a uid is refused', () => {
  assert.throws(() => controllerReference(owner({ uid: '' })), /Cannot own an object by Foo "foo": it has no uid/)
})

test('the controller of an object is found, and matched by group and kind', () => {
  const owned = owner({ ownerReferences: [{ ...reference, controller: false, uid: 'u0' }, reference] })
  assert.equal(controllerOf(owned), reference)
  assert.equal(controllerOf(owner()), undefined)
  assert.equal(refersTo(reference, { group: 'example.dev', kind: 'Foo' }), true)
  assert.equal(refersTo({ ...reference, apiVersion: 'example.dev/v2' }, { group: 'example.dev', kind: 'Foo' }), true)
  assert.equal(refersTo(reference, { group: '', kind: 'Foo' }), false)
  assert.deepEqual([groupOf('v1'), groupOf('apps/v1')], ['', 'apps'])
})
