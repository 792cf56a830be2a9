/** Cases of the kinds that ask about users and rights. */
import type { Body } from '../api.ts'
import { type Script, script, type Step } from '../transcript.ts'
import { AUTHORIZATION, binding, granting, RBAC } from './granting.ts'

const SELF = `${AUTHORIZATION}/selfsubjectaccessreviews`
const SUBJECT = `${AUTHORIZATION}/subjectaccessreviews`
const LOCAL = `${AUTHORIZATION}/namespaces/{ns}/localsubjectaccessreviews`
const RULES = `${AUTHORIZATION}/selfsubjectrulesreviews`
const GET_PODS = { verb: 'get', resource: 'pods' }
const GET_MAPS = { namespace: '{ns}', verb: 'get', resource: 'configmaps' }
const PLAIN = { path: '/x', verb: 'get' }
const ROLE = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' }

/** Asks for a right, and shows the decision with its reason. */
const asking = (spec: Body, resourceAttributes: Body = GET_MAPS): Step => [
  `POST ${SUBJECT} ? status`,
  { spec: { resourceAttributes, ...spec } },
]
/** The order of the rules is random on a real server. */
const sorted = ({ status: { resourceRules, nonResourceRules, ...status }, ...body }: Body): Body => ({
  ...body,
  ...status,
  rules: [...resourceRules, ...nonResourceRules].map((rule: Body) => JSON.stringify(rule)).sort(),
})

export const REVIEW_CASES: readonly Script[] = [
  script('an administrator is allowed without a reason', [
    [`POST ${SELF} ? spec status metadata.managedFields`, {
      spec: { resourceAttributes: GET_PODS },
      status: { allowed: false, reason: 'x' },
    }],
    asking({ groups: ['system:masters'] }, GET_PODS),
  ]),
  script('the default bindings allow what every user may do', [
    [`jane: POST ${SELF} ? status`, {
      spec: {
        resourceAttributes: { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' },
      },
    }],
    [`jane: POST ${SELF} ? status`, { spec: { nonResourceAttributes: { verb: 'get', path: '/apis/apps/v1' } } }],
    [`jane: POST ${SELF} ? status`, { spec: { nonResourceAttributes: PLAIN } }],
  ]),
  script('an invalid access review is refused', [
    [`POST ${SELF}`, { spec: {} }],
    [`POST ${SUBJECT}`, { spec: { user: 'jane' } }],
    [`POST ${SELF}`, { spec: { resourceAttributes: GET_PODS, nonResourceAttributes: PLAIN } }],
    [`POST ${SUBJECT}`, { spec: { resourceAttributes: GET_PODS } }],
    [`POST ${LOCAL}`, { spec: { user: 'jane', resourceAttributes: GET_PODS } }],
    [`POST ${LOCAL}`, { spec: { user: 'jane', nonResourceAttributes: PLAIN } }],
  ]),
  script('an access review has no metadata', [
    [`POST ${SELF}`, { metadata: { name: 'x' }, spec: { resourceAttributes: GET_PODS } }],
    [`POST ${LOCAL}`, {
      metadata: { name: 'x', namespace: '{ns}' },
      spec: { user: 'jane', resourceAttributes: { ...GET_PODS, namespace: 'other' } },
    }],
    [`POST ${LOCAL}`, { metadata: { namespace: 'other' }, spec: {} }],
  ]),
  script('the rules of a user are listed', [
    ...granting('{ns}-ann', [
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['a'] },
      { verbs: ['get'], nonResourceURLs: ['/logs/*'] },
    ]),
    [`{ns}-ann: POST ${RULES} ? spec metadata incomplete rules`, { spec: { namespace: 'default' } }, { look: sorted }],
    [`POST ${RULES}`, { spec: {} }],
  ]),
  script('reasons name the binding, the role and the subject', [
    [`POST ${RBAC}/namespaces/{ns}/roles`, {
      metadata: { name: 'r' },
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }],
    }],
    [`POST ${RBAC}/namespaces/{ns}/rolebindings`, {
      metadata: { name: 'b' },
      roleRef: ROLE,
      subjects: [
        { kind: 'ServiceAccount', name: 'kim' },
        { kind: 'ServiceAccount', name: 'joe', namespace: 'other' },
        { kind: 'User', name: '{ns}-u1' },
        { kind: 'Group', name: 'g1' },
      ],
    }],
    [`POST ${SUBJECT} ? status`, { spec: { user: '{ns}-u1', resourceAttributes: GET_MAPS } }, { until: 'true' }],
    asking({ groups: ['g0', 'g1'] }),
    asking({ user: 'system:serviceaccount:{ns}:kim' }),
    asking({ user: 'system:serviceaccount:other:joe' }),
    asking({ user: 'system:serviceaccount:other:kim' }),
    ...[{ namespace: 'default' }, { namespace: '' }, { verb: 'list' }, { subresource: 'status' }, { group: 'apps' }]
      .map((other) => asking({ user: '{ns}-u1' }, { ...GET_MAPS, ...other })),
  ]),
  script('a binding of a missing role is the reason of a refusal', [
    [`POST ${RBAC}/clusterrolebindings`, {
      metadata: { name: '{ns}' },
      ...binding('ClusterRole', '{ns}-gone', '{ns}-bob'),
    }],
    [`POST ${SUBJECT} ? status`, { spec: { user: '{ns}-bob', resourceAttributes: GET_PODS } }, { until: 'reason' }],
    '{ns}-bob: GET /api/v1/pods',
    [`{ns}-bob: POST ${RULES} ? status.incomplete status.evaluationError`, { spec: { namespace: 'default' } }],
  ]),
]
