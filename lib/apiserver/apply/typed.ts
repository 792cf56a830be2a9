/** Derives merge rules from a schema: the shape of values and the names of list items. */
import { field, isObject, type Json, type JsonObject } from '../json.ts'
import { formatPath } from './field_set.ts'
import { fieldSchema, resolve, type Schema } from '../schema/schema.ts'

/** A value: `undefined` is absent, `null` is present. */
export type Maybe = Json | undefined

/** The unit of ownership of a value: the whole value, each field, or each item. */
export type Shape = 'leaf' | 'map' | 'list'

/** Returns the shape of a value. Without a rule in the schema, objects are maps and lists are leaves. */
export function shapeOf(schema: Schema, value: Maybe): Shape {
  const { type, 'x-kubernetes-list-type': listType, ...rest } = withMapType(schema)
  if (Array.isArray(value)) return type === 'array' && (listType === 'map' || listType === 'set') ? 'list' : 'leaf'
  if (isObject(value)) return rest['x-kubernetes-map-type'] === 'atomic' ? 'leaf' : 'map'
  return 'leaf'
}

/** Resolves a schema; a map type beside the reference overrides that of the definition. */
function withMapType(schema: Schema): Schema {
  const target = resolve(schema)
  const mapType = schema['x-kubernetes-map-type'] ?? target['x-kubernetes-map-type']
  return mapType === undefined ? target : { ...target, 'x-kubernetes-map-type': mapType }
}

const UNTYPED: Schema = { 'x-kubernetes-preserve-unknown-fields': true }

/** Returns the schema of a field. */
export function childSchema(schema: Schema, name: string): Schema {
  return fieldSchema(schema, name) ?? UNTYPED
}

export function itemsOf(schema: Schema): Schema {
  return resolve(schema).items ?? UNTYPED
}

/** Returns whether the schema names a field; false for a key of a map. */
export function isNamedField(schema: Schema, name: string): boolean {
  const { properties } = resolve(schema)
  return properties !== undefined && Object.hasOwn(properties, name)
}

/** Returns the path element of an item in a keyed list or a set. Throws UntypableError if it has none. */
export function itemElement(schema: Schema, item: Json): string {
  const target = resolve(schema)
  if (target['x-kubernetes-list-type'] === 'set') {
    if (isObject(item) || item === null) {
      throw new UntypableError("associative list without keys has an element that's a map type")
    }
    return `v:${JSON.stringify(item)}`
  }
  const keys = target['x-kubernetes-list-map-keys'] ?? []
  if (!isObject(item)) throw new UntypableError('associative list with keys may not have non-map elements')
  const named: JsonObject = {}
  for (const key of [...keys].sort()) {
    named[key] = field(item, key) ?? resolve(childSchema(itemsOf(schema), key)).default ?? null
  }
  return `k:${JSON.stringify(named)}`
}

/** Returns the items of a list by path element. Of repeated elements, the first item is kept. */
export function itemsByElement(schema: Schema, list: readonly Json[]): Map<string, Json> {
  const items = new Map<string, Json>()
  for (const item of list) {
    const element = itemElement(schema, item)
    if (!items.has(element)) items.set(element, item)
  }
  return items
}

/** Thrown for a value that cannot be merged by its schema. */
class UntypableError extends Error {
  override readonly name = 'UntypableError'
}

/** Returns the problems of the lists in an applied configuration: items without keys, and repeated items. */
export function listProblems(schema: Schema, value: Maybe, path: readonly string[] = []): string[] {
  switch (shapeOf(schema, value)) {
    case 'leaf':
      return []
    case 'map':
      return Object.entries(value as JsonObject).flatMap(
        ([name, child]) => listProblems(childSchema(schema, name), child, [...path, `f:${name}`]),
      )
    case 'list':
      return itemProblems(schema, value as Json[], path)
  }
}

function itemProblems(schema: Schema, list: readonly Json[], path: readonly string[]): string[] {
  const seen = new Set<string>()
  return list.flatMap((item, index) => {
    let element: string
    try {
      element = itemElement(schema, item)
    } catch (error) {
      if (error instanceof UntypableError) return [`${formatPath(path)}: element ${index}: ${error.message}`]
      throw error
    }
    if (seen.has(element)) return [`${formatPath(path)}: duplicate entries for key ${formatPath([element])}`]
    seen.add(element)
    return listProblems(itemsOf(schema), item, [...path, element])
  })
}
