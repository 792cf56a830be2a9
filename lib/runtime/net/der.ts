/** Writes and reads DER (ITU-T X.690), as far as certificates need it. */
import { concatenate } from '../../core/bytes.ts'

/** Tags of the universal class, with the constructed bit where DER requires it. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Returns a value with this tag. Its content is bytes, or encoded values in sequence. */
export function der(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const length = content.reduce((sum, part) => sum + part.length, 0)
  const head = length < 0x80 ? [tag, length] : [tag, 0x80 | bytesOf(length).length, ...bytesOf(length)]
  return concatenate([Uint8Array.from(head), ...content], head.length + length)
}

export function sequence(...items: readonly Uint8Array[]): Uint8Array {
  return der(TAG.sequence, ...items)
}

/** Returns a value with the context-specific tag `[number]`, constructed unless its content is plain bytes. */
export function tagged(number: number, constructed: boolean, ...content: readonly Uint8Array[]): Uint8Array {
  return der(0x80 | (constructed ? 0x20 : 0) | number, ...content)
}

/** Returns a non-negative integer from its big-endian bytes. */
export function integer(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const shortest = bytes.subarray(start)
  // The highest bit is the sign, so a leading zero keeps the number positive.
  return (shortest[0] ?? 0) & 0x80 ? der(TAG.integer, Uint8Array.of(0), shortest) : der(TAG.integer, shortest)
}

export function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(TAG.oid, Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** Returns a bit string with these bits set, counted from the left. DER omits the zeros after the last one. */
export function namedBits(...set: readonly number[]): Uint8Array {
  const last = Math.max(...set)
  const bytes = new Uint8Array((last >> 3) + 1)
  for (const bit of set) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  return der(TAG.bitString, Uint8Array.of(7 - (last & 7)), bytes)
}

export function bitString(bytes: Uint8Array): Uint8Array {
  return der(TAG.bitString, Uint8Array.of(0), bytes)
}

export function boolean(value: boolean): Uint8Array {
  return der(TAG.boolean, Uint8Array.of(value ? 0xff : 0))
}

export function utf8(text: string): Uint8Array {
  return der(TAG.utf8String, new TextEncoder().encode(text))
}

/** Returns a time in seconds: UTCTime until 2049 and GeneralizedTime after that (RFC 5280). */
export function time(ms: number): Uint8Array {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')
  const short = digits < '2050'
  return der(short ? TAG.utcTime : TAG.generalizedTime, new TextEncoder().encode(short ? digits.slice(2) : digits))
}

export interface DerValue {
  readonly tag: number
  readonly content: Uint8Array
  /** Tag, length and content, unchanged. */
  readonly whole: Uint8Array
}

/** Reads the values in sequence. @throws RangeError if the last one is cut off. */
export function readAll(bytes: Uint8Array): DerValue[] {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length;) {
    const { start, end } = extent(bytes, at)
    values.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) })
    at = end
  }
  return values
}

function extent(bytes: Uint8Array, at: number): { start: number; end: number } {
  const first = bytes[at + 1] ?? 0
  const long = first & 0x80 ? first & 0x7f : 0
  const length = long ? bytes.subarray(at + 2, at + 2 + long).reduce((sum, byte) => sum * 256 + byte, 0) : first
  const start = at + 2 + long
  if (start + length > bytes.length) {
    throw new RangeError(`Cannot read DER: a value of ${length} bytes at ${at} is cut off`)
  }
  return { start, end: start + length }
}

function bytesOf(number: number): number[] {
  return number < 256 ? [number] : [...bytesOf(Math.floor(number / 256)), number % 256]
}

function base128(number: number): number[] {
  const low = number & 0x7f
  return number < 128 ? [low] : [...base128(Math.floor(number / 128)).map((byte) => byte | 0x80), low]
}
