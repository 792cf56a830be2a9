/** Stores the objects of one kind with their indexes, and returns what each write changed. */
import { jsonEqual } from '../core/equal.ts'
import { defineIndex, type Index, type IndexErrorHandler, indexKeys } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'

/** One change of a store. */
export type Delta<T extends KubeObject = KubeObject> =
  | { readonly kind: 'added'; readonly object: T; readonly initial: boolean }
  | { readonly kind: 'updated'; readonly object: T; readonly old: T }
  /** `stale`: the deletion was inferred from a list, so `object` is the last known state and may be outdated. */
  | { readonly kind: 'deleted'; readonly object: T; readonly stale: boolean }

/** The objects of a store by `namespace/name`: a Map, or what keeps them in less memory and makes each for a read. */
export interface Objects<T extends KubeObject> extends Iterable<[string, T]> {
  readonly size: number
  has(key: string): boolean
  get(key: string): T | undefined
  set(key: string, object: T): unknown
  delete(key: string): unknown
  keys(): IterableIterator<string>
  values(): IterableIterator<T>
  /** As `values`, for callers that read metadata only. */
  heads?(): IterableIterator<Pick<T, 'metadata'>>
  snapshot?(): Snapshot<T>
  /** Returns true only if the object is the same in another map of the same kind. */
  equals?(key: string, other: Objects<T>): boolean
}

/** Items that may be made when they are read. */
export interface Snapshot<T> {
  readonly length: number
  at(index: number): T | undefined
}

/** Changes that may be made when they are read. */
export type Deltas<T extends KubeObject = KubeObject> = Snapshot<Delta<T>>

/** The read side of a store. */
export interface StoreReader<T extends KubeObject = KubeObject> {
  readonly size: number
  get(key: string): T | undefined
  /** Returns all objects; or the objects of one namespace in the same order, by an index, see {@link lookup}. */
  values(namespace?: string): IterableIterator<T>
  /**
   * Returns the objects that an index has for a key. An index is built synchronously at its first use, and then kept.
   */
  lookup(index: Index<T>, key: string): readonly T[]
}

/** The number of objects of a list that are compared in one step. */
const OBJECTS_PER_STEP = 64

export class Store<T extends KubeObject = KubeObject> implements StoreReader<T> {
  #objects: Objects<T>
  /** The indexes in use, and those that are being built. */
  #indexes: Map<Index<T>, ObjectIndex<T>> = new Map()
  readonly #onIndexError: IndexErrorHandler | undefined

