/** Defaults of custom kinds: filled in where a field is missing, or null and not nullable. */
import { clone, isObject, type Json, put } from '../json.ts'
import type { Schema } from '../schema.ts'

/** Fills in the defaults that the schema states below `value`, in place. */
export function applyDefaults(schema: Schema, value: Json, nulls: 'drop' | 'keep' = 'drop'): void {
  if (Array.isArray(value)) {
    if (schema.items) for (const item of value) applyDefaults(schema.items, item, nulls)
    return
  }
  if (!isObject(value)) return
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const present = Object.hasOwn(value, name) ? value[name] : undefined
    if (present === null && !property.nullable && (nulls === 'drop' || property.default !== undefined)) delete value[name]
    if (value[name] === undefined && property.default !== undefined) put(value, name, clone(property.default))
    if (value[name] !== undefined) applyDefaults(property, value[name], nulls)
  }
  const { additionalProperties } = schema
  if (!isObject(additionalProperties as Json)) return
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(schema.properties ?? {}, name)) continue
    const element = additionalProperties as Schema
    if (value[name] === null && !element.nullable && element.default !== undefined) put(value, name, clone(element.default))
    applyDefaults(element, value[name]!, nulls)
  }
}
