/** Fills in the defaults of a structural schema. */
import { cloneJson, setField } from '../core/clone.ts'
import type { JsonSchema } from '../core/resource.ts'

type Fields = Readonly<Record<string, JsonSchema>>

/**
 * Returns a value with the defaults of its schema, as the API server fills them in: for fields that are missing, and
 * for nulls where the schema allows none. Unknown fields stay. Returns the same value if nothing is missing; never
 * changes it.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
 */
export function withDefaults(schema: JsonSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = schema['items'] as JsonSchema | undefined
    if (!items) return value
    const filled = value.map((item: unknown) => defaulted(items, item))
    return filled.some((item, at) => item !== value[at]) ? filled : value
  }
  const fields = (schema['properties'] ?? {}) as Fields
  const others = schema['additionalProperties']
  let filled: Record<string, unknown> | undefined
  const change = (name: string, before: unknown, after: unknown): void => {
    if (after !== before) setField(filled ??= { ...value as Record<string, unknown> }, name, after)
  }
  for (const [name, field] of Object.entries(fields)) {
    const there: unknown = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    change(name, there, defaulted(field, there))
  }
  if (typeof others === 'object' && others !== null) {
    for (const [name, there] of Object.entries(value)) {
      if (!Object.hasOwn(fields, name)) change(name, there, defaulted(others as JsonSchema, there))
    }
  }
  return filled ?? value
}

function defaulted(schema: JsonSchema, value: unknown): unknown {
  const isMissing = value === undefined || (value === null && !schema['nullable'])
  const found = isMissing && 'default' in schema ? cloneJson(schema['default']) : value
  return withDefaults(schema, found)
}
