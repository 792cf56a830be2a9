/** Types and values of CEL by a structural schema. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { remembered } from '../model/remembered.ts'
import { goDuration, rfc3339 } from './functions/time.ts'
import { RESERVED } from './expr.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  structOf,
  TIMESTAMP,
} from './types.ts'
import { CelError, Duration, ListValue, type MapValue, Timestamp, type Value } from './values.ts'

/** A schema with rules: the keywords that types, sizes and rules depend on. */
export interface RuleSchema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, RuleSchema>>
  readonly additionalProperties?: RuleSchema | boolean
  readonly items?: RuleSchema
  readonly required?: readonly string[]
  readonly default?: Json
  readonly enum?: readonly Json[]
  readonly nullable?: boolean
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-validations'?: readonly Rule[]
}

/** One entry of `x-kubernetes-validations`. */
export interface Rule {
  readonly rule?: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A type with the sizes that costs are estimated from. */
export interface Decl {
  readonly type: CelType
  readonly maxElements: number
  /** The smallest size as JSON, in bytes. */
  readonly minBytes: number
  readonly element?: Decl
  readonly fields?: ReadonlyMap<string, Decl>
}

const MAX_REQUEST_BYTES = 3 * 1024 * 1024
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** Returns the highest number of items with a minimal size in one request. */
export function maxCount(minBytes: number): number {
  return Math.floor(MAX_REQUEST_BYTES / (minBytes + 1))
}

const TEXT: RuleSchema = { type: 'string' }
const META: RuleSchema = { type: 'object', properties: { name: TEXT, generateName: TEXT } }

/** Adds what rules may read at the root of each resource. */
export function withResourceFields(schema: RuleSchema): RuleSchema {
  return { ...schema, properties: { ...schema.properties, apiVersion: TEXT, kind: TEXT, metadata: META } }
}

/** Returns the type of a schema's values; undefined for schemas that rules cannot see. `name` is that of an object. */
export function declOf(given: RuleSchema, name: string, isResource: boolean): Decl | undefined {
  if (given['x-kubernetes-int-or-string']) {
    const max = given.maxLength === undefined ? MAX_REQUEST_BYTES - 2 : Math.max(given.maxLength, 0) * 4
    return { type: DYN, maxElements: max, minBytes: 1 }
  }
  const schema = isResource ? withResourceFields(given) : given
  switch (schema.type) {
    case 'array':
      return listDecl(schema, name)
    case 'object':
      return entriesOf(schema) ? mapDecl(schema, name) : objectDecl(schema, name)
    case 'string':
      return textDecl(schema)
    case 'boolean':
      return { type: BOOL, maxElements: 0, minBytes: 4 }
    case 'number':
      return { type: DOUBLE, maxElements: 0, minBytes: 1 }
    case 'integer':
      return { type: INT, maxElements: 0, minBytes: 1 }
  }
  return undefined
}

/** Returns the schema of a map's values; undefined for values that are not known. */
export function entriesOf({ additionalProperties }: RuleSchema): RuleSchema | undefined {
  return isObject(additionalProperties as Json) ? additionalProperties as RuleSchema : undefined
}

/** Whether rules may read the fields of a resource. */
export function isEmbedded(schema: RuleSchema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true
}

function child(schema: RuleSchema, name: string): Decl | undefined {
  return declOf(schema, name, isEmbedded(schema))
}

/** Returns a stated limit, or how many elements of a size a request can have. */
function maxElements(stated: number | undefined, bytesOfEach: number): number {
  return stated === undefined ? Math.floor((MAX_REQUEST_BYTES - 2) / bytesOfEach) : Math.max(stated, 0)
}

function listDecl({ items, maxItems }: RuleSchema, name: string): Decl | undefined {
  const element = items && child(items, `${name}.@idx`)
  if (!element) return undefined
  return { type: listOf(element.type), element, maxElements: maxElements(maxItems, element.minBytes + 1), minBytes: 2 }
}

function mapDecl(schema: RuleSchema, name: string): Decl | undefined {
  const element = child(entriesOf(schema)!, `${name}.@elem`)
  if (!element) return undefined
  const max = maxElements(schema.maxProperties, element.minBytes + 6)
  return { type: mapOf(STRING, element.type), element, maxElements: max, minBytes: 2 }
}

function objectDecl({ properties = {}, required = [] }: RuleSchema, name: string): Decl {
  const fields = new Map<string, Decl>()
  let minBytes = 2
  for (const [key, property] of Object.entries(properties)) {
    const escaped = escapeName(key)
    const decl = child(property, `${name}.${escaped}`)
    if (!decl) continue
    if (escaped !== undefined) fields.set(escaped, decl)
    if (required.includes(key) && property.default === undefined) {
      minBytes += new TextEncoder().encode(key).length + decl.minBytes + 4
    }
  }
  return { type: structOf(name), fields, maxElements: 0, minBytes }
}

function textDecl({ format, maxLength, enum: values }: RuleSchema): Decl {
  switch (format) {
    case 'byte':
      return { type: BYTES, minBytes: 2, maxElements: maxElements(maxLength, 1) }
    case 'duration':
      return { type: DURATION, minBytes: 3, maxElements: 32 }
    case 'date':
      return { type: TIMESTAMP, minBytes: 12, maxElements: 12 }
    case 'date-time':
      return { type: TIMESTAMP, minBytes: 21, maxElements: 32 }
  }
  const longest = Math.max(0, ...(values ?? []).map((each) => typeof each === 'string' ? each.length : 0))
  const max = maxLength !== undefined
    ? Math.max(maxLength, 0) * 4
    : values && values.length > 0
    ? longest
    : MAX_REQUEST_BYTES - 2
  return { type: STRING, minBytes: 2, maxElements: Math.min(max, UNBOUNDED) }
}

/** Collects the fields of all object types below a declaration, by the name of the type. */
export function structsOf(decl: Decl, found: Map<string, ReadonlyMap<string, CelType>> = new Map()): typeof found {
  if (decl.element) structsOf(decl.element, found)
  if (decl.fields) {
    found.set(decl.type.name, new Map([...decl.fields].map(([name, field]) => [name, field.type])))
    for (const field of decl.fields.values()) structsOf(field, found)
  }
  return found
}

const ESCAPES: Readonly<Record<string, string>> = {
  '__': '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** Returns the name of a property in expressions; undefined if they cannot name it. */
function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`
  if (name === '' || /^\d/.test(name) || /[^\w./-]/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (part) => ESCAPES[part]!)
}

/** Returns a field by its name in an expression, where reserved words need not be escaped. */
export function fieldNamed<T>(fields: ReadonlyMap<string, T>, name: string): T | undefined {
  return fields.get(name) ?? (RESERVED.has(name) ? fields.get(`__${name}__`) : undefined)
}

/** Returns the value of JSON by its schema. Objects are read when they are used. */
export function valueOf(json: Json, schema: RuleSchema): Value {
  if (json === null) {
    if (schema.nullable) return null
    throw new CelError('invalid data, got null for schema with nullable=false')
  }
  if (schema['x-kubernetes-int-or-string']) {
    if (typeof json === 'string') return json
    if (typeof json === 'number' && Number.isInteger(json)) return BigInt(json)
    throw new CelError('invalid data, expected XIntOrString value to be either a string or integer')
  }
  switch (schema.type) {
    case 'object':
      if (!isObject(json)) throw new CelError('invalid data, expected a map for the provided schema with type=object')
      return objectValue(json, schema)
    case 'array':
      if (!Array.isArray(json)) {
        throw new CelError('invalid data, expected an array for the provided schema with type=array')
      }
      return listValue(json, schema)
    case 'string':
      if (typeof json === 'string') return textValue(json, schema.format)
      break
    case 'number':
      if (typeof json === 'number') return json
      break
    case 'integer':
      if (typeof json === 'number') return BigInt(Math.trunc(json))
      break
    case 'boolean':
      if (typeof json === 'boolean') return json
  }
  throw new CelError(`invalid data, expected ${schema.type}`)
}

function textValue(text: string, format: string | undefined): Value {
  switch (format) {
    case 'duration': {
      const nanos = goDuration(text.replace(/^P.*/, ''))
      if (nanos === undefined) throw new CelError(`Invalid duration ${text}`)
      return new Duration(nanos)
    }
    case 'date':
    case 'date-time': {
      const time = rfc3339(format === 'date' ? `${text}T00:00:00Z` : text.replace(' ', 'T'))
      if (!time) throw new CelError(`Invalid ${format} formatted string ${text}`)
      return new Timestamp(time.nanos)
    }
    case 'byte':
      return bytesOf(text)
  }
  return text
}

/** Decodes base64 in its form for URLs, as the real server does. */
function bytesOf(text: string): Uint8Array {
  const wrong = text.search(/[^\w=\r\n-]/)
  if (wrong >= 0 || !/^(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?$/.test(text.replace(/[\r\n]/g, ''))) {
    const at = wrong >= 0 ? wrong : text.length - text.length % 4
    throw new CelError(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${at}`)
  }
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
}

