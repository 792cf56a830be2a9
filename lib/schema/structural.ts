/**
 * Translates a zod schema to a structural OpenAPI v3 schema that accepts the same values.
 *
 * What a CRD cannot express (transforms, coercions, refinements without CEL) is refused with its path. Two differences
 * come from Kubernetes: unknown fields are pruned, never refused, and lengths count code points.
 */
import { jsonEqual } from '../core/equal.ts'
import { annotate, RULES } from './extensions.ts'
import { checksOf, definitionOf, metaOf } from './zod_tree.ts'
import { below, refuse } from './refusal.ts'
import { merge } from './merge.ts'
import { checkFit, defaultOf, withDefault } from './stated_values.ts'
import { conjunction, lengthLimits, numberSchema, patternSchema, stringSchema } from './scalars.ts'
import { type RuleScope, taggedUnion } from './tagged_union.ts'
import { intOrString, nullable, valuesSchema } from './values.ts'
import type { $ZodRecordDef, $ZodType, JSONSchemaMeta } from 'zod/v4/core'
import type { JsonSchema } from '../core/resource.ts'
import type { Check, Definition } from './zod_tree.ts'
import type { Place } from './refusal.ts'

export interface Refinements {
  /** Set if there is one. */
  found: boolean
}

/**
 * Returns the structural schema of a zod schema. Throws a TypeError with the path of what a CRD cannot express. Without
 * `refinements`, a refinement without CEL is refused too.
 */
export function structuralSchema(schema: $ZodType, place: Place, refinements?: Refinements): JsonSchema {
  const budget = { left: MAX_RULES_COST }
  return translate(schema, { place, open: [], ruled: false, count: 1, budget, refinements })
}

interface Step extends RuleScope {
  readonly place: Place
  /** The enclosing schemas, to detect recursion. */
  readonly open: readonly $ZodType[]
  /** Whether a wrapper around this schema has CEL rules, which replace its refinements too. */
  readonly ruled: boolean
  /** Undefined if refinements are refused. */
  readonly refinements: Refinements | undefined
}

/** The budget of a spec or a status. A server allows 100 million for a definition; the rest is left to users' rules. */
const MAX_RULES_COST = 30_000_000

/** Deeper than any schema that a server accepts. Ends a getter that makes new schemas forever. */
const MAX_DEPTH = 64

function translate(schema: $ZodType, step: Step): JsonSchema {
  const { place, open } = step
  if (open.includes(schema) || open.length > MAX_DEPTH) {
    return refuse(place, 'recursive', 'limit its depth, or use z.unknown() for what may be nested')
  }
  const meta = metaOf(schema)
  if (!meta) {
    throw new TypeError(`Cannot define resource "${place.kind}": ${place.path} is not a schema of zod 4.1.13 or later`)
  }
  const checks = checksOf(schema)
  const stated = [
    meta as JsonSchema,
    ...checks.flatMap(({ keywords }): readonly JsonSchema[] => keywords ? [keywords] : []),
  ]
  const ruled = step.ruled || stated.some((keywords) => Array.isArray(keywords[RULES]))
  const def = definitionOf(schema)
  // z.custom() is its own check, and is refused below as a type.
  refuseChecks(def.type === 'custom' ? [] : checks, ruled, step)
  const type = translateType(schema, def, { ...step, open: [...open, schema], ruled }, meta)
  const result = stated.reduce<JsonSchema>((before, keywords) => annotate(before, keywords, place), type)
  for (const check of checks) check.verify?.(result, (what, advice) => refuse(place, what, advice))
  if (result['example'] !== type['example']) checkFit('example', schema, result['example'], place)
  return result
}

/** Returns the schema without the annotations of `.describe()` and `.meta()`. */
function translateType(schema: $ZodType, def: Definition, step: Step, meta: JSONSchemaMeta): JsonSchema {
  const { place } = step
  if ('coerce' in def && def.coerce) {
    return refuse(place, 'coerced', 'the server stores what it was given; take the type as it is sent')
  }
  switch (def.type) {
    case 'string':
      return stringSchema(checksOf(schema), place)
    case 'number':
      return numberSchema(checksOf(schema), place)
    case 'boolean':
      return { type: 'boolean' }
    case 'enum':
    case 'literal':
      return valuesSchema(schema._zod.values ?? [], place)
    case 'template_literal':
      return { type: 'string', ...patternSchema(schema._zod.pattern!, place) }
    case 'any':
    case 'unknown':
      return ANYTHING
    case 'object':
      return objectSchema(def, step)
    case 'array':
      return arraySchema(def.element, checksOf(schema).flatMap((check) => lengthLimits(check, 'Items', place)), step)
    case 'record':
      return recordSchema(def, step)
    case 'union':
      return unionSchema(def, step)
    case 'intersection':
      return intersectionSchema([def.left, def.right], step)
    case 'nullable':
      return nullable(translate(def.innerType, step))
    case 'optional':
    case 'nonoptional':
    case 'readonly':
      return translate(def.innerType, step)
    case 'default':
    case 'prefault':
      return withDefault(translate(def.innerType, step), defaultOf(def, place), place)
    case 'lazy':
      return translate(def.getter(), step)
    case 'custom':
      // z.custom<T>() does not describe its values; with this extension they need no description.
      return meta['x-kubernetes-preserve-unknown-fields'] === true ? ANYTHING : refuse(
        place,
        'checked by a function',
        "add .meta({ 'x-kubernetes-preserve-unknown-fields': true }) to leave it unchecked",
      )
    default: {
      const [what, advice] = REFUSED[def.type] ?? [`z.${def.type}()`, 'JSON has no such values']
      return refuse(place, what, advice)
    }
  }
}

