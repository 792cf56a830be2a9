/** Decodes objects like Go decodes JSON into typed structs. */
import { isObject, type Json, type JsonObject, put } from '../json.ts'
import { isEmbeddedStruct, isEmbeddedTime, resolve, type Schema } from './schema.ts'

/** A decoded object, and the paths of its unknown fields, which are dropped. */
export interface Decoded {
  readonly object: JsonObject
  readonly unknown: readonly string[]
}

/** Thrown for a value of the wrong type, with Go's message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

/**
 * Decodes `value` by a built-in schema. Unknown fields are dropped and reported; nulls and empty values of optional
 * fields are omitted; embedded structs are always present.
 */
export function decodeTyped(schema: Schema, value: JsonObject, path = ''): Decoded {
  const unknown: string[] = []
  const object = decodeStruct(schema, value, path, unknown)
  return { object, unknown }
}

/** Returns the zero value of a struct: the base that a create is compared with. */
export function zeroValue(schema: Schema): JsonObject {
  const { properties = {}, required = [] } = resolve(schema)
  const result: JsonObject = {}
  for (const [name, property] of Object.entries(properties)) {
    if (isEmbeddedStruct(property)) result[name] = zeroValue(property)
    else if (isEmbeddedTime(property)) result[name] = null
    else if (required.includes(name)) result[name] = null
  }
  return result
}

function decodeStruct(schema: Schema, value: JsonObject, path: string, unknown: string[]): JsonObject {
  const { properties = {}, required = [] } = resolve(schema)
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(value)) {
    const childPath = path ? `${path}.${name}` : name
    if (!Object.hasOwn(properties, name)) {
      unknown.push(childPath)
      continue
    }
    if (child === null || child === undefined) continue
    const property = properties[name]!
    const decoded = decodeValue(property, child, childPath, unknown, structName(schema))
    if (required.includes(name) || !isOmitted(property, decoded)) put(result, name, decoded)
  }
  for (const [name, property] of Object.entries(properties)) {
    if (result[name] !== undefined) continue
    if (isEmbeddedStruct(property)) result[name] = decodeStruct(property, {}, path, unknown)
    else if (isEmbeddedTime(property)) result[name] = null
  }
  return result
}

/** Returns whether Go's omitempty omits a value. Fields of any type hold raw JSON, so an empty list in them is kept. */
function isOmitted(property: Schema, value: Json): boolean {
  if (property['x-kubernetes-preserve-unknown-fields']) return false
  if (Array.isArray(value)) return value.length === 0
  if (isObject(value)) return Object.keys(value).length === 0 && resolve(property).additionalProperties !== undefined
  if (property.omitZero) return value === 0 || value === false
  return value === '' && resolve(property).type === 'string' && !property.keepEmpty
}

function decodeValue(schema: Schema, value: Json, path: string, unknown: string[], struct: string): Json {
  const target = resolve(schema)
  const refuse = (type: string): never => {
    throw new DecodeError(
      `json: cannot unmarshal ${jsonType(value)} into Go struct field ${struct}.${
        path.replace(/\[\d+\]/g, '')
      } of type ${type}`,
    )
  }
  switch (target.type) {
    case 'string':
      return decodeString(target, value, refuse)
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse('bool')
    case 'integer':
      if (typeof value !== 'number') return refuse(target.format!)
      if (!Number.isInteger(value)) {
        throw new DecodeError(
          `json: cannot unmarshal number ${value} into Go struct field ${struct}.${path} of type ${target.format}`,
        )
      }
      return value
    case 'number':
      return typeof value === 'number' ? value : refuse('float64')
    case 'array':
      if (!Array.isArray(value)) return refuse(goType(schema))
      return value.map((item, index) => decodeItem(target.items!, item, `${path}[${index}]`, unknown, struct))
    case 'object':
      return decodeObject(schema, target, value, path, unknown, struct, refuse)
    default:
      if (target.objectAs && isObject(value)) return decodeStruct({ $ref: target.objectAs }, value, path, unknown)
      return decodeSpecial(target, value)
  }
}

function decodeItem(schema: Schema, item: Json, path: string, unknown: string[], struct: string): Json {
  if (item !== null) return decodeValue(schema, item, path, unknown, struct)
  // A null in a list becomes the zero value.
  const target = resolve(schema)
  return target.properties ? decodeStruct(schema, {}, path, unknown) : target.type === 'string' ? '' : null
}