function listValue(json: readonly Json[], schema: RuleSchema): ListValue {
  const items = json.map((item) => valueOf(item, schema.items!))
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return new ListValue(items, (item) => item)
  if (type !== 'map') return new ListValue(items)
  const keys = (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapeName(key) ?? key)
  return new ListValue(items, (item) => new ListValue(keys.map((key) => (item as MapValue).get(key) ?? null)))
}

function objectValue(json: JsonObject, given: RuleSchema): MapValue {
  const schema = isEmbedded(given) ? withResourceFields(given) : given
  return schema.properties ? new ObjectValue(json, schema.properties) : new DictionaryValue(json, entriesOf(schema))
}

type Properties = Readonly<Record<string, RuleSchema>>

const namesOf = new WeakMap<Properties, ReadonlyMap<string, string>>()

/** Returns the properties by their names in expressions. */
function propertiesByName(properties: Properties): ReadonlyMap<string, string> {
  return remembered(
    namesOf,
    properties,
    () => new Map(Object.keys(properties).map((name) => [escapeName(name) ?? name, name])),
  )
}

/** An object by its properties; the others do not exist for rules. A null is a missing property. */
class ObjectValue implements MapValue {
  readonly isMap = true
  readonly struct = 'object'
  readonly #json: JsonObject
  readonly #properties: Properties
  readonly #names: ReadonlyMap<string, string>
  #read: Map<string, Value> | undefined

