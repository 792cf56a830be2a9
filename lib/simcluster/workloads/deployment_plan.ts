/** Decides what a rollout of a Deployment does next, from the Deployment and its ReplicaSets. */
import type {
  DesiredV1ReplicaSet,
  V1Deployment,
  V1DeploymentStatus,
  V1PodTemplateSpec,
  V1ReplicaSet,
} from 'kubeloop/kinds'
import { jsonEqual } from '../../core/equal.ts'
import { hashText } from './controller_revisions.ts'
import {
  isComplete,
  pausedConditions,
  progressing,
  rolloutStatus,
  statusOf,
  withCondition,
} from './deployment_status.ts'
import {
  ageOrder,
  boundsOf,
  DESIRED,
  isScaling,
  MAX,
  replicasOf,
  roll,
  scale,
  type Sized,
  sizeOfNew,
} from './rollout.ts'

const HASH = 'pod-template-hash'
export const REVISION: string = 'deployment.kubernetes.io/revision'
const HISTORY = 'deployment.kubernetes.io/revision-history'
/** Annotations of a Deployment that its ReplicaSets do not get. */
const OWN: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  ...[REVISION, HISTORY, DESIRED, MAX],
])
const MAX_HISTORY = 2000

type Annotations = Readonly<Record<string, string>>

export interface DeploymentPlan {
  readonly create?: DesiredV1ReplicaSet
  readonly changes: readonly {
    readonly set: V1ReplicaSet
    readonly replicas: number
    readonly annotations: Annotations
  }[]
  readonly remove: readonly V1ReplicaSet[]
  readonly revision: string | undefined
  readonly status: V1DeploymentStatus
}

/** Returns what to do now. Each change of an object leads to another call. */
export function planDeployment(deployment: V1Deployment, sets: readonly V1ReplicaSet[], nowMs: number): DeploymentPlan {
  const { spec, metadata, status: known } = deployment
  const fresh = newSetOf(deployment, sets)
  const sized = sets.toSorted(ageOrder).map((set): Sized => ({ set, size: set.spec?.replicas ?? 0 }))
  const target = sized.find(({ set }) => set === fresh)
  const old = sized.filter((each) => each !== target)
  const seen = { deployment, nowMs, all: sized, fresh }
  const nothing = { changes: [], remove: [], revision: undefined }
  let conditions = known?.conditions ?? []
  if (metadata.deletionTimestamp) return { ...nothing, status: statusOf({ ...seen, conditions }) }
  conditions = pausedConditions(seen, conditions)
  const isRollout = !spec?.paused && !isScaling(deployment, sets)
  const isRecreate = spec?.strategy?.type === 'Recreate'
  const podsOf = ({ size, set: { status } }: Sized): number =>
    size + (status?.replicas ?? 0) + (status?.terminatingReplicas ?? 0)
  // A Deployment of the strategy `Recreate` waits for the end of all old pods.
  const waits = isRecreate && old.some((each) => podsOf(each) > 0)
  const { revision, annotations } = revisionsOf(deployment, fresh, old.map(({ set }) => set))
  if (isRollout && !fresh && !waits) {
    const hash = hashText(JSON.stringify(spec?.template) + (known?.collisionCount ?? ''))
    const name = `${metadata.name.slice(0, 252 - hash.length)}-${hash}`
    const replicas = sizeOfNew(deployment, 0, old)
    const message = `Created new replica set "${name}"`
    conditions = withCondition(seen, conditions, 'Progressing', ['True', 'NewReplicaSetCreated', message])
    const all = [...old, { set: {}, size: replicas }]
    const status = rolloutStatus({ ...seen, conditions, all, fresh: { metadata: { name } } })
    const { selector, template, minReadySeconds } = spec!
    const labels = { ...template.metadata?.labels, [HASH]: hash }
    const create = {
      metadata: { namespace: metadata.namespace, name, labels, annotations: { ...annotations, ...sizes(deployment) } },
      spec: {
        replicas,
        minReadySeconds,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    }
    return { ...nothing, create, status, revision }
  }
  if (fresh && !progressing(conditions)) {
    const message = `Found new replica set "${fresh.metadata.name}"`
    conditions = withCondition(seen, conditions, 'Progressing', ['True', 'FoundNewReplicaSet', message])
  }
  const isForced = !isRollout && scale(deployment, target, old)
  if (isRollout && isRecreate) {
    for (const each of old) each.size = 0
    if (target && !waits) target.size = replicasOf(deployment)
  } else if (isRollout && target) roll(deployment, target, old)
  const changes = sized.flatMap((each) => changeOf(deployment, each, each === target ? annotations : {}, isForced))
  const isResized = sized.some(({ set, size }) => size !== (set.spec?.replicas ?? 0))
  const isClean = !isResized && (spec?.paused || (isRollout && isComplete(deployment, known)))
  const remove = isClean ? surplus(deployment, old.map(({ set }) => set)) : []
  const status = (isRollout ? rolloutStatus : statusOf)({ ...seen, conditions })
  return { changes, remove, status, revision: fresh && revision }
}

/** Returns the change of a ReplicaSet, if any. `isForced`: it gets the annotations of its size in any case. */
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

/** Returns the annotations by which a change of the replicas is noticed. */
function sizes(deployment: V1Deployment): Annotations {
  const replicas = replicasOf(deployment)
  return { [DESIRED]: String(replicas), [MAX]: String(replicas + boundsOf(deployment).surge) }
}

const revisionOf = ({ metadata }: V1ReplicaSet): number => Number(metadata.annotations?.[REVISION] ?? 0) || 0

/** Returns the annotations of the new ReplicaSet, and its revision: the highest of all. */
function revisionsOf(
  { metadata }: V1Deployment,
  fresh: V1ReplicaSet | undefined,
  old: readonly V1ReplicaSet[],
): { readonly revision: string; readonly annotations: Annotations } {
  const next = Math.max(0, ...old.map(revisionOf)) + 1
  const before = fresh?.metadata.annotations ?? {}
  const current = fresh ? revisionOf(fresh) : 0
  const copied = Object.entries(metadata.annotations ?? {}).filter(([name]) => !OWN.has(name))
  const revision = String(Math.max(next, current))
  const earlier = before[HISTORY]?.split(',') ?? []
  // It is rolled back to.
  if (before[REVISION] !== undefined && current < next) {
    earlier.push(before[REVISION])
    while (earlier.join(',').length > MAX_HISTORY) earlier.shift()
  }
  const history = earlier.length > 0 ? { [HISTORY]: earlier.join(',') } : {}
  return { revision, annotations: { ...Object.fromEntries(copied), [REVISION]: revision, ...history } }
}

/** Returns the oldest ReplicaSet with the template of the Deployment. */
export function newSetOf({ spec }: V1Deployment, sets: readonly V1ReplicaSet[]): V1ReplicaSet | undefined {
  const wanted = withoutHash(spec?.template)
  return sets.toSorted(ageOrder).find((set) => jsonEqual(withoutHash(set.spec?.template), wanted))
}

function withoutHash(template: V1PodTemplateSpec | undefined): unknown {
  const { [HASH]: _hash, ...labels } = template?.metadata?.labels ?? {}
  return { ...template, metadata: { ...template?.metadata, labels } }
}
