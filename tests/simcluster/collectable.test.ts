import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, OwnerReference } from '../../lib/core/objects.ts'
import { type OwnerState, type Plan, plan, stateOfOwner } from '../../lib/simcluster/collectable.ts'

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

const [x, y, z] = ['x', 'y', 'z'].map((uid) => reference(uid)) as [OwnerReference, OwnerReference, OwnerReference]
const deletionTimestamp = '2026-01-01T00:00:00Z'
const foreground = { deletionTimestamp, finalizers: ['foregroundDeletion'] }

const PLANS: readonly (readonly [string, Partial<KubeObject['metadata']>, OwnerState[], blocking: number, Plan])[] = [
  ['an object without owners is kept', {}, [], 0, { do: 'nothing' }],
  ['with one absent owner it is deleted', { ownerReferences: [x] }, ['absent'], 0, { do: 'delete', foreground: false }],
  ['with two absent owners it is deleted', { ownerReferences: [x, y] }, ['absent', 'absent'], 0, {
    do: 'delete',
    foreground: false,
  }],
  ['with a waiting owner it is deleted in the foreground', { ownerReferences: [x] }, ['waiting'], 0, {
    do: 'delete',
    foreground: true,
  }],
  [
    'a present owner keeps it, without the others',
    { ownerReferences: [x, y, z] },
    ['absent', 'present', 'waiting'],
    0,
    {
      do: 'forgetOwners',
      uids: ['x', 'z'],
    },
  ],
  ['present owners keep it', { ownerReferences: [x, y] }, ['present', 'present'], 0, { do: 'nothing' }],
  ['foregroundDeletion stays while a dependent blocks', foreground, [], 1, { do: 'nothing' }],
  ['foregroundDeletion goes when no dependent blocks', foreground, [], 0, {
    do: 'finish',
    finalizer: 'foregroundDeletion',
  }],
  ['the finalizer orphan orphans', { deletionTimestamp, finalizers: ['orphan'] }, [], 3, { do: 'orphan' }],
  [
    'an object that is being deleted keeps other finalizers',
    { deletionTimestamp, finalizers: ['a/b'], ownerReferences: [x] },
    ['absent'],
    0,
    { do: 'nothing' },
  ],
]

for (const [name, metadata, states, blocking, expected] of PLANS) {
  test(name, () => assert.deepEqual(plan(object(metadata), states, blocking), expected))
}

test('an owner must have the referenced uid', () => {
  const states = [undefined, object({ uid: 'other' }), object()].map((owner) => stateOfOwner(owner, reference('u')))
  assert.deepEqual(states, ['absent', 'absent', 'present'])
})

test('an owner waits only in foreground deletion, and only for references with blockOwnerDeletion', () => {
  const blocking = reference('u', { blockOwnerDeletion: true })
  const ending = object({ deletionTimestamp, finalizers: ['a/b'] })
  assert.equal(stateOfOwner(object(foreground), blocking), 'waiting')
  assert.equal(stateOfOwner(object(foreground), reference('u')), 'present')
  assert.equal(stateOfOwner(ending, blocking), 'present')
})
