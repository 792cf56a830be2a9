import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import { changeSummary, withoutValues } from '../../lib/controller/change_summary.ts'
import { pod } from '../cache/scripted_server.ts'

const updated = (old: object, now: object, own = true): string =>
  changeSummary({
    kind: 'updated',
    old: { ...pod('a', '1'), ...old } as KubeObject,
    object: { ...pod('a', '2'), ...now } as KubeObject,
  }, own)

test('a change is described in a few words', () => {
  assert.equal(changeSummary({ kind: 'added', object: pod('a', '1'), initial: true }, true), 'added')
  assert.equal(changeSummary({ kind: 'deleted', object: pod('a', '1'), stale: false }, false), 'Pod default/a: deleted')
  assert.equal(updated({}, {}, false), 'Pod default/a: metadata changed')
  assert.equal(updated({ spec: { replicas: 1 } }, { spec: { replicas: 3 } }, false), 'Pod default/a: spec.replicas 1→3')
  const [old, now] = [pod('a', '1'), pod('a', '2')]
  const inWest = (['added', 'deleted', 'updated'] as const).map((kind) =>
    changeSummary({ kind, object: now, old, initial: false, stale: false } as never, false, 'west')
  )
  assert.deepEqual(
    inWest,
    ['Pod default/a in west: added', 'Pod default/a in west: deleted', 'Pod default/a in west: metadata changed'],
  )
  assert.equal(updated({ spec: { replicas: 1 } }, { spec: { replicas: 3 } }), 'spec.replicas 1→3')
  assert.equal(updated({ spec: { a: 1, b: 1 } }, { spec: { a: 2, b: 2 } }), 'spec.a 1→2 (+1)')
  assert.equal(updated({}, { status: 'x' }), 'status none→x')
  assert.equal(updated({ spec: 'x' }, { spec: '' }), 'spec x→""')
  assert.equal(updated({ spec: [1] }, { spec: [2] }), 'spec changed')
  assert.equal(updated({ spec: 'x'.repeat(100) }, { spec: '' }), 'spec changed')
  assert.equal(updated({}, {}), 'metadata changed')
  const annotated = (annotations: object) => ({ metadata: { ...pod('a', '2').metadata, annotations } })
  assert.equal(updated({}, annotated({ a: '1' })), 'metadata.annotations.a none→1')
  // It is written with the status of a Deployment.
  assert.equal(updated({}, annotated({ 'deployment.kubernetes.io/revision': '1' })), 'metadata changed')
  assert.equal(updated({}, { metadata: { ...pod('a', '2').metadata, deletionTimestamp: 'now' } }), 'deletion began')
})

test('values of a Secret are never shown', () => {
  assert.equal(
    updated({ kind: 'Secret', data: { password: 'old' } }, { kind: 'Secret', data: { password: 'new' } }),
    'data.password changed',
  )
  assert.equal(
    updated({ kind: 'Secret', data: { password: 'old' } }, { kind: 'Secret', data: { password: 'new' } }, false),
    'Secret default/a: data.password changed',
  )
})

test('without values, changes of one field have the same summary', () => {
  for (
    const [summary, short] of [
      ['spec.replicas 1→3', 'spec.replicas changed'],
      ['spec.a x: y→z (+2)', 'spec.a changed (+2)'],
      ['Pod default/a in west: data.n a b→""', 'Pod default/a in west: data.n changed'],
      ['Pod default/a: status changed', 'Pod default/a: status changed'],
      ['Pod default/a: added', 'Pod default/a: added'],
      ['requeued after 100 ms', 'requeued after 100 ms'],
    ] as const
  ) assert.equal(withoutValues(summary), short)
})
