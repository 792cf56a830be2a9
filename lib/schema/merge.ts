/**
 * Merges the schemas of a union or an intersection into one structural schema.
 *
 * The structure (types, properties, defaults) must be stated once, outside of `oneOf`, `anyOf` and `allOf`, which may
 * contain only conditions on values. So each alternative is split into its structure and its conditions, and the
 * structures must agree.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { below, refuse } from './refusal.ts'
import { RANGES } from './scalars.ts'
import { jsonEqual } from '../core/equal.ts'
import type { JsonSchema } from '../core/resource.ts'
import type { Place } from './refusal.ts'

/** How schemas combine: at least one holds, or all do. (`oneOf` would refuse null, which every alternative accepts.) */
export type Junctor = 'anyOf' | 'allOf'

/** Returns one schema for several. Throws if their structures differ. */
export function merge(schemas: readonly JsonSchema[], junctor: Junctor, place: Place): JsonSchema {
  const [only] = schemas
  if (only && schemas.every((schema) => jsonEqual(schema, only))) return only
  const { shared, separate } = split(schemas, junctor, place)
  const conditions = separate.filter((condition) => !isEmpty(condition))
  // An alternative without a condition of its own always holds, so `anyOf` would have no effect.
  if (conditions.length === 0 || (junctor === 'anyOf' && conditions.length < separate.length)) return shared
  for (const condition of conditions) refuseMetadata(condition, place)
  if (!(junctor in shared)) return { ...shared, [junctor]: conditions }
  const more = junctor === 'allOf' ? conditions : [{ [junctor]: conditions }]
  return { ...shared, allOf: [...(shared['allOf'] ?? []) as readonly JsonSchema[], ...more] }
}

/** Throws for a condition about a field `metadata`. The server refuses such a condition at every depth of a schema. */
export function refuseMetadata({ properties = {}, items }: JsonSchema, place: Place): void {
  for (const [name, field] of Object.entries(properties as Fields)) {
    const what = 'a field "metadata" whose checks differ between alternatives'
    if (name === 'metadata') refuse(below(place, name), what, 'give the field another name, or leave it unchecked')
    refuseMetadata(field, below(place, name))
  }
  if (items) refuseMetadata(items as JsonSchema, below(place, '[]'))
}

/** Returns what the schemas have in common, and the remaining conditions of each. Throws if their structures differ. */
export function split(
  schemas: readonly JsonSchema[],
  junctor: Junctor,
  place: Place,
): { readonly shared: JsonSchema; readonly separate: readonly JsonSchema[] } {
  const structure = schemas.map((schema) => partOf(schema, true)).reduce((a, b) =>
    mergeStructures(a, b, junctor, place)
  )
  const conditions = schemas.map((schema) => partOf(schema, false))
  const common = commonConditions(conditions)
  const known = junctor === 'anyOf' ? withValues(structure, conditions) : structure
  return {
    shared: overlay(known, common),
    separate: conditions.map((condition) => partOf(without(condition, common), false, true)),
  }
}

/** Returns the structure with each condition added at its field. */
function overlay(structure: JsonSchema, conditions: JsonSchema): JsonSchema {
  const result: Record<string, unknown> = { ...structure, ...conditions }
  const [items, overItems] = [structure, conditions].map((schema) => schema['items'] as JsonSchema | undefined)
  if (items && overItems) result['items'] = overlay(items, overItems)
  const [fields, over] = [structure, conditions].map((schema) => schema['properties'] as Fields | undefined)
  if (!fields || !over) return result
  const laid = Object.entries(over).map(([name, condition]) => [name, overlay(fields[name]!, condition)] as const)
  return { ...result, properties: { ...fields, ...Object.fromEntries(laid) } }
}

/** Adds the values of fields that are an enum in every alternative: `kubectl explain` and errors then list them. */
function withValues(structure: JsonSchema, conditions: readonly JsonSchema[]): JsonSchema {
  if (!structure['properties']) return structure
  const properties = Object.entries(structure['properties'] as Fields).map(([name, field]) => {
    const enums = conditions.map((condition) => (condition['properties'] as Fields | undefined)?.[name]?.['enum'])
    return [name, enums.every(Array.isArray) ? { ...field, enum: [...new Set(enums.flat())] } : field] as const
  })
  return { ...structure, properties: Object.fromEntries(properties) }
}

/** Keywords of the structure, which are not allowed inside a junctor. */
const STRUCTURAL = /^(?:type|default|nullable|description|title|example|additionalProperties)$|^x-kubernetes-/

/**
 * Returns the structure of a schema, or the conditions; of these, empty ones are left out. `limits`: limits take the
 * place of formats of numbers. Of a condition, which has no type, the server refuses each default with such a number,
 * and does not check the range of others.
 */
