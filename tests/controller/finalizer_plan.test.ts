import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonPatch } from '../../lib/apiserver/patch/json_patch.ts'
import type { Json } from '../../lib/apiserver/model/json.ts'
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

const names = fc.array(fc.constantFrom(OURS, 'b/b', 'c/c', 'd/d'), { maxLength: 5 })

test('if the list has changed, a plan does nothing or only the intended change', () => {
  fc.assert(fc.property(names, names, fc.boolean(), fc.constantFrom('1', '2'), (planned, found, isDeleting, uid) => {
    const plan = finalizerPlan(object(planned.length > 0 ? planned : undefined, isDeleting), OURS)
    if (!('patch' in plan)) return
    const before = object(found.length > 0 ? found : undefined, isDeleting, uid)
    let after: readonly string[]
    try {
      after = (jsonPatch(before as unknown as Json, plan.patch as unknown as Json) as unknown as KubeObject).metadata
        .finalizers ?? []
    } catch {
      // Refused, which is right only for another object or a changed list.
      assert.ok(uid !== '1' || JSON.stringify(planned) !== JSON.stringify(found))
      return
    }
    assert.equal(uid, '1', 'a later object with the same name is not changed')
    assert.deepEqual(
      after.filter((each) => each !== OURS),
      found.filter((each) => each !== OURS),
      'those of others stay, in their order',
    )
    if (plan.kind === 'add') assert.deepEqual(after, [...found, OURS])
    else {assert.equal(
        after.filter((each) => each === OURS).length,
        found.filter((each) => each === OURS).length - planned.filter((each) => each === OURS).length,
      )}
  }))
})
