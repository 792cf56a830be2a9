/** The objects of one kind that a cache holds, with their indexes. Whoever writes learns what changed. */
import { defineIndex, type Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
import { ObjectIndex } from './object_index.ts'

/** One change of the store. */
export type Delta<T extends KubeObject = KubeObject> =
  | { readonly kind: 'added'; readonly object: T; readonly initial: boolean }
  | { readonly kind: 'updated'; readonly object: T; readonly old: T }
  /** `stale`: the deletion was inferred from a list, and `object` is only the last state known. */
  | { readonly kind: 'deleted'; readonly object: T; readonly stale: boolean }

/** Reading a store. */
export interface StoreReader<T extends KubeObject = KubeObject> {
  readonly size: number
  get(key: string): T | undefined
  /** All objects, or those of one namespace in the same order; these by an index, see {@link lookup}. */
  values(namespace?: string): IterableIterator<T>
  /** The objects that an index has under a key. An index is built at its first use, at once, and kept from then on. */
  lookup(index: Index<T>, key: string): readonly T[]
}

/** How many objects of a list are compared in one step. */
const OBJECTS_OF_A_STEP = 64

export class Store<T extends KubeObject = KubeObject> implements StoreReader<T> {
  #objects: Map<string, T> = new Map()
  /** The indexes that were used, and those that are being built. */
  #indexes: Map<Index<T>, ObjectIndex<T>> = new Map()

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(namespace?: string): IterableIterator<T> {
    return namespace === undefined ? this.#objects.values() : this.lookup(BY_NAMESPACE, namespace).values()
  }

  lookup(index: Index<T>, key: string): readonly T[] {
    if (!this.has(index)) Array.from(this.building(index)) // all steps at once
    return Array.from(this.#indexes.get(index)!.lookup(key), (name) => this.#objects.get(name)!)
  }

  /** Whether an index is built. */
  has(index: Index<T>): boolean {
    return this.#indexes.get(index)?.isComplete ?? false
  }

  /**
   * Builds an index, unless it is there already, one object a step; between steps the store may change, and be asked for the same
   * index. Of those who build in steps there must be one for an index.
   */
  *building(index: Index<T>): Generator<undefined, void, undefined> {
    while (!this.has(index)) {
      const objects = this.#objects
      const built = new ObjectIndex(index)
      this.#indexes.set(index, built)
      // Changes go into it from now on. The iteration follows the map: it skips what goes, and comes to what is added.
      for (const [key, object] of objects) {
        built.set(key, object)
        yield
        // Built at once by another, or gone with what the store had before a list.
        if (this.#indexes.get(index) !== built) break
      }
      if (this.#indexes.get(index) === built) built.isComplete = true
    }
  }

  /**
   * Takes the object's newest state. A namesake with another uid is another object: the old one is deleted first.
   * A state that the store has already says nothing.
   */
  apply(object: T): readonly Delta<T>[] {
    const key = formatKey(keyOf(object))
    const deltas: Delta<T>[] = []
    if (!isKept(this.#objects.get(key), object, false, deltas)) this.#set(key, object)
    return deltas
  }

  /** Takes the object out. The event's object is its last state. */
  delete(object: T): readonly Delta<T>[] {
    const key = formatKey(keyOf(object))
    if (!this.#objects.has(key)) return []
    this.#unset(key)
    return [{ kind: 'deleted', object, stale: false }]
  }

  /** Becomes exactly what is given, at once, as {@link replacing} does in steps. */
  replace(objects: Map<string, T>, initial: boolean): readonly Delta<T>[] {
    const steps = this.replacing(objects, initial)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value()
    }
  }

  /**
   * Prepares to become exactly what is given by {@link byKey}, which is the store's from then on, a few objects a step; what is
   * returned makes the change, so that readers never see a mixture. The deltas are the difference, deletions first.
   * The store must not be changed between the steps; its indexes may be used.
   */
  *replacing(objects: Map<string, T>, initial: boolean): Generator<undefined, () => readonly Delta<T>[], undefined> {
    const before = this.#objects
    const deltas: Delta<T>[] = []
    let count = 0
    for (const [key, object] of before) {
      if (!objects.has(key)) deltas.push({ kind: 'deleted', object, stale: true })
      if (++count % OBJECTS_OF_A_STEP === 0) yield
    }
    for (const [key, object] of objects) {
      const old = before.get(key)
      if (isKept(old, object, initial, deltas)) objects.set(key, old)
      if (++count % OBJECTS_OF_A_STEP === 0) yield
    }
    const indexes = new Map<Index<T>, ObjectIndex<T>>()
    // Also those that are first used meanwhile; one that is not complete begins anew, with what there is then.
    for (const [index, known] of this.#indexes) {
      if (!known.isComplete) continue
      const built = new ObjectIndex(index)
      for (const [key, object] of objects) {
        if (before.get(key) === object) built.copy(key, known)
        else built.set(key, object)
        yield
      }
      built.isComplete = true
      indexes.set(index, built)
    }
    return () => {
      this.#objects = objects
      this.#indexes = indexes
      return deltas
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
// deno-lint-ignore no-explicit-any -- it looks at the metadata only
export const BY_NAMESPACE: Index<any> = defineIndex(
  { plural: 'objects', group: '' } as Resource<KubeObject>,
  ({ metadata }) => metadata.namespace,
)

/** Takes the old state for the same, or says what differs. */
function isKept<T extends KubeObject>(old: T | undefined, object: T, initial: boolean, deltas: Delta<T>[]): old is T {
  if (old && isSameState(old, object)) return true
  if (old && old.metadata.uid === object.metadata.uid) {
    deltas.push({ kind: 'updated', object, old })
  } else {
    if (old) deltas.push({ kind: 'deleted', object: old, stale: true })
    deltas.push({ kind: 'added', object, initial })
  }
  return false
}

/** The objects of a list under their keys. One without a name has the whole list refused: throws a TypeError. */
export function byKey<T extends KubeObject>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [formatKey(keyOf(object)), object]))
}

/** Some servers (of metrics) give no versions: then nothing is known to be the same. */
function isSameState({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return Boolean(a.resourceVersion) && a.resourceVersion === b.resourceVersion && a.uid === b.uid
}
