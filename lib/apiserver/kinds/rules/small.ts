/** The rules of kinds that have few: leases, priority classes, disruption budgets, devices, flow control. */
import { atLeast, atMostAll, checked, intOrPercent, labelSelector, must, oneOf, unchanged } from '../../model/checks.ts'
import { type ApiObject, at, isObject, type JsonObject, num } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { fault } from '../../model/status.ts'
import { fill, filling, parentsOf } from '../common/fill.ts'

const MAX_USER_VALUE = 1_000_000_000

export const PRIORITY_CLASS_RULES: Partial<Rules> = {
  defaults: filling({ preemptionPolicy: 'PreemptLowerPriority' }),
  // Updates do not count.
  prepareCreate: ({ metadata }) => void (metadata.generation = 1),
  validate: (priorityClass, old) => [
    ...checked(priorityClass, [['preemptionPolicy', oneOf('PreemptLowerPriority', 'Never')]]),
    ...(num(priorityClass, 'value') > MAX_USER_VALUE && !priorityClass.metadata.name?.startsWith('system-')
      ? [fault.forbidden('value', `maximum allowed value of a user defined priority is ${MAX_USER_VALUE}`)]
      : []),
    ...(old && priorityClass['value'] !== old['value']
      ? [fault.forbidden('value', 'may not be changed in an update.')]
      : []),
    ...unchanged(priorityClass, old, 'preemptionPolicy'),
  ],
}

export const LEASE_RULES: Partial<Rules> = {
  createOnUpdate: true,
  unconditionalUpdate: false,
  prepareCreate: dropDisabled,
  prepareUpdate: dropDisabled,
  validate: (lease) =>
    checked(lease, [['spec.leaseDurationSeconds', atLeast(1)], ['spec.leaseTransitions', atLeast(0)]]),
}

/** Removes the fields of coordinated leader election, which is off by default, in place. */
function dropDisabled({ spec }: ApiObject): void {
  if (isObject(spec)) { for (const field of ['strategy', 'preferredHolder']) delete spec[field] }
}

export const DISRUPTION_BUDGET_RULES: Partial<Rules> = {
  generation: true,
  unconditionalUpdate: false,
  nameRule: 'path',
  validate: (budget) =>
    checked(budget, [
      [
        'spec',
        must(
          (spec) => at(spec, 'minAvailable') === undefined || at(spec, 'maxUnavailable') === undefined,
          'minAvailable and maxUnavailable cannot be both set',
        ),
      ],
      ['spec.minAvailable', intOrPercent, atMostAll],
      ['spec.maxUnavailable', intOrPercent, atMostAll],
      ['spec.selector', labelSelector],
      ['spec.unhealthyPodEvictionPolicy', oneOf('AlwaysAllow', 'IfHealthyBudget')],
    ]),
}

/** Sets the defaults of the requests in a claim's spec, in place. */
function requestDefaults(object: JsonObject, path: readonly string[]): void {
  const places = [['requests[]', 'exactly'], ['requests[]', 'firstAvailable[]']]
  for (const request of places.flatMap((place) => parentsOf(object, [...path, 'devices', ...place]))) {
    fill(request, { allocationMode: 'ExactCount' })
    if (request['allocationMode'] === 'ExactCount' && !request['count']) request['count'] = 1
  }
}

export const DEVICE_CLAIM_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec']) }
export const DEVICE_TEMPLATE_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec', 'spec']) }

export const FLOW_SCHEMA_RULES: Partial<Rules> = {
  generation: true,
  defaults: ({ spec }) => void ((spec as JsonObject)['matchingPrecedence'] ||= 1000),
}

export const PRIORITY_LEVEL_RULES: Partial<Rules> = {
  generation: true,
  defaults(level) {
    fill(level, {
      'spec.exempt.nominalConcurrencyShares': 0,
      'spec.exempt.lendablePercent': 0,
      'spec.limited.nominalConcurrencyShares': 30,
      'spec.limited.lendablePercent': 0,
    })
    for (const queuing of parentsOf(level, ['spec', 'limited', 'limitResponse', 'queuing'])) {
      queuing['handSize'] ||= 8
      queuing['queues'] ||= 64
      queuing['queueLengthLimit'] ||= 50
    }
  },
}
