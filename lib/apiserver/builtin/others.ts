/** The rules of the smaller groups. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { immutable } from '../storage/objects.ts'
import { type Cause, fault } from '../http/status.ts'

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
