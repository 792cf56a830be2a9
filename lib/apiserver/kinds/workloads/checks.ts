/** Validation of workloads with a pod template. */
import { podSpecFaults } from '../pods/checks.ts'
import { claimSpecFaults } from '../storage/volumes.ts'
import { jsonEqual } from '../../../core/equal.ts'
import {
  atLeast,
  atMostAll,
  type Check,
  checked,
  type Checks,
  ifSet,
  intOrPercent,
  labelSelector,
  must,
  name,
  oneOf,
  unchanged,
  unset,
} from '../../model/checks.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, list, num, objectAt, str } from '../../model/json.ts'
import { labelFaults } from '../../model/names.ts'
import { selectorMatches } from '../../model/selectors.ts'
import { type Cause, fault } from '../../model/status.ts'

const REPLICAS: Checks = [['replicas', atLeast(0)], ['minReadySeconds', atLeast(0)]]

const COUNTS: Checks = [
  ...['replicas', 'fullyLabeledReplicas', 'updatedReplicas', 'readyReplicas', 'currentReplicas', 'availableReplicas'],
  ...['unavailableReplicas', 'observedGeneration', 'collisionCount'],
  ...['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'],
  ...['updatedNumberScheduled', 'numberAvailable', 'numberUnavailable'],
].map((name) => [name, atLeast(0)])

/** Returns the faults of the counts in a status. `parts`: the counts of some of the replicas. */
export function countFaults({ status = {} }: ApiObject, ...parts: readonly string[]): Cause[] {
  // A missing count is zero.
  const atMost = (whole: string): Check => (count, path, counts) =>
    Number(count ?? 0) <= num(counts, whole)
      ? []
      : [fault.invalid(path, count ?? 0, `cannot be greater than status.${whole}`)]
  return checked(objectAt(status), [
    ...COUNTS,
    ...parts.map((name) => [name, atMost('replicas')] as const),
    ['availableReplicas', atMost('readyReplicas')],
  ], 'status')
}

const specOf = (object: ApiObject): JsonObject => objectAt(object['spec'])

const selected: Check = (selector, path) =>
  isObject(selector) && Object.keys(selector).length === 0
    ? [fault.invalid(path, selector, 'empty selector is invalid')]
    : []

const SELECTOR: Checks = [[
  'selector',
  (value, path) => isObject(value) ? [] : [fault.required(path)],
  labelSelector,
  selected,
]]

/** Returns the faults of a selector and of the template that it selects. A malformed selector selects nothing. */
function templateFaults({ kind, spec }: ApiObject, volumes: readonly string[] = []): Cause[] {
  const selector = at(spec, 'selector')
  const labels = at(spec, 'template', 'metadata', 'labels')
  const podSpec = objectAt(spec, 'template', 'spec')
  const path = 'spec.template.spec'
  const faults = checked(objectAt(spec), SELECTOR, 'spec')
  const isMalformed = labelSelector(selector, '', {}).length > 0
  if (isMalformed && kind !== 'DaemonSet') {
    return [...faults, fault.invalid('spec.selector', selector, 'invalid label selector')]
  }
  const isSelected = isMalformed || (isObject(selector) && selectorMatches(selector, labels))
  return [
    ...faults,
    ...(isSelected ? [] : [
      fault.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
    ]),
    ...labelFaults(objectAt(labels), 'spec.template.labels'),
    ...podSpecFaults(podSpec, path, ['Always'], volumes),
    ...checked(podSpec, [['activeDeadlineSeconds', unset('is not supported here')]], path),
  ]
}

export function deploymentFaults(deployment: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(deployment)
  return [
    ...templateFaults(deployment),
    ...strategyFaults(spec),
    ...checked(spec, [
      ...REPLICAS,
      ['revisionHistoryLimit', atLeast(0)],
      ['progressDeadlineSeconds', atLeast(num(spec, 'minReadySeconds') + 1, 'must be greater than minReadySeconds')],
    ], 'spec'),
    ...unchanged(deployment, old, 'spec.selector'),
  ]
}

const isZero = (value: Json | undefined): boolean => value === 0 || value === '0%'

const ROLLING: Checks = [['maxUnavailable', intOrPercent, atMostAll], ['maxSurge', intOrPercent]]

