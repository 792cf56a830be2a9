/** The cells of kinds of the core group, as kube-apiserver prints them. */
import { type ApiObject, at, isObject, list, num, str } from '../../model/json.ts'
import { age, type Column } from '../../model/columns.ts'
import { AGE, firstOf, labelsText, NAME, text, wide } from '../common/columns.ts'

/** Returns the addresses of Endpoints, with their ports; the first three of them. */
export function endpointsText(endpoints: ApiObject): string {
  const all = list(endpoints, 'subsets').flatMap((subset) => {
    const addresses = list(subset, 'addresses').map((address) => str(address, 'ip'))
    const ports = list(subset, 'ports').map((port) => String(port['port']))
    return ports.length === 0
      ? addresses
      : ports.flatMap((port) => addresses.map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`))
  })
  return list(endpoints, 'subsets').length === 0 ? '<none>' : firstOf(all, 3)
}

function firstSeen(event: ApiObject, nowMs: number): string {
  const first = str(event, 'firstTimestamp') || str(event, 'deprecatedFirstTimestamp') || str(event, 'eventTime')
  return age(first || undefined, nowMs)
}

function lastSeen(event: ApiObject, nowMs: number): string {
  if (isObject(event['series'])) return age(str(event, 'series', 'lastObservedTime') || undefined, nowMs)
  const last = str(event, 'lastTimestamp') || str(event, 'deprecatedLastTimestamp')
  return last ? age(last, nowMs) : firstSeen(event, nowMs)
}

const involved = (event: ApiObject, name: string): string => str(event['involvedObject'] ?? event['regarding'], name)

function eventSource(event: ApiObject): string {
  const source = event['source'] ?? event['deprecatedSource']
  const component = str(source, 'component') || str(event, 'reportingComponent') || str(event, 'reportingController')
  const instance = str(source, 'host') || str(event, 'reportingInstance')
  return instance ? `${component}, ${instance}` : component
}

/** The columns of Events, in the forms of both groups. */
export const EVENT_COLUMNS: readonly Column[] = [
  text('Last Seen', lastSeen),
  text('Type', 'type'),
  text('Reason', 'reason'),
  text('Object', (event) => {
    const [kind, name] = [involved(event, 'kind').toLowerCase(), involved(event, 'name')]
    return name ? `${kind}/${name}` : kind
  }),
  wide(text('Subobject', (event) => involved(event, 'fieldPath'))),
  wide(text('Source', eventSource)),
  text('Message', (event) => (str(event, 'message') || str(event, 'note')).trim()),
  wide(text('First Seen', firstSeen)),
  wide(text('Count', (event) => {
    if (isObject(event['series'])) return num(event, 'series', 'count')
    return num(event, 'count') || num(event, 'deprecatedCount') || 1
  })),
  wide(NAME),
]

function nodeStatus(node: ApiObject): string {
  const ready = list(node, 'status', 'conditions').findLast((each) => each['type'] === 'Ready')
  const status = ready ? (ready['status'] === 'True' ? 'Ready' : 'NotReady') : 'Unknown'
  return at(node, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status
}

function nodeRoles({ metadata }: ApiObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith('node-role.kubernetes.io/')) return [key.slice('node-role.kubernetes.io/'.length)]
    return key === 'kubernetes.io/role' ? [value] : []
  })
  return [...new Set(roles.filter(Boolean))].sort().join(',') || '<none>'
}

function nodeAddress(node: ApiObject, type: string): string {
  return str(list(node, 'status', 'addresses').find((each) => each['type'] === type), 'address') || '<none>'
}

export const NODE_COLUMNS: readonly Column[] = [
  NAME,
  text('Status', nodeStatus),
  text('Roles', nodeRoles),
  AGE,
  text('Version', 'status.nodeInfo.kubeletVersion'),
  ...[
    text('Internal-IP', (node) => nodeAddress(node, 'InternalIP')),
    text('External-IP', (node) => nodeAddress(node, 'ExternalIP')),
    text('OS-Image', 'status.nodeInfo.osImage', '<unknown>'),
    text('Kernel-Version', (node) => {
      const architecture = str(node, 'status', 'nodeInfo', 'architecture')
      const kernel = str(node, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>'
      return architecture ? `${kernel} (${architecture})` : kernel
    }),
    text('Container-Runtime', 'status.nodeInfo.containerRuntimeVersion', '<unknown>'),
  ].map(wide),
]

/** Returns the limits or the other resources of a quota as `name: used/hard`. */
export function quotaText(quota: ApiObject, isLimits: boolean): string {
  const hard = at(quota, 'status', 'hard')
  const names = Object.keys(isObject(hard) ? hard : {}).sort().filter((name) => name.startsWith('limits.') === isLimits)
  return names.map((name) => `${name}: ${str(quota, 'status', 'used', name) || '0'}/${str(hard, name)}`).join(', ')
}

function externalIps(service: ApiObject): string {
  const given = at(service, 'spec', 'externalIPs')
  const external = Array.isArray(given) ? given.map(String) : []
  switch (str(service, 'spec', 'type')) {
    case 'LoadBalancer': {
      const assigned = loadBalancerText(service)
      const all = [...(assigned ? [assigned] : []), ...external]
      return all.join(',') || '<pending>'
    }
    case 'ExternalName':
      return str(service, 'spec', 'externalName')
    default:
      return external.join(',') || '<none>'
  }
}

/** Returns the addresses of a load balancer in the status of a Service or an Ingress. */
export function loadBalancerText(object: ApiObject): string {
  const addresses = list(object, 'status', 'loadBalancer', 'ingress').map((each) =>
    str(each, 'ip') || str(each, 'hostname')
  )
  return [...new Set(addresses.filter(Boolean))].sort().join(',')
}

function servicePorts(service: ApiObject): string {
  const ports = list(service, 'spec', 'ports').map((port) => {
    const node = port['nodePort'] ? `:${String(port['nodePort'])}` : ''
    return `${String(port['port'])}${node}/${String(port['protocol'])}`
  })
  return ports.join(',') || '<none>'
}

export const SERVICE_COLUMNS: readonly Column[] = [
  NAME,
  text('Type', 'spec.type'),
  text('Cluster-IP', (service) => {
    const ips = at(service, 'spec', 'clusterIPs')
    return Array.isArray(ips) && ips[0] ? ips[0] : '<none>'
  }),
  text('External-IP', externalIps),
  text('Port(s)', servicePorts),
  AGE,
  wide(text('Selector', (service) => labelsText(at(service, 'spec', 'selector')))),
]
