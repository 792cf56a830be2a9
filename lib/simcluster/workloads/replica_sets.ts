/** Keeps the number of pods of ReplicaSets. */
import type { Client, Operator } from 'kubeloop'
import { Pod, ReplicaSet, type V1Pod, type V1ReplicaSet, type V1ReplicaSetStatus } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { isTerminal } from './job_counts.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, isNamespaceEnding } from './pod_changes.ts'
import { availability, isPodActive, isPodReady, untilAvailable } from './pod_plan.ts'
import { instant } from './instant.ts'

/** Pods that are created or deleted at once, as by a cluster's controller. */
const BURST = 500

export interface ReplicasPlan {
  /** The number of pods to create. */
  readonly create: number
  /** The pods to delete. */
  readonly remove: readonly V1Pod[]
}

/** Adds the controller of ReplicaSets. */
export function addReplicaSets(app: Operator): void {
  app.controllerFor(ReplicaSet, { name: 'replicaset', fieldManager: 'kube-controller-manager', concurrency: 10 })
    .owns(Pod)
    .watches(Pod, (pod, { client }) => adopters(client, ReplicaSet, pod))
    .reconcile(async (set, { client, clock, events }) => {
      const pods = await claim(client, podsByOwner, set)
      const nowMs = clock.now()
      const { create, remove } = planReplicas(set, pods)
      const after = [...pods]
      let failure: { readonly reason: string; readonly message: string } | undefined
      try {
        const changes = { create: Array.from({ length: create }, () => () => createPod(client, set)), remove }
        await changePods({ client, events }, set, changes, after)
      } catch (error) {
        if (isNamespaceEnding(error)) return
        failure = { reason: create > 0 ? 'FailedCreate' : 'FailedDelete', message: messageOf(error) }
        events.warning(set, failure.reason, `Error ${create > 0 ? 'creating' : 'deleting'}: ${failure.message}`)
      }
      await client.setStatus(ReplicaSet, set, statusOfSet(set, after, nowMs, failure))
      if (failure) return { requeue: true }
      const leftMs = untilAvailable(pods, set.spec?.minReadySeconds ?? 0, nowMs)
      return leftMs === undefined ? undefined : { requeueAfter: leftMs }
    })
}

/** Returns how many pods a ReplicaSet lacks, or which it has too many. */
export function planReplicas(set: V1ReplicaSet, pods: readonly V1Pod[]): ReplicasPlan {
  if (set.metadata.deletionTimestamp) return { create: 0, remove: [] }
  const active = pods.filter(isPodActive)
  const more = (set.spec?.replicas ?? 1) - active.length
  const remove = active.toSorted(firstToDelete).slice(0, Math.min(Math.max(0, -more), BURST))
  return { create: Math.min(Math.max(0, more), BURST), remove }
}

const PHASES = ['Pending', 'Unknown', 'Running']

/** Orders pods: those that are of least use first. */
function firstToDelete(a: V1Pod, b: V1Pod): number {
  const ranks = (pod: V1Pod): readonly number[] => [
    pod.spec?.nodeName ? 1 : 0,
    PHASES.indexOf(pod.status?.phase ?? 'Pending'),
    isPodReady(pod) ? 1 : 0,
    Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0) || 0,
    -readySince(pod),
    -Math.max(0, ...pod.status?.containerStatuses?.map(({ restartCount }) => restartCount) ?? []),
    -Date.parse(pod.metadata.creationTimestamp),
  ]
  const [left, right] = [ranks(a), ranks(b)]
  const at = left.findIndex((rank, at) => rank !== right[at])
  return at < 0 ? (a.metadata.name < b.metadata.name ? -1 : 1) : left[at]! - right[at]!
}

function readySince({ status }: V1Pod): number {
  const ready = status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  return ready ? Date.parse(ready.lastTransitionTime ?? '') : 0
}

/** Returns the status of a ReplicaSet with these pods. `failure`: why pods cannot be created or deleted. */
export function statusOfSet(
  set: V1ReplicaSet,
  pods: readonly V1Pod[],
  nowMs: number,
  failure?: { readonly reason: string; readonly message: string },
): V1ReplicaSetStatus {
  const active = pods.filter(isPodActive)
  const labels = Object.entries(set.spec?.template?.metadata?.labels ?? {})
  const available = active.filter((pod) => availability(pod, set.spec?.minReadySeconds ?? 0, nowMs) === 0)
  const others = set.status?.conditions?.filter(({ type }) => type !== 'ReplicaFailure') ?? []
  const known = set.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  const fresh = { type: 'ReplicaFailure', status: 'True', lastTransitionTime: instant(nowMs), ...failure }
  const conditions = failure ? [...others, known ?? fresh] : others
  return {
    replicas: active.length,
    fullyLabeledReplicas:
      active.filter(({ metadata }) => labels.every(([name, value]) => metadata.labels?.[name] === value)).length,
    readyReplicas: active.filter(isPodReady).length,
    availableReplicas: available.length,
    terminatingReplicas: pods.filter((pod) => pod.metadata.deletionTimestamp && !isTerminal(pod)).length,
    ...(set.metadata.generation !== undefined && { observedGeneration: set.metadata.generation }),
    ...(conditions.length > 0 && { conditions }),
  }
}

async function createPod(client: Client, set: V1ReplicaSet): Promise<V1Pod> {
  const { metadata: { name, namespace }, spec } = set
  const { labels, annotations, finalizers } = spec?.template?.metadata ?? {}
  const metadata = { namespace, generateName: `${name}-`, labels, annotations, finalizers }
  return await client.create(Pod, { metadata, spec: spec?.template?.spec }, { owner: set })
}
