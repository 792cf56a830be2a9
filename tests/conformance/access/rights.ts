/** Cases of authorization: refused requests, and what the rules of roles allow. */
import { cm, type Script, script, type Step } from '../transcript.ts'
import { granting } from './granting.ts'

/** Requests of a user without rights. */
const REFUSED: readonly string[] = [
  'GET /foo',
  'GET /<a>&',
  'POST /api/v1',
  'GET ns/pods',
  'GET ns/pods?watch=true',
  'GET ns/pods?watch=false',
  'GET ns/pods?watch',
  'GET ns/pods/x',
  'GET ns/pods/x?watch=true',
  'POST ns/pods',
  'PUT ns/pods/x',
  'PATCH ns/pods/x/status',
  'DELETE ns/pods/x',
  'DELETE ns/pods',
  'GET ns/pods/x/log',
  'POST ns/pods/x/eviction',
  'GET /api/v1/nodes',
  'GET /api/v1/pods',
  'GET /api/v1/pods/',
  'GET /api/v1/watch/pods',
  'GET /api/v1/pods?fieldSelector=metadata.name%3Dx',
  'GET /api/v1/pods?fieldSelector=spec.nodeName%3Da,metadata.name%3D%3Dx&watch=1',
  'GET /api/v1/namespaces/{ns}',
  'GET /api/v1/namespaces',
  'GET /api/v1/namespaces/{ns}/status',
  'POST /api/v1/namespaces/{ns}/finalize',
  'GET /api/v1/namespaces/{ns}/services/a:80/proxy/x/y',
  'GET /api/v1/proxy/namespaces/x',
  'GET /apis/apps/v1/namespaces/x/deployments/y/scale',
  'GET /apis/foo.com/v1/bars',
]

const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/new'

export const RIGHT_CASES: readonly Script[] = [
  script(
    'a request without the right is refused with its verb, resource and place',
    REFUSED.map((line): Step => [`jane: ${line}`, /^P/.test(line) ? {} : undefined]),
  ),
  script(
    'every user may read the discovery documents',
    ['/api', '/api/v1', '/apis/apps/v1', '/openapi/v3', '/version'].map((path) => `jane: GET ${path}`),
  ),
  script('a refused request stores nothing', [
    ['jane: POST cm', cm('a')],
    'GET cm/a',
    ['POST cm', cm('a')],
    'jane: DELETE cm/a',
    'jane: DELETE cm',
    'GET cm/a',
  ]),
  script('rights are by verb, group, resource, subresource, name and namespace', [
    ...granting('{ns}-ann', [
      { verbs: ['get', 'patch'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['*/scale'] },
    ]),
    ['POST cm', cm('a')],
    '{ns}-ann: GET cm/a',
    '{ns}-ann: GET cm/b',
    '{ns}-ann: GET cm',
    '{ns}-ann: GET cm?fieldSelector=metadata.name%3Da',
    ['{ns}-ann: MERGE cm/a', { data: { k: 'w' } }],
    ['{ns}-ann: PUT cm/a', cm('a')],
    '{ns}-ann: GET deploy/x/scale',
    '{ns}-ann: GET deploy/x',
    '{ns}-ann: GET deploy/x/status',
  ]),
  script('a name in the rule allows a list of that name', [
    ...granting('{ns}-ann', [{ verbs: ['list'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] }]),
    '{ns}-ann: GET cm?fieldSelector=metadata.name%3Da',
    '{ns}-ann: GET cm?fieldSelector=metadata.name%3Db',
    '{ns}-ann: GET cm',
  ]),
  script('rights for URLs may end with a star', [
    ...granting('{ns}-ann', [GET_MAPS, { verbs: ['get'], nonResourceURLs: ['/nothing/*'] }]),
    '{ns}-ann: GET /nothing/here',
    '{ns}-ann: GET /nothing',
    '{ns}-ann: GET /other',
  ]),
  script('an apply that creates also requires the right to create', [
    ...granting('{ns}-ann', [{ verbs: ['patch'], apiGroups: [''], resources: ['configmaps'] }]),
    ['{ns}-ann: APPLY cm/a?fieldManager=x', cm('a')],
    ['POST cm', { metadata: { name: 'a' } }],
    ['{ns}-ann: APPLY cm/a?fieldManager=x', cm('a')],
  ]),
  script('a PUT that creates also requires the right to create', [
    ...granting('{ns}-ann', [
      { verbs: ['update', 'patch'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
    ]),
    [`{ns}-ann: PUT ${LEASE}`, { metadata: { name: 'new' } }],
    [`{ns}-ann: MERGE ${LEASE}`, {}],
  ]),
]
