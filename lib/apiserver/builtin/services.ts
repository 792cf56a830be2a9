/** The rules of Services, and the addresses and ports that the server assigns. */
import { type ApiObject, at, clone, isObject, type JsonObject } from '../json.ts'
import type { PrepareContext, Rules } from '../kinds.ts'
import { immutable } from '../storage/objects.ts'
import { type Cause, fault } from '../http/status.ts'

export const SERVICE_RULES: Partial<Rules> = {
  nameRule: 'label1035',
  createOnUpdate: true,
  defaults(service) {
    const spec = isObject(service['spec']) ? service['spec'] : {}
    service['spec'] = spec
    spec['sessionAffinity'] ??= 'None'
    spec['type'] ??= 'ClusterIP'
    if (spec['sessionAffinity'] === 'ClientIP') {
      spec['sessionAffinityConfig'] ??= { clientIP: { timeoutSeconds: 10800 } }
    }
    if (spec['type'] !== 'ExternalName') spec['internalTrafficPolicy'] ??= 'Cluster'
    if (spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer') spec['externalTrafficPolicy'] ??= 'Cluster'
    if (spec['type'] === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true
    for (const port of ports(spec)) {
      port['protocol'] ??= 'TCP'
      if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '') {
        port['targetPort'] = port['port']!
      }
    }
  },
  prepareCreate(service, context) {
    service['status'] = { loadBalancer: {} }
    const spec = service['spec'] as JsonObject
    if (spec['type'] === 'ExternalName') return
    spec['clusterIP'] ??= clusterAddress(context)
    spec['clusterIPs'] ??= [spec['clusterIP']!]
    spec['ipFamilies'] ??= ['IPv4']
    spec['ipFamilyPolicy'] ??= 'SingleStack'
    assignNodePorts(spec, context)
  },
  prepareUpdate(service, old) {
    const spec = service['spec'] as JsonObject
    const before = old['spec'] as JsonObject
    if (spec['type'] === 'ExternalName') return
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
      if (spec[name] === undefined && before[name] !== undefined) spec[name] = clone(before[name])
    }
    for (const port of ports(spec)) {
      const same = ports(before).find((other) =>
        other['port'] === port['port'] && other['protocol'] === port['protocol']
      )
      const node = spec['type'] === 'ClusterIP' ? undefined : same?.['nodePort']
      if (node !== undefined) port['nodePort'] ??= node
    }
  },
  validate: serviceFaults,
  fields: (service) => ({
    'spec.clusterIP': String(at(service, 'spec', 'clusterIP') ?? ''),
    'spec.type': String(at(service, 'spec', 'type') ?? ''),
  }),
}

function ports(spec: JsonObject): JsonObject[] {
  return Array.isArray(spec['ports']) ? spec['ports'].filter(isObject) : []
}

function clusterAddress({ random }: PrepareContext): string {
  return `10.96.${Math.floor(random() * 255)}.${1 + Math.floor(random() * 254)}`
}

const FIRST_NODE_PORT = 30000
const NODE_PORTS = 2768

function assignNodePorts(spec: JsonObject, { random }: PrepareContext): void {
  const needsNodePorts = spec['type'] === 'NodePort' ||
    (spec['type'] === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] !== false)
  if (needsNodePorts) {
    for (const port of ports(spec)) {
      port['nodePort'] ??= FIRST_NODE_PORT + Math.floor(random() * NODE_PORTS)
    }
  }
}

function serviceFaults(service: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = service['spec'] as JsonObject
  const faults: Cause[] = []
  const all = ports(spec)
  const headless = spec['clusterIP'] === 'None'
  if (all.length === 0 && spec['type'] !== 'ExternalName' && !headless) faults.push(fault.required('spec.ports'))
  for (const [index, port] of all.entries()) {
    const path = `spec.ports[${index}]`
    if (all.length > 1 && !port['name']) faults.push(fault.required(`${path}.name`))
    const number = Number(port['port'] ?? 0)
    if (number < 1 || number > 65535) {
      faults.push(fault.invalid(`${path}.port`, number, 'must be between 1 and 65535, inclusive'))
    }
  }
  const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
  if (!types.includes(String(spec['type']))) faults.push(fault.notSupported('spec.type', spec['type'], types))
  const before = at(old, 'spec', 'clusterIP')
  if (before && spec['type'] !== 'ExternalName' && spec['clusterIP'] !== before) {
    faults.push(immutable('spec.clusterIP', spec['clusterIP']))
  }
  return faults
}
