/** Decides what a Job needs: pods, its status, and which of its pods are counted, each once. */
import type { V1Job, V1JobCondition, V1JobStatus, V1Pod } from 'kubeloop/kinds'
import { instant } from '../../core/duration.ts'
import { isPodActive, isPodReady, isTerminal, soonest } from './pod_plan.ts'

/** Keeps a pod until it is counted. */
export const TRACKING = 'batch.kubernetes.io/job-tracking'
/** The label and the annotation with the index of a pod of an indexed Job. */
export const INDEX = 'batch.kubernetes.io/job-completion-index'
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
  readonly againMs?: number | undefined
}

const DECIDED = ['SuccessCriteriaMet', 'FailureTarget']

export function finishedBy(status: V1JobStatus | undefined): V1JobCondition | undefined {
  return status?.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True')
}

/** Returns what to do now. Each change of an object leads to another call. */
export function planJob(job: V1Job, pods: readonly V1Pod[], nowMs: number): JobPlan {
  const { spec, status: known = {} } = job
  if (finishedBy(known)) {
    return { create: [], remove: [], countsRemoved: false, untrack: pods.filter(isTracked), status: known }
  }
  const { succeeded, failed, indexes } = countsOf(job, pods)
  const active = pods.filter(isPodActive)
  const isSuspended = spec?.suspend ?? false
  const startTime = known.startTime ?? (isSuspended ? undefined : instant(nowMs))
  let conditions = known.conditions ?? []
  const at = instant(nowMs)
  const set = (type: string, status: string, reason: string, message: string): void => {
    const next = { type, status, reason, message, lastProbeTime: at, lastTransitionTime: at }
    const old = conditions.find((each) => each.type === type)
    if (old ? old.status !== status : status === 'True') {
      conditions = [...conditions.filter((each) => each !== old), next]
    }
  }
  const decided = (): V1JobCondition | undefined => conditions.find(({ type }) => DECIDED.includes(type))
  const deadlineMs = spec?.activeDeadlineSeconds === undefined || isSuspended || !startTime
    ? undefined
    : Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - nowMs
  if (!decided()) {
    if (failed.all > (spec?.backoffLimit ?? 6) || restartsTooOften(job, pods)) {
      set('FailureTarget', 'True', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit')
    } else if (deadlineMs !== undefined && deadlineMs <= 0) {
      set('FailureTarget', 'True', 'DeadlineExceeded', 'Job was active longer than specified deadline')
    }
  }
  const isOver = decided()
  const change = isOver ? { create: [], remove: active } : podChanges(job, pods, succeeded.all, nowMs)
  const left = active.filter((pod) => !change.remove.includes(pod))
  const running = left.length + change.create.length
  const terminating = change.remove.length +
    pods.filter((pod) => pod.metadata.deletionTimestamp && !isTerminal(pod)).length
  const isResumed = !isSuspended &&
    known.conditions?.some(({ type, status }) => type === 'Suspended' && status === 'True')
  if (!isOver && succeeded.all >= (spec?.completions ?? 1) && running === 0) {
    set('SuccessCriteriaMet', 'True', 'CompletionsReached', 'Reached expected number of succeeded pods')
  } else if (!isOver) {
    if (isSuspended) set('Suspended', 'True', 'JobSuspended', 'Job suspended')
    else set('Suspended', 'False', 'JobResumed', 'Job resumed')
  }
  const uids = [...succeeded.uncounted, ...failed.uncounted]
  const isFinished = isOver && uids.length === 0 && terminating === 0 && running === 0
  const hasFailed = isOver?.type === 'FailureTarget'
  if (isFinished) set(hasFailed ? 'Failed' : 'Complete', 'True', isOver.reason ?? '', isOver.message ?? '')
  const status: V1JobStatus = {
    ...(!isSuspended && startTime && { startTime: isResumed ? at : startTime }),
    ...(isFinished && !hasFailed && { completionTime: at }),
    ...(conditions.length > 0 && { conditions }),
    ...(running > 0 && { active: running }),
    ready: left.filter(isPodReady).length,
    terminating,
    ...(succeeded.counted > 0 && { succeeded: succeeded.counted }),
    ...(failed.counted > 0 && { failed: failed.counted }),
    ...(indexes?.size && { completedIndexes: formatIndexes(indexes) }),
    uncountedTerminatedPods: uids.length === 0 ? {} : { succeeded: succeeded.uncounted, failed: failed.uncounted },
  }
  const untrack = pods.filter((pod) => isTracked(pod) && uids.includes(pod.metadata.uid))
  const againMs = soonest([change.againMs, deadlineMs])
  return { ...change, countsRemoved: isOver !== undefined, status, untrack, againMs }
}

type Changes = Pick<JobPlan, 'create' | 'remove' | 'againMs'>

function podChanges(job: V1Job, pods: readonly V1Pod[], succeeded: number, nowMs: number): Changes {
  const { metadata, spec } = job
  const active = pods.filter(isPodActive)
  if (metadata.deletionTimestamp) return { create: [], remove: [] }
  const { parallelism = 1, completions } = spec ?? {}
  const most = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded
  const wanted = spec?.suspend ? 0 : Math.max(0, Math.min(parallelism, most))
  // An indexed Job that became smaller has no such index any more.
  const isOver = (pod: V1Pod): boolean => spec?.completionMode === 'Indexed' && indexOf(pod) >= (completions ?? 0)
  const surplus = Math.max(active.length - wanted, active.filter(isOver).length)
  if (surplus > 0) {
    const rankOf = (pod: V1Pod): number => isOver(pod) ? -1 : Number(isPodReady(pod))
    return { create: [], remove: active.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, surplus) }
  }
  const isEnding = (pod: V1Pod): boolean => !isPodActive(pod) && !isTerminal(pod)
  const ending = spec?.podReplacementPolicy === 'Failed' ? pods.filter(isEnding).length : 0
  const count = Math.min(BURST, wanted - active.length - ending)
  const againMs = count > 0 ? untilRetry(pods, nowMs) : 0
  if (count <= 0 || againMs > 0) return { create: [], remove: [], againMs }
  if (spec?.completionMode !== 'Indexed') return { create: Array.from({ length: count }, () => undefined), remove: [] }
  const taken = completedIndexes(job, pods)
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

export const isTracked = ({ metadata }: V1Pod): boolean => metadata.finalizers?.includes(TRACKING) ?? false

/** Returns the index of a pod, or -1. */
const indexOf = ({ metadata }: V1Pod): number => Number(metadata.annotations?.[INDEX] ?? -1)

interface Ended {
  /** How many are in the status. */
  readonly counted: number
  /** The uids of those that are on the way into the status. */
  readonly uncounted: readonly string[]
  /** How many have ended, also those that are not in the status yet. */
  readonly all: number
}

interface JobCounts {
  readonly succeeded: Ended
  readonly failed: Ended
  /** Of an indexed Job: the indexes that have succeeded. */
  readonly indexes: ReadonlySet<number> | undefined
}

/** Counts pods: in the status are those without the finalizer, then those that are on the way. */
function countsOf(job: V1Job, pods: readonly V1Pod[]): JobCounts {
  const { spec, status } = job
  const { uncountedTerminatedPods = {} } = status ?? {}
  const { succeeded = [], failed = [] } = uncountedTerminatedPods
  const known = new Set([...succeeded, ...failed])
  const tracked = pods.filter(isTracked)
  const indexes = spec?.completionMode === 'Indexed' ? completedIndexes(job, pods) : undefined
  const replacesFailed = spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined
  const isFailed = ({ metadata, status }: V1Pod): boolean =>
    status?.phase === 'Failed' || (!replacesFailed && !!metadata.deletionTimestamp && status?.phase !== 'Succeeded')
  const count = (name: 'succeeded' | 'failed', is: (pod: V1Pod) => boolean, size?: number): Ended => {
    const before = uncountedTerminatedPods[name] ?? []
    const held = before.filter((uid) => tracked.some(({ metadata }) => metadata.uid === uid))
    const fresh = tracked.filter((pod) => is(pod) && !known.has(pod.metadata.uid))
    const counted = (status?.[name] ?? 0) + before.length - held.length
    return {
      counted: size ?? counted,
      // A pod that is being deleted is counted when it has ended.
      uncounted: [...held, ...fresh.filter(isTerminal).map(({ metadata }) => metadata.uid)],
      all: size ?? counted + held.length + fresh.length,
    }
  }
  return {
    succeeded: count('succeeded', (pod) => pod.status?.phase === 'Succeeded', indexes?.size),
    failed: count('failed', isFailed),
    indexes,
  }
}

/** Returns whether containers that restart in their pods have reached the limit. */
function restartsTooOften({ spec }: V1Job, pods: readonly V1Pod[]): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false
  const statuses = pods.filter((pod) => !isTerminal(pod))
    .flatMap(({ status }) => [...status?.containerStatuses ?? [], ...status?.initContainerStatuses ?? []])
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0)
  return restarts > 0 && restarts >= (spec.backoffLimit ?? 6)
}

/** Returns the indexes in the status, and of the pods that have succeeded, up to the completions of now. */
function completedIndexes({ spec, status }: V1Job, pods: readonly V1Pod[]): Set<number> {
  const found = pods.filter((pod) => pod.status?.phase === 'Succeeded').map(indexOf)
  for (const part of status?.completedIndexes?.split(',') ?? []) {
    const [first, last = first] = part.split('-').map(Number)
    for (let index = first!; index <= last!; index++) found.push(index)
  }
  return new Set(found.filter((index) => index >= 0 && index < (spec?.completions ?? 0)))
}

function formatIndexes(indexes: ReadonlySet<number>): string {
  const ranges: [number, number][] = []
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(([first, last]) => last === first ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`)
    .join(',')
}
