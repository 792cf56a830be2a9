/** The kinds that an operator needs, watches and defines in each of its clusters. */
import { toMs } from '../../core/duration.ts'
import { type AnyResource, resourceId } from '../../core/resource.ts'
import type { CacheOptions } from '../../cache/cache_options.ts'
import { withConverted } from '../../schema/conversions.ts'
import type { OtherCluster } from './context.ts'
import {
  allControllers,
  type ClusterDescription,
  type ControllerDescription,
  memberCluster,
  memberOf,
  type OperatorDescription,
} from './description.ts'

/**
 * Returns every kind that the operator needs in a cluster (undefined is its own), and may define there: those that it
 * watches, and all versions of conversions and the kinds of admissions.
 */
export function usedResources(description: OperatorDescription, cluster?: OtherCluster): AnyResource[] {
  const watched = watchedResources(description, cluster)
  if (cluster) return watched
  return [...withConverted(watched, description.conversions), ...description.admissions.map(({ resource }) => resource)]
}

/** Throws a TypeError for a kind of the operator's own with refinements that no admission of it checks. */
export function refuseUnadmitted(description: OperatorDescription): void {
  for (const resource of ownKinds(description)) {
    if (!resource.definition?.hasRefinements) continue
    const id = resourceId(resource)
    if (description.admissions.some(({ resource, hooks }) => resourceId(resource) === id && hooks.validate)) continue
    const { kind } = resource
    const remedy = `app.admission(${kind}, { validate: ${kind}.definition.validate })`
    const cannot = `Cannot start operator "${description.options.name}"`
    throw new TypeError(`${cannot}: nothing checks the refinements in the schema of ${kind}; add ${remedy}`)
  }
}

/** Returns every kind that the operator watches in a cluster; undefined is its own. */
export function watchedResources(description: OperatorDescription, cluster?: OtherCluster): AnyResource[] {
  const kinds = description.caches.filter((cache) => cache.cluster === cluster).map(({ resource }) => resource)
  return kinds.concat(allControllers(description).flatMap((controller) => watchedBy(controller, cluster)))
}

/** The same for one controller. With `optional`, only its own kind and the sources with that value. */
function watchedBy(
  { resource, options, sources }: ControllerDescription,
  cluster: OtherCluster | undefined,
  optional?: boolean,
): AnyResource[] {
  const isPlaced = !options.clusters || options.cluster !== undefined
  const isHere = isPlaced && options.cluster === cluster
  const kinds = isHere ? [resource] : []
  for (const source of sources) {
    if (source.kind !== 'owns' && source.kind !== 'watches') continue
    const isWatched = source.kind === 'watches'
      ? source.cluster === cluster && (isPlaced || source.isOwn || cluster !== undefined)
      : isHere
    if (!isWatched) continue
    if (optional === undefined || optional === Boolean(source.optional)) kinds.push(source.resource)
  }
  return kinds
}

/** Returns the options of a kind's cache, and those of all kinds. */
export function cacheOptionsOf(
  resource: AnyResource,
  { options: { cache, namespaces }, caches }: OperatorDescription,
  cluster?: ClusterDescription,
): [own: CacheOptions, common: CacheOptions] {
  const id = resourceId(resource)
  const own = caches.find((each) => each.cluster === cluster && resourceId(each.resource) === id)
  const common = { ...cache, namespaces: cluster?.namespaces ?? cache?.namespaces ?? namespaces } as CacheOptions
  return [own?.options ?? {}, common]
}

/** Whether the operator can start without a cluster. */
export function isOptional(cluster: OtherCluster | undefined): boolean {
  return Boolean((cluster as ClusterDescription | undefined)?.optional)
}

/** Returns a test whether the operator can start without a kind. */
export function optionalIn(
  description: OperatorDescription,
  cluster?: OtherCluster,
): (resource: AnyResource) => boolean {
  return isOptional(cluster) ? () => true : statedOptionalIn(description, cluster)
}

/** Returns a test whether a kind is optional by itself: it is declared optional, and no controller needs it. */
export function statedOptionalIn(
  description: OperatorDescription,
  cluster?: OtherCluster,
): (resource: AnyResource) => boolean {
  const kinds = (optional: boolean): Set<string> =>
    new Set(allControllers(description).flatMap((each) => watchedBy(each, cluster, optional)).map(resourceId))
  const [needed, dispensable] = [kinds(false), kinds(true)]
  for (const each of description.caches) {
    if (each.optional && each.cluster === cluster) dispensable.add(resourceId(each.resource))
  }
  return (resource) => dispensable.has(resourceId(resource)) && !needed.has(resourceId(resource))
}

/** Returns the kinds that the operator defines in a cluster. CRDs of optional kinds are not the operator's. */
export function ownKinds(description: OperatorDescription, cluster?: OtherCluster): AnyResource[] {
  const isForeign = statedOptionalIn(description, cluster)
  const ours = new Map<string, AnyResource>()
  for (const resource of usedResources(description, cluster)) {
    if (resource.definition && !isForeign(resource)) ours.set(resourceId(resource), resource)
  }
  return [...ours.values()]
}

/**
 * Returns the time limits of first lists in a cluster, in milliseconds: the shortest `syncTimeout` of the controllers
 * that watch the kind there, else the operator's, else undefined.
 */
export function syncTimeoutsOf(
  description: OperatorDescription,
  cluster?: OtherCluster,
): (resource: AnyResource) => number | undefined {
  const common = description.options.syncTimeout === undefined ? undefined : toMs(description.options.syncTimeout)
  const stated = new Map<string, number>()
  for (const controller of allControllers(description)) {
    const { syncTimeout } = controller.options
    if (syncTimeout === undefined) continue
    for (const id of watchedBy(controller, cluster).map(resourceId)) {
      stated.set(id, Math.min(stated.get(id) ?? Infinity, toMs(syncTimeout)))
    }
  }
  return (resource) => stated.get(resourceId(resource)) ?? common
}

/** Returns the kinds that the operator defines in other clusters and in those of groups. */
export function kindsElsewhere(description: OperatorDescription): AnyResource[] {
  const ofGroups = description.groups.flatMap((group) => {
    const member = memberCluster(group, group.name)
    return ownKinds(memberOf(description, group, member), member)
  })
  return description.clusters.flatMap((cluster) => ownKinds(description, cluster)).concat(ofGroups)
}
