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

const one = [object()]
const blocking = [object({ ownerReferences: [reference('u', { blockOwnerDeletion: true })] })]
const elsewhere = [object({ ownerReferences: [reference('u'), reference('x', { blockOwnerDeletion: true })] })]
const background: Plan = { do: 'delete', propagation: 'Background', unblock: false }

const PLANS: readonly (readonly [string, Partial<KubeObject['metadata']>, OwnerState[], KubeObject[], Plan])[] = [
  ['an object without owners is kept', {}, [], [], { do: 'nothing' }],
  ['with one absent owner it is deleted', { ownerReferences: [x] }, ['absent'], [], background],
  ['with two absent owners it is deleted', { ownerReferences: [x, y] }, ['absent', 'absent'], [], background],
  ['with a waiting owner it is deleted', { ownerReferences: [x] }, ['waiting'], [], background],
  ['… in the foreground, if it has dependents', { ownerReferences: [x] }, ['waiting'], one, {
    do: 'delete',
    propagation: 'Foreground',
    unblock: false,
  }],
  [
    '… without blocking, if one of these waits too',
    { ownerReferences: [x] },
    ['waiting'],
    [...one, object(foreground)],
    {
      do: 'delete',
      propagation: 'Foreground',
      unblock: true,
    },
  ],
  [
    'with an absent owner, dependents do not matter',
    { ownerReferences: [x] },
    ['absent'],
    one,
    background,
  ],
  ['its finalizers choose how it is deleted', { ownerReferences: [x], finalizers: ['orphan'] }, ['absent'], [], {
    ...background,
    propagation: 'Orphan',
  }],
  [
    'its finalizers choose it: foreground',
    { ownerReferences: [x], finalizers: ['foregroundDeletion'] },
    ['absent'],
    [],
    {
      ...background,
      propagation: 'Foreground',
    },
  ],
  [
    'a present owner keeps it, without the others',
    { ownerReferences: [x, y, z] },
    ['absent', 'present', 'waiting'],
    [],
    {
      do: 'forgetOwners',
      uids: ['x', 'z'],
    },
  ],
  ['present owners keep it', { ownerReferences: [x, y] }, ['present', 'present'], [], { do: 'nothing' }],
  ['foregroundDeletion stays while a dependent blocks', foreground, [], blocking, {
    do: 'nothing',
  }],
  ['foregroundDeletion goes when no dependent blocks it', foreground, [], elsewhere, {
    do: 'finish',
    finalizer: 'foregroundDeletion',
  }],
  ['the finalizer orphan orphans', { deletionTimestamp, finalizers: ['orphan'] }, [], one, {
    do: 'finish',
    finalizer: 'orphan',
  }],
  [
    'an object that is being deleted keeps other finalizers',
    { deletionTimestamp, finalizers: ['a/b'], ownerReferences: [x] },
    ['absent'],
    [],
    { do: 'nothing' },
  ],
]

for (const [name, metadata, states, dependents, expected] of PLANS) {
  test(name, () => assert.deepEqual(plan(object(metadata), states, dependents), expected))
}

test('an owner must have the referenced uid', () => {
  const states = [undefined, object({ uid: 'other' }), object()].map((owner) => stateOfOwner(owner, reference('u')))
  assert.deepEqual(states, ['absent', 'absent', 'present'])
})

test('an owner waits only in foreground deletion', () => {
  const blocking = reference('u', { blockOwnerDeletion: true })
  const ending = object({ deletionTimestamp, finalizers: ['a/b'] })
  assert.equal(stateOfOwner(object(foreground), blocking), 'waiting')
  assert.equal(stateOfOwner(object(foreground), reference('u')), 'waiting')
  assert.equal(stateOfOwner(ending, blocking), 'present')
})
