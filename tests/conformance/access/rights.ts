/** Cases of authorization: refused requests, and what the rules of roles allow. */
import type { Case } from '../api.ts'
import { granting, PODS, type Step, steps, untilAllowed } from './steps.ts'

const MERGE = 'application/merge-patch+json'

/** Requests of a user without rights. */
const REFUSED: readonly (readonly ['GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string])[] = [
  ['GET', '/foo'],
  ['GET', '/<a>&'],
  ['POST', '/api/v1'],
  ['GET', PODS],
  ['GET', `${PODS}?watch=true`],
  ['GET', `${PODS}?watch=false`],
  ['GET', `${PODS}?watch`],
  ['GET', `${PODS}/x`],
  ['GET', `${PODS}/x?watch=true`],
  ['POST', PODS],
  ['PUT', `${PODS}/x`],
  ['PATCH', `${PODS}/x/status`],
  ['DELETE', `${PODS}/x`],
  ['DELETE', PODS],
  ['GET', `${PODS}/x/log`],
  ['POST', `${PODS}/x/eviction`],
  ['GET', '/api/v1/nodes'],
  ['GET', '/api/v1/pods'],
  ['GET', '/api/v1/pods/'],
  ['GET', '/api/v1/watch/pods'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx'],
  ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da,metadata.name%3D%3Dx&watch=1'],
  ['GET', '/api/v1/namespaces/$NS'],
  ['GET', '/api/v1/namespaces'],
  ['GET', '/api/v1/namespaces/$NS/status'],
  ['POST', '/api/v1/namespaces/$NS/finalize'],
  ['GET', '/api/v1/namespaces/$NS/services/a:80/proxy/x/y'],
  ['GET', '/api/v1/proxy/namespaces/x'],
  ['GET', '/apis/apps/v1/namespaces/x/deployments/y/scale'],
  ['GET', '/apis/foo.com/v1/bars'],
]

const MAPS = '/api/v1/namespaces/$NS/configmaps'
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
export const RIGHT_CASES: readonly Case[] = [
  steps(
    'a request without the right is refused with its verb, resource and place',
    REFUSED.map(([method, path]): Step => ({
      method,
      path,
      ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: {} }),
      as: 'jane',
    })),
  ),
  steps('every user may read the discovery documents', [
    { path: '/api', as: 'jane' },
    { path: '/api/v1', as: 'jane' },
    { path: '/apis/apps/v1', as: 'jane' },
    { path: '/openapi/v3', as: 'jane' },
    { path: '/version', as: 'jane' },
  ]),
  steps('a refused request stores nothing', [
    { path: MAPS, body: { metadata: { name: 'a' } }, as: 'jane' },
    { path: `${MAPS}/a` },
    { path: MAPS, body: { metadata: { name: 'a' } } },
    { method: 'DELETE', path: `${MAPS}/a`, as: 'jane' },
    { method: 'DELETE', path: MAPS, as: 'jane' },
    { path: `${MAPS}/a` },
  ]),
  steps('rights are by verb, group, resource, subresource, name and namespace', async function* (api) {
    yield* granting('$NS-ann', [
      { verbs: ['get', 'patch'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['*/scale'] },
    ])
    await untilAllowed(api, '$NS-ann', { verb: 'get', resource: 'configmaps', name: 'a' })
    const ann = { as: '$NS-ann' }
    yield { path: MAPS, body: { metadata: { name: 'a' } } }
    yield { ...ann, path: `${MAPS}/a` }
    yield { ...ann, path: `${MAPS}/b` }
    yield { ...ann, path: MAPS }
    yield { ...ann, path: `${MAPS}?fieldSelector=metadata.name%3Da` }
    yield { ...ann, method: 'PATCH', path: `${MAPS}/a`, body: { data: { k: 'w' } }, type: MERGE }
    yield { ...ann, method: 'PUT', path: `${MAPS}/a`, body: { metadata: { name: 'a' } } }
    const deployments = '/apis/apps/v1/namespaces/$NS/deployments'
    yield { ...ann, path: `${deployments}/x/scale` }
    yield { ...ann, path: `${deployments}/x` }
    yield { ...ann, path: `${deployments}/x/status` }
  }),
  steps('a name in the rule allows a list of that name', async function* (api) {
    yield* granting('$NS-ann', [{ verbs: ['list'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] }])
    await untilAllowed(api, '$NS-ann', { verb: 'list', resource: 'configmaps', name: 'a' })
    yield { as: '$NS-ann', path: `${MAPS}?fieldSelector=metadata.name%3Da` }
    yield { as: '$NS-ann', path: `${MAPS}?fieldSelector=metadata.name%3Db` }
    yield { as: '$NS-ann', path: MAPS }
  }),
  steps('rights for URLs may end with a star', async function* (api) {
    yield* granting('$NS-ann', [
      GET_MAPS,
      { verbs: ['get'], nonResourceURLs: ['/nothing/*'] },
    ])
    await untilAllowed(api, '$NS-ann', { verb: 'get', resource: 'configmaps' })
    yield { as: '$NS-ann', path: '/nothing/here' }
    yield { as: '$NS-ann', path: '/nothing' }
    yield { as: '$NS-ann', path: '/other' }
  }),
  steps('an apply that creates also requires the right to create', async function* (api) {
    yield* granting('$NS-ann', [{ verbs: ['patch'], apiGroups: [''], resources: ['configmaps'] }])
    await untilAllowed(api, '$NS-ann', { verb: 'patch', resource: 'configmaps' })
    const apply = { method: 'PATCH', type: 'application/apply-patch+yaml', as: '$NS-ann' } as const
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    yield { ...apply, path: `${MAPS}/a?fieldManager=x`, body }
    yield { path: MAPS, body: { metadata: { name: 'a' } } }
    yield { ...apply, path: `${MAPS}/a?fieldManager=x`, body }
  }),
  steps('a PUT that creates also requires the right to create', async function* (api) {
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
    yield* granting('$NS-ann', [{ verbs: ['update', 'patch'], ...leases }])
    await untilAllowed(api, '$NS-ann', { verb: 'update', group: 'coordination.k8s.io', resource: 'leases' })
    const path = '/apis/coordination.k8s.io/v1/namespaces/$NS/leases/new'
    yield { as: '$NS-ann', method: 'PUT', path, body: { metadata: { name: 'new' } } }
    yield { as: '$NS-ann', method: 'PATCH', path, type: MERGE, body: {} }
  }),
]
