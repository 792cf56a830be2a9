/** Counts the pods of a Job: each once, although it may be deleted afterwards. */
import type { V1Job, V1Pod } from 'kubeloop/kinds'
import { completedIndexes } from './indexes.ts'

/** Keeps a pod until it is counted. */
export const TRACKING = 'batch.kubernetes.io/job-tracking'
/** Returns whether a pod is kept until it is counted. */
export const isTracked = ({ metadata }: V1Pod): boolean => metadata.finalizers?.includes(TRACKING) ?? false

/** Returns whether a pod has ended. */
export const isTerminal = ({ status }: V1Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

export interface JobCounts {
  /** In the status. */
  readonly counted: Ended<number>
  /** All that have ended, also those that are not in the status yet. */
  readonly all: Ended<number>
  /** By their uids: on the way into the status. */
  readonly uncounted: Ended<readonly string[]>
  /** Of an indexed Job: the indexes that have succeeded. */
  readonly indexes: ReadonlySet<number> | undefined
}

interface Ended<T> {
  readonly succeeded: T
  readonly failed: T
}

/** Counts pods: in the status are those without the finalizer, then those that are on the way. */
export function countsOf({ spec, status }: V1Job, pods: readonly V1Pod[]): JobCounts {
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {}
  const tracked = pods.filter(isTracked)
  const replacesFailed = spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined
  const isFailed = ({ metadata, status }: V1Pod): boolean =>
    status?.phase === 'Failed' || (!replacesFailed && !!metadata.deletionTimestamp && status?.phase !== 'Succeeded')
  const isHeld = (uid: string): boolean => tracked.some(({ metadata }) => metadata.uid === uid)
  const fresh = (is: (pod: V1Pod) => boolean): string[] =>
    tracked.filter(is).map(({ metadata }) => metadata.uid).filter((uid) => ![...succeeded, ...failed].includes(uid))
  const [newSucceeded, newFailed] = [fresh(({ status }) => status?.phase === 'Succeeded'), fresh(isFailed)]
  // A pod that is being deleted is counted when it has ended.
  const ended = newFailed.filter((uid) => pods.some((pod) => pod.metadata.uid === uid && isTerminal(pod)))
  const indexes = spec?.completionMode === 'Indexed' ? completedIndexes(status?.completedIndexes, pods) : undefined
  const counted = {
    succeeded: indexes?.size ?? (status?.succeeded ?? 0) + succeeded.filter((uid) => !isHeld(uid)).length,
    failed: (status?.failed ?? 0) + failed.filter((uid) => !isHeld(uid)).length,
  }
  return {
    counted,
    indexes,
    all: {
      succeeded: indexes?.size ?? (status?.succeeded ?? 0) + succeeded.length + newSucceeded.length,
      failed: (status?.failed ?? 0) + failed.length + newFailed.length,
    },
    uncounted: {
      succeeded: [...succeeded.filter(isHeld), ...newSucceeded],
      failed: [...failed.filter(isHeld), ...ended],
    },
  }
}

/** Returns whether containers that restart in their pods have reached the limit. */
export function restartsTooOften({ spec }: V1Job, pods: readonly V1Pod[]): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false
  const statuses = pods.filter((pod) => !isTerminal(pod))
    .flatMap(({ status }) => [...status?.containerStatuses ?? [], ...status?.initContainerStatuses ?? []])
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0)
  return restarts > 0 && restarts >= (spec.backoffLimit ?? 6)
}
