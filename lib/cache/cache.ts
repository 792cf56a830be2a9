/** The cache of one operator: the informers of its declared kinds, shared by all controllers. */
import { fileMissing, firstOf } from '../core/errors.ts'
import type { Index } from '../core/object_indexer.ts'
import type { KubeObject, Ref } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, resourceId, type ResourceOf } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, abortScope } from '../async/abort.ts'
import { environmentOf, type RandomPartOptions } from '../observe/environment.ts'
import type { Api, WriteInFlight, WriteObserver } from '../client/api.ts'
import type { ListOptions, LookupOptions, Reader } from '../client/client.ts'
import type { Target } from '../client/requests.ts'
import { type CacheOptions, describeOptions, isSubsumed, namespaceLabels, scopesOf } from './cache_options.ts'
import { CachedReader } from './cached_reader.ts'
import { Informer, type InformerOptions } from './informer.ts'
import type { NamespacesSetup, SelectedNamespaces } from './selected_namespaces.ts'

/** The defaults for declared kinds, and the dependencies of the informers. */
export interface CacheDependencies extends Omit<CacheOptions, 'objects'>, RandomPartOptions {
  readonly api: Api
  readonly freeze?: boolean | undefined
  /** Returns whether a start goes on without the kind; see {@link Informer.optional}. Default: false for all. */
  readonly optional?: ((resource: AnyResource) => boolean) | undefined
  /** Called for each object that is removed from an informer's store. Must not throw. */
  readonly onDeleted?: ((resource: AnyResource, key: string, uid: string) => void) | undefined
  /** Follows Namespaces by their labels. Default: `namespaces` by labels are refused. */
  readonly selectNamespaces?: ((labels: string, setup: NamespacesSetup) => SelectedNamespaces) | undefined
}

/** The min time between two ends of all back-offs: a server that fails again and again must not be flooded. */
const WAKE_MS = 5_000

interface Declared {
  readonly resource: AnyResource
  readonly options: CacheOptions
  /** Those of namespaces by labels come and go. */
  readonly informers: readonly Informer[]
  /** The same informers, by the namespace that each watches. The informer of all other namespaces is at `undefined`. */
  readonly byNamespace: ReadonlyMap<string | undefined, Informer>
  readonly namespaces?: SelectedNamespaces | undefined
  /** Ends what adds informers. */
  readonly stop?: (() => void) | void
}

/** Rejects reads that the cache cannot answer; a client sends them to the server. */
const UNCACHED: Reader = {
  get: (resource) => uncached(resource),
  list: (resource) => uncached(resource),
  lookup: ({ resource }) => uncached(resource),
}

/**
 * The informers of the declared kinds as one runnable, which is ready when all have their first lists. It has the read
 * methods of a client.
 *
 * @example
 * ```ts
 * import { Cluster, loadConfig } from 'kubeloop'
 * import { ConfigMap } from 'kubeloop/kinds'
 * const { cache } = new Cluster({ name: 'reader', config: (await loadConfig()).cluster })
 * cache.declare(ConfigMap, { namespaces: ['default'] })
 * const stop = new AbortController()
 * const running = cache.start(stop.signal)
 * await cache.ready(stop.signal)
 * console.log((await cache.list(ConfigMap, { namespace: 'default' })).length)
 * stop.abort()
 * await running
 * ```
 */
export class Cache implements Runnable, Reader, WriteObserver {
  readonly name = 'cache'
  readonly role = 'cache'
  readonly #reader: Reader = new CachedReader(this, UNCACHED)
  readonly #dependencies: CacheDependencies
  readonly #declared = new Map<string, Declared>()
  #started = false
  /** When a recovered informer last ended the back-offs of the others. */
  #wokeMs = -Infinity
  /** Starts an informer; set while the cache runs. */
  #run: ((informer: Informer) => void) | undefined

