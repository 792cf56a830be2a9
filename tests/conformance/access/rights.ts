/** Cases of authorization: refused requests, and what the rules of roles allow. */
import type { Body, Case } from '../api.ts'
import { granting, PODS, type Step, steps, untilAllowed } from './steps.ts'

const MERGE = 'application/merge-patch+json'

/** A request of a user without rights, and the text after `User "jane" cannot `. */
type Refused = readonly [
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  target: string,
  text: string,
  details: Body,
]

const REFUSED: readonly Refused[] = [
  ['GET', '/foo', '', 'get path "/foo"', {}],
  ['GET', '/<a>&', '', 'get path "/&lt;a&gt;&amp;"', {}],
  ['POST', '/api/v1', '', 'post path "/api/v1"', {}],
  ['GET', PODS, 'pods', 'list resource "pods" in API group "" in the namespace "$NS"', { kind: 'pods' }],
  ['GET', `${PODS}?watch=true`, 'pods', 'watch resource "pods" in API group "" in the namespace "$NS"', {
    kind: 'pods',
  }],
  ['GET', `${PODS}/x`, 'pods "x"', 'get resource "pods" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['GET', `${PODS}/x?watch=true`, 'pods "x"', 'get resource "pods" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['POST', PODS, 'pods', 'create resource "pods" in API group "" in the namespace "$NS"', { kind: 'pods' }],
  ['PUT', `${PODS}/x`, 'pods "x"', 'update resource "pods" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['PATCH', `${PODS}/x/status`, 'pods "x"', 'patch resource "pods/status" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['DELETE', `${PODS}/x`, 'pods "x"', 'delete resource "pods" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['DELETE', PODS, 'pods', 'deletecollection resource "pods" in API group "" in the namespace "$NS"', { kind: 'pods' }],
  ['GET', `${PODS}/x/log`, 'pods "x"', 'get resource "pods/log" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['POST', `${PODS}/x/eviction`, 'pods "x"', 'create resource "pods/eviction" in API group "" in the namespace "$NS"', {
    name: 'x',
    kind: 'pods',
  }],
  ['GET', '/api/v1/nodes', 'nodes', 'list resource "nodes" in API group "" at the cluster scope', { kind: 'nodes' }],
  ['GET', '/api/v1/pods', 'pods', 'list resource "pods" in API group "" at the cluster scope', { kind: 'pods' }],
  ['GET', '/api/v1/pods/', 'pods', 'list resource "pods" in API group "" at the cluster scope', { kind: 'pods' }],
  ['GET', '/api/v1/watch/pods', 'pods', 'watch resource "pods" in API group "" at the cluster scope', { kind: 'pods' }],
  [
    'GET',
    '/api/v1/pods?fieldSelector=metadata.name%3Dx',
    'pods "x"',
    'list resource "pods" in API group "" at the cluster scope',
    { name: 'x', kind: 'pods' },
  ],
  [
    'GET',
    '/api/v1/pods?fieldSelector=spec.nodeName%3Da,metadata.name%3D%3Dx&watch=1',
    'pods "x"',
    'watch resource "pods" in API group "" at the cluster scope',
    { name: 'x', kind: 'pods' },
  ],
  [
    'GET',
    '/api/v1/namespaces/$NS',
    'namespaces "$NS"',
    'get resource "namespaces" in API group "" in the namespace "$NS"',
    { name: '$NS', kind: 'namespaces' },
  ],
  [
    'GET',
    '/api/v1/namespaces/$NS/status',
    'namespaces "$NS"',
    'get resource "namespaces/status" in API group "" in the namespace "$NS"',
    { name: '$NS', kind: 'namespaces' },
  ],
  [
    'GET',
    '/api/v1/namespaces/$NS/services/a:80/proxy/x/y',
    'services "a:80"',
    'get resource "services/proxy" in API group "" in the namespace "$NS"',
    { name: 'a:80', kind: 'services' },
  ],
  [
    'GET',
    '/api/v1/proxy/namespaces/x',
    'namespaces "x"',
    'proxy resource "namespaces" in API group "" in the namespace "x"',
    { name: 'x', kind: 'namespaces' },
  ],
  [
    'GET',
    '/apis/apps/v1/namespaces/x/deployments/y/scale',
    'deployments.apps "y"',
    'get resource "deployments/scale" in API group "apps" in the namespace "x"',
    { name: 'y', group: 'apps', kind: 'deployments' },
  ],
  ['GET', '/apis/foo.com/v1/bars', 'bars.foo.com', 'list resource "bars" in API group "foo.com" at the cluster scope', {
    group: 'foo.com',
    kind: 'bars',
  }],
]

const MAPS = '/api/v1/namespaces/$NS/configmaps'
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
export const RIGHT_CASES: readonly Case[] = [
  steps(
    'a request without the right is refused with its verb, resource and place',
    REFUSED.map(([method, path, target, text, details]): Step => ({
      method,
      path,
      ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: {} }),
      as: 'jane',
      status: 403,
      reason: 'Forbidden',
      message: `${target ? `${target} is ` : ''}forbidden: User "jane" cannot ${text}`,
      has: { details },
    })),
  ),
  steps('every user may read the discovery documents', [
    { path: '/api', as: 'jane', status: 200 },
    { path: '/api/v1', as: 'jane', status: 200 },
    { path: '/apis/apps/v1', as: 'jane', status: 200 },
    { path: '/openapi/v3', as: 'jane', status: 200 },
    { path: '/version', as: 'jane', status: 200 },
  ]),
  steps('a refused request stores nothing', [
    { path: MAPS, body: { metadata: { name: 'a' } }, as: 'jane', status: 403 },
    { path: `${MAPS}/a`, status: 404 },
    { path: MAPS, body: { metadata: { name: 'a' } }, status: 201 },
    { method: 'DELETE', path: `${MAPS}/a`, as: 'jane', status: 403 },
    { method: 'DELETE', path: MAPS, as: 'jane', status: 403 },
    { path: `${MAPS}/a`, status: 200 },
  ]),
  steps('rights are by verb, group, resource, subresource, name and namespace', async function* (api) {
    yield* granting('$NS-ann', [
      { verbs: ['get', 'patch'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['*/scale'] },
    ])
    await untilAllowed(api, '$NS-ann', { verb: 'get', resource: 'configmaps', name: 'a' })
    const ann = { as: '$NS-ann' }
    yield { path: MAPS, body: { metadata: { name: 'a' } }, status: 201 }
    yield { ...ann, path: `${MAPS}/a`, status: 200 }
    yield { ...ann, path: `${MAPS}/b`, status: 403 }
    yield { ...ann, path: MAPS, status: 403 }
    yield { ...ann, path: `${MAPS}?fieldSelector=metadata.name%3Da`, status: 403 }
    yield { ...ann, method: 'PATCH', path: `${MAPS}/a`, body: { data: { k: 'w' } }, type: MERGE, status: 200 }
    yield { ...ann, method: 'PUT', path: `${MAPS}/a`, body: { metadata: { name: 'a' } }, status: 403 }
    const deployments = '/apis/apps/v1/namespaces/$NS/deployments'
    yield { ...ann, path: `${deployments}/x/scale`, status: 404 }
    yield { ...ann, path: `${deployments}/x`, status: 403 }
    yield { ...ann, path: `${deployments}/x/status`, status: 403 }
  }),
  steps('a name in the rule allows a list of that name', async function* (api) {
    yield* granting('$NS-ann', [{ verbs: ['list'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] }])
    await untilAllowed(api, '$NS-ann', { verb: 'list', resource: 'configmaps', name: 'a' })
    yield { as: '$NS-ann', path: `${MAPS}?fieldSelector=metadata.name%3Da`, status: 200 }
    yield { as: '$NS-ann', path: `${MAPS}?fieldSelector=metadata.name%3Db`, status: 403 }
    yield { as: '$NS-ann', path: MAPS, status: 403 }
  }),
  steps('rights for URLs may end with a star', async function* (api) {
    yield* granting('$NS-ann', [
      GET_MAPS,
      { verbs: ['get'], nonResourceURLs: ['/nothing/*'] },
    ])
    await untilAllowed(api, '$NS-ann', { verb: 'get', resource: 'configmaps' })
    yield { as: '$NS-ann', path: '/nothing/here', status: 404 }
    yield { as: '$NS-ann', path: '/nothing', status: 403 }
    yield { as: '$NS-ann', path: '/other', status: 403 }
  }),
  steps('an apply that creates also requires the right to create', async function* (api) {
    yield* granting('$NS-ann', [{ verbs: ['patch'], apiGroups: [''], resources: ['configmaps'] }])
    await untilAllowed(api, '$NS-ann', { verb: 'patch', resource: 'configmaps' })
    const apply = { method: 'PATCH', type: 'application/apply-patch+yaml', as: '$NS-ann' } as const
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    yield {
      ...apply,
      path: `${MAPS}/a?fieldManager=x`,
      body,
      status: 403,
      reason: 'Forbidden',
      message:
        `configmaps "a" is forbidden: User "$NS-ann" cannot create resource "configmaps" in API group "" in the namespace "$NS"`,
    }
    yield { path: MAPS, body: { metadata: { name: 'a' } }, status: 201 }
    yield { ...apply, path: `${MAPS}/a?fieldManager=x`, body, status: 200 }
  }),
  steps('a PUT that creates also requires the right to create', async function* (api) {
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
    yield* granting('$NS-ann', [{ verbs: ['update', 'patch'], ...leases }])
    await untilAllowed(api, '$NS-ann', { verb: 'update', group: 'coordination.k8s.io', resource: 'leases' })
    const path = '/apis/coordination.k8s.io/v1/namespaces/$NS/leases/new'
    yield {
      as: '$NS-ann',
      method: 'PUT',
      path,
      body: { metadata: { name: 'new' } },
      status: 403,
      message:
        'leases.coordination.k8s.io "new" is forbidden: User "$NS-ann" cannot create resource "leases" in API group ' +
        '"coordination.k8s.io" in the namespace "$NS"',
    }
    yield { as: '$NS-ann', method: 'PATCH', path, type: MERGE, body: {}, status: 404 }
  }),
]
