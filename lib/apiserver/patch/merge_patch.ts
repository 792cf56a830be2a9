/** JSON Merge Patch, RFC 7386. */
import { isObject, type Json, type JsonObject, put } from '../json.ts'

/** The target with the patch merged in: null removes, objects merge, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return isObject(target) ? patch : withoutNulls(patch)
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name]
    else put(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value))
  }
  return result
}

/** The objects in a list of a patch lose their nulls, too, where the list takes no object's place: beyond the RFC, as the server's library does. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  return isObject(value) ? mergePatch(undefined, value) : value
}
