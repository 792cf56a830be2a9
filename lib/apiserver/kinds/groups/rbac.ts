/** The kinds of rbac.authorization.k8s.io/v1. */
import { type ApiObject } from '../../model/json.ts'
import type { Column } from '../../model/columns.ts'
import { AGE, CREATED_AT, list, NAME, str, text, wide } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { BINDING_RULES, ROLE_RULES } from '../rules/rbac.ts'

const ROLE_COLUMNS: readonly Column[] = [NAME, CREATED_AT]

function subjects(binding: ApiObject, kind: string): string {
  return list(binding, 'subjects').filter((each) => each['kind'] === kind).map((each) =>
    kind === 'ServiceAccount' ? `${str(each, 'namespace')}/${str(each, 'name')}` : str(each, 'name')
  ).join(', ')
}

const BINDING_COLUMNS: readonly Column[] = [
  NAME,
  text('Role', (binding) => `${str(binding, 'roleRef', 'kind')}/${str(binding, 'roleRef', 'name')}`),
  AGE,
  wide(text('Users', (binding) => subjects(binding, 'User'))),
  wide(text('Groups', (binding) => subjects(binding, 'Group'))),
  wide(text('ServiceAccounts', (binding) => subjects(binding, 'ServiceAccount'))),
]

export const RBAC: GroupTable = groupTable('rbac.authorization.k8s.io/v1', [
  kind('ClusterRoleBinding clusterrolebindings | Cluster', { columns: BINDING_COLUMNS, rules: BINDING_RULES }),
  kind('ClusterRole clusterroles | Cluster', { columns: ROLE_COLUMNS, rules: ROLE_RULES }),
  kind('RoleBinding rolebindings', { columns: BINDING_COLUMNS, rules: BINDING_RULES }),
  kind('Role roles', { columns: ROLE_COLUMNS, rules: ROLE_RULES }),
])
