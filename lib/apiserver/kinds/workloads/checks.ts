/** Validation of workloads with a pod template. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { selectorFaults, selectorMatches } from '../../model/selectors.ts'
import { labelFaults } from '../../model/names.ts'
import {
  atLeast,
  atMostAll,
  checked,
  type Checks,
  ifSet,
  intOrPercent,
  name,
  oneOf,
  unchanged,
} from '../common/checks.ts'
import { list } from '../common/columns.ts'
import { podSpecFaults } from '../pods/checks.ts'
import { claimSpecFaults } from '../storage/volumes.ts'

const REPLICAS: Checks = [['replicas', atLeast(0)], ['minReadySeconds', atLeast(0)]]

const COUNTS: Checks = [
  ...['replicas', 'fullyLabeledReplicas', 'updatedReplicas', 'readyReplicas', 'currentReplicas', 'availableReplicas'],
  ...['unavailableReplicas', 'observedGeneration', 'collisionCount'],
  ...['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'],
  ...['updatedNumberScheduled', 'numberAvailable', 'numberUnavailable'],
].map((name) => [name, atLeast(0)])

/** Returns the faults of the counts in a status. `parts`: the counts of some of the replicas. */
export function countFaults({ status = {} }: ApiObject, ...parts: readonly string[]): Cause[] {
  const counts = status as JsonObject
  const most = (name: string, whole: string): Cause[] => {
    const count = Number(counts[name] ?? 0)
    if (count <= Number(counts[whole] ?? 0)) return []
    return [fault.invalid(`status.${name}`, count, `cannot be greater than status.${whole}`)]
  }
  return [
    ...checked(counts, COUNTS, 'status'),
    ...parts.flatMap((name) => most(name, 'replicas')),
    ...most('availableReplicas', 'readyReplicas'),
  ]
}

const specOf = (object: ApiObject): JsonObject => (object['spec'] ?? {}) as JsonObject

/** Returns the faults of a selector; the real server names some kinds wrongly in its message. */
function selectorOfFaults(spec: JsonObject, kind: string): Cause[] {
  const { selector } = spec
  if (!isObject(selector)) return [fault.required('spec.selector')]
  const faults = selectorFaults(selector, 'spec.selector')
  if (Object.keys(selector).length === 0) {
    faults.push(fault.invalid('spec.selector', selector, `empty selector is invalid for ${kind}`))
  }
  return faults
}

function templateFaults(spec: JsonObject, activeDeadline: string): Cause[] {
  const { selector } = spec
  const labels = at(spec, 'template', 'metadata', 'labels')
  const podSpec = (at(spec, 'template', 'spec') ?? {}) as JsonObject
  const path = 'spec.template.spec'
  const isMalformed = isObject(selector) && selectorFaults(selector, '').length > 0
  // A DaemonSet's template is checked all the same.
  if (isMalformed && activeDeadline !== 'DaemonSet') {
    return [fault.invalid('spec.selector', selector, 'invalid label selector')]
  }
  const isSelected = isMalformed || (isObject(selector) && selectorMatches(selector, labels))
  return [
    ...(isSelected ? [] : [
      fault.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
    ]),
    ...labelFaults(isObject(labels) ? labels : undefined, 'spec.template.labels'),
    ...podSpecFaults(podSpec, path, ['Always'], claimNames(spec)),
    ...(podSpec['activeDeadlineSeconds'] === undefined ? [] : [
      fault.forbidden(`${path}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${activeDeadline} is not Supported`),
    ]),
  ]
}

/** Returns the names of the claims that a StatefulSet makes for its pods. */
function claimNames(spec: JsonObject): string[] {
  return list(spec, 'volumeClaimTemplates').map((claim) => String(at(claim, 'metadata', 'name') ?? ''))
}

export function deploymentFaults(deployment: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(deployment)
  const { progressDeadlineSeconds: deadline, minReadySeconds: ready = 0 } = spec
  return [
    ...checked(spec, [['replicas', atLeast(0)]], 'spec'),
    ...selectorOfFaults(spec, 'deployment'),
    ...templateFaults(spec, 'ReplicaSet'),
    ...strategyFaults(spec['strategy']),
    ...checked(spec, [['minReadySeconds', atLeast(0)], ['revisionHistoryLimit', atLeast(0)]], 'spec'),
    ...checked(spec, [['progressDeadlineSeconds', atLeast(0)]], 'spec'),
    ...(typeof deadline === 'number' && deadline <= Number(ready)
      ? [fault.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')]
      : []),
    ...unchanged(deployment, old, 'spec.selector'),
  ]
}

const isZero = (value: Json | undefined): boolean => value === 0 || value === '0%'

function strategyFaults(strategy: Json | undefined): Cause[] {
  const [type, rolling] = [at(strategy, 'type'), at(strategy, 'rollingUpdate')]
  const path = 'spec.strategy.rollingUpdate'
  if (type === 'Recreate') {
    const detail = "may not be specified when strategy `type` is 'Recreate'"
    return rolling === undefined ? [] : [fault.forbidden(path, detail)]
  }
  if (type !== 'RollingUpdate') {
    const shown = { Type: type ?? '', RollingUpdate: rolling ?? null }
    return [fault.notSupported('spec.strategy', shown, ['Recreate', 'RollingUpdate'])]
  }
  if (!isObject(rolling)) return []
  const faults = checked(rolling, [
    ['maxUnavailable', intOrPercent],
    ['maxSurge', intOrPercent],
    ['maxUnavailable', atMostAll],
  ], path)
  if (isZero(rolling['maxUnavailable']) && isZero(rolling['maxSurge'])) {
    const detail = 'may not be 0 when `maxSurge` is 0'
    faults.push(fault.invalid(`${path}.maxUnavailable`, rolling['maxUnavailable'], detail))
  }
  return faults
}

export function replicaSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  return [
    ...checked(spec, REPLICAS, 'spec'),
    ...selectorOfFaults(spec, 'deployment'),
    ...templateFaults(spec, 'ReplicaSet'),
    ...unchanged(set, old, 'spec.selector'),
  ]
}

