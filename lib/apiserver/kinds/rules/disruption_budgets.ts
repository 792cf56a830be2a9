/** The rules of PodDisruptionBudgets. */
import { type Cause, fault } from '../../model/status.ts'
import type { ApiObject, JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { atMostAll, checked, intOrPercent, labelSelector, oneOf } from '../common/checks.ts'

export const DISRUPTION_BUDGET_RULES: Partial<Rules> = {
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
