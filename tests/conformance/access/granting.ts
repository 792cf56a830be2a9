/** Steps that give rights to users, and the paths of the kinds of users and rights. */
import type { Body } from '../api.ts'
import type { Step } from '../transcript.ts'

export const RBAC = '/apis/rbac.authorization.k8s.io/v1'
export const AUTHENTICATION = '/apis/authentication.k8s.io/v1'
export const AUTHORIZATION = '/apis/authorization.k8s.io/v1'

export function pod(name: string, spec: Body = {}, labels: Body = { app: 'a' }): Body {
  return { metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } }
}

/** Returns the parts of a binding that bind a user to a role. */
export function binding(kind: string, name: string, user = 'u'): Body {
  return { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name }, subjects: [{ kind: 'User', name: user }] }
}

/** Returns the steps that bind a user to a new ClusterRole, and wait until the user has the first right of it. */
export function granting(user: string, rules: readonly Body[], name = '{ns}'): Step[] {
  const { verbs: [verb], apiGroups: [group], resources: [resource], resourceNames: [object] = [] } = rules[0]
  const resourceAttributes = { verb, group, resource, name: object }
  return [
    [`POST ${RBAC}/clusterroles`, { metadata: { name }, rules }],
    [`POST ${RBAC}/clusterrolebindings`, { metadata: { name }, ...binding('ClusterRole', name, user) }],
    [`POST ${AUTHORIZATION}/subjectaccessreviews ? status.allowed`, { spec: { user, resourceAttributes } }, {
      until: 'true',
    }],
  ]
}
