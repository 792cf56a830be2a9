/**
 * Strategic merge patch: merges lists of built-in kinds by key, and follows `$patch` directives.
 *
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
import { isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { fieldSchema, resolve, type Schema } from '../model/schema.ts'
import { badRequest, errorWithoutReason } from '../model/status.ts'

const DELETE_FROM = '$deleteFromPrimitiveList/'
const ORDER = '$setElementOrder/'

/** Returns the object after the patch. Throws 400 for a malformed directive, 500 for lists that cannot be merged. */
export function strategicPatch(schema: Schema, target: JsonObject, patch: JsonObject): JsonObject {
  return mergeMap(schema, target, patch)
}

function mergeMap(schema: Schema | undefined, target: JsonObject, patch: JsonObject): JsonObject {
  if (patch['$patch'] === 'delete') return {}
  if (patch['$patch'] === 'replace') {
    const { $patch: _, ...rest } = patch
    return rest
  }
  if (patch['$patch'] !== undefined) throw unknownPatchType(patch)
  const result: JsonObject = { ...target }
  retainKeys(result, patch)
  const ordered = mergeOrderedLists(schema, result, patch)
  for (const [name, value] of Object.entries(patch)) {
    if (name === '$retainKeys' || name.startsWith(ORDER) || ordered.has(name)) continue
    if (name.startsWith(DELETE_FROM)) deleteFromList(result, name.slice(DELETE_FROM.length), value)
    else mergeField(schema, result, name, value)
  }
  return result
}

function unknownPatchType(patch: JsonObject): Error {
  return errorWithoutReason(500, `unknown patch type: ${String(patch['$patch'])}`)
}

function retainKeys(result: JsonObject, patch: JsonObject): void {
  const keys = patch['$retainKeys']
  if (keys === undefined) return
  if (!Array.isArray(keys)) throw badRequest('invalid patch format of retainKeys')
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || name === '$retainKeys' || name.startsWith(DELETE_FROM) || name.startsWith(ORDER)) continue
    if (!keys.includes(name)) throw badRequest('invalid patch format of retainKeys')
  }
  for (const name of Object.keys(result)) if (!keys.includes(name)) delete result[name]
}

/** Merges the lists with a `$setElementOrder` in the patch, in its order. Returns their names. */
function mergeOrderedLists(schema: Schema | undefined, result: JsonObject, patch: JsonObject): Set<string> {
  const merged = new Set<string>()
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER)) continue
    const name = directive.slice(ORDER.length)
    const given = patch[name]
    const before = result[name]
    if (!Array.isArray(order) || (given !== undefined && !Array.isArray(given))) {
      throw badRequest('invalid patch format of setElementOrder list')
    }
    const property = schema && fieldSchema(schema, name)
    const key = property?.['x-kubernetes-patch-merge-key']
    checkOrder(given ?? [], order, key)
    merged.add(name)
    if (!Array.isArray(before) && given === undefined) continue
    const list = Array.isArray(before)
      ? given === undefined ? before : mergeLists(property, before, given)
      : withoutDirectives(given!) as Json[]
    put(result, name, inOrder(list, order, Array.isArray(before) ? before : [], key))
  }
  return merged
}

/** Throws if the items of a patch have another order than its `$setElementOrder`. */
function checkOrder(patch: readonly Json[], order: readonly Json[], key: string | undefined): void {
  const items = patch.filter((item) => !(isObject(item) && item['$patch'] !== undefined))
  if (patch.length === 0 || order.length === 0) return
  let at = 0
  for (const each of order) if (at < items.length && identity(items[at]!, key) === identity(each, key)) at++
  if (at === items.length) return
  throw errorWithoutReason(
    500,
    `The order in patch list doesn't match $setElementOrder list`,
  )
}

function mergeField(schema: Schema | undefined, result: JsonObject, name: string, value: Json | undefined): void {
  if (value === null || value === undefined) {
    delete result[name]
    return
  }
  const property = schema && fieldSchema(schema, name)
  const before = Object.hasOwn(result, name) ? result[name] : undefined
  const isReplaced = (property?.['x-kubernetes-patch-strategy'] ?? '').split(',').includes('replace')
  if (isObject(value) && isObject(before)) put(result, name, isReplaced ? value : mergeMap(property, before, value))
  else if (Array.isArray(value) && Array.isArray(before)) put(result, name, mergeLists(property, before, value))
  else {
    // A new value, or one of another type, is taken without its nulls.
    const kept = withoutDirectives(withoutNulls(value))
    if (kept === undefined) delete result[name]
    else put(result, name, kept)
  }
}

