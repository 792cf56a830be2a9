/** The protobuf messages of the built-in kinds, by the numbers in their schemas. */
import { definition, type Inlined, isDefined, parseDefinition, type Schema } from '../../model/schema.ts'
import { remembered } from '../../model/remembered.ts'

/** What a field holds: a scalar by its type or format in the schema, or a message. */
type FieldType = 'string' | 'boolean' | 'int32' | 'int64' | 'double' | 'byte' | 'message'

export interface Field {
  /** The place of its value in the slots of a message. */
  readonly index: number
  /** The name in JSON. */
  readonly name: string
  readonly type: FieldType
  readonly many: '' | 'list' | 'map'
  /** Whether the fields of the message are fields of its owner in JSON. */
  readonly isInline: boolean
  /** Returns the message of a field of type `message`. */
  message(): Message
}

/** The messages whose JSON differs from their fields, as schemas would have them. */
const SPECIAL = {
  quantity: 'Quantity 1text:string',
  'int-or-string': 'IntOrString 1type:int64 2int:int32 3text:string',
  'date-time': 'Timestamp 1seconds:int64 2nanos:int32',
  'micro-time': 'Timestamp 1seconds:int64 2nanos:int32',
  raw: 'RawExtension 1raw:byte',
  json: 'JSON 1raw:byte',
  fields: 'FieldsV1 1raw:byte',
  'schema-or-array':
    'JSONSchemaPropsOrArray 1schema:@apiextensions.v1.JSONSchemaProps 2schemas:[]@apiextensions.v1.JSONSchemaProps',
  'schema-or-bool': 'JSONSchemaPropsOrBool 1allows:bool 2schema:@apiextensions.v1.JSONSchemaProps',
  'schema-or-strings': 'JSONSchemaPropsOrStringArray 1schema:@apiextensions.v1.JSONSchemaProps 2texts:[]string',
  items: 'ExtraValue 1items:[]string',
} as const

export type Special = keyof typeof SPECIAL

export interface Message {
  /** The name in Go's errors. */
  readonly name: string
  readonly special: Special | undefined
  /** The schema of its JSON, if it has a definition. */
  readonly schema: Schema | undefined
  readonly fields: readonly Field[]
  /** The fields by number; numbers without a field are undefined. */
  readonly byNumber: readonly (Field | undefined)[]
}

const messages = new Map<string, Message>()

/** Returns the message of a line: its name in Go's errors, then its fields as in builtin_schemas.ts. */
function messageOfLine(line: string, special?: Special): Message {
  const at = line.indexOf(' ')
  const places = (): Place[] => fieldsOf(parseDefinition(line.slice(at + 1)))
  return remembered(messages, special ?? line, () => messageOf(line.slice(0, at), places(), { special }))
}

function messageOfDefinition(name: string): Message {
  const schema = { $ref: name }
  return remembered(
    messages,
    name,
    () => messageOf(name.slice(name.lastIndexOf('.') + 1), fieldsOf(definition(name)), { schema }),
  )
}

/** The message of a body: its kind, and the bytes of the object. */
export function envelope(): Message {
  return messageOfLine('Unknown 1TypeMeta.1apiVersion:string 1TypeMeta.2kind:string 2raw:byte')
}

const GROUP = /^(?:|apps|autoscaling|batch|policy|(\w+)(?:\.\w+)?\.k8s\.io)$/

/** Returns the message of a kind; undefined for an unknown one. All group versions have the kinds of meta.k8s.io/v1. */
export function messageOfKind(apiVersion: string, kind: string): Message | undefined {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const name = GROUP.exec(group)
  const own = name && `${(name[1] ?? group) || 'core'}.${version}.${kind}`
  const found = [own, `meta.v1.${kind}`].find((each) => each && isDefined(each))
  if (!found) return undefined
  const { apiVersion: first, metadata } = definition(found).properties ?? {}
  return first && (metadata || kind === 'DeleteOptions') ? messageOfDefinition(found) : undefined
}

interface Place {
  readonly name: string
  readonly schema: Schema
  /** The messages around the field that JSON does not have. */
  readonly within: readonly Inlined[]
}

function fieldsOf({ properties = {} }: Schema): Place[] {
  return Object.entries(properties).filter(([, { number }]) => number !== undefined)
    .map(([name, schema]) => ({ name, schema, within: schema.within ?? [] }))
}

function messageOf(
  name: string,
  places: readonly Place[],
  { special, schema }: Partial<Pick<Message, 'special' | 'schema'>> = {},
): Message {
  const fields: Field[] = []
  const byNumber: (Field | undefined)[] = []
  const add = (number: number, field: Omit<Field, 'index'>): void =>
    void fields.push(byNumber[number] = { index: fields.length, ...field })
  for (const { name, schema, within } of places) if (within.length === 0) add(schema.number!, fieldOf(name, schema))
  const inlined = places.filter(({ within }) => within.length > 0)
  for (const [number, inner] of Map.groupBy(inlined, ({ within }) => within[0]!.number)) {
    const { name } = inner[0]!.within[0]!
    const message = messageOf(name, inner.map((each) => ({ ...each, within: each.within.slice(1) })))
    add(number, { name, type: 'message', many: '', isInline: true, message: () => message })
  }
  return { name, special, schema, fields, byNumber }
}

function fieldOf(name: string, schema: Schema): Omit<Field, 'index'> {
  const { items, additionalProperties: values } = schema
  const element = items ?? (typeof values === 'object' ? values : schema)
  const special = specialOf(element)
  const message = (): Message => special ? messageOfLine(SPECIAL[special], special) : messageOfDefinition(element.$ref!)
  const type = special || element.$ref ? 'message' : (element.format ?? element.type) as FieldType
  return { name, type, many: items ? 'list' : typeof values === 'object' ? 'map' : '', isInline: false, message }
}

function specialOf({ items, wire, format = '' }: Schema): Special | undefined {
  return items ? 'items' : wire ?? (format in SPECIAL ? format as Special : undefined)
}
