/** Reads a store with the own writes applied that its watch has not delivered yet. */
import type { Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import type { OwnWritesState } from './own_writes_state.ts'
import { ObjectIndex, type StoreReader } from './store.ts'

interface Differences<T extends KubeObject> {
  /** Replaced objects of the store, with what reads return instead; undefined hides the object. */
  readonly replaced: ReadonlyMap<T, T | undefined>
  /** Objects that the store does not have. */
  readonly added: readonly T[]
  /** All objects that differ from the store, by name. */
  readonly own: ReadonlyMap<string, T>
  /** The indexes of {@link own} that were used. */
  readonly indexes: Map<Index<T>, ObjectIndex<T>>
}

export class OwnWritesView<T extends KubeObject> implements StoreReader<T> {
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
      const shown = replaced.has(object) ? replaced.get(object) : object
      if (shown) yield shown
    }
    for (const object of added) if (namespace === undefined || object.metadata.namespace === namespace) yield object
  }

  lookup(index: Index<T>, key: string): readonly T[] {
    const { replaced, own, indexes } = this.#differences()
    let built = indexes.get(index)
    if (!built) {
      indexes.set(index, built = new ObjectIndex(index))
      for (const [name, object] of own) built.set(name, object)
    }
    const unchanged = this.#store.lookup(index, key).filter((object) => !replaced.has(object))
    return [...unchanged, ...Array.from(built.lookup(key), (name) => own.get(name)!)]
  }

  /** Returns the differences; they are computed again only after an answer or an event. */
  #differences(): Differences<T> {
    const at = this.#state.changes
    if (this.#found?.at === at) return this.#found.differences
    const replaced = new Map<T, T | undefined>()
    const own = new Map<string, T>()
    const added: T[] = []
    for (const key of this.#state.keys()) {
      const stored = this.#store.get(key)
      const shown = this.#state.shown(key, stored)
      if (shown === stored) continue
      if (stored) replaced.set(stored, shown)
      else if (shown) added.push(shown)
      if (shown) own.set(formatKey(keyOf(shown)), shown)
    }
    const differences = { replaced, added, own, indexes: new Map<Index<T>, ObjectIndex<T>>() }
    this.#found = { at, differences }
    return differences
  }
}
