/** The rules of Services, and the addresses and ports that the server assigns. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, clone, isObject, type JsonObject } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { list } from '../common/columns.ts'
import { parentsOf } from '../common/fill.ts'
import { fault } from '../../model/status.ts'
import { isExternal, serviceFaults } from './checks.ts'

export const SERVICE_RULES: Partial<Rules> = {
  nameRule: 'label',
  createOnUpdate: true,
  defaults(service) {
    const spec = isObject(service['spec']) ? service['spec'] : {}
    service['spec'] = spec
    spec['sessionAffinity'] ??= 'None'
    spec['type'] ??= 'ClusterIP'
    if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
    if (spec['sessionAffinity'] === 'ClientIP') {
      spec['sessionAffinityConfig'] ??= { clientIP: { timeoutSeconds: 10800 } }
    }
    if (spec['type'] !== 'ExternalName') spec['internalTrafficPolicy'] ??= 'Cluster'
    if (isExternal(spec)) spec['externalTrafficPolicy'] ??= 'Cluster'
    if (spec['type'] === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true
    if (spec['type'] === 'LoadBalancer') {
      for (const ingress of parentsOf(service, ['status', 'loadBalancer', 'ingress[]'])) {
        if (ingress['ip']) ingress['ipMode'] ??= 'VIP'
      }
    }
    for (const port of ports(spec)) {
      port['protocol'] ??= 'TCP'
      if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '') {
        port['targetPort'] = port['port']!
      }
    }
  },
  prepareCreate(service, context) {
    assign(service['spec'] as JsonObject, context)
  },
  prepareUpdate(service, old, context) {
    const spec = service['spec'] as JsonObject
    const before = old['spec'] as JsonObject
    dropTypeFields(spec, before)
    if (spec['sessionAffinity'] === 'None' && before['sessionAffinity'] !== 'None') delete spec['sessionAffinityConfig']
    if (before['type'] === 'LoadBalancer' && spec['type'] !== 'LoadBalancer') service['status'] = { loadBalancer: {} }
    if (spec['type'] === 'ExternalName') return
    // A client that only knows the first address changes it alone.
    if (spec['clusterIP'] !== before['clusterIP'] && spec['clusterIP']) spec['clusterIPs'] = [spec['clusterIP']]
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
      if (spec[name] === undefined && before[name] !== undefined) spec[name] = clone(before[name])
    }
    const nodePorts = new Map(
      ports(before).reverse().map((port) => [`${port['port']} ${port['protocol']}`, port['nodePort']]),
    )
    for (const port of ports(spec)) {
      const node = spec['type'] === 'ClusterIP' ? undefined : nodePorts.get(`${port['port']} ${port['protocol']}`)
      if (node !== undefined) port['nodePort'] ??= node
    }
    assign(spec, context)
  },
  validate: serviceFaults,
  validateStatus(service) {
    const isAllowed = at(service, 'spec', 'type') === 'LoadBalancer' ||
      list(service, 'status', 'loadBalancer', 'ingress').length === 0
    const detail = "may only be used when `spec.type` is 'LoadBalancer'"
    return isAllowed ? [] : [fault.forbidden('status.loadBalancer.ingress', detail)]
  },
  warnings: serviceWarnings,
  fields: (service) => ({
    'spec.clusterIP': String(at(service, 'spec', 'clusterIP') ?? ''),
    'spec.type': String(at(service, 'spec', 'type') ?? ''),
  }),
}

/** Assigns the addresses and ports that a Service of its type has, in place. */
function assign(spec: JsonObject, context: PrepareContext): void {
  if (spec['type'] === 'ExternalName') return
  spec['clusterIP'] ??= clusterAddress(context)
  spec['clusterIPs'] ??= [spec['clusterIP']]
  spec['ipFamilies'] ??= ['IPv4']
  spec['ipFamilyPolicy'] ??= 'SingleStack'
  assignNodePorts(spec, context)
  if (spec['type'] === 'LoadBalancer' && spec['externalTrafficPolicy'] === 'Local') {
    spec['healthCheckNodePort'] ??= nodePort(context)
  }
}

/** Removes the fields that the new type of a Service does not have, if the update did not change them, in place. */
function dropTypeFields(spec: JsonObject, before: JsonObject): void {
  const drop = (...names: readonly string[]): void => {
    for (const name of names) if (jsonEqual(spec[name], before[name])) delete spec[name]
  }
  if (isExternal(before) && !isExternal(spec)) drop('externalTrafficPolicy')
  if (spec['type'] === before['type']) return
  if (spec['type'] === 'ExternalName') {
    drop('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy')
  }
  if (spec['type'] !== 'LoadBalancer') drop('allocateLoadBalancerNodePorts', 'healthCheckNodePort', 'loadBalancerClass')
  if (spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer') return
  const nodePorts = new Set(ports(before).map((port) => port['nodePort']))
  for (const port of ports(spec)) if (nodePorts.has(port['nodePort'])) delete port['nodePort']
}

function ports(spec: JsonObject): JsonObject[] {
  return Array.isArray(spec['ports']) ? spec['ports'].filter(isObject) : []
}

function clusterAddress({ random }: PrepareContext): string {
  return `10.96.${Math.floor(random() * 255)}.${1 + Math.floor(random() * 254)}`
}

const FIRST_NODE_PORT = 30000
const NODE_PORTS = 2768

function nodePort({ random }: PrepareContext): number {
  return FIRST_NODE_PORT + Math.floor(random() * NODE_PORTS)
}

function assignNodePorts(spec: JsonObject, context: PrepareContext): void {
  const needsNodePorts = spec['type'] === 'NodePort' ||
    (spec['type'] === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] !== false)
  if (needsNodePorts) {
    for (const port of ports(spec)) {
      port['nodePort'] ??= nodePort(context)
    }
  }
}

/** The fields that a Service ignores, and those that are deprecated. */
function serviceWarnings(service: ApiObject): string[] {
  const spec = service['spec'] as JsonObject
  const isExternalName = spec['type'] === 'ExternalName'
  const isHeadless = spec['type'] === 'ClusterIP' && spec['clusterIP'] === 'None'
  const hasExternalIps = Array.isArray(spec['externalIPs']) && spec['externalIPs'].length > 0
  const texts: readonly (readonly [boolean, string])[] = [
    [isHeadless && Boolean(spec['loadBalancerIP']), 'spec.loadBalancerIP is ignored for headless services'],
    [isHeadless && hasExternalIps, 'spec.externalIPs is ignored for headless services'],
    [isHeadless && spec['sessionAffinity'] !== 'None', 'spec.SessionAffinity is ignored for headless services'],
    [
      hasExternalIps && !isHeadless && !isExternalName,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ],
    [isExternalName && hasExternalIps, "spec.externalIPs is ignored when spec.type is 'ExternalName'"],
    [
      !isExternalName && Boolean(spec['externalName']),
      "spec.externalName is ignored when spec.type is not 'ExternalName'",
    ],
    [
      spec['trafficDistribution'] === 'PreferClose',
      "spec.trafficDistribution: 'PreferClose' is deprecated; use 'PreferSameZone'",
    ],
  ]
  return texts.filter(([applies]) => applies).map(([, text]) => text)
}
