/** Validates custom objects by the schema of their definition, with the API server's messages. */
import { BoundedMap } from '../../async/bounded_map.ts'
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Schema } from '../model/schema.ts'
import { type Cause, fault } from '../model/status.ts'
import { isSubdomain, nameProblems } from '../model/names.ts'
import { celEngine, hasRules } from '../cel/load.ts'
import { degreeOf, isPlainPattern, isQuick } from '../cel/patterns.ts'
import type { RuleSchema } from '../cel/schema.ts'
import type { RuleResult, Validator } from '../cel/validator.ts'

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
  const faults = [
    ...validateValue(schema, rest, '', old as JsonObject | undefined),
    ...embeddedFaults(schema, rest, ''),
    ...listFaults(schema, rest, ''),
  ]
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
  if (old !== undefined && path !== '' && jsonEqual(value, old)) return []
  if (value === null) return schema.nullable ? [] : typeFaults(schema, value, path)
  const wrongType = typeFaults(schema, value, path)
  if (wrongType.length > 0) return [...wrongType, ...enumFaults(schema, value, path)]
  return [
    ...enumFaults(schema, value, path),
    ...keywordFaults(schema, value, path),
    ...combinationFaults(schema, value, path),
    ...childFaults(schema, value, path, old),
  ]
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number'
    ? (Number.isInteger(value) && Math.abs(value) <= 2 ** 63 ? 'integer' : 'number')
    : typeof value
}

function typeFaults(schema: Schema, value: Json, path: string): Cause[] {
  const type = typeOf(value)
  if (schema['x-kubernetes-int-or-string']) {
    if (type === 'integer' || type === 'string') return []
    return [fault.typeInvalid(path, type, `${path} in body must be of type integer,string: ${JSON.stringify(type)}`)]
  }
  if (schema.type === undefined || schema.type === type || (schema.type === 'number' && type === 'integer')) return []
  const faults = [
    fault.typeInvalid(path, type, `${path} in body must be of type ${schema.type}: ${JSON.stringify(type)}`),
  ]
  if (schema.type === 'integer' && type === 'number') {
    const format = schema.format ?? 'default'
    faults.push(fault.invalid('<nil>', '', `Checked value must be of type integer (${format} format) in ${path}`))
  }
  return faults
}

function enumFaults(schema: Schema, value: Json, path: string): Cause[] {
  if (!schema.enum || schema.enum.some((allowed) => jsonEqual(allowed, value))) return []
  const supported = schema.enum.map((allowed) => typeof allowed === 'string' ? allowed : JSON.stringify(allowed))
  return [fault.notSupported(path, value, supported)]
}

function keywordFaults(schema: Schema, value: Json, path: string): Cause[] {
  const faults: Cause[] = []
  const invalid = (detail: string): void => {
    faults.push(fault.invalid(path, value, `${path} in body ${detail}`))
  }
  if (typeof value === 'number') numberFaults(schema, value, invalid)
  else if (typeof value === 'string') faults.push(...stringFaults(schema, value, path, invalid))
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
  return faults
}

function numberFaults(schema: Schema, value: number, invalid: (detail: string) => void): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as {
    minimum?: number
    maximum?: number
    exclusiveMinimum?: boolean
    exclusiveMaximum?: boolean
    multipleOf?: number
  }
  if (schema.format === 'int32' && (value < -(2 ** 31) || value > 2 ** 31 - 1)) invalid('must be of type int32')
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    invalid(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`)
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    invalid(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`)
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    invalid(`should be a multiple of ${multipleOf}`)
  }
}

function stringFaults(schema: Schema, value: string, path: string, invalid: (detail: string) => void): Cause[] {
  const { minLength, maxLength, pattern } = schema as { minLength?: number; maxLength?: number; pattern?: string }
  const length = [...value].length
  // Only the first failure of these is reported.
  if (maxLength !== undefined && length > maxLength) return [fault.tooLong(path, maxLength)]
  if (minLength !== undefined && length < minLength) invalid(`should be at least ${minLength} chars long`)
  else if (pattern !== undefined && !matchesPattern(pattern, value)) invalid(`should match '${pattern}'`)
  if (schema.format === undefined || !breaksFormat(schema.format, value)) return []
  return [fault.typeInvalid(path, value, `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`)]
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

function combinationFaults(schema: Schema, value: Json, path: string): Cause[] {
  const { allOf, anyOf, oneOf, not } = schema as { allOf?: Schema[]; anyOf?: Schema[]; oneOf?: Schema[]; not?: Schema }
  const faults: Cause[] = []
  const invalid = (detail: string): void => {
    faults.push(fault.invalid('<nil>', '', `${JSON.stringify(path)} ${detail}`))
  }
  const holds = (branch: Schema): boolean => validateValue(branch, value, path).length === 0
  if (allOf) {
    const broken = allOf.flatMap((branch) => validateValue(branch, value, path))
    if (broken.length > 0) {
      invalid('must validate all the schemas (allOf)')
      faults.push(...broken)
    }
  }
  if (anyOf && !anyOf.some(holds)) {
    invalid('must validate at least one schema (anyOf)')
    faults.push(...validateValue(anyOf[0]!, value, path))
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
    if (count === 0) faults.push(...validateValue(oneOf[0]!, value, path))
  }
  if (not && holds(not)) invalid('must not validate the schema (not)')
  return faults
}

function childFaults(schema: Schema, value: Json, path: string, old: Json | undefined): Cause[] {
  if (Array.isArray(value)) {
    const before = itemsByKeys(schema, old)
    return schema.items
      ? value.flatMap((item, index) =>
        validateValue(schema.items!, item, `${path}[${index}]`, before?.get(JSON.stringify(keysOf(schema, item))))
      )
      : []
  }
  if (!isObject(value)) return []
  const { properties = {}, required = [], additionalProperties } = schema
  const child = (name: string): string => (path ? `${path}.${name}` : name)
  const faults: Cause[] = []
  for (const name of required) if (value[name] === undefined) faults.push(fault.required(child(name)))
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue
    const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined
    if (Object.hasOwn(properties, name)) faults.push(...validateValue(properties[name]!, item, child(name), before))
    else if (isObject(additionalProperties as Json)) {
      faults.push(
        ...validateValue(additionalProperties as Schema, item, child(name), before),
      )
    }
  }
  return faults
}

