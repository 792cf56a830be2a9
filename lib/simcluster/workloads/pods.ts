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
  const keys = new Map<string, PodKey>()
  script.onChange(() => keys.forEach((key) => void changed.send(key)))
  /** Since when each pod has its phase, by uid: times of a status are in whole seconds. */
  const since = new Map<string, { readonly phase: string | undefined; readonly ms: number }>()
  const addresses = new Addresses()
  app.controllerFor(Pod, { name: 'kubelet', fieldManager: 'kubelet', concurrency: 10 })
    .from('script', () => changed)
    .watches(Pod, ({ metadata: { uid, namespace, name }, status }, { event }) => {
      if (event.kind === 'deleted') { for (const each of [keys, since, addresses]) each.delete(uid) }
      else {
        keys.set(uid, { namespace, name })
        // Of a first list all pods pass here before the first reconcile, which may need an address.
        if (status?.podIP) addresses.set(uid, status.podIP)
      }
      return []
    })
    .reconcile(async (pod, { client, clock, events }) => {
      const { uid, namespace, name } = pod.metadata
      const { phase } = pod.status ?? {}
      const nowMs = clock.now()
      if (since.get(uid)?.phase !== phase) since.set(uid, { phase, ms: nowMs })
      const seen = { pod, nowMs, sinceMs: since.get(uid)!.ms, rule: script.ruleOf(pod), times }
      const step = planPod({ ...seen, node: NODE, ip: addresses.of(uid), hostIP: NODE_IP })
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
        if (status?.phase !== phase) since.set(uid, { phase: status?.phase, ms: nowMs })
      }
      return undefined
    })
}

/** The addresses of pods, by uid: each is given to one pod at a time. */
class Addresses extends Map<string, string> {
  readonly #used = new Set<string>()
  #next = 1

  override set(uid: string, ip: string): this {
    this.#used.add(ip)
    return super.set(uid, ip)
  }

  override delete(uid: string): boolean {
    this.#used.delete(this.get(uid) ?? '')
    return super.delete(uid)
  }

  of(uid: string): string {
    for (; !this.has(uid); this.#next++) {
      const ip = `10.244.${(this.#next >> 8) & 255}.${this.#next & 255}`
      if (!this.#used.has(ip)) this.set(uid, ip)
    }
    return this.get(uid)!
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