export function controllerFaults(controller: ApiObject): Cause[] {
  const spec = specOf(controller)
  const selector = isObject(spec['selector']) ? spec['selector'] : {}
  const isEmpty = Object.keys(selector).length === 0
  const faults = [
    ...checked(spec, [['minReadySeconds', atLeast(0)]], 'spec'),
    ...(isEmpty ? [fault.required('spec.selector')] : []),
    ...checked(spec, [['replicas', atLeast(0)]], 'spec'),
  ]
  if (!isObject(spec['template'])) return [...faults, fault.required('spec.template')]
  return [...faults, ...templateFaults({ ...spec, selector: { matchLabels: selector } }, 'ReplicationController')]
}

export function statefulSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  return [
    ...podManagementFaults(spec['podManagementPolicy']),
    ...updateStrategyFaults(spec['updateStrategy']),
    ...checked(spec, [
      ['persistentVolumeClaimRetentionPolicy.whenDeleted', oneOf('Retain', 'Delete')],
      ['persistentVolumeClaimRetentionPolicy.whenScaled', oneOf('Retain', 'Delete')],
      ['serviceName', ifSet(name('label'))],
      ...REPLICAS,
      ['ordinals.start', atLeast(0)],
    ], 'spec'),
    ...selectorOfFaults(spec, 'statefulset'),
    ...templateFaults(spec, 'StatefulSet'),
    ...list(spec, 'volumeClaimTemplates').flatMap((claim, index) =>
      claimSpecFaults((claim['spec'] ?? {}) as JsonObject, `spec.volumeClaimTemplates[${index}].spec`)
    ),
    ...(old ? statefulChangeFaults(spec, specOf(old)) : []),
  ]
}

function podManagementFaults(policy: Json | undefined): Cause[] {
  if (policy === 'OrderedReady' || policy === 'Parallel') return []
  return [fault.invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")]
}

function updateStrategyFaults(strategy: Json | undefined): Cause[] {
  const [type, rolling] = [at(strategy, 'type'), at(strategy, 'rollingUpdate')]
  const path = 'spec.updateStrategy'
  if (type === 'OnDelete') {
    if (!isObject(rolling)) return []
    const shown = { Partition: rolling['partition'] ?? 0, MaxUnavailable: rolling['maxUnavailable'] ?? null }
    return [fault.invalid(`${path}.rollingUpdate`, shown, "only allowed for updateStrategy 'RollingUpdate'")]
  }
  if (type !== 'RollingUpdate') {
    const shown = { Type: type ?? '', RollingUpdate: rolling ?? null }
    return [fault.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
  }
  return isObject(rolling) ? checked(rolling, [['partition', atLeast(0)]], `${path}.rollingUpdate`) : []
}

const STATEFUL_MUTABLE: readonly string[] = ('replicas ordinals template updateStrategy revisionHistoryLimit ' +
  'persistentVolumeClaimRetentionPolicy minReadySeconds').split(' ')

function statefulChangeFaults(spec: JsonObject, old: JsonObject): Cause[] {
  const fixed = (value: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(value).filter(([field]) => !STATEFUL_MUTABLE.includes(field)))
  if (jsonEqual(fixed(spec), fixed(old))) return []
  const names = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', " +
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
  return [fault.forbidden('spec', `updates to statefulset spec for fields other than ${names} are forbidden`)]
}

export function daemonSetFaults(set: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = specOf(set)
  return [
    ...unchanged(set, old, 'spec.selector'),
    ...selectorOfFaults(spec, 'daemonset'),
    ...templateFaults(spec, 'DaemonSet'),
    ...checked(spec, [['minReadySeconds', atLeast(0)]], 'spec'),
    ...daemonStrategyFaults(spec['updateStrategy']),
    ...checked(spec, [['revisionHistoryLimit', atLeast(0)]], 'spec'),
  ]
}

function daemonStrategyFaults(strategy: Json | undefined): Cause[] {
  const [type, rolling] = [at(strategy, 'type'), at(strategy, 'rollingUpdate')]
  const path = 'spec.updateStrategy'
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate') {
    const shown = { Type: type ?? '', RollingUpdate: rolling ?? null }
    return [fault.notSupported(path, shown, ['RollingUpdate', 'OnDelete'])]
  }
  if (!isObject(rolling)) return [fault.required(`${path}.rollingUpdate`)]
  const place = `${path}.rollingUpdate`
  const faults = checked(rolling, [
    ['maxUnavailable', intOrPercent],
    ['maxUnavailable', atMostAll],
    ['maxSurge', intOrPercent],
    ['maxSurge', atMostAll],
  ], place)
  const { maxUnavailable, maxSurge } = rolling
  if (!isZero(maxUnavailable) && !isZero(maxSurge)) {
    faults.push(fault.invalid(`${place}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'))
  }
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    faults.push(fault.required(`${place}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
  }
  return faults
}