  constructor(json: JsonObject, properties: Properties) {
    this.#json = json
    this.#properties = properties
    this.#names = propertiesByName(properties)
  }

  get size(): number {
    return Object.keys(this.#json).length
  }

  get unknown(): JsonObject {
    return Object.fromEntries(Object.entries(this.#json).filter(([name]) => !Object.hasOwn(this.#properties, name)))
  }

  keys(): Iterable<Value> {
    return [...this.#names].filter(([, property]) => this.#has(property)).map(([name]) => name)
  }

  get(key: Value): Value | undefined {
    const property = fieldNamed(this.#names, String(key))
    if (property === undefined || !this.#has(property)) return undefined
    const known = this.#read?.get(property)
    if (known !== undefined) return known
    const value = valueOf(this.#json[property]!, this.#properties[property]!)
    // Scalars are converted as fast as they are found.
    if (typeof value === 'object' && value !== null) (this.#read ??= new Map()).set(property, value)
    return value
  }

  #has(property: string): boolean {
    return Object.hasOwn(this.#json, property) && (this.#json[property] ?? null) !== null
  }
}

/** A map of any keys. */
class DictionaryValue implements MapValue {
  readonly isMap = true
  readonly #json: JsonObject
  readonly #values: RuleSchema | undefined

  constructor(json: JsonObject, values: RuleSchema | undefined) {
    this.#json = json
    this.#values = values
  }

  get size(): number {
    return this.#values ? Object.keys(this.#json).length : 0
  }

  keys(): Iterable<Value> {
    return this.#values ? Object.keys(this.#json) : []
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !this.#values || !Object.hasOwn(this.#json, key)) return undefined
    return valueOf(this.#json[key]!, this.#values)
  }
}