  constructor(dependencies: CacheDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Returns the informers of a kind, one for each watched namespace. The first call creates them, later calls share
   * them. With namespaces by labels, the array changes with these. The metadata of a kind (`metadataOf`) counts as
   * another kind.
   *
   * @throws Error if the options differ from those of the first call, or are invalid.
   */
  declare(resource: AnyResource, options: CacheOptions = {}): readonly Informer[] {
    const id = resourceId(resource)
    const scopes = scopesOf(resource, options, this.#dependencies)
    const known = this.#declared.get(id)
    if (known) {
      if (isSubsumed(options, known.options)) return known.informers
      const differ = `it was declared with ${describeOptions(known.options)}, now with ${describeOptions(options)}`
      throw new Error(`Cannot cache ${groupResourceOf(resource)} twice: ${differ}, and a kind is watched once`)
    }
    const labels = namespaceLabels(resource, options, this.#dependencies)
    const namespaces = labels === undefined ? undefined : this.#select(labels)
    const informers: Informer[] = []
    const byNamespace = new Map<string | undefined, Informer>()
    const add = (of: Pick<InformerOptions, 'namespace' | 'optional'>): Informer => {
      const informer = this.#inform({ ...scopes[0], ...of, resource, objects: options.objects })
      informers.push(informer)
      byNamespace.set(informer.namespace, informer)
      this.#run?.(informer)
      return informer
    }
    const remove = (informer: Informer): void => {
      informers.splice(informers.indexOf(informer), 1)
      byNamespace.delete(informer.namespace)
      informer.stop()
    }
    const stop = namespaces ? namespaces.inform(add, remove) : scopes.forEach(add)
    this.#declared.set(id, { resource, options, informers, byNamespace, namespaces, stop })
    return informers
  }

  #inform(options: Omit<InformerOptions, 'api'>): Informer {
    const optional = this.#dependencies.optional?.(options.resource)
    return new Informer({ ...this.#dependencies, optional, onRecovered: () => this.#wake(), ...options })
  }

  /** Returns the Namespaces with these labels. Their informer is one of the cache's, and not for reads. */
  #select(labels: string): SelectedNamespaces {
    const id = `namespaces ${labels}`
    const known = this.#declared.get(id)?.namespaces
    if (known) return known
    const { api, selectNamespaces } = this.#dependencies
    if (!selectNamespaces) {
      throw new Error(`Cannot cache in namespaces by the labels "${labels}": only an operator follows them`)
    }
    const inform: NamespacesSetup['inform'] = (of) => this.#inform(of)
    const namespaces = selectNamespaces(labels, { api, ...environmentOf(this.#dependencies), inform })
    const { informer } = namespaces
    const { resource } = informer
    this.#declared.set(id, {
      resource,
      options: {},
      informers: [informer],
      byNamespace: new Map([[undefined, informer]]),
      namespaces,
    })
    this.#run?.(informer)
    return namespaces
  }

  /** Returns the Namespaces where a kind is watched, if they are selected by labels. */
  namespacesOf(resource: AnyResource): SelectedNamespaces | undefined {
    return this.#declared.get(resourceId(resource))?.namespaces
  }

  /** Returns the informers of a kind, or of its objects of a namespace. Undefined if the kind is not declared. */
  informersOf<T extends KubeObject>(resource: ResourceOf<T>, namespace?: string): readonly Informer<T>[] | undefined {
    const declared = this.#declared.get(resourceId(resource))
    return (declared && informersIn(declared, namespace)) as unknown as readonly Informer<T>[] | undefined
  }

  /** The same, but `undefined` also for a kind with `read: 'live'`. */
  readableOf(resource: AnyResource, namespace?: string): readonly Informer[] | undefined {
    const declared = this.#declared.get(resourceId(resource))
    return declared && declared.options.read !== 'live' ? informersIn(declared, namespace) : undefined
  }

  /**
   * Builds an index of a declared kind before its first use, so that the first lookup does not wait. {@link remove} of
   * the kind drops the index.
   *
   * @throws Error if the kind is not declared.
   */
  index<T extends KubeObject>(index: Index<T>): void {
    const informers = this.informersOf(index.resource)
    if (!informers) {
      throw new Error(
        `Cannot index ${groupResourceOf(index.resource)}: it is not declared in the cache; declare it first`,
      )
    }
    for (const informer of informers) void informer.index(index)
  }

  /** Called before a write by a client of this cache, so that its later reads are not older than the write. */
  begin(target: Target): WriteInFlight | undefined {
    const kind = groupResourceOf(target.resource)
    const parts: WriteInFlight[] = []
    // Informers of the kind's metadata and of its other versions get the write, too.
    for (const declared of this.#declared.values()) {
      if (groupResourceOf(declared.resource) !== kind) continue
      for (const informer of informersIn(declared, target.namespace)) {
        const part = informer.beginWrite(target)
        if (part) parts.push(part)
      }
    }
    if (parts.length < 2) return parts[0]
    return {
      answered: (answer) => parts.forEach((part) => part.answered(answer)),
      deleted: (answer) => parts.forEach((part) => part.deleted(answer)),
      end: () => parts.forEach((part) => part.end()),
    }
  }

  /** Stops watching a kind and drops its objects and handlers. Later reads of the kind go to the server. */
  remove(resource: AnyResource): void {
    const id = resourceId(resource)
    const { informers = [], stop } = this.#declared.get(id) ?? {}
    stop?.()
    for (const informer of informers) informer.stop()
    this.#declared.delete(id)
  }

  /** Returns the object, or `undefined` if it does not exist. Rejects if the kind is not declared or not synced. */
  async get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    return await this.#reader.get(resource, ref)
  }

  /** Returns the objects of a kind. Rejects as {@link get}, also for `fields`. */
  async list<T extends KubeObject>(resource: ResourceOf<T>, options?: ListOptions): Promise<readonly T[]> {
    return await this.#reader.list(resource, options)
  }

  /** Returns the objects that an index has for a key. Rejects as {@link get}. */
  async lookup<T extends KubeObject>(index: Index<T>, key: string, options?: LookupOptions): Promise<readonly T[]> {
    return await this.#reader.lookup(index, key, options)
  }

  /** Resolves and rejects as {@link synced}. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.synced(signal)
  }

  /** Yields all informers, for health checks. */
  *informers(): Generator<Informer> {
    for (const { informers } of this.#declared.values()) yield* informers
  }

  /**
   * Resolves when every kind that is declared now has its first list, or was removed. For an optional kind, it waits
   * only until the first failure, and for at most 5 s. `waits`: called with the informers that it waits for.
   */
  async synced(signal: AbortSignal, waits?: (informers: readonly Informer[]) => void): Promise<void> {
    signal.throwIfAborted()
    const tried = new Set<Informer>()
    // The first list of Namespaces adds informers.
    for (;;) {
      const added = [...this.informers()].filter((informer) => !tried.has(informer))
      if (added.length === 0) return
      waits?.(added)
      await Promise.all(added.map((informer) => Promise.race([informer.tried(signal), informer.ended])))
      for (const informer of added) tried.add(informer)
    }
  }

  /**
   * Resolves when the informers have all that the server had stored when this was called. Kinds without a first list
   * and failing optional ones are not waited for. After 10 s it resolves as well, and logs the missing kinds.
   */
  async beforeLeading(signal: AbortSignal): Promise<void> {
    const { optional } = this.#dependencies
    const { catchUpAll } = await import('./catch_up.ts').catch(fileMissing('catch up', 'catch_up.js'))
    await catchUpAll([...this.informers()], { ...environmentOf(this.#dependencies), optional }, signal)
  }

  /** Ends the back-offs of informers, after one of them has reached the server again. */
  #wake(): void {
    const { clock } = environmentOf(this.#dependencies)
    if (clock.monotonic() - this.#wokeMs < WAKE_MS) return
    this.#wokeMs = clock.monotonic()
    for (const informer of this.informers()) informer.retrySoon()
  }

  /** Returns the kinds without a first list and their failures, except optional kinds, for the error of a slow sync. */
  unsynced(): readonly string[] {
    return describeUnsynced([...this.informers()].filter(({ isSynced, optional }) => !isSynced && !optional))
  }

  /** Runs all informers until the signal is aborted. Resolves when all have ended. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error('Cannot start the cache: it was started already')
    this.#started = true
    const scope = abortScope(signal)
    const running = new Set<Promise<void>>()
    const errors: unknown[] = []
    this.#run = (informer) => {
      const run = informer.start(scope.signal).catch((error: unknown) => {
        // For example, the informer was already started elsewhere.
        errors.push(error)
        scope.abort(error)
      })
      running.add(run)
      void run.finally(() => running.delete(run))
    }
    for (const informer of this.informers()) this.#run(informer)
    await aborted(scope.signal)
    // Informers that are declared from now on end at once, and are awaited too.
    while (running.size > 0) await Promise.all(running)
    scope[Symbol.dispose]()
    if (errors.length > 0) throw errors[0]
  }
}

/** Returns the informers that have objects of a namespace, or all if none is given. */
function informersIn({ informers, byNamespace }: Declared, namespace: string | undefined): readonly Informer[] {
  if (!namespace) return informers
  // If the namespace has its own informer, that of all other namespaces excludes it.
  const informer = byNamespace.get(namespace) ?? byNamespace.get(undefined)
  return informer ? [informer] : []
}

/**
 * Returns kinds with their failures, if any: `deployments.apps (Cannot list …: …)`. Of many only the first ones: a kind
 * may be watched in a thousand namespaces.
 */
export function describeUnsynced(informers: readonly Informer[]): readonly string[] {
  return firstOf(informers.map(({ title, problem }) => `${title}${problem === undefined ? '' : ` (${problem})`}`), 5)
}

async function uncached(resource: AnyResource): Promise<never> {
  const why = 'it is not declared, not synced, or read with a field selector; use a client'
  throw new Error(`Cannot read ${groupResourceOf(resource)} from the cache: ${why}`)
}
