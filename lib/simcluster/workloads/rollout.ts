/** Computes the sizes of the ReplicaSets of a Deployment during a rollout, a scaling, and a pause. */
import type { V1Deployment, V1ReplicaSet } from 'kubeloop/kinds'

export interface Sized {
  readonly set: V1ReplicaSet
  size: number
}

export const DESIRED = 'deployment.kubernetes.io/desired-replicas'
export const MAX = 'deployment.kubernetes.io/max-replicas'

export const replicasOf = ({ spec }: V1Deployment): number => spec?.replicas ?? 1
const availableIn = ({ status }: V1ReplicaSet): number => status?.availableReplicas ?? 0
const total = (sets: readonly Sized[]): number => sets.reduce((sum, { size }) => sum + size, 0)
const byAge = (a: Sized, b: Sized): number => ageOrder(a.set, b.set)

export function ageOrder({ metadata: a }: V1ReplicaSet, { metadata: b }: V1ReplicaSet): number {
  const [left, right] = [Date.parse(a.creationTimestamp), Date.parse(b.creationTimestamp)]
  return left !== right ? left - right : a.name < b.name ? -1 : 1
}

/** Returns how many pods may be there beyond the replicas, and how many of the replicas may be unavailable. */
export function boundsOf(deployment: V1Deployment): { readonly surge: number; readonly unavailable: number } {
  const { type, rollingUpdate } = deployment.spec?.strategy ?? {}
  if (type === 'Recreate') return { surge: 0, unavailable: 0 }
  const replicas = replicasOf(deployment)
  const surge = scaled(rollingUpdate?.maxSurge ?? 0, replicas, Math.ceil)
  const unavailable = scaled(rollingUpdate?.maxUnavailable ?? 0, replicas, Math.floor)
  return { surge, unavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable) }
}

/** Returns a number of pods: a count, or a percentage of all. */
function scaled(value: number | string, all: number, round: (value: number) => number): number {
  return typeof value === 'number' ? value : round(Number(value.replace('%', '')) * all / 100)
}

/** Returns whether the replicas of a Deployment have changed since its ReplicaSets got their sizes. */
export function isScaling(deployment: V1Deployment, sets: readonly V1ReplicaSet[]): boolean {
  return sets.some(({ metadata, spec }) => {
    const desired = metadata.annotations?.[DESIRED]
    return (spec?.replicas ?? 0) > 0 && desired !== undefined && /^\d+$/.test(desired) &&
      Number(desired) !== replicasOf(deployment)
  })
}

/** Returns the size of the new ReplicaSet, which does not exceed the surge. */
export function sizeOfNew(deployment: V1Deployment, size: number, all: readonly Sized[]): number {
  const replicas = replicasOf(deployment)
  if (size >= replicas || deployment.spec?.strategy?.type === 'Recreate') return replicas
  const free = replicas + boundsOf(deployment).surge - total(all)
  return free <= 0 ? size : size + Math.min(free, replicas - size)
}

/** Makes the next step of a rolling update: the new ReplicaSet grows, or else old ones shrink. */
export function roll(deployment: V1Deployment, fresh: Sized, old: readonly Sized[]): void {
  const before = fresh.size
  fresh.size = sizeOfNew(deployment, fresh.size, [fresh, ...old])
  if (fresh.size !== before) return
  const active = old.filter(({ size }) => size > 0).toSorted(byAge)
  const min = replicasOf(deployment) - boundsOf(deployment).unavailable
  // Pods of the new ReplicaSet that are not available must not let old ones go.
  const unhealthy = total([fresh, ...old]) - min - (fresh.size - availableIn(fresh.set))
  if (active.length === 0 || unhealthy <= 0) return
  shrink(active, unhealthy, ({ set, size }) => size - availableIn(set))
  const surplus = [fresh, ...active].reduce((sum, { set }) => sum + availableIn(set), 0) - min
  shrink(active, surplus, ({ size }) => size)
}

/** Takes so many pods of ReplicaSets, in their order. `most` is the maximum of each. */
function shrink(sets: readonly Sized[], count: number, most: (each: Sized) => number): void {
  for (const each of sets) {
    const less = Math.max(0, Math.min(count, most(each)))
    each.size -= less
    count -= less
  }
}

/**
 * Distributes a new number of replicas while no rollout goes on, or during a pause: to the one ReplicaSet with pods,
 * or in proportion to all. Returns whether all get the annotations of their sizes.
 */
export function scale(deployment: V1Deployment, fresh: Sized | undefined, old: readonly Sized[]): boolean {
  const replicas = replicasOf(deployment)
  const all = fresh ? [...old, fresh] : [...old]
  const active = all.filter(({ size }) => size > 0)
  if (active.length <= 1) {
    const only = active[0] ?? fresh ?? all.toSorted(byAge).at(-1)
    if (only) only.size = replicas
    return false
  }
  if (
    fresh && fresh.size === replicas && Number(fresh.set.metadata.annotations?.[DESIRED]) === replicas &&
    availableIn(fresh.set) === replicas
  ) {
    for (const each of old) each.size = 0
    return false
  }
  if (deployment.spec?.strategy?.type === 'Recreate') return false
  const more = (replicas > 0 ? replicas + boundsOf(deployment).surge : 0) - total(active)
  const ordered = active.toSorted((a, b) => b.size - a.size || (more > 0 ? byAge(b, a) : byAge(a, b)))
  let left = more
  for (const each of ordered) {
    const share = left === 0 ? 0 : shareOf(deployment, each)
    const part = more > 0 ? Math.min(share, left) : Math.max(share, left)
    each.size += part
    left -= part
  }
  ordered[0]!.size += left
  for (const each of ordered) each.size = Math.max(0, each.size)
  return true
}

/** Returns by how much a ReplicaSet changes in proportion. */
function shareOf(deployment: V1Deployment, { set, size }: Sized): number {
  const replicas = replicasOf(deployment)
  if (replicas === 0) return -size
  const before = Number(set.metadata.annotations?.[MAX] ?? 0) || (deployment.status?.replicas ?? 0)
  return before === 0 ? 0 : Math.round(size * (replicas + boundsOf(deployment).surge) / before) - size
}
