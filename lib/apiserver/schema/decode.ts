/** Decodes objects like Go decodes JSON into typed structs. */
import { isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { wrongType } from '../model/go_text.ts'
import { isAlwaysWritten, isEmbeddedStruct, resolve, type Schema } from '../model/schema.ts'
import { timeMs } from '../model/times.ts'
import { canonicalQuantity, INVALID_QUANTITY, resourceAmount } from '../model/quantities.ts'

/** A decoded object, and the paths of its unknown fields, which are dropped. */
export interface Decoded {
  readonly object: JsonObject
  readonly unknown: readonly string[]
}

/** Thrown for a value of the wrong type. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

/**
 * Decodes `value` by a built-in schema. Unknown fields are dropped and reported in the order of the document, below
 * `path`; nulls and empty values of optional fields are omitted; embedded structs are always present.
 */
export function decodeTyped(schema: Schema, value: JsonObject, path = ''): Decoded {
  const unknown: string[] = []
  const object = decodeStruct(schema, value, path, unknown)
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

function decodeStruct(schema: Schema, value: JsonObject, place: string, unknown: string[]): JsonObject {
  const target = resolve(schema)
  const { properties = {}, required = [] } = target
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(value)) {
    const path = place ? `${place}.${name}` : name
    if (!Object.hasOwn(properties, name)) {
      unknown.push(path)
      continue
    }
    if (child === null || child === undefined) continue
    const property = properties[name]!
    const decoded = decodeValue(property, child, path, unknown)
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

function decodeValue(schema: Schema, value: Json, place: string, unknown: string[]): Json {
  const target = resolve(schema)
  const refuse = (type: string): never => {
    throw new DecodeError(wrongType(place, value, type))
  }
  switch (target.type) {
    case 'string':
      return decodeString(target, value, refuse)
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse('bool')
    case 'integer':
      return isInteger(value, target.format) ? value : refuse(target.format!)
    case 'number':
      return typeof value === 'number' ? value : refuse('float64')
    case 'array':
      if (!Array.isArray(value)) return refuse('array')
      return value.map((item, index) => decodeItem(target.items!, item, `${place}[${index}]`, unknown))
    case 'object':
      return decodeObject(schema, target, value, place, unknown, refuse)
    default:
      return target.objectAs
        ? decodeNested(target.objectAs, value, place, unknown)
        : decodeSpecial(target, value, refuse)
  }
}

/** Decodes an object, or those in a list. */
function decodeNested($ref: string, value: Json, place: string, unknown: string[]): Json {
  if (Array.isArray(value)) return value.map((each) => decodeNested($ref, each, place, unknown))
  return isObject(value) ? decodeStruct({ $ref }, value, place, unknown) : value
}

function isInteger(value: Json, format: string | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) &&
    (format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31))
}

function decodeItem(schema: Schema, item: Json, place: string, unknown: string[]): Json {
  if (item !== null) return decodeValue(schema, item, place, unknown)
  // A null in a list becomes the zero value.
  const target = resolve(schema)
  return target.properties ? decodeStruct(schema, {}, place, unknown) : target.type === 'string' ? '' : null
}

function decodeObject(
  schema: Schema,
  target: Schema,
  value: Json,
  place: string,
  unknown: string[],
  refuse: (type: string) => never,
): Json {
  if (!isObject(value)) return refuse('object')
  if (target.properties) return decodeStruct(schema, value, place, unknown)
  const element = target.additionalProperties
  if (!isObject(element as Json)) return value
  const result: JsonObject = {}
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue
    const decoded = decodeItem(element as Schema, child, `${place}.${key}`, unknown)
    put(result, key, (element as Schema).format === 'quantity' ? resourceAmount(decoded) : decoded)
  }
  return result
}

function decodeString(target: Schema, value: Json, refuse: (type: string) => never): Json {
  if (typeof value !== 'string') return refuse('string')
  if (target.format === 'date-time') return decodeTime(value)
  if (target.format === 'micro-time') return decodeMicroTime(value)
  return target.format === 'byte' ? decodeBytes(value) : value
}

/** Returns base64 without the line breaks that Go's decoder leaves out. */
function decodeBytes(text: string): string {
  const bytes = text.replace(/[\r\n]/g, '')
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(bytes)) return bytes
  throw new DecodeError('illegal base64 data')
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
const RFC3339_MICRO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/

function decodeTime(text: string): string {
  const time = RFC3339.test(text) ? timeMs(text) : Number.NaN
  if (Number.isNaN(time)) throw new DecodeError(`cannot parse ${JSON.stringify(text)} as a time of RFC 3339`)
  return `${new Date(time).toISOString().slice(0, 19)}Z`
}

function decodeMicroTime(text: string): string {
  if (RFC3339_MICRO.test(text) && !Number.isNaN(timeMs(text))) return text
  throw new DecodeError(`cannot parse ${JSON.stringify(text)} as a time of RFC 3339 with microseconds`)
}

function decodeSpecial(target: Schema, value: Json, refuse: (type: string) => never): Json {
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
    if (!isInteger(value, 'int32')) return refuse('int32')
  }
  return value
}
