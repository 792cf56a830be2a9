/** Where keys come from: the changes of a kind, filtered by a predicate and turned into keys by a handler. */
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { refersTo } from '../core/owners.ts'
import type { AnyResource } from '../core/resource.ts'
import { aborted, abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { sleep, type Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import { describeUnsynced } from '../cache/cache.ts'
import type { Informer } from '../cache/informer.ts'
import type { Delta } from '../cache/store.ts'
import { causeOf } from './cause.ts'
import type { Predicate } from './predicate.ts'

/** Puts a key into the controller's queue. `cause` is asked only where somebody wants to know. */
export type Enqueue = (key: string, cause: () => string) => void

/** Whose keys an object's change concerns. */
export type KeyMapper = (object: KubeObject) => Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

/** The object's own key. */
export const ownKey: KeyMapper = (object) => [keyOf(object)]

/** The key of the object's controller, if that is of this kind. */
export function controllerKey(owner: AnyResource): KeyMapper {
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((reference) => reference.controller && refersTo(reference, owner))
    if (!reference) return []
    return [owner.scope === 'Namespaced' ? { namespace: metadata.namespace, name: reference.name } : { name: reference.name }]
  }
}

export interface SourceOptions {
  readonly informers: readonly Informer[]
  readonly map: KeyMapper
  /** Whether the watched kind is the controller's own. */
  readonly own: boolean
  readonly when?: Predicate | undefined
  readonly clock: Clock
  readonly log: Log
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

/** A failing map function is tried again like a failing reconcile; its event waits, and those behind it with it. */
const MAP_BACKOFF = { firstMs: 100, mostMs: 30_000, jitter: 0.2 } as const

type Keys = readonly string[]

export class Source {
  readonly #options: SourceOptions
  /** Events whose mapping is under way or waits for it, in order: keys must not overtake one another. */
  #pending: Promise<void> = Promise.resolve()
  #pendingCount = 0
  /** Why the event at the front is not mapped yet, once that has failed. */
  #mapFailure: string | undefined
  #started = false

  constructor(options: SourceOptions) {
    this.#options = options
  }

  /** Whether no event waits to be mapped. */
  get idle(): boolean {
    return this.#pendingCount === 0
  }

  /** What {@link synced} waits for, and why that takes so long if it is known. */
  get missing(): readonly string[] {
    const unsynced = this.#options.informers.filter((informer) => !informer.isSynced).map(describeUnsynced)
    return this.#mapFailure === undefined ? unsynced : [...unsynced, this.#mapFailure]
  }

  /** Enqueues until the signal is aborted or every informer has ended; settles when nothing of it is left. */
  async start(enqueue: Enqueue, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error('Cannot start a source: it was started already')
    this.#started = true
    const { informers } = this.#options
    const scope = abortScope(signal)
    const removes: (() => void)[] = []
    try {
      for (const informer of informers) removes.push(informer.addHandler((delta) => this.#hear(delta, enqueue, scope.signal)))
      await Promise.race([aborted(scope.signal), Promise.all(informers.map((informer) => informer.ended))])
      // What was heard before the end is still mapped, unless it is an abort.
      await this.#pending
    } finally {
      for (const remove of removes) remove()
      scope[Symbol.dispose]()
    }
  }

  /** Settles when the keys of everything that existed at the first list are queued, or will not come because the informer ended. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#options.informers.map((informer) => Promise.race([informer.synced(signal), informer.ended])))
    await untilAborted(this.#pending, signal)
  }

  #hear(delta: Delta, enqueue: Enqueue, signal: AbortSignal): void {
    if (signal.aborted || !this.#passes(delta)) return
    // An update may have moved the object from one owner to another: both want to know.
    const objects = delta.kind === 'updated' ? [delta.object, delta.old] : [delta.object]
    const tell = (keys: Keys): void => {
      for (const key of new Set(keys)) enqueue(key, () => causeOf(delta, this.#options.own))
    }
    // In order, and without a detour where nothing waits and the mapping answers at once.
    const first = this.#pendingCount === 0 ? objects.map((object) => this.#map(object)) : []
    if (first.length > 0 && first.every(isAnswered)) return tell(first.flat())
    this.#pendingCount++
    this.#pending = this.#pending
      .then(() => this.#mapInTurn(objects, first, signal))
      .then(tell)
      .finally(() => this.#pendingCount--)
  }

  /** A predicate that throws lets pass: a reconcile too many is better than one too few. */
  #passes(delta: Delta): boolean {
    const { when, log } = this.#options
    if (!when) return true
    try {
      return when(delta.object, delta.kind === 'updated' ? delta.old : undefined)
    } catch (error) {
      log.error(`A predicate threw for ${nameOf(delta.object)}, which passes: ${messageOf(error)}`, { error })
      return true
    }
  }

  /** Calls the map function; whatever goes wrong in it becomes a rejection, so that it is dealt with in its turn. */
  #map(object: KubeObject): Keys | Promise<Keys> {
    try {
      const keys = this.#options.map(object)
      if (!isThenable(keys)) return formatAll(keys)
      const formatted = Promise.resolve(keys).then(formatAll)
      formatted.catch(() => {}) // handled in #mapInTurn, which may come to it later
      return formatted
    } catch (error) {
      const failed = Promise.reject<Keys>(error)
      failed.catch(() => {})
      return failed
    }
  }

  /** The keys of all the objects of one event; none when the signal is aborted. */
  async #mapInTurn(objects: readonly KubeObject[], first: readonly (Keys | Promise<Keys>)[], signal: AbortSignal): Promise<Keys> {
    const all: string[] = []
    for (const [i, object] of objects.entries()) all.push(...(await this.#mapUntilItWorks(object, first[i], signal)))
    return signal.aborted ? [] : all
  }

  async #mapUntilItWorks(object: KubeObject, first: Keys | Promise<Keys> | undefined, signal: AbortSignal): Promise<Keys> {
    const { clock, log, random = Math.random } = this.#options
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const keys = attempt === 0 && first ? first : this.#map(object)
        // A map function that never answers must not keep the operator from stopping.
        const formatted = await untilAborted(Promise.resolve(keys), signal)
        this.#mapFailure = undefined
        return formatted
      } catch (error) {
        if (signal.aborted) break
        const waitMs = backoffMs(attempt, MAP_BACKOFF, random)
        this.#mapFailure = `the keys of ${nameOf(object)} (${messageOf(error)})`
        log.error(`Cannot map ${nameOf(object)} to keys: ${messageOf(error)}`, { attempt: attempt + 1, waitMs, error })
        await sleep(clock, waitMs, signal).catch(() => {}) // aborted: the loop ends by its condition
      }
    }
    return []
  }
}

/** At once, for a generator may fail while it is read. */
function formatAll(keys: Iterable<ObjectKey>): Keys {
  return Array.from(keys, (key) => formatKey(keyOf(key)))
}

function isAnswered(keys: Keys | Promise<Keys>): keys is Keys {
  return !(keys instanceof Promise)
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}

function nameOf(object: KubeObject): string {
  return `${object.kind} "${formatKey(keyOf(object))}"`
}
