/** Keeps the EndpointSlices of Services with selectors. */
import { type Operator, owners, selectors } from 'kubeloop'
import {
  type DiscoveryV1EndpointPort,
  EndpointSlice,
  Node,
  Pod,
  Service,
  type V1Endpoint,
  type V1EndpointSlice,
  type V1Node,
  type V1Pod,
  type V1Service,
} from 'kubeloop/kinds'
import { jsonEqual } from '../../core/equal.ts'
import { unlessNamespaceEnds } from './pod_changes.ts'
import { isPodReady, isTerminal } from './pod_plan.ts'

const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'
const MANAGER = 'endpointslice-controller.k8s.io'
const SERVICE_NAME = 'kubernetes.io/service-name'
const HEADLESS = 'service.kubernetes.io/headless'
const MAX_ENDPOINTS = 100

export function addEndpointSlices(app: Operator): void {
  app.controllerFor(Service, { name: 'endpointslice', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(EndpointSlice)
    .watches(
      Pod,
      async ({ metadata: { namespace, labels } }, { client }) =>
        (await client.list(Service, { namespace })).filter((service) => selects(service, labels)),
    )
    .watches(Node, (_, { client }) => client.list(Service))
    .reconcile(async (service, { client }) => {
      const { metadata: { namespace, name, deletionTimestamp }, spec } = service
      if (!spec?.selector || spec.type === 'ExternalName') return
      const pods = (await client.list(Pod, { namespace })).filter(({ metadata }) => selects(service, metadata.labels))
      const slices = (await client.list(EndpointSlice, { namespace })).filter(({ metadata }) =>
        metadata.labels?.[SERVICE_NAME] === name && metadata.labels[MANAGED_BY] === MANAGER &&
        !metadata.deletionTimestamp
      )
      const { create, update, remove } = planSlices(service, pods, slices, await client.list(Node))
      for (const { labels, ...slice } of deletionTimestamp ? [] : create) {
        const wanted = { ...slice, addressType: 'IPv4', metadata: { namespace, generateName: `${name}-`, labels } }
        if (!await unlessNamespaceEnds(client.create(EndpointSlice, wanted, { owner: service }))) return
      }
      for (const slice of update) await client.update(EndpointSlice, slice)
      for (const slice of remove) await client.delete(EndpointSlice, slice, { uid: slice.metadata.uid })
    })
}

interface SliceContent {
  readonly labels: Readonly<Record<string, string>>
  readonly ports: readonly DiscoveryV1EndpointPort[]
  readonly endpoints: V1Endpoint[]
}

export interface SlicesPlan {
  readonly create: SliceContent[]
  readonly update: V1EndpointSlice[]
  readonly remove: V1EndpointSlice[]
}

/** Returns what to do with the slices of a Service: endpoints stay where they are, and few slices change. */
export function planSlices(
  service: V1Service,
  pods: readonly V1Pod[],
  slices: readonly V1EndpointSlice[],
  nodes: readonly V1Node[],
): SlicesPlan {
  const labels = labelsOf(service)
  const plan: SlicesPlan = { create: [], update: [], remove: [] }
  // Those with equal ports share slices.
  const groups = Map.groupBy(
    pods.filter((pod) => !isTerminal(pod) && pod.status?.podIP),
    (pod) => keyOf(portsOf(service, pod)),
  )
  const isOwn = (slice: V1EndpointSlice): boolean => owners.controllerOf(slice)?.uid === service.metadata.uid
  plan.remove.push(...slices.filter((each) => !isOwn(each) || !groups.has(keyOf(each.ports))))
  for (const [key, members] of groups) {
    const wanted = new Map(members.flatMap((pod) => {
      const node = nodes.find(({ metadata }) => metadata.name === pod.spec?.nodeName)
      const isLost = !node && !service.spec?.publishNotReadyAddresses
      return isLost ? [] : [[pod.metadata.uid, endpointOf(service, pod, node)] as const]
    }))
    const own = slices.filter((each) => isOwn(each) && keyOf(each.ports) === key)
    fillSlices(own, { labels, ports: portsOf(service, members[0]!) }, wanted, plan)
  }
  // A Service without endpoints has one empty slice.
  if (slices.length === plan.remove.length && plan.create.length === 0) {
    plan.create.push({ labels, ports: [], endpoints: [] })
  }
  // A new one takes the place of one that would go.
  for (const slice of plan.remove.filter(isOwn)) {
    const content = plan.create.pop()
    if (!content) break
    plan.remove.splice(plan.remove.indexOf(slice), 1)
    if (!isEqual(slice, content)) plan.update.push(changed(slice, content))
  }
  return plan
}

/** Adds new endpoints to slices that change anyway, then to one with room for all. */
function fillSlices(
  slices: readonly V1EndpointSlice[],
  common: Pick<SliceContent, 'labels' | 'ports'>,
  left: Map<string, V1Endpoint>,
  plan: SlicesPlan,
): void {
  const fill = (content: SliceContent): SliceContent => {
    for (const [uid, endpoint] of [...left].slice(0, MAX_ENDPOINTS - content.endpoints.length)) {
      content.endpoints.push(endpoint)
      left.delete(uid)
    }
    return content
  }
  const kept = slices.flatMap((slice) => {
    const endpoints = (slice.endpoints ?? []).flatMap(({ targetRef: { uid = '' } = {} }) => {
      const endpoint = left.get(uid)
      left.delete(uid)
      return endpoint ?? []
    })
    if (endpoints.length > 0 || !slice.endpoints?.length) return [{ slice, content: { ...common, endpoints } }]
    plan.remove.push(slice)
    return []
  }).toSorted((a, b) => b.content.endpoints.length - a.content.endpoints.length)
  for (const { slice, content } of kept) if (!isEqual(slice, content)) fill(content)
  const roomy = kept.find(({ content }) => content.endpoints.length + left.size <= MAX_ENDPOINTS)
  if (roomy) fill(roomy.content)
  while (left.size > 0) plan.create.push(fill({ ...common, endpoints: [] }))
  for (const { slice, content } of kept) if (!isEqual(slice, content)) plan.update.push(changed(slice, content))
}

function changed(slice: V1EndpointSlice, { labels, ports, endpoints }: SliceContent): V1EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, labels }, ports, endpoints }
}

