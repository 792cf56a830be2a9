/** Cases of OpenAPI v3. */
import assert from 'node:assert/strict'
import { type Api, type Case, caseOf } from './api.ts'
import { casesOf, script } from './transcript.ts'
const META = 'components|schemas|io.k8s.apimachinery.pkg.apis.meta.v1'
const DEPLOYMENTS = 'paths|/apis/apps/v1/namespaces/{namespace}/deployments'
const FOOS = 'paths|/apis/{group}/v1/namespaces/{namespace}/foos'

export const OPENAPI_CASES: readonly Case[] = casesOf('wire', [
  caseOf('the index of OpenAPI lists versions, groups and plain paths by their hash', async (api) => {
    const index = await api.request('GET', '/openapi/v3')
    assert.equal(index.headers['content-type'], 'text/plain; charset=utf-8')
    for (const name of ['api', 'apis', 'version', 'api/v1', 'apis/apps', 'apis/apps/v1', `apis/${api.group}/v1`]) {
      assert.match(index.body.paths[name].serverRelativeURL, new RegExp(`^/openapi/v3/${name}\\?hash=[\\dA-F]{128}$`))
    }
    assert.equal(index.body.paths[`apis/${api.group}`], undefined)
    assert.equal((await api.request('POST', '/openapi/v3')).status, 200)
    assert.equal((await api.request('GET', '/openapi/v3/')).status, 404)
  }),
  caseOf('a document with its hash is immutable, and known by its ETag', async (api) => {
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
  }),
  caseOf('OpenAPI is refused in other forms, and for unknown versions', async (api) => {
    const html = await api.request('GET', '/openapi/v3/api/v1', undefined, { accept: 'text/html' })
    assert.equal(html.status, 406)
    assert.equal(html.body, '')
    assert.equal(html.headers['vary'], 'Accept')
    const nothing = await api.request('GET', '/openapi/v3/apis/nope/v1')
    assert.equal(nothing.status, 404)
    assert.equal(nothing.body, '')
    assert.equal((await api.request('GET', '/openapi/v2', undefined, { accept: 'text/html' })).status, 406)
  }),
  caseOf('OpenAPI v2 is served as protobuf', async (api) => {
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const { status, headers } = await api.request('GET', '/openapi/v2', undefined, { accept })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
  }),
  script('the paths of built-in kinds have their operations', [
    'GET /openapi/v3/apis/apps/v1 ? paths|/apis/apps/v1/|get|operationId ' +
    `paths|/apis/apps/v1/deployments|get|operationId ${DEPLOYMENTS}/{name}/status|get|operationId ` +
    `${DEPLOYMENTS}|post|operationId ${DEPLOYMENTS}|post|x-kubernetes-action ` +
    `${DEPLOYMENTS}|post|x-kubernetes-group-version-kind ${DEPLOYMENTS}|parameters|0|name ` +
    `${DEPLOYMENTS}|parameters|1|name ${DEPLOYMENTS}|parameters|2|name ${DEPLOYMENTS}|post|parameters|0|name ` +
    `${DEPLOYMENTS}|post|parameters|1|name ${DEPLOYMENTS}|post|parameters|2|name ` +
    `${DEPLOYMENTS}|post|parameters|3|name ${DEPLOYMENTS}/{name}/scale|get|x-kubernetes-group-version-kind`,
  ]),
  {
    name: 'a custom kind is described with the fields that every object has',
    setup: reversed,
    steps: [
      'GET /openapi/v3/apis/{group}/v1 ? info components|schemas|{reversed}.v1.Foo ' +
      `components|schemas|{reversed}.v1.FooList|description components|schemas|{reversed}.v1.FooList|required ` +
      `${META}.ObjectMeta|type ${FOOS}|post|description ${FOOS}/{name}/scale|get|x-kubernetes-group-version-kind ` +
      'paths|/apis/{group}/v1/foos|get|operationId',
    ],
  },
  {
    name: 'a version without subresources and selectable fields has none in OpenAPI',
    setup: reversed,
    steps: [
      'GET /openapi/v3/apis/{group}/v2 ? components|schemas|{reversed}.v2.Foo ' +
      `${FOOS.replace('v1', 'v2')}|get|x-kubernetes-action ${FOOS.replace('v1', 'v2')}/{name}/status ` +
      `${FOOS.replace('v1', 'v2')}/{name}/scale components|schemas|io.k8s.api.autoscaling.v1.Scale`,
    ],
  },
])

/** Returns the group of the custom kind as the names of schemas and of operations have it. */
function reversed({ group }: Api): Promise<Record<string, string>> {
  const words = group.split('.')
  const operations = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return Promise.resolve({ reversed: words.toReversed().join('.'), operations })
}
