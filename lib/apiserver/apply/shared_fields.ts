/**
 * Shares equal `fieldsV1` between objects: objects of one template own the same fields, which take more memory than
 * the objects themselves.
 */
import type { JsonObject } from '../model/json.ts'
import { type FieldSet, fromFieldsV1, toFieldsV1 } from './field_set.ts'

interface Entry {
  readonly text: string
  readonly json: JsonObject
  readonly set: FieldSet
}

/** The last different ones are shared. */
const MAX_ENTRIES = 500

const byText = new Map<string, Entry>()
const byJson = new WeakMap<JsonObject, Entry>()

/** Converts a set to `fieldsV1`. Equal sets have the same object, which must not be changed. */
export function sharedFieldsV1(set: FieldSet): JsonObject {
  const json = toFieldsV1(set)
  const text = JSON.stringify(json)
  const known = byText.get(text)
  if (known) {
    // The entries that are not used for the longest time are dropped first.
    byText.delete(text)
    byText.set(text, known)
    return known.json
  }
  const entry = { text, json, set }
  byText.set(text, entry)
  byJson.set(json, entry)
  if (byText.size > MAX_ENTRIES) {
    const [oldest] = byText.values()
    byText.delete(oldest!.text)
    byJson.delete(oldest!.json)
  }
  return json
}

/** Converts `fieldsV1` to a set. */
export function fieldSetOf(json: JsonObject): FieldSet {
  return byJson.get(json)?.set ?? fromFieldsV1(json)
}
