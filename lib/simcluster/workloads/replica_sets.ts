/** Keeps the number of pods of ReplicaSets. */
import type { Operator } from 'kubeloop'
import { Pod, ReplicaSet, type V1Pod, type V1ReplicaSet, type V1ReplicaSetStatus } from 'kubeloop/kinds'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, createPod, type Failure, nextLook } from './pod_changes.ts'
import { isAvailable, isPodActive, isPodReady, isTerminal, readySince, untilAvailable } from './pod_plan.ts'
import { instant } from '../../core/duration.ts'

/** Pods that are created or deleted at once, as by a cluster's controller. */
const BURST = 500

export function addReplicaSets(app: Operator): void {
  app.controllerFor(ReplicaSet, { name: 'replicaset', fieldManager: 'kube-controller-manager', concurrency: 10 })
    .owns(Pod)
    .watches(Pod, (pod, { client }) => adopters(client, ReplicaSet, pod))
    .reconcile(async (set, { client, clock, events }) => {
      const pods = await claim(client, podsByOwner, set)
      const nowMs = clock.now()
      const { create, remove } = planReplicas(set, pods)
      const make = (): Promise<V1Pod> => createPod(client, set, set.spec?.template)
      const creations = Array.from({ length: create }, () => ({ make }))
      const changed = await changePods({ client, events }, set, { create: creations, remove }, pods)
      if (!changed) return undefined
      const { counted, failure } = changed
      await client.setStatus(ReplicaSet, set, statusOfSet(set, counted, nowMs, failure))
      return nextLook(untilAvailable(set, counted, nowMs), failure)
    })
}

/** Returns how many pods a ReplicaSet lacks, or which it has too many. */
export function planReplicas(
  set: V1ReplicaSet,
  pods: readonly V1Pod[],
): { readonly create: number; readonly remove: readonly V1Pod[] } {
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
    -(readySince(pod) ?? 0),
    -Math.max(0, ...pod.status?.containerStatuses?.map(({ restartCount }) => restartCount) ?? []),
    -Date.parse(pod.metadata.creationTimestamp),
  ]
  const [left, right] = [ranks(a), ranks(b)]
  const at = left.findIndex((rank, at) => rank !== right[at])
  return at < 0 ? (a.metadata.name < b.metadata.name ? -1 : 1) : left[at]! - right[at]!
}

export function statusOfSet(
  set: V1ReplicaSet,
  pods: readonly V1Pod[],
  nowMs: number,
  failure?: Failure,
): V1ReplicaSetStatus {
  const active = pods.filter(isPodActive)
  const labels = Object.entries(set.spec?.template?.metadata?.labels ?? {})
  const others = set.status?.conditions?.filter(({ type }) => type !== 'ReplicaFailure') ?? []
  const known = set.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  const fresh = { type: 'ReplicaFailure', status: 'True', lastTransitionTime: instant(nowMs), ...failure }
  const conditions = failure ? [...others, known ?? fresh] : others
  return {
    replicas: active.length,
    fullyLabeledReplicas:
      active.filter(({ metadata }) => labels.every(([name, value]) => metadata.labels?.[name] === value)).length,
    readyReplicas: active.filter(isPodReady).length,
    availableReplicas: active.filter((pod) => isAvailable(set, pod, nowMs)).length,
    terminatingReplicas: pods.filter((pod) => pod.metadata.deletionTimestamp && !isTerminal(pod)).length,
    ...(set.metadata.generation !== undefined && { observedGeneration: set.metadata.generation }),
    ...(conditions.length > 0 && { conditions }),
  }
}
