import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalizerPlan } from '../../lib/controller/finalizer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'

const OURS = 'example.dev/ours'

function object(finalizers: readonly string[] | undefined, isDeleting: boolean, uid = '1'): KubeObject {
  const metadata = {
    name: 'a',
    namespace: 'default',
    uid,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(isDeleting ? { deletionTimestamp: '2026-01-02T00:00:00Z' } : {}),
    ...(finalizers ? { finalizers } : {}),
  }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

const same = { op: 'test', path: '/metadata/uid', value: '1' }
const at = (place: number, op: 'test' | 'remove') =>
  op === 'test'
    ? { op, path: `/metadata/finalizers/${place}`, value: OURS }
    : { op, path: `/metadata/finalizers/${place}` }

const table: readonly (readonly [finalizers: readonly string[] | undefined, isDeleting: boolean, plan: object])[] = [
  [undefined, false, {
    kind: 'add',
    patch: [same, { op: 'test', path: '/metadata/finalizers', value: null }, {
      op: 'add',
      path: '/metadata/finalizers',
      value: [OURS],
    }],
  }],
  [['b/b'], false, {
    kind: 'add',
    patch: [same, { op: 'test', path: '/metadata/finalizers', value: ['b/b'] }, {
      op: 'add',
      path: '/metadata/finalizers/-',
      value: OURS,
    }],
  }],
  [[OURS], false, { kind: 'reconcile' }],
  [['b/b', OURS], false, { kind: 'reconcile' }],
  [[OURS], true, { kind: 'clean', patch: [same, at(0, 'test'), at(0, 'remove')] }],
  [['b/b', OURS, 'c/c'], true, { kind: 'clean', patch: [same, at(1, 'test'), at(1, 'remove')] }],
  [[OURS, 'b/b', OURS], true, {
    kind: 'clean',
    patch: [same, at(2, 'test'), at(2, 'remove'), at(0, 'test'), at(0, 'remove')],
  }],
  [undefined, true, { kind: 'ignore' }],
  [['b/b'], true, { kind: 'ignore' }],
]

for (const [finalizers, isDeleting, plan] of table) {
  test(`${isDeleting ? 'being deleted' : 'living'} with ${JSON.stringify(finalizers ?? [])}: ${(plan as { kind: string }).kind}`, () => {
    assert.deepEqual(finalizerPlan(object(finalizers, isDeleting), OURS), plan)
  })
}
