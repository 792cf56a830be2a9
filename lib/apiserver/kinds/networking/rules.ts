/** The rules of ingress classes and network policies. */
import type { Rules } from '../../model/kinds.ts'
import {
  type Check,
  checked,
  type Checks,
  cidr,
  domainPath,
  fields,
  labelSelector,
  must,
  oneOf,
  port,
  required,
  unchanged,
} from '../../model/checks.ts'
import { type JsonObject, objectAt, size } from '../../model/json.ts'
import { fault } from '../../model/status.ts'
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
  validate: (policy) => checked(policy, POLICY),
}

const PORT: Checks = [
  ['protocol', oneOf('TCP', 'UDP', 'SCTP')],
  ['port', port],
  ['endPort', must((end, { port }) => typeof port === 'number' && Number(end) >= port, 'must not be below `port`')],
]

const onePeer: Check = (value, path) => {
  const { podSelector, namespaceSelector, ipBlock } = objectAt(value)
  const isSelected = podSelector !== undefined || namespaceSelector !== undefined
  if (isSelected !== (ipBlock !== undefined)) return []
  return [
    isSelected
      ? fault.forbidden(path, 'may not specify both ipBlock and another peer')
      : fault.required(path, 'must specify a peer'),
  ]
}

const PEER: Checks = [
  ['podSelector', labelSelector],
  ['namespaceSelector', labelSelector],
  ['ipBlock.cidr', required(), cidr],
  ['ipBlock.except[]', cidr],
]

const POLICY: Checks = [
  ['spec.podSelector', labelSelector],
  ['spec.ingress[].ports[]', fields(PORT)],
  ['spec.ingress[].from[]', fields(PEER), onePeer],
  ['spec.egress[].ports[]', fields(PORT)],
  ['spec.egress[].to[]', fields(PEER), onePeer],
  ['spec.policyTypes[]', oneOf('Ingress', 'Egress')],
  ['spec.policyTypes', must((types) => size(types) <= 2, 'may not specify more than two policyTypes')],
]
