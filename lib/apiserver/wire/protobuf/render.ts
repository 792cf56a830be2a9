/** Renders decoded messages as JSON. What Go leaves out, or writes although it is missing, is up to the schema. */
import { encodeBytes } from '../../../core/base64.ts'
import { type Json, type JsonObject, put } from '../../model/json.ts'
import { Decoded, type Slot } from './decode.ts'
import type { Message } from './messages.ts'
import { renderSpecial } from './special.ts'

/** Returns the JSON of a message. */
export function renderMessage(message: Message, decoded: Decoded): Json {
  if (message.special) return renderSpecial(message, message.special, decoded, renderMessage)
  const result: JsonObject = {}
  addFields(message, decoded, result)
  return result
}

function addFields({ fields }: Message, { slots }: Decoded, result: JsonObject): void {
  for (const { index, name, isInline, message } of fields) {
    const slot = slots[index]
    if (slot === undefined) continue
    if (isInline) addFields(message(), slot as Decoded, result)
    else put(result, name, slotJson(message, slot))
  }
}

function slotJson(message: () => Message, slot: Slot): Json {
  if (slot instanceof Decoded) return renderMessage(message(), slot)
  if (slot instanceof Uint8Array) return encodeBytes(slot)
  if (Array.isArray(slot)) return slot.map((each) => slotJson(message, each))
  if (slot instanceof Map) {
    const result: JsonObject = {}
    for (const [key, value] of slot) put(result, key, slotJson(message, value))
    return result
  }
  // -0 is 0 in JSON.
  return typeof slot === 'number' ? slot + 0 : slot as Json
}
