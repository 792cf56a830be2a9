/** Cases of webhooks that intercept subresources and reviews. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { deny, install, rule } from '../webhooks.ts'
import { ACCOUNTS, AUTHORIZATION, pod, PODS, send } from './steps.ts'

const MERGE = 'application/merge-patch+json'
const RESOURCES = [
  'localsubjectaccessreviews',
  'pods/binding',
  'pods/ephemeralcontainers',
  'pods/eviction',
  'pods/resize',
  'serviceaccounts/token',
]

export const ACCESS_WEBHOOK_CASES: readonly Case[] = [
  {
    name: 'webhooks get the creates of subresources and reviews',
    async run(api) {
      const [requests] = await install(api, 'Validating', { rules: [rule(RESOURCES)] })
      await send(api, { path: PODS, body: pod('p') })
      await send(api, { path: ACCOUNTS, body: { metadata: { name: 'a' } } })
      const user = { as: 'jane', headers: { 'impersonate-group': 'system:masters', 'impersonate-uid': '7' } }
      await send(api, { ...user, path: `${ACCOUNTS}/a/token`, body: {} })
      const review = { spec: { user: 'x', resourceAttributes: { namespace: '$NS', verb: 'get', resource: 'pods' } } }
      await send(api, { ...user, path: `${AUTHORIZATION}/namespaces/$NS/localsubjectaccessreviews`, body: review })
      const added = { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } }
      const ephemeral = `${PODS}/p/ephemeralcontainers`
      await send(api, { ...user, method: 'PATCH', path: ephemeral, type: MERGE, body: added })
      const binding = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
      await send(api, { ...user, path: `${PODS}/p/binding`, body: binding })
      const eviction = { metadata: { name: 'p' }, deleteOptions: { gracePeriodSeconds: 0 } }
      await send(api, { ...user, path: `${PODS}/p/eviction`, body: eviction })
      const seen = requests!.map(
        ({ operation, resource, subResource, name, kind, object, oldObject, ...rest }: Body) => {
          assert.deepEqual(rest.userInfo, {
            username: 'jane',
            uid: '7',
            groups: ['system:masters', 'system:authenticated'],
          })
          assert.equal(rest.namespace, api.namespace)
          return [operation, resource.resource, subResource, name, kind, object.kind, oldObject?.kind]
        },
      )
      const kinds = {
        token: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
        review: { group: 'authorization.k8s.io', version: 'v1', kind: 'LocalSubjectAccessReview' },
        eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
      }
      const core = (kind: string): Body => ({ group: '', version: 'v1', kind })
      assert.deepEqual(seen, [
        ['CREATE', 'serviceaccounts', 'token', 'a', kinds.token, 'TokenRequest', undefined],
        [
          'CREATE',
          'localsubjectaccessreviews',
          undefined,
          undefined,
          kinds.review,
          'LocalSubjectAccessReview',
          undefined,
        ],
        ['UPDATE', 'pods', 'ephemeralcontainers', 'p', core('Pod'), 'Pod', 'Pod'],
        ['CREATE', 'pods', 'binding', 'p', core('Binding'), 'Binding', undefined],
        ['CREATE', 'pods', 'eviction', 'p', kinds.eviction, 'Eviction', undefined],
      ])
    },
  },
  {
    name: 'a webhook that denies a subresource leaves the object as it is',
    async run(api) {
      await install(api, 'Validating', { rules: [rule(RESOURCES)], respond: (review) => deny(review) })
      await send(api, { path: PODS, body: pod('p') })
      await send(api, { path: ACCOUNTS, body: { metadata: { name: 'a' } } })
      const before = await send(api, { path: `${PODS}/p` })
      const denied = /^admission webhook ".*" denied the request without explanation$/
      const check = ({ message }: Body): void => assert.match(message, denied)
      const refused = { status: 400, check }
      await send(api, { ...refused, path: `${PODS}/p/eviction`, body: { metadata: { name: 'p' } } })
      const binding = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
      await send(api, { ...refused, path: `${PODS}/p/binding`, body: binding })
      await send(api, { ...refused, path: `${ACCOUNTS}/a/token`, body: {} })
      assert.deepEqual(await send(api, { path: `${PODS}/p` }), before)
    },
  },
]
