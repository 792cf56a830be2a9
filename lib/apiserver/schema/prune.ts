/** Prunes fields that a structural schema does not define. */
import { isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { wrongType } from '../model/go_text.ts'
import { DecodeError, decodeTyped } from './decode.ts'
import type { Schema } from '../model/schema.ts'

export interface Pruned {
  readonly object: JsonObject
  /** The paths of the dropped fields. */
  readonly unknown: readonly string[]
}

/** Returns a copy of `value` (without apiVersion, kind and metadata) with only the fields of the schema. */
export function prune(schema: Schema, value: JsonObject): Pruned {
  const unknown: string[] = []
  const object = pruneObject(schema, value, '', unknown, false)
  return { object, unknown }
}

function pruneValue(schema: Schema, value: Json, path: string, unknown: string[]): Json {
  if (schema['x-kubernetes-embedded-resource'] && isObject(value)) return pruneEmbedded(schema, value, path, unknown)
  if (Array.isArray(value)) {
    const { items } = schema
    if (!items && schema['x-kubernetes-preserve-unknown-fields']) return value
    // Without a schema for the items, for example if the schema defines no list here, all their fields are unknown.
    return value.map((item, index) => pruneValue(items ?? {}, item, `${path}[${index}]`, unknown))
  }
  return isObject(value) ? pruneObject(schema, value, path, unknown, false) : value
}

function pruneObject(
  schema: Schema,
  value: JsonObject,
  path: string,
  unknown: string[],
  isEmbedded: boolean,
): JsonObject {
  const { properties = {}, additionalProperties } = schema
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined) continue
    const childPath = path ? `${path}.${name}` : name
    if (isEmbedded && (name === 'apiVersion' || name === 'kind' || name === 'metadata')) continue
    if (Object.hasOwn(properties, name)) put(result, name, pruneValue(properties[name]!, child, childPath, unknown))
    else if (additionalProperties) {
      // True allows any names, and defines no fields below them.
      const values = additionalProperties === true ? {} : additionalProperties as Schema
      put(result, name, pruneValue(values, child, childPath, unknown))
    } else if (keepsUnknown) put(result, name, child)
    else unknown.push(childPath)
  }
  return result
}

/** Prunes an embedded object; its apiVersion, kind and metadata are known without a schema. */
function pruneEmbedded(schema: Schema, value: JsonObject, path: string, unknown: string[]): JsonObject {
  const { apiVersion, kind, metadata } = value
  for (const [name, part] of Object.entries({ apiVersion, kind, metadata })) {
    if (part === undefined || part === null) continue
    const type = name === 'metadata' ? 'object' : 'string'
    const isRight = type === 'object' ? isObject(part) : typeof part === 'string'
    if (!isRight) throw new DecodeError(wrongType(`${path}.${name}`, part, type))
  }
  const meta = isObject(metadata)
    ? decodeTyped({ $ref: 'meta.v1.ObjectMeta' }, metadata, `${path}.metadata`)
    : undefined
  for (const name of meta?.unknown ?? []) unknown.push(name)
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    ...(meta && { metadata: meta.object }),
    ...pruneObject(schema, value, path, unknown, true),
  }
}
