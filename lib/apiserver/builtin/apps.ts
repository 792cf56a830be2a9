/** The rules of the apps group. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { immutable } from '../storage/objects.ts'
import { labelFaults } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'
import { selectorFaults, selectorMatches } from '../selectors.ts'
import { podSpecDefaults, podSpecFaults } from './pod_spec.ts'

export const APPS_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'deployments.apps': {
    generation: true,
    defaults(deployment) {
      const spec = specOf(deployment)
      spec['replicas'] ??= 1
      spec['revisionHistoryLimit'] ??= 10
      spec['progressDeadlineSeconds'] ??= 600
      const strategy = (isObject(spec['strategy']) ? spec['strategy'] : {}) as JsonObject
      spec['strategy'] = strategy
      strategy['type'] ??= 'RollingUpdate'
      if (strategy['type'] === 'RollingUpdate') {
        const rolling = isObject(strategy['rollingUpdate']) ? strategy['rollingUpdate'] : {}
        rolling['maxUnavailable'] ??= '25%'
        rolling['maxSurge'] ??= '25%'
        strategy['rollingUpdate'] = rolling
      }
    },
    prepareCreate: (deployment) => void (deployment['status'] = {}),
    statusKeepsLabels: true,
    validate: (deployment, old) => [...workloadFaults(deployment, old, true), ...strategyFaults(deployment)],
  },
  'replicasets.apps': {
    generation: true,
    defaults: (set) => void (specOf(set)['replicas'] ??= 1),
    prepareCreate: (set) => void (set['status'] = { replicas: 0 }),
    statusKeepsLabels: true,
    validate: (set, old) => workloadFaults(set, old, true),
    fields: (set) => ({ 'status.replicas': String(at(set, 'status', 'replicas') ?? 0) }),
  },
  'statefulsets.apps': {
    generation: true,
    defaults(set) {
      const spec = specOf(set)
      spec['podManagementPolicy'] ??= 'OrderedReady'
      spec['replicas'] ??= 1
      spec['revisionHistoryLimit'] ??= 10
      const strategy = (isObject(spec['updateStrategy']) ? spec['updateStrategy'] : {}) as JsonObject
      spec['updateStrategy'] = strategy
      strategy['type'] ??= 'RollingUpdate'
      if (strategy['type'] === 'RollingUpdate') {
        const rolling = isObject(strategy['rollingUpdate']) ? strategy['rollingUpdate'] : {}
        rolling['partition'] ??= 0
        strategy['rollingUpdate'] = rolling
      }
      const retention = (isObject(
          spec['persistentVolumeClaimRetentionPolicy'],
        )
        ? spec['persistentVolumeClaimRetentionPolicy']
        : {}) as JsonObject
      retention['whenDeleted'] ??= 'Retain'
      retention['whenScaled'] ??= 'Retain'
      spec['persistentVolumeClaimRetentionPolicy'] = retention
    },
    prepareCreate: (set) => void (set['status'] = { replicas: 0, availableReplicas: 0 }),
    statusKeepsLabels: true,
    validate: (set, old) => workloadFaults(set, old, false),
  },
  'daemonsets.apps': {
    generation: true,
    defaults(set) {
      const spec = specOf(set)
      spec['revisionHistoryLimit'] ??= 10
      const strategy = (isObject(spec['updateStrategy']) ? spec['updateStrategy'] : {}) as JsonObject
      spec['updateStrategy'] = strategy
      strategy['type'] ??= 'RollingUpdate'
      if (strategy['type'] === 'RollingUpdate') {
        const rolling = isObject(strategy['rollingUpdate']) ? strategy['rollingUpdate'] : {}
        rolling['maxUnavailable'] ??= 1
        rolling['maxSurge'] ??= 0
        strategy['rollingUpdate'] = rolling
      }
    },
    prepareCreate: (set) =>
      void (set['status'] = {
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
      }),
    statusKeepsLabels: true,
    validate: (set, old) => workloadFaults(set, old, true),
  },
}

/** Returns the spec, after setting the defaults of its template. */
function specOf(object: ApiObject): JsonObject {
  const spec = (isObject(object['spec']) ? object['spec'] : {}) as JsonObject
  object['spec'] = spec
  const template = spec['template']
  if (isObject(template) && isObject(template['spec'])) podSpecDefaults(template['spec'])
  return spec
}

function workloadFaults(object: ApiObject, old: ApiObject | undefined, keepsSelector: boolean): Cause[] {
  const spec = (object['spec'] ?? {}) as JsonObject
  const faults: Cause[] = []
  const replicas = Number(spec['replicas'] ?? 0)
  if (replicas < 0) faults.push(fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'))
  const { selector } = spec
  const labels = at(spec, 'template', 'metadata', 'labels')
  if (!isObject(selector)) faults.push(fault.required('spec.selector'))
  else {
    faults.push(...selectorFaults(selector, 'spec.selector'))
    if (Object.keys(selector).length === 0) {
      faults.push(
        fault.invalid('spec.selector', selector, `empty selector is invalid for ${object.kind.toLowerCase()}`),
      )
    }
  }
  if (!isObject(selector) || !selectorMatches(selector, labels)) {
    faults.push(
      fault.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
    )
  }
  faults.push(...labelFaults(isObject(labels) ? labels : undefined, 'spec.template.metadata.labels'))
  faults.push(...podSpecFaults((at(spec, 'template', 'spec') ?? {}) as JsonObject, 'spec.template.spec', ['Always']))
  if (old && keepsSelector && !jsonEqual(selector, at(old, 'spec', 'selector'))) {
    faults.push(immutable('spec.selector', selector))
  }
  if (old && !keepsSelector) faults.push(...statefulChangeFaults(spec, (old['spec'] ?? {}) as JsonObject))
  return faults
}

const STATEFUL_MUTABLE: readonly string[] = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

function statefulChangeFaults(spec: JsonObject, old: JsonObject): Cause[] {
  const fixed = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).filter(([name]) => !STATEFUL_MUTABLE.includes(name)),
    )
  if (jsonEqual(fixed(spec), fixed(old))) return []
  const names = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', " +
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
  return [fault.forbidden('spec', `updates to statefulset spec for fields other than ${names} are forbidden`)]
}

function strategyFaults(deployment: ApiObject): Cause[] {
  const strategy = at(deployment, 'spec', 'strategy')
  const type = at(strategy, 'type')
  if (type !== 'RollingUpdate' && type !== 'Recreate') {
    return [
      fault.notSupported('spec.strategy.type', type, ['Recreate', 'RollingUpdate']),
    ]
  }
  if (type === 'Recreate' && at(strategy, 'rollingUpdate') !== undefined) {
    return [fault.forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")]
  }
  const isZero = (value: Json | undefined): boolean => value === 0 || value === '0%'
  if (isZero(at(strategy, 'rollingUpdate', 'maxUnavailable')) && isZero(at(strategy, 'rollingUpdate', 'maxSurge'))) {
    return [
      fault.invalid(
        'spec.strategy.rollingUpdate.maxUnavailable',
        at(strategy, 'rollingUpdate', 'maxUnavailable'),
        'may not be 0 when `maxSurge` is 0',
      ),
    ]
  }
  return []
}
