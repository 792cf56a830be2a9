/** Computes the status of a Deployment, and when its progress is checked again. */
import type { V1Deployment, V1DeploymentCondition, V1DeploymentStatus, V1ReplicaSet } from 'kubeloop/kinds'
import { instant } from '../../core/duration.ts'
import { boundsOf, replicasOf } from './rollout.ts'

export type Conditions = readonly V1DeploymentCondition[]

/** The deadline that stands for none. */
const NO_DEADLINE = 2 ** 31 - 1

type Part = Pick<V1ReplicaSet, 'status'>

export interface StatusSeen {
  readonly deployment: V1Deployment
  /** Its new ReplicaSet, which may not exist yet. */
  readonly fresh: (Part & { readonly metadata: { readonly name: string } }) | undefined
  /** All its ReplicaSets, with their new sizes. */
  readonly all: readonly { readonly set: Part; readonly size: number }[]
  /** Its conditions, after a pause or a new ReplicaSet has changed them. */
  readonly conditions: Conditions
  readonly nowMs: number
}

/** Returns the deadline of the progress in seconds, or undefined. */
function deadlineOf({ spec }: V1Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds
  return seconds === NO_DEADLINE ? undefined : seconds
}

type Wanted = readonly [status: string, reason: string, message: string]

/** Sets a condition, unless its status and reason are the same. Without a deadline there is no `Progressing`. */
export function withCondition(
  { deployment, nowMs }: Pick<StatusSeen, 'deployment' | 'nowMs'>,
  conditions: Conditions,
  type: string,
  [status, reason, message]: Wanted,
  refresh = false,
): Conditions {
  if (type === 'Progressing' && deadlineOf(deployment) === undefined) return conditions
  const known = conditions.find((each) => each.type === type)
  const isSame = known?.status === status
  if (isSame && known.reason === reason && !refresh) return conditions
  const at = instant(nowMs)
  const times = { lastUpdateTime: at, lastTransitionTime: isSame ? known.lastTransitionTime ?? at : at }
  return [...conditions.filter((each) => each !== known), { type, status, reason, message, ...times }]
}

export function pausedConditions(seen: Pick<StatusSeen, 'deployment' | 'nowMs'>, conditions: Conditions): Conditions {
  const { reason } = progressing(conditions) ?? {}
  const isKnown = reason === 'DeploymentPaused'
  if (reason === 'ProgressDeadlineExceeded' || isKnown === (seen.deployment.spec?.paused ?? false)) return conditions
  const [next, what] = isKnown ? ['DeploymentResumed', 'resumed'] : ['DeploymentPaused', 'paused']
  return withCondition(seen, conditions, 'Progressing', ['Unknown', next!, `Deployment is ${what}`])
}

export function progressing(conditions: Conditions): V1DeploymentCondition | undefined {
  return conditions.find(({ type }) => type === 'Progressing')
}

export function statusOf(seen: StatusSeen): V1DeploymentStatus {
  const { deployment, fresh, all, conditions } = seen
  const sum = (name: 'replicas' | 'readyReplicas' | 'availableReplicas' | 'terminatingReplicas'): number =>
    all.reduce((sum, { set }) => sum + (set.status?.[name] ?? 0), 0)
  const availableReplicas = sum('availableReplicas')
  const available: Wanted = availableReplicas >= replicasOf(deployment) - boundsOf(deployment).unavailable
    ? ['True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.']
    : ['False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.']
  const { metadata: { generation }, status: { collisionCount } = {} } = deployment
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas: sum('replicas'),
    updatedReplicas: fresh?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas,
    unavailableReplicas: Math.max(0, all.reduce((sum, { size }) => sum + size, 0) - availableReplicas),
    terminatingReplicas: sum('terminatingReplicas'),
    ...(collisionCount !== undefined && { collisionCount }),
    conditions: withCondition(seen, conditions, 'Available', available),
  }
}

/** Returns whether all replicas are of the new template and available, and no old pods run. */
export function isComplete(deployment: V1Deployment, status: V1DeploymentStatus = {}): boolean {
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status
  return [updatedReplicas, replicas, availableReplicas].every((each) => each === replicasOf(deployment)) &&
    observedGeneration >= (deployment.metadata.generation ?? 0)
}

/** Returns the status during a rollout: with its progress, and the failures of ReplicaSets. */
export function rolloutStatus(seen: StatusSeen): V1DeploymentStatus {
  const { deployment, fresh, all, nowMs } = seen
  const status = statusOf(seen)
  const deadline = deadlineOf(deployment)
  let { conditions = [] } = status
  const current = progressing(conditions)
  const isDone = status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable'
  const what = fresh ? `ReplicaSet "${fresh.metadata.name}"` : `Deployment "${deployment.metadata.name}"`
  const set = (wanted: Wanted, refresh = false): void => {
    conditions = withCondition(seen, conditions, 'Progressing', wanted, refresh)
  }
  if (deadline === undefined) conditions = conditions.filter((each) => each !== current)
  else if (!isDone) {
    if (isComplete(deployment, status)) set(['True', 'NewReplicaSetAvailable', `${what} has successfully progressed.`])
    else if (hasProgressed(deployment.status ?? {}, status)) {
      set(['True', 'ReplicaSetUpdated', `${what} is progressing.`], true)
    } else if (current && current.reason !== 'NewReplicaSetAvailable' && dueMs(current, deadline) < nowMs) {
      set(['False', 'ProgressDeadlineExceeded', `${what} has timed out progressing.`])
    }
  }
  const failures = [fresh, ...all.map((each) => each.set)].flatMap((each) => each?.status?.conditions ?? [])
  const failure = failures.find(({ type }) => type === 'ReplicaFailure')
  conditions = failure
    ? withCondition(seen, conditions, failure.type, [failure.status, failure.reason ?? '', failure.message ?? ''])
    : conditions.filter(({ type }) => type !== 'ReplicaFailure')
  return { ...status, conditions }
}

function hasProgressed(before: V1DeploymentStatus, after: V1DeploymentStatus): boolean {
  const counts = (status: V1DeploymentStatus): readonly number[] => {
    const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
    return [updatedReplicas, updatedReplicas - replicas, readyReplicas, availableReplicas]
  }
  return counts(after).some((count, at) => count > counts(before)[at]!)
}

function dueMs({ lastUpdateTime = '' }: V1DeploymentCondition, deadline: number): number {
  return Date.parse(lastUpdateTime) + deadline * 1000
}

/** Returns the time until the progress is checked again; undefined if nothing progresses. */
export function untilDeadline(deployment: V1Deployment, status: V1DeploymentStatus, nowMs: number): number | undefined {
  const [deadline, current] = [deadlineOf(deployment), progressing(status.conditions ?? [])]
  if (deadline === undefined || !current || current.reason === 'ProgressDeadlineExceeded') return undefined
  if (deployment.spec?.paused || isComplete(deployment, status)) return undefined
  // A second more, as the time of the condition is in whole seconds.
  return Math.max(1000, dueMs(current, deadline) + 1000 - nowMs)
}
