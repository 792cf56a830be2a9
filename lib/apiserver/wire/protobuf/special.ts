/** Renders the types whose JSON differs from their fields. */
import type { Json } from '../../model/json.ts'
import type { Decoded } from './decode.ts'
import type { Message, Special } from './messages.ts'
import { WireError } from './wire.ts'

type Render = (message: Message, decoded: Decoded) => Json

/** Returns the JSON of a value of a special type. `render` renders the messages in it. */
export function renderSpecial(message: Message, special: Special, { slots, isEmpty }: Decoded, render: Render): Json {
  const [first, second, third] = slots
  switch (special) {
    case 'quantity':
      return (first as string | undefined) ?? '0'
    case 'int-or-string':
      return intOrString(first, second, third)
    case 'date-time':
      return isEmpty ? null : timeJson(Number(first ?? 0))
    case 'micro-time':
      return isEmpty ? null : timeJson(Number(first ?? 0), Number(second ?? 0))
    case 'json':
    case 'raw':
      return rawJson(first as Uint8Array | undefined)
    case 'fields':
      return fieldsJson(first as Uint8Array | undefined)
    case 'items':
      return (first as string[] | undefined) ?? []
    case 'schema-or-bool':
      return second === undefined ? first === true : schemaJson(second as Decoded)
    case 'schema-or-array':
      return second === undefined
        ? first === undefined ? null : schemaJson(first as Decoded)
        : (second as Decoded[]).map(schemaJson)
    case 'schema-or-strings':
      return second === undefined ? first === undefined ? null : schemaJson(first as Decoded) : second as string[]
  }

  function schemaJson(schema: Decoded): Json {
    return render(message.fields.find(({ type }) => type === 'message')!.message(), schema)
  }
}

function intOrString(type: unknown, int: unknown, text: unknown): Json {
  switch (type ?? 0) {
    case 0:
      return (int ?? 0) as number
    case 1:
      return (text ?? '') as string
    default:
      throw new WireError('impossible IntOrString.Type')
  }
}

/** Seconds of 0001-01-01, the zero time in Go. */
const ZERO_SECONDS = -62_135_596_800
const MAX_SECONDS = 253_402_300_799
const MICROS_PER_SECOND = 1_000_000

/** Returns a time in seconds or, with nanoseconds, in microseconds; null for Go's zero time. */
function timeJson(seconds: number, nanos?: number): string | null {
  const micros = nanos === undefined ? 0 : Math.trunc(nanos / 1000)
  const whole = seconds + Math.floor(micros / MICROS_PER_SECOND)
  const rest = micros - Math.floor(micros / MICROS_PER_SECOND) * MICROS_PER_SECOND
  if (whole === ZERO_SECONDS && rest === 0) return null
  if (!(whole >= ZERO_SECONDS && whole <= MAX_SECONDS)) throw new WireError(`the time ${seconds} is out of range`)
  const text = new Date(whole * 1000).toISOString().slice(0, 19)
  return nanos === undefined ? `${text}Z` : `${text}.${String(rest).padStart(6, '0')}Z`
}

function rawJson(bytes: Uint8Array | undefined): Json {
  if (bytes === undefined || bytes.length === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Json
  } catch (cause) {
    throw new WireError('the raw value of a field is not JSON', { cause })
  }
}

/** Invalid managedFields are ignored: a real server then computes them anew. */
function fieldsJson(bytes: Uint8Array | undefined): Json {
  try {
    return rawJson(bytes)
  } catch (error) {
    if (error instanceof WireError) return null
    throw error
  }
}