function decodeObject(
  schema: Schema,
  target: Schema,
  value: Json,
  path: string,
  unknown: string[],
  struct: string,
  refuse: (type: string) => never,
): Json {
  if (!isObject(value)) return refuse(goType(schema))
  if (target.properties) return decodeStruct(schema, value, path, unknown)
  const element = target.additionalProperties
  if (!isObject(element as Json)) return value
  const result: JsonObject = {}
  for (const [key, child] of Object.entries(value)) {
    if (child !== undefined) put(result, key, decodeItem(element as Schema, child, `${path}.${key}`, unknown, struct))
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
  if (
    target.format === 'byte' &&
    !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replace(/[\r\n]/g, ''))
  ) {
    const validLength = /^(?:[A-Za-z0-9+/]{4})*/.exec(value)![0].length
    throw new DecodeError(`illegal base64 data at input byte ${validLength}`)
  }
  return value
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

function decodeSpecial(target: Schema, value: Json): Json {
  if (target.format === 'quantity') {
    const canonical = typeof value === 'string' || typeof value === 'number'
      ? canonicalQuantity(String(value))
      : undefined
    if (canonical === undefined) {
      throw new DecodeError(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      )
    }
    return canonical
  }
  if (target.format === 'int-or-string' && typeof value !== 'string' && !Number.isInteger(value)) {
    throw new DecodeError(`json: cannot unmarshal ${jsonType(value)} into Go value of type int32`)
  }
  return value
}

function jsonType(value: Json): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value
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
  if (target.type === 'object') {
    return `map[string]${isObject(values as Json) ? goType(values as Schema) : 'interface {}'}`
  }
  return target.type === 'boolean' ? 'bool' : target.format ?? target.type ?? 'interface {}'
}

/** Quantities: `100m`, `1.5Gi`, `2e3`. */
const QUANTITY = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/

const DECIMAL: readonly (readonly [string, number])[] = [
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]
const BINARY: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** Returns the API server's canonical form; undefined for an invalid quantity. */
function canonicalQuantity(text: string): string | undefined {
  const match = QUANTITY.exec(text)
  if (!match) return undefined
  const [, sign, digits, binary, decimal, exponent] = match
  const [whole = '', fraction = ''] = digits!.split('.')
  if (binary) {
    return canonicalBinary(sign!, whole, fraction, BINARY.indexOf(binary)) ?? canonicalQuantity(
      binaryAsDecimal(sign!, whole, fraction, binary),
    )
  }
  const power = exponent !== undefined ? Number(exponent) : DECIMAL.find(([suffix]) => suffix === (decimal ?? ''))![1]
  return canonicalDecimal(sign!, whole + fraction, power - fraction.length, exponent !== undefined)
}

/** Formats `digits * 10^power` with the largest suffix that gives a whole number; rounds up to nano, the smallest. */
function canonicalDecimal(sign: string, digits: string, power: number, isExponent: boolean): string {
  let value = BigInt(digits)
  let at = power
  if (value === 0n) return '0'
  while (at < -9) {
    value = (value + 9n) / 10n
    at++
  }
  while (value % 10n === 0n) {
    value /= 10n
    at++
  }
  const minus = sign === '-' ? '-' : ''
  const scale = Math.floor(at / 3) * 3
  const suffixPower = isExponent ? scale : Math.min(scale, 18)
  const number = value * 10n ** BigInt(at - suffixPower)
  if (isExponent) return `${minus}${number}${suffixPower === 0 ? '' : `e${suffixPower}`}`
  return `${minus}${number}${DECIMAL.find(([, exponent]) => exponent === suffixPower)![0]}`
}

function canonicalBinary(sign: string, whole: string, fraction: string, index: number): string | undefined {
  const denominator = 10n ** BigInt(fraction.length)
  const bytes = BigInt(whole + fraction) * 1024n ** BigInt(index)
  if (bytes % denominator !== 0n) return undefined
  let value = bytes / denominator
  if (value === 0n) return '0'
  let at = 0
  while (value % 1024n === 0n && at < BINARY.length - 1) {
    value /= 1024n
    at++
  }
  return `${sign === '-' ? '-' : ''}${value}${BINARY[at]}`
}

/** Converts a binary quantity with a fraction of a byte to thousandths, as Go writes it. */
function binaryAsDecimal(sign: string, whole: string, fraction: string, suffix: string): string {
  const value = BigInt(whole + fraction) * 1024n ** BigInt(BINARY.indexOf(suffix)) * 1000n
  const denominator = 10n ** BigInt(fraction.length)
  return `${sign}${(value + denominator - 1n) / denominator}m`
}
