/** Reads from the cache if possible, and from the server otherwise. */
import { type Index, indexKeys } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type ObjectKey, parseKey, type Ref } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, type ResourceOf } from '../core/resource.ts'
import { formatLabels, parseLabelSelector } from '../core/selectors.ts'
import { type Log, silentLog } from '../observe/log.ts'
import type { CachingReader, ListOptions, LookupOptions, Reader } from '../client/client.ts'
import type { LiveReader } from '../client/live_reader.ts'
import { named } from '../client/requests.ts'
import { targetOf } from '../client/target.ts'
import type { Informer } from './informer.ts'
import type { SelectedNamespaces } from './selected_namespaces.ts'
import { BY_NAMESPACE, type StoreReader } from './store.ts'

/** Reads from the server; a {@link LiveReader}, unless only the cache is read. */
type LiveSource = Reader & Partial<Pick<LiveReader, 'listAt' | 'onIndexError'>>

/** The max number of single reads for a list or a lookup; above it, everything is listed once. */
const MAX_SINGLE_READS = 8

/** The part of {@link Cache} that is used here. */
interface Informers {
  informersOf(resource: AnyResource, namespace?: string): readonly Informer[] | undefined
  readableOf(resource: AnyResource, namespace?: string): readonly Informer[] | undefined
  namespacesOf(resource: AnyResource): Pick<SelectedNamespaces, 'checkListed'> | undefined
}

/**
 * Kinds and namespaces that are not watched, or whose first list is not in the store, are read from the server: a miss
 * in an unsynced cache proves nothing. Reads of a declared kind return only what its informers select, also those from
 * the server.
 */
export class CachedReader implements CachingReader {
  readonly #cache: Informers
  readonly #live: LiveSource
  readonly #log: Log
  /** The kinds for which a lookup warning was logged. */
  readonly #warned: Set<string>

  /** `warned`: shared by the readers of one log, as each run has its own reader. */
  constructor(cache: Informers, live: LiveSource, log: Log = silentLog, warned: Set<string> = new Set()) {
    this.#cache = cache
    this.#live = live
    this.#log = log
    this.#warned = warned
  }

