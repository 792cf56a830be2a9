/** JSON values and API objects as the server handles them: plain data, copied before it is changed. */
import { cloneJson, setField } from '../core/clone.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [field: string]: Json | undefined }

/** The metadata of an object. Only what the server itself reads is named. */
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

/** An object of some kind. What the store holds is never changed in place. */
export type ApiObject = JsonObject & { apiVersion: string; kind: string; metadata: Meta }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A deep copy. */
export const clone: <T extends Json | undefined>(value: T) => T = cloneJson

/** Sets a field, whatever its name. */
export const put: (object: JsonObject, key: string, value: Json | undefined) => void = setField

/** The own field of an object, if there is one. */
export function field(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** The value at a path of fields; undefined when any of them is missing. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let here = value
  for (const key of path) here = field(here, key)
  return here
}

/** Sets the value at a path of fields, making the objects on the way. */
export function putAt(object: JsonObject, path: readonly string[], value: Json | undefined): void {
  let here = object
  for (const key of path.slice(0, -1)) {
    const next = field(here, key)
    if (isObject(next)) here = next
    else {
      const made: JsonObject = {}
      put(here, key, made)
      here = made
    }
  }
  const last = path[path.length - 1]!
  if (value === undefined) delete here[last]
  else put(here, last, value)
}
