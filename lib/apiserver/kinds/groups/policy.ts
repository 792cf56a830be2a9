/** The kinds of policy/v1. */
import { type ApiObject, at, type JsonObject } from '../../model/json.ts'
import { AGE, count, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { type Cause, fault } from '../../model/status.ts'
import type { Rules } from '../../model/kinds.ts'
import { atMostAll, checked, intOrPercent, labelSelector, oneOf } from '../common/checks.ts'

const amount = (name: string) => (budget: ApiObject): string => String(at(budget, 'spec', name) ?? 'N/A')

const DISRUPTION_BUDGET_RULES: Partial<Rules> = {
  generation: true,
  unconditionalUpdate: false,
  nameRule: 'path',
  validate: budgetFaults,
}

function budgetFaults(budget: ApiObject): Cause[] {
  const spec = (budget['spec'] ?? {}) as JsonObject
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec
  const faults: Cause[] = []
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
    }
    faults.push(fault.invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set'))
  }
  return [
    ...faults,
    ...checked(spec, [
      ['minAvailable', intOrPercent, atMostAll],
      ['maxUnavailable', intOrPercent, atMostAll],
      ['selector', labelSelector],
      ['unhealthyPodEvictionPolicy', oneOf('AlwaysAllow', 'IfHealthyBudget')],
    ], 'spec'),
  ]
}

export const POLICY: GroupTable = groupTable('policy/v1', [
  kind('PodDisruptionBudget poddisruptionbudgets pdb', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Min Available', amount('minAvailable')),
      text('Max Unavailable', amount('maxUnavailable')),
      count('Allowed Disruptions', 'status.disruptionsAllowed'),
      AGE,
    ],
    rules: DISRUPTION_BUDGET_RULES,
  }),
])
