/** The schema type of built-in and custom kinds, and the parser of built-in definitions. */
import { BUILTIN_SCHEMAS } from './builtin_schemas.ts'
import { isObject, type Json } from './json.ts'

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
  /** Whether an empty string is a value and not omitted. */
  readonly keepEmpty?: boolean
  /** Whether a zero number or a false boolean is omitted. */
  readonly omitZero?: boolean
  /** The definition that decodes an object, or those in a list, in a field without a type. */
  readonly objectAs?: string
  /** The form in protobuf of a field without a type. */
  readonly wire?: 'fields' | 'json' | 'raw' | 'schema-or-array' | 'schema-or-bool' | 'schema-or-strings'
  /** The number of a built-in field in protobuf. */
  readonly number?: number
  /** The Go structs that hold the field and are inlined in JSON, with their numbers, from the outside in. */
  readonly within?: readonly Inlined[]
  /** Validation keywords of custom kinds, read by crd/validate.ts. */
  readonly [keyword: string]: unknown
}

export interface Inlined {
  readonly number: number
  readonly name: string
}

const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true }

const SCHEMA_PROPS = 'apiextensions.v1.JSONSchemaProps'

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
  any: { ...ANYTHING, wire: 'raw', 'x-kubernetes-map-type': 'atomic' },
  json: { ...ANYTHING, wire: 'json' },
  fields: { ...ANYTHING, wire: 'fields' },
  // Their type in OpenAPI is empty: they hold a schema, or a list or a boolean. Objects in them are schemas.
  schemaOrArray: { ...ANYTHING, wire: 'schema-or-array', objectAs: SCHEMA_PROPS },
  schemaOrBool: { ...ANYTHING, wire: 'schema-or-bool', objectAs: SCHEMA_PROPS },
  schemaOrStrings: { ...ANYTHING, wire: 'schema-or-strings', objectAs: SCHEMA_PROPS },
}

/** The fields of each definition, as text. */
const FIELDS: ReadonlyMap<string, string> = new Map(
  BUILTIN_SCHEMAS.trim().split('\n').flatMap((line) => {
    const [version, definitions] = divided(line)
    return definitions.split('; ').map((each): [string, string] => {
      const [name, fields] = divided(each)
      return [`${version}.${name}`, fields]
    })
  }),
)

/** Returns what is before and after the first space. */
function divided(text: string): [first: string, rest: string] {
  const space = text.indexOf(' ')
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)]
}

const parsed = new Map<string, Schema>()

export function isDefined(name: string): boolean {
  return FIELDS.has(name)
}

/** Returns a built-in definition, such as `apps.v1.Deployment`. */
export function definition(name: string): Schema {
  let schema = parsed.get(name)
  if (!schema) {
    const fields = FIELDS.get(name)
    if (fields === undefined) throw new TypeError(`Cannot find schema "${name}": builtin_schemas.ts does not define it`)
    parsed.set(name, schema = parseDefinition(fields))
  }
  return schema
}

/** Returns the schema, or the definition that it references. Does not merge the keywords beside the reference. */
export function resolve(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : definition(schema.$ref)
}

/** Returns the schema of an object's field; undefined if the object has no such field. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const { properties, additionalProperties } = resolve(schema)
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  if (isObject(additionalProperties as Json)) return additionalProperties as Schema
  return additionalProperties === true ? ANYTHING : undefined
}

/** Returns whether a built-in field is always written, null or zero if it is unset: times by value, and some more. */
export function isAlwaysWritten(schema: Schema): boolean {
  const { default: value } = schema
  return value === null || value === '' || value === 0 || value === false
}

/** Returns whether a built-in field holds a Go struct by value, which is always written. */
export function isEmbeddedStruct(schema: Schema): boolean {
  return schema.$ref !== undefined && isObject(schema.default) && Object.keys(schema.default).length === 0
}

/** The defaults of required scalars, which Go always writes. */
const ZERO: Readonly<Record<string, Json>> = { string: '', int32: 0, int64: 0, double: 0, bool: false }

/** The format of a field in builtin_schemas.ts. */
const FIELD =
  /^((?:\d+[A-Za-z]\w*\.)*)(\d*)([^!:]+)(!?):([^%~|=*-]+?)([*-]?)(?:%(\w+)(?:\(([^)]*)\))?)?(?:~([\w,]+)\((\w*)\))?((?:\|[^|=]*)*)(?:=(.*))?$/

/** Parses the fields of a definition, without its name. */
export function parseDefinition(line: string): Schema {
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  let atomic = false
  for (const text of line.split(' ').filter(Boolean)) {
    if (text === '%atomic') {
      atomic = true
      continue
    }
    const match = FIELD.exec(text)
    if (!match) throw new TypeError(`Cannot parse schema field "${text}": regenerate builtin_schemas.ts`)
    const [, inlined, number, name, mark, type, zeroMark, topology, keys, strategy, mergeKey, values, defaultJson] =
      match
    if (mark) required.push(name!)
    properties[name!] = {
      ...parseType(type!),
      ...(number && { number: Number(number) }),
      ...(inlined && { within: parseInlined(inlined) }),
      ...(zeroMark === '*' && { keepEmpty: true }),
      ...(zeroMark === '-' && { omitZero: true }),
      ...(mark && zeroMark !== '*' && ZERO[type!] !== undefined && { default: ZERO[type!]! }),
      ...(topology === 'map' && { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys!.split(',') }),
      ...(topology === 'set' && { 'x-kubernetes-list-type': 'set' }),
      ...(topology === 'atomic' && { 'x-kubernetes-map-type': 'atomic' }),
      ...(strategy && { 'x-kubernetes-patch-strategy': strategy }),
      ...(mergeKey && { 'x-kubernetes-patch-merge-key': mergeKey }),
      ...(values && { enum: values.slice(1).split('|') }),
      ...(defaultJson && { default: JSON.parse(defaultJson) as Json }),
    }
  }
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' as const }),
  }
}

/** Parses `2VolumeSource.`. */
function parseInlined(text: string): Inlined[] {
  return [...text.matchAll(/(\d+)(\w+)\./g)].map(([, number, name]) => ({ number: Number(number), name: name! }))
}

function parseType(text: string): Schema {
  // A plus after anything but a reference: the field is always written, null or zero if it is unset.
  if (text.endsWith('+') && !text.startsWith('@')) {
    const type = text.slice(0, -1)
    return { ...parseType(type), default: ZERO[type] ?? null }
  }
  if (text.startsWith('[]')) return { type: 'array', items: parseType(text.slice(2)) }
  if (text.startsWith('{}')) return { type: 'object', additionalProperties: parseType(text.slice(2)) }
  if (text.startsWith('@')) {
    return text.endsWith('+') ? { $ref: text.slice(1, -1), default: {} } : { $ref: text.slice(1) }
  }
  const atom = ATOMS[text]
  if (!atom) throw new TypeError(`Cannot parse schema type "${text}": regenerate builtin_schemas.ts`)
  return atom
}
