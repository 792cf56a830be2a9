/** Decodes protobuf messages, as Go's generated decoders do. */
import { MAX_VALUES } from '../../model/json.ts'
import { tooManyValues } from '../../model/status.ts'
import { canonicalQuantity, INVALID_QUANTITY } from '../../model/quantities.ts'
import type { Field, Message } from './messages.ts'
import { END_GROUP, FIXED64, LENGTH, VARINT, WireError, type WireReader } from './wire.ts'

/** The value of a field. Lists and maps have one kind of values. */
export type Slot = string | number | boolean | Uint8Array | Decoded | Slot[] | ReadonlyMap<string, Slot>

/** A decoded message: the values of its fields, and whether it had any bytes. */
export class Decoded {
  readonly slots: (Slot | undefined)[] = []
  isEmpty = true
}

/**
 * How deep messages may be nested. Only schemas of CustomResourceDefinitions contain themselves; a real server has no
 * limit, but the stack of a JavaScript runtime has.
 */
const MAX_DEPTH = 400

/** Reads a message up to `end` into `into`. A field that occurs twice is merged if it is a message, else replaced. */
export function decodeMessage(reader: WireReader, message: Message, end: number, into: Decoded, depth = 0): void {
  if (depth > MAX_DEPTH) throw new WireError('exceeded max depth')
  // A time is replaced as a whole, and one without bytes is no time.
  if (message.special === 'date-time' || message.special === 'micro-time') into.slots.length = 0
  into.isEmpty = reader.at === end
  while (reader.at < end) {
    const start = reader.at
    reader.varint(end)
    const wireType = reader.low & 7
    const number = reader.fieldNumber()
    if (wireType === END_GROUP) throw new WireError(`proto: ${message.name}: wiretype end group for non-group`)
    if (number <= 0) {
      throw new WireError(`proto: ${message.name}: illegal tag ${number} (wire type ${reader.unsignedText()})`)
    }
    const field = message.byNumber[number]
    if (field) {
      readField(reader, field, wireType, end, into.slots, depth)
      if (message.special === 'quantity') into.slots[0] = checkedQuantity(into.slots[0] as string)
    } else {
      reader.at = start
      reader.skip(end)
    }
  }
}

/** Returns a quantity in its canonical form. */
function checkedQuantity(text: string): string {
  const canonical = canonicalQuantity(text)
  if (canonical === undefined) throw new WireError(INVALID_QUANTITY)
  return canonical
}

function readField(
  reader: WireReader,
  field: Field,
  wireType: number,
  end: number,
  slots: (Slot | undefined)[],
  depth: number,
): void {
  const { index, type, many } = field
  if (many === 'map') {
    expectWireType(field, wireType, LENGTH)
    const after = reader.boundedEnd(end)
    readEntry(reader, field, end, after, (slots[index] ??= new Map()) as Map<string, Slot>, depth)
    reader.at = after
  } else if (many === 'list') {
    const list = (slots[index] ??= []) as Slot[]
    if (isVarint(type) && wireType === LENGTH) {
      const after = reader.boundedEnd(end)
      while (reader.at < after) list.push(readValue(reader, field, end, undefined, depth))
    } else {
      expectWireType(field, wireType, wireTypeOf(type))
      list.push(readValue(reader, field, end, undefined, depth))
    }
  } else {
    expectWireType(field, wireType, wireTypeOf(type))
    slots[index] = readValue(reader, field, end, slots[index], depth)
  }
}

function isVarint(type: Field['type']): boolean {
  return type === 'int32' || type === 'int64' || type === 'boolean'
}

function wireTypeOf(type: Field['type']): number {
  return isVarint(type) ? VARINT : type === 'double' ? FIXED64 : LENGTH
}

function expectWireType({ name }: Field, given: number, expected: number): void {
  if (given === expected) return
  // The name in Go, but for initialisms inside.
  const goName = name === 'metadata'
    ? 'ObjectMeta'
    : name.replace(/^(?:api|ip|uid|url|.)/, (word) => word.toUpperCase())
  throw new WireError(`proto: wrong wireType = ${given} for field ${goName}`)
}

function readValue(reader: WireReader, field: Field, end: number, before: Slot | undefined, depth: number): Slot {
  if (++reader.values > MAX_VALUES) throw tooManyValues()
  if (field.type !== 'message') return readScalar(reader, field, end)
  const after = reader.boundedEnd(end)
  const value = before instanceof Decoded ? before : new Decoded()
  decodeMessage(reader, field.message(), after, value, depth + 1)
  reader.at = after
  return value
}

function readScalar(reader: WireReader, { type }: Field, end: number): Slot {
  switch (type) {
    case 'string': {
      const after = reader.boundedEnd(end)
      const text = utf8(reader.bytes, reader.at, after)
      reader.at = after
      return text
    }
    case 'byte': {
      const after = reader.boundedEnd(end)
      const bytes = reader.bytes.subarray(reader.at, after)
      reader.at = after
      return bytes
    }
    case 'double':
      return reader.double(end)
    default:
      reader.varint(end)
      if (type === 'boolean') return (reader.low | reader.high) !== 0
      return type === 'int32' ? reader.low | 0 : reader.signed()
  }
}

/** The key and the value of a map entry. Go reads them without a look at their wire types, up to the message's end. */
function readEntry(
  reader: WireReader,
  field: Field,
  end: number,
  entryEnd: number,
  map: Map<string, Slot>,
  depth: number,
): void {
  let key = ''
  let value = zeroOf(field.type)
  while (reader.at < entryEnd) {
    const start = reader.at
    reader.varint(end)
    const number = reader.fieldNumber()
    if (number === 1) {
      const after = reader.boundedEnd(end)
      key = utf8(reader.bytes, reader.at, after)
      reader.at = after
    } else if (number === 2) {
      value = readValue(reader, field, end, undefined, depth)
    } else {
      reader.at = start
      reader.skip(end)
      if (reader.at > entryEnd) throw new WireError('unexpected EOF')
    }
  }
  map.set(key, value)
}

const NO_BYTES = new Uint8Array(0)

function zeroOf(type: Field['type']): Slot {
  switch (type) {
    case 'string':
      return ''
    case 'byte':
      return NO_BYTES
    case 'boolean':
      return false
    case 'message':
      return new Decoded()
    default:
      return 0
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const MAX_SHORT = 32

function utf8(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > MAX_SHORT) return decoder.decode(bytes.subarray(start, end))
  let text = ''
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    if (byte >= 0x80) return decoder.decode(bytes.subarray(start, end))
    text += String.fromCharCode(byte)
  }
  return text
}