/** Removes the objects with a `$patch` directive. */
function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives).filter((item): item is Json => item !== undefined)
  }
  if (!isObject(value)) return value
  if (value['$patch'] !== undefined) return undefined
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(value)) {
    const kept = withoutDirectives(child!)
    if (kept !== undefined) put(result, name, kept)
  }
  return result
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(value)) {
    if (child !== null && child !== undefined) put(result, name, withoutNulls(child))
  }
  return result
}

function mergeLists(schema: Schema | undefined, target: readonly Json[], patch: readonly Json[]): Json[] {
  if (!schema || !(schema['x-kubernetes-patch-strategy'] ?? '').split(',').includes('merge')) return [...patch]
  if (target.length === 0 && patch.length === 0) return []
  const all = [...target, ...patch]
  if (all.some((item) => isObject(item) !== isObject(all[0]) || typeof item !== typeof all[0])) {
    throw errorWithoutReason(500, 'list element types are not identical')
  }
  if (!isObject(all[0])) {
    return inOrder([...new Set(all)], patch, target, undefined)
  }
  const key = schema['x-kubernetes-patch-merge-key'] ?? ''
  const { kept, items } = withoutSpecialItems(target, patch as readonly JsonObject[], key)
  const merged = [...kept]
  const places = placesOf(merged, key)
  for (const item of items) {
    const id = idOf(item, key)
    const at = places.get(id)
    if (at !== undefined) merged[at] = mergeMap(resolve(schema).items, merged[at] as JsonObject, item)
    else {
      places.set(id, merged.length)
      merged.push(item)
    }
  }
  return inOrder(merged, items, kept, key)
}

/** Follows the directives of list items: returns the items that stay, and those to merge into them. */
function withoutSpecialItems(
  target: readonly Json[],
  patch: readonly JsonObject[],
  key: string,
): { kept: readonly Json[]; items: readonly JsonObject[] } {
  const deleted = new Set<string>()
  const items: JsonObject[] = []
  for (const item of patch) {
    switch (item['$patch']) {
      case undefined:
        items.push(item)
        break
      case 'delete':
        deleted.add(idOf(item, key))
        break
      case 'replace':
        break
      case 'merge':
        throw errorWithoutReason(500, 'merging lists cannot yet be specified in the patch')
      default:
        throw unknownPatchType(item)
    }
  }
  if (patch.some((item) => item['$patch'] === 'replace')) return { kept: items, items: [] }
  return { kept: deleted.size > 0 ? target.filter((other) => !deleted.has(identity(other, key))) : target, items }
}

/** Returns the identity of an item of a patch. Throws 500 if it lacks the key. */
function idOf(item: JsonObject, key: string): string {
  if (item[key] !== undefined) return identity(item, key)
  throw errorWithoutReason(500, `an item does not contain declared merge key: ${key}`)
}

function deleteFromList(result: JsonObject, name: string, values: Json | undefined): void {
  const list = result[name]
  if (!Array.isArray(list) || !Array.isArray(values)) return
  const deleted = new Set(values.map((value) => identity(value, undefined)))
  put(result, name, list.filter((item) => !deleted.has(identity(item, undefined))))
}

/**
 * Sorts the items of a merged list that `order` has like it. The others keep their order, and stay before the next
 * item of `order` only if they were before it in the original list.
 */
function inOrder(
  list: readonly Json[],
  order: readonly Json[],
  original: readonly Json[],
  key: string | undefined,
): Json[] {
  const placeIn = (items: readonly Json[]): (item: Json) => number => {
    const places = placesOf(items, key)
    return (item) => places.get(identity(item, key)) ?? -1
  }
  const [inWanted, inOriginal] = [placeIn(order), placeIn(original)]
  const wanted = list.filter((item) => inWanted(item) >= 0).sort((a, b) => inWanted(a) - inWanted(b))
  const others = list.filter((item) => inWanted(item) < 0).sort((a, b) => inOriginal(a) - inOriginal(b))
  const result: Json[] = []
  let [nextOther, nextWanted] = [0, 0]
  while (nextWanted < wanted.length && nextOther < others.length) {
    const left = inOriginal(others[nextOther]!)
    const right = inOriginal(wanted[nextWanted]!)
    result.push(left >= 0 && right >= 0 && left < right ? others[nextOther++]! : wanted[nextWanted++]!)
  }
  return [...result, ...others.slice(nextOther), ...wanted.slice(nextWanted)]
}

/** Returns what two items of a list have in common if they are the same: the value of the key, or the whole. */
function identity(item: Json, key: string | undefined): string {
  return JSON.stringify(key === undefined ? item : (item as JsonObject)[key]) ?? ''
}

/** Returns the first place of each item of a list, by its identity. */
function placesOf(items: readonly Json[], key: string | undefined): Map<string, number> {
  const places = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    const id = identity(item, key)
    if (!places.has(id)) places.set(id, index)
  }
  return places
}