/** Returns the old items of a list with keys; those of other lists have no identity. */
function itemsByKeys(schema: Schema, old: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return undefined
  return new Map(old.map((item) => [JSON.stringify(keysOf(schema, item)), item]))
}

/** Returns a fault for each repeated item of lists that are sets or maps. */
function listFaults(schema: Schema, value: Json, path: string): Cause[] {
  if (Array.isArray(value)) {
    return [
      ...repeatedItemFaults(schema, value, path),
      ...value.flatMap((item, i) => (schema.items ? listFaults(schema.items, item, `${path}[${i}]`) : [])),
    ]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const property = schema.properties?.[name] ?? (isObject(
        schema.additionalProperties as Json,
      )
      ? schema.additionalProperties as Schema
      : undefined)
    return property && child !== undefined ? listFaults(property, child, path ? `${path}.${name}` : name) : []
  })
}

function repeatedItemFaults(schema: Schema, list: readonly Json[], path: string): Cause[] {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'set' && type !== 'map') return []
  const seen = new Set<string>()
  const faults: Cause[] = []
  for (const [index, item] of list.entries()) {
    if (type === 'map' && !isObject(item)) {
      faults.push(fault.invalid(`${path}[${index}]`, item, 'must be an object for an array of list-type map'))
      break
    }
    const named = type === 'set' ? item : keysOf(schema, item)
    const id = JSON.stringify(named, inOrder)
    if (seen.has(id)) faults.push(fault.duplicate(`${path}[${index}]`, named))
    seen.add(id)
  }
  return faults
}

/** Sorts the fields of objects for JSON: equal objects of a set may have them in different orders. */
function inOrder(_: string, value: Json): Json {
  return isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value
}

function keysOf(schema: Schema, item: Json): Json {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return isObject(item)
    ? Object.fromEntries(keys.filter((key) => item[key] !== undefined).map((key) => [key, item[key]!]))
    : item
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})?$/
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/
const HOSTNAME =
  /^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]))*\.?$/
const DURATION =
  /^[+-]?(\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|m|h|d|w|nanoseconds?|seconds?|minutes?|hours?|days?|weeks?)/

const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  duration: (text) => DURATION.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.test(text),
  uuid4: (text) => UUID.test(text),
  uuid5: (text) => UUID.test(text),
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  email: (text) => /^[^@\s<>]+@[^@\s<>]+$/.test(text),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: (text) => IPV4.test(text),
  ipv6: (text) => isIpv6(text),
  cidr: (text) => /^([^/]+)\/(\d{1,3})$/.test(text) && (IPV4.test(text.split('/')[0]!) || isIpv6(text.split('/')[0]!)),
  mac: (text) => /^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/.test(text),
  uri: (text) => URL.canParse(text),
  'k8s-short-name': (text) => text.length <= 63 && !text.includes('.') && isSubdomain(text),
  'k8s-long-name': (text) => isSubdomain(text),
}

/** Returns whether a text violates a format. Unknown formats are ignored, as on the real server. */
function breaksFormat(format: string, text: string): boolean {
  const check = Object.hasOwn(CHECKS, format) ? CHECKS[format] : undefined
  return check !== undefined && !check(text)
}

function isIpv6(text: string): boolean {
  return text.includes(':') && !text.includes('%') && URL.canParse(`http://[${text}]`)
}

const KIND_PREFIX = 'may have mixed case, but should otherwise match: '

/** Returns the faults of the embedded objects in a value: of their apiVersion and kind. Metadata is not checked. */
function embeddedFaults(schema: Schema, value: Json, path: string): Cause[] {
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.flatMap((item, at) => embeddedFaults(items, item, `${path}[${at}]`)) : []
  }
  if (!isObject(value)) return []
  const { properties = {}, additionalProperties } = schema
  const own = schema['x-kubernetes-embedded-resource'] ? identityFaults(value, path) : []
  const below = Object.entries(value).flatMap(([name, child]) => {
    const isNamed = Object.hasOwn(properties, name)
    const inner = isNamed ? properties[name] : isObject(additionalProperties as Json) ? additionalProperties : undefined
    const at = isNamed ? (path ? `${path}.${name}` : name) : `${path}[${name}]`
    return inner && child !== undefined ? embeddedFaults(inner as Schema, child, at) : []
  })
  return [...own, ...below]
}

function identityFaults({ apiVersion, kind }: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  const invalid = (field: string, value: Json, detail: string): void =>
    void faults.push(fault.invalid(`${path}.${field}`, value, detail))
  if (apiVersion === undefined) faults.push(fault.required(`${path}.apiVersion`))
  else if (apiVersion === '') invalid('apiVersion', '', 'must not be empty')
  else if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    invalid('apiVersion', apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
  }
  if (kind === undefined) faults.push(fault.required(`${path}.kind`))
  else if (kind === '') invalid('kind', '', 'must not be empty')
  else if (typeof kind === 'string') {
    const problems = nameProblems(kind.toLowerCase(), 'label1035')
    if (problems.length > 0) invalid('kind', kind, KIND_PREFIX + problems.join(','))
  }
  return faults
}
