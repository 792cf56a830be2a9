/** Validates custom objects by the schema of their definition, with the API server's messages. */
import { BoundedMap } from '../../async/bounded_map.ts'
import { jsonEqual, sortedJson } from '../../core/equal.ts'
import { type ApiObject, isObject, type Json, type JsonObject, type Meta, put } from '../model/json.ts'
import type { Schema } from '../model/schema.ts'
import { type Cause, counted, fault } from '../model/status.ts'
import { metaFaults, nameProblems } from '../model/names.ts'
import { celEngine, hasRules } from '../cel/load.ts'
import { degreeOf, isPlainPattern, isQuick } from '../cel/patterns.ts'
import type { RuleSchema } from '../cel/schema.ts'
import type { RuleResult, Validator } from '../cel/validator.ts'
import { breaksFormat } from './formats.ts'
import { type Check, checked, type Checks, must } from '../model/checks.ts'

/**
 * Returns the faults of a custom object, without its metadata. A value that equals its old value is not checked, so a
 * stricter schema does not block updates of existing objects: `warn` gets the rules that it breaks.
 */
export function customFaults(
  { schema: whole, mayHaveRules }: { readonly schema: Schema; readonly mayHaveRules: boolean },
  object: ApiObject,
  old: ApiObject | undefined,
  metadataFaults: readonly Cause[],
  warn: (text: string) => void,
): readonly Cause[] {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = object
  const schema = withoutIdentity(whole)
  const faults = validateValue(schema, rest, '', old as JsonObject | undefined)
  addFormFaults(schema, rest, '', faults)
  if (!mayHaveRules || !hasRules(whole)) return faults
  if ([...metadataFaults, ...faults].some(({ reason }) => BLOCKING.has(reason))) return [...faults, NOT_CHECKED]
  const { causes, warnings } = ruleResult(whole, object, old)
  warnings.forEach(warn)
  return [...faults, ...causes]
}

/** Faults that make the structure of an object unreliable for rules. */
const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const NOT_CHECKED: Cause = fault.invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete ' +
    'validation',
)

const validators = new WeakMap<Schema, Validator>()

function ruleResult(schema: Schema, object: ApiObject, old: ApiObject | undefined): RuleResult {
  const engine = celEngine()
  let validator = validators.get(schema)
  if (!validator) {
    validator = engine.validatorOf(schema as RuleSchema)
    if (!validator) return { causes: [], warnings: [] }
    validators.set(schema, validator)
  }
  return engine.validate(validator, object, old)
}

/** Drops apiVersion, kind and metadata from the required fields of the root: other code checks them. */
function withoutIdentity(schema: Schema): Schema {
  const { required } = schema
  return required
    ? {
      ...schema,
      required: required.filter((name) => name !== 'apiVersion' && name !== 'kind' && name !== 'metadata'),
    }
    : schema
}

/** Returns the faults of a value. Values that equal `old` are not checked. */
export function validateValue(schema: Schema, value: Json, path: string, old?: Json): Cause[] {
  const faults: Cause[] = []
  addFaults(schema, value, path, old, faults)
  return faults
}

/** Adds to one list: a list for each value takes most of the time of an object with many. */
function addFaults(schema: Schema, value: Json, path: string, old: Json | undefined, faults: Cause[]): void {
  if (old !== undefined && path !== '' && jsonEqual(value, old)) return
  if (value === null) {
    if (!schema.nullable) addTypeFaults(schema, value, path, faults)
    return
  }
  const isTyped = addTypeFaults(schema, value, path, faults)
  addEnumFault(schema, value, path, faults)
  if (!isTyped) return
  addKeywordFaults(schema, value, path, faults)
  addCombinationFaults(schema, value, path, faults)
  addChildFaults(schema, value, path, old, faults)
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number'
    ? (Number.isInteger(value) && Math.abs(value) <= 2 ** 63 ? 'integer' : 'number')
    : typeof value
}

/** Returns whether the value has the type of the schema. */
function addTypeFaults(schema: Schema, value: Json, path: string, faults: Cause[]): boolean {
  const type = typeOf(value)
  const either = schema['x-kubernetes-int-or-string']
  const wanted = either ? 'integer,string' : schema.type
  if (wanted === undefined || wanted === type || (wanted === 'number' && type === 'integer')) return true
  if (either && (type === 'integer' || type === 'string')) return true
  faults.push(fault.typeInvalid(path, type, `${path} in body must be of type ${wanted}: ${JSON.stringify(type)}`))
  if (wanted === 'integer' && type === 'number') {
    const format = schema.format ?? 'default'
    faults.push(fault.invalid('<nil>', '', `Checked value must be of type integer (${format} format) in ${path}`))
  }
  return false
}

