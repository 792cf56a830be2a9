/** Finds the informers of a kind that a cache has, in any version and form. */
import { refersTo } from '../core/owners.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Cache } from '../cache/cache.ts'
import type { Informer } from '../cache/informer.ts'

/** Yields the informers that have the objects of a namespace. `of`: an object of the kind, or a reference to one. */
export function* informersOfKind(
  cache: Pick<Cache, 'informers' | 'informersOf'>,
  of: Parameters<typeof refersTo>[0],
  namespace: string | undefined,
): Generator<Informer> {
  let last: AnyResource | undefined
  for (const informer of cache.informers()) {
    const { resource } = informer
    // Those of a kind follow each other: one for each of its namespaces, which may be thousands.
    if (resource === last || !refersTo(of, resource)) continue
    last = resource
    yield* cache.informersOf(resource, resource.scope === 'Cluster' ? undefined : namespace) ?? [informer]
  }
}
