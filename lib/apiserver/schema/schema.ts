/**
 * One form for the schemas of built-in and custom kinds: structural OpenAPI v3 with Kubernetes' extensions.
 * Built-in ones refer to each other by name; {@link resolve} follows.
 */
import { BUILTIN_SCHEMAS } from '../builtin/schemas.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'

export interface Schema {
  readonly $ref?: string
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly default?: Json
  readonly enum?: readonly Json[]
  readonly nullable?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  /** A string for which empty is a value. */
  readonly keptEmpty?: boolean
  /** A number or a flag that is left out when it is zero. */
  readonly leftOutZero?: boolean
  /** The definition that an object in a field without a type is read by. */
  readonly objectAs?: string
  /** Validation keywords of custom kinds; crd/validate.ts knows them. */
  readonly [keyword: string]: unknown
}

const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true }

const ATOMS: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  byte: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  time: { type: 'string', format: 'date-time' },
  microtime: { type: 'string', format: 'micro-time' },
  quantity: { format: 'quantity' },
  intorstring: { format: 'int-or-string', 'x-kubernetes-int-or-string': true },
  any: ANYTHING,
}

const LINES: ReadonlyMap<string, string> = new Map(
  BUILTIN_SCHEMAS.trim().split('\n').map((line) => {
    const space = line.indexOf(' ')
    return space < 0 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)]
  }),
)

const parsed = new Map<string, Schema>()

/** A built-in definition, such as `apps.v1.Deployment`. */
export function definition(name: string): Schema {
  let schema = parsed.get(name)
  if (!schema) {
    const line = LINES.get(name)
    if (line === undefined) throw new TypeError(`Cannot find schema "${name}": it is not in builtin_schemas.ts`)
    schema = name === SCHEMA_PROPS ? withNestedSchemas(parseDefinition(line)) : parseDefinition(line)
    parsed.set(name, schema)
  }
  return schema
}

const SCHEMA_PROPS = 'apiextensions.v1.JSONSchemaProps'

/** OpenAPI has no type for a schema or a boolean, or for a schema or a list of them: the server reads a schema where it finds an object. */
function withNestedSchemas(schema: Schema): Schema {
  const nested: Schema = { ...ANYTHING, objectAs: SCHEMA_PROPS }
  return {
    ...schema,
    properties: { ...schema.properties, items: nested, additionalItems: nested, additionalProperties: nested },
  }
}

/** The schema itself, or what it refers to. A default or topology beside the reference stays with the reference. */
export function resolve(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : definition(schema.$ref)
}

/** The schema of a field of an object; undefined when the object has no such field. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const { properties, additionalProperties } = resolve(schema)
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  if (isObject(additionalProperties as Json)) return additionalProperties as Schema
  return additionalProperties === true ? ANYTHING : undefined
}

/** Whether a built-in field holds a time by value: null when it is not set. */
export function isEmbeddedTime(schema: Schema): boolean {
  return schema.default === null
}

/** Whether a built-in field holds a Go struct by value: it is always there in what the server writes. */
export function isEmbeddedStruct(schema: Schema): boolean {
  return schema.$ref !== undefined && isObject(schema.default) && Object.keys(schema.default).length === 0
}

/** The defaults of required scalars, which Go writes even when nobody said them. */
const ZERO: Readonly<Record<string, Json>> = { string: '', int32: 0, int64: 0, bool: false }

/** A field in a line of builtin_schemas.ts. */
const FIELD =
  /^([^!:]+)(!?):([^%~|=*-]+?)([*-]?)(?:%(\w+)(?:\(([^)]*)\))?)?(?:~([\w,]+)\((\w*)\))?((?:\|[^|=]*)*)(?:=(.*))?$/

function parseDefinition(line: string): Schema {
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  let atomic = false
  for (const text of line.split(' ').filter(Boolean)) {
    if (text === '%atomic') {
      atomic = true
      continue
    }
    const match = FIELD.exec(text)
    if (!match) throw new TypeError(`Cannot read schema field "${text}"`)
    const [, name, mark, type, held, topology, keys, strategy, mergeKey, values, fallback] = match
    if (mark) required.push(name!)
    properties[name!] = {
      ...parseType(type!),
      ...(held === '*' && { keptEmpty: true }),
      ...(held === '-' && { leftOutZero: true }),
      ...(mark && ZERO[type!] !== undefined && { default: ZERO[type!]! }),
      ...(topology === 'map' && { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys!.split(',') }),
      ...(topology === 'set' && { 'x-kubernetes-list-type': 'set' }),
      ...(topology === 'atomic' && { 'x-kubernetes-map-type': 'atomic' }),
      ...(strategy && { 'x-kubernetes-patch-strategy': strategy }),
      ...(mergeKey && { 'x-kubernetes-patch-merge-key': mergeKey }),
      ...(values && { enum: values.slice(1).split('|') }),
      ...(fallback && { default: JSON.parse(fallback) as Json }),
    }
  }
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' as const }),
  }
}

function parseType(text: string): Schema {
  if (text.startsWith('[]')) return { type: 'array', items: parseType(text.slice(2)) }
  if (text.startsWith('{}')) return { type: 'object', additionalProperties: parseType(text.slice(2)) }
  if (text.startsWith('@')) {
    return text.endsWith('+') ? { $ref: text.slice(1, -1), default: {} } : { $ref: text.slice(1) }
  }
  // A time by value is there even when it is zero.
  const atom = text.endsWith('+') ? { ...ATOMS[text.slice(0, -1)]!, default: null } : ATOMS[text]
  if (!atom) throw new TypeError(`Cannot read schema type "${text}"`)
  return atom
}

/** A schema as plain JSON. */
export function schemaJson(schema: Schema): JsonObject {
  return schema as unknown as JsonObject
}
