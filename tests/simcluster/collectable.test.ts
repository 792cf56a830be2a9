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

test('an object without owners is left alone', () => {
  assert.deepEqual(plan(object(), [], 0), { do: 'nothing' })
})

test('an object goes when all its owners are gone', () => {
  assert.deepEqual(plan(object({ ownerReferences: [reference('x')] }), ['absent'], 0), {
    do: 'delete',
    foreground: false,
  })
  assert.deepEqual(plan(object({ ownerReferences: [reference('x'), reference('y')] }), ['absent', 'absent'], 0), {
    do: 'delete',
    foreground: false,
  })
})

test('an object stays while one owner is there, and forgets the others', () => {
  const owned = object({ ownerReferences: [reference('x'), reference('y'), reference('z')] })
  assert.deepEqual(plan(owned, ['absent', 'present', 'waiting'], 0), { do: 'forgetOwners', uids: ['x', 'z'] })
  assert.deepEqual(plan(owned, ['present', 'present', 'present'], 0), { do: 'nothing' })
})

test('an object whose owner waits for it goes, its own dependents first', () => {
  assert.deepEqual(plan(object({ ownerReferences: [reference('x')] }), ['waiting'], 0), {
    do: 'delete',
    foreground: true,
  })
})

test('an object that waits for its dependents ends when none blocks any more', () => {
  const waiting = object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] })
  assert.deepEqual(plan(waiting, [], 1), { do: 'nothing' })
  assert.deepEqual(plan(waiting, [], 0), { do: 'finish', finalizer: 'foregroundDeletion' })
})

test('an object that leaves its dependents behind lets them go first', () => {
  assert.deepEqual(plan(object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] }), [], 3), {
    do: 'orphan',
  })
})

test('an object that is being deleted waits for the finalizers of others', () => {
  assert.deepEqual(
    plan(
      object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'], ownerReferences: [reference('x')] }),
      ['absent'],
      0,
    ),
    { do: 'nothing' },
  )
})

test('an owner is the object with its uid: a namesake is none', () => {
  assert.equal(stateOfOwner(undefined, reference('u')), 'absent')
  assert.equal(stateOfOwner(object({ uid: 'other' }), reference('u')), 'absent')
  assert.equal(stateOfOwner(object(), reference('u')), 'present')
})

test('an owner waits only in the foreground, and only for references that block', () => {
  const going = object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] })
  assert.equal(stateOfOwner(going, reference('u', { blockOwnerDeletion: true })), 'waiting')
  assert.equal(stateOfOwner(going, reference('u')), 'present')
  assert.equal(
    stateOfOwner(
      object({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] }),
      reference('u', { blockOwnerDeletion: true }),
    ),
    'present',
  )
})
