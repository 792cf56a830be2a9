/** Watches one kind for any number of handlers. The store is written before handlers are called. */
import { ApiError, fileMissing, messageOf, NetworkError } from '../core/errors.ts'
import type { Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import type { AnyResource } from '../core/resource.ts'
import { OPTIONAL_MS, type Runnable } from '../core/runnable.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { environmentOf, type RandomPartEnvironment, type RandomPartOptions } from '../observe/environment.ts'
import type { Api, WriteInFlight } from '../client/api.ts'
import type { ListBody } from '../client/codec.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import type { WatchEvent } from '../client/watch_events.ts'
import { type Handler, type HandlerOptions, HandlerSet } from './handler_set.ts'
import { reportingObjects } from './object_errors.ts'
import { OwnWrites } from './own_writes.ts'
import { prepareObject } from './prepare_object.ts'
import type { ListPagesOptions } from './list_pages.ts'
import { reflect, type WatchControl } from './reflector.ts'
import { type Delta, type Objects, Store, type StoreReader } from './store.ts'
import { isTemporary, outageLogOf, WatchHealth } from './watch_health.ts'

/** Options of {@link Informer}. */
export interface InformerOptions extends SelectOptions, RandomPartOptions {
  readonly api: Api
  /** A resource made by `metadataOf` is fetched and stored without spec and status. */
  readonly resource: AnyResource
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  /**
   * Removes parts of an object before it is stored. The kind, names, versions, labels, owners and finalizers stay, and
   * managedFields are always removed. If it throws, that is logged, and the object is stored as the function left it.
   */
  readonly strip?: ((object: KubeObject) => void) | undefined
  /** Called with the `namespace/name` and the uid of each object that is removed from the store. Must not throw. */
  readonly onDeleted?: ((resource: AnyResource, key: string, uid: string) => void) | undefined
  /** Called when the watch works again after a failure of the connection or of a busy server. Must not throw. */
  readonly onRecovered?: (() => void) | undefined
  /** For `compact`: makes the maps that keep the objects. Default: a Map. */
  readonly objects?: (() => object) | undefined
  /** Freezes stored objects, so that changing a shared object throws. Default: false; tests turn it on. */
  readonly freeze?: boolean | undefined
  /** Whether a start goes on without the first list if that fails, or takes longer than 5 s. Default: false. */
  readonly optional?: boolean | undefined
}

/** Retries after an outage are spread over this time. */
const SPREAD_MS = 500

/** A registered handler. */
export interface HandlerRegistration {
  /** Whether the handler got all objects of the first list. */
  readonly isSynced: boolean
  /** Resolves when {@link isSynced} is true. Rejects if the handler is removed or the informer ends before that. */
  synced(signal: AbortSignal): Promise<void>
  /** Stops all calls of the handler. It may be called again. */
  remove(): void
}

/** Lists and watches the objects of one kind, stores them, and notifies handlers of their changes. */
export class Informer<T extends KubeObject = KubeObject> implements Runnable {
  readonly role = 'cache'
  readonly resource: AnyResource
  /** The watched namespace; undefined for all namespaces. */
  readonly namespace: string | undefined
  /** Whether a start goes on without the first list, and readiness does not depend on it. */
  readonly optional: boolean
  readonly #name: string
  readonly #options: InformerOptions & RandomPartEnvironment & Pick<ListPagesOptions, 'objects'>
  readonly #store: Store<T>
  /** Changes an object of the server into what is stored. */
  readonly #prepare: (object: KubeObject) => void
  readonly #ownWrites: OwnWrites<T>
  readonly #handlers: HandlerSet<T>
  readonly #health: WatchHealth
  /** Opens when every handler got the first list. */
  readonly #synced = new Latch()
  /**
   * Opens when a start need not wait: after the sync, or after the first failure or {@link OPTIONAL_MS} if optional.
   */
  readonly #tried = new Latch()
  #isListed = false
  /** Indexes that are being built in steps. */
  readonly #building = new Map<Index<T>, Promise<void>>()
  readonly #ended = new Latch()
  readonly #stop = new AbortController()
  #started = false
  /** The error that ended the informer. */
  #fatal: Error | undefined
  #lastSeen: string | undefined
  readonly #control: WatchControl = {}
  /** Called at the next change of the store or its version. */
  readonly #waiting: (() => void)[] = []

  constructor(options: InformerOptions) {
    const { resource, namespace, optional = false } = options
    const environment = environmentOf(options)
    const { clock, log } = environment
    this.resource = resource
    this.namespace = namespace
    this.optional = optional
    this.#name = options.api.describe({ resource, namespace })
    const objects = options.objects as (() => Objects<KubeObject>) | undefined
    this.#options = { ...options, ...environment, objects }
    const place = { clock, log, cluster: options.api.cluster }
    this.#store = new Store(reportingObjects('an index', place), objects?.() as Objects<T> | undefined)
    const onStripError = reportingObjects('strip', place)
    this.#prepare = (object) => prepareObject(object, { ...options, onStripError })
    this.#ownWrites = new OwnWrites({ ...this.#options, store: this.#store, prepare: this.#prepare })
    this.#health = new WatchHealth(resource, log, {
      cluster: options.api.cluster,
      optional,
      outages: outageLogOf(options.api, clock),
    })
    this.#handlers = new HandlerSet({ ...environment, name: options.api.describe({ resource }), store: this.#store })
  }

  /** The name as a runnable, for logs and errors: `informer of pods in namespace "a"`. */
  get name(): string {
    return `informer of ${this.title}`
  }

  /** The watched objects, for logs and errors: `pods in namespace "a"`, with the cluster if it is another one. */
  get title(): string {
    return this.#name
  }

  /** Resolves and rejects as {@link synced}. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.synced(signal)
  }

  /** The selectors besides the namespace. */
  get selection(): SelectOptions {
    const { labels, fields } = this.#options
    return { labels, fields }
  }

  /** Returns whether namespace and selectors match an object's metadata. Undefined if only the server can decide. */
  selects(metadata: Partial<ObjectMeta>): boolean | undefined {
    const scope = this.#ownWrites.scopeOf?.(metadata as ObjectMeta)
    return scope && scope === 'selected'
  }

  /** Reads what the watch has delivered, which is what handlers get. */
  get store(): StoreReader<T> {
    return this.#store
  }

  /** Reads the store with the own writes that the watch has not delivered yet. */
  get reader(): StoreReader<T> {
    return this.#ownWrites.reader
  }

  /** Called before a write of this kind, so that its answer is read. */
  beginWrite(target: Target): WriteInFlight | undefined {
    return this.#ownWrites.begin(target)
  }

  /** Returns the keys that own writes left unclear, which must be read from the server. Undefined if there are none. */
  unclear(
    of: { readonly key?: string; readonly namespace?: string | undefined },
  ): ReadonlyMap<string, object> | undefined {
    return this.#ownWrites.unclear(of)
  }

  /** Called with a list from the server, which began when these keys were unclear and has all their objects. */
  async settled(keys: ReadonlyMap<string, object>, list: ListBody): Promise<void> {
    await this.#ownWrites.settled(keys, list)
  }

  /** Whether the first list is in the store. */
  get isSynced(): boolean {
    return this.#isListed
  }

  /**
   * The newest resourceVersion that the store has reached: of a list, an event or a bookmark. Undefined before the
   * first list. It is set before handlers are called.
   */
  get lastSeen(): string | undefined {
    return this.#lastSeen
  }

  /** The current failure of the watch, such as missing RBAC rights; undefined if there is none. */
  get failure(): unknown {
    return this.#health.failure
  }

  /** The current failure as a message with its remedy; undefined if there is none. */
  get problem(): string | undefined {
    const { failure } = this
    if (failure === undefined) return undefined
    // A message about the connection names no kind, as the title of the informer does that.
    return failure instanceof NetworkError ? messageOf(failure) : this.#health.explain(failure)
  }

  /** Resolves when the informer was stopped or its start was aborted: no handler is called any more. */
  get ended(): Promise<void> {
    return this.#ended.opened
  }

  /**
   * Resolves when the first list is in the store and every handler got it. Rejects if the informer ends before that.
   */
  async synced(signal: AbortSignal): Promise<void> {
    await untilAborted(Promise.race([this.#synced.opened, this.#ended.opened]), signal)
    if (this.#synced.isOpen) return
    throw this.#stoppedBeforeSync()
  }

  /**
   * Resolves and rejects as {@link synced}; for an optional informer it also resolves after the first failure, or after
   * 5 s.
   */
  async tried(signal: AbortSignal): Promise<void> {
    if (this.optional) await untilAborted(Promise.race([this.#tried.opened, this.#ended.opened]), signal)
    else await this.synced(signal)
  }

  /**
   * Resolves when the store has all that the server had stored when this was called. Rejects if the server refuses the
   * list that shows it, or the informer is stopped.
   */
  async caughtUp(signal: AbortSignal): Promise<void> {
    this.#control.retry?.(0)
    const scope = abortScope(signal, this.#stop.signal)
    try {
      const { catchUp } = await import('./catch_up.ts').catch(fileMissing('catch up', 'catch_up.js'))
      await catchUp({
        ...this.#options,
        budget: turnBudgetOf(this.#options.clock),
        store: this.#store,
        lastSeen: () => this.#lastSeen,
        progress: () => new Promise((resolve) => this.#waiting.push(resolve)),
        reopen: () => this.#control.reopen?.(),
      }, scope.signal)
    } finally {
      scope[Symbol.dispose]()
    }
  }

  /** Shortens a back-off after a failure of the connection or of a busy server: it works again. */
  retrySoon(): void {
    const { failure } = this
    if (!isTemporary(failure)) return
    const askedMs = failure instanceof ApiError ? failure.retryAfterMs ?? 0 : 0
    this.#control.retry?.(Math.max(askedMs, this.#options.random() * SPREAD_MS))
  }

  /**
   * Adds a handler. It gets everything in the store as initial adds before any later change: for some milliseconds at
   * once, and the rest in later turns of the event loop.
   *
   * @throws Error if the informer has ended.
   */
  addHandler(handler: Handler<T>, options: HandlerOptions = {}): HandlerRegistration {
    if (this.#ended.isOpen) throw new Error(`Cannot add a handler to the informer of ${this.#name}: it was stopped`)
    const { synced, removed, remove } = this.#handlers.add(handler, options)
    let isRemoved = false
    return {
      get isSynced() {
        return synced.isOpen && !isRemoved
      },
      synced: async (signal) => {
        await untilAborted(Promise.race([synced.opened, removed.opened]), signal)
        if (isRemoved) throw new Error(`Cannot sync a handler of ${this.#name}: it was removed`)
        if (!synced.isOpen) throw this.#stoppedBeforeSync()
      },
      remove: () => {
        isRemoved = true
        remove()
      },
    }
  }

  /**
   * Builds an index before its first use, over several turns of the event loop if there are many objects. Returns
   * undefined if the index is built already, else a promise that resolves when it is built.
   */
  index(index: Index<T>): Promise<void> | undefined {
    if (this.#store.has(index)) return undefined
    let building = this.#building.get(index)
    if (!building) {
      building = turnBudgetOf(this.#options.clock).run(this.#store.building(index)).finally(() =>
        this.#building.delete(index)
      )
      if (!this.#store.has(index)) this.#building.set(index, building)
    }
    return building
  }

  /** Lists and watches until the signal is aborted or the informer is stopped. Rejects if Deno lacks a permission. */
  async start(signal: AbortSignal): Promise<void> {
    const { resource, namespace, clock } = this.#options
    if (this.#started) throw new Error(`Cannot start the informer of ${this.#name}: it was started already`)
    this.#started = true
    const scope = abortScope(signal, this.#stop.signal)
    const stopTimer = this.optional ? clock.after(OPTIONAL_MS, () => this.#tried.open()) : undefined
    try {
      if (!scope.signal.aborted) this.#handlers.begin()
      await reflect(
        {
          ...this.#options,
          control: this.#control,
          target: { resource, namespace },
          prepare: this.#prepare,
          replace: (objects, ...list) => this.#replace(objects, ...list, scope.signal),
          apply: (event, resourceVersion) => this.#apply(event, resourceVersion),
          store: this.#store,
          onOpen: () => this.#recovered(),
          onFailure: (error, waitMs) => {
            this.#health.failed(error, waitMs, this.isSynced)
            this.#tried.open()
          },
          onFallback: (error) => this.#options.log.debug(`${this.#health.explain(error)}; listing instead`),
        },
        scope.signal,
      )
    } catch (error) {
      throw (this.#fatal = new Error(this.#health.explain(error), { cause: error }))
    } finally {
      stopTimer?.()
      scope[Symbol.dispose]()
      this.#end()
    }
  }

  /** Ends the informer for good, also one that was not started. No handler is called any more. */
  stop(): void {
    this.#stop.abort(new DOMException(`The informer of ${this.#name} was stopped`, 'AbortError'))
    this.#end()
  }

  #end(): void {
    this.#ended.open()
    this.#handlers.end()
    this.#ownWrites.end()
  }

  async #replace(
    objects: Objects<KubeObject>,
    resourceVersion: string,
    beganMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const steps = this.#store.replacing(objects as unknown as Objects<T>, !this.#isListed)
    const change = await turnBudgetOf(this.#options.clock).run(steps)
    signal.throwIfAborted()
    const isFirst = !this.#isListed
    const deltas = change(isFirst ? [] : this.#ownWrites.lost(objects, resourceVersion))
    this.#isListed = true
    this.#lastSeen = resourceVersion
    this.#ownWrites.listed(resourceVersion, beganMs)
    if (!isFirst) this.#reportDeleted(deltas as readonly Delta<T>[])
    this.#recovered()
    // Not awaited: events that come meanwhile go into the store at once, and to the handlers after the list.
    void this.#handlers.notifyOfList(deltas).then(() => {
      if (this.#ended.isOpen) return
      this.#synced.open()
      this.#tried.open()
    })
  }

  #recovered(): void {
    const { failure } = this
    this.#health.recovered()
    if (isTemporary(failure)) this.#options.onRecovered?.()
    if (this.#waiting.length > 0) { for (const resolve of this.#waiting.splice(0)) resolve() }
  }

  #apply(event: WatchEvent, resourceVersion: string): void {
    this.#recovered()
    this.#lastSeen = resourceVersion
    const deltas = event.kind === 'bookmark'
      ? []
      : this.#store[event.kind === 'applied' ? 'apply' : 'delete'](event.object as T)
    this.#ownWrites.applied(event, resourceVersion)
    if (event.kind !== 'bookmark') this.#reportDeleted(deltas)
    this.#handlers.notify(deltas)
  }

  #stoppedBeforeSync(): Error {
    return this.#fatal ??
      new Error(`Cannot sync ${this.#name}: its informer was stopped before the first list was in`)
  }

  #reportDeleted(deltas: readonly Delta<T>[]): void {
    const { onDeleted, resource } = this.#options
    if (!onDeleted) return
    for (const { kind, object } of deltas) {
      if (kind === 'deleted') onDeleted(resource, formatKey(keyOf(object)), object.metadata.uid)
    }
  }
}
