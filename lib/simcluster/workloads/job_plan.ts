/** Decides what a Job needs: pods, its status, and which of its pods are counted. */
import type { V1Job, V1JobCondition, V1JobStatus, V1Pod } from 'kubeloop/kinds'
import { completedIndexes, formatIndexes, indexOf } from './indexes.ts'
import { countsOf, isTerminal, isTracked, restartsTooOften } from './job_counts.ts'
import { instant } from './instant.ts'
import { isPodActive, isPodReady } from './pod_plan.ts'

/** Back-off of pods that replace failed ones. */
const RETRY = { baseMs: 10_000, maxMs: 600_000 }
const BURST = 500

export interface JobPlan {
  /** The pods to create: their indexes in an indexed Job. */
  readonly create: readonly (number | undefined)[]
  readonly remove: readonly V1Pod[]
  /** Whether these count as failed. Otherwise they lose their finalizer first. */
  readonly countsRemoved: boolean
  /** The pods that are counted by the status, after which they lose their finalizer. */
  readonly untrack: readonly V1Pod[]
  readonly status: V1JobStatus
  /** The time until it is looked at again. */
  readonly againMs?: number | undefined
}

/** Returns the condition that a Job has finished with, if any. */
export function finishedBy(status: V1JobStatus | undefined): V1JobCondition | undefined {
  return status?.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True')
}

