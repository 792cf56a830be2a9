/** The kinds of node.k8s.io/v1. */
import { AGE, NAME, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { RUNTIME_CLASS_RULES } from '../rules/nodes.ts'

export const NODE: GroupTable = {
  group: 'node.k8s.io',
  version: 'v1',
  definitions: 'node.v1',
  kinds: [
    {
      kind: 'RuntimeClass',
      plural: 'runtimeclasses',
      scope: 'Cluster',
      columns: [NAME, text('Handler', 'handler'), AGE],
      rules: RUNTIME_CLASS_RULES,
    },
  ],
}