/** What a CRD cannot express, by type, with advice. */
const REFUSED: Readonly<Record<string, readonly [what: string, advice: string]>> = {
  date: ['a Date', 'use z.iso.datetime(): instants are strings on the wire'],
  bigint: ['a bigint', 'use z.int(), or a string'],
  pipe: ['a transform', 'parse where it is used'],
  transform: ['a transform', 'parse where it is used'],
  catch: ['a catch', 'use a default: the server refuses what is invalid'],
  tuple: ['a tuple', 'use an object, or an array of one type'],
  null: ['nothing but null', 'use .nullable() on a type'],
}

/** Without `nullable`, the server would drop null. */
const ANYTHING: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true }

function inside(step: Step, name: string): Step {
  return { ...step, place: below(step.place, name), ruled: false, ...(name === '{}' && { count: Infinity }) }
}

function outside(step: Step): Step {
  return { ...step, ruled: false }
}

const REFUSED_CHECKS: readonly (readonly [check: RegExp, what: string, advice: string])[] = [
  [/^overwrite$/, 'changed when it is read (as by trim or toLowerCase)', 'change it where it is used'],
  [/^propert(?:y|ies)$/, 'checked for a property', 'state the property in z.object()'],
  [/^size_|_size$/, 'limited in size', 'limit it in CEL with size(self)'],
]

/** Throws for checks by a function, unless CEL rules replace them, or admission checks them. */
function refuseChecks(checks: readonly Check[], ruled: boolean, { place, refinements }: Step): void {
  for (const { check } of checks) {
    if (check === 'custom' && !ruled) {
      if (!refinements) {
        const rule = 'add a CEL rule for it, .check(cel(rule, message)) of kubeloop/schema'
        refuse(place, 'a refinement', `${rule}, or define the kind with refinements: 'admission' and check it there`)
      }
      refinements.found = true
    }
    for (const [name, what, advice] of REFUSED_CHECKS) if (name.test(check)) refuse(place, what, advice)
  }
}

function arraySchema(element: $ZodType, limits: readonly JsonSchema[], step: Step): JsonSchema {
  const { maxItems = Infinity } = conjunction({}, limits) as { readonly maxItems?: number }
  return conjunction({
    type: 'array',
    items: translate(element, { ...inside(step, '[]'), count: step.count * maxItems }),
  }, limits)
}

function objectSchema(def: Extract<Definition, { type: 'object' }>, step: Step): JsonSchema {
  const fields = Object.entries(def.shape)
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, translate(field, inside(step, name))]))
  const required = fields.filter(([, field]) => isRequired(field)).map(([name]) => name)
  const others = def.catchall && definitionOf(def.catchall).type
  if (def.catchall && others !== 'never' && others !== 'unknown' && others !== 'any') {
    if (fields.length > 0) {
      const what = 'an object with typed fields and a typed catchall'
      refuse(step.place, what, 'put the other fields into a record of their own')
    }
    return { type: 'object', additionalProperties: translate(def.catchall, inside(step, '{}')) }
  }
  return {
    type: 'object',
    ...(fields.length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...((others === 'unknown' || others === 'any') && { 'x-kubernetes-preserve-unknown-fields': true }),
  }
}

export function isRequired(field: $ZodType): boolean {
  return field._zod.optin === undefined
}