function addEnumFault(schema: Schema, value: Json, path: string, faults: Cause[]): void {
  if (!schema.enum || schema.enum.some((allowed) => jsonEqual(allowed, value))) return
  const supported = schema.enum.map((allowed) => typeof allowed === 'string' ? allowed : JSON.stringify(allowed))
  faults.push(fault.notSupported(path, value, supported))
}

function addKeywordFaults(schema: Schema, value: Json, path: string, faults: Cause[]): void {
  const invalid = (detail: string): void => {
    faults.push(fault.invalid(path, value, `${path} in body ${detail}`))
  }
  if (typeof value === 'number') numberFaults(schema, value, invalid)
  else if (typeof value === 'string') addStringFaults(schema, value, path, invalid, faults)
  else if (Array.isArray(value)) {
    const { minItems, maxItems } = schema as { minItems?: number; maxItems?: number }
    if (minItems !== undefined && value.length < minItems) invalid(`should have at least ${minItems} items`)
    if (maxItems !== undefined && value.length > maxItems) faults.push(fault.tooMany(path, value.length, maxItems))
  } else if (isObject(value)) {
    const { minProperties, maxProperties } = schema as { minProperties?: number; maxProperties?: number }
    const count = Object.keys(value).length
    if (minProperties !== undefined && count < minProperties) {
      invalid(`should have at least ${minProperties} properties`)
    }
    if (maxProperties !== undefined && count > maxProperties) faults.push(fault.tooMany(path, count, maxProperties))
  }
}

const MAX_FLOAT = 2 ** 128 - 2 ** 104
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  float: [-MAX_FLOAT, MAX_FLOAT],
}

function numberFaults(schema: Schema, value: number, invalid: (detail: string) => void): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as {
    minimum?: number
    maximum?: number
    exclusiveMinimum?: boolean
    exclusiveMaximum?: boolean
    multipleOf?: number
  }
  // The real server compares a whole number with the whole part of a limit, and divides it by the whole part of a
  // divisor.
  const [least, most, divisor] = [minimum, maximum, multipleOf].map((limit) =>
    limit !== undefined && Number.isInteger(value) ? Math.trunc(limit) : limit
  )
  // Beside no type, a format is no limit.
  const [smallest, largest] = (schema.type && RANGES[schema.format ?? '']) || [-Infinity, Infinity]
  if (value < smallest || value > largest) invalid(`must be of type ${schema.format}`)
  if (most !== undefined && (exclusiveMaximum ? value >= most : value > most)) {
    invalid(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${most}`)
  }
  if (least !== undefined && (exclusiveMinimum ? value <= least : value < least)) {
    invalid(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${least}`)
  }
  if (divisor !== undefined && !Number.isInteger(value / divisor)) invalid(`should be a multiple of ${divisor}`)
}

