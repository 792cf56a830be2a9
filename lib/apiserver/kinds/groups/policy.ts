/** The kinds of policy/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, count, NAME, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { DISRUPTION_BUDGET_RULES } from '../rules/disruption_budgets.ts'

const amount = (name: string) => (budget: ApiObject): string => String(at(budget, 'spec', name) ?? 'N/A')

export const POLICY: GroupTable = {
  group: 'policy',
  version: 'v1',
  definitions: 'policy.v1',
  kinds: [
    {
      kind: 'PodDisruptionBudget',
      plural: 'poddisruptionbudgets',
      shortNames: ['pdb'],
      subresources: ['status'],
      columns: [
        NAME,
        text('Min Available', amount('minAvailable')),
        text('Max Unavailable', amount('maxUnavailable')),
        count('Allowed Disruptions', 'status.disruptionsAllowed'),
        AGE,
      ],
      rules: DISRUPTION_BUDGET_RULES,
    },
  ],
}