function partOf(schema: JsonSchema, isStructure: boolean, limits = false): JsonSchema {
  const part: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const below = keyword === 'properties'
      ? Object.fromEntries(
        Object.entries(value as Fields).map(([name, field]) => [name, partOf(field, isStructure, limits)] as const)
          .filter(([, field]) => isStructure || !isEmpty(field)),
      )
      : keyword === 'items'
      ? { ...partOf(value as JsonSchema, isStructure, limits), ...(isStructure && requiredKeys(schema)) }
      : undefined
    if (limits && keyword === 'format' && /^(?:int|float|double)/.test(value as string)) {
      if (value === 'int32') Object.assign(part, RANGES['int32'])
    } else if (below ? isStructure || !isEmpty(below) : STRUCTURAL.test(keyword) === isStructure) {
      part[keyword] = below ?? value
    }
  }
  return part
}

/** Returns `required` with the keys of a list: the server wants it beside their types. */
function requiredKeys({ items, 'x-kubernetes-list-map-keys': keys = [] }: JsonSchema): JsonSchema {
  const required = (keys as readonly string[]).filter((key) => requiredOf(items as JsonSchema).includes(key))
  return required.length > 0 ? { required } : {}
}

type Fields = Readonly<Record<string, JsonSchema>>

function mergeStructures(a: JsonSchema, b: JsonSchema, junctor: Junctor, place: Place): JsonSchema {
  const result: Record<string, unknown> = { ...a }
  for (const keyword of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (/^(?:description|title|example)$/.test(keyword)) {
      // A text of only one alternative does not describe the union.
      if (a[keyword] !== b[keyword]) delete result[keyword]
    } else if (keyword === 'properties') {
      result[keyword] = mergeFields((a[keyword] ?? {}) as Fields, (b[keyword] ?? {}) as Fields, junctor, place)
    } else if (keyword === 'items' && a[keyword] && b[keyword]) {
      result[keyword] = mergeStructures(a[keyword] as JsonSchema, b[keyword] as JsonSchema, junctor, below(place, '[]'))
    } else if (!jsonEqual(a[keyword], b[keyword])) {
      const what = junctor === 'allOf' ? 'an intersection' : 'a union'
      refuse(
        place,
        `${what} of ${describe(a, keyword)} and ${describe(b, keyword)}`,
        keyword === 'type'
          ? 'a field has one type, or is an integer or a string'
          : 'let the alternatives agree on it, or name the fields differently',
      )
    }
  }
  return result
}

function mergeFields(a: Fields, b: Fields, junctor: Junctor, place: Place): Fields {
  const result: Record<string, JsonSchema> = { ...a }
  for (const [name, field] of Object.entries(b)) {
    const there = Object.hasOwn(a, name) ? a[name] : undefined
    result[name] = there ? mergeStructures(there, field, junctor, below(place, name)) : field
  }
  if (junctor === 'allOf') return result
  for (const name of Object.keys(result)) {
    const everywhere = Object.hasOwn(a, name) && Object.hasOwn(b, name)
    if (!everywhere) refuseLoneDefault(result[name]!, below(place, name))
  }
  return result
}

/** Throws if the field, which some alternatives lack, has a default. */
export function refuseLoneDefault(field: JsonSchema, place: Place): void {
  if ('default' in field) {
    const what = 'a default in one alternative only'
    refuse(place, what, 'the server would fill it in in all of them; make the field optional')
  }
}

function commonConditions([first = {}, ...others]: readonly JsonSchema[]): JsonSchema {
  return filtered(
    first,
    (keyword) => others.every((other) => jsonEqual(other[keyword], first[keyword])),
    (name) => others.every((other) => requiredOf(other).includes(name)),
  )
}

function without(condition: JsonSchema, common: JsonSchema): JsonSchema {
  return filtered(condition, (keyword) => !(keyword in common), (name) => !requiredOf(common).includes(name))
}

/** Returns a schema with some of its keywords, and some of the names that `required` lists. */
function filtered(
  schema: JsonSchema,
  isKept: (keyword: string) => boolean,
  isKeptName: (name: string) => boolean,
): JsonSchema {
  const required = requiredOf(schema).filter(isKeptName)
  const kept = Object.entries(schema).filter(([keyword]) =>
    keyword === 'required' ? required.length > 0 : isKept(keyword)
  )
  return { ...Object.fromEntries(kept), ...(required.length > 0 && { required }) }
}

export function requiredOf(schema: JsonSchema): readonly string[] {
  return (schema['required'] ?? []) as readonly string[]
}

function describe(schema: JsonSchema, keyword: string): string {
  if (keyword === 'type') return schema['type'] ? `${String(schema['type'])}s` : 'anything'
  return schema[keyword] === undefined
    ? `one without ${keyword}`
    : `one with ${keyword} ${JSON.stringify(schema[keyword])}`
}

export function isEmpty(schema: JsonSchema): boolean {
  return Object.keys(schema).length === 0
}
