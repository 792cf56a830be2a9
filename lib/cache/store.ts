/** The objects of one kind that a cache holds, with their indexes. Whoever writes learns what changed. */
import type { Index } from '../core/index.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
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
  values(): IterableIterator<T>
  /** The objects that an index has under a key. An index is built at its first use, and kept from then on. */
  lookup(index: Index<T>, key: string): readonly T[]
}

export class Store<T extends KubeObject = KubeObject> implements StoreReader<T> {
  readonly #objects = new Map<string, T>()
  /** The indexes that were used. */
  readonly #indexes = new Map<Index<T>, ObjectIndex<T>>()

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<T> {
    return this.#objects.values()
  }

  lookup(index: Index<T>, key: string): readonly T[] {
    const built = this.index(index)
    return Array.from(built.lookup(key), (name) => this.#objects.get(name)!)
  }

  /** Builds an index, unless it is there already. */
  index(index: Index<T>): ObjectIndex<T> {
    return this.#indexes.get(index) ?? this.#build(index)
  }

  /**
   * Takes the object's newest state. A namesake with another uid is another object: the old one is deleted first.
   * A state that the store has already says nothing.
   */
  apply(object: T): readonly Delta<T>[] {
    const deltas: Delta<T>[] = []
    this.#take(formatKey(keyOf(object)), object, false, deltas)
    return deltas
  }

  /** Takes the object out. The event's object is its last state. */
  delete(object: T): readonly Delta<T>[] {
    const key = formatKey(keyOf(object))
    if (!this.#objects.has(key)) return []
    this.#unset(key)
    return [{ kind: 'deleted', object, stale: false }]
  }

  /** Becomes exactly what is given by {@link byKey}; the deltas are the difference, deletions first. Readers never see a mixture. */
  replace(objects: ReadonlyMap<string, T>, initial: boolean): readonly Delta<T>[] {
    const deltas: Delta<T>[] = []
    for (const [key, object] of this.#objects) {
      if (objects.has(key)) continue
      this.#unset(key)
      deltas.push({ kind: 'deleted', object, stale: true })
    }
    for (const [key, object] of objects) this.#take(key, object, initial, deltas)
    return deltas
  }

  #take(key: string, object: T, initial: boolean, deltas: Delta<T>[]): void {
    const old = this.#objects.get(key)
    if (old && isSameState(old, object)) return
    this.#set(key, object)
    if (old && old.metadata.uid === object.metadata.uid) return void deltas.push({ kind: 'updated', object, old })
    if (old) deltas.push({ kind: 'deleted', object: old, stale: true })
    deltas.push({ kind: 'added', object, initial })
  }

  #set(key: string, object: T): void {
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) index.set(key, object)
  }

  #unset(key: string): void {
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) index.delete(key)
  }

  #build(index: Index<T>): ObjectIndex<T> {
    const built = new ObjectIndex(index)
    for (const [key, object] of this.#objects) built.set(key, object)
    this.#indexes.set(index, built)
    return built
  }
}

/** The objects of a list under their keys. One without a name has the whole list refused: throws a TypeError. */
export function byKey<T extends KubeObject>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [formatKey(keyOf(object)), object]))
}

/** Some servers (of metrics) give no versions: then nothing is known to be the same. */
function isSameState({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return Boolean(a.resourceVersion) && a.resourceVersion === b.resourceVersion && a.uid === b.uid
}
