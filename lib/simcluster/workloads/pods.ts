/** Runs pods on the one simulated node: a scheduler and a kubelet without containers. */
import { EventChannel, isReason, type Operator } from 'kubeloop'
import type { PodLog } from 'kubeloop/apiserver'
import { Node, Pod, type V1Pod } from 'kubeloop/kinds'
import { unlessRefused } from './pod_changes.ts'
import { planPod, type PodTimes } from './pod_plan.ts'
import type { PodScript } from './pod_script.ts'
import { instant } from '../../core/duration.ts'

type PodKey = { readonly namespace: string; readonly name: string }

export const NODE = 'kubeloop'
const NODE_IP = '10.0.0.1'

/** Adds the controller of pods. It looks at all of them when the script changes. */
export function addPods(app: Operator, script: PodScript, times: PodTimes): void {
  const changed = new EventChannel<PodKey>(Number.MAX_SAFE_INTEGER)
  const known = new KnownPods()
  script.onChange(() => known.forEach(({ key }) => void changed.send(key)))
  app.controllerFor(Pod, { name: 'kubelet', fieldManager: 'kubelet', concurrency: 10 })
    .from('script', () => changed)
    .watches(Pod, (pod, { event }) => {
      if (event.kind === 'deleted') known.delete(pod.metadata.uid)
      // Of a first list all pods pass here before the first reconcile, which may need an address.
      else if (pod.status?.podIP) known.assign(known.of(pod), pod.status.podIP)
      return []
    })
    .reconcile(async (pod, { client, clock, events }) => {
      const { uid, namespace, name } = pod.metadata
      const { phase } = pod.status ?? {}
      const nowMs = clock.now()
      const own = known.of(pod)
      if (!own.since || own.since.phase !== phase) own.since = { phase, ms: nowMs }
      const seen = { pod, nowMs, sinceMs: own.since.ms, rule: script.ruleOf(pod), times }
      const step = planPod({ ...seen, node: NODE, ip: known.addressOf(own), hostIP: NODE_IP })
      if (typeof step === 'number') return { requeueAfter: step }
      if (step === 'bind') {
        const target = { apiVersion: 'v1', kind: 'Node', name: NODE } as const
        // It may be bound or deleted meanwhile.
        const bound = client.subresource(Pod, pod, 'binding').create({ target })
        if (!await unlessRefused(bound, (error) => isReason(error, 'Conflict', 'NotFound'))) return undefined
        events.normal(pod, 'Scheduled', `Successfully assigned ${namespace}/${name} to ${NODE}`)
      } else if (step === 'remove') await client.delete(Pod, pod, { gracePeriodSeconds: 0, uid })
      else if (step) {
        const { status } = await client.setStatus(Pod, pod, step)
        if (status?.phase !== phase) own.since = { phase: status?.phase, ms: nowMs }
      }
      return undefined
    })
}

interface KnownPod {
  readonly uid: string
  readonly key: PodKey
  ip?: string
  /** Since when it has its phase: times of a status are in whole seconds. */
  since?: { readonly phase: string | undefined; readonly ms: number }
}

/** The pods that there are, by uid. Each address is given to one of them at a time. */
export class KnownPods extends Map<string, KnownPod> {
  /** By address: the uid of the pod that has it, or had it last. */
  readonly #takers = new Map<string, string>()
  #next = 1

  of({ metadata: { uid, namespace, name } }: V1Pod): KnownPod {
    const known = this.get(uid) ?? { uid, key: { namespace, name } }
    this.set(uid, known)
    return known
  }

  assign(pod: KnownPod, ip: string): void {
    pod.ip = ip
    this.#takers.set(ip, pod.uid)
  }

  addressOf(pod: KnownPod): string {
    for (; pod.ip === undefined; this.#next++) {
      const ip = `10.244.${(this.#next >> 8) & 255}.${this.#next & 255}`
      if (!this.has(this.#takers.get(ip) ?? '')) this.assign(pod, ip)
    }
    return pod.ip
  }
}

export function addNode(app: Operator): void {
  app.add('node', async ({ client, clock }) => {
    const labels = { 'kubernetes.io/hostname': NODE, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
    const { object } = await client.createIfMissing(Node, { metadata: { name: NODE, labels } })
    const at = instant(clock.now())
    const resources = { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' }
    const ready = { reason: 'KubeletReady', message: 'kubeloop simulates this node: its pods run no programs' }
    await client.setStatus(Node, object, {
      capacity: resources,
      allocatable: resources,
      addresses: [{ type: 'InternalIP', address: NODE_IP }, { type: 'Hostname', address: NODE }],
      conditions: object.status?.conditions ??
        [{ type: 'Ready', status: 'True', ...ready, lastHeartbeatTime: at, lastTransitionTime: at }],
    })
  })
}

/** Returns what answers requests for logs: the lines of a test, or the line that every container has. */
export function podLogOf(script: PodScript): PodLog {
  return (given, name, follow) => {
    if (follow) script.onLine(follow.more, follow.signal)
    const pod = given as unknown as V1Pod
    const statuses = [...pod.status?.containerStatuses ?? [], ...pod.status?.initContainerStatuses ?? []]
    const status = statuses.find((each) => each.name === name)
    const { running, terminated } = { ...status?.lastState, ...status?.state }
    const atMs = Date.parse(running?.startedAt ?? terminated?.startedAt ?? pod.status?.startTime ?? '')
    const lines = script.linesOf(pod)
    if (lines.length > 0) return lines.map((line) => ({ ...line, atMs: Math.max(line.atMs, atMs) }))
    return [{ atMs, text: `kubeloop simulates this container: the image ${status?.image} does not run` }]
  }
}
