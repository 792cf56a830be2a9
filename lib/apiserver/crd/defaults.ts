/** Applies the defaults of custom kinds to missing fields and to nulls that are not nullable. */
import { jsonEqual } from '../../core/equal.ts'
import { clone, isObject, type Json, type JsonObject, put } from '../json.ts'
import type { Schema } from '../schema/schema.ts'
import { type Cause, fault } from '../http/status.ts'
import { prune } from './prune.ts'
import { validateValue } from './validate.ts'

/**
 * Sets the schema's defaults below `value`, in place. With `drop`, first removes nulls of fields that are neither
 * nullable nor have a default.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
 */
export function applyDefaults(schema: Schema, value: Json, nulls: 'drop' | 'keep' = 'drop'): void {
  if (nulls === 'drop') dropNulls(schema, value)
  fill(schema, value)
}

/** Keeps nulls in lists: dropping them would shift the other items. */
function dropNulls(schema: Schema, value: Json): void {
  if (Array.isArray(value)) {
    if (schema.items) { for (const item of value) dropNulls(schema.items, item) }
  } else if (isObject(value)) {
    for (const [name, child] of Object.entries(value)) {
      const property = propertyOf(schema, name)
      if (!property) continue
      if (child === null && !property.nullable && property.default === undefined) delete value[name]
      else if (child !== undefined) dropNulls(property, child)
    }
  }
}

function fill(schema: Schema, value: Json): void {
  if (Array.isArray(value)) {
    const { items } = schema
    if (!items) return
    for (const [index, item] of value.entries()) {
      if (isReplaced(item, items)) value[index] = clone(items.default!)
      fill(items, value[index]!)
    }
  } else if (isObject(value)) {
    fillFields(schema, value)
  }
}

function fillFields(schema: Schema, value: JsonObject): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && (!Object.hasOwn(value, name) || value[name] === undefined)) {
      put(value, name, clone(property.default))
    }
  }
  for (const [name, child] of Object.entries(value)) {
    const property = propertyOf(schema, name)
    if (!property || child === undefined) continue
    if (isReplaced(child, property)) put(value, name, clone(property.default!))
    fill(property, value[name]!)
  }
}

/** Returns whether a null is replaced with the default. */
function isReplaced(value: Json, schema: Schema): boolean {
  return value === null && !schema.nullable && schema.default !== undefined
}

function propertyOf({ properties, additionalProperties }: Schema, name: string): Schema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return isObject(additionalProperties as Json) ? additionalProperties as Schema : undefined
}

/** Returns the faults of a schema's defaults: each must be valid by its own schema, without unknown fields. */
export function defaultFaults(schema: Schema, path: string): Cause[] {
  const { default: given, items, properties = {} } = schema
  return [
    ...(given === undefined ? [] : valueFaults(schema, given, `${path}.default`)),
    ...(items ? defaultFaults(items, `${path}.items`) : []),
    ...Object.entries(properties).flatMap(([name, property]) => defaultFaults(property, `${path}.properties[${name}]`)),
  ]
}

function valueFaults(schema: Schema, value: Json, path: string): Cause[] {
  const pruned = prune({ properties: { value: schema } }, { value }).object['value']!
  const faults = jsonEqual(pruned, value) ? [] : [fault.invalid(path, value, 'must not have unknown fields')]
  const within = (field: string): string => (field === '' || field.startsWith('[') ? path + field : `${path}.${field}`)
  return [...faults, ...validateValue(schema, value, '').map((cause) => ({ ...cause, field: within(cause.field) }))]
}
