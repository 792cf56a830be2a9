/** Merges an applied configuration into an object, and removes fields. */
import { clone, isObject, type Json, type JsonObject, put } from '../json.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldSet, isEmpty } from './field_set.ts'
import { childSchema, itemElement, itemsByElement, itemsOf, type Maybe, shapeOf } from './typed.ts'

/** Returns the live value with the configuration merged in. Changes neither of them. */
export function merge(schema: Schema, live: Maybe, config: Maybe): Maybe {
  if (config === undefined) return clone(live)
  if (live === undefined || live === null) return clone(config)
  const shape = shapeOf(schema, config ?? live)
  // Of two values that are null or empty, take the configuration's: it can replace null with empty and vice versa.
  if (isNullOrEmpty(live) && isNullOrEmpty(config)) return clone(config)
  if (shape === 'leaf' || (config !== null && shapeOf(schema, live) !== shape)) return clone(config)
  if (shape === 'map') return mergeMaps(schema, live as JsonObject, (config ?? {}) as JsonObject)
  return mergeLists(schema, live as Json[], (config ?? []) as Json[])
}

function isNullOrEmpty(value: Json): boolean {
  return value === null ||
    (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)
}

function mergeMaps(schema: Schema, live: JsonObject, config: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const name of new Set([...Object.keys(live), ...Object.keys(config)])) {
    const value = merge(childSchema(schema, name), ownField(live, name), ownField(config, name))
    if (value !== undefined) put(result, name, value)
  }
  return result
}

function ownField(object: JsonObject, name: string): Maybe {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * Merges in the order of structured-merge-diff: shared items have the configuration's order, and the other live items
 * keep their place relative to them.
 */
function mergeLists(schema: Schema, live: readonly Json[], config: readonly Json[]): Json[] {
  const elements = live.map((item) => itemElement(schema, item))
  const wanted = config.map((item) => itemElement(schema, item))
  const liveItems = itemsByElement(schema, live)
  const configItems = itemsByElement(schema, config)
  const shared = wanted.filter((element) => liveItems.has(element))
  const done = new Set<string>()
  const result: Json[] = []
  const items = itemsOf(schema)
  const append = (element: string): void => {
    done.add(element)
    result.push(merge(items, liveItems.get(element), configItems.get(element))!)
    if (shared[0] === element) shared.shift()
  }
  let l = 0
  let r = 0
  while (l < elements.length || r < wanted.length) {
    const left = elements[l]
    const right = wanted[r]
    if (left !== undefined && right !== undefined) {
      if (left === right) {
        append(left)
        l++
        r++
        continue
      }
      if (configItems.has(left) && shared[0] !== undefined && shared[0] !== left) {
        l++
        continue
      }
    }
    if (left !== undefined) {
      if (!configItems.has(left)) {
        result.push(clone(live[l]!))
        l++
        continue
      }
      if (done.has(left)) l++
    }
    if (right !== undefined) {
      append(right)
      r++
    }
  }
  return result
}

/** Returns the value without the members of a set. Objects and lists that become empty are removed too. */
export function removeFields(schema: Schema, value: Maybe, set: FieldSet): Maybe {
  if (isEmpty(set)) return value
  switch (shapeOf(schema, value)) {
    case 'leaf':
      return Array.isArray(value) || isObject(value) ? undefined : value
    case 'map':
      return removeFromMap(schema, value as JsonObject, set)
    case 'list':
      return removeFromList(schema, value as Json[], set)
  }
}

function removeFromMap(schema: Schema, object: JsonObject, set: FieldSet): Maybe {
  const result: JsonObject = {}
  for (const [name, value] of Object.entries(object)) {
    const node = set.get(`f:${name}`)
    if (node?.member) continue
    const kept = node ? removeFields(childSchema(schema, name), value, node.children) : value
    if (kept !== undefined) put(result, name, kept)
  }
  return Object.keys(result).length > 0 ? result : undefined
}

function removeFromList(schema: Schema, list: readonly Json[], set: FieldSet): Maybe {
  const result: Json[] = []
  for (const item of list) {
    const node = set.get(itemElement(schema, item))
    if (node?.member) continue
    const kept = node ? removeFields(itemsOf(schema), item, node.children) : item
    if (kept !== undefined) result.push(kept)
  }
  return result.length > 0 ? result : undefined
}
