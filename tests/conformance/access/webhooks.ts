/** Cases of webhooks that intercept subresources and reviews. */
import type { Script } from '../transcript.ts'
import { deny, hooked, rule } from '../webhooks.ts'
import { AUTHORIZATION, pod } from './granting.ts'

const RULES = [
  rule([
    'localsubjectaccessreviews',
    'pods/binding',
    'pods/ephemeralcontainers',
    'pods/eviction',
    'pods/resize',
    'serviceaccounts/token',
  ]),
]
const AS_JANE = {
  headers: {
    'impersonate-user': 'jane',
    'impersonate-group': 'system:masters',
    'impersonate-uid': '7',
    'impersonate-extra-a': 'b',
  },
}
const BINDING = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }

export const ACCESS_WEBHOOK_CASES: readonly Script[] = [
  hooked('webhooks get the creates of subresources and reviews', [['Validating', { rules: RULES }]], [
    ['POST ns/pods', pod('p')],
    ['POST ns/serviceaccounts', { metadata: { name: 'a' } }],
    ['POST ns/serviceaccounts/a/token ? kind', {}, AS_JANE],
    [`POST ${AUTHORIZATION}/namespaces/{ns}/localsubjectaccessreviews ? kind`, {
      spec: { user: 'x', resourceAttributes: { namespace: '{ns}', verb: 'get', resource: 'pods' } },
    }, AS_JANE],
    ['MERGE ns/pods/p/ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } }, AS_JANE],
    ['POST ns/pods/p/binding', BINDING, AS_JANE],
    ['POST ns/pods/p/eviction', { metadata: { name: 'p' }, deleteOptions: { gracePeriodSeconds: 0 } }, AS_JANE],
    'CALLS ? operation namespace name kind resource.resource subResource object.kind oldObject.kind userInfo',
  ]),
  hooked('a webhook that denies a subresource leaves the object as it is', [
    ['Validating', { rules: RULES, respond: (review) => deny(review) }],
  ], [
    ['POST ns/pods ? metadata.resourceVersion spec.nodeName metadata.deletionTimestamp', pod('p')],
    ['POST ns/serviceaccounts', { metadata: { name: 'a' } }],
    ['POST ns/pods/p/eviction', { metadata: { name: 'p' } }],
    ['POST ns/pods/p/binding', BINDING],
    ['POST ns/serviceaccounts/a/token', {}],
    'GET ns/pods/p ? metadata.resourceVersion spec.nodeName metadata.deletionTimestamp',
  ]),
]