  /** `onIndexError`: called for each object that an index leaves out, because its function threw. */
  constructor(onIndexError?: IndexErrorHandler, objects: Objects<T> = new Map<string, T>()) {
    this.#onIndexError = onIndexError
    this.#objects = objects
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(namespace?: string): IterableIterator<T> {
    return namespace === undefined ? this.#objects.values() : this.lookup(BY_NAMESPACE, namespace).values()
  }

  /** As {@link values}, for callers that read metadata only. */
  heads(): IterableIterator<Pick<T, 'metadata'>> {
    return this.#objects.heads?.() ?? this.#objects.values()
  }

  /** Returns the objects as they are now. */
  snapshot(): Snapshot<T> {
    return this.#objects.snapshot?.() ?? [...this.#objects.values()]
  }

  lookup(index: Index<T>, key: string): readonly T[] {
    if (!this.has(index)) Array.from(this.building(index)) // runs all steps
    return Array.from(this.#indexes.get(index)!.lookup(key), (name) => this.#objects.get(name)!)
  }

  /** Returns whether an index is built. */
  has(index: Index<T>): boolean {
    return this.#indexes.get(index)?.isComplete ?? false
  }

  /**
   * Builds an index, one object per step, unless it is built already. Between steps the store may change, and {@link
   * lookup} may use the same index. Only one caller may build an index in steps.
   */
  *building(index: Index<T>): Generator<undefined, void, undefined> {
    while (!this.has(index)) {
      const objects = this.#objects
      const built = new ObjectIndex(index, this.#onIndexError)
      this.#indexes.set(index, built)
      // Changes go into the index from now on. The iteration follows the map: it skips deleted objects and reaches
      // added ones.
      for (const [key, object] of objects) {
        built.set(key, object)
        yield
        // A lookup built the index meanwhile, or a list replaced the objects.
        if (this.#indexes.get(index) !== built) break
      }
      if (this.#indexes.get(index) === built) built.isComplete = true
    }
  }

  /**
   * Stores the newest state of an object. An object of the same name with another uid is deleted first. Returns no
   * deltas for a state that is already stored.
   */
  apply(object: T): readonly Delta<T>[] {
    const key = formatKey(keyOf(object))
    const deltas: Delta<T>[] = []
    const old = this.#objects.get(key)
    if (!(old && isSameState(old, object))) {
      noteChange(old, object, false, deltas)
      this.#set(key, object)
    }
    return deltas
  }

  /** Deletes an object. `object` is its last state, from the event. */
  delete(object: T): readonly Delta<T>[] {
    const key = formatKey(keyOf(object))
    if (!this.#objects.has(key)) return []
    this.#unset(key)
    return [{ kind: 'deleted', object, stale: false }]
  }

  /**
   * Prepares the replacement of all objects, a few objects per step. The returned function makes the change, so that
   * readers never see a mixture, and returns the difference: deletions of `lost`, which the store never had, then other
   * deletions, then the rest. `objects` is keyed by `formatKey` and belongs to the store from then on. Between
   * the steps the store must not be changed; its indexes may be used.
   */
  *replacing(
    objects: Objects<T>,
    initial: boolean,
  ): Generator<undefined, (lost?: readonly T[]) => Deltas<T>, undefined> {
    const before = this.#objects
    const deltas: Delta<T>[] = []
    let count = 0
    for (const key of before.keys()) {
      if (!objects.has(key)) deltas.push({ kind: 'deleted', object: before.get(key)!, stale: true })
      if (++count % OBJECTS_PER_STEP === 0) yield
    }
    const added = initial ? objects.snapshot?.() : undefined
    for (const key of added ? [] : objects.keys()) {
      if (objects.equals?.(key, before)) {
        yield
        continue
      }
      const object = objects.get(key)!
      const old = before.get(key)
      // A server that was restored from a backup may use a version again, for another content.
      if (old && isSameState(old, object) && jsonEqual(old, object)) objects.set(key, old)
      else noteChange(old, object, initial, deltas)
      yield
    }
    const indexes = new Map<Index<T>, ObjectIndex<T>>()
    // The iteration reaches indexes that are added meanwhile. Incomplete ones are built again from the new objects.
    for (const [index, known] of this.#indexes) {
      if (!known.isComplete) continue
      const built = new ObjectIndex(index, this.#onIndexError)
      for (const [key, object] of objects) {
        if (before.get(key) === object) built.copy(key, known)
        else built.set(key, object)
        yield
      }
      built.isComplete = true
      indexes.set(index, built)
    }
    return (lost = []) => {
      this.#objects = objects
      this.#indexes = indexes
      if (added) return { length: added.length, at: (at) => ({ kind: 'added', object: added.at(at)!, initial }) }
      if (lost.length === 0) return deltas
      return [...lost.map((object): Delta<T> => ({ kind: 'deleted', object, stale: true })), ...deltas]
    }
  }

  #set(key: string, object: T): void {
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) index.set(key, object)
  }

  #unset(key: string): void {
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) index.delete(key)
  }
}

/** The index of every kind by namespace. */
// deno-lint-ignore no-explicit-any -- it reads the metadata only
export const BY_NAMESPACE: Index<any> = defineIndex(
  { plural: 'objects', group: '' } as Resource<KubeObject>,
  ({ metadata }) => metadata.namespace,
)

function noteChange<T extends KubeObject>(old: T | undefined, object: T, initial: boolean, deltas: Delta<T>[]): void {
  if (old && old.metadata.uid === object.metadata.uid) {
    deltas.push({ kind: 'updated', object, old })
  } else {
    if (old) deltas.push({ kind: 'deleted', object: old, stale: true })
    deltas.push({ kind: 'added', object, initial })
  }
}

/** Objects without a resourceVersion (of metrics servers) always count as changed. */
function isSameState({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return Boolean(a.resourceVersion) && a.resourceVersion === b.resourceVersion && a.uid === b.uid
}

/** One index of a store. It keeps the results of the key function, because a second call may return something else. */
export class ObjectIndex<T extends KubeObject> {
  readonly #index: Index<T>
  /** The names of the objects by key; no set is empty. */
  readonly #namesOf = new Map<string, Set<string>>()
  /** The keys of each object. */
  readonly #keysOf = new Map<string, readonly string[]>()
  readonly #onError: IndexErrorHandler | undefined

  /** Whether the index has every object of the store. */
  isComplete = false

  constructor(index: Index<T>, onError?: IndexErrorHandler) {
    this.#index = index
    this.#onError = onError
  }

  /** Adds or replaces an object, in its position if its keys are unchanged. It has none if the key function throws. */
  set(name: string, object: T): void {
    this.#set(name, indexKeys(this.#index, object, this.#onError))
  }

  /** Copies an object's keys from another index of the same function, without calling the function. */
  copy(name: string, from: ObjectIndex<T>): void {
    this.#set(name, from.#keysOf.get(name) ?? [])
  }

  delete(name: string): void {
    for (const key of this.#keysOf.get(name) ?? []) this.#forget(key, name)
    this.#keysOf.delete(name)
  }

  /** Returns the names of the objects with a key. */
  lookup(key: string): Iterable<string> {
    return this.#namesOf.get(key) ?? []
  }

  #set(name: string, keys: readonly string[]): void {
    const known = this.#keysOf.get(name)
    if (known && known.length === keys.length && known.every((key, i) => key === keys[i])) return
    this.delete(name)
    if (keys.length > 0) this.#keysOf.set(name, keys)
    for (const key of keys) this.#store(key, name)
  }

  #store(key: string, name: string): void {
    const names = this.#namesOf.get(key)
    if (names) names.add(name)
    else this.#namesOf.set(key, new Set([name]))
  }

  #forget(key: string, name: string): void {
    const names = this.#namesOf.get(key)
    if (names?.delete(name) && names.size === 0) this.#namesOf.delete(key)
  }
}
