/** The rules of the smaller groups, and of Events, which two groups serve in two forms. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { immutable } from '../storage/objects.ts'
import { type Cause, fault } from '../http/status.ts'

/** The fields with different names in the core form and in the events.k8s.io form. */
const EVENT_NAMES: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]

export const OTHER_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'leases.coordination.k8s.io': {
    createOnUpdate: true,
    unconditionalUpdate: false,
    validate: leaseFaults,
  },
  'networkpolicies.networking.k8s.io': {
    generation: true,
    defaults(policy) {
      const spec = (isObject(policy['spec']) ? policy['spec'] : {}) as JsonObject
      policy['spec'] = spec
      spec['policyTypes'] ??= spec['egress'] === undefined ? ['Ingress'] : ['Ingress', 'Egress']
      for (const name of ['ingress', 'egress']) {
        for (const rule of list(spec[name])) for (const port of list(rule['ports'])) port['protocol'] ??= 'TCP'
      }
    },
  },
  'ingresses.networking.k8s.io': {
    generation: true,
    prepareCreate: (ingress) => void (ingress['status'] = { loadBalancer: {} }),
  },
  'ingressclasses.networking.k8s.io': { generation: true },
  'poddisruptionbudgets.policy': { generation: true },
  'roles.rbac.authorization.k8s.io': { nameRule: 'path', defaults: ruleDefaults },
  'clusterroles.rbac.authorization.k8s.io': { nameRule: 'path', defaults: ruleDefaults },
  'rolebindings.rbac.authorization.k8s.io': { nameRule: 'path', defaults: bindingDefaults, validate: bindingFaults },
  'clusterrolebindings.rbac.authorization.k8s.io': {
    nameRule: 'path',
    defaults: bindingDefaults,
    validate: bindingFaults,
  },
  events: {
    createOnUpdate: true,
    validate: coreEventFaults,
    fields: (event) => eventFields(event, event['involvedObject'], String(at(event, 'source', 'component') ?? '')),
    defaults: coreEventDefaults,
  },
  'events.events.k8s.io': {
    createOnUpdate: true,
    validate: eventsGroupFaults,
    defaults: eventsGroupDefaults,
    fields: (event) => eventFields(event, event['regarding'], String(at(event, 'deprecatedSource', 'component') ?? '')),
    toStored: (event) => renamedEvent(event, 'v1', EVENT_NAMES.map(([core, other]) => [other, core])),
    fromStored: (event) => renamedEvent(event, 'events.k8s.io/v1', EVENT_NAMES),
  },
}

function leaseFaults(lease: ApiObject): Cause[] {
  const faults: Cause[] = []
  const spec = (lease['spec'] ?? {}) as JsonObject
  const { leaseDurationSeconds, leaseTransitions } = spec
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    faults.push(fault.invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'))
  }
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
    faults.push(fault.invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'))
  }
  if (at(spec, 'preferredHolder') && !at(spec, 'strategy')) {
    faults.push(
      fault.forbidden('spec.preferredHolder', 'may not be specified without `spec.strategy`'),
    )
  }
  return faults
}

