/** Compares two structural schemas by keyword, and finds changes that may invalidate stored objects. */
import { jsonEqual } from '../core/equal.ts'
import type { JsonSchema } from '../core/resource.ts'

/** One keyword in which two schemas differ. `undefined` stands for an absent keyword. */
export interface SchemaChange {
  /** The path from the object's root: `spec.hosts[].name`, `spec.labels{}`. */
  readonly path: string
  /**
   * `properties`: a field, at its own path, that only one of the schemas has. `additionalProperties`: whether other
   * fields are kept. `type`: may be `int-or-string` or `anything`.
   */
  readonly keyword: string
  readonly from: unknown
  readonly to: unknown
  /** The schema that contains `from`. */
  readonly schema: JsonSchema
}

type Fields = Readonly<Record<string, JsonSchema | undefined>>

/** Keywords that are compared separately, or have no effect. */
const NOT_COMPARED =
  /^(?:type|x-kubernetes-(?:int-or-string|preserve-unknown-fields)|(?:additionalP|p)roperties|description|title|example|externalDocs)$/

/** Returns the changes from one schema to another. Where the type changes, other changes are left out. */
export function schemaChanges(from: JsonSchema, to: JsonSchema, path = ''): readonly SchemaChange[] {
  const found: SchemaChange[] = []
  /** Compares two schemas at `below` if both are there. */
  const compare = (keyword: string, a: unknown, b: unknown, at = path, below?: string): void => {
    if (jsonEqual(a, b)) return
    if (below && a && b) found.push(...schemaChanges(a as JsonSchema, b as JsonSchema, below))
    else found.push({ path: at, keyword, from: a, to: b, schema: from })
  }
  const type = typeOf(to)
  compare('type', typeOf(from), type)
  if (found.length > 0 && type !== 'anything') return found
  const [mine, others] = [from, to].map((schema) => (schema['properties'] ?? {}) as Fields) as [Fields, Fields]
  for (const name of Object.keys({ ...mine, ...others })) {
    const at = path ? `${path}.${name}` : name
    const [a, b] = [
      Object.hasOwn(mine, name) ? mine[name] : additionalSchemaOf(from),
      Object.hasOwn(others, name) ? others[name] : additionalSchemaOf(to),
    ]
    compare('properties', a, b, at, at)
  }
  for (const keyword of new Set([...Object.keys(from), ...Object.keys(to)])) {
    // `nullable` is ignored where any type is allowed.
    if (NOT_COMPARED.test(keyword) || (keyword === 'nullable' && type === 'anything')) continue
    // The server drops flags that are false.
    const [a, b] = [from, to].map(({ [keyword]: value }) =>
      value === false && keyword !== 'default' ? undefined : value
    )
    compare(keyword, a, b, path, keyword === 'items' ? `${path}[]` : undefined)
  }
  compare('additionalProperties', additionalSchemaOf(from), additionalSchemaOf(to), path, `${path}{}`)
  return found
}

/** Returns the type of a schema, which may be `int-or-string` or `anything`. */
export function typeOf(schema: JsonSchema): unknown {
  return schema['x-kubernetes-int-or-string'] ? 'int-or-string' : schema['type'] ?? 'anything'
}

/** Returns the schema of the fields that a schema does not name. Undefined if they are pruned. */
function additionalSchemaOf(schema: JsonSchema): JsonSchema | undefined {
  const others = schema['additionalProperties']
  if (others && others !== true) return others as JsonSchema
  return others || schema['x-kubernetes-preserve-unknown-fields'] || typeOf(schema) === 'anything' ? {} : undefined
}

/** Tests whether a change may invalidate a value or drop fields. What cannot be compared, as two patterns, may. */
export function isNarrowing({ keyword, from, to }: SchemaChange): boolean {
  if (keyword === 'default') return false
  if (keyword === 'type') return to !== 'anything'
  if (keyword === 'nullable' || keyword === 'properties' || keyword === 'additionalProperties') return !to
  if (from === undefined || to === undefined) return from === undefined
  if (keyword === 'enum') return without(from, to).length > 0
  if (keyword === 'required') return without(to, from).length > 0
  if (/^m(ax|in)/.test(keyword)) return keyword.startsWith('max') === (to as number < (from as number))
  return true
}

/** Returns the values of one list that the other lacks. Empty for what is no list. */
export function without(values: unknown, from: unknown): readonly unknown[] {
  return (Array.isArray(values) ? values as readonly unknown[] : []).filter((value) =>
    !(Array.isArray(from) && from.some((other) => jsonEqual(value, other)))
  )
}

/** Formats a change as the state after it. */
export function changeText({ path, keyword, from, to }: SchemaChange): string {
  if (keyword === 'properties') return `${path} is ${to ? 'new' : 'missing'}`
  const [was, is] = [from, to].map((value) => JSON.stringify(value) ?? 'absent')
  return `${keyword} of ${path || 'the object'} is ${is}, not ${was}`
}

/** Returns the path of the first field that a server with this schema would drop from a value. */
export function prunedField(value: unknown, schema: JsonSchema, path = ''): string | undefined {
  // A schema without a type keeps everything.
  if (typeof value !== 'object' || value === null || typeOf(schema) === 'anything') return undefined
  const fields = (schema['properties'] ?? {}) as Fields
  for (const [name, inner] of Object.entries(value)) {
    const isItem = Array.isArray(value)
    const at = isItem ? `${path}[${name}]` : path ? `${path}.${name}` : name
    const below = schema['x-kubernetes-embedded-resource'] && /^(apiVersion|kind|metadata)$/.test(name)
      ? {}
      : isItem
      ? schema['items'] as JsonSchema
      : Object.hasOwn(fields, name)
      ? fields[name]
      : additionalSchemaOf(schema)
    const found = below ? prunedField(inner, below, at) : at
    if (found) return found
  }
  return undefined
}
