/** Cases of the protection against escalation: roles and bindings that grant more than their writer has. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { granting, RBAC, type Step, steps, untilAllowed } from './steps.ts'

const MERGE = 'application/merge-patch+json'
const GROUP = 'rbac.authorization.k8s.io'
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const GET_SECRETS = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] }
const WRITE_ROLES = {
  verbs: ['get', 'create', 'update', 'patch'],
  apiGroups: [GROUP],
  resources: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
}

/** Returns the message of a user who grants too much. */
function binding(kind: string, name: string): Body {
  return { roleRef: { apiGroup: GROUP, kind, name }, subjects: [{ kind: 'User', name: 'u' }] }
}

async function* asEve(api: Parameters<typeof untilAllowed>[0], rules: readonly Body[]): AsyncGenerator<Step> {
  yield* granting('$NS-eve', rules)
  await untilAllowed(api, '$NS-eve', {
    verb: rules[0].verbs[0],
    group: rules[0].apiGroups[0],
    resource: rules[0].resources[0],
  })
}

export const ESCALATION_CASES: readonly Case[] = [
  steps('a role cannot grant rights that its writer does not have', async function* (api) {
    yield* asEve(api, [GET_MAPS, WRITE_ROLES])
    const eve = { as: '$NS-eve' }
    const roles = `${RBAC}/namespaces/$NS/roles`
    yield { ...eve, path: roles, body: { metadata: { name: 'own' }, rules: [GET_MAPS] } }
    yield {
      ...eve,
      path: roles,
      body: {
        metadata: { name: 'more' },
        rules: [
          { verbs: ['get', 'create'], apiGroups: [''], resources: ['configmaps', 'secrets'] },
          { verbs: ['get'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['a', 'b'] },
        ],
      },
    }
    yield { path: `${roles}/more` }
    yield { ...eve, method: 'PATCH', path: `${roles}/own`, type: MERGE, body: { rules: [GET_SECRETS] } }
    yield { ...eve, method: 'PATCH', path: `${roles}/own`, type: MERGE, body: { metadata: { labels: { a: 'b' } } } }
    yield { path: roles, body: { metadata: { name: 'foreign' }, rules: [GET_SECRETS] } }
    yield {
      ...eve,
      method: 'PATCH',
      path: `${roles}/foreign`,
      type: MERGE,
      body: { metadata: { finalizers: ['a.b/c'] } },
    }
    yield { ...eve, method: 'PATCH', path: `${roles}/foreign`, type: MERGE, body: { metadata: { labels: { a: 'b' } } } }
    yield { method: 'PATCH', path: `${roles}/foreign`, type: MERGE, body: { metadata: { finalizers: null } } }
    yield {
      ...eve,
      path: `${RBAC}/clusterroles?dryRun=All`,
      body: { metadata: { name: '$NS-x' }, rules: [{ verbs: ['get', 'post'], nonResourceURLs: ['/x'] }] },
    }
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    yield { ...eve, path: `${RBAC}/clusterroles`, body: { metadata: { name: '$NS-y' }, aggregationRule } }
    yield { path: `${RBAC}/clusterroles`, body: { metadata: { name: '$NS-z' }, aggregationRule } }
    yield {
      ...eve,
      method: 'PATCH',
      path: `${RBAC}/clusterroles/$NS-z`,
      type: MERGE,
      body: { aggregationRule: null },
    }
    yield {
      ...eve,
      method: 'PATCH',
      path: `${roles}/new?fieldManager=x`,
      type: 'application/apply-patch+yaml',
      body: { apiVersion: `${GROUP}/v1`, kind: 'Role', metadata: { name: 'new' }, rules: [GET_SECRETS] },
    }
  }),
  steps('the verb escalate allows to grant more', async function* (api) {
    yield* asEve(api, [{ ...WRITE_ROLES, verbs: ['create', 'escalate'] }])
    yield {
      as: '$NS-eve',
      path: `${RBAC}/namespaces/$NS/roles`,
      body: { metadata: { name: 'more' }, rules: [GET_SECRETS] },
    }
  }),
  steps('a binding cannot grant a role whose rights its writer does not have', async function* (api) {
    yield* asEve(api, [GET_MAPS, WRITE_ROLES])
    const eve = { as: '$NS-eve' }
    const bindings = `${RBAC}/namespaces/$NS/rolebindings`
    yield { ...eve, path: bindings, body: { metadata: { name: 'b' }, ...binding('ClusterRole', 'cluster-admin') } }
    yield {
      ...eve,
      path: `${RBAC}/clusterrolebindings`,
      body: { metadata: { name: '$NS-b' }, ...binding('ClusterRole', 'cluster-admin') },
    }
    for (const kind of ['Role', 'ClusterRole']) {
      yield { ...eve, path: bindings, body: { metadata: { name: 'b' }, ...binding(kind, 'gone') } }
    }
    yield { ...eve, path: `${RBAC}/namespaces/$NS/roles`, body: { metadata: { name: 'own' }, rules: [GET_MAPS] } }
    await untilBound(api)
    yield { ...eve, path: bindings, body: { metadata: { name: 'b' }, ...binding('Role', 'own') } }
  }),
  steps('the verb bind allows to bind a role', async function* (api) {
    yield { path: `${RBAC}/clusterroles`, body: { metadata: { name: '$NS-role' }, rules: [GET_SECRETS] } }
    yield* asEve(api, [
      { ...WRITE_ROLES, verbs: ['create'] },
      { verbs: ['bind'], apiGroups: [GROUP], resources: ['clusterroles'], resourceNames: ['$NS-role'] },
    ])
    const body = { metadata: { name: 'b' }, ...binding('ClusterRole', '$NS-role') }
    yield { as: '$NS-eve', path: `${RBAC}/namespaces/$NS/rolebindings`, body }
    yield {
      as: '$NS-eve',
      path: `${RBAC}/namespaces/$NS/rolebindings`,
      body: { metadata: { name: 'c' }, ...binding('ClusterRole', 'cluster-admin') },
    }
  }),
]

/** A real server reads the new role from a cache. */
async function untilBound(api: Parameters<typeof untilAllowed>[0]): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const answer = await api.request(
      'POST',
      `${RBAC}/namespaces/${api.namespace}/rolebindings?dryRun=All`,
      { metadata: { name: 'b' }, ...binding('Role', 'own') },
      { headers: { 'impersonate-user': `${api.namespace}-eve` } },
    )
    if (answer.status === 201) return
  }
  assert.fail('the role was never found')
}
