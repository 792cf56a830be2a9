/** Decides which pods of a StatefulSet are created and deleted, one after the other or all at once. */
import type { V1Pod, V1StatefulSet, V1StatefulSetStatus } from 'kubeloop/kinds'
import { isTerminal } from './job_counts.ts'
import { availability, isPodReady } from './pod_plan.ts'

export const REVISION_LABEL = 'controller-revision-hash'

export interface StatefulSeen {
  readonly set: V1StatefulSet
  readonly pods: readonly V1Pod[]
  /** The names of the revisions. */
  readonly current: string
  readonly update: string
  readonly nowMs: number
}

export interface StatefulPlan {
  /** The ordinals to create, each with the name of its revision. */
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[]
  readonly remove: readonly V1Pod[]
  /** The time until a pod is available. */
  readonly againMs?: number | undefined
}

/** Returns the ordinal of a pod of the set, or -1. */
function ordinalOf({ metadata }: V1StatefulSet, pod: V1Pod): number {
  const { name } = pod.metadata
  const ordinal = name.slice(metadata.name.length + 1)
  return name.startsWith(`${metadata.name}-`) && /^\d+$/.test(ordinal) ? Number(ordinal) : -1
}

const isEnding = ({ metadata }: V1Pod): boolean => metadata.deletionTimestamp !== undefined
const isRunning = (pod: V1Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod)
export const revisionOf = ({ metadata }: V1Pod): string | undefined => metadata.labels?.[REVISION_LABEL]

/** Returns what to do now. Each change of a pod leads to another call. */
export function planStatefulSet({ set, pods, current, update, nowMs }: StatefulSeen): StatefulPlan {
  const { metadata, spec, status } = set
  if (metadata.deletionTimestamp) return { create: [], remove: [] }
  const start = spec?.ordinals?.start ?? 0
  const count = spec?.replicas ?? 1
  const isOrdered = spec?.podManagementPolicy !== 'Parallel'
  const { type = 'RollingUpdate', rollingUpdate } = spec?.updateStrategy ?? {}
  const leftOf = (pod: V1Pod): number | undefined =>
    isRunning(pod) ? availability(pod, spec?.minReadySeconds ?? 0, nowMs) : undefined
  const isAvailable = (pod: V1Pod): boolean => leftOf(pod) === 0
  const waits = pods.flatMap((pod) => leftOf(pod) || [])
  const againMs = waits.length > 0 ? Math.min(...waits) : undefined
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]))
  const ordinals = Array.from({ length: count }, (_, at) => start + at)
  const keeps = type === 'RollingUpdate'
    ? start + (rollingUpdate ? rollingUpdate.partition ?? 0 : status?.currentReplicas ?? 0)
    : 0
  const create: StatefulPlan['create'][number][] = []
  const remove: V1Pod[] = []
  const done = (): StatefulPlan => ({ create, remove, againMs })
  for (const ordinal of ordinals) {
    const pod = byOrdinal.get(ordinal)
    if (!pod) create.push({ ordinal, revision: ordinal < keeps ? current : update })
    else if (isTerminal(pod) && !isEnding(pod)) remove.push(pod)
    if (isOrdered && (!pod || isTerminal(pod) || isEnding(pod) || !isAvailable(pod))) return done()
  }
  const condemned = pods.filter((pod) => ordinalOf(set, pod) >= 0 && !ordinals.includes(ordinalOf(set, pod)))
    .toSorted((a, b) => ordinalOf(set, b) - ordinalOf(set, a))
  const firstUnhealthy = ordinals.map((ordinal) => byOrdinal.get(ordinal)).find((pod) => pod && !isAvailable(pod)) ??
    condemned.findLast((pod) => !isAvailable(pod))
  for (const pod of condemned) {
    if (!isEnding(pod) && (!isOrdered || isAvailable(pod) || pod === firstUnhealthy)) remove.push(pod)
    if (isOrdered) return done()
  }
  if (type === 'OnDelete' || create.length + remove.length > 0) return done()
  for (const ordinal of ordinals.toReversed()) {
    if (ordinal < start + (rollingUpdate?.partition ?? 0)) break
    const pod = byOrdinal.get(ordinal)
    if (pod && revisionOf(pod) !== update && !isEnding(pod)) {
      remove.push(pod)
      break
    }
    if (!pod || isEnding(pod) || !isAvailable(pod)) break
  }
  return done()
}

/** Returns the counts of the status. */
export function statusOfStateful({ set, pods, current, update, nowMs }: StatefulSeen): V1StatefulSetStatus {
  const { metadata: { generation }, spec, status } = set
  const live = pods.filter((pod) => !isEnding(pod))
  const count = spec?.replicas ?? 1
  const ready = pods.filter(isRunning)
  const updated = live.filter((pod) => revisionOf(pod) === update).length
  const isComplete = spec?.updateStrategy?.type !== 'OnDelete' && updated === count && ready.length === count &&
    pods.length === count
  const { conditions } = status ?? {}
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => availability(pod, spec?.minReadySeconds ?? 0, nowMs) === 0).length,
    currentReplicas: isComplete ? updated : live.filter((pod) => revisionOf(pod) === current).length,
    updatedReplicas: updated,
    currentRevision: isComplete ? update : current,
    updateRevision: update,
    collisionCount: status?.collisionCount ?? 0,
    ...(conditions && { conditions }),
  }
}
