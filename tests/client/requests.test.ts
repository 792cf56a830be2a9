import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listRequest, pathOf, updateRequest, watchRequest, wireObject } from '../../lib/client/requests.ts'
import type { AnyResource } from '../../lib/core/resource.ts'

const POD: AnyResource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
const FOO: AnyResource = { group: 'example.dev', version: 'v1beta1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' }
const ROLE: AnyResource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  scope: 'Cluster',
}

test('an invalid name throws, rather than become another path; so does what is no kind', () => {
  for (const resource of ['ConfigMap', undefined]) {
    assert.throws(
      () => pathOf({ resource: resource as never, namespace: 'ns', name: 'a' }),
      new RegExp(`^TypeError: Cannot address ${resource}: it is not a kind, such as Pod of kubeloop/kinds$`),
    )
  }
  for (const name of ['', '.', '..', 'a/b', '../secrets', 'a%2fb']) {
    assert.throws(
      () => pathOf({ resource: POD, namespace: 'ns', name }),
      /^TypeError: Cannot address Pod: the name /,
      name,
    )
    assert.throws(() => pathOf({ resource: ROLE, name }), TypeError, name)
    if (name) {
      assert.throws(() => pathOf({ resource: POD, namespace: name, name: 'a' }), /the namespace /, name)
      assert.throws(
        () => pathOf({ resource: POD, namespace: 'ns', name: 'a', subresource: name }),
        /the subresource /,
        name,
      )
    }
  }
})

test('an invalid resource throws, rather than become another path', () => {
  const path = 'v1/namespaces/kube-system/configmaps/victim?x='
  for (const part of ['group', 'version', 'plural'] as const) {
    for (const name of [path, '.', '..', 'a/b', 'a%2fb', ...(part === 'group' ? [] : [''])]) {
      const resource = { ...FOO, [part]: name }
      for (const target of [{ resource }, { resource, namespace: 'ns' }, { resource, namespace: 'ns', name: 'a' }]) {
        assert.throws(
          () => pathOf(target),
          new RegExp(`^TypeError: Cannot address Foo: the ${part} `),
          `${part} ${name}`,
        )
      }
    }
    assert.match(pathOf({ resource: { ...FOO, [part]: 'a?b#c d' } }), /a%3Fb%23c%20d/)
  }
  assert.equal(
    pathOf({ resource: { ...FOO, plural: 'queue_length' }, namespace: 'ns' }),
    '/apis/example.dev/v1beta1/namespaces/ns/queue_length',
  )
})

test('an object of a namespaced kind needs a namespace; a cluster-scoped kind ignores it', () => {
  assert.throws(() => pathOf({ resource: POD, name: 'a' }), /^TypeError: Cannot address Pod "a": it needs a namespace$/)
  assert.equal(
    pathOf({ resource: ROLE, namespace: 'ns', name: 'a' }),
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/a',
  )
})

test('a query has the given options, escaped, and nothing else', () => {
  const path = '/api/v1/namespaces/ns/pods'
  const target = { resource: POD, namespace: 'ns' }
  assert.equal(listRequest(target, {}).path, path)
  assert.equal(
    listRequest(target, { labels: { app: 'a', tier: '' }, fields: 'spec.nodeName=n', limit: 500, continue: 'x=y&z' })
      .path,
    `${path}?labelSelector=app%3Da%2Ctier%3D&fieldSelector=spec.nodeName%3Dn&limit=500&continue=x%3Dy%26z`,
  )
  assert.equal(
    listRequest(target, { labels: 'a in (b, c)', fields: '' }).path,
    `${path}?labelSelector=a%20in%20(b%2C%20c)`,
  )
  assert.equal(
    watchRequest(target, { resourceVersion: '12', timeoutSeconds: 300 }).path,
    `${path}?watch=true&allowWatchBookmarks=true&resourceVersion=12&timeoutSeconds=300`,
  )
  assert.equal(
    updateRequest(
      { ...target, name: 'a' },
      {},
      { dryRun: true, fieldManager: 'me & you', fieldValidation: 'Strict' },
      '',
    )
      .path,
    `${path}/a?dryRun=All&fieldManager=me%20%26%20you&fieldValidation=Strict`,
  )
  assert.equal(
    updateRequest({ ...target, name: 'a' }, {}, { dryRun: false, fieldManager: undefined }, '').path,
    `${path}/a`,
  )
})

test("apiVersion and kind come from the resource, and the caller's object is not changed", () => {
  const object = Object.freeze({ apiVersion: 'wrong/v9', kind: 'Wrong', metadata: Object.freeze({ name: 'a' }) })
  assert.deepEqual(wireObject(FOO, object), { apiVersion: 'example.dev/v1beta1', kind: 'Foo', metadata: { name: 'a' } })
  assert.equal(object.kind, 'Wrong')
})