/** Returns what to do now. Each change of an object leads to another call. */
export function planJob(job: V1Job, pods: readonly V1Pod[], nowMs: number): JobPlan {
  const { spec, status: known = {} } = job
  if (finishedBy(known)) {
    return { create: [], remove: [], countsRemoved: false, untrack: pods.filter(isTracked), status: known }
  }
  const counts = countsOf(job, pods)
  const active = pods.filter(isPodActive)
  const isSuspended = spec?.suspend ?? false
  const startTime = known.startTime ?? (isSuspended ? undefined : instant(nowMs))
  let conditions = known.conditions ?? []
  const set = (type: string, value: string, reason: string, message: string): void => {
    const at = instant(nowMs)
    const next = { type, status: value, reason, message, lastProbeTime: at, lastTransitionTime: at }
    const old = conditions.find((each) => each.type === type)
    if (old ? old.status !== value : value === 'True') conditions = [...conditions.filter((each) => each !== old), next]
  }
  const targetOf = (type: string): V1JobCondition | undefined => conditions.find((each) => each.type === type)
  const deadlineMs = spec?.activeDeadlineSeconds === undefined || isSuspended || !startTime
    ? undefined
    : Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - nowMs
  if (!targetOf('SuccessCriteriaMet') && !targetOf('FailureTarget')) {
    if (counts.all.failed > (spec?.backoffLimit ?? 6) || restartsTooOften(job, pods)) {
      set('FailureTarget', 'True', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit')
    } else if (deadlineMs !== undefined && deadlineMs <= 0) {
      set('FailureTarget', 'True', 'DeadlineExceeded', 'Job was active longer than specified deadline')
    }
  }
  const isOver = targetOf('SuccessCriteriaMet') ?? targetOf('FailureTarget')
  const change = isOver ? { create: [], remove: active } : podChanges(job, pods, counts.all.succeeded, nowMs)
  const left = active.filter((pod) => !change.remove.includes(pod))
  const running = left.length + change.create.length
  const terminating = pods.filter((pod) => pod.metadata.deletionTimestamp && !isTerminal(pod)).length +
    change.remove.length
  if (!isOver && counts.all.succeeded >= (spec?.completions ?? 1) && running === 0) {
    set('SuccessCriteriaMet', 'True', 'CompletionsReached', 'Reached expected number of succeeded pods')
  } else if (!isOver) {
    if (isSuspended) set('Suspended', 'True', 'JobSuspended', 'Job suspended')
    else set('Suspended', 'False', 'JobResumed', 'Job resumed')
  }
  const isCounted = counts.uncounted.succeeded.length + counts.uncounted.failed.length === 0
  let completionTime: string | undefined
  if (isCounted && terminating === 0 && running === 0 && isOver) {
    set(isOver.type === 'FailureTarget' ? 'Failed' : 'Complete', 'True', isOver.reason ?? '', isOver.message ?? '')
    if (isOver.type !== 'FailureTarget') completionTime = instant(nowMs)
  }
  const isResumed = known.conditions?.some(({ type, status }) => type === 'Suspended' && status === 'True') &&
    !isSuspended
  const status: V1JobStatus = {
    ...(!isSuspended && startTime && { startTime: isResumed ? instant(nowMs) : startTime }),
    ...(completionTime && { completionTime }),
    ...(conditions.length > 0 && { conditions }),
    ...(running > 0 && { active: running }),
    ready: left.filter(isPodReady).length,
    terminating,
    ...(counts.counted.succeeded > 0 && { succeeded: counts.counted.succeeded }),
    ...(counts.counted.failed > 0 && { failed: counts.counted.failed }),
    ...(counts.indexes?.size && { completedIndexes: formatIndexes(counts.indexes) }),
    uncountedTerminatedPods: isCounted ? {} : counts.uncounted,
  }
  const uids = new Set([...counts.uncounted.succeeded, ...counts.uncounted.failed])
  const untrack = pods.filter((pod) => isTracked(pod) && uids.has(pod.metadata.uid))
  const waits = [change.againMs, deadlineMs].filter((ms) => ms !== undefined && ms > 0) as number[]
  return {
    ...change,
    countsRemoved: isOver !== undefined,
    status,
    untrack,
    againMs: waits.length > 0 ? Math.min(...waits) : undefined,
  }
}

type Changes = Pick<JobPlan, 'create' | 'remove' | 'againMs'>

function podChanges(job: V1Job, pods: readonly V1Pod[], succeeded: number, nowMs: number): Changes {
  const { metadata, spec } = job
  const active = pods.filter(isPodActive)
  if (metadata.deletionTimestamp) return { create: [], remove: [] }
  const { parallelism = 1, completions } = spec ?? {}
  const most = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded
  const wanted = spec?.suspend ? 0 : Math.max(0, Math.min(parallelism, most))
  if (active.length > wanted) {
    const least = active.toSorted((a, b) => Number(isPodReady(a)) - Number(isPodReady(b)))
    return { create: [], remove: least.slice(0, active.length - wanted) }
  }
  const ending = spec?.podReplacementPolicy === 'Failed'
    ? pods.filter((pod) => !isPodActive(pod) && !isTerminal(pod)).length
    : 0
  const count = Math.min(BURST, wanted - active.length - ending)
  if (count <= 0) return { create: [], remove: [] }
  const waitMs = untilRetry(pods, nowMs)
  if (waitMs > 0) return { create: [], remove: [], againMs: waitMs }
  if (spec?.completionMode !== 'Indexed') return { create: Array.from({ length: count }, () => undefined), remove: [] }
  const taken = completedIndexes(job.status?.completedIndexes, pods)
  for (const pod of active) taken.add(indexOf(pod))
  const free = Array.from({ length: completions ?? 0 }, (_, at) => at).filter((at) => !taken.has(at))
  return { create: free.slice(0, count), remove: [] }
}

/** Returns the rest of the back-off, which doubles with each failure since the last success. */
function untilRetry(pods: readonly V1Pod[], nowMs: number): number {
  const ended = pods.filter(isTerminal).map((pod) => ({
    isFailed: pod.status?.phase === 'Failed',
    atMs: Math.max(
      ...pod.status?.containerStatuses?.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? '')) ?? [],
    ),
  }))
  const lastSuccess = Math.max(...ended.filter(({ isFailed }) => !isFailed).map(({ atMs }) => atMs))
  const failures = ended.filter(({ isFailed, atMs }) => isFailed && atMs > lastSuccess)
  if (failures.length === 0) return 0
  const delayMs = Math.min(RETRY.baseMs * 2 ** (failures.length - 1), RETRY.maxMs)
  return Math.max(...failures.map(({ atMs }) => atMs)) + delayMs - nowMs
}
