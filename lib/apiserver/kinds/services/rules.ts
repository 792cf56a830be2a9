/** The rules of Services, and the addresses and ports that the server assigns. */
import { jsonEqual } from '../../../core/equal.ts'
import { at, clone, type JsonObject, list } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { child, parentsOf } from '../common/fill.ts'
import { isExternal, serviceFaults } from './checks.ts'
import { checked, ifSet, unset } from '../../model/checks.ts'
import { selectable } from '../../model/selectors.ts'

export const SERVICE_RULES: Partial<Rules> = {
  nameRule: 'label',
  createOnUpdate: true,
  defaults(service) {
    const spec = child(service, 'spec')
    spec['sessionAffinity'] ??= 'None'
    spec['type'] ??= 'ClusterIP'
    if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
    if (spec['sessionAffinity'] === 'ClientIP') {
      spec['sessionAffinityConfig'] ??= { clientIP: { timeoutSeconds: 10800 } }
    }
    if (spec['type'] !== 'ExternalName') spec['internalTrafficPolicy'] ??= 'Cluster'
    if (isExternal(spec)) spec['externalTrafficPolicy'] ??= 'Cluster'
    if (spec['type'] === 'LoadBalancer') {
      spec['allocateLoadBalancerNodePorts'] ??= true
      for (const ingress of parentsOf(service, ['status', 'loadBalancer', 'ingress[]'])) {
        if (ingress['ip']) ingress['ipMode'] ??= 'VIP'
      }
    }
    for (const port of list(spec, 'ports')) {
      port['protocol'] ??= 'TCP'
      port['targetPort'] ||= port['port']!
    }
  },
  prepareCreate: (service, context) => assign(service['spec'] as JsonObject, context),
  prepareUpdate(service, old, context) {
    const spec = service['spec'] as JsonObject
    const before = old['spec'] as JsonObject
    dropTypeFields(spec, before)
    if (before['type'] === 'LoadBalancer' && spec['type'] !== 'LoadBalancer') service['status'] = { loadBalancer: {} }
    if (spec['type'] === 'ExternalName') return
    // A client that only knows the first address changes it alone.
    if (spec['clusterIP'] !== before['clusterIP'] && spec['clusterIP']) spec['clusterIPs'] = [spec['clusterIP']]
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
      if (spec[name] === undefined && before[name] !== undefined) spec[name] = clone(before[name])
    }
    const nodePorts = new Map(
      list(before, 'ports').toReversed().map((port) => [`${port['port']} ${port['protocol']}`, port['nodePort']]),
    )
    for (const port of list(spec, 'ports')) {
      const node = spec['type'] === 'ClusterIP' ? undefined : nodePorts.get(`${port['port']} ${port['protocol']}`)
      if (node !== undefined) port['nodePort'] ??= node
    }
    assign(spec, context)
  },
  validate: serviceFaults,
  validateStatus: (service) =>
    at(service, 'spec', 'type') === 'LoadBalancer' ? [] : checked(service, [[
      'status.loadBalancer.ingress',
      ifSet(unset("may only be used when `type` is 'LoadBalancer'")),
    ]]),
  fields: selectable('spec.clusterIP', 'spec.type'),
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
  const nodePorts = new Set(list(before, 'ports').map((port) => port['nodePort']))
  for (const port of list(spec, 'ports')) if (nodePorts.has(port['nodePort'])) delete port['nodePort']
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
  if (needsNodePorts) { for (const port of list(spec, 'ports')) port['nodePort'] ??= nodePort(context) }
}
