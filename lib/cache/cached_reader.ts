/**
 * Reads from the cache what the cache has, and the rest from the server: kinds and namespaces that are not watched,
 * and those whose first list is not in yet. That something is missing from a cache which cannot know it says nothing.
 */
import { type Index, indexKeys } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, type Resource } from '../core/resource.ts'
import { formatLabels, parseLabelSelector } from '../core/selectors.ts'
import { type Log, silentLog } from '../observe/log.ts'
import type { CachingReader, ListOptions, Reader } from '../client/client.ts'
import type { Informer } from './informer.ts'
import { BY_NAMESPACE, type StoreReader } from './store.ts'

// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

/** What is asked of a cache. */
interface Informers {
  readableOf(resource: AnyResource): readonly Informer[] | undefined
}

export class CachedReader implements CachingReader {
  readonly #cache: Informers
  readonly #live: Reader
  readonly #log: Log
  /** Kinds whose lookups were warned of. */
  readonly #warned = new Set<string>()

  constructor(cache: Informers, live: Reader, log: Log = silentLog) {
    this.#cache = cache
    this.#live = live
    this.#log = log
  }

  /** Whether reads of a kind come from the cache, once its first list is in. */
  watches(resource: AnyResource): boolean {
    return this.#cache.readableOf(resource) !== undefined
  }

  async get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    const { namespace, name } = keyOf(ref)
    const informers = this.#synced(resource, namespace)
    if (!informers) return await this.#live.get(resource, ref)
    const key = formatKey({ namespace, name })
    for (const informer of informers) {
      const object = readerOf<T>(informer).get(key)
      if (object) return object
    }
    return undefined
  }

  async list<T extends KubeObject>(resource: Of<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const namespace = resource.scope === 'Namespaced' ? options.namespace : undefined
    const informers = this.#synced(resource, namespace)
    // A cache cannot know every field that a server selects by.
    if (!informers || options.fields) return await this.#listLive(resource, options)
    const selects = options.labels === undefined ? undefined : parseLabelSelector(options.labels)
    const found: T[] = []
    for (const informer of informers) {
      // One that watches this namespace alone needs no index.
      const within = informer.namespace === undefined && namespace ? namespace : undefined
      const building = within === undefined ? undefined : informer.index(BY_NAMESPACE)
      if (building) await building
      for (const object of readerOf<T>(informer).values(within)) {
        if (!selects || selects(object.metadata.labels)) found.push(object)
      }
    }
    return found
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    const { resource } = index
    const informers = this.#synced(resource)
    if (informers) {
      for (const informer of informers) {
        const building = informer.index(index as unknown as Index<KubeObject>)
        if (building) await building
      }
      return informers.flatMap((informer) => readerOf<T>(informer).lookup(index, key))
    }
    if (!this.watches(resource)) this.#warnOfLookup(resource)
    return (await this.#listLive(resource, {})).filter((object) => indexKeys(index, object).includes(key))
  }

  #warnOfLookup(resource: AnyResource): void {
    const kind = groupResourceOf(resource)
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    this.#log.warn(
      `Each lookup in an index of ${kind} lists all of them on the server, as they are not read from a cache; app.cache(${resource.kind}) keeps them`,
    )
  }

  /** From the server, those that the cache has, or will have: of a kind that is kept in part, no more than that part. */
  async #listLive<T extends KubeObject>(resource: Of<T>, options: ListOptions): Promise<readonly T[]> {
    const informers = this.#informers(resource, options.namespace)
    if (informers.length === 0) return await this.#live.list(resource, options)
    const lists = await Promise.all(informers.map(({ namespace = options.namespace, selection }) => {
      const labels = both(options.labels, selection.labels)
      const fields = both(options.fields, selection.fields)
      return this.#live.list(resource, {
        ...(namespace && { namespace }),
        ...(labels && { labels }),
        ...(fields && { fields }),
      })
    }))
    return lists.flat()
  }

  /** Returns the informers that have objects of a namespace, or of any if none is given. */
  #informers(resource: AnyResource, namespace: string | undefined): readonly Informer[] {
    const informers = this.#cache.readableOf(resource) ?? []
    if (!namespace || (informers.length === 1 && informers[0]!.namespace === undefined)) return informers
    // One that watches all other namespaces beside one of this namespace's own does not have it.
    const named = informers.filter((informer) => informer.namespace === namespace)
    return named.length > 0 ? named : informers.filter((informer) => informer.namespace === undefined)
  }

  /** The informers that have what there is of a kind: in one namespace, or in all that are watched. Undefined before their first lists. */
  #synced(resource: AnyResource, namespace?: string): readonly Informer[] | undefined {
    const informers = this.#informers(resource, namespace)
    return informers.length > 0 && informers.every(({ isSynced }) => isSynced) ? informers : undefined
  }
}

/** Selectors of both kinds are lists of terms, all of which must hold. */
function both(a: ListOptions['labels'] = '', b: ListOptions['labels'] = ''): string {
  return [formatLabels(a), formatLabels(b)].filter((terms) => terms !== '').join(',')
}

function readerOf<T extends KubeObject>(informer: Informer): StoreReader<T> {
  return informer.reader as unknown as StoreReader<T>
}