function list(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function ruleDefaults(role: ApiObject): void {
  role['rules'] ??= null
}

function bindingDefaults(binding: ApiObject): void {
  const ref = binding['roleRef']
  if (isObject(ref)) ref['apiGroup'] ||= 'rbac.authorization.k8s.io'
  for (const subject of list(binding['subjects'])) {
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') subject['apiGroup'] ??= 'rbac.authorization.k8s.io'
  }
}

function bindingFaults(binding: ApiObject, old: ApiObject | undefined): Cause[] {
  const faults: Cause[] = []
  const ref = (binding['roleRef'] ?? {}) as JsonObject
  const kinds = binding.kind === 'RoleBinding' ? ['ClusterRole', 'Role'] : ['ClusterRole']
  if (!kinds.includes(String(ref['kind'] ?? ''))) {
    faults.push(fault.notSupported('roleRef.kind', ref['kind'] ?? '', kinds))
  }
  if (!ref['name']) faults.push(fault.required('roleRef.name'))
  if (old && !jsonEqual(ref, old['roleRef'])) {
    faults.push(
      {
        ...immutable('roleRef', ref),
        message: immutable('roleRef', ref).message.replace('field is immutable', 'cannot change roleRef'),
      },
    )
  }
  for (const [index, subject] of list(binding['subjects']).entries()) {
    if (!subject['name']) faults.push(fault.required(`subjects[${index}].name`))
    if (subject['kind'] === 'ServiceAccount' && !subject['namespace']) {
      faults.push(fault.required(`subjects[${index}].namespace`))
    }
    if (!['ServiceAccount', 'User', 'Group'].includes(String(subject['kind'] ?? ''))) {
      faults.push(
        fault.notSupported(`subjects[${index}].kind`, subject['kind'] ?? '', ['ServiceAccount', 'User', 'Group']),
      )
    }
  }
  return faults
}

function renamedEvent(event: ApiObject, apiVersion: string, names: readonly (readonly [string, string])[]): ApiObject {
  const result: { [name: string]: Json | undefined } = {}
  for (const [name, value] of Object.entries(event)) result[names.find(([from]) => from === name)?.[1] ?? name] = value
  return { ...result, apiVersion } as ApiObject
}

/** Sets the fields that Go writes even if they are empty. */
function coreEventDefaults(event: ApiObject): void {
  event['source'] ??= {}
  event['involvedObject'] ??= {}
  for (const name of ['firstTimestamp', 'lastTimestamp', 'eventTime']) event[name] ??= null
  event['reportingComponent'] ??= ''
  event['reportingInstance'] ??= ''
}

function eventsGroupDefaults(event: ApiObject): void {
  event['deprecatedSource'] ??= {}
  event['regarding'] ??= {}
  for (const name of ['deprecatedFirstTimestamp', 'deprecatedLastTimestamp', 'eventTime']) event[name] ??= null
}

function eventFields(event: ApiObject, about: Json | undefined, component: string): Readonly<Record<string, string>> {
  const of = (name: string): string => String(at(about, name) ?? '')
  const source = component || String(event['reportingComponent'] ?? event['reportingController'] ?? '')
  return {
    'involvedObject.kind': of('kind'),
    'involvedObject.namespace': of('namespace'),
    'involvedObject.name': of('name'),
    'involvedObject.uid': of('uid'),
    'involvedObject.apiVersion': of('apiVersion'),
    'involvedObject.resourceVersion': of('resourceVersion'),
    'involvedObject.fieldPath': of('fieldPath'),
    reason: String(event['reason'] ?? ''),
    reportingComponent: source,
    source,
    type: String(event['type'] ?? ''),
  }
}

function eventNamespaceFaults(event: ApiObject, about: Json | undefined): Cause[] {
  const namespace = isObject(about) ? String(about['namespace'] ?? '') : ''
  const isSameNamespace = namespace === event.metadata.namespace ||
    (namespace === '' && event.metadata.namespace === 'default')
  return isSameNamespace ? [] : [fault.invalid('involvedObject.namespace', namespace, 'does not match event.namespace')]
}

function coreEventFaults(event: ApiObject): Cause[] {
  return eventNamespaceFaults(event, event['involvedObject'])
}

const EVENT_REQUIRED: readonly string[] = ['reportingController', 'reportingInstance', 'action', 'reason']

/** Returns the faults of the events.k8s.io form, which requires fields that are optional in the core form. */
function eventsGroupFaults(event: ApiObject, old: ApiObject | undefined): Cause[] {
  const faults = eventNamespaceFaults(event, event['regarding'])
  if (old) return faults
  if (!event['eventTime']) faults.push(fault.required('eventTime'))
  for (const name of EVENT_REQUIRED) if (!event[name]) faults.push(fault.required(name))
  if (event['type'] !== 'Normal' && event['type'] !== 'Warning') {
    faults.push(fault.invalid('type', event['type'] ?? '', ''))
  }
  return faults
}
