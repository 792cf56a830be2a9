/** Computes the status of a Deployment, and when its progress is checked again. */
import type { V1Deployment, V1DeploymentCondition, V1DeploymentStatus, V1ReplicaSet } from 'kubeloop/kinds'
import { instant } from './instant.ts'
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
export function deadlineOf({ spec }: V1Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds
  return seconds === NO_DEADLINE ? undefined : seconds
}

/** Returns the conditions with this one set. It is left as it is if its status and reason are the same. */
export function withCondition(
  conditions: Conditions,
  wanted: { readonly type: string; readonly status: string; readonly reason: string; readonly message: string },
  nowMs: number,
  refresh = false,
): Conditions {
  const known = conditions.find(({ type }) => type === wanted.type)
  if (known?.status === wanted.status && known.reason === wanted.reason && !refresh) return conditions
  const { lastTransitionTime = instant(nowMs) } = known?.status === wanted.status ? known : {}
  const next = { ...wanted, lastUpdateTime: instant(nowMs), lastTransitionTime }
  return [...conditions.filter((each) => each !== known), next]
}

/** Returns the conditions after a pause or its end. */
export function pausedConditions({ spec }: V1Deployment, conditions: Conditions, nowMs: number): Conditions {
  const { reason } = progressing(conditions) ?? {}
  const isKnown = reason === 'DeploymentPaused'
  if (reason === 'ProgressDeadlineExceeded' || isKnown === (spec?.paused ?? false)) return conditions
  const [next, what] = isKnown ? ['DeploymentResumed', 'resumed'] : ['DeploymentPaused', 'paused']
  const wanted = { type: 'Progressing', status: 'Unknown', reason: next!, message: `Deployment is ${what}` }
  return withCondition(conditions, wanted, nowMs)
}

export function progressing(conditions: Conditions): V1DeploymentCondition | undefined {
  return conditions.find(({ type }) => type === 'Progressing')
}

/** Returns the counts and whether enough pods are available. */
export function statusOf({ deployment, fresh, all, conditions, nowMs }: StatusSeen): V1DeploymentStatus {
  const sum = (of: (set: Part) => number | undefined): number => all.reduce((sum, { set }) => sum + (of(set) ?? 0), 0)
  const available = sum(({ status }) => status?.availableReplicas)
  const isAvailable = available >= replicasOf(deployment) - boundsOf(deployment).unavailable
  const condition = {
    type: 'Available',
    ...(isAvailable
      ? { status: 'True', reason: 'MinimumReplicasAvailable' }
      : { status: 'False', reason: 'MinimumReplicasUnavailable' }),
    message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
  }
  const { collisionCount } = deployment.status ?? {}
  const { generation } = deployment.metadata
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas: sum(({ status }) => status?.replicas),
    updatedReplicas: fresh?.status?.replicas ?? 0,
    readyReplicas: sum(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, all.reduce((sum, { size }) => sum + size, 0) - available),
    terminatingReplicas: sum(({ status }) => status?.terminatingReplicas),
    ...(collisionCount !== undefined && { collisionCount }),
    conditions: withCondition(conditions, condition, nowMs),
  }
}

/** Returns whether all replicas are of the new template and available, and no old pods run. */
export function isComplete(deployment: V1Deployment, status: V1DeploymentStatus | undefined): boolean {
  const replicas = replicasOf(deployment)
  return (status?.updatedReplicas ?? 0) === replicas && (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
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
  const set = (value: string, reason: string, message: string, refresh = false): void => {
    conditions = withCondition(conditions, { type: 'Progressing', status: value, reason, message }, nowMs, refresh)
  }
  if (deadline === undefined) conditions = conditions.filter((each) => each !== current)
  else if (!isDone) {
    if (isComplete(deployment, status)) set('True', 'NewReplicaSetAvailable', `${what} has successfully progressed.`)
    else if (hasProgressed(deployment.status ?? {}, status)) {
      set('True', 'ReplicaSetUpdated', `${what} is progressing.`, true)
    } else if (hasTimedOut(current, deadline, nowMs)) {
      set('False', 'ProgressDeadlineExceeded', `${what} has timed out progressing.`)
    }
  }
  const failures = [fresh, ...all.map((each) => each.set)].flatMap((each) => each?.status?.conditions ?? [])
  const failure = failures.find(({ type }) => type === 'ReplicaFailure')
  const { reason = '', message = '', status: value = '' } = failure ?? {}
  conditions = failure
    ? withCondition(conditions, { type: 'ReplicaFailure', status: value, reason, message }, nowMs)
    : conditions.filter(({ type }) => type !== 'ReplicaFailure')
  return { ...status, conditions }
}

function hasProgressed(before: V1DeploymentStatus, after: V1DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: V1DeploymentStatus): number => replicas - updatedReplicas
  return (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) || old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
}

function hasTimedOut(current: V1DeploymentCondition | undefined, deadline: number, nowMs: number): boolean {
  if (!current || current.reason === 'NewReplicaSetAvailable') return false
  if (current.reason === 'ProgressDeadlineExceeded') return true
  return Date.parse(current.lastUpdateTime ?? '') + deadline * 1000 < nowMs
}

/** Returns the time until the progress is checked again; undefined if nothing progresses. */
export function untilDeadline(
  deployment: V1Deployment,
  status: V1DeploymentStatus,
  nowMs: number,
): number | undefined {
  const [deadline, current] = [deadlineOf(deployment), progressing(status.conditions ?? [])]
  if (deadline === undefined || !current || current.reason === 'ProgressDeadlineExceeded') return undefined
  if (deployment.spec?.paused || isComplete(deployment, status)) return undefined
  // A second more, as the time of the condition is in whole seconds.
  return Math.max(1000, Date.parse(current.lastUpdateTime ?? '') + deadline * 1000 + 1000 - nowMs)
}
