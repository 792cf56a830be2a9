/** Decides what a simulated node does next with a pod. */
import type { V1Pod, V1PodStatus } from 'kubeloop/kinds'
import type { PodMoment } from './pod_conditions.ts'
import {
  backoffMs,
  CRASHED,
  failedStatus,
  gatedStatus,
  NOT_STARTED,
  OF_PODS,
  pendingStatus,
  runningStatus,
  succeededStatus,
} from './pod_status.ts'
import type { PodRule } from './pod_script.ts'

/** How long pods take. */
export interface PodTimes {
  /** From the start of a pod until it is Running and Ready. */
  readonly readyMs: number
  /** From then until a pod completes whose restart policy is not `Always`. */
  readonly completeMs: number
}

/** How long pods take by default. */
export const TIMES: PodTimes = { readyMs: 1000, completeMs: 1000 }

export interface PodSeen extends PodMoment {
  /** The name of the node. */
  readonly node: string
  /** Since when the pod has its phase. */
  readonly sinceMs: number
  readonly rule: PodRule | undefined
  readonly times: PodTimes
}

export type PodStep =
  | { readonly do: 'nothing' }
  /** Assign it to the node. */
  | { readonly do: 'bind' }
  | { readonly do: 'status'; readonly status: V1PodStatus }
  /** Its containers have ended: delete it without a grace period. */
  | { readonly do: 'remove' }
  /** Ask again after this time. */
  | { readonly do: 'wait'; readonly ms: number }

const NOTHING: PodStep = { do: 'nothing' }

/** Returns the next step. */
export function planPod(seen: PodSeen): PodStep {
  const { pod: { metadata, spec, status }, node } = seen
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  if (!spec?.nodeName) {
    const isOurs = (spec?.schedulerName ?? 'default-scheduler') === 'default-scheduler' &&
      !spec?.schedulingGates?.length
    return isOurs && !metadata.deletionTimestamp && !isOver ? { do: 'bind' } : NOTHING
  }
  if (spec.nodeName !== node) return NOTHING
  if (metadata.deletionTimestamp) return ending(seen, metadata.deletionTimestamp, isOver)
  if (isOver) return NOTHING
  return status?.phase === 'Running' ? running(seen) : starting(seen)
}

function ending(seen: PodSeen, deletionTimestamp: string, isOver: boolean): PodStep {
  const { pod: { metadata }, nowMs, rule } = seen
  const leftMs = Date.parse(deletionTimestamp) - nowMs
  if (rule?.does === 'hold' && leftMs > 0 && !isOver) return { do: 'wait', ms: leftMs }
  // What holds the pod needs its outcome.
  if (metadata.finalizers?.length && !isOver) {
    return { do: 'status', status: failedStatus(seen, { exitCode: rule?.does === 'hold' ? 137 : 143 }, false) }
  }
  return metadata.deletionGracePeriodSeconds === 0 ? NOTHING : { do: 'remove' }
}

function starting(seen: PodSeen): PodStep {
  const { pod: { status }, nowMs, sinceMs, rule, times } = seen
  if (!status?.startTime) return { do: 'status', status: pendingStatus(seen) }
  if (rule?.does === 'hold') return NOTHING
  const leftMs = sinceMs + times.readyMs - nowMs
  if (leftMs > 0) return { do: 'wait', ms: leftMs }
  if (rule && NOT_STARTED.has(rule.reason ?? '')) {
    const isKnown = status.containerStatuses?.every((each) => each.state?.waiting?.reason === rule.reason)
    return isKnown ? NOTHING : { do: 'status', status: pendingStatus(seen, rule) }
  }
  return { do: 'status', status: rule ? failed(seen, rule) : runningStatus(seen) }
}

function running(seen: PodSeen): PodStep {
  const { pod: { spec, status }, nowMs, sinceMs, rule, times } = seen
  const [first] = status?.containerStatuses ?? []
  if (first?.state?.waiting?.reason === CRASHED) {
    const endedMs = Date.parse(first.lastState?.terminated?.finishedAt ?? '') || sinceMs
    const leftMs = endedMs + backoffMs(first.restartCount) - nowMs
    if (leftMs > 0) return { do: 'wait', ms: leftMs }
    return { do: 'status', status: rule?.does === 'fail' ? failed(seen, rule) : runningStatus(seen) }
  }
  // An image that cannot be pulled is of no consequence for containers that run.
  if (rule?.does === 'fail' && !NOT_STARTED.has(rule.reason ?? '')) return { do: 'status', status: failed(seen, rule) }
  const gated = gatedStatus(seen)
  if (isReady(gated) !== isReady(status)) return { do: 'status', status: gated }
  if (rule?.does === 'hold' || (spec?.restartPolicy ?? 'Always') === 'Always') return NOTHING
  const leftMs = sinceMs + times.completeMs - nowMs
  return leftMs > 0 ? { do: 'wait', ms: leftMs } : { do: 'status', status: succeededStatus(seen) }
}

function failed(seen: PodSeen, rule: PodRule & { readonly does: 'fail' }): V1PodStatus {
  const restarts = (seen.pod.spec?.restartPolicy ?? 'Always') !== 'Never' && !OF_PODS.has(rule.reason ?? '')
  return failedStatus(seen, rule, restarts)
}

function isReady(status: V1PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Returns whether a pod is Ready. */
export const isPodReady = ({ status }: V1Pod): boolean => isReady(status)

/** Returns whether a pod counts as a replica: it neither has ended nor is being deleted. */
export function isPodActive({ metadata, status }: V1Pod): boolean {
  return !metadata.deletionTimestamp && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

/**
 * Returns since when and whether a pod is available: Ready for at least so many seconds. `leftMs`: the time until then;
 * undefined for a pod that is not Ready.
 */
export function availability(pod: V1Pod, minReadySeconds: number, nowMs: number): number | undefined {
  const ready = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  if (!ready) return undefined
  return Math.max(
    0,
    minReadySeconds === 0 ? 0 : Date.parse(ready.lastTransitionTime ?? '') + minReadySeconds * 1000 - nowMs,
  )
}

/** Returns the time until the next pod is available. Undefined if no pod waits for that. */
export function untilAvailable(pods: readonly V1Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  const left = pods.filter(isPodActive).flatMap((pod) => availability(pod, minReadySeconds, nowMs) || [])
  return left.length > 0 ? Math.min(...left) : undefined
}
