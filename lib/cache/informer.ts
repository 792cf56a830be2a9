/**
 * One kind, watched once, for any number of handlers. The store is written before a handler is told, so nobody hears
 * of an object that cannot be read.
 */
import { deepFreeze } from '../core/clone.ts'
import { messageOf } from '../core/errors.ts'
import type { Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { markPartial } from '../core/partial.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, systemClock, turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { type Api, clusterSuffix, type WriteInFlight } from '../client/api.ts'
import { readAs } from '../client/codec.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import { type Handler, type HandlerOptions, HandlerSet } from './handler_set.ts'
import { OwnWrites } from './own_writes.ts'
import { reflect } from './reflector.ts'
import { WatchHealth } from './watch_health.ts'
import { type Delta, Store, type StoreReader } from './store.ts'
import type { WatchEvent } from '../client/watch_events.ts'

/** Options of {@link Informer}. */
export interface InformerOptions extends SelectOptions {
  readonly api: Api
  /** One made by `metadataOf` is fetched and kept without its spec and status. */
  readonly resource: AnyResource
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  readonly random?: (() => number) | undefined
  /**
   * Changes an object before it is stored, to keep less of it. Names, versions, labels, owners and finalizers stay. managedFields
   * are always taken out.
   */
  readonly strip?: ((object: KubeObject) => void) | undefined
  /** Called with the `namespace/name` and the uid of each object that is gone from the store. Must not throw. */
  readonly onDeleted?: ((resource: AnyResource, key: string, uid: string) => void) | undefined
  /** Freezes what is stored, so that a change of a shared object throws. Default: false; tests turn it on. */
  readonly freeze?: boolean | undefined
  /** Whether others start without its first list where that fails, or takes longer than 5 s. Default: false. */
  readonly optional?: boolean | undefined
}

/** How long a start waits for what is optional. */
export const OPTIONAL_MS = 5_000

/** A handler that was added. */
export interface HandlerRegistration {
  /** Whether the first list is in and the handler was told of all of it. */
  readonly isSynced: boolean
  /** Settles when that is so. Rejects when the handler is removed or the informer ends before. */
  synced(signal: AbortSignal): Promise<void>
  /** The handler hears nothing more. Doing it twice does no harm. */
  remove(): void
}

/** Lists and watches the objects of one kind, stores them, and notifies handlers of their changes. */
export class Informer<T extends KubeObject = KubeObject> implements Runnable {
  readonly role = 'cache'
  readonly resource: AnyResource
  /** The namespace that is watched; undefined for all of them. */
  readonly namespace: string | undefined
  /** Whether others start without its first list, and readiness does not depend on it. */
  readonly optional: boolean
  readonly #name: string
  readonly #options: InformerOptions & { readonly clock: Clock; readonly log: Log }
  readonly #store = new Store<T>()
  readonly #ownWrites: OwnWrites<T>
  readonly #handlers: HandlerSet<T>
  readonly #health: WatchHealth
  /** Opens when every handler was told of the first list. */
  readonly #synced = new Latch()
  /** Opens when nothing is to be waited for any more: synced, or optional and late. */
  readonly #tried = new Latch()
  #isListed = false
  /** Indexes that are being built in steps. */
  readonly #building = new Map<Index<T>, Promise<void>>()
  readonly #ended = new Latch()
  readonly #stop = new AbortController()
  readonly #random: () => number
  #started = false
  /** Why it ended by itself. */
  #refused: Error | undefined
  #lastSeen: string | undefined

  constructor(options: InformerOptions) {
    const { resource, namespace, clock = systemClock, random = Math.random, optional = false } = options
    const log = safeLog(options.log)
    this.resource = resource
    this.namespace = namespace
    this.optional = optional
    this.#name = `${groupResourceOf(resource)}${namespace === undefined ? '' : ` in namespace "${namespace}"`}${
      clusterSuffix(options.api)
    }`
    this.#options = { ...options, clock, log }
    this.#random = random
    this.#ownWrites = new OwnWrites({
      ...this.#options,
      store: this.#store,
      prepare: (object) => this.#prepare(object),
    })
    this.#health = new WatchHealth(resource, log, { cluster: options.api.cluster, optional })
    this.#handlers = new HandlerSet({
      name: `${groupResourceOf(resource)}${clusterSuffix(options.api)}`,
      store: this.#store,
      clock,
      random,
      log,
    })
  }

  /** How it is called in logs and errors of what runs it: `informer of pods in namespace "a"`. */
  get name(): string {
    return `informer of ${this.title}`
  }

  /** What it watches, in logs and errors: `pods in namespace "a"`; with the cluster, where that is not the operator's own. */
  get title(): string {
    return this.#name
  }

  /** Resolves and rejects as {@link synced}. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.synced(signal)
  }

  /** Which objects it has, beside those of its namespace only. */
  get selection(): SelectOptions {
    const { labels, fields } = this.#options
    return { labels, fields }
  }

  /** What the watch has brought, which is what handlers were told. */
  get store(): StoreReader<T> {
    return this.#store
  }

  /** The same for reads: with the answers to our own writes, until the watch has caught up with them. */
  get reader(): StoreReader<T> {
    return this.#ownWrites.reader
  }

  /** Before a write of this kind, so that its answer is read. */
  beginWrite(target: Target): WriteInFlight | undefined {
    return this.#ownWrites.begin(target)
  }

  /** Whether the first list is in the store. */
  get isSynced(): boolean {
    return this.#isListed
  }

  /**
   * The newest resourceVersion that the store is known to have caught up with: a list's, an event's or a bookmark's.
   * Undefined before the first list. Whoever is told of a change finds it here already.
   */
  get lastSeen(): string | undefined {
    return this.#lastSeen
  }

  /** What is wrong at the moment, if anything: an informer refused by RBAC says so here, not by silence. */
  get failure(): unknown {
    return this.#health.failure
  }

  /** Settles when no handler will be told of anything any more: the informer was stopped, or its start was aborted. */
  get ended(): Promise<void> {
    return this.#ended.opened
  }

  /** Settles when the first list is in the store and every handler was told. Rejects when the informer ends before that. */
  async synced(signal: AbortSignal): Promise<void> {
    await untilAborted(Promise.race([this.#synced.opened, this.#ended.opened]), signal)
    if (this.#synced.isOpen) return
    throw this.#stoppedBeforeSync()
  }

  /** Resolves and rejects as {@link synced}; of an optional informer also when its first try has failed, or after 5 s. */
  async tried(signal: AbortSignal): Promise<void> {
    if (this.optional) await untilAborted(Promise.race([this.#tried.opened, this.#ended.opened]), signal)
    else await this.synced(signal)
  }

  /**
   * Adds a handler. It is told of everything in the store, as initial adds, before any later change: at once as long as that takes
   * some milliseconds, and the rest in later turns of the event loop. Throws when the informer has ended.
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
   * Builds an index now rather than at its first use, in later turns of the event loop when there are many objects. Undefined for
   * one that is there already, else a promise that resolves when it is built.
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

  /** Lists and watches until the signal is aborted, or the informer is stopped. Rejects when Deno does not permit it. */
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
          random: this.#random,
          target: { resource, namespace },
          prepare: (object) => this.#prepare(object),
          replace: (objects, resourceVersion) => this.#replace(objects, resourceVersion, scope.signal),
          apply: (event, resourceVersion) => this.#apply(event, resourceVersion),
          onOpen: () => this.#health.recovered(),
          onFailure: (error, waitMs) => {
            this.#health.failed(error, waitMs, this.isSynced)
            this.#tried.open()
          },
          onFallback: (error) => this.#options.log.debug(`${messageOf(error)}; listing instead`),
        },
        scope.signal,
      )
    } catch (error) {
      throw (this.#refused = new Error(this.#health.explain(error), { cause: error }))
    } finally {
      stopTimer?.()
      scope[Symbol.dispose]()
      this.#end()
    }
  }

  /** Ends the informer for good, also one that was not started: nobody is told of anything any more. */
  stop(): void {
    this.#stop.abort(new DOMException(`The informer of ${this.#name} was stopped`, 'AbortError'))
    this.#end()
  }

  #end(): void {
    this.#ended.open()
    this.#handlers.end()
    this.#ownWrites.end()
  }

  async #replace(objects: Map<string, KubeObject>, resourceVersion: string, signal: AbortSignal): Promise<void> {
    const steps = this.#store.replacing(objects as Map<string, T>, !this.#isListed)
    const change = await turnBudgetOf(this.#options.clock).run(steps)
    signal.throwIfAborted()
    const deltas = change()
    const isFirst = !this.#isListed
    this.#isListed = true
    this.#lastSeen = resourceVersion
    this.#ownWrites.listed(resourceVersion)
    if (!isFirst) this.#reportDeleted(deltas)
    this.#health.recovered()
    // Not awaited: what the watch brings meanwhile is in the store at once, and handlers are told of it in their turn.
    void this.#handlers.tellList(deltas).then(() => {
      if (this.#ended.isOpen) return
      this.#synced.open()
      this.#tried.open()
    })
  }

  #apply(event: WatchEvent, resourceVersion: string): void {
    this.#health.recovered()
    this.#lastSeen = resourceVersion
    const deltas = event.kind === 'bookmark'
      ? []
      : this.#store[event.kind === 'applied' ? 'apply' : 'delete'](event.object as T)
    this.#ownWrites.applied(event, resourceVersion)
    if (event.kind !== 'bookmark') this.#reportDeleted(deltas)
    this.#handlers.tell(deltas)
  }

  #stoppedBeforeSync(): Error {
    return this.#refused ??
      new Error(`Cannot sync ${this.#name}: its informer was stopped before the first list was in`)
  }

  #reportDeleted(deltas: readonly Delta<T>[]): void {
    const { onDeleted, resource } = this.#options
    if (onDeleted) {
      for (const { kind, object } of deltas) {
        if (kind === 'deleted') onDeleted(resource, formatKey(keyOf(object)), object.metadata.uid)
      }
    }
  }

  #prepare(object: KubeObject): void {
    const { resource, strip, freeze } = this.#options
    readAs(resource, object)
    dropManagedFields(object)
    try {
      if (strip) stripped(object, strip)
    } catch (cause) {
      throw new Error(
        `Cannot keep ${object.kind} "${formatKey(keyOf(object))}": its strip function threw: ${messageOf(cause)}`,
        { cause },
      )
    }
    if (freeze) deepFreeze(object)
  }
}

/** Of the metadata, what the cache itself, owners, finalizers, predicates and selectors read: a strip function can't take it. */
const KEPT = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'ownerReferences',
  'finalizers',
] as const

/** Has an object stripped, and marks it, so that it is not written back as if it were whole. */
function stripped(object: KubeObject, strip: (object: KubeObject) => void): void {
  const { metadata } = object
  const kept = Object.fromEntries(
    KEPT.flatMap((field) => (metadata[field] === undefined ? [] : [[field, metadata[field]]])),
  )
  strip(object)
  Object.assign((markPartial(object) as { metadata: object }).metadata ??= {}, kept)
}

/**
 * The property goes, rather than becoming []: an update that carries [] erases the server's. The metadata is made anew without it:
 * V8 keeps an object of which a property was deleted as a hash table, which takes six times as long and 330 bytes more for each.
 */
function dropManagedFields(object: { metadata: KubeObject['metadata'] & { readonly managedFields?: unknown } }): void {
  if (object.metadata.managedFields === undefined) return
  const { managedFields: _, ...metadata } = object.metadata
  object.metadata = metadata
}