function recordSchema(def: $ZodRecordDef, step: Step): JsonSchema {
  const { place } = step
  const keyType: $ZodType = def.keyType
  const { type } = definitionOf(keyType)
  const { partial, mode } = def as { readonly partial?: boolean; readonly mode?: string }
  const names = namesOf(keyType)
  if (type !== 'string' && !names) return refuse(place, `a record with keys of type ${type}`, 'keys are strings')
  // No keyword is about names of fields, and whether a CEL rule states the same is unknown.
  if (isConditional(keyType) || mode === 'loose') {
    refuse(
      place,
      'a record whose keys are checked',
      "use z.string() for the keys, and check them on the record: .refine(…).check(cel('self.all(key, …)', message)) of kubeloop/schema",
    )
  }
  if (names) {
    const properties = Object.fromEntries(names.map((key) => [key, translate(def.valueType, inside(step, key))]))
    return { type: 'object', properties, ...(!partial && isRequired(def.valueType) && { required: names }) }
  }
  return { type: 'object', additionalProperties: translate(def.valueType, inside(step, '{}')) }
}

/** Returns the keys of a record of enums and literals. Undefined for other types. */
function namesOf(keyType: $ZodType): readonly string[] | undefined {
  const def = definitionOf(keyType)
  const isListed = def.type === 'enum' || def.type === 'literal' || (def.type === 'union' && def.options.every(namesOf))
  return isListed ? [...keyType._zod.values ?? []].map(String) : undefined
}

/** Tests whether a schema of keys has checks, or rules, which are not translated. */
function isConditional(keyType: $ZodType): boolean {
  const def = definitionOf(keyType)
  return checksOf(keyType).length > 0 || metaOf(keyType)?.[RULES] !== undefined ||
    (def.type === 'union' && def.options.some(isConditional))
}

function unionSchema(def: Extract<Definition, { type: 'union' }>, step: Step): JsonSchema {
  const { place } = step
  if (def.inclusive === false && !('discriminator' in def)) {
    refuse(place, 'an exclusive union', 'use z.discriminatedUnion() or z.union()')
  }
  const all = def.options.flatMap(alternativesOf)
  const types = all.map((option) => definitionOf(option).type)
  const options = all.filter((_, i) => types[i] !== 'null' && types[i] !== 'undefined')
  if (options.length === 0) refuse(place, 'nothing but null')
  const isOne = options.length === 1
  const schemas = options.map((option) => translate(option, isOne ? outside(step) : unruled(step)))
  if (schemas.some((schema) => jsonEqual(schema, ANYTHING))) return ANYTHING
  const present = schemas.map(({ nullable: _, ...schema }) => schema)
  const merged = isOne ? present[0]! : taggedUnion(present, step, place) ?? mergeAlternatives(present, place)
  return types.includes('null') || schemas.some((schema) => schema['nullable']) ? nullable(merged) : merged
}

/** Returns the alternatives of a discriminated union that is an alternative itself, without metadata and checks. */
function alternativesOf(option: $ZodType): readonly $ZodType[] {
  const def = definitionOf(option)
  const isPlain = Object.keys(metaOf(option) ?? {}).length === 0 && checksOf(option).length === 0
  return def.type === 'union' && 'discriminator' in def && isPlain ? def.options.flatMap(alternativesOf) : [option]
}

/** The step for a schema that becomes one of several conditions, where rules are not allowed. */
function unruled(step: Step): Step {
  return { ...outside(step), budget: undefined }
}

function mergeAlternatives(schemas: readonly JsonSchema[], place: Place): JsonSchema {
  const [first] = schemas
  const onlyValues = schemas.every((schema) => schema['enum'] && Object.keys(schema).length === 2 && schema['type'])
  if (onlyValues && schemas.every((schema) => schema['type'] === first!['type'])) {
    return valuesSchema(new Set(schemas.flatMap((schema) => schema['enum'] as readonly unknown[])), place)
  }
  return intOrString(schemas, place) ?? merge(schemas, 'anyOf', place)
}

function intersectionSchema(sides: readonly $ZodType[], step: Step): JsonSchema {
  const { place } = step
  const [left, right] = sides.map((side) => translate(side, outside(step))) as [JsonSchema, JsonSchema]
  const [a, b] = [left, right].map((schema) => schema['properties'] as Readonly<Record<string, JsonSchema>> | undefined)
  const plain = [left, right].every((schema) => Object.keys(schema).every((keyword) => PLAIN.has(keyword)))
  if (!a || !b || !plain || Object.keys(a).some((name) => Object.hasOwn(b, name))) {
    return merge(step.budget ? sides.map((side) => translate(side, unruled(step))) : [left, right], 'allOf', place)
  }
  const lists = ['required', RULES].flatMap((keyword) => {
    const both = [left, right].flatMap((schema) => (schema[keyword] ?? []) as readonly unknown[])
    return both.length > 0 ? [[keyword, both] as const] : []
  })
  return { ...left, ...right, properties: { ...a, ...b }, ...Object.fromEntries(lists) }
}

/** Objects with only these keywords, and with different fields, are merged by field. */
const PLAIN: ReadonlySet<string> = new Set(['type', 'properties', 'required', RULES])
