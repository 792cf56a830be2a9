/** Cases of discovery, health and OpenAPI. */
import assert from 'node:assert/strict'
import type { Body, Case } from './api.ts'

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

export const DISCOVERY_CASES: readonly Case[] = [
  {
    name: 'the groups and versions are listed',
    async run(api) {
      assert.deepEqual((await api.expect(200, 'GET', '/api')).versions, ['v1'])
      const groups = (await api.expect(200, 'GET', '/apis')).groups
      const apps = groups.find((each: Body) => each.name === 'apps')
      assert.deepEqual(apps.preferredVersion, { groupVersion: 'apps/v1', version: 'v1' })
      assert.ok(groups.some((each: Body) => each.name === api.group))
      const group = await api.expect(200, 'GET', `/apis/${api.group}`)
      assert.equal(group.kind, 'APIGroup')
      assert.deepEqual(group.versions.map((each: Body) => each.version), ['v2', 'v1'])
    },
  },
  {
    name: 'the resources of a version are listed with their subresources',
    async run(api) {
      const list = await api.expect(200, 'GET', `/apis/${api.group}/v1`)
      assert.equal(list.kind, 'APIResourceList')
      assert.equal(list.groupVersion, `${api.group}/v1`)
      assert.deepEqual(list.resources.map((each: Body) => each.name), ['foos', 'foos/status', 'foos/scale'])
      const { storageVersionHash, ...foos } = list.resources[0]
      assert.deepEqual(foos, {
        name: 'foos',
        singularName: 'foo',
        namespaced: true,
        kind: 'Foo',
        shortNames: ['fo'],
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      })
      assert.ok(storageVersionHash)
      const apps = await api.expect(200, 'GET', '/apis/apps/v1')
      const deployments = apps.resources.find((each: Body) => each.name === 'deployments')
      assert.deepEqual(deployments.shortNames, ['deploy'])
      assert.deepEqual(deployments.categories, ['all'])
      assert.equal(apps.resources.find((each: Body) => each.name === 'deployments/scale').group, 'autoscaling')
    },
  },
  {
    name: 'aggregated discovery lists all kinds in one document',
    async run(api) {
      const answer = await api.request('GET', '/apis', undefined, { accept: AGGREGATED })
      assert.equal(answer.status, 200)
      assert.match(answer.headers['content-type']!, /as=APIGroupDiscoveryList/)
      const group = answer.body.items.find((each: Body) => each.metadata.name === api.group)
      const version = group.versions.find((each: Body) => each.version === 'v1')
      assert.equal(version.resources[0].resource, 'foos')
      assert.deepEqual(version.resources[0].responseKind, { group: api.group, version: 'v1', kind: 'Foo' })
      assert.equal(version.resources[0].scope, 'Namespaced')
      assert.deepEqual(version.resources[0].subresources.map((each: Body) => each.subresource).toSorted(), [
        'scale',
        'status',
      ])
      const core = await api.expect(200, 'GET', '/api', undefined, { accept: AGGREGATED })
      assert.ok(core.items[0].versions[0].resources.some((each: Body) => each.resource === 'pods'))
    },
  },
  {
    name: 'unserved paths are not found',
    async run(api) {
      assert.equal((await api.request('GET', '/apis/no.such.group/v1/foos')).status, 404)
      await api.refused(404, 'NotFound', 'GET', `/api/v1/namespaces/${api.namespace}/foos`)
      await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/a/status`)
    },
  },
  {
    name: 'an unsupported method is not allowed',
    async run(api) {
      await api.refused(405, 'MethodNotAllowed', 'PUT', api.configMaps, {})
      await api.refused(405, 'MethodNotAllowed', 'POST', `${api.configMaps}/a`, {})
    },
  },
  {
    name: 'health and version are served',
    async run(api) {
      for (const path of ['/healthz', '/livez', '/readyz']) assert.equal(await api.expect(200, 'GET', path), 'ok')
      assert.equal((await api.expect(200, 'GET', '/version')).minor, '36')
    },
  },
  {
    name: 'the system namespaces exist',
    async run(api) {
      for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
        const namespace = await api.expect(200, 'GET', `/api/v1/namespaces/${name}`)
        assert.equal(namespace.status.phase, 'Active')
        assert.deepEqual(namespace.spec.finalizers, ['kubernetes'])
        assert.equal(namespace.metadata.labels['kubernetes.io/metadata.name'], name)
      }
    },
  },
  {
    name: 'OpenAPI describes the served kinds',
    async run(api) {
      const index = await api.expect(200, 'GET', '/openapi/v3')
      const { serverRelativeURL } = index.paths['apis/apps/v1']
      const { components } = await api.expect(200, 'GET', serverRelativeURL)
      const container = components.schemas['io.k8s.api.core.v1.Container'].properties
      assert.equal(container.ports['x-kubernetes-list-type'], 'map')
      assert.deepEqual(container.ports['x-kubernetes-list-map-keys'], ['containerPort', 'protocol'])
      assert.equal(container.ports['x-kubernetes-patch-merge-key'], 'containerPort')
      assert.deepEqual(
        components.schemas['io.k8s.api.apps.v1.Deployment']['x-kubernetes-group-version-kind'],
        [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
      )
    },
  },
]
