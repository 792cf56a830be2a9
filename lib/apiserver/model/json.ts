/** JSON values and API objects, which are copied before any change: their parts, texts, times and uids. */
import { cloneJson, isFields, setField } from '../../core/clone.ts'

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject
/** A JSON object. */
export type JsonObject = { [field: string]: Json | undefined }

/** Object metadata. Names only the fields that the server reads. */
export type Meta = JsonObject & {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string | null
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: { [key: string]: string }
  annotations?: { [key: string]: string }
  finalizers?: string[]
  ownerReferences?: JsonObject[]
  managedFields?: ManagedFieldsEntry[]
}

/** One entry of `metadata.managedFields`. */
export type ManagedFieldsEntry = {
  manager?: string
  operation?: 'Apply' | 'Update'
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: JsonObject
  subresource?: string
}

/** An object of any kind. Stored objects are never changed in place. */
export type ApiObject = JsonObject & { apiVersion: string; kind: string; metadata: Meta }

export const isObject: (value: unknown) => value is JsonObject = isFields as (value: unknown) => value is JsonObject

/** Returns a deep copy. */
export const clone: <T extends Json | undefined>(value: T) => T = cloneJson

/** Gives an object its old value of a field, in place. */
export function restoreField(object: JsonObject, old: JsonObject, name: string): void {
  if (old[name] === undefined) delete object[name]
  else object[name] = clone(old[name])
}

/** How many fields and items an object may have: at 1.5 MiB, the limit of etcd, that is one in 20 bytes. */
export const MAX_VALUES = 80_000

/** Returns the number of fields and items in a value, or one above {@link MAX_VALUES}. */
export function countValues(value: Json | undefined, count = 0): number {
  if (typeof value !== 'object' || value === null) return count
  const values = Object.values(value)
  let sum = count + values.length
  for (const each of values) {
    if (sum > MAX_VALUES) return MAX_VALUES + 1
    sum = countValues(each, sum)
  }
  return sum
}

/** Sets a field; safe for every name, also `__proto__`. */
export const put: (object: JsonObject, key: string, value: Json | undefined) => void = setField

/** Returns an own field of an object, or undefined. */
export function field(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** Returns the value at a path of fields; undefined if any of them is missing. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let current = value
  for (const key of path) current = field(current, key)
  return current
}

/** Returns the object at a path, or an empty one. */
export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}

/** Returns the objects of the list at a path, or none. */
export function list(value: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter(isObject) : []
}

/** Returns the string at a path, or an empty one. */
export function str(value: Json | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** Returns the number at a path, or 0. */
export function num(value: Json | undefined, ...path: readonly string[]): number {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : 0
}

/** Returns the number of entries of a list or a map. */
export function size(value: Json | undefined): number {
  return isObject(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : 0
}

/** Sets the value at a path of fields, creates missing objects on the way; undefined deletes the field. */
export function putAt(object: JsonObject, path: readonly string[], value: Json | undefined): void {
  let current = object
  for (const key of path.slice(0, -1)) {
    const next = field(current, key)
    if (isObject(next)) current = next
    else {
      const created: JsonObject = {}
      put(current, key, created)
      current = created
    }
  }
  const last = path[path.length - 1]!
  if (value === undefined) delete current[last]
  else put(current, last, value)
}

/** Returns a record with its keys in order, as Go writes maps: equal flat ones have equal JSON. */
export function sortedByKey<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const texts = new WeakMap<ApiObject, string>()

/** Returns the JSON of an object, with apiVersion, kind and metadata first. */
export function jsonOf(object: ApiObject): string {
  let text = texts.get(object)
  if (text === undefined) {
    const { apiVersion, kind, metadata, ...rest } = object
    text = JSON.stringify({ apiVersion, kind, metadata, ...rest })
    texts.set(object, text)
  }
  return text
}

/** Returns the JSON of an object without apiVersion and kind, as the items of a list of a built-in kind have it. */
export function itemJsonOf(object: ApiObject): string {
  const { apiVersion, kind } = object
  const head = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`
  return `{${jsonOf(object).slice(head.length)}`
}

/**
 * Drops the JSON of an object that was replaced, because the history keeps the object for minutes.
 * Returns its length; 0 if it was never read.
 */
export function forgetJson(object: ApiObject): number {
  const length = texts.get(object)?.length ?? 0
  texts.delete(object)
  return length
}

/** Formats a time as `metav1.Time`: whole seconds. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** Returns a random UUID, version 4. */
export function newUid(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16))
  hex[12] = '4'
  hex[16] = (8 + Math.floor(random() * 4)).toString(16)
  const text = hex.join('')
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-')
}
