/** Compares two structural schemas keyword by keyword, and tells which changes stored objects may not survive. */
import { jsonEqual } from '../core/equal.ts'
import type { JsonSchema } from '../core/resource.ts'

/** One keyword that two schemas say differently. `undefined` is what a schema does not say. */
export interface SchemaChange {
  /** Fields from the object's root: `spec.hosts[].name`, `spec.labels{}`. */
  readonly path: string
  /**
   * `properties` is a field, at its own path, that only one of the schemas has; `additionalProperties` is whether other fields are
   * kept; `type` may be `int-or-string`, or `anything`.
   */
  readonly keyword: string
  readonly from: unknown
  readonly to: unknown
  /** The schema that says `from`. */
  readonly schema: JsonSchema
}

type Fields = Readonly<Record<string, JsonSchema | undefined>>

const PRESERVES = 'x-kubernetes-preserve-unknown-fields'

/** What is compared in other ways, and what nothing depends on. */
const SILENT: ReadonlySet<string> = new Set([
  'type',
  'x-kubernetes-int-or-string',
  PRESERVES,
  'properties',
  'additionalProperties',
  'description',
  'title',
])

/** The changes on the way from one schema to another. Where the type changes, nothing else counts. */
export function schemaChanges(from: JsonSchema, to: JsonSchema, path = ''): readonly SchemaChange[] {
  const found: SchemaChange[] = []
  /** Schemas are compared at `below`, where both have one. */
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
      Object.hasOwn(mine, name) ? mine[name] : othersOf(from),
      Object.hasOwn(others, name) ? others[name] : othersOf(to),
    ]
    compare('properties', a, b, at, at)
  }
  for (const keyword of new Set([...Object.keys(from), ...Object.keys(to)])) {
    // To what may be anything, null is nothing special.
    if (SILENT.has(keyword) || (keyword === 'nullable' && type === 'anything')) continue
    // The server drops a flag that is false.
    const [a, b] = [from, to].map((
      schema,
    ) => (schema[keyword] === false && keyword !== 'default' ? undefined : schema[keyword]))
    compare(keyword, a, b, path, keyword === 'items' ? `${path}[]` : undefined)
  }
  compare('additionalProperties', othersOf(from), othersOf(to), path, `${path}{}`)
  return found
}

function typeOf(schema: JsonSchema): unknown {
  return schema['x-kubernetes-int-or-string'] ? 'int-or-string' : schema['type'] ?? 'anything'
}

/** What a schema says of the fields that it does not name. Undefined where it prunes them. */
function othersOf(schema: JsonSchema): JsonSchema | undefined {
  const others = schema['additionalProperties']
  if (others && others !== true) return others as JsonSchema
  return others || schema[PRESERVES] || typeOf(schema) === 'anything' ? {} : undefined
}

/**
 * Whether a value that was valid before a change may not be valid, or may lose fields, after it. Demands that cannot be compared,
 * such as two patterns, may be narrower.
 */
export function isNarrowing({ keyword, from, to }: SchemaChange): boolean {
  if (keyword === 'default') return false
  if (keyword === 'type') return to !== 'anything'
  if (keyword === 'nullable' || keyword.endsWith('roperties')) return !to
  if (from === undefined || to === undefined) return from === undefined
  if (keyword === 'enum') return lacking(from, to).length > 0
  if (keyword === 'required') return lacking(to, from).length > 0
  if (/^m(ax|in)/.test(keyword)) return keyword.startsWith('max') === (to as number < (from as number))
  return true
}

/** The values of one list that another lacks. */
function lacking(values: unknown, of: unknown): readonly unknown[] {
  return (values as readonly unknown[]).filter((value) => !(of as readonly unknown[]).includes(value))
}

/** A change in words, as what is so after it. */
export function changeText({ path, keyword, from, to }: SchemaChange): string {
  if (keyword === 'properties') return `${path} is ${to ? 'new' : 'missing'}`
  const [was, is] = [from, to].map((value) => JSON.stringify(value) ?? 'absent')
  return `${keyword} of ${path || 'the object'} is ${is}, not ${was}`
}

/** The first field of a value that a server with this schema would drop, by its path. */
export function prunedField(value: unknown, schema: JsonSchema, path = ''): string | undefined {
  // Below what may be anything, everything is kept.
  if (typeof value !== 'object' || value === null || typeOf(schema) === 'anything') return undefined
  const fields = (schema['properties'] ?? {}) as Fields
  for (const [name, inner] of Object.entries(value)) {
    const isItem = Array.isArray(value)
    const at = isItem ? `${path}[${name}]` : path ? `${path}.${name}` : name
    const below = isItem ? schema['items'] as JsonSchema : Object.hasOwn(fields, name) ? fields[name] : othersOf(schema)
    const found = below ? prunedField(inner, below, at) : at
    if (found) return found
  }
  return undefined
}
