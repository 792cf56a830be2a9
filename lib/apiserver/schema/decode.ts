/** Decodes objects like Go decodes JSON into typed structs. */
import { isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { goTypeOf, jsonType } from '../model/go_text.ts'
import { isAlwaysWritten, isEmbeddedStruct, resolve, type Schema } from '../model/schema.ts'
import { canonicalQuantity, INVALID_QUANTITY, resourceAmount } from '../model/quantities.ts'

/** A decoded object, and the paths of its unknown fields, which are dropped. */
export interface Decoded {
  readonly object: JsonObject
  readonly unknown: readonly string[]
}

/** Thrown for a value of the wrong type, with Go's message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
  /** The message of a strategic merge patch, which the real server converts without JSON. */
  readonly converted: string

  constructor(message: string, converted: string = message) {
    super(message)
    this.converted = converted
  }
}

/** Where a value is: `path` for reports of unknown fields, `fields` and `struct` for Go's errors. */
interface Place {
  /** With indexes and keys of maps: `spec.ports[0].name`. */
  readonly path: string
  /** The fields of structs only: `spec.ports.name`. */
  readonly fields: string
  /** The Go name of the innermost struct. */
  readonly struct: string
}

/**
 * Decodes `value` by a built-in schema. Unknown fields are dropped and reported in the order of the document, below
 * `path`; nulls and empty values of optional fields are omitted; embedded structs are always present. `struct` is the
 * Go name of the type.
 */
export function decodeTyped(
  schema: Schema,
  value: JsonObject,
  path = '',
  struct: string = structName(schema),
): Decoded {
  const unknown: string[] = []
  const object = decodeStruct(schema, value, { path, fields: '', struct }, unknown)
  return { object, unknown }
}

/** Returns the zero value of a struct: the base that a create is compared with. Do not change it. */
export function zeroValue(schema: Schema): JsonObject {
  const target = resolve(schema)
  let result = zeros.get(target)
  if (!result) {
    result = {}
    for (const { name, property } of writtenFields(target)) {
      result[name] = isEmbeddedStruct(property) ? zeroValue(property) : zeroOf(property)
    }
    zeros.set(target, result)
  }
  return result
}

const zeros = new WeakMap<Schema, JsonObject>()

interface Field {
  readonly name: string
  readonly property: Schema
}

/** Returns the fields of a struct that Go always writes. */
function writtenFields(target: Schema): readonly Field[] {
  let result = written.get(target)
  if (!result) {
    const { properties = {}, required = [] } = target
    result = Object.entries(properties).map(([name, property]) => ({ name, property })).filter(({ name, property }) =>
      isEmbeddedStruct(property) || isAlwaysWritten(property) || (required.includes(name) && !property.omitZero)
    )
    written.set(target, result)
  }
  return result
}

const written = new WeakMap<Schema, readonly Field[]>()

function decodeStruct(schema: Schema, value: JsonObject, place: Place, unknown: string[]): JsonObject {
  const target = resolve(schema)
  const { properties = {}, required = [] } = target
  const result: JsonObject = {}
  const struct = structName(schema) || place.struct
  for (const [name, child] of Object.entries(value)) {
    const path = place.path ? `${place.path}.${name}` : name
    if (!Object.hasOwn(properties, name)) {
      unknown.push(path)
      continue
    }
    if (child === null || child === undefined) continue
    const property = properties[name]!
    // Go's errors name the structs that are inlined.
    const inlined = property.within?.map((each) => each.name) ?? []
    const fields = [place.fields, ...inlined, name].filter(Boolean).join('.')
    const decoded = decodeValue(property, child, { path, fields, struct: inlined.at(-1) ?? struct }, unknown)
    if (required.includes(name) || !isOmitted(property, decoded)) put(result, name, decoded)
  }
  for (const { name, property } of writtenFields(target)) {
    if (result[name] !== undefined) continue
    result[name] = isEmbeddedStruct(property) ? decodeStruct(property, {}, place, unknown) : zeroOf(property)
  }
  return result
}

