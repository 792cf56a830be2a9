/** Cases of OpenAPI v3. */
import assert from 'node:assert/strict'
import type { Body, Case } from './api.ts'

const OBJECT_META = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

export const OPENAPI_CASES: readonly Case[] = [
  {
    name: 'the index of OpenAPI lists versions, groups and plain paths by their hash',
    async run(api) {
      const index = await api.request('GET', '/openapi/v3')
      assert.equal(index.headers['content-type'], 'text/plain; charset=utf-8')
      for (const name of ['api', 'apis', 'version', 'api/v1', 'apis/apps', 'apis/apps/v1', `apis/${api.group}/v1`]) {
        assert.match(index.body.paths[name].serverRelativeURL, new RegExp(`^/openapi/v3/${name}\\?hash=[\\dA-F]{128}$`))
      }
      assert.equal(index.body.paths[`apis/${api.group}`], undefined)
      assert.equal((await api.request('POST', '/openapi/v3')).status, 200)
      assert.equal((await api.request('GET', '/openapi/v3/')).status, 404)
    },
  },
  {
    name: 'a document with its hash is immutable, and known by its ETag',
    async run(api) {
      const { paths } = await api.expect(200, 'GET', '/openapi/v3')
      for (const name of ['apis/apps/v1', `apis/${api.group}/v1`]) {
        const url = paths[name].serverRelativeURL
        const hash = url.split('hash=')[1]
        const answer = await api.request('GET', url)
        assert.equal(answer.headers['cache-control'], 'public, immutable')
        assert.equal(answer.headers['etag'], `"${hash}"`)
        assert.equal(answer.headers['vary'], 'Accept')
        assert.ok(answer.headers['expires'])
        const plain = await api.request('GET', `/openapi/v3/${name}`)
        assert.equal(plain.headers['cache-control'], 'no-cache, private')
        assert.deepEqual(plain.body, answer.body)
        const known = await api.request('GET', url, undefined, { headers: { 'if-none-match': `"${hash}"` } })
        assert.equal(known.status, 304)
        const moved = await api.request('GET', `/openapi/v3/${name}?hash=ABC`)
        assert.equal(moved.status, 301)
        assert.equal(moved.headers['location'], url)
      }
    },
  },
  {
    name: 'OpenAPI is refused in other forms, and for unknown versions',
    async run(api) {
      const html = await api.request('GET', '/openapi/v3/api/v1', undefined, { accept: 'text/html' })
      assert.equal(html.status, 406)
      assert.equal(html.body, '')
      assert.equal(html.headers['vary'], 'Accept')
      const nothing = await api.request('GET', '/openapi/v3/apis/nope/v1')
      assert.equal(nothing.status, 404)
      assert.equal(nothing.body, '')
      assert.equal((await api.request('GET', '/openapi/v2', undefined, { accept: 'text/html' })).status, 406)
    },
  },
  {
    name: 'OpenAPI v2 is served as protobuf',
    async run(api) {
      const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
      const { status, headers } = await api.request('GET', '/openapi/v2', undefined, { accept })
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
    },
  },
  {
    name: 'the schemas of built-in kinds are complete',
    async run(api) {
      const { info, components } = await api.expect(200, 'GET', '/openapi/v3/apis/apps/v1')
      assert.deepEqual(info, { title: 'Kubernetes', version: '1.36' })
      const schemas = components.schemas
      const deployment = schemas['io.k8s.api.apps.v1.Deployment']
      assert.equal(deployment.description, 'Deployment enables declarative updates for Pods and ReplicaSets.')
      assert.deepEqual(deployment.properties.spec, {
        allOf: [{ $ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec' }],
        default: {},
        description: 'Specification of the desired behavior of the Deployment.',
      })
      const spec = schemas['io.k8s.api.apps.v1.DeploymentSpec']
      assert.deepEqual(spec.required, ['selector', 'template'])
      assert.equal(spec.properties.replicas.format, 'int32')
      assert.equal(spec.properties.strategy['x-kubernetes-patch-strategy'], 'retainKeys')
      const container = schemas['io.k8s.api.core.v1.Container'].properties
      assert.equal(container.imagePullPolicy.enum.length, 3)
      assert.match(container.imagePullPolicy.description, /Possible enum values:\n - `"Always"`/)
      assert.equal(schemas['io.k8s.apimachinery.pkg.util.intstr.IntOrString'].format, 'int-or-string')
      assert.deepEqual(
        schemas['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']['x-kubernetes-group-version-kind'],
        [{ group: '', kind: 'DeleteOptions', version: 'v1' }, { group: 'apps', kind: 'DeleteOptions', version: 'v1' }],
      )
      assert.ok(schemas['io.k8s.api.apps.v1.DeploymentList'])
      assert.equal(schemas['io.k8s.api.batch.v1.Job'], undefined)
    },
  },
  {
    name: 'the paths of built-in kinds have their operations',
    async run(api) {
      const { paths } = await api.expect(200, 'GET', '/openapi/v3/apis/apps/v1')
      const root = '/apis/apps/v1/namespaces/{namespace}/deployments'
      assert.ok(paths['/apis/apps/v1/'] && paths['/apis/apps/v1/deployments'] && paths[`${root}/{name}/status`])
      const { post, parameters } = paths[root]
      assert.equal(post.operationId, 'createAppsV1NamespacedDeployment')
      assert.equal(post['x-kubernetes-action'], 'post')
      assert.deepEqual(post['x-kubernetes-group-version-kind'], { group: 'apps', kind: 'Deployment', version: 'v1' })
      assert.deepEqual(post.parameters.map((each: Body) => each.name), ['dryRun', 'fieldManager', 'fieldValidation'])
      assert.deepEqual(parameters.map((each: Body) => each.name), ['namespace', 'pretty'])
      const scale = paths[`${root}/{name}/scale`].get
      assert.equal(scale['x-kubernetes-group-version-kind'].kind, 'Scale')
    },
  },
  {
    name: 'a custom kind is described with the fields that every object has',
    async run(api) {
      const { info, components, paths } = await api.expect(200, 'GET', `/openapi/v3/apis/${api.group}/v1`)
      assert.deepEqual(info, { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' })
      const prefix = `${api.group.split('.').reverse().join('.')}.v1`
      const foo = components.schemas[`${prefix}.Foo`]
      assert.deepEqual(foo['x-kubernetes-group-version-kind'], [{ group: api.group, kind: 'Foo', version: 'v1' }])
      assert.deepEqual(foo['x-kubernetes-selectable-fields'], [{ fieldPath: 'spec.mode' }])
      assert.deepEqual(foo.properties.metadata, {
        allOf: [{ $ref: OBJECT_META }],
        description: "Standard object's metadata. More info: " +
          'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
      })
      assert.match(foo.properties.apiVersion.description, /^APIVersion defines the versioned schema/)
      assert.deepEqual(Object.keys(foo.properties), ['apiVersion', 'kind', 'metadata', 'spec', 'status'])
      assert.deepEqual(foo.properties.spec.properties.port, {
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        'x-kubernetes-int-or-string': true,
      })
      assert.deepEqual(foo.properties.spec.properties.mode, { type: 'string', default: 'fast', enum: ['fast', 'slow'] })
      assert.deepEqual(foo.properties.spec.properties.optional, { type: 'string', nullable: true })
      const list = components.schemas[`${prefix}.FooList`]
      assert.equal(list.description, 'FooList is a list of Foo')
      assert.deepEqual(list.required, ['items'])
      assert.ok(components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'])
      const root = `/apis/${api.group}/v1/namespaces/{namespace}/foos`
      assert.equal(paths[root].post.description, 'create a Foo')
      assert.equal(paths[`${root}/{name}/scale`].get['x-kubernetes-group-version-kind'].kind, 'Foo')
      assert.ok(paths[`/apis/${api.group}/v1/foos`].get.operationId.endsWith('V1FooForAllNamespaces'))
    },
  },
  {
    name: 'a version without subresources and selectable fields has none in OpenAPI',
    async run(api) {
      const { components, paths } = await api.expect(200, 'GET', `/openapi/v3/apis/${api.group}/v2`)
      const foo = components.schemas[`${api.group.split('.').reverse().join('.')}.v2.Foo`]
      assert.equal(foo['x-kubernetes-preserve-unknown-fields'], true)
      assert.equal(foo['x-kubernetes-selectable-fields'], undefined)
      assert.deepEqual(Object.keys(foo.properties), ['apiVersion', 'kind', 'metadata'])
      assert.equal(Object.keys(paths).filter((path) => /\/(?:status|scale)$/.test(path)).length, 0)
      assert.equal(components.schemas['io.k8s.api.autoscaling.v1.Scale'], undefined)
    },
  },
]
