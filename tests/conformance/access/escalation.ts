/** Cases of the protection against escalation: roles and bindings that grant more than their writer has. */
import { type Script, script } from '../transcript.ts'
import { binding, granting, RBAC } from './granting.ts'

const GROUP = 'rbac.authorization.k8s.io'
const ROLES = `${RBAC}/namespaces/{ns}/roles`
const BINDINGS = `${RBAC}/namespaces/{ns}/rolebindings`
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const GET_SECRETS = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] }
const WRITE_ROLES = {
  verbs: ['get', 'create', 'update', 'patch'],
  apiGroups: [GROUP],
  resources: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
}
const AGGREGATION = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
const LABELLED = { metadata: { labels: { a: 'b' } } }
const ADMIN = { metadata: { name: '{ns}-b' }, ...binding('ClusterRole', 'cluster-admin') }

export const ESCALATION_CASES: readonly Script[] = [
  script('a role cannot grant rights that its writer does not have', [
    ...granting('{ns}-eve', [GET_MAPS, WRITE_ROLES]),
    [`{ns}-eve: POST ${ROLES}`, { metadata: { name: 'own' }, rules: [GET_MAPS] }],
    [`{ns}-eve: POST ${ROLES}`, {
      metadata: { name: 'more' },
      rules: [
        { verbs: ['get', 'create'], apiGroups: [''], resources: ['configmaps', 'secrets'] },
        { verbs: ['get'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['a', 'b'] },
      ],
    }],
    `GET ${ROLES}/more`,
    [`{ns}-eve: MERGE ${ROLES}/own`, { rules: [GET_SECRETS] }],
    [`{ns}-eve: MERGE ${ROLES}/own`, LABELLED],
    [`POST ${ROLES}`, { metadata: { name: 'foreign' }, rules: [GET_SECRETS] }],
    [`{ns}-eve: MERGE ${ROLES}/foreign`, { metadata: { finalizers: ['a.b/c'] } }],
    [`{ns}-eve: MERGE ${ROLES}/foreign`, LABELLED],
    [`MERGE ${ROLES}/foreign`, { metadata: { finalizers: null } }],
    [`{ns}-eve: POST ${RBAC}/clusterroles?dryRun=All`, {
      metadata: { name: '{ns}-x' },
      rules: [{ verbs: ['get', 'post'], nonResourceURLs: ['/x'] }],
    }],
    [`{ns}-eve: POST ${RBAC}/clusterroles`, { metadata: { name: '{ns}-y' }, ...AGGREGATION }],
    [`POST ${RBAC}/clusterroles`, { metadata: { name: '{ns}-z' }, ...AGGREGATION }],
    [`{ns}-eve: MERGE ${RBAC}/clusterroles/{ns}-z`, { aggregationRule: null }],
    [`{ns}-eve: APPLY ${ROLES}/new?fieldManager=x`, {
      apiVersion: `${GROUP}/v1`,
      kind: 'Role',
      metadata: { name: 'new' },
      rules: [GET_SECRETS],
    }],
  ]),
  script('the verb escalate allows to grant more', [
    ...granting('{ns}-eve', [{ ...WRITE_ROLES, verbs: ['create', 'escalate'] }]),
    [`{ns}-eve: POST ${ROLES}`, { metadata: { name: 'more' }, rules: [GET_SECRETS] }],
  ]),
  script('the verb escalate may be limited to names', [
    ...['own', 'other'].map((name) => [`POST ${ROLES}`, { metadata: { name } }] as const),
    ...granting('{ns}-eve', [
      { ...WRITE_ROLES, verbs: ['patch'] },
      { verbs: ['escalate'], apiGroups: [GROUP], resources: ['roles'], resourceNames: ['own'] },
    ]),
    [`{ns}-eve: MERGE ${ROLES}/own`, { rules: [GET_SECRETS] }],
    [`{ns}-eve: MERGE ${ROLES}/other`, { rules: [GET_SECRETS] }],
  ]),
  script('a binding cannot grant a role whose rights its writer does not have', [
    ...granting('{ns}-eve', [GET_MAPS, WRITE_ROLES]),
    [`{ns}-eve: POST ${BINDINGS}`, ADMIN],
    [`{ns}-eve: POST ${RBAC}/clusterrolebindings`, ADMIN],
    [`{ns}-eve: POST ${BINDINGS}`, { metadata: { name: 'b' }, ...binding('Role', 'gone') }],
    [`{ns}-eve: POST ${BINDINGS}`, { metadata: { name: 'b' }, ...binding('ClusterRole', 'gone') }],
    [`{ns}-eve: POST ${ROLES}`, { metadata: { name: 'own' }, rules: [GET_MAPS] }],
    [`{ns}-eve: POST ${BINDINGS}`, { metadata: { name: 'b' }, ...binding('Role', 'own') }, { until: '201' }],
  ]),
  script('the verb bind allows to bind a role', [
    [`POST ${RBAC}/clusterroles`, { metadata: { name: '{ns}-role' }, rules: [GET_SECRETS] }],
    ...granting('{ns}-eve', [
      { ...WRITE_ROLES, verbs: ['create'] },
      { verbs: ['bind'], apiGroups: [GROUP], resources: ['clusterroles'], resourceNames: ['{ns}-role'] },
    ]),
    [`{ns}-eve: POST ${BINDINGS}`, { metadata: { name: 'b' }, ...binding('ClusterRole', '{ns}-role') }],
    [`{ns}-eve: POST ${BINDINGS}`, ADMIN],
  ]),
]
