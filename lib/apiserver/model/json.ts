/** JSON values and API objects, which are copied before any change. */
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
