/** The rules of ingress classes, network policies and the ranges of Service addresses. */
import { type Cause, fault, immutable } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import {
  type Check,
  checked,
  cidr,
  contains,
  domainPath,
  fields,
  isIp,
  labelSelector,
  networkAddress,
  oneOf,
  port,
  present,
  required,
  unchanged,
} from '../common/checks.ts'
import { str } from '../common/columns.ts'
import { fill } from '../common/fill.ts'

export const INGRESS_CLASS_RULES: Partial<Rules> = {
  generation: true,
  defaults: (each) => fill(each, { 'spec.parameters.scope': 'Cluster' }),
  validate: (each, old) => [
    ...checked(each, [['spec.controller', required(), domainPath]]),
    ...parametersFaults(at(each, 'spec', 'parameters')),
    ...unchanged(each, old, 'spec.controller'),
  ],
}

function parametersFaults(parameters: Json | undefined): Cause[] {
  if (!isObject(parameters)) return []
  const path = 'spec.parameters'
  const namespace = str(parameters, 'namespace')
  const isNamespaced = parameters['scope'] === 'Namespace'
  return [
    ...checked(parameters, [
      ['kind', required()],
      ['name', required()],
      ['scope', present(), oneOf('Cluster', 'Namespace')],
    ], path),
    ...(isNamespaced && !namespace
      ? [fault.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'")]
      : []),
    ...(parameters['scope'] === 'Cluster' && namespace
      ? [fault.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'")]
      : []),
  ]
}

export const IP_ADDRESS_RULES: Partial<Rules> = {
  nameRule: 'path',
  validate({ metadata, ...address }) {
    const detail = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
    return [
      ...(isIp(metadata.name ?? '') ? [] : [fault.invalid('metadata.name', metadata.name, detail)]),
      ...checked(address, [
        ['spec.parentRef', required()],
        ['spec.parentRef.resource', required()],
        ['spec.parentRef.name', required()],
      ]),
    ]
  },
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

const MAX_TYPES = 2

const notTooMany: Check = (value, path) =>
  Array.isArray(value) && value.length > MAX_TYPES
    ? [fault.invalid(path, value, 'may not specify more than two policyTypes')]
    : []

function policyFaults(policy: ApiObject): Cause[] {
  const types = at(policy, 'spec', 'policyTypes')
  const sections = [['ingress', 'from'], ['egress', 'to']] as const
  return [
    ...checked(policy, [['spec.podSelector', labelSelector]]),
    ...sections.flatMap(([section, peers]) =>
      checked(policy, [[
        `spec.${section}[]`,
        fields([['ports[]', policyPort], [`${peers}[]`, peer]]),
      ]])
    ),
    ...(notTooMany(types, 'spec.policyTypes', policy).length > 0
      ? notTooMany(types, 'spec.policyTypes', policy)
      : checked(policy, [['spec.policyTypes[]', oneOf('Ingress', 'Egress')]])),
  ]
}

function policyPort(value: Json | undefined, path: string): readonly Cause[] {
  if (!isObject(value)) return []
  const { port: own, endPort } = value
  const faults = checked(value, [['protocol', oneOf('TCP', 'UDP', 'SCTP')], ['port', port]], path)
  if (endPort === undefined) return faults
  if (own === undefined) {
    faults.push(fault.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is not specified'))
  } else if (typeof own === 'string') {
    faults.push(fault.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is non-numeric'))
  } else if (Number(endPort) < Number(own)) {
    // The message shows the port, not the end.
    faults.push(fault.invalid(`${path}.endPort`, own, 'must be greater than or equal to `port`'))
  }
  return faults
}

function peer(value: Json | undefined, path: string): readonly Cause[] {
  if (!isObject(value)) return []
  const { podSelector, namespaceSelector, ipBlock } = value
  const isSelected = podSelector !== undefined || namespaceSelector !== undefined
  const faults = checked(value, [['podSelector', labelSelector], ['namespaceSelector', labelSelector]], path)
  if (isObject(ipBlock)) faults.push(...blockFaults(ipBlock, `${path}.ipBlock`))
  if (!isSelected && ipBlock === undefined) faults.push(fault.required(path, 'must specify a peer'))
  if (isSelected && ipBlock !== undefined) {
    faults.push(fault.forbidden(path, 'may not specify both ipBlock and another peer'))
  }
  return faults
}

function blockFaults(block: JsonObject, path: string): Cause[] {
  const faults = checked(block, [['cidr', required(), cidr], ['except[]', cidr]], path)
  if (faults.length > 0) return faults
  const except = block['except']
  return (Array.isArray(except) ? except : []).flatMap((each, index) =>
    contains(str(block, 'cidr'), String(each))
      ? []
      : [fault.invalid(`${path}.except[${index}]`, each, 'must be a strict subset of `cidr`')]
  )
}

export const SERVICE_CIDR_RULES: Partial<Rules> = {
  validate(range, old) {
    const cidrs = at(range, 'spec', 'cidrs')
    const before = at(old, 'spec', 'cidrs')
    if (Array.isArray(cidrs) && Array.isArray(before)) {
      return cidrs.flatMap((each, index) => each === before[index] ? [] : [immutable(`spec.cidrs[${index}]`, each)])
    }
    return checked(range, [
      ['spec.cidrs', required('at least one CIDR required')],
      ['spec.cidrs[]', cidr, networkAddress],
    ])
  },
}
