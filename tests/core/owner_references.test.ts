import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, OwnerReference } from '../../lib/core/objects.ts'
import {
  AlreadyOwned,
  controllerOf,
  hasOwner,
  type Ownable,
  removeOwner,
  setController,
  setOwner,
} from '../../lib/core/owner_references.ts'

const foo = (over: Partial<KubeObject['metadata']> = {}, apiVersion = 'example.dev/v1'): KubeObject => ({
  apiVersion,
  kind: 'Foo',
  metadata: { name: 'foo', namespace: 'ns', uid: 'u1', resourceVersion: '1', creationTimestamp: '', ...over },
})
const bar = foo({ name: 'bar', uid: 'u2' })
const draft = (ownerReferences?: OwnerReference[], namespace: string | undefined = 'ns'): Ownable => ({
  kind: 'Secret',
  metadata: { name: 'a', namespace, ownerReferences },
})
const reference: OwnerReference = { apiVersion: 'example.dev/v1', kind: 'Foo', name: 'foo', uid: 'u1' }
const controls: OwnerReference = { ...reference, controller: true, blockOwnerDeletion: true }

test('a controller is set on a draft, with or without blockOwnerDeletion', () => {
  const it = draft()
  setController(it, foo())
  assert.deepEqual(it.metadata.ownerReferences, [controls])
  assert.equal(controllerOf(it)?.name, 'foo')
  setController(it, foo(), { blockOwnerDeletion: false })
  assert.deepEqual(it.metadata.ownerReferences, [{ ...controls, blockOwnerDeletion: false }])
})

test('an owner is added beside others once, in any version', () => {
  const it = draft([{ ...controls, name: 'bar', uid: 'u2' }])
  setOwner(it, foo())
  setOwner(it, foo({}, 'example.dev/v2'))
  assert.deepEqual(it.metadata.ownerReferences, [{ ...controls, name: 'bar', uid: 'u2' }, {
    ...reference,
    apiVersion: 'example.dev/v2',
  }])
  setOwner(it, foo({ uid: 'u3' }), { blockOwnerDeletion: true })
  assert.deepEqual(it.metadata.ownerReferences?.[1], { ...reference, uid: 'u3', blockOwnerDeletion: true })
  setController(draft([reference]), foo())
  setOwner(it, bar)
  assert.equal(controllerOf(it), undefined)
})

test('kinds of the same name in other groups are different owners', () => {
  const it = draft([reference])
  setOwner(it, foo({ uid: 'u9' }, 'other.dev/v1'))
  assert.deepEqual(it.metadata.ownerReferences?.map(({ uid }) => uid), ['u1', 'u9'])
})

test('a second controller throws with the name of the first, which stays', () => {
  const it = draft([controls])
  assert.throws(
    () => setController(it, bar),
    (error: Error) =>
      error instanceof AlreadyOwned && error.controller.uid === 'u1' &&
      error.message === 'Cannot make Foo "bar" own Secret "ns/a": Foo "foo" controls it already',
  )
  assert.deepEqual(it.metadata.ownerReferences, [controls])
})

test('an owner in another namespace, of a cluster-scoped object, or without a uid is refused; a cluster-scoped owner is not', () => {
  for (const set of [setController, setOwner]) {
    assert.throws(
      () => set(draft([], 'elsewhere'), foo()),
      /^TypeError: Cannot make Foo "foo" own Secret "elsewhere\/a": the owner is in namespace "ns" and the object is in namespace "elsewhere"/,
    )
    assert.throws(
      () => set({ metadata: { name: 'n' } }, foo()),
      /^TypeError: Cannot make Foo "foo" own an object "n": .*the object is cluster-scoped/,
    )
    assert.throws(() => set(draft(), foo({ uid: '' })), /it has no uid/)
    const it = draft()
    set(it, foo({ namespace: undefined }))
    set(it, foo({ namespace: undefined }))
    assert.equal(it.metadata.ownerReferences?.length, 1)
  }
})

test('all references to an owner are removed, in any version; a missing owner is an error', () => {
  const other = { ...reference, name: 'bar', uid: 'u2' }
  const it = draft([controls, other, { ...reference, apiVersion: 'example.dev/v0' }])
  removeOwner(it, foo({}, 'example.dev/v2'))
  assert.deepEqual(it.metadata.ownerReferences, [other])
  assert.throws(
    () => removeOwner(it, foo()),
    /^TypeError: Cannot remove the owner Foo "foo" of Secret "ns\/a": it is not among its owners$/,
  )
  assert.throws(() => removeOwner(draft(), foo()), TypeError)
})

test('an owner is recognized by its uid', () => {
  assert.deepEqual(
    [hasOwner(draft([controls]), foo()), hasOwner(draft([controls]), foo({ uid: 'u3' })), hasOwner(draft(), foo())],
    [true, false, false],
  )
  assert.equal(hasOwner(draft([{ ...reference, apiVersion: 'example.dev/v9' }]), foo()), true)
})
