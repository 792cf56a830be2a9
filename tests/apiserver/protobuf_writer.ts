/** Writes protobuf bodies for tests: from JSON by the table of messages, or field by field. */
import { type Field, type Message, messageOfKind } from '../../lib/apiserver/wire/protobuf/messages.ts'

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

// deno-lint-ignore no-explicit-any -- any JSON
type Any = any

const encoder = new TextEncoder()

export function joined(...parts: readonly ArrayLike<number>[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    result.set(part, at)
    at += part.length
  }
  return result
}

export function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Uint8Array.from(bytes)
}

/** A field with a length: a string, bytes or a message. */
export function part(number: number, value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? encoder.encode(value) : value
  return joined(varint(number * 8 + 2), varint(bytes.length), bytes)
}

/** A field with a varint. */
export function integer(number: number, value: number | bigint): Uint8Array {
  return joined(varint(number * 8), varint(value))
}

/** The first bytes of every body. */
const PREFIX: Uint8Array = encoder.encode('k8s\0')

/** A body with an object of any bytes. */
export function envelope(apiVersion: string, kind: string, raw: Uint8Array = new Uint8Array(0)): Uint8Array {
  return joined(PREFIX, part(1, joined(part(1, apiVersion), part(2, kind))), part(2, raw), part(3, ''), part(4, ''))
}

/** Returns the protobuf body of an object. Throws if no schema has its kind or one of its fields. */
export function bodyOf(object: Any): Uint8Array {
  const { apiVersion, kind, ...rest } = object
  const message = messageOfKind(apiVersion, kind)
  if (!message) throw new TypeError(`No schema has a message of ${apiVersion} ${kind}`)
  return envelope(apiVersion, kind, messageBytes(message, rest))
}

function messageBytes(message: Message, value: Any): Uint8Array {
  const parts: Uint8Array[] = []
  const names = new Set(Object.keys(value))
  if (message.byNumber[1]?.name === 'metadata') {
    // A claim inside a StatefulSet: the wire lacks these.
    names.delete('apiVersion')
    names.delete('kind')
  }
  writeFields(message, value, names, parts)
  if (names.size > 0) throw new TypeError(`${message.name} has no field ${[...names].join()}`)
  return joined(...parts)
}

/** Writes the fields that the message has, and removes their names from `names`. */
function writeFields(message: Message, value: Any, names: Set<string>, parts: Uint8Array[]): void {
  message.byNumber.forEach((field, number) => {
    if (!field) return
    if (field.isInline) {
      const inner: Uint8Array[] = []
      writeFields(field.message(), value, names, inner)
      parts.push(part(number, joined(...inner)))
    } else if (names.delete(field.name)) parts.push(fieldBytes(field, number, value[field.name]))
  })
}

function fieldBytes(field: Field, number: number, value: Any): Uint8Array {
  if (field.many === 'list') return joined(...value.map((item: Any) => valueBytes(field, number, item)))
  if (field.many === 'map') {
    const entries = Object.entries(value)
    return joined(...entries.map(([key, item]) => part(number, joined(part(1, key), valueBytes(field, 2, item)))))
  }
  return valueBytes(field, number, value)
}

function valueBytes({ type, message }: Field, number: number, value: Any): Uint8Array {
  switch (type) {
    case 'string':
      return part(number, value)
    case 'byte':
      return part(number, Uint8Array.from(atob(value), (char) => char.charCodeAt(0)))
    case 'boolean':
      return integer(number, value ? 1 : 0)
    case 'double':
      return joined(varint(number * 8 + 1), new Uint8Array(new Float64Array([value]).buffer))
    case 'message':
      return part(number, specialBytes(message(), value))
    default:
      return integer(number, value)
  }
}

function specialBytes(message: Message, value: Any): Uint8Array {
  switch (message.special) {
    case undefined:
      return messageBytes(message, value)
    case 'quantity':
      return part(1, String(value))
    case 'int-or-string':
      return typeof value === 'string' ? joined(integer(1, 1), part(3, value)) : integer(2, value)
    case 'date-time':
      return integer(1, Date.parse(value) / 1000)
    case 'micro-time': {
      const micros = Number(/\.(\d{6})/.exec(value)![1])
      return joined(integer(1, Math.floor(Date.parse(value) / 1000)), integer(2, micros * 1000))
    }
    case 'json':
    case 'raw':
    case 'fields':
      return part(1, JSON.stringify(value))
    case 'items':
      return joined(...value.map((item: string) => part(1, item)))
    case 'schema-or-bool':
      return typeof value === 'boolean'
        ? integer(1, value ? 1 : 0)
        : joined(integer(1, 1), part(2, messageBytes(schemaOf(message), value)))
    case 'schema-or-array':
      return Array.isArray(value)
        ? joined(...value.map((item) => part(2, messageBytes(schemaOf(message), item))))
        : part(1, messageBytes(schemaOf(message), value))
    case 'schema-or-strings':
      return Array.isArray(value)
        ? joined(...value.map((item) => part(2, item)))
        : part(1, messageBytes(schemaOf(message), value))
  }
}

function schemaOf({ fields }: Message): Message {
  return fields.find(({ type }) => type === 'message')!.message()
}