function isEqual(slice: V1EndpointSlice, wanted: SliceContent): boolean {
  return keyOf(slice.ports) === keyOf(wanted.ports) &&
    jsonEqual([slice.metadata.labels, slice.endpoints ?? []], [wanted.labels, wanted.endpoints])
}

function selects({ spec }: V1Service, labels: Readonly<Record<string, string>> | undefined): boolean {
  return spec?.selector !== undefined && selectors.parseLabelSelector(spec.selector)(labels)
}

function labelsOf({ metadata, spec }: V1Service): Record<string, string> {
  const { [HEADLESS]: _headless, ...labels } = metadata.labels ?? {}
  const isHeadless = !spec?.clusterIP || spec.clusterIP === 'None'
  return { ...labels, ...(isHeadless && { [HEADLESS]: '' }), [SERVICE_NAME]: metadata.name, [MANAGED_BY]: MANAGER }
}

/** Returns the ports of a Service on a pod, without those whose names no container has. */
function portsOf({ spec }: V1Service, { spec: pod }: V1Pod): readonly DiscoveryV1EndpointPort[] {
  const containers = [
    ...pod?.containers ?? [],
    ...pod?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? [],
  ]
  return (spec?.ports ?? []).flatMap(({ name = '', port, protocol = 'TCP', appProtocol, targetPort = port }) => {
    const number = typeof targetPort === 'number' ? targetPort : containers.flatMap(({ ports = [] }) => ports)
      .find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol)?.containerPort
    return number === undefined ? [] : [{ name, port: number, protocol, ...(appProtocol && { appProtocol }) }]
  })
}

/** Ports are equal in any order. A server has null for none. */
function keyOf(ports: readonly DiscoveryV1EndpointPort[] | null | undefined): string {
  const keys = ports?.map(({ name, port, protocol, appProtocol }) =>
    JSON.stringify([name, port, protocol, appProtocol])
  )
  return JSON.stringify(keys?.toSorted() ?? [])
}

function endpointOf(service: V1Service, pod: V1Pod, node: V1Node | undefined): V1Endpoint {
  const { metadata: { namespace, name, uid, deletionTimestamp }, spec, status } = pod
  const [serving, terminating] = [isPodReady(pod), deletionTimestamp !== undefined]
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const zone = node?.metadata.labels?.['topology.kubernetes.io/zone']
  const isNamed = spec?.hostname && spec.subdomain === service.metadata.name
  return {
    addresses: [status!.podIP!],
    conditions: { ready, serving, terminating },
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(spec?.nodeName && { nodeName: spec.nodeName }),
    ...(zone && { zone }),
    ...(isNamed && { hostname: spec.hostname }),
  }
}
