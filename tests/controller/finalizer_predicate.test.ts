import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orNeedsCleanup, ownChanges } from '../../lib/controller/finalizer.ts'
import type { Predicate } from '../../lib/controller/predicates.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { markPartial } from '../../lib/core/partial.ts'

const OURS = 'example.dev/ours'
const never: Predicate = () => false

let version = 1
function object(more: object = {}): KubeObject & { readonly metadata: { readonly managedFields?: unknown } } {
  const resourceVersion = String(version++)
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'a',
      namespace: 'default',
      uid: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion,
      ...more,
    },
  }
}
const deleting = { deletionTimestamp: '2026-01-02T00:00:00Z' }

function passes(predicate: Predicate | undefined, now: KubeObject, before?: KubeObject, kind?: 'deleted'): boolean {
  const change = kind
    ? { kind, object: now }
    : before
    ? { kind: 'updated', object: now, old: before }
    : { kind: 'added', object: now }
  return predicate!(now, before, change as never)
}

test('an object that needs a cleanup passes in spite of the user’s predicate, until it is gone', () => {
  for (const predicate of [orNeedsCleanup(never, OURS), ownChanges(never, OURS)]) {
    const waiting = object({ ...deleting, finalizers: ['b/b', OURS] })
    assert.equal(passes(predicate, waiting), true)
    assert.equal(passes(predicate, waiting, object({ finalizers: ['b/b', OURS] })), true)
    assert.equal(passes(predicate, waiting, undefined, 'deleted'), false)
    assert.equal(passes(predicate, object({ ...deleting, finalizers: ['b/b'] })), false)
    assert.equal(passes(predicate, object({ finalizers: [OURS] })), false)
  }
})

test('without the user’s predicate everything passes, except the change that adds our finalizer', () => {
  assert.equal(orNeedsCleanup(undefined, OURS), undefined)
  const own = ownChanges(undefined, OURS)
  assert.equal(passes(own, object()), true)
  assert.equal(passes(own, object(), undefined, 'deleted'), true)
  assert.equal(passes(own, object(), object()), true)
  assert.equal(passes(own, object({ finalizers: [OURS], managedFields: [1] }), object({ managedFields: [] })), false)
  assert.equal(passes(own, object({ finalizers: ['b/b', OURS] }), object({ finalizers: ['b/b'] })), false)
})

test('a change of an object that is read in part may be more than our finalizer, so it passes', () => {
  const own = ownChanges(undefined, OURS)
  assert.equal(passes(own, markPartial(object({ finalizers: [OURS] })), markPartial(object())), true)
})

test('a change that is more than our finalizer passes', () => {
  const own = ownChanges(undefined, OURS)
  assert.equal(passes(own, object({ finalizers: [OURS], labels: { a: 'b' } }), object()), true)
  assert.equal(passes(own, object({ finalizers: ['b/b', OURS] }), object()), true)
  assert.equal(passes(own, object({ finalizers: [OURS], generation: 2 }), object({ generation: 1 })), true)
  assert.equal(passes(own, { ...object({ finalizers: [OURS] }), data: {} } as KubeObject, object()), true)
  assert.equal(passes(own, object({ finalizers: [OURS], uid: '2' }), object()), true)
  assert.equal(passes(own, object(), object({ finalizers: [OURS] })), true)
})
