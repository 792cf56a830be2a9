/** What a Service selects, and what becomes of a pod in its EndpointSlices. */
import { selectors } from 'kubeloop'
import type { DiscoveryV1EndpointPort, V1Endpoint, V1Node, V1Pod, V1Service } from 'kubeloop/kinds'
import { isPodReady } from './pod_plan.ts'

export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'
export const MANAGER = 'endpointslice-controller.k8s.io'
export const SERVICE_NAME = 'kubernetes.io/service-name'
const HEADLESS = 'service.kubernetes.io/headless'

export function selects({ spec }: V1Service, labels: Readonly<Record<string, string>> | undefined): boolean {
  return spec?.selector !== undefined && selectors.parseLabelSelector(spec.selector)(labels)
}

export function labelsOf({ metadata, spec }: V1Service): Record<string, string> {
  const { [HEADLESS]: _headless, ...labels } = metadata.labels ?? {}
  const isHeadless = !spec?.clusterIP || spec.clusterIP === 'None'
  return { ...labels, ...(isHeadless && { [HEADLESS]: '' }), [SERVICE_NAME]: metadata.name, [MANAGED_BY]: MANAGER }
}

/** Returns the ports of a Service on a pod, without those whose names no container has. */
export function portsOf({ spec }: V1Service, { spec: pod }: V1Pod): readonly DiscoveryV1EndpointPort[] {
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
export function keyOf(ports: readonly DiscoveryV1EndpointPort[] | null | undefined): string {
  const keys = ports?.map(({ name, port, protocol, appProtocol }) =>
    JSON.stringify([name, port, protocol, appProtocol])
  )
  return JSON.stringify(keys?.toSorted() ?? [])
}

export function endpointOf(service: V1Service, pod: V1Pod, node: V1Node | undefined): V1Endpoint {
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
