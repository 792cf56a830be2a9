/**
 * One kind, watched once, for any number of handlers. The store is written before a handler is told, so nobody hears
 * of an object that cannot be read. Handlers are called in the order of the events, and a failing one does not
 * disturb the others.
 */
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { groupResourceOf, type AnyResource } from '../core/resource.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import type { SelectOptions } from '../client/requests.ts'
import { reflect } from './reflector.ts'
import { WatchHealth } from './watch_health.ts'
import { Store, type Delta, type StoreReader } from './store.ts'
import type { WatchEvent } from './watch_line.ts'

/** What a handler is told. It should not throw; what it throws or rejects with is logged, and the event is lost to it alone. */
export type Handler<T extends KubeObject = KubeObject> = (delta: Delta<T>) => void

export interface InformerOptions extends SelectOptions {
  readonly api: Api
  readonly resource: AnyResource
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
  /** Changes an object before it is stored, to keep less of it. managedFields are always taken out. */
  readonly strip?: ((object: KubeObject) => void) | undefined
  /** Freezes what is stored, so that a change of a shared object throws. Default: false; tests turn it on. */
  readonly freeze?: boolean | undefined
}

export class Informer<T extends KubeObject = KubeObject> {
  readonly resource: AnyResource
  /** The namespace that is watched; undefined for all of them. */
  readonly namespace: string | undefined
  readonly #options: InformerOptions
  readonly #store = new Store<T>()
  readonly #handlers = new Set<Handler<T>>()
  readonly #health: WatchHealth
  readonly #synced = new Latch()
  readonly #ended = new Latch()
  readonly #stop = new AbortController()
  #started = false

  constructor(options: InformerOptions) {
    this.#options = options
    this.#health = new WatchHealth(options.resource, options.log)
    this.resource = options.resource
    this.namespace = options.namespace
  }

  get store(): StoreReader<T> {
    return this.#store
  }

  /** Whether the first list is in the store. */
  get isSynced(): boolean {
    return this.#synced.isOpen
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
    if (this.isSynced) return
    throw new Error(`Cannot sync ${groupResourceOf(this.resource)}: its informer was stopped before the first list was in`)
  }

  /**
   * Adds a handler. It is told at once of everything in the store, as initial adds, before any later change.
   * Returns what removes it. Throws when the informer has ended.
   */
  addHandler(handler: Handler<T>): () => void {
    const name = groupResourceOf(this.resource)
    if (this.#ended.isOpen) throw new Error(`Cannot add a handler to the informer of ${name}: it was stopped`)
    const own: Handler<T> = (delta) => handler(delta)
    for (const object of this.#store.values()) this.#tell(own, { kind: 'added', object, initial: true })
    this.#handlers.add(own)
    return () => void this.#handlers.delete(own)
  }

  /** Lists and watches until the signal is aborted, or the informer is stopped. */
  async start(signal: AbortSignal): Promise<void> {
    const { resource, namespace } = this.#options
    if (this.#started) throw new Error(`Cannot start the informer of ${groupResourceOf(resource)}: it was started already`)
    this.#started = true
    const scope = abortScope(signal, this.#stop.signal)
    try {
      await reflect(
        {
          ...this.#options,
          random: this.#options.random ?? Math.random,
          target: { resource, namespace },
          replace: (objects) => this.#replace(objects),
          apply: (event) => this.#apply(event),
          onOpen: () => this.#health.recovered(),
          onFailure: (error, waitMs) => this.#health.failed(error, waitMs, this.isSynced),
        },
        scope.signal,
      )
    } finally {
      scope[Symbol.dispose]()
      this.#end()
    }
  }

  /** Ends the informer for good, also one that was not started: nobody is told of anything any more. */
  stop(): void {
    this.#stop.abort(new DOMException(`The informer of ${groupResourceOf(this.resource)} was stopped`, 'AbortError'))
    this.#end()
  }

  #end(): void {
    this.#handlers.clear()
    this.#ended.open()
  }

  #replace(objects: KubeObject[]): void {
    for (const object of objects) this.#prepare(object)
    const deltas = this.#store.replace(objects as T[], !this.#synced.isOpen)
    this.#health.recovered()
    this.#tellAll(deltas)
    this.#synced.open()
  }

  #apply(event: WatchEvent): void {
    this.#health.recovered()
    if (event.kind === 'bookmark') return
    this.#prepare(event.object)
    this.#tellAll(event.kind === 'applied' ? this.#store.apply(event.object as T) : this.#store.delete(event.object as T))
  }

  #prepare(object: KubeObject): void {
    const { strip, freeze } = this.#options
    // The property goes, rather than becoming []: an update that carries [] erases the server's.
    delete (object.metadata as { managedFields?: unknown }).managedFields
    try {
      strip?.(object)
    } catch (cause) {
      throw new Error(`Cannot keep ${object.kind} "${formatKey(keyOf(object))}": its strip function threw: ${messageOf(cause)}`, { cause })
    }
    if (freeze) deepFreeze(object)
  }

  #tellAll(deltas: readonly Delta<T>[]): void {
    // The store is ahead of the deltas: a handler that is added meanwhile has been told of what they say.
    const handlers = [...this.#handlers]
    for (const delta of deltas) for (const handler of handlers) if (this.#handlers.has(handler)) this.#tell(handler, delta)
  }

  #tell(handler: Handler<T>, delta: Delta<T>): void {
    const failed = (error: unknown): void => {
      const name = groupResourceOf(this.resource)
      this.#options.log.error(`A handler of ${name} threw; the event is lost to it: ${messageOf(error)}`, { error })
    }
    try {
      // An async function passes for a handler, and its rejection would end the process.
      const told: unknown = handler(delta)
      if (told instanceof Promise) told.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
}
