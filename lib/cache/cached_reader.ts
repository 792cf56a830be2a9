/** Reads from the cache if possible, and from the server otherwise. */
import { type Index, indexKeys } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, type ResourceOf } from '../core/resource.ts'
import { formatLabels, parseLabelSelector } from '../core/selectors.ts'
import { type Log, silentLog } from '../observe/log.ts'
import type { CachingReader, ListOptions, Reader } from '../client/client.ts'
import type { Informer } from './informer.ts'
import { BY_NAMESPACE, type StoreReader } from './store.ts'

/** The part of {@link Cache} that is used here. */
interface Informers {
  readableOf(resource: AnyResource): readonly Informer[] | undefined
}

/**
 * Kinds and namespaces that are not watched, or whose first list is not in the store, are read from the server: a miss
 * in an unsynced cache proves nothing.
 */
export class CachedReader implements CachingReader {
  readonly #cache: Informers
  readonly #live: Reader
  readonly #log: Log
  /** The kinds for which a lookup warning was logged. */
  readonly #warned = new Set<string>()

  constructor(cache: Informers, live: Reader, log: Log = silentLog) {
    this.#cache = cache
    this.#live = live
    this.#log = log
  }

  /** Returns whether a kind is read from the cache after its first list. */
  watches(resource: AnyResource): boolean {
    return this.#cache.readableOf(resource) !== undefined
  }

  async get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
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

  async list<T extends KubeObject>(resource: ResourceOf<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const namespace = resource.scope === 'Namespaced' ? options.namespace : undefined
    const informers = this.#synced(resource, namespace)
    // The cache does not know which fields the server can select by.
    if (!informers || options.fields) return await this.#listLive(resource, options)
    const selects = options.labels === undefined ? undefined : parseLabelSelector(options.labels)
    const found: T[] = []
    for (const informer of informers) {
      // An informer of only this namespace needs no index.
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
    if (!this.watches(resource)) this.#warnAboutLookup(resource)
    return (await this.#listLive(resource, {})).filter((object) => indexKeys(index, object).includes(key))
  }

  #warnAboutLookup(resource: AnyResource): void {
    const kind = groupResourceOf(resource)
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    const why = `because they are not cached; add app.cache(${resource.kind})`
    this.#log.warn(`Each lookup in an index of ${kind} lists all of them on the server, ${why}`)
  }

  /** Lists from the server, limited to the namespaces and selectors that the cache has for the kind. */
  async #listLive<T extends KubeObject>(resource: ResourceOf<T>, options: ListOptions): Promise<readonly T[]> {
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
    // If the namespace has its own informer, the informer of all other namespaces excludes it.
    const named = informers.filter((informer) => informer.namespace === namespace)
    return named.length > 0 ? named : informers.filter((informer) => informer.namespace === undefined)
  }

  /** Returns the informers of a kind for one namespace, or for all. Undefined if one of them has no first list yet. */
  #synced(resource: AnyResource, namespace?: string): readonly Informer[] | undefined {
    const informers = this.#informers(resource, namespace)
    return informers.length > 0 && informers.every(({ isSynced }) => isSynced) ? informers : undefined
  }
}

/** Joins two selectors: label and field selectors are lists of terms that must all match. */
function both(a: ListOptions['labels'] = '', b: ListOptions['labels'] = ''): string {
  return [formatLabels(a), formatLabels(b)].filter((terms) => terms !== '').join(',')
}

function readerOf<T extends KubeObject>(informer: Informer): StoreReader<T> {
  return informer.reader as unknown as StoreReader<T>
}
