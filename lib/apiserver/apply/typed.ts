/**
 * What a schema says about merging: which values are one field, which are made of fields, and how list items are named.
 */
import { field, isObject, type Json, type JsonObject } from '../json.ts'
import { formatPath } from './field_set.ts'
import { fieldSchema, resolve, type Schema } from '../schema/schema.ts'

/** A value and its schema. `undefined` is absent, `null` is present. */
export type Maybe = Json | undefined

/** How a value is owned: as one field, field by field, or item by item. */
export type Shape = 'leaf' | 'map' | 'list'

/** The shape of a value. What the schema leaves open is decided by the value: objects have fields, lists are one. */
export function shapeOf(schema: Schema, value: Maybe): Shape {
  const { type, 'x-kubernetes-list-type': listType, ...rest } = merged(schema)
  if (Array.isArray(value)) return type === 'array' && (listType === 'map' || listType === 'set') ? 'list' : 'leaf'
  if (isObject(value)) return rest['x-kubernetes-map-type'] === 'atomic' ? 'leaf' : 'map'
  return 'leaf'
}

/** The topology of a field: said beside a reference, or by what it refers to. */
function merged(schema: Schema): Schema {
  const target = resolve(schema)
  const mapType = schema['x-kubernetes-map-type'] ?? target['x-kubernetes-map-type']
  return mapType === undefined ? target : { ...target, 'x-kubernetes-map-type': mapType }
}

const UNKNOWN: Schema = { 'x-kubernetes-preserve-unknown-fields': true }

/** The schema below a field. */
export function below(schema: Schema, name: string): Schema {
  return fieldSchema(schema, name) ?? UNKNOWN
}

export function itemsOf(schema: Schema): Schema {
  return resolve(schema).items ?? UNKNOWN
}

/** Whether a field is named by the schema, and not merely a key of a map. */
export function isNamedField(schema: Schema, name: string): boolean {
  const { properties } = resolve(schema)
  return properties !== undefined && Object.hasOwn(properties, name)
}

/** The path element that names an item of a keyed list or of a set. */
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
    named[key] = field(item, key) ?? resolve(below(itemsOf(schema), key)).default ?? null
  }
  return `k:${JSON.stringify(named)}`
}

/** The items of a list by their elements. A repeated element keeps its first item. */
export function itemsByElement(schema: Schema, list: readonly Json[]): Map<string, Json> {
  const items = new Map<string, Json>()
  for (const item of list) {
    const element = itemElement(schema, item)
    if (!items.has(element)) items.set(element, item)
  }
  return items
}

/** A value that cannot be merged by its schema. */
export class UntypableError extends Error {
  override readonly name = 'UntypableError'
}

/** What is wrong with the lists of an applied configuration: items without their keys, items stated twice. */
export function listProblems(schema: Schema, value: Maybe, path: readonly string[] = []): string[] {
  switch (shapeOf(schema, value)) {
    case 'leaf':
      return []
    case 'map':
      return Object.entries(value as JsonObject).flatMap(
        ([name, child]) => listProblems(below(schema, name), child, [...path, `f:${name}`]),
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
