/**
 * Strategic merge patch: merges lists of built-in kinds by key, and follows `$patch` directives.
 *
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
import { jsonEqual } from '../../core/equal.ts'
import { isObject, type Json, type JsonObject, put } from '../json.ts'
import { fieldSchema, resolve, type Schema } from '../schema/schema.ts'
import { badRequest } from '../http/status.ts'

const DELETE_FROM = '$deleteFromPrimitiveList/'
const ORDER = '$setElementOrder/'

/** Returns the object after the patch. */
export function strategicPatch(schema: Schema, target: JsonObject, patch: JsonObject): JsonObject {
  return (mergeObjects(schema, target, patch) ?? {}) as JsonObject
}

function mergeObjects(schema: Schema | undefined, target: JsonObject, patch: JsonObject): Json | undefined {
  if (patch['$patch'] === 'delete') return {}
  if (patch['$patch'] === 'replace') {
    const { $patch: _, ...rest } = patch
    return rest
  }
  if (patch['$patch'] !== undefined && patch['$patch'] !== 'merge') {
    throw badRequest(`Unknown patch type: ${String(patch['$patch'])}`)
  }
  const result: JsonObject = { ...target }
  retainKeys(result, patch)
  for (const [name, value] of Object.entries(patch)) {
    if (name === '$patch' || name === '$retainKeys') continue
    if (name.startsWith(DELETE_FROM)) deleteFromList(result, name.slice(DELETE_FROM.length), value)
    else if (!name.startsWith(ORDER)) mergeField(schema, result, name, value)
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(ORDER)) orderList(schema, result, name.slice(ORDER.length), value)
  }
  return result
}

function retainKeys(result: JsonObject, patch: JsonObject): void {
  const keys = patch['$retainKeys']
  if (!Array.isArray(keys)) return
  for (const name of Object.keys(patch)) {
    if (!name.startsWith('$') && !keys.includes(name)) throw badRequest('invalid patch format of retainKeys')
  }
  for (const name of Object.keys(result)) if (!keys.includes(name)) delete result[name]
}

function mergeField(schema: Schema | undefined, result: JsonObject, name: string, value: Json | undefined): void {
  if (value === null || value === undefined) {
    delete result[name]
    return
  }
  const property = schema && fieldSchema(schema, name)
  const before = Object.hasOwn(result, name) ? result[name] : undefined
  const strategies = (property?.['x-kubernetes-patch-strategy'] ?? '').split(',')
  if (isObject(value)) {
    const isReplaced = strategies.includes('replace')
    const merged = isReplaced ? value : mergeObjects(property, isObject(before) ? before : {}, value)
    put(result, name, merged)
  } else if (Array.isArray(value) && strategies.includes('merge')) {
    put(result, name, mergeLists(property!, Array.isArray(before) ? before : [], value))
  } else put(result, name, value)
}

function mergeLists(schema: Schema, target: readonly Json[], patch: readonly Json[]): Json[] {
  const key = schema['x-kubernetes-patch-merge-key']
  const items = resolve(schema).items!
  if (!key || !resolve(items).properties) return mergeScalars(target, patch)
  if (patch.some((item) => isObject(item) && item['$patch'] === 'replace')) {
    return patch.filter(
      (item) => !(isObject(item) && item['$patch'] === 'replace'),
    )
  }
  let result = [...target]
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`expected an object in a list that merges by ${key}`)
    const id = item[key]
    if (id === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`)
    const isSame = (other: Json): boolean => isObject(other) && jsonEqual(other[key], id)
    if (item['$patch'] === 'delete') {
      result = result.filter((other) => !isSame(other))
      continue
    }
    const at = result.findIndex(isSame)
    const merged = mergeObjects(items, at < 0 ? {} : result[at] as JsonObject, item)!
    if (at < 0) result.push(merged)
    else result[at] = merged
  }
  return result
}

function mergeScalars(target: readonly Json[], patch: readonly Json[]): Json[] {
  return [...target, ...patch.filter((item) => !target.some((other) => jsonEqual(other, item)))]
}

function deleteFromList(result: JsonObject, name: string, values: Json | undefined): void {
  const list = result[name]
  if (!Array.isArray(list) || !Array.isArray(values)) return
  const kept = list.filter((item) => !values.some((value) => jsonEqual(value, item)))
  if (kept.length > 0) put(result, name, kept)
  else delete result[name]
}

/** Sorts the items that `$setElementOrder` names; the other items keep their place after their predecessors. */
function orderList(schema: Schema | undefined, result: JsonObject, name: string, order: Json | undefined): void {
  const list = result[name]
  if (!Array.isArray(list) || !Array.isArray(order)) return
  const key = (schema && fieldSchema(schema, name))?.['x-kubernetes-patch-merge-key']
  const idOf = (item: Json): Json | undefined => (key && isObject(item) ? item[key] : item)
  const rank = (item: Json): number => order.findIndex((each) => jsonEqual(idOf(each), idOf(item)))
  const ordered = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b))
  const others = list.map((item, index) => ({ item, index })).filter(({ item }) => rank(item) < 0)
  const merged = [...ordered]
  for (const { item, index } of others) {
    // Insert after the last item that preceded it in the original list.
    const before = list.slice(0, index)
    const last = merged.reduce<number>(
      (found, each, place) => (before.some((other) => jsonEqual(idOf(other), idOf(each))) ? place : found),
      -1,
    )
    merged.splice(last + 1, 0, item)
  }
  put(result, name, merged)
}
