/** Gives the kinds of an operator that are cached with `compact` their maps. */
import type { CacheOptions } from '../cache_options.ts'
import { compactObjects } from './compact_objects.ts'

/** `freeze`: as of the cluster. */
export function withCompactCaches<T extends { readonly caches: readonly { readonly options: CacheOptions }[] }>(
  description: T,
  freeze: boolean | undefined,
): T {
  const caches = description.caches.map((cache) =>
    cache.options.compact ? { ...cache, options: { ...cache.options, objects: compactObjects(freeze) } } : cache
  )
  return { ...description, caches }
}
