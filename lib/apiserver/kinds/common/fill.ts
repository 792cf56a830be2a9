/** Sets the default values of built-in kinds, given as data. */
import { type ApiObject, clone, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { PrepareContext } from '../../model/kinds.ts'

/**
 * Default values by path: `spec.replicas`, or `spec.ports[].protocol` for every entry of a list. Missing parents are
 * not created.
 */
export type Defaults = Readonly<Record<string, Json>>

interface Default {
  readonly parents: readonly string[]
  readonly name: string
  readonly value: Json
}

/** The paths of tables, parsed once. */
const parsed = new WeakMap<Defaults, readonly Default[]>()

function parse(defaults: Defaults): readonly Default[] {
  let result = parsed.get(defaults)
  if (!result) {
    result = Object.entries(defaults).map(([path, value]) => {
      const parents = path.split('.')
      return { name: parents.pop()!, parents, value }
    })
    parsed.set(defaults, result)
  }
  return result
}

/** Sets the missing fields of an object, in place. Empty strings count as missing, zeros do not. */
export function fill(object: JsonObject, defaults: Defaults): void {
  for (const { parents, name, value } of parse(defaults)) {
    for (const parent of parentsOf(object, parents)) {
      const given = parent[name]
      if (given === undefined || given === null || given === '') parent[name] = clone(value)
    }
  }
}

/** Returns a function that calls {@link fill}, for a kind whose defaults are only data. */
export function filling(defaults: Defaults): (object: JsonObject) => void {
  return (object) => fill(object, defaults)
}

/** Returns the objects at a path; the entries of lists for `name[]`. */
export function parentsOf(object: JsonObject, names: readonly string[]): JsonObject[] {
  let found: JsonObject[] = [object]
  for (const name of names) {
    if (found.length === 0) return found
    const next: JsonObject[] = []
    for (const each of found) {
      const value = each[name.endsWith('[]') ? name.slice(0, -2) : name]
      if (!name.endsWith('[]')) {
        if (isObject(value)) next.push(value)
      } else if (Array.isArray(value)) { for (const item of value) if (isObject(item)) next.push(item) }
    }
    found = next
  }
  return found
}

/** Returns the object in a field; creates it if it is missing. */
export function child(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  if (isObject(value)) return value
  const created: JsonObject = {}
  object[name] = created
  return created
}

/** Returns the name of the default class of a storage, the newest if there are several; an annotation marks it. */
export function defaultClass({ all }: PrepareContext, storage: string, annotation: string): string | undefined {
  const created = ({ metadata }: ApiObject): string => String(metadata.creationTimestamp)
  const [newest] = all(storage).filter(({ metadata }) => metadata.annotations?.[annotation] === 'true')
    .sort((a, b) => (created(a) < created(b) ? 1 : -1))
  return newest?.metadata.name
}