function strategyFaults({ strategy }: JsonObject): Cause[] {
  const { type, rollingUpdate: rolling } = objectAt(strategy)
  const path = 'spec.strategy.rollingUpdate'
  if (type === 'Recreate') {
    return checked(objectAt(strategy), [['rollingUpdate', unset('may not be set for Recreate')]], 'spec.strategy')
  }
  if (type !== 'RollingUpdate') return [fault.notSupported('spec.strategy', type, ['Recreate', 'RollingUpdate'])]
  const isStuck = isZero(at(rolling, 'maxUnavailable')) && isZero(at(rolling, 'maxSurge'))
  return [
    ...checked(objectAt(rolling), ROLLING, path),
    ...(isStuck ? [fault.invalid(`${path}.maxUnavailable`, 0, 'may not be 0 when `maxSurge` is 0')] : []),
  ]
}

export function replicaSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  return [...checked(spec, REPLICAS, 'spec'), ...templateFaults(set), ...unchanged(set, old, 'spec.selector')]
}

const RETENTION: Check = oneOf('Retain', 'Delete')

const STATEFUL: Checks = [
  [
    'podManagementPolicy',
    (value, path) => value === 'OrderedReady' || value === 'Parallel' ? [] : [fault.invalid(path, value, 'unknown')],
  ],
  ['persistentVolumeClaimRetentionPolicy.whenDeleted', RETENTION],
  ['persistentVolumeClaimRetentionPolicy.whenScaled', RETENTION],
  ['serviceName', ifSet(name('label'))],
  ...REPLICAS,
  ['ordinals.start', atLeast(0)],
  ['volumeClaimTemplates[]', (claim, path) => claimSpecFaults(objectAt(claim, 'spec'), `${path}.spec`)],
  [
    'updateStrategy',
    must((strategy) => ['RollingUpdate', 'OnDelete'].includes(str(strategy, 'type')), 'has an unknown type'),
  ],
  [
    'updateStrategy.rollingUpdate',
    must((_, { type }) => type !== 'OnDelete', "only allowed for updateStrategy 'RollingUpdate'"),
  ],
  ['updateStrategy.rollingUpdate.partition', atLeast(0)],
]

const STATEFUL_MUTABLE: readonly string[] = ('replicas ordinals template updateStrategy revisionHistoryLimit ' +
  'persistentVolumeClaimRetentionPolicy minReadySeconds').split(' ')

export function statefulSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  const claims = list(spec, 'volumeClaimTemplates').map((claim) => str(claim, 'metadata', 'name'))
  const fixed = (object: ApiObject): JsonObject =>
    Object.fromEntries(Object.entries(specOf(object)).filter(([field]) => !STATEFUL_MUTABLE.includes(field)))
  const isChanged = old !== undefined && !jsonEqual(fixed(set), fixed(old))
  const detail = `updates to statefulset spec for fields other than ${STATEFUL_MUTABLE.join(', ')} are forbidden`
  return [
    ...checked(spec, STATEFUL, 'spec'),
    ...templateFaults(set, claims),
    ...(isChanged ? [fault.forbidden('spec', detail)] : []),
  ]
}

export function daemonSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  return [
    ...unchanged(set, old, 'spec.selector'),
    ...templateFaults(set),
    ...checked(spec, [['minReadySeconds', atLeast(0)], ['revisionHistoryLimit', atLeast(0)]], 'spec'),
    ...daemonStrategyFaults(spec),
  ]
}

function daemonStrategyFaults({ updateStrategy: strategy }: JsonObject): Cause[] {
  const { type, rollingUpdate: rolling } = objectAt(strategy)
  const path = 'spec.updateStrategy'
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate') return [fault.notSupported(path, type, ['RollingUpdate', 'OnDelete'])]
  const place = `${path}.rollingUpdate`
  if (!isObject(rolling)) return [fault.required(place)]
  const { maxUnavailable, maxSurge } = rolling
  const [fixed, extra] = [isZero(maxUnavailable), isZero(maxSurge)]
  return [
    ...checked(rolling, [...ROLLING, ['maxSurge', atMostAll]], place),
    ...(!fixed && !extra ? [fault.invalid(`${place}.maxSurge`, maxSurge, 'only one of both may be set')] : []),
    ...(fixed && extra ? [fault.required(`${place}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')] : []),
  ]
}