/** Returns a struct without any value set, as Go writes it. */
export function emptyStruct(schema: Schema): JsonObject {
  return decodeTyped(schema, {}).object
}

/** Returns the zero value of a required field, which Go writes always: null for what is behind a pointer. */
function zeroOf(property: Schema): Json {
  if (property.default !== undefined) return property.default
  const target = resolve(property)
  if (target.format === 'quantity') return '0'
  return target.format === 'int-or-string' ? 0 : null
}

/** Returns whether Go's omitempty omits a value. Fields of any type hold raw JSON, so an empty list in them is kept. */
function isOmitted(property: Schema, value: Json): boolean {
  if (property['x-kubernetes-preserve-unknown-fields']) return false
  if (Array.isArray(value)) return value.length === 0
  if (isAlwaysWritten(property)) return false
  if (isObject(value)) return Object.keys(value).length === 0 && resolve(property).additionalProperties !== undefined
  if (property.omitZero) return value === 0 || value === false
  return value === '' && resolve(property).type === 'string' && !property.keepEmpty
}

function decodeValue(schema: Schema, value: Json, place: Place, unknown: string[]): Json {
  const target = resolve(schema)
  const refuse = (type: string, given = jsonType(value)): never => {
    const where = place.fields ? `struct field ${place.struct}.${place.fields}` : 'value'
    const message = `json: cannot unmarshal ${given} into Go ${where} of type ${type}`
    throw new DecodeError(message, conversionError(target, value, type))
  }
  switch (target.type) {
    case 'string':
      return decodeString(target, value, refuse)
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse('bool')
    case 'integer':
      if (typeof value !== 'number') return refuse(target.format!)
      return isInteger(value, target.format) ? value : refuse(target.format!, `number ${value}`)
    case 'number':
      return typeof value === 'number' ? value : refuse('float64')
    case 'array':
      if (!Array.isArray(value)) return refuse(goType(schema))
      return value.map((item, index) =>
        decodeItem(target.items!, item, { ...place, path: `${place.path}[${index}]` }, unknown)
      )
    case 'object':
      return decodeObject(schema, target, value, place, unknown, refuse)
    default:
      return target.objectAs
        ? decodeNested(target.objectAs, value, place, unknown)
        : decodeSpecial(target, value, refuse)
  }
}

/** Decodes an object, or those in a list. */
function decodeNested($ref: string, value: Json, place: Place, unknown: string[]): Json {
  if (Array.isArray(value)) return value.map((each) => decodeNested($ref, each, place, unknown))
  return isObject(value) ? decodeStruct({ $ref }, value, place, unknown) : value
}

/** Returns the error of converting a value without JSON, as the real server does it for a strategic merge patch. */
export function conversionError(target: Schema, value: Json, type: string): string {
  const given = goTypeOf(value)
  const kind = given.startsWith('map') ? 'map' : given.startsWith('[]') ? 'slice' : given
  if (target.type === 'array' || target.format === 'byte') return `cannot restore slice from ${kind}`
  if (target.type === 'object') {
    return target.properties ? `cannot restore struct from: ${kind}` : `cannot restore map from ${kind}`
  }
  // Go converts integers to strings and between numbers, which JSON does not.
  const isNumber = typeof value === 'number'
  const isConvertible = isNumber && (target.type !== 'boolean' && (target.type !== 'string' || Number.isInteger(value)))
  return isConvertible ? `cannot convert ${given} to ${type}` : `unrecognized type: ${type}`
}

function isInteger(value: number, format: string | undefined): boolean {
  return Number.isInteger(value) && (format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31))
}

function decodeItem(schema: Schema, item: Json, place: Place, unknown: string[]): Json {
  if (item !== null) return decodeValue(schema, item, place, unknown)
  // A null in a list becomes the zero value.
  const target = resolve(schema)
  return target.properties ? decodeStruct(schema, {}, place, unknown) : target.type === 'string' ? '' : null
}

