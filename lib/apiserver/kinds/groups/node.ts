/** The kinds of node.k8s.io/v1. */
import { AGE, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { RUNTIME_CLASS_RULES } from '../rules/nodes.ts'

export const NODE: GroupTable = groupTable('node.k8s.io/v1', [
  kind('RuntimeClass runtimeclasses | Cluster', {
    columns: [NAME, text('Handler', 'handler'), AGE],
    rules: RUNTIME_CLASS_RULES,
  }),
])
