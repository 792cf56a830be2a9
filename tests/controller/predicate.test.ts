import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import { generationChanged } from '../../lib/controller/predicate.ts'
import { pod } from '../cache/scripted_server.ts'

const at = (generation: number | undefined, deletionTimestamp?: string): KubeObject => {
  const object = pod('a', '1')
  return { ...object, metadata: { ...object.metadata, ...(generation === undefined ? {} : { generation }), ...(deletionTimestamp ? { deletionTimestamp } : {}) } }
}

const cases: readonly [string, KubeObject, KubeObject | undefined, boolean][] = [
  ['new or deleted', at(1), undefined, true],
  ['the spec changed', at(2), at(1), true],
  ['the status or labels changed', at(1), at(1), false],
  ['a kind without generations', at(undefined), at(undefined), true],
  ['deletion began without a new generation', at(1, '2026-01-01T00:00:00Z'), at(1), true],
]

for (const [name, now, before, passes] of cases) {
  test(`generationChanged: ${name} ${passes ? 'passes' : 'does not pass'}`, () => assert.equal(generationChanged(now, before), passes))
}
