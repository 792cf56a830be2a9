/**
 * Reads from the cache what the cache has, and the rest from the server: kinds and namespaces that are not watched,
 * and those whose first list is not in yet. That something is missing from a cache which cannot know it says nothing.
 */
import type { Index } from '../core/index.ts'
import { formatKey, keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { CachingReader, ListOptions, Reader } from '../client/client.ts'
import type { Informer } from './informer.ts'
import type { StoreReader } from './store.ts'

// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

/** What is asked of a cache. */
interface Informers {
  informersOf(resource: AnyResource): readonly Informer[] | undefined
}

export class CachedReader implements CachingReader {
  readonly #cache: Informers
  readonly #live: Reader

  constructor(cache: Informers, live: Reader) {
    this.#cache = cache
    this.#live = live
  }

  /** Whether reads of a kind come from the cache, once its first list is in. */
  watches(resource: AnyResource): boolean {
    return this.#cache.informersOf(resource) !== undefined
  }

  async get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    const { namespace, name } = keyOf(ref)
    const stores = this.#stores<T>(resource, namespace)
    if (!stores) return await this.#live.get(resource, ref)
    const key = formatKey({ namespace, name })
    for (const store of stores) {
      const object = store.get(key)
      if (object) return object
    }
    return undefined
  }

  async list<T extends KubeObject>(resource: Of<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const namespace = resource.scope === 'Namespaced' ? options.namespace : undefined
    const stores = this.#stores<T>(resource, namespace)
    // A cache cannot know every field that a server selects by.
    if (!stores || options.fields) return await this.#live.list(resource, options)
    const selects = options.labels === undefined ? undefined : parseLabelSelector(options.labels)
    const found: T[] = []
    for (const store of stores) {
      for (const object of store.values()) {
        if (namespace && object.metadata.namespace !== namespace) continue
        if (!selects || selects(object.metadata.labels)) found.push(object)
      }
    }
    return found
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    const stores = this.#stores<T>(index.resource)
    return stores ? stores.flatMap((store) => store.lookup(index, key)) : await this.#live.lookup(index, key)
  }

  /** The stores that have what there is of a kind: in one namespace, or in all that are watched. */
  #stores<T extends KubeObject>(resource: Of<T>, namespace?: string): readonly StoreReader<T>[] | undefined {
    const stores: StoreReader<T>[] = []
    const informers = this.#cache.informersOf(resource) ?? []
    // One that watches all other namespaces beside one of this namespace's own does not have it.
    const isNamed = informers.some((informer) => informer.namespace === namespace)
    for (const informer of informers) {
      if (namespace && informer.namespace !== (isNamed ? namespace : undefined)) continue
      if (!informer.isSynced) return undefined
      stores.push(informer.reader as unknown as StoreReader<T>)
    }
    return stores.length > 0 ? stores : undefined
  }
}
