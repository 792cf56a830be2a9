/** Fills in the defaults of a structural schema, as the API server does for custom kinds. */
import { cloneJson, setField } from './clone.ts'

/** The keywords of a structural schema that defaulting reads. */
export interface DefaultsSchema {
  readonly properties?: Readonly<Record<string, DefaultsSchema>>
  /** A schema, or a boolean, which says nothing about the values. */
  readonly additionalProperties?: unknown
  readonly items?: DefaultsSchema
  /** Absent if undefined. */
  readonly default?: unknown
  readonly nullable?: boolean
}

type Fields = Record<string, unknown>

/**
 * Sets the schema's defaults below `value`, in place: for missing fields, and for nulls that are not nullable. With
 * `drop`, first removes nulls of fields that are neither nullable nor have a default. Keeps unknown fields.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
 */
export function applyDefaults(schema: DefaultsSchema, value: unknown, nulls: 'drop' | 'keep' = 'drop'): void {
  if (nulls === 'drop') dropNulls(schema, value)
  fill(schema, value)
}

/** Keeps nulls in lists: dropping them would shift the other items. */
function dropNulls(schema: DefaultsSchema, value: unknown): void {
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

function fill(schema: DefaultsSchema, value: unknown): void {
  if (Array.isArray(value)) {
    const { items } = schema
    if (!items) return
    for (const [index, item] of value.entries()) {
      if (isReplaced(item, items)) value[index] = cloneJson(items.default)
      fill(items, value[index])
    }
  } else if (isObject(value)) {
    fillFields(schema, value)
  }
}

function fillFields(schema: DefaultsSchema, value: Fields): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && (!Object.hasOwn(value, name) || value[name] === undefined)) {
      setField(value, name, cloneJson(property.default))
    }
  }
  for (const [name, child] of Object.entries(value)) {
    const property = propertyOf(schema, name)
    if (!property || child === undefined) continue
    if (isReplaced(child, property)) setField(value, name, cloneJson(property.default))
    fill(property, value[name])
  }
}

/** Returns whether a null is replaced with the default. */
function isReplaced(value: unknown, schema: DefaultsSchema): boolean {
  return value === null && !schema.nullable && schema.default !== undefined
}

function propertyOf(schema: DefaultsSchema, name: string): DefaultsSchema | undefined {
  const { properties, additionalProperties } = schema
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return isObject(additionalProperties) ? additionalProperties as DefaultsSchema : undefined
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
