import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, OwnerReference } from '../../lib/core/objects.ts'
import { plan, stateOfOwner } from '../../lib/simcluster/collectable.ts'

const reference = (uid: string, extra: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  ...extra,
})

function object(metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata },
  }
}

test('an object without owners is kept', () => {
  assert.deepEqual(plan(object(), [], 0), { do: 'nothing' })
})

test('an object is deleted when all its owners are absent', () => {
  assert.deepEqual(plan(object({ ownerReferences: [reference('x')] }), ['absent'], 0), {
    do: 'delete',
    foreground: false,
  })
  assert.deepEqual(plan(object({ ownerReferences: [reference('x'), reference('y')] }), ['absent', 'absent'], 0), {
    do: 'delete',
    foreground: false,
  })
})

test('an object with a present owner is kept, without its references to the other owners', () => {
  const owned = object({ ownerReferences: [reference('x'), reference('y'), reference('z')] })
  assert.deepEqual(plan(owned, ['absent', 'present', 'waiting'], 0), { do: 'forgetOwners', uids: ['x', 'z'] })
  assert.deepEqual(plan(owned, ['present', 'present', 'present'], 0), { do: 'nothing' })
})

test('an object with a waiting owner is deleted in the foreground', () => {
  assert.deepEqual(plan(object({ ownerReferences: [reference('x')] }), ['waiting'], 0), {
    do: 'delete',
    foreground: true,
  })
})

test('the foregroundDeletion finalizer is removed when no dependent blocks', () => {
  const waiting = object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] })
  assert.deepEqual(plan(waiting, [], 1), { do: 'nothing' })
  assert.deepEqual(plan(waiting, [], 0), { do: 'finish', finalizer: 'foregroundDeletion' })
})

test('an object with the orphan finalizer orphans its dependents', () => {
  assert.deepEqual(plan(object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] }), [], 3), {
    do: 'orphan',
  })
})

test('an object that is being deleted keeps other finalizers', () => {
  assert.deepEqual(
    plan(
      object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'], ownerReferences: [reference('x')] }),
      ['absent'],
      0,
    ),
    { do: 'nothing' },
  )
})

test('an owner must have the referenced uid', () => {
  assert.equal(stateOfOwner(undefined, reference('u')), 'absent')
  assert.equal(stateOfOwner(object({ uid: 'other' }), reference('u')), 'absent')
  assert.equal(stateOfOwner(object(), reference('u')), 'present')
})

test('an owner waits only in foreground deletion, and only for references with blockOwnerDeletion', () => {
  const deleting = object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] })
  assert.equal(stateOfOwner(deleting, reference('u', { blockOwnerDeletion: true })), 'waiting')
  assert.equal(stateOfOwner(deleting, reference('u')), 'present')
  assert.equal(
    stateOfOwner(
      object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] }),
      reference('u', { blockOwnerDeletion: true }),
    ),
    'present',
  )
})