function addStringFaults(
  schema: Schema,
  value: string,
  path: string,
  invalid: (detail: string) => void,
  faults: Cause[],
): void {
  const { minLength, maxLength, pattern } = schema as { minLength?: number; maxLength?: number; pattern?: string }
  // In code points.
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  // Only the first failure of these is reported.
  if (maxLength !== undefined && length > maxLength) return void faults.push(fault.tooLong(path, maxLength))
  if (minLength !== undefined && length < minLength) invalid(`should be at least ${minLength} chars long`)
  else if (pattern !== undefined && !matchesPattern(pattern, value)) invalid(`should match '${pattern}'`)
  const { format } = schema
  if (format === undefined || !breaksFormat(format, value)) return
  faults.push(fault.typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`))
}

/** Patterns that JavaScript knows, with their degrees. */
const compiled = new BoundedMap<string, { readonly regex: RegExp; readonly degree: number } | undefined>(1000)

/** Tests a pattern of RE2: by JavaScript, where it knows the syntax and needs no more than some milliseconds. */
function matchesPattern(pattern: string, value: string): boolean {
  if (!compiled.has(pattern)) {
    const plain = isPlainPattern(pattern) ? { regex: new RegExp(pattern, 'u'), degree: degreeOf(pattern) } : undefined
    compiled.set(pattern, plain)
  }
  const plain = compiled.get(pattern)
  return plain && isQuick(plain.degree, value.length) ? plain.regex.test(value) : celEngine().matches(value, pattern)
}

function addCombinationFaults(schema: Schema, value: Json, path: string, faults: Cause[]): void {
  const { allOf, anyOf, oneOf, not } = schema as { allOf?: Schema[]; anyOf?: Schema[]; oneOf?: Schema[]; not?: Schema }
  const invalid = (detail: string): void => {
    faults.push(fault.invalid('<nil>', '', `${JSON.stringify(path)} ${detail}`))
  }
  const holds = (branch: Schema): boolean => holdsFor(branch, value)
  if (allOf) {
    const broken = allOf.filter((branch) => !holds(branch))
    if (broken.length > 0) invalid('must validate all the schemas (allOf)')
    for (const branch of broken) addFaults(branch, value, path, undefined, faults)
  }
  if (anyOf && !anyOf.some(holds)) {
    invalid('must validate at least one schema (anyOf)')
    addFaults(anyOf[0]!, value, path, undefined, faults)
  }
  if (oneOf) {
    const count = oneOf.filter(holds).length
    if (count !== 1) {
      invalid(
        `must validate one and only one schema (oneOf). Found ${
          count === 0 ? 'none valid' : `${count} valid alternatives`
        }`,
      )
    }
    if (count === 0) addFaults(oneOf[0]!, value, path, undefined, faults)
  }
  if (not && holds(not)) invalid('must not validate the schema (not)')
}

/** Tests a value by one of several schemas. The faults of the others are not those of the object. */
function holdsFor(schema: Schema, value: Json): boolean {
  const { faults } = counted
  counted.faults = undefined
  try {
    return validateValue(schema, value, '').length === 0
  } finally {
    counted.faults = faults
  }
}

function addChildFaults(schema: Schema, value: Json, path: string, old: Json | undefined, faults: Cause[]): void {
  if (Array.isArray(value)) {
    const { items } = schema
    if (!items) return
    const before = itemsByKeys(schema, old)
    for (const [index, item] of value.entries()) {
      addFaults(items, item, `${path}[${index}]`, before?.get(JSON.stringify(keysOf(schema, item))), faults)
    }
    return
  }
  if (!isObject(value)) return
  const { properties = {}, required = [], additionalProperties } = schema
  const child = (name: string): string => (path ? `${path}.${name}` : name)
  for (const name of required) {
    if (!Object.hasOwn(value, name) || value[name] === undefined) faults.push(fault.required(child(name)))
  }
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue
    const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined
    const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (isObject(inner as Json)) addFaults(inner as Schema, item, child(name), before, faults)
  }
}

/** Returns the old items of a list with keys; those of other lists have no identity. */
function itemsByKeys(schema: Schema, old: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return undefined
  return new Map(old.map((item) => [JSON.stringify(keysOf(schema, item)), item]))
}

/** Adds the faults of repeated items of lists that are sets or maps, and of the identity of embedded objects. */
function addFormFaults(schema: Schema, value: Json, path: string, faults: Cause[]): void {
  if (Array.isArray(value)) {
    addRepeatedItems(schema, value, path, faults)
    const { items } = schema
    if (items) { for (const [index, item] of value.entries()) addFormFaults(items, item, `${path}[${index}]`, faults) }
  }
  if (!isObject(value)) return
  if (schema['x-kubernetes-embedded-resource']) {
    faults.push(...checked(value, IDENTITY, path), ...metadataFaults(value, path))
  }
  const { properties = {}, additionalProperties } = schema
  for (const [name, child] of Object.entries(value)) {
    const isField = Object.hasOwn(properties, name)
    const inner = isField ? properties[name] : additionalProperties
    if (isObject(inner as Json) && child !== undefined) {
      addFormFaults(inner as Schema, child, isField ? path ? `${path}.${name}` : name : `${path}[${name}]`, faults)
    }
  }
}

function addRepeatedItems(schema: Schema, list: readonly Json[], path: string, faults: Cause[]): void {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'set' && type !== 'map') return
  const seen = new Set<string>()
  for (const [index, item] of list.entries()) {
    if (type === 'map' && !isObject(item)) {
      faults.push(fault.invalid(`${path}[${index}]`, item, 'must be an object for an array of list-type map'))
      break
    }
    const named = type === 'set' ? item : keysOf(schema, item)
    const id = sortedJson(named)
    if (seen.has(id)) faults.push(fault.duplicate(`${path}[${index}]`, named))
    seen.add(id)
  }
}

function keysOf(schema: Schema, item: Json): Json {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (!isObject(item)) return item
  const named: JsonObject = {}
  for (const key of keys) if (item[key] !== undefined) put(named, key, item[key])
  return named
}

const stated: Check = (value, path) => (value === undefined ? [fault.required(path)] : [])
const isGroupVersion = (text: Json): boolean => typeof text !== 'string' || (text !== '' && text.split('/').length <= 2)
const isKindName = (text: Json): boolean =>
  typeof text !== 'string' || nameProblems(text.toLowerCase(), 'label1035').length === 0

/** Returns the faults of an embedded object's metadata, whose names may be absent. */
function metadataFaults({ metadata }: JsonObject, path: string): Cause[] {
  if (!isObject(metadata)) return []
  const named = { ...metadata, name: metadata['name'] || 'a' } as unknown as Meta
  return metaFaults(named, 'path', named.namespace !== undefined)
    .map((cause) => ({ ...cause, field: `${path}.${cause.field}` }))
}

/** The checks of the identity of embedded objects. */
const IDENTITY: Checks = [
  ['apiVersion', stated, must(isGroupVersion, 'must be VERSION or GROUP/VERSION')],
  ['kind', stated, must(isKindName, 'may have mixed case, but must otherwise be a name')],
]
