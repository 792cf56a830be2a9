/** Finds the listeners that a change may concern, and objects, by a value that a selector requires. */
import type { ApiObject } from '../model/json.ts'

/** A value that objects must have. Terms of one path read the same value. */
export interface Term {
  readonly path: string
  readonly value: string
  readonly read: (object: ApiObject) => string | undefined
}

interface Changed {
  readonly object: ApiObject
  readonly before: ApiObject | undefined
}

/** Listeners, most of which only some changes concern: a write must not ask thousands of watches. */
export class Listeners<C extends Changed> {
  readonly #all = new Set<(change: C) => void>()
  readonly #byPath = new Map<
    string,
    { readonly read: Term['read']; readonly byValue: Map<string, Set<(change: C) => void>> }
  >()

  /** Adds a listener of changes whose object has, or had, the value of the term. Returns a function that removes it. */
  add(listener: (change: C) => void, term: Term | undefined): () => void {
    if (!term) {
      this.#all.add(listener)
      return () => void this.#all.delete(listener)
    }
    const { path, value, read } = term
    const of = this.#byPath.get(path) ?? { read, byValue: new Map<string, Set<(change: C) => void>>() }
    const listeners = of.byValue.get(value) ?? new Set()
    this.#byPath.set(path, of)
    of.byValue.set(value, listeners.add(listener))
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) of.byValue.delete(value)
      if (of.byValue.size === 0 && this.#byPath.get(path) === of) this.#byPath.delete(path)
    }
  }

  /** Returns the listeners that a change may concern. */
  of({ object, before }: C): readonly ((change: C) => void)[] {
    const found = [...this.#all]
    for (const { read, byValue } of this.#byPath.values()) {
      for (const value of new Set([read(object), before && read(before)])) {
        const listeners = value === undefined ? undefined : byValue.get(value)
        for (const listener of listeners ?? []) found.push(listener)
      }
    }
    return found
  }
}

type Values = Map<string | undefined, ApiObject[]>

/** By list and path; undefined after the first use. */
const indexes = new WeakMap<readonly ApiObject[], Map<string, Values | undefined>>()

/**
 * Returns the objects with the value of a term. The second call for a list and a path makes an index, which lives as
 * long as the list: thousands of clients that connect again each select a few of the same objects.
 */
export function withTerm(objects: readonly ApiObject[], { path, value, read }: Term): readonly ApiObject[] {
  const known = indexes.get(objects) ?? new Map<string, Values | undefined>()
  indexes.set(objects, known)
  if (!known.has(path)) {
    known.set(path, undefined)
    return objects
  }
  let index = known.get(path)
  if (!index) {
    known.set(path, index = new Map())
    for (const object of objects) {
      const own = read(object)
      const same = index.get(own)
      if (same) same.push(object)
      else index.set(own, [object])
    }
  }
  return index.get(value) ?? []
}
