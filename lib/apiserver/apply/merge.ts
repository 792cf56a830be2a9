/** Merging an applied configuration into an object, and taking out what is applied no longer. */
import { clone, isObject, type Json, type JsonObject, put } from '../json.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldSet, isEmpty } from './field_set.ts'
import { below, itemElement, itemsByElement, itemsOf, type Maybe, shapeOf } from './typed.ts'

/** The live value with the configuration laid over it. Neither is changed. */
export function merge(schema: Schema, live: Maybe, config: Maybe): Maybe {
  if (config === undefined) return clone(live)
  if (live === undefined || live === null) return clone(config)
  const shape = shapeOf(schema, config ?? live)
  // Of two that are null or empty the configuration's is taken: it tells the one from the other.
  if (isHollow(live) && isHollow(config)) return clone(config)
  if (shape === 'leaf' || (config !== null && shapeOf(schema, live) !== shape)) return clone(config)
  if (shape === 'map') return mergeMaps(schema, live as JsonObject, (config ?? {}) as JsonObject)
  return mergeLists(schema, live as Json[], (config ?? []) as Json[])
}

function isHollow(value: Json): boolean {
  return value === null ||
    (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)
}

function mergeMaps(schema: Schema, live: JsonObject, config: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const name of new Set([...Object.keys(live), ...Object.keys(config)])) {
    const value = merge(below(schema, name), own(live, name), own(config, name))
    if (value !== undefined) put(result, name, value)
  }
  return result
}

function own(object: JsonObject, name: string): Maybe {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * The order of structured-merge-diff: shared items stand in the configuration's order, the others of the live list
 * stay where they were in relation to those.
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
  const take = (element: string): void => {
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
        take(left)
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
      take(right)
      r++
    }
  }
  return result
}

/** The value without the members of a set. What becomes empty by that goes as well. */
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
    const kept = node ? removeFields(below(schema, name), value, node.below) : value
    if (kept !== undefined) put(result, name, kept)
  }
  return Object.keys(result).length > 0 ? result : undefined
}

function removeFromList(schema: Schema, list: readonly Json[], set: FieldSet): Maybe {
  const result: Json[] = []
  for (const item of list) {
    const node = set.get(itemElement(schema, item))
    if (node?.member) continue
    const kept = node ? removeFields(itemsOf(schema), item, node.below) : item
    if (kept !== undefined) result.push(kept)
  }
  return result.length > 0 ? result : undefined
}
