/**
 * Reading one's own writes: what the answers to writes said is laid over a store, until the watch has caught up with it.
 * Only reads see it. The store, and who hears of its changes, know what the watch has brought and nothing else.
 */
import { cloneJson } from '../core/clone.ts'
import { formatKey, keyOf, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'
import type { Clock } from '../async/clock.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import type { WriteInFlight } from '../client/api.ts'
import { OwnWritesView } from './own_writes_view.ts'
import { type ScopeMatch, scopeMatch } from './scope_match.ts'
import { type OwnWrite, OwnWritesState } from './own_writes_state.ts'
import type { StoreReader } from './store.ts'
import type { WatchEvent } from '../client/watch_events.ts'

export interface OwnWritesOptions<T extends KubeObject> extends SelectOptions {
  readonly resource: AnyResource
  readonly namespace?: string | undefined
  readonly store: StoreReader<T>
  readonly clock: Pick<Clock, 'monotonic'>
  /** Makes of an object of the server's what is stored. It may throw. */
  readonly prepare: (object: KubeObject) => void
}

export class OwnWrites<T extends KubeObject = KubeObject> {
  readonly #options: OwnWritesOptions<T>
  readonly #placeOf: ((metadata: ObjectMeta) => ScopeMatch) | undefined
  readonly #state: OwnWritesState<T>
  /** Not kept when the watch has caught up: it remembers objects. */
  #shown: StoreReader<T> | undefined
  #ended = false

  constructor(options: OwnWritesOptions<T>) {
    this.#options = options
    this.#placeOf = scopeMatch(options)
    this.#state = new OwnWritesState((key) => options.store.get(key), options.labels !== undefined)
  }

  /** What reads see: the store itself, when the watch has caught up. */
  get reader(): StoreReader<T> {
    const { store } = this.#options
    if (this.#state.size > 0) return (this.#shown ??= new OwnWritesView(store, this.#state))
    this.#shown = undefined
    return store
  }

  /** Before a write of this kind. */
  begin({ namespace, name }: Target): WriteInFlight | undefined {
    const placeOf = this.#placeOf
    if (!placeOf || this.#ended) return undefined
    if (this.#options.namespace !== undefined && namespace !== undefined && namespace !== this.#options.namespace) {
      return undefined
    }
    if (name && placeOf({ namespace, name } as ObjectMeta) === 'elsewhere') return undefined
    const write = this.#state.begin(name ? formatKey({ namespace, name }) : undefined)
    return {
      answered: (answer) => this.#answered(write, placeOf, answer),
      deleted: (answer) => this.#deleted(write, placeOf, answer),
      end: () => this.#state.end(write),
    }
  }

  /** After the store has taken an event, and before anybody is told. `resourceVersion` is the one that the event came with. */
  applied(event: WatchEvent, resourceVersion: string): void {
    if (event.kind === 'bookmark') return this.#state.bookmark(resourceVersion, this.#options.clock.monotonic())
    const key = formatKey(keyOf(event.object))
    if (event.kind === 'deleted') this.#state.deleted(key, event.object.metadata.uid, resourceVersion)
    else this.#state.seen(key, resourceVersion)
  }

  /** After the store has become a list, and before anybody is told. */
  listed(resourceVersion: string): void {
    this.#state.listed(resourceVersion, this.#options.clock.monotonic())
  }

  /** No watch goes on: nothing is remembered any more. */
  end(): void {
    this.#ended = true
    this.#state.clear()
    this.#shown = undefined
  }

  #answered(write: OwnWrite, placeOf: (metadata: ObjectMeta) => ScopeMatch, answer: unknown): void {
    if (this.#ended || !this.#isOwnKind(answer)) return
    const { metadata } = answer
    const place = placeOf(metadata)
    if (place === 'elsewhere') return
    if (isComplete(answer)) return this.#state.gone(write, metadata.uid, this.#options.clock.monotonic())
    const key = formatKey(keyOf(answer))
    if (!this.#state.isNews(key, metadata.resourceVersion)) return
    const kept = place === 'selected' ? cloneJson(answer) : undefined
    try {
      if (kept) this.#options.prepare(kept)
    } catch {
      // A strip function that throws: the watch will bring the same object, and says what is wrong with it.
      return
    }
    this.#state.answered(key, answer, kept as T | undefined, this.#options.clock.monotonic())
  }

  #deleted(write: OwnWrite, placeOf: (metadata: ObjectMeta) => ScopeMatch, answer: unknown): void {
    if (this.#ended) return
    const status = answer as
      | { kind?: unknown; apiVersion?: unknown; status?: unknown; details?: { uid?: string } }
      | null
    const nowMs = this.#options.clock.monotonic()
    if (status?.kind === 'Status' && status.apiVersion === 'v1') {
      if (status.status === 'Success') this.#state.gone(write, status.details?.uid, nowMs)
    } else if (this.#isOwnKind(answer)) {
      // Some kinds are answered with what was deleted, and whatever waits for something has a deletionTimestamp.
      if (answer.metadata.deletionTimestamp) this.#answered(write, placeOf, answer)
      else this.#state.gone(write, answer.metadata.uid, nowMs)
    }
  }

  /** An answer of the object itself: scale, eviction, binding and token have kinds of their own. */
  #isOwnKind(answer: unknown): answer is KubeObject {
    const { resource } = this.#options
    const { kind, apiVersion, metadata } = (answer ?? {}) as Partial<KubeObject>
    if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) return false
    return Boolean(metadata?.name && metadata.uid && metadata.resourceVersion)
  }
}

/**
 * Whether a write was the last one of an object that was to be deleted: the server removes it with that, and answers with
 * what it was. A Pod is kept until its grace period is over, a Namespace by finalizers in its spec.
 */
function isComplete(object: KubeObject): boolean {
  const { metadata, spec } = object as KubeObject & { readonly spec?: { readonly finalizers?: readonly string[] } }
  if (!metadata.deletionTimestamp || metadata.deletionGracePeriodSeconds) return false
  return !metadata.finalizers?.length && !spec?.finalizers?.length
}
