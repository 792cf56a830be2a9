/** Runs pods on the one simulated node: a scheduler and a kubelet without containers. */
import { EventChannel, isReason, type Operator } from 'kubeloop'
import type { LogLine } from 'kubeloop/apiserver'
import { Node, Pod, type V1Pod } from 'kubeloop/kinds'
import { planPod, type PodTimes } from './pod_plan.ts'
import type { PodScript } from './pod_script.ts'
import { instant } from './instant.ts'

type PodKey = { readonly namespace: string; readonly name: string }

/** The name of the node. */
export const NODE = 'kubeloop'
const NODE_IP = '10.0.0.1'

/** Adds the controller of pods. Returns a function that queues pods whose script has changed. */
export function addPods(app: Operator, script: PodScript, times: PodTimes): (keys: Iterable<PodKey>) => void {
  const changed = new EventChannel<PodKey>(Number.MAX_SAFE_INTEGER)
  /** Since when each pod has its phase, by uid: times of a status are in whole seconds. */
  const since = new Map<string, { readonly phase: string | undefined; readonly ms: number }>()
  const addresses = new Addresses()
  app.controllerFor(Pod, { name: 'kubelet', fieldManager: 'kubelet', concurrency: 10 })
    .from('script', () => changed)
    .watches(Pod, ({ metadata: { uid }, status }, { event }) => {
      // Of a first list all pods pass here before the first reconcile, which may need an address.
      if (event.kind !== 'deleted') addresses.note(uid, status?.podIP)
      else {
        since.delete(uid)
        addresses.free(uid)
      }
      return []
    })
    .reconcile(async (pod, { client, clock, events }) => {
      const { uid } = pod.metadata
      const { phase } = pod.status ?? {}
      const nowMs = clock.now()
      if (since.get(uid)?.phase !== phase) since.set(uid, { phase, ms: nowMs })
      const seen = { pod, nowMs, sinceMs: since.get(uid)!.ms, rule: script.ruleOf(pod), times }
      const step = planPod({ ...seen, node: NODE, ip: addresses.of(uid), hostIP: NODE_IP })
      switch (step.do) {
        case 'nothing':
          return
        case 'wait':
          return { requeueAfter: step.ms }
        case 'bind': {
          const target = { apiVersion: 'v1', kind: 'Node', name: NODE } as const
          try {
            await client.subresource(Pod, pod, 'binding').create({ target })
          } catch (error) {
            // It was bound or deleted meanwhile.
            if (!isReason(error, 'Conflict', 'NotFound')) throw error
            return
          }
          const { namespace, name } = pod.metadata
          return events.normal(pod, 'Scheduled', `Successfully assigned ${namespace}/${name} to ${NODE}`)
        }
        case 'remove':
          return void await client.delete(Pod, pod, { gracePeriodSeconds: 0, uid })
        case 'status': {
          const { status } = await client.setStatus(Pod, pod, step.status)
          if (status?.phase !== phase) since.set(uid, { phase: status?.phase, ms: nowMs })
          return
        }
      }
    })
  return (keys) => {
    for (const key of keys) void changed.send(key)
  }
}

/** The addresses of pods: each is given to one pod at a time. */
class Addresses {
  readonly #ofPods = new Map<string, string>()
  readonly #used = new Set<string>()
  #next = 1

  note(uid: string, ip: string | undefined): void {
    if (ip === undefined) return
    this.#ofPods.set(uid, ip)
    this.#used.add(ip)
  }

  of(uid: string): string {
    const ip = this.#ofPods.get(uid) ?? this.#take()
    this.note(uid, ip)
    return ip
  }

  free(uid: string): void {
    this.#used.delete(this.#ofPods.get(uid) ?? '')
    this.#ofPods.delete(uid)
  }

  #take(): string {
    for (;; this.#next++) {
      const ip = `10.244.${(this.#next >> 8) & 255}.${this.#next & 255}`
      if (!this.#used.has(ip)) return ip
    }
  }
}

/** Adds the node, once. */
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

/**
 * Returns the lines of a container's log; undefined before it has started. `script`: those of a test are beside the
 * line that every container has.
 */
export function logOf(pod: V1Pod, container: string, script: PodScript): readonly LogLine[] {
  const statuses = [...pod.status?.containerStatuses ?? [], ...pod.status?.initContainerStatuses ?? []]
  const status = statuses.find(({ name }) => name === container)
  const { running, terminated } = { ...status?.lastState, ...status?.state }
  const atMs = Date.parse(running?.startedAt ?? terminated?.startedAt ?? pod.status?.startTime ?? '')
  const lines = script.linesOf(pod)
  if (lines.length > 0) return lines.map((line) => ({ ...line, atMs: Math.max(line.atMs, atMs) }))
  return [{ atMs, text: `kubeloop simulates this container: the image ${status?.image} does not run` }]
}
