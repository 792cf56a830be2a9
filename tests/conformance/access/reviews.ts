/** Cases of the kinds that ask about users and rights. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { AUTHENTICATION, AUTHORIZATION, granting, RBAC, send, type Step, steps, untilAllowed } from './steps.ts'

const WHO = `${AUTHENTICATION}/selfsubjectreviews`
const SELF = `${AUTHORIZATION}/selfsubjectaccessreviews`
const SUBJECT = `${AUTHORIZATION}/subjectaccessreviews`
const LOCAL = `${AUTHORIZATION}/namespaces/$NS/localsubjectaccessreviews`
const RULES = `${AUTHORIZATION}/selfsubjectrulesreviews`
const GET_PODS = { verb: 'get', resource: 'pods' }

function refusedReview(path: string, spec: Body, ...causes: readonly (readonly [string, string, string])[]): Step {
  return {
    path,
    body: { spec },
    status: 422,
    reason: 'Invalid',
    check(body) {
      const lines = causes.map(([field, , message]) => `${field}: ${message}`)
      const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
      assert.equal(body.message, `.authorization.k8s.io "" is invalid: ${list}`)
      assert.deepEqual(body.details, {
        group: 'authorization.k8s.io',
        causes: causes.map(([field, reason, message]) => ({ reason, message, field })),
      })
    },
  }
}

const NEITHER = [
  'spec.resourceAttributes',
  'FieldValueInvalid',
  'Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
] as const
const PLAIN = { path: '/x', verb: 'get' }

export const REVIEW_CASES: readonly Case[] = [
  steps('a SelfSubjectReview returns the caller', [
    {
      path: WHO,
      body: { metadata: { name: 'x', namespace: 'y' } },
      status: 201,
      check(body) {
        assert.deepEqual(Object.keys(body.metadata), ['creationTimestamp'])
        assert.deepEqual(body.status.userInfo.groups, ['system:masters', 'system:authenticated'])
        assert.deepEqual([body.kind, body.apiVersion], ['SelfSubjectReview', 'authentication.k8s.io/v1'])
      },
    },
    {
      path: WHO,
      body: { status: { userInfo: { username: 'x' } } },
      as: 'jane',
      status: 201,
      has: {
        status: { userInfo: { username: 'jane' } },
      },
    },
    { path: `${WHO}?dryRun=All`, body: {}, status: 201 },
  ]),
  steps('reviews can only be created', [
    ...[WHO, SELF, SUBJECT, LOCAL, RULES, `${AUTHENTICATION}/tokenreviews`].flatMap((path): Step[] => [
      { path, status: 405, reason: 'MethodNotAllowed' },
      { path, method: 'PUT', body: {}, status: 405 },
      { path, method: 'DELETE', status: 405 },
      { path: `${path}/x`, status: 404, message: 'the server could not find the requested resource' },
    ]),
    { path: `${AUTHORIZATION}/localsubjectaccessreviews`, body: {}, status: 404, reason: 'NotFound' },
  ]),
  steps('an administrator is allowed without a reason', [
    {
      path: SELF,
      body: { spec: { resourceAttributes: GET_PODS }, status: { allowed: false, reason: 'x' } },
      status: 201,
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
    {
      path: SUBJECT,
      body: { spec: { groups: ['system:masters'], resourceAttributes: GET_PODS } },
      status: 201,
      check: (body) => assert.deepEqual(body.status, { allowed: true }),
    },
  ]),
  steps('a user without bindings is not allowed, without a reason', [
    { path: SELF, body: { spec: { resourceAttributes: GET_PODS } }, as: 'jane', status: 201, check: isDenied },
    { path: SUBJECT, body: { spec: { user: 'jane', resourceAttributes: GET_PODS } }, status: 201, check: isDenied },
    {
      path: LOCAL,
      body: { spec: { user: 'jane', resourceAttributes: { ...GET_PODS, namespace: '$NS' } } },
      status: 201,
      check: isDenied,
    },
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
      status: 201,
      has: {
        status: {
          allowed: true,
          reason:
            'RBAC: allowed by ClusterRoleBinding "system:basic-user" of ClusterRole "system:basic-user" to Group "system:authenticated"',
        },
      },
    },
    {
      path: SELF,
      body: { spec: { nonResourceAttributes: { verb: 'get', path: '/apis/apps/v1' } } },
      as: 'jane',
      status: 201,
      has: {
        status: {
          allowed: true,
          reason:
            'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
        },
      },
    },
    {
      path: SELF,
      body: { spec: { nonResourceAttributes: { verb: 'get', path: '/x' } } },
      as: 'jane',
      status: 201,
      check: isDenied,
    },
  ]),
  steps('an invalid access review is refused', [
    refusedReview(SELF, {}, NEITHER),
    refusedReview(SUBJECT, { user: 'jane' }, NEITHER),
    refusedReview(SELF, { resourceAttributes: GET_PODS, nonResourceAttributes: PLAIN }, [
      'spec.nonResourceAttributes',
      'FieldValueInvalid',
      'Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ]),
    refusedReview(SUBJECT, { resourceAttributes: GET_PODS }, [
      'spec.user',
      'FieldValueInvalid',
      'Invalid value: "": at least one of user or group must be specified',
    ]),
    refusedReview(SELF, { resourceAttributes: { ...GET_PODS, fieldSelector: {} } }, [
      'spec.resourceAttributes.fieldSelector.requirements',
      'FieldValueRequired',
      'Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
    ]),
    refusedReview(
      SELF,
      {
        resourceAttributes: {
          ...GET_PODS,
          labelSelector: { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
      },
      [
        'spec.resourceAttributes.labelSelector.rawSelector',
        'FieldValueInvalid',
        'Invalid value: "a=b": may not specified at the same time as requirements',
      ],
    ),
    refusedReview(LOCAL, { user: 'jane', resourceAttributes: GET_PODS }, [
      'spec.resourceAttributes.namespace',
      'FieldValueInvalid',
      'Invalid value: "": must match metadata.namespace',
    ]),
    refusedReview(LOCAL, { user: 'jane', nonResourceAttributes: PLAIN }, [
      'spec.nonResourceAttributes',
      'FieldValueInvalid',
      'Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ]),
  ]),
  steps('an access review has no metadata', [
    {
      path: SELF,
      body: { metadata: { name: 'x' }, spec: { resourceAttributes: GET_PODS } },
      status: 422,
      check: (body) =>
        assert.match(
          body.message,
          /^\.authorization\.k8s\.io "" is invalid: metadata: Invalid value: \{"name":"x",.*\}: must be empty$/,
        ),
    },
    {
      path: LOCAL,
      body: {
        metadata: { name: 'x', namespace: '$NS' },
        spec: { user: 'jane', resourceAttributes: { ...GET_PODS, namespace: 'other' } },
      },
      status: 422,
      check(body) {
        assert.match(body.message, /: must be empty except for namespace, spec\.resourceAttributes\.namespace: Invalid/)
        assert.equal(body.details.causes.length, 2)
      },
    },
    {
      path: LOCAL,
      body: { metadata: { namespace: 'other' }, spec: {} },
      status: 400,
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    },
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
    const body = yield { path: RULES, body: { spec: { namespace: 'default' } }, as: '$NS-ann', status: 201 }
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
    yield { path: RULES, body: { spec: {} }, status: 400, message: 'no namespace on request' }
  }),
  steps('reasons name the binding, the role and the subject', async function* (api) {
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' }
    yield { path: `${RBAC}/namespaces/$NS/roles`, body: { metadata: { name: 'r' }, rules }, status: 201 }
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
      status: 201,
    }
    const action = { namespace: '$NS', verb: 'get', resource: 'configmaps' }
    await untilAllowed(api, '$NS-u1', action)
    const start = 'RBAC: allowed by RoleBinding "b/$NS" of Role "r" to '
    const allows = (spec: Body, to: string): Step => ({
      path: SUBJECT,
      body: { spec: { ...spec, resourceAttributes: action } },
      status: 201,
      has: { status: { allowed: true, reason: start + to } },
    })
    yield allows({ user: '$NS-u1' }, 'User "$NS-u1"')
    yield allows({ groups: ['g0', 'g1'] }, 'Group "g1"')
    yield allows({ user: 'system:serviceaccount:$NS:kim' }, 'ServiceAccount "kim/$NS"')
    yield allows({ user: 'system:serviceaccount:other:joe' }, 'ServiceAccount "joe/other"')
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
      yield { path: SUBJECT, body: { spec: { resourceAttributes: action, ...spec } }, status: 201, check: isDenied }
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
      status: 201,
    }
    const problem = `clusterrole.rbac.authorization.k8s.io "${api.namespace}-gone" not found`
    const spec = { user: '$NS-bob', resourceAttributes: GET_PODS }
    for (let tries = 0;; tries++) {
      const { status } = await send(api, { path: SUBJECT, body: { spec }, status: 201 })
      if (!status.reason && tries < 2000) continue
      assert.deepEqual(status, { allowed: false, reason: `RBAC: ${problem}` })
      break
    }
    yield {
      path: '/api/v1/pods',
      as: '$NS-bob',
      status: 403,
      message:
        `pods is forbidden: User "${api.namespace}-bob" cannot list resource "pods" in API group "" at the cluster scope: RBAC: ${problem}`,
    }
    yield {
      path: RULES,
      body: { spec: { namespace: 'default' } },
      as: '$NS-bob',
      status: 201,
      has: {
        status: { incomplete: false, evaluationError: problem },
      },
    }
  }),
]

function isDenied(body: Body): void {
  assert.deepEqual(body.status, { allowed: false })
}
