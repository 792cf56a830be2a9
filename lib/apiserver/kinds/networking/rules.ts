/** The rules of ingress classes and network policies. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import {
  type Check,
  checked,
  cidr,
  domainPath,
  fields,
  labelSelector,
  oneOf,
  port,
  required,
  unchanged,
} from '../common/checks.ts'
import { fill } from '../common/fill.ts'

export const INGRESS_CLASS_RULES: Partial<Rules> = {
  generation: true,
  defaults: (each) => fill(each, { 'spec.parameters.scope': 'Cluster' }),
  validate: (each, old) => [
    ...checked(each, [['spec.controller', required(), domainPath]]),
    ...unchanged(each, old, 'spec.controller'),
  ],
}

export const NETWORK_POLICY_RULES: Partial<Rules> = {
  generation: true,
  defaults(policy) {
    const spec = policy['spec'] as JsonObject
    spec['policyTypes'] ??= spec['egress'] === undefined ? ['Ingress'] : ['Ingress', 'Egress']
    fill(policy, { 'spec.ingress[].ports[].protocol': 'TCP', 'spec.egress[].ports[].protocol': 'TCP' })
  },
  validate: policyFaults,
}

function policyFaults(policy: ApiObject): Cause[] {
  const sections = [['ingress', 'from'], ['egress', 'to']] as const
  return [
    ...checked(policy, [['spec.podSelector', labelSelector]]),
    ...sections.flatMap(([section, peers]) =>
      checked(policy, [[
        `spec.${section}[]`,
        fields([['ports[]', policyPort], [`${peers}[]`, peer]]),
      ]])
    ),
    ...checked(policy, [['spec.policyTypes[]', oneOf('Ingress', 'Egress')], ['spec.policyTypes', policyTypes]]),
  ]
}

const policyTypes: Check = (value, path) =>
  Array.isArray(value) && value.length > 2
    ? [fault.invalid(path, value, 'may not specify more than two policyTypes')]
    : []

function policyPort(value: Json | undefined, path: string): readonly Cause[] {
  if (!isObject(value)) return []
  const { port: own, endPort } = value
  const faults = checked(value, [['protocol', oneOf('TCP', 'UDP', 'SCTP')], ['port', port]], path)
  if (endPort === undefined) return faults
  if (typeof own !== 'number') faults.push(fault.invalid(`${path}.endPort`, endPort, 'needs a number as `port`'))
  else if (Number(endPort) < own) faults.push(fault.invalid(`${path}.endPort`, endPort, 'must not be below `port`'))
  return faults
}

function peer(value: Json | undefined, path: string): readonly Cause[] {
  if (!isObject(value)) return []
  const { podSelector, namespaceSelector, ipBlock } = value
  const isSelected = podSelector !== undefined || namespaceSelector !== undefined
  const faults = checked(value, [['podSelector', labelSelector], ['namespaceSelector', labelSelector]], path)
  faults.push(...checked(value, [['ipBlock.cidr', required(), cidr], ['ipBlock.except[]', cidr]], path))
  if (!isSelected && ipBlock === undefined) faults.push(fault.required(path, 'must specify a peer'))
  if (isSelected && ipBlock !== undefined) {
    faults.push(fault.forbidden(path, 'may not specify both ipBlock and another peer'))
  }
  return faults
}
