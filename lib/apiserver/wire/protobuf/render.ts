/** Renders decoded messages as JSON, as Go marshals the structs of the same types. */
import { type Json, type JsonObject, put } from '../../model/json.ts'
import { Decoded, type Slot } from './decode.ts'
import { type Field, type Message, messageAt } from './messages.ts'
import { renderSpecial } from './special.ts'

const NOTHING = new Decoded()

/** Returns the JSON of a message. */
export function renderMessage(message: Message, decoded: Decoded): Json {
  if (message.special) return renderSpecial(message, message.special, decoded, renderMessage)
  const result: JsonObject = {}
  addFields(message, decoded, result)
  return result
}

function addFields({ fields }: Message, { slots }: Decoded, result: JsonObject): void {
  for (const field of fields) {
    const slot = slots[field.index]
    if (field.inline) addFields(messageAt(field.ref), slot instanceof Decoded ? slot : NOTHING, result)
    else {
      const value = fieldJson(field, slot)
      if (value !== undefined) put(result, field.name, value)
    }
  }
}

/** Returns the JSON of a field, or undefined if Go leaves it out. */
function fieldJson(field: Field, slot: Slot | undefined): Json | undefined {
  if (slot === undefined) return missingJson(field)
  if (slot instanceof Map) {
    const result: JsonObject = {}
    for (const [key, value] of slot) put(result, key, valueJson(field, value))
    return result
  }
  if (Array.isArray(slot)) return slot.map((value) => valueJson(field, value))
  const value = valueJson(field, slot)
  if (field.omitNull && value === null) return undefined
  if (field.keep || field.pointer || field.type === 'm') return value
  return isZero(value) ? undefined : value
}

function missingJson({ type, ref, many, pointer, keep, omitNull }: Field): Json | undefined {
  if (pointer || many) return keep ? null : undefined
  if (type === 'm') return omitNull ? undefined : renderMessage(messageAt(ref), NOTHING)
  if (!keep) return undefined
  return type === 's' ? '' : type === 'b' ? false : type === 'y' ? null : 0
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false
}

function valueJson({ ref }: Field, slot: Slot): Json {
  if (slot instanceof Decoded) return renderMessage(messageAt(ref), slot)
  if (slot instanceof Uint8Array) return base64(slot)
  // -0 is 0 in JSON.
  return typeof slot === 'number' ? slot + 0 : slot as Json
}

const CHUNK = 0x2000

function base64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  }
  return btoa(binary)
}
