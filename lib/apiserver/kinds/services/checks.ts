/** Validation of Services. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import {
  between,
  type Check,
  checked,
  type Checks,
  cidr,
  forbidden,
  ifSet,
  ip,
  labels,
  name,
  oneOf,
  port,
  portNumber,
  publicIp,
  qualified,
  required,
} from '../common/checks.ts'
import { list, str } from '../common/columns.ts'

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const POLICIES = ['Cluster', 'Local']
const DAY_SECONDS = 86400
const NODE_PORTS = [30000, 32767] as const

const PORT_CHECKS: Checks = [
  ['port', portNumber],
  ['protocol', required(), oneOf('SCTP', 'TCP', 'UDP')],
  ['targetPort', port],
  ['appProtocol', ifSet(qualified)],
]

const CHECKS: Checks = [
  ['sessionAffinity', required(), oneOf('ClientIP', 'None')],
  [
    'sessionAffinityConfig.clientIP.timeoutSeconds',
    between(1, DAY_SECONDS, `must be greater than 0 and less than ${DAY_SECONDS}`),
  ],
  ['selector', labels],
  ['type', required(), oneOf(...TYPES)],
]

const NOT_BALANCED = "may only be used when `type` is 'LoadBalancer'"

/** Returns whether a Service is reached from outside of the cluster. */
export function isExternal({ type, externalIPs }: JsonObject): boolean {
  return type === 'NodePort' || type === 'LoadBalancer' ||
    (type === 'ClusterIP' && Array.isArray(externalIPs) && externalIPs.length > 0)
}

export function serviceFaults(service: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = service['spec'] as JsonObject
  const { type } = spec
  return [
    ...typeFaults(spec),
    ...checked(spec, CHECKS.slice(0, 3), 'spec'),
    ...portsFaults(spec),
    ...checked(spec, CHECKS.slice(3), 'spec'),
    ...addressFaults(spec),
    ...checked(spec, [
      ['externalIPs[]', ip, publicIp],
      ['ipFamilies[]', oneOf('IPv4', 'IPv6')],
      ['ipFamilyPolicy', oneOf('PreferDualStack', 'RequireDualStack', 'SingleStack')],
    ], 'spec'),
    ...balancerFaults(spec),
    ...policyFaults(spec),
    ...(type === 'LoadBalancer'
      ? []
      : forbidden(NOT_BALANCED)(spec['loadBalancerClass'], 'spec.loadBalancerClass', spec)),
    ...changeFaults(spec, at(old, 'spec')),
  ]
}

function typeFaults(spec: JsonObject): Cause[] {
  const isHeadless = spec['clusterIP'] === 'None'
  switch (spec['type']) {
    case 'ExternalName': {
      const path = 'spec.externalName'
      const external = str(spec, 'externalName')
      return [
        ...(spec['clusterIP'] ? [fault.forbidden('spec.clusterIPs', 'may not be set for ExternalName services')] : []),
        ...(external ? name('subdomain')(external.replace(/\.$/, ''), path, spec) : [fault.required(path)]),
      ]
    }
    case 'NodePort':
    case 'LoadBalancer':
      return isHeadless
        ? [fault.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec['type']} services`)]
        : []
    default:
      return []
  }
}

function portsFaults(spec: JsonObject): Cause[] {
  const all = list(spec, 'ports')
  const needsPorts = spec['type'] !== 'ExternalName' && spec['clusterIP'] !== 'None'
  if (all.length === 0) return needsPorts ? [fault.required('spec.ports')] : []
  const names = new Set<Json>()
  const seen = new Set<string>()
  const faults = all.flatMap((each, index) => {
    const path = `spec.ports[${index}]`
    const own = str(each, 'name')
    const named: Cause[] = []
    if (all.length > 1 && !own) named.push(fault.required(`${path}.name`))
    else if (own) {
      named.push(...name('label')(own, `${path}.name`, each))
      if (names.has(own)) named.push(fault.duplicate(`${path}.name`, own))
    }
    names.add(own)
    return [...named, ...checked(each, PORT_CHECKS, path)]
  })
  const types = all.flatMap((each, index) => nodePortFaults(spec, each, `spec.ports[${index}].nodePort`))
  const duplicates = all.flatMap((each, index) => {
    const key = `${String(each['protocol'] ?? '')} ${String(each['port'] ?? 0)}`
    const isKnown = seen.has(key)
    seen.add(key)
    const shown = {
      Name: '',
      Protocol: each['protocol'],
      AppProtocol: null,
      Port: each['port'],
      TargetPort: 0,
      NodePort: 0,
    }
    return isKnown ? [fault.duplicate(`spec.ports[${index}]`, shown)] : []
  })
  return [...faults, ...types, ...duplicates]
}

function nodePortFaults(spec: JsonObject, each: JsonObject, path: string): Cause[] {
  const { nodePort } = each
  if (!nodePort) return []
  if (spec['type'] === 'ClusterIP') return [fault.forbidden(path, "may not be used when `type` is 'ClusterIP'")]
  const [min, max] = NODE_PORTS
  const detail = `provided port is not in the valid range. The range of valid ports is ${min}-${max}`
  return between(min, max, detail)(nodePort, path, each) as Cause[]
}

function addressFaults(spec: JsonObject): Cause[] {
  const { clusterIP } = spec
  if (spec['type'] === 'ExternalName' || !clusterIP || clusterIP === 'None') return []
  return ip(clusterIP, 'spec.clusterIPs[0]', spec) as Cause[]
}

function balancerFaults(spec: JsonObject): Cause[] {
  const balanced = spec['type'] === 'LoadBalancer'
  const ranges = spec['loadBalancerSourceRanges']
  const path = 'spec.LoadBalancerSourceRanges'
  return [
    ...(Array.isArray(ranges) && ranges.length > 0
      ? balanced
        ? ranges.flatMap((each, index) => cidr(each, `${path}[${index}]`, spec))
        : [fault.forbidden(path, NOT_BALANCED)]
      : []),
    ...(balanced
      ? []
      : forbidden(NOT_BALANCED)(spec['allocateLoadBalancerNodePorts'], 'spec.allocateLoadBalancerNodePorts', spec)),
  ]
}

const inPolicies: Check = oneOf(...POLICIES)

function policyFaults(spec: JsonObject): Cause[] {
  const external = spec['externalTrafficPolicy']
  const path = 'spec.externalTrafficPolicy'
  const check = spec['healthCheckNodePort']
  const isLocal = spec['type'] === 'LoadBalancer' && external === 'Local'
  return [
    ...(external === undefined
      ? []
      : isExternal(spec)
      ? inPolicies(external, path, spec)
      : [fault.invalid(path, external, 'may only be set for externally-accessible services')]),
    ...(check && !isLocal
      ? [fault.invalid(
        'spec.healthCheckNodePort',
        check,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      )]
      : []),
    ...inPolicies(spec['internalTrafficPolicy'], 'spec.internalTrafficPolicy', spec),
  ]
}

function changeFaults(spec: JsonObject, old: Json | undefined): Cause[] {
  const before = at(old, 'clusterIP')
  if (!isObject(old) || !before || spec['type'] === 'ExternalName' || old['type'] === 'ExternalName') return []
  if (spec['clusterIP'] === before) return []
  return [
    fault.invalid('spec.clusterIPs[0]', spec['clusterIPs'] ?? [spec['clusterIP'] ?? ''], 'may not change once set'),
  ]
}