  /**
   * Returns whether a kind is read from the cache after its first list; with `key`, whether the cache has what the
   * server has of this object, as the watch works.
   */
  watches(resource: AnyResource, key?: ObjectKey): boolean {
    return (key ? this.#of(resource, key.namespace, true) : this.#cache.readableOf(resource)) !== undefined
  }

  /** `forWrite`: what is read decides about a write, so the server is read while the watch fails. */
  async get<T extends KubeObject>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    forWrite?: boolean,
  ): Promise<T | undefined> {
    const { namespace, name } = targetOf(resource, keyOf(ref), 'get')
    const informer = this.#of(resource, namespace, forWrite)
    if (!informer) {
      return await getSelected(this.#cache.informersOf(resource, namespace), this.#live, resource, ref)
    }
    const key = formatKey({ namespace, name })
    const settling = this.#settle(resource, informer, { key })
    if (settling) await settling
    return readerOf<T>(informer).get(key)
  }

  async list<T extends KubeObject>(resource: ResourceOf<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const namespace = namespaceIn(resource, options)
    // The cache does not know which fields the server can select by.
    const [informers, found] = await this.#read<T>(resource, options, Boolean(options.fields))
    const selects = options.labels === undefined ? undefined : parseLabelSelector(options.labels)
    for (const informer of informers) {
      // An informer of only this namespace needs no index.
      const within = informer.namespace === undefined && namespace ? namespace : undefined
      const building = within === undefined ? undefined : informer.index(BY_NAMESPACE)
      if (building) await building
      const settling = this.#settle(resource, informer, { namespace: within })
      if (settling) await settling
      for (const object of readerOf<T>(informer).values(within)) {
        if (!selects || selects(object.metadata.labels)) found.push(object)
      }
    }
    return found
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string, options: LookupOptions = {}): Promise<readonly T[]> {
    const { resource } = index
    const namespace = namespaceIn(resource, options)
    const [informers, live] = await this.#read<T>(resource, options)
    if (informers.length === 0 && !this.watches(resource)) this.#warnAboutLookup(resource)
    const found = live.filter((object) => indexKeys(index, object, this.#live.onIndexError).includes(key))
    for (const informer of informers) {
      const building = informer.index(index as unknown as Index<KubeObject>)
      if (building) await building
      const settling = this.#settle(resource, informer, { namespace })
      if (settling) await settling
    }
    const selects = options.labels === undefined ? undefined : parseLabelSelector(options.labels)
    return found.concat(
      informers.flatMap((informer) => readerOf<T>(informer).lookup(index, key)).filter(({ metadata }) =>
        (!namespace || metadata.namespace === namespace) && (!selects || selects(metadata.labels))
      ),
    )
  }

  /** Reads from the server what own writes left unclear, so that the cache shows them. Undefined if nothing is. */
  #settle(
    resource: AnyResource,
    informer: Informer,
    of: { readonly key?: string; readonly namespace?: string | undefined },
  ): Promise<unknown> | undefined {
    const unclear = informer.unclear(of)
    if (!unclear || !this.#live.listAt) return undefined
    const read = async (keys: typeof unclear, options: Parameters<typeof limitedTo>[1]): Promise<void> =>
      await informer.settled(keys, await this.#live.listAt!(resource, limitedTo(informer, options)))
    if (unclear.size > MAX_SINGLE_READS) return read(unclear, { namespace: of.namespace })
    return Promise.all([...unclear].map(([key, each]) => {
      const { namespace, name } = parseKey(key)
      // A list, as its version bounds the answer if there is no object.
      return read(new Map([[key, each]]), { namespace, fields: named(name) })
    }))
  }

  #warnAboutLookup(resource: AnyResource): void {
    const kind = groupResourceOf(resource)
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    const why = `because they are not read from a cache; use app.cache(${resource.kind}) without read: 'live'`
    this.#log.warn(`Each lookup in an index of ${kind} lists all of them on the server, ${why}`)
  }

  /**
   * Returns the informers of a kind that have a first list, and what the server has in the namespaces of the others, by
   * their selectors. The others are few when a Namespace joins many. `isLive`: reads all from the server.
   */
  async #read<T extends KubeObject>(
    resource: ResourceOf<T>,
    options: ListOptions,
    isLive?: boolean,
  ): Promise<readonly [listed: readonly Informer[], found: T[]]> {
    const namespace = namespaceIn(resource, options)
    const namespaces = this.#cache.namespacesOf(resource)
    if (namespace === undefined) namespaces?.checkListed(groupResourceOf(resource))
    const readable = isLive ? undefined : this.#cache.readableOf(resource, namespace)
    // Copies: while a read waits, Namespaces come to the selection and leave it.
    const listed = readable?.filter(({ isSynced }) => isSynced) ?? []
    const all = this.#cache.informersOf(resource, namespace) ?? []
    // Nothing limits a namespace without an informer. Where Namespaces are selected, none may have the labels.
    const lists = all.length > 0 || (namespaces && !namespace)
      ? (listed.length > 0 ? all.filter(({ isSynced }) => !isSynced) : all)
        .map((informer) => this.#live.list(resource, limitedTo(informer, options)))
      : [this.#live.list(resource, options)]
    return [listed, (await Promise.all(lists)).flat()]
  }

  /** Returns the informer of an object. Undefined if it has no first list yet, or, with `forWrite`, fails. */
  #of(resource: AnyResource, namespace: string | undefined, forWrite?: boolean): Informer | undefined {
    const [informer] = this.#cache.readableOf(resource, namespace) ?? []
    return informer?.isSynced && !(forWrite && informer.failure) ? informer : undefined
  }
}

/**
 * Reads an object from the server. Resolves with `undefined` if it does not exist, or if the informer of its namespace
 * does not select it. Without one, nothing limits the read. `informers`: those of the object's namespace.
 */
export async function getSelected<T extends KubeObject>(
  [informer]: readonly Informer[] = [],
  live: Reader,
  resource: ResourceOf<T>,
  ref: Ref<NoInfer<T>>,
): Promise<T | undefined> {
  const { namespace, name } = targetOf(resource, ref, 'get')
  if (!informer) return await live.get(resource, ref)
  if (informer.selects({ namespace, name }) === undefined) {
    return (await live.list(resource, limitedTo(informer, { namespace, fields: named(name) })))[0]
  }
  const object = await live.get(resource, ref)
  return object && informer.selects(object.metadata) ? object : undefined
}

function namespaceIn(resource: AnyResource, { namespace }: ListOptions): string | undefined {
  return resource.scope === 'Namespaced' ? namespace : undefined
}

/** Returns the options of a list from the server, limited to what an informer watches. */
function limitedTo(
  { namespace: own, selection }: Informer,
  options: Omit<ListOptions, 'namespace'> & { readonly namespace?: string | undefined },
): ListOptions {
  const { namespace = own } = options
  const labels = both(options.labels, selection.labels)
  const fields = both(options.fields, selection.fields)
  return { ...(namespace && { namespace }), ...(labels && { labels }), ...(fields && { fields }) }
}

/** Joins two selectors: label and field selectors are lists of terms that must all match. */
function both(a: ListOptions['labels'] = '', b: ListOptions['labels'] = ''): string {
  return [formatLabels(a), formatLabels(b)].filter((terms) => terms !== '').join(',')
}

function readerOf<T extends KubeObject>(informer: Informer): StoreReader<T> {
  return informer.reader as unknown as StoreReader<T>
}
