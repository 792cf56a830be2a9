/** JSON Merge Patch, RFC 7386. */
import { isObject, type Json, type JsonObject, put } from '../json.ts'

/** The target with the patch merged in: null removes, objects merge, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name]
    else put(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value))
  }
  return result
}
