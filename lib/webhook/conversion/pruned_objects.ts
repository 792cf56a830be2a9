/**
 * Completes objects from which the API server has removed fields. When a manager applies an object in another version
 * than before, the server removes what that manager applied, and converts what is left, perhaps without a spec.
 *
 * @see https://github.com/kubernetes-sigs/structured-merge-diff/blob/v6.3.0/merge/update.go (`prune`)
 */
import { isFields, mapItems, propertyOf, setField } from '../../core/clone.ts'

/** The keywords of a structural schema that say what an object must have. */
interface RequiringSchema {
  readonly type?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, RequiringSchema>>
  readonly additionalProperties?: unknown
  readonly items?: RequiringSchema
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly nullable?: boolean
}

/**
 * Returns a value with the required fields that it lacks: empty ones, as a type of Go has. The same value if it lacks
 * none.
 */
export function completed(schema: RequiringSchema, value: unknown): unknown {
  const { items, required = [] } = schema
  if (Array.isArray(value)) return items ? mapItems(value, (each) => completed(items, each)) : value
  if (!isFields(value)) return value
  let whole: Record<string, unknown> | undefined
  for (const name of new Set([...required, ...Object.keys(value)])) {
    const field = propertyOf(schema, name) ?? {}
    const before = Object.hasOwn(value, name) ? value[name] : undefined
    // The server leaves null in place of an object whose fields it has all removed.
    const isMissing = before === undefined || (before === null && !field.nullable)
    const after = isMissing && required.includes(name) ? emptyOf(field) : completed(field, before)
    if (after !== before) setField(whole ??= { ...value }, name, after)
  }
  return whole ?? value
}

function emptyOf(schema: RequiringSchema): unknown {
  const { type, minimum = 0, nullable } = schema
  if (nullable) return null
  if (schema.enum) return schema.enum[0]
  if (type === 'string') return ''
  if (type === 'integer' || type === 'number') return minimum
  if (type === 'boolean') return false
  return type === 'array' ? [] : completed(schema, {})
}
