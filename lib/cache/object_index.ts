/**
 * One index of a store: which objects are under a key. It remembers what the key function said, so that it stays
 * whole whatever that does.
 */
import { messageOf } from '../core/errors.ts'
import { type Index, indexKeys } from '../core/object_indexer.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf } from '../core/resource.ts'

export class ObjectIndex<T extends KubeObject> {
  readonly #index: Index<T>
  /** The names of the objects under each key; none is empty. */
  readonly #namesOf = new Map<string, Set<string>>()
  /** What each object is under. Asking the function again would not do: it may answer differently. */
  readonly #keysOf = new Map<string, readonly string[]>()
  /** The objects for which the function threw: as long as there is one, no answer is complete. */
  readonly #failed = new Map<string, unknown>()

  /** Whether every object of the store is in. */
  isComplete = false

  constructor(index: Index<T>) {
    this.#index = index
  }

  /** Takes an object in, in place of what was known under its name. Under a key that it keeps it keeps its place. */
  set(name: string, object: T): void {
    try {
      this.#set(name, indexKeys(this.#index, object))
    } catch (error) {
      this.delete(name)
      this.#failed.set(name, error)
    }
  }

  /** Takes an object in that another index of the same function knows, without asking the function again. */
  copy(name: string, from: ObjectIndex<T>): void {
    if (from.#failed.has(name)) this.#failed.set(name, from.#failed.get(name))
    else this.#set(name, from.#keysOf.get(name) ?? [])
  }

  delete(name: string): void {
    this.#failed.delete(name)
    for (const key of this.#keysOf.get(name) ?? []) this.#forget(key, name)
    this.#keysOf.delete(name)
  }

  /** The names of the objects under a key. Throws while the key function cannot be relied on. */
  lookup(key: string): Iterable<string> {
    for (const [name, cause] of this.#failed) {
      const { resource } = this.#index
      const why = `its function threw for ${resource.kind} "${name}": ${messageOf(cause)}`
      throw new Error(`Cannot look up "${key}" in an index of ${groupResourceOf(resource)}: ${why}`, { cause })
    }
    return this.#namesOf.get(key) ?? []
  }

  #set(name: string, keys: readonly string[]): void {
    const known = this.#keysOf.get(name)
    if (known && known.length === keys.length && known.every((key, i) => key === keys[i])) return
    this.delete(name)
    if (keys.length > 0) this.#keysOf.set(name, keys)
    for (const key of keys) this.#remember(key, name)
  }

  #remember(key: string, name: string): void {
    const names = this.#namesOf.get(key)
    if (names) names.add(name)
    else this.#namesOf.set(key, new Set([name]))
  }

  #forget(key: string, name: string): void {
    const names = this.#namesOf.get(key)
    if (names?.delete(name) && names.size === 0) this.#namesOf.delete(key)
  }
}
