/** Fills in the defaults of a structural schema, as the API server does for custom kinds. */
import { cloneJson, isFields, mapItems, propertyOf, setField } from './clone.ts'

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

/**
 * Sets the schema's defaults below an object in place, as {@link withDefaults} returns them. With `drop`, first
 * removes nulls of fields that are not nullable and have no default.
 */
export function applyDefaults(
  schema: DefaultsSchema,
  object: Record<string, unknown>,
  nulls: 'drop' | 'keep' = 'drop',
): void {
  if (nulls === 'drop') dropNulls(schema, object)
  const filled = withDefaults(schema, object)
  if (filled === object) return
  for (const [name, value] of Object.entries(filled as typeof object)) setField(object, name, value)
}

/**
 * Returns a value with the defaults of its schema: for missing fields, and for nulls that are not nullable. Unknown
 * fields stay. Returns the same value if nothing is missing; never changes it.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
 */
export function withDefaults(schema: DefaultsSchema, value: unknown): unknown {
  if (Array.isArray(value)) return withItems(schema, value)
  return isFields(value) ? withFields(schema, value) : value
}

function withItems({ items }: DefaultsSchema, list: readonly unknown[]): unknown {
  if (!items) return list
  // An undefined item is not missing: it has a position.
  return mapItems(list, (item) => item === undefined ? item : defaulted(items, item))
}

function withFields(schema: DefaultsSchema, object: Readonly<Record<string, unknown>>): unknown {
  let filled: Record<string, unknown> | undefined
  const fill = (name: string, field: DefaultsSchema): void => {
    const before = Object.hasOwn(object, name) ? object[name] : undefined
    const after = defaulted(field, before)
    if (after !== before) setField(filled ??= { ...object }, name, after)
  }
  const { properties = {}, additionalProperties } = schema
  for (const [name, field] of Object.entries(properties)) fill(name, field)
  if (isFields(additionalProperties)) {
    for (const name of Object.keys(object)) if (!Object.hasOwn(properties, name)) fill(name, additionalProperties)
  }
  return filled ?? object
}

function defaulted(schema: DefaultsSchema, value: unknown): unknown {
  const isMissing = value === undefined || (value === null && !schema.nullable)
  return withDefaults(schema, isMissing && schema.default !== undefined ? cloneJson(schema.default) : value)
}

/** Keeps nulls in lists: dropping them would shift the other items. */
function dropNulls(schema: DefaultsSchema, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items) { for (const item of value) dropNulls(schema.items, item) }
  } else if (isFields(value)) {
    for (const [name, child] of Object.entries(value)) {
      const property = propertyOf(schema, name)
      if (!property) continue
      const isRefused = child === null && !property.nullable
      // A default takes the place of null, also in a record.
      if (isRefused && property.default === undefined) delete value[name]
      else dropNulls(property, child)
    }
  }
}
