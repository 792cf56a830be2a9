/** Makes reads see the own writes before the watch delivers them. */
import { cloneJson } from '../core/clone.ts'
import type { Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { isPartial } from '../core/partial.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import { type Clock, turnBudgetOf } from '../async/clock.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import type { WriteInFlight } from '../client/api.ts'
import type { ListBody } from '../client/codec.ts'
import type { WatchEvent } from '../client/watch_events.ts'
import { type OwnWrite, OwnWritesState, type Unclear } from './own_writes_state.ts'
import { ObjectIndex, type StoreReader } from './store.ts'

export interface OwnWritesOptions<T extends KubeObject> extends SelectOptions {
  readonly resource: AnyResource
  readonly namespace?: string | undefined
  readonly store: StoreReader<T>
  readonly clock: Clock
  /** Changes an object of the server into what is stored. */
  readonly prepare: (object: KubeObject) => void
}

/**
 * Answers to writes are shown on top of the store until the watch has caught up. Only reads see them: the store and its
 * handlers get nothing but what the watch delivered.
 */
export class OwnWrites<T extends KubeObject = KubeObject> {
  /** See {@link scopeMatch}. */
  readonly scopeOf: ((metadata: ObjectMeta) => ScopeMatch) | undefined
  readonly #options: OwnWritesOptions<T>
  readonly #state: OwnWritesState<T>
  /** Dropped when the watch has caught up, because it holds objects. */
  #view: StoreReader<T> | undefined
  #ended = false

  constructor(options: OwnWritesOptions<T>) {
    this.#options = options
    this.scopeOf = scopeMatch(options)
    this.#state = new OwnWritesState(
      (key) => options.store.get(key),
      options.labels !== undefined || this.scopeOf === undefined,
    )
  }

  /** The reader for reads: the store itself if the watch has caught up. */
  get reader(): StoreReader<T> {
    const { store } = this.#options
    if (this.#state.size > 0) return (this.#view ??= new OwnWritesView(store, this.#state))
    this.#view = undefined
    return store
  }

  /** Called before a write of this kind. */
  begin({ namespace, name, subresource }: Target): WriteInFlight | undefined {
    // A token does not change its ServiceAccount.
    if (this.#ended || subresource === 'token') return undefined
    if (name && this.scopeOf?.({ namespace, name } as ObjectMeta) === 'outside') return undefined
    const write = this.#state.begin(name ? formatKey({ namespace, name }) : undefined)
    return {
      answered: (answer) => this.#answered(write, answer),
      deleted: (answer) => this.#deleted(write, answer),
      end: () => this.#state.end(write),
    }
  }

  /** See {@link OwnWritesState.unclear}. */
  unclear(of: { readonly key?: string; readonly namespace?: string | undefined }): Map<string, Unclear> | undefined {
    return this.#state.unclear(of)
  }

  /** Called with the objects of a list from the server, which began when these keys were unclear and has them all. */
  async settled(keys: ReadonlyMap<string, object>, { items, metadata }: ListBody): Promise<void> {
    const { clock, prepare } = this.#options
    const budget = turnBudgetOf(clock)
    const found = new Map(items.map((object) => [formatKey(keyOf(object)), object]))
    for (const [key, unclear] of keys) {
      const object = found.get(key)
      const kept = object && cloneJson(object)
      if (kept) prepare(kept)
      const state = { version: metadata.resourceVersion, ...(object && { object, kept: kept as T }) }
      if (!this.#ended) this.#state.settled(key, unclear, state, clock.monotonic())
      if (budget.isSpent) await budget.turn()
    }
  }

  /** Called for each event, after the store was changed and before handlers are. `resourceVersion`: the event's. */
  applied(event: WatchEvent, resourceVersion: string): void {
    if (event.kind === 'bookmark') return this.#state.bookmark(resourceVersion, this.#options.clock.monotonic())
    const key = formatKey(keyOf(event.object))
    if (event.kind === 'deleted') this.#state.deleted(key, event.object.metadata.uid, resourceVersion)
    else this.#state.seen(key, resourceVersion)
  }

  /** Called before the store is replaced by a list. Returns as {@link OwnWritesState.lost}. */
  lost(list: { get(key: string): KubeObject | undefined }, resourceVersion: string): readonly T[] {
    return this.#state.lost(list, resourceVersion)
  }

  /** Called for each list, which began at this time, after the store was replaced and before handlers are called. */
  listed(resourceVersion: string, beganMs: number): void {
    this.#state.listed(resourceVersion, this.#options.clock.monotonic(), beganMs)
  }

  /** Forgets everything, because the watch has ended. */
  end(): void {
    this.#ended = true
    this.#state.clear()
    this.#view = undefined
  }

  #answered(write: OwnWrite, answer: unknown): void {
    if (this.#ended) return
    if (!this.#isOwnKind(answer)) return this.#hidden(write, answer)
    const { metadata } = answer
    const scope = this.scopeOf?.(metadata)
    if (scope === 'outside') return
    const nowMs = this.#options.clock.monotonic()
    if (isRemoved(answer)) return this.#state.gone(write, metadata.uid, nowMs)
    const key = formatKey(keyOf(answer))
    const { uid, resourceVersion: version } = metadata
    if (!scope) return this.#state.hidden(write, key, { uid, version }, nowMs)
    if (!this.#state.isNews(key, version)) return
    const kept = scope === 'selected' ? cloneJson(answer) : undefined
    if (kept) this.#options.prepare(kept)
    this.#state.answered(key, answer, kept as T | undefined, nowMs)
  }

  /**
   * Called for an answer of another kind or version. A scale has the uid and the version of its object; another version
   * has its name, too, which the server may have generated.
   */
  #hidden(write: OwnWrite, answer: unknown): void {
    const { metadata } = (answer ?? {}) as Partial<KubeObject>
    const key = write.key ?? (metadata?.name && formatKey(metadata))
    if (!key) return
    const isOf = metadata?.uid !== undefined && metadata.resourceVersion && write.known.has(metadata.uid)
    const of = isOf ? { uid: metadata.uid, version: metadata.resourceVersion } : {}
    this.#state.hidden(write, key, of, this.#options.clock.monotonic())
  }

  #deleted(write: OwnWrite, answer: unknown): void {
    if (this.#ended) return
    const nowMs = this.#options.clock.monotonic()
    if (Array.isArray((answer as Partial<ListBody> | null)?.items)) {
      for (const { metadata } of (answer as ListBody).items) {
        if (!metadata?.name || this.scopeOf?.(metadata) === 'outside') continue
        // The server may list its state from before the deletion, so only a read shows what is left.
        this.#state.hidden(write, formatKey(metadata), { uid: metadata.uid }, nowMs)
      }
      return
    }
    const status = answer as
      | { kind?: unknown; apiVersion?: unknown; status?: unknown; details?: { uid?: string } }
      | null
    if (status?.kind === 'Status' && status.apiVersion === 'v1') {
      if (status.status === 'Success') this.#state.gone(write, status.details?.uid, nowMs)
    } else if (this.#isOwnKind(answer)) {
      // Some kinds answer with the deleted object. An object that still exists has a deletionTimestamp.
      if (answer.metadata.deletionTimestamp) this.#answered(write, answer)
      else this.#state.gone(write, answer.metadata.uid, nowMs)
    } else {
      this.#hidden(write, answer)
    }
  }

  /**
   * Returns whether an answer is the object itself: not its metadata alone, unless no more is stored; scale, eviction,
   * binding and token have kinds of their own.
   */
  #isOwnKind(answer: unknown): answer is KubeObject {
    const { resource } = this.#options
    const { kind, apiVersion, metadata } = (answer ?? {}) as Partial<KubeObject>
    return kind === resource.kind && apiVersion === apiVersionOf(resource) &&
      Boolean(metadata?.name && metadata.uid && metadata.resourceVersion) &&
      (resource.only !== undefined || !isPartial(answer as object))
  }
}

/**
 * Returns whether the server removed the object with this write, because it was being deleted and nothing keeps it. A
 * Pod is kept until its grace period is over, a Namespace by the finalizers in its spec.
 */
function isRemoved(object: KubeObject): boolean {
  const { metadata, spec } = object as KubeObject & { readonly spec?: { readonly finalizers?: readonly string[] } }
  if (!metadata.deletionTimestamp || metadata.deletionGracePeriodSeconds) return false
  return !metadata.finalizers?.length && !spec?.finalizers?.length
}

/** `outside`: the informer can never have the object. `unselected`: its labels do not match now. */
export type ScopeMatch = 'selected' | 'unselected' | 'outside'

/**
 * Returns a test whether an object matches an informer's namespace and selectors. Returns undefined if only the server
 * can decide: fields other than name and namespace depend on the kind.
 */
export function scopeMatch(
  options: SelectOptions & { readonly namespace?: string | undefined },
): ((metadata: ObjectMeta) => ScopeMatch) | undefined {
  const { namespace, labels, fields } = options
  const isNamed = namePredicate(fields)
  if (!isNamed) return undefined
  const selects = labels === undefined ? undefined : parseLabelSelector(labels)
  return (metadata) => {
    if ((namespace !== undefined && metadata.namespace !== namespace) || !isNamed(metadata)) return 'outside'
    return !selects || selects(metadata.labels) ? 'selected' : 'unselected'
  }
}

/** Parses a field selector as apimachinery does: terms with `=`, `==` or `!=`, separated by commas. */
function namePredicate(fields = ''): ((metadata: ObjectMeta) => boolean) | undefined {
  const terms = fields.split(',').filter((term) => term !== '').map((term) =>
    /^metadata\.(name|namespace)(=|==|!=)([^=!\\]*)$/.exec(term)
  )
  if (!terms.every((term) => term !== null)) return undefined
  return (metadata) =>
    terms.every(([, field, operator, value]) => {
      return ((metadata[field as 'name' | 'namespace'] ?? '') === value) === (operator !== '!=')
    })
}

interface Differences<T extends KubeObject> {
  /** What reads return instead of objects of the store, by uid, as a key is slower; undefined hides the object. */
  readonly replaced: ReadonlyMap<string, T | undefined>
  /** Objects that the store does not have. */
  readonly added: readonly T[]
  /** All objects that differ from the store, by name. */
  readonly own: ReadonlyMap<string, T>
  /** The indexes of {@link own} that were used. */
  readonly indexes: Map<Index<T>, ObjectIndex<T>>
}

/** Reads a store with the own writes applied that its watch has not delivered yet. */
class OwnWritesView<T extends KubeObject> implements StoreReader<T> {
  readonly #store: StoreReader<T>
  readonly #state: OwnWritesState<T>
  #found: { readonly at: number; readonly differences: Differences<T> } | undefined

  constructor(store: StoreReader<T>, state: OwnWritesState<T>) {
    this.#store = store
    this.#state = state
  }

  get size(): number {
    const { replaced, added } = this.#differences()
    let hidden = 0
    for (const shown of replaced.values()) if (!shown) hidden++
    return this.#store.size - hidden + added.length
  }

  get(key: string): T | undefined {
    return this.#state.shown(key, this.#store.get(key))
  }

  /** Yields the objects of the store in its order, then the added ones. */
  *values(namespace?: string): Generator<T> {
    const { replaced, added } = this.#differences()
    for (const object of this.#store.values(namespace)) {
      const { uid } = object.metadata
      const shown = replaced.has(uid) ? replaced.get(uid) : object
      if (shown) yield shown
    }
    for (const object of added) if (namespace === undefined || object.metadata.namespace === namespace) yield object
  }

  lookup(index: Index<T>, key: string): readonly T[] {
    const { replaced, own, indexes } = this.#differences()
    let built = indexes.get(index)
    if (!built) {
      indexes.set(index, built = new ObjectIndex(index)) // its errors are reported by the store
      for (const [name, object] of own) built.set(name, object)
    }
    const unchanged = this.#store.lookup(index, key).filter((object) => !replaced.has(object.metadata.uid))
    return [...unchanged, ...Array.from(built.lookup(key), (name) => own.get(name)!)]
  }

  /** Returns the differences; they are computed again only after an answer or an event. */
  #differences(): Differences<T> {
    const at = this.#state.changes
    if (this.#found?.at === at) return this.#found.differences
    const replaced = new Map<string, T | undefined>()
    const own = new Map<string, T>()
    const added: T[] = []
    for (const key of this.#state.keys()) {
      const stored = this.#store.get(key)
      const shown = this.#state.shown(key, stored)
      if (shown === stored) continue
      if (stored) replaced.set(stored.metadata.uid, shown)
      else if (shown) added.push(shown)
      if (shown) own.set(formatKey(keyOf(shown)), shown)
    }
    const differences = { replaced, added, own, indexes: new Map<Index<T>, ObjectIndex<T>>() }
    this.#found = { at, differences }
    return differences
  }
}
