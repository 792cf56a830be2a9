import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refersTo } from '../../lib/core/owners.ts'
import { type AnyResource, resourceId } from '../../lib/core/resource.ts'

const DEPLOYMENT: AnyResource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
}

test('resources that differ in one part have different ids', () => {
  const others: readonly Partial<AnyResource>[] = [
    {},
    { group: '' },
    { version: 'v1beta1' },
    { plural: 'pods' },
    { only: 'metadata' },
  ]
  const ids = others.map((other) => resourceId({ ...DEPLOYMENT, ...other }))
  assert.equal(new Set(ids).size, others.length, ids.join())
})

test('a reference refers to a kind in any version of its group', () => {
  const rows = { 'apps/v1 Deployment': true, 'apps/v2 Deployment': true, 'v1 Deployment': false, 'apps/v1 Pod': false }
  for (const [reference, expected] of Object.entries(rows)) {
    const [apiVersion = '', kind = ''] = reference.split(' ')
    assert.equal(refersTo({ apiVersion, kind }, DEPLOYMENT), expected, reference)
  }
})
