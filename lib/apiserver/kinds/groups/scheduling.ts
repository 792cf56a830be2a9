/** The kinds of scheduling.k8s.io/v1. */
import { AGE, count, flag, NAME, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { PRIORITY_CLASS_RULES } from '../rules/priority_classes.ts'

export const SCHEDULING: GroupTable = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  definitions: 'scheduling.v1',
  kinds: [
    {
      kind: 'PriorityClass',
      plural: 'priorityclasses',
      scope: 'Cluster',
      shortNames: ['pc'],
      columns: [
        NAME,
        count('Value', 'value'),
        flag('Global-Default', 'globalDefault'),
        AGE,
        text('PreemptionPolicy', 'preemptionPolicy'),
      ],
      rules: PRIORITY_CLASS_RULES,
    },
  ],
}
