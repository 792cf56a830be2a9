/** Tests which versions of stored objects are compared with which schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CustomResourceDefinition } from '../../lib/core/resource.ts'
import { storedVersions } from '../../lib/crds/stored_objects.ts'

const version = (name: string, { served = true, storage = false } = {}) => ({ name, served, storage })
const crd = (names: readonly string[], stored: string, conversion?: object): CustomResourceDefinition =>
  ({
    spec: {
      versions: names.map((name) => version(name, { storage: name === stored })),
      ...(conversion && { conversion }),
    },
  }) as unknown as CustomResourceDefinition
const pairs = (
  definition: CustomResourceDefinition,
  versions: readonly ReturnType<typeof version>[],
  strategy?: string,
  stored?: readonly string[],
) =>
  storedVersions(definition, {
    spec: { versions, conversion: strategy === undefined ? undefined : { strategy } },
    status: { storedVersions: stored },
  })
    .map(({ theirs, ours, served }) => [theirs.name, ours.name, served?.name])

test('without a conversion all objects are read in a served version, and must fit the stored one', () => {
  const theirs = [version('v1', { served: false, storage: true }), version('v2'), version('v3')]
  assert.deepEqual(pairs(crd(['v1', 'v4'], 'v4'), theirs), [['v1', 'v4', 'v2'], ['v2', 'v4', 'v2'], ['v3', 'v4', 'v2']])
})

test('with a conversion each version has its own schema, and one that is not served cannot be read', () => {
  const theirs = [version('v1', { served: false, storage: true }), version('v2'), version('v3')]
  const definition = crd(['v1', 'v2'], 'v2', { strategy: 'Webhook' })
  assert.deepEqual(pairs(definition, theirs), [['v1', 'v1', undefined], ['v2', 'v2', 'v2']])
})

test('where a conversion ends, objects are read as they are stored, and versions that are not stored do not count', () => {
  const theirs = [version('v3'), version('v1', { storage: true }), version('v2', { served: false })]
  const definition = crd(['v1', 'v2'], 'v1')
  assert.deepEqual(pairs(definition, theirs, 'Webhook', ['v1', 'v2']), [['v1', 'v1', 'v1'], ['v2', 'v1', undefined]])
  assert.deepEqual(pairs(definition, theirs, 'Webhook').length, 3, 'without a status any may be stored')
  assert.deepEqual(pairs(definition, theirs, 'None', ['v1'])[0], ['v3', 'v1', 'v3'])
})
