/** Finds the ReplicaSet of a template, and computes annotations: revisions, their history, and sizes. */
import type { V1Deployment, V1PodTemplateSpec, V1ReplicaSet } from 'kubeloop/kinds'
import { jsonEqual } from '../../core/equal.ts'
import { ageOrder, boundsOf, DESIRED, MAX, replicasOf } from './rollout.ts'

/** The label with the hash of the template. */
export const HASH = 'pod-template-hash'
export const REVISION = 'deployment.kubernetes.io/revision'
const HISTORY = 'deployment.kubernetes.io/revision-history'
/** Annotations of a Deployment that its ReplicaSets do not get. */
const OWN: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  ...[REVISION, HISTORY, DESIRED, MAX, 'deprecated.deployment.rollback.to'],
])
const MAX_HISTORY = 2000

export type Annotations = Readonly<Record<string, string>>

/** Returns the annotations by which a change of the replicas is noticed. */
export function sizes(deployment: V1Deployment): Annotations {
  const replicas = replicasOf(deployment)
  return { [DESIRED]: String(replicas), [MAX]: String(replicas + boundsOf(deployment).surge) }
}

/** Returns the number of the revision, or 0. */
export const revisionOf = ({ metadata }: V1ReplicaSet): number => Number(metadata.annotations?.[REVISION] ?? 0) || 0

/** Returns the annotations of the new ReplicaSet, and its revision: the highest of all. */
export function revisionsOf(
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
