/**
 * One index of a store: which objects are under a key. It remembers what the key function said, so that it stays
 * whole whatever that does.
 */
import { messageOf } from '../core/errors.ts'
import { indexKeys, type Index } from '../core/index.ts'
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

  constructor(index: Index<T>) {
    this.#index = index
  }

  /** Takes an object in, in place of what was known under its name. */
  set(name: string, object: T): void {
    this.delete(name)
    try {
      const keys = indexKeys(this.#index, object)
      if (keys.length > 0) this.#keysOf.set(name, keys)
      for (const key of keys) this.#remember(key, name)
    } catch (error) {
      this.#failed.set(name, error)
    }
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