function decodeObject(
  schema: Schema,
  target: Schema,
  value: Json,
  place: Place,
  unknown: string[],
  refuse: (type: string) => never,
): Json {
  if (!isObject(value)) return refuse(goType(schema))
  if (target.properties) return decodeStruct(schema, value, place, unknown)
  const element = target.additionalProperties
  if (!isObject(element as Json)) return value
  const result: JsonObject = {}
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue
    const decoded = decodeItem(element as Schema, child, { ...place, path: `${place.path}.${key}` }, unknown)
    put(result, key, (element as Schema).format === 'quantity' ? resourceAmount(decoded) : decoded)
  }
  return result
}

function decodeString(target: Schema, value: Json, refuse: (type: string) => never): Json {
  if (typeof value !== 'string') {
    return refuse(
      target.format === 'date-time' || target.format === 'micro-time'
        ? 'string'
        : target.format === 'byte'
        ? '[]uint8'
        : 'string',
    )
  }
  if (target.format === 'date-time') return decodeTime(value)
  if (target.format === 'micro-time') return decodeMicroTime(value)
  return target.format === 'byte' ? decodeBytes(value) : value
}

/** Returns base64 without the line breaks that Go's decoder leaves out. */
function decodeBytes(text: string): string {
  const bytes = text.replace(/[\r\n]/g, '')
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(bytes)) return bytes
  const validLength = /^(?:[A-Za-z0-9+/]{4})*/.exec(text)![0].length
  const problem = `illegal base64 data at input byte ${validLength}`
  throw new DecodeError(problem, `error decoding from json: ${problem}`)
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
const RFC3339_MICRO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/

function decodeTime(text: string): string {
  if (!RFC3339.test(text) || Number.isNaN(Date.parse(text))) {
    throw new DecodeError(
      `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${
        JSON.stringify(text)
      } as "2006"`,
    )
  }
  return `${new Date(Date.parse(text)).toISOString().slice(0, 19)}Z`
}

function decodeMicroTime(text: string): string {
  if (RFC3339_MICRO.test(text)) return text
  const rest = /\.\d+.*$|Z$|[+-]\d{2}:\d{2}$/.exec(text)?.[0] ?? text
  const layout = '"2006-01-02T15:04:05.000000Z07:00"'
  throw new DecodeError(
    `parsing time ${JSON.stringify(text)} as ${layout}: cannot parse ${JSON.stringify(rest)} as ".000000"`,
  )
}

function decodeSpecial(target: Schema, value: Json, refuse: (type: string, given?: string) => never): Json {
  if (target.format === 'quantity') {
    const canonical = typeof value === 'string' || typeof value === 'number'
      ? canonicalQuantity(String(value).trim())
      : undefined
    if (canonical === undefined) {
      throw new DecodeError(INVALID_QUANTITY)
    }
    return canonical
  }
  if (target.format === 'int-or-string' && typeof value !== 'string') {
    if (typeof value !== 'number') return refuse('int32')
    if (!isInteger(value, 'int32')) return refuse('int32', `number ${value}`)
  }
  return value
}

/** Returns the Go name of a struct: the last part of its definition name. */
function structName(schema: Schema): string {
  return schema.$ref?.split('.').pop() ?? ''
}

function goType(schema: Schema): string {
  const target = resolve(schema)
  if (schema.$ref) return schema.$ref.split('.').slice(-2).join('.')
  if (target.type === 'array') return `[]${goType(target.items!)}`
  const values = target.additionalProperties
  if (isObject(values as Json) && (values as Schema).format === 'quantity') return 'v1.ResourceList'
  if (target.type === 'object') {
    return `map[string]${isObject(values as Json) ? goType(values as Schema) : 'interface {}'}`
  }
  if (target.format === 'byte') return '[]uint8'
  return target.type === 'boolean' ? 'bool' : target.format ?? target.type ?? 'interface {}'
}
