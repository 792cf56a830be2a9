/** Decides what a Deployment needs: a new ReplicaSet, other sizes, revisions, and its status. */
import type { V1Deployment, V1DeploymentStatus, V1ReplicaSet } from 'kubeloop/kinds'
import { hashText } from './instant.ts'
import {
  type Conditions,
  deadlineOf,
  isComplete,
  pausedConditions,
  progressing,
  rolloutStatus,
  statusOf,
  withCondition,
} from './deployment_status.ts'
import { type Annotations, newSetOf, revisionOf, revisionsOf, sizes } from './revisions.ts'
import { ageOrder, isScaling, replicasOf, roll, scale, type Sized, sizeOfNew } from './rollout.ts'

export interface DeploymentSeen {
  readonly deployment: V1Deployment
  readonly sets: readonly V1ReplicaSet[]
  readonly nowMs: number
}

export interface DeploymentPlan {
  readonly create?: {
    readonly name: string
    readonly hash: string
    readonly replicas: number
    readonly annotations: Annotations
  }
  readonly changes: readonly {
    readonly set: V1ReplicaSet
    readonly replicas: number
    readonly annotations: Annotations
  }[]
  readonly remove: readonly V1ReplicaSet[]
  /** The annotation of the Deployment. */
  readonly revision: string | undefined
  readonly status: V1DeploymentStatus
}

/** Returns what to do now. Each change of an object leads to another call. */
export function planDeployment({ deployment, sets, nowMs }: DeploymentSeen): DeploymentPlan {
  const { spec, metadata } = deployment
  const fresh = newSetOf(deployment, sets)
  const isNew = (set: V1ReplicaSet): boolean => set === fresh
  const sized = sets.toSorted(ageOrder).map((set): Sized => ({ set, size: set.spec?.replicas ?? 0 }))
  const target = sized.find(({ set }) => isNew(set))
  const old = sized.filter(({ set }) => !isNew(set))
  const seen = { deployment, nowMs, all: sized, fresh }
  let conditions: Conditions = deployment.status?.conditions ?? []
  if (metadata.deletionTimestamp) {
    return { changes: [], remove: [], revision: undefined, status: statusOf({ ...seen, conditions }) }
  }
  if (deadlineOf(deployment) !== undefined) conditions = pausedConditions(deployment, conditions, nowMs)
  const isRollout = !spec?.paused && !isScaling(deployment, sets)
  const revisions = revisionsOf(deployment, fresh, old.map(({ set }) => set))
  if (isRollout && !fresh && mayCreate(deployment, old)) {
    const hash = hashText(JSON.stringify(spec?.template) + (deployment.status?.collisionCount ?? ''))
    const name = `${metadata.name.slice(0, 252 - hash.length)}-${hash}`
    const replicas = sizeOfNew(deployment, 0, old)
    const message = `Created new replica set "${name}"`
    const created = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated', message }
    if (deadlineOf(deployment) !== undefined) conditions = withCondition(conditions, created, nowMs)
    const all = [...old, { set: {}, size: replicas }]
    const status = rolloutStatus({ ...seen, conditions, all, fresh: { metadata: { name } } })
    const annotations = { ...revisions.annotations, ...sizes(deployment) }
    return {
      create: { name, hash, replicas, annotations },
      changes: [],
      remove: [],
      status,
      revision: revisions.revision,
    }
  }
  if (fresh && deadlineOf(deployment) !== undefined && !progressing(conditions)) {
    const message = `Found new replica set "${fresh.metadata.name}"`
    const found = { type: 'Progressing', status: 'True', reason: 'FoundNewReplicaSet', message }
    conditions = withCondition(conditions, found, nowMs)
  }
  const isForced = resize(deployment, { isRollout, target, old })
  const changes = sized.flatMap((each) =>
    changeOf(deployment, each, isNew(each.set) ? revisions.annotations : {}, isForced)
  )
  const isResized = sized.some(({ set, size }) => size !== (set.spec?.replicas ?? 0))
  const isClean = !isResized && (spec?.paused || (isRollout && isComplete(deployment, deployment.status)))
  const remove = isClean ? surplus(deployment, old.map(({ set }) => set)) : []
  const status = isRollout ? rolloutStatus({ ...seen, conditions }) : statusOf({ ...seen, conditions })
  return { changes, remove, status, revision: fresh && revisions.revision }
}

/** A Deployment of the strategy `Recreate` waits for the end of all old pods. */
function mayCreate({ spec }: V1Deployment, old: readonly Sized[]): boolean {
  return spec?.strategy?.type !== 'Recreate' || old.every(({ size }) => size === 0) && !hasPods(old)
}

function hasPods(sets: readonly Sized[]): boolean {
  return sets.some(({ set: { status } }) => (status?.replicas ?? 0) + (status?.terminatingReplicas ?? 0) > 0)
}

interface Resizing {
  readonly isRollout: boolean
  readonly target: Sized | undefined
  readonly old: readonly Sized[]
}

/** Sets the sizes of this step. Returns whether all ReplicaSets get the annotations of their sizes. */
function resize(deployment: V1Deployment, { isRollout, target, old }: Resizing): boolean {
  if (!isRollout) return scale(deployment, target, old)
  if (deployment.spec?.strategy?.type !== 'Recreate') {
    if (target) roll(deployment, target, old)
  } else if (old.some(({ size }) => size > 0)) {
    for (const each of old) each.size = 0
  } else if (target && !hasPods(old)) {
    target.size = replicasOf(deployment)
  }
  return false
}

function changeOf(
  deployment: V1Deployment,
  { set, size }: Sized,
  own: Annotations,
  isForced: boolean,
): DeploymentPlan['changes'] {
  const known = set.metadata.annotations ?? {}
  const isResized = size !== (set.spec?.replicas ?? 0)
  const annotations = { ...own, ...((isResized || (isForced && size > 0)) && sizes(deployment)) }
  const isStale = Object.keys(own).length > 0 &&
    (set.spec?.minReadySeconds ?? 0) !== (deployment.spec?.minReadySeconds ?? 0)
  const isChanged = isResized || isStale || Object.entries(annotations).some(([name, value]) => known[name] !== value)
  return isChanged ? [{ set, replicas: size, annotations }] : []
}

/** Returns the oldest ReplicaSets without pods beyond the limit of the history. */
function surplus({ spec }: V1Deployment, old: readonly V1ReplicaSet[]): readonly V1ReplicaSet[] {
  const cleanable = old.filter(({ metadata }) => !metadata.deletionTimestamp)
  const count = Math.max(0, cleanable.length - (spec?.revisionHistoryLimit ?? 10))
  return cleanable.toSorted((a, b) => revisionOf(a) - revisionOf(b) || ageOrder(a, b)).slice(0, count)
    .filter(({ metadata, spec, status }) =>
      !spec?.replicas && !status?.replicas && (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0)
    )
}
