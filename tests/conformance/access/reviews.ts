/** Cases of the kinds that ask about users and rights. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { AUTHORIZATION, granting, RBAC, send, type Step, steps, untilAllowed } from './steps.ts'
const SELF = `${AUTHORIZATION}/selfsubjectaccessreviews`
const SUBJECT = `${AUTHORIZATION}/subjectaccessreviews`
const LOCAL = `${AUTHORIZATION}/namespaces/$NS/localsubjectaccessreviews`
const RULES = `${AUTHORIZATION}/selfsubjectrulesreviews`
const GET_PODS = { verb: 'get', resource: 'pods' }

function refusedReview(path: string, spec: Body): Step {
  return { path, body: { spec } }
}

const PLAIN = { path: '/x', verb: 'get' }

export const REVIEW_CASES: readonly Case[] = [
  steps('an administrator is allowed without a reason', [
    {
      path: SELF,
      body: { spec: { resourceAttributes: GET_PODS }, status: { allowed: false, reason: 'x' } },
      check(body) {
        assert.deepEqual(body.status, { allowed: true })
        assert.deepEqual(body.spec, { resourceAttributes: GET_PODS })
        const [{ time, ...entry }] = body.metadata.managedFields
        assert.equal(typeof time, 'string')
        assert.deepEqual(entry.fieldsV1['f:spec'], {
          'f:resourceAttributes': { '.': {}, 'f:resource': {}, 'f:verb': {} },
        })
      },
    },
    { path: SUBJECT, body: { spec: { groups: ['system:masters'], resourceAttributes: GET_PODS } }, show: 'status' },
  ]),
  steps('the default bindings allow what every user may do', [
    {
      path: SELF,
      body: {
        spec: {
          resourceAttributes: { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' },
        },
      },
      as: 'jane',
      show: 'status.allowed status.reason',
    },
    {
      path: SELF,
      body: { spec: { nonResourceAttributes: { verb: 'get', path: '/apis/apps/v1' } } },
      as: 'jane',
      show: 'status.allowed status.reason',
    },
    { path: SELF, body: { spec: { nonResourceAttributes: { verb: 'get', path: '/x' } } }, as: 'jane', show: 'status' },
  ]),
  steps('an invalid access review is refused', [
    refusedReview(SELF, {}),
    refusedReview(SUBJECT, { user: 'jane' }),
    refusedReview(SELF, { resourceAttributes: GET_PODS, nonResourceAttributes: PLAIN }),
    refusedReview(SUBJECT, { resourceAttributes: GET_PODS }),
    refusedReview(LOCAL, { user: 'jane', resourceAttributes: GET_PODS }),
    refusedReview(LOCAL, { user: 'jane', nonResourceAttributes: PLAIN }),
  ]),
  steps('an access review has no metadata', [
    { path: SELF, body: { metadata: { name: 'x' }, spec: { resourceAttributes: GET_PODS } } },
    {
      path: LOCAL,
      body: {
        metadata: { name: 'x', namespace: '$NS' },
        spec: { user: 'jane', resourceAttributes: { ...GET_PODS, namespace: 'other' } },
      },
    },
    { path: LOCAL, body: { metadata: { namespace: 'other' }, spec: {} } },
  ]),
  steps('the rules of a user are listed', async function* (api) {
    const sorted = (rules: Body[]): Body[] =>
      [...rules].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    yield* [
      ...granting('$NS-ann', [
        { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['a'] },
        { verbs: ['get'], nonResourceURLs: ['/logs/*'] },
      ]),
    ]
    await untilAllowed(api, '$NS-ann', { verb: 'get', resource: 'pods', name: 'a' })
    const body = yield { path: RULES, body: { spec: { namespace: 'default' } }, as: '$NS-ann' }
    assert.deepEqual(body.spec, {})
    assert.deepEqual(body.metadata, {})
    assert.equal(body.status.incomplete, false)
    assert.deepEqual(
      sorted(body.status.resourceRules),
      sorted([
        {
          verbs: ['create'],
          apiGroups: ['authorization.k8s.io'],
          resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
        },
        { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
        { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['a'] },
      ]),
    )
    assert.equal(body.status.nonResourceRules.length, 3)
    assert.ok(body.status.nonResourceRules.some((rule: Body) => rule.nonResourceURLs[0] === '/logs/*'))
    yield { path: RULES, body: { spec: {} } }
  }),
  steps('reasons name the binding, the role and the subject', async function* (api) {
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' }
    yield { path: `${RBAC}/namespaces/$NS/roles`, body: { metadata: { name: 'r' }, rules } }
    yield {
      path: `${RBAC}/namespaces/$NS/rolebindings`,
      body: {
        metadata: { name: 'b' },
        roleRef,
        subjects: [
          { kind: 'ServiceAccount', name: 'kim' },
          { kind: 'ServiceAccount', name: 'joe', namespace: 'other' },
          { kind: 'User', name: '$NS-u1' },
          { kind: 'Group', name: 'g1' },
        ],
      },
    }
    const action = { namespace: '$NS', verb: 'get', resource: 'configmaps' }
    await untilAllowed(api, '$NS-u1', action)
    const allows = (spec: Body): Step => ({
      path: SUBJECT,
      body: { spec: { ...spec, resourceAttributes: action } },
      show: 'status.allowed status.reason',
    })
    yield allows({ user: '$NS-u1' })
    yield allows({ groups: ['g0', 'g1'] })
    yield allows({ user: 'system:serviceaccount:$NS:kim' })
    yield allows({ user: 'system:serviceaccount:other:joe' })
    for (
      const spec of [
        { user: 'system:serviceaccount:other:kim' },
        { user: '$NS-u1', resourceAttributes: { ...action, namespace: 'default' } },
        { user: '$NS-u1', resourceAttributes: { ...action, namespace: '' } },
        { user: '$NS-u1', resourceAttributes: { ...action, verb: 'list' } },
        { user: '$NS-u1', resourceAttributes: { ...action, subresource: 'status' } },
        { user: '$NS-u1', resourceAttributes: { ...action, group: 'apps' } },
      ]
    ) {
      yield { path: SUBJECT, body: { spec: { resourceAttributes: action, ...spec } }, show: 'status' }
    }
  }),
  steps('a binding of a missing role is the reason of a refusal', async function* (api) {
    yield {
      path: `${RBAC}/clusterrolebindings`,
      body: {
        metadata: { name: '$NS' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: '$NS-gone' },
        subjects: [{ kind: 'User', name: '$NS-bob' }],
      },
    }
    const problem = `clusterrole.rbac.authorization.k8s.io "${api.namespace}-gone" not found`
    const spec = { user: '$NS-bob', resourceAttributes: GET_PODS }
    for (let tries = 0;; tries++) {
      const { status } = await send(api, { path: SUBJECT, body: { spec } })
      if (!status.reason && tries < 2000) continue
      assert.deepEqual(status, { allowed: false, reason: `RBAC: ${problem}` })
      break
    }
    yield { path: '/api/v1/pods', as: '$NS-bob' }
    yield {
      path: RULES,
      body: { spec: { namespace: 'default' } },
      as: '$NS-bob',
      show: 'status.incomplete status.evaluationError',
    }
  }),
]
