import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineIndex, indexKeys } from '../../lib/core/object_indexer.ts'
import { draft, formatKey, keyOf, type KubeObject, parseKey } from '../../lib/core/objects.ts'
import { apiVersionOf, groupResourceOf, type Resource, resourceId } from '../../lib/core/resource.ts'

const POD: Resource<KubeObject & { spec?: { nodes?: string[] } }> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  scope: 'Namespaced',
}
const DEPLOYMENT: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
}

test('changing a draft does not change its original', () => {
  const object: { readonly spec: { readonly list: readonly { readonly a: number }[] } } = Object.freeze({
    spec: Object.freeze({ list: Object.freeze([Object.freeze({ a: 1 })]) }),
  })
  const copy = draft(object)
  copy.spec.list[0]!.a = 2
  copy.spec.list.push({ a: 3 })
  assert.deepEqual(object, { spec: { list: [{ a: 1 }] } })
})

test('a key is made from keys and objects, and survives formatting and parsing', () => {
  assert.deepEqual(keyOf({ namespace: 'ns', name: 'a' }), { namespace: 'ns', name: 'a' })
  assert.deepEqual(keyOf({ metadata: { namespace: 'ns', name: 'a' } }), { namespace: 'ns', name: 'a' })
  assert.deepEqual(keyOf({ namespace: '', name: 'node' }), { name: 'node' })
  for (const key of [{ namespace: 'ns', name: 'a' }, { name: 'system:node' }]) {
    assert.deepEqual(parseKey(formatKey(key)), key)
  }
  assert.equal(formatKey({ name: 'node' }), 'node')
  const text = 'a/b' as unknown as KubeObject
  assert.throws(() => keyOf(text), /^TypeError: Cannot name an object by the text "a\/b": write \{ namespace, name \}$/)
  assert.throws(() => keyOf({ metadata: {} }), /^TypeError: Cannot name an object: its name is missing$/)
})

test('a kind has its names for RBAC, apiVersion and URLs', () => {
  assert.deepEqual([apiVersionOf(POD), apiVersionOf(DEPLOYMENT)], ['v1', 'apps/v1'])
  assert.deepEqual([groupResourceOf(POD), groupResourceOf(DEPLOYMENT)], ['pods', 'deployments.apps'])
  assert.notEqual(resourceId(DEPLOYMENT), resourceId({ ...DEPLOYMENT, version: 'v2' }))
})

test('an index returns no key, one key, or several', () => {
  const byNode = defineIndex(POD, (pod) => pod.spec?.nodes)
  const pod = (nodes?: string[]): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', namespace: 'b', uid: '', resourceVersion: '', creationTimestamp: '' },
      spec: { nodes },
    }) as KubeObject
  assert.deepEqual([indexKeys(byNode, pod()), indexKeys(byNode, pod(['x', 'y']))], [[], ['x', 'y']])
  assert.deepEqual(indexKeys(defineIndex(POD, (pod) => pod.metadata.name), pod()), ['a'])
})
