/** Validation of Services. */
import {
  between,
  type Check,
  checked,
  type Checks,
  cidr,
  ifSet,
  ip,
  labels,
  must,
  name,
  oneOf,
  port,
  portNumber,
  publicIp,
  qualified,
  required,
  unset,
} from '../../model/checks.ts'
import { type ApiObject, type Json, type JsonObject, list, objectAt, size, str } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'

const DAY_SECONDS = 86400
const PROTOCOLS: Check = oneOf('SCTP', 'TCP', 'UDP')
const POLICIES: Check = oneOf('Cluster', 'Local')
const ONLY_BALANCED: Check = unset("may only be used when `type` is 'LoadBalancer'")

/** Returns whether a Service is reached from outside of the cluster. */
export function isExternal({ type, externalIPs }: JsonObject): boolean {
  return type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && size(externalIPs) > 0)
}

/** The checks of all types. */
const COMMON: Checks = [
  ['sessionAffinity', required(), oneOf('ClientIP', 'None')],
  ['sessionAffinityConfig.clientIP.timeoutSeconds', between(1, DAY_SECONDS)],
  ['selector', labels],
  ['type', required(), oneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')],
  ['externalIPs[]', ip, publicIp],
  ['ipFamilies[]', oneOf('IPv4', 'IPv6')],
  ['ipFamilyPolicy', oneOf('PreferDualStack', 'RequireDualStack', 'SingleStack')],
  ['internalTrafficPolicy', POLICIES],
  [
    'externalTrafficPolicy',
    must((_, spec) => isExternal(spec), 'may only be set for externally-accessible services'),
    POLICIES,
  ],
  [
    'healthCheckNodePort',
    ifSet(must(
      (_, { type, externalTrafficPolicy }) => type === 'LoadBalancer' && externalTrafficPolicy === 'Local',
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    )),
  ],
]

const NOT_BALANCED: Checks = [['allocateLoadBalancerNodePorts', ONLY_BALANCED], ['loadBalancerClass', ONLY_BALANCED]]

const EXTERNAL_NAME: Checks = [
  ['externalName', required(), (value, path, spec) => name('subdomain')(str(value).replace(/\.$/, ''), path, spec)],
]

export function serviceFaults(service: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = service['spec'] as JsonObject
  const { type } = spec
  return [
    ...checked(spec, COMMON, 'spec'),
    ...(type === 'ExternalName' ? checked(spec, EXTERNAL_NAME, 'spec') : []),
    ...(type === 'LoadBalancer' ? [] : checked(spec, NOT_BALANCED, 'spec')),
    ...rangeFaults(spec),
    ...portsFaults(spec),
    ...addressFaults(spec, objectAt(old, 'spec')),
  ]
}

function rangeFaults({ type, loadBalancerSourceRanges: ranges }: JsonObject): Cause[] {
  const path = 'LoadBalancerSourceRanges'
  return checked({ [path]: ranges }, [
    type === 'LoadBalancer' ? [`${path}[]`, cidr] : [path, ifSet(ONLY_BALANCED)],
  ], 'spec')
}

function portsFaults(spec: JsonObject): Cause[] {
  const all = list(spec, 'ports')
  if (all.length === 0) {
    return spec['type'] === 'ExternalName' || spec['clusterIP'] === 'None' ? [] : [fault.required('spec.ports')]
  }
  const [names, places] = [new Set<Json>(), new Set<string>()]
  const isKnown = <T>(seen: Set<T>, value: T): boolean => seen.size === seen.add(value).size
  const range = between(
    30000,
    32767,
    'provided port is not in the valid range. The range of valid ports is 30000-32767',
  )
  const node = spec['type'] === 'ClusterIP' ? unset("may not be used when `type` is 'ClusterIP'") : range
  return all.flatMap((each, index) => {
    const path = `spec.ports[${index}]`
    const own = str(each, 'name')
    const [isRepeated, isSamePlace] = [isKnown(names, own), isKnown(places, `${each['protocol']} ${each['port'] ?? 0}`)]
    return [
      ...checked(each, [
        ['name', ...(all.length > 1 ? [required()] : []), ifSet(name('label'))],
        ['port', portNumber],
        ['protocol', required(), PROTOCOLS],
        ['targetPort', port],
        ['appProtocol', ifSet(qualified)],
        ['nodePort', (value, at, parent) => value ? node(value, at, parent) : []],
      ], path),
      ...(own && isRepeated ? [fault.duplicate(`${path}.name`, own)] : []),
      ...(isSamePlace ? [fault.duplicate(path, `${each['protocol']} ${each['port']}`)] : []),
    ]
  })
}

function addressFaults({ type, clusterIP }: JsonObject, old: JsonObject): Cause[] {
  const path = 'spec.clusterIPs[0]'
  if (type === 'ExternalName') {
    return clusterIP ? [fault.forbidden('spec.clusterIPs', 'may not be set for ExternalName services')] : []
  }
  if (clusterIP === 'None' && ['NodePort', 'LoadBalancer'].includes(String(type))) {
    return [fault.invalid(path, 'None', `may not be set to 'None' for ${String(type)} services`)]
  }
  const isChanged = old['clusterIP'] && old['type'] !== 'ExternalName' && clusterIP !== old['clusterIP']
  return [
    ...(clusterIP && clusterIP !== 'None' ? ip(clusterIP, path, {}) : []),
    ...(isChanged ? [fault.invalid(path, clusterIP ?? '', 'may not change once set')] : []),
  ]
}
