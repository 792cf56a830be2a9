/**
 * Encodes the objects of one kind as bytes. What they share is kept once, beside the bytes: the names and order of
 * fields (a shape), and strings that have occurred before, also with the name of another object in their place. So an
 * object of the API takes about a tenth of its JSON. Its name stands in front of it.
 *
 * A value begins with a tag, and the upper half of the tags has small values in itself: numbers, lengths and ids.
 */
import { setField } from '../../core/clone.ts'
import { ShapeDictionary, StringDictionary } from './dictionaries.ts'

const NULL = 0
const FALSE = 1
const TRUE = 2
const POSITIVE = 3
const NEGATIVE = 4
const DOUBLE = 5
const ARRAY = 6
/** A shape, then its values. */
const SHAPED = 7
/** The number of fields, then a name and a value for each. */
const FREE = 8
/** A string of the dictionary. */
const KNOWN = 9
const LATIN1 = 10
const UTF16 = 11
/** Decimal digits without a leading zero, as in a resourceVersion. */
const DIGITS = 12
/** Half a byte a digit, in the form 2026-03-04T05:06:07Z. */
const TIME = 13
/** Half a byte a digit, in the form of a uid. */
const UUID = 14
/** The name of the object. */
const NAME = 15
/** A string of the dictionary in which {@link HOLE} stands for the name of the object. */
const NAMED = 16
const SMALL_NUMBER = 0x20
const SHORT_LATIN1 = 0x40
const LOW_SHAPE = 0x80
const LOW_KNOWN = 0xc0

const HOLE = '\0'
/** A shorter name is in many strings by chance. */
const MIN_NAME = 3

/** The maximum nesting. The API server takes 10,000 levels, at which recursion overflows the stack. */
const MAX_DEPTH = 500

/** Not for concurrent use: a call has no turn of the event loop. */
export class ObjectCodec {
  readonly #shapes = new ShapeDictionary()
  readonly #strings = new StringDictionary()
  #bytes = new Uint8Array(2 ** 12)
  #at = 0
  /** Of the object that is written or read; empty: in no string. */
  #name = ''
  /** What is decoded. */
  #from: Uint8Array = this.#bytes

  /**
   * Returns the bytes of an object, which the next call overwrites. Undefined: it has more than JSON has, such as the
   * texts of its numbers or a date, or is nested too deeply.
   */
  encode(object: object): Uint8Array | undefined {
    if (Object.getOwnPropertySymbols(object).length > 0) return undefined
    this.#at = 0
    this.#name = ''
    const { name } = (object as { readonly metadata?: { readonly name?: unknown } | null }).metadata ?? {}
    const known = typeof name === 'string' && name.length >= MIN_NAME ? name : ''
    this.#writeString(known)
    this.#name = known
    return this.#write(object, 0) ? this.#bytes.subarray(0, this.#at) : undefined
  }

  /** Returns the object whose bytes begin at an offset. */
  decode(bytes: Uint8Array, at: number): unknown {
    this.#begin(bytes, at)
    return this.#read()
  }

  /** Returns one field of it. Only what is in front of the field is decoded, too. */
  decodeField(bytes: Uint8Array, at: number, name: string): unknown {
    this.#begin(bytes, at)
    const tag = this.#from[this.#at++]!
    if (tag === FREE) {
      for (let left = this.#readNumber(); left > 0; left--) {
        const key = this.#read()
        const value = this.#read()
        if (key === name) return value
      }
      return undefined
    }
    for (const key of this.#shapes.names[tag === SHAPED ? this.#readNumber() : tag - LOW_SHAPE]!) {
      const value = this.#read()
      if (key === name) return value
    }
    return undefined
  }

  #begin(bytes: Uint8Array, at: number): void {
    this.#from = bytes
    this.#at = at
    this.#name = this.#read() as string
  }

  /** Returns whether the value was written: not if JSON has no such value, or below too many levels. */
  #write(value: unknown, depth: number): boolean {
    switch (typeof value) {
      case 'string':
        this.#writeString(value)
        return true
      case 'number':
        this.#writeNumber(value)
        return true
      case 'boolean':
        this.#byte(value ? TRUE : FALSE)
        return true
      case 'object':
        if (value === null) this.#byte(NULL)
        else if (depth === MAX_DEPTH) return false
        else if (Array.isArray(value)) {
          this.#head(ARRAY, value.length)
          for (const item of value) if (!this.#write(item, depth + 1)) return false
        } else return this.#writeFields(value as Readonly<Record<string, unknown>>, depth + 1)
        return true
      default:
        return false
    }
  }

  #writeFields(fields: Readonly<Record<string, unknown>>, depth: number): boolean {
    if (!isPlain(fields)) return false
    const names = Object.keys(fields)
    const shape = this.#shapes.idOf(fields, names)
    if (shape >= 0) this.#tagged(SHAPED, LOW_SHAPE, shape)
    else this.#head(FREE, names.filter((name) => fields[name] !== undefined).length)
    for (const name of names) {
      const value = fields[name]
      if (value === undefined) continue
      if (shape < 0) this.#writeString(name)
      if (!this.#write(value, depth)) return false
    }
    return true
  }

  #writeNumber(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      this.#byte(DOUBLE)
      this.#reserve(8)
      new DataView(this.#bytes.buffer).setFloat64(this.#at, value)
      this.#at += 8
    } else if (value >= 0 && value < SHORT_LATIN1 - SMALL_NUMBER) this.#byte(SMALL_NUMBER + value)
    else this.#head(value < 0 ? NEGATIVE : POSITIVE, Math.abs(value))
  }

  #writeString(text: string): void {
    const { length } = text
    if (length === 36 && UUID_TEXT.test(text)) return this.#writePairs(UUID, text)
    if (this.#name !== '' && text.includes(this.#name) && !text.includes(HOLE)) {
      if (text === this.#name) return this.#byte(NAME)
      const id = this.#strings.idOf(text.replace(this.#name, () => HOLE))
      return id === undefined ? this.#writeCharacters(text) : this.#head(NAMED, id)
    }
    const known = this.#strings.find(text)
    if (known !== undefined) return this.#tagged(KNOWN, LOW_KNOWN, known)
    if (length === 20 && TIME_TEXT.test(text)) return this.#writePairs(TIME, text)
    if (length < 16 && DIGITS_TEXT.test(text)) return this.#head(DIGITS, Number(text))
    const id = this.#strings.idOf(text)
    return id === undefined ? this.#writeCharacters(text) : this.#tagged(KNOWN, LOW_KNOWN, id)
  }

  #writeCharacters(text: string): void {
    const { length } = text
    const begin = this.#at
    if (length < LOW_SHAPE - SHORT_LATIN1) this.#byte(SHORT_LATIN1 + length)
    else this.#head(LATIN1, length)
    this.#reserve(2 * length + 10)
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code > 0xff) {
        // Also half of a character, which UTF-8 does not have.
        this.#at = begin
        this.#head(UTF16, length)
        for (let each = 0; each < length; each++) {
          const unit = text.charCodeAt(each)
          this.#bytes[this.#at++] = unit & 0xff
          this.#bytes[this.#at++] = unit >> 8
        }
        return
      }
      this.#bytes[this.#at++] = code
    }
  }

  /** Writes half a byte for each digit. */
  #writePairs(tag: number, text: string): void {
    this.#byte(tag)
    this.#reserve(16)
    let half = -1
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      const digit = code < 0x30 ? -1 : code < 0x3a ? code - 0x30 : code < 0x61 ? -1 : code - 0x57
      if (digit < 0) continue
      if (half >= 0) this.#bytes[this.#at++] = half << 4 | digit
      half = half < 0 ? digit : -1
    }
  }

  #tagged(tag: number, low: number, id: number): void {
    if (id < LOW_KNOWN - LOW_SHAPE) this.#byte(low + id)
    else this.#head(tag, id)
  }

  /** Writes a tag and a number, seven bits a byte. */
  #head(tag: number, number: number): void {
    this.#byte(tag)
    this.#reserve(8)
    let left = number
    while (left > 0x7f) {
      this.#bytes[this.#at++] = 0x80 | (left % 0x80)
      left = Math.floor(left / 0x80)
    }
    this.#bytes[this.#at++] = left
  }

  #byte(byte: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = byte
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const larger = new Uint8Array(2 * (this.#at + count))
    larger.set(this.#bytes)
    this.#bytes = larger
  }

  #read(): unknown {
    const tag = this.#from[this.#at++]!
    if (tag >= LOW_KNOWN) return this.#strings.texts[tag - LOW_KNOWN]
    if (tag >= LOW_SHAPE) return this.#readShaped(tag - LOW_SHAPE)
    if (tag >= SHORT_LATIN1) return this.#readLatin1(tag - SHORT_LATIN1)
    if (tag >= SMALL_NUMBER) return tag - SMALL_NUMBER
    switch (tag) {
      case NULL:
        return null
      case FALSE:
        return false
      case TRUE:
        return true
      case POSITIVE:
        return this.#readNumber()
      case NEGATIVE:
        return -this.#readNumber()
      case DOUBLE: {
        const { buffer, byteOffset } = this.#from
        this.#at += 8
        return new DataView(buffer).getFloat64(byteOffset + this.#at - 8)
      }
      case ARRAY:
        return Array.from({ length: this.#readNumber() }, () => this.#read())
      case SHAPED:
        return this.#readShaped(this.#readNumber())
      case FREE:
        return this.#readFree()
      case KNOWN:
        return this.#strings.texts[this.#readNumber()]
      case LATIN1:
        return this.#readLatin1(this.#readNumber())
      case UTF16:
        return this.#readUtf16(this.#readNumber())
      case DIGITS:
        return String(this.#readNumber())
      case TIME:
        return this.#readPairs(TIME_FORM)
      case NAME:
        return this.#name
      case NAMED:
        return this.#strings.texts[this.#readNumber()]!.replace(HOLE, () => this.#name)
      default:
        return this.#readPairs(UUID_FORM)
    }
  }

  #readShaped(id: number): object {
    const fields: Record<string, unknown> = {}
    for (const name of this.#shapes.names[id]!) setField(fields, name, this.#read())
    return fields
  }

  #readFree(): object {
    const fields: Record<string, unknown> = {}
    for (let left = this.#readNumber(); left > 0; left--) setField(fields, this.#read() as string, this.#read())
    return fields
  }

  #readLatin1(length: number): string {
    const codes = this.#from.subarray(this.#at, this.#at += length)
    return textOf(codes)
  }

  #readUtf16(length: number): string {
    const units = new Uint16Array(length)
    for (let at = 0; at < length; at++) units[at] = this.#from[this.#at++]! | (this.#from[this.#at++]! << 8)
    return textOf(units)
  }

  /** Returns a text of this form, with digits in place of its zeros. */
  #readPairs(form: Uint8Array): string {
    const codes = form.slice()
    let isSecond = false
    for (let at = 0; at < codes.length; at++) {
      if (codes[at] !== ZERO) continue
      const pair = this.#from[this.#at]!
      const digit = isSecond ? pair & 0xf : pair >> 4
      codes[at] = digit + (digit < 10 ? ZERO : 0x57)
      if (isSecond) this.#at++
      isSecond = !isSecond
    }
    return textOf(codes)
  }

  #readNumber(): number {
    let number = 0
    for (let factor = 1;; factor *= 0x80) {
      const byte = this.#from[this.#at++]!
      number += (byte & 0x7f) * factor
      if (byte < 0x80) return number
    }
  }
}

const UUID_TEXT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME_TEXT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const ZERO = 0x30
const [UUID_FORM, TIME_FORM] = ['00000000-0000-0000-0000-000000000000', '0000-00-00T00:00:00Z'].map((form) =>
  Uint8Array.from(form, (each) => each.charCodeAt(0))
) as [Uint8Array, Uint8Array]
const DIGITS_TEXT = /^[1-9]\d*$/

function isPlain(fields: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(fields)
  return prototype === Object.prototype || prototype === null
}

/** The maximum number of arguments of a call; engines allow at least 65,535. */
const MAX_ARGUMENTS = 8192

function textOf(codes: Uint8Array | Uint16Array): string {
  if (codes.length <= MAX_ARGUMENTS) return String.fromCharCode.apply(null, codes as unknown as number[])
  let text = ''
  for (let at = 0; at < codes.length; at += MAX_ARGUMENTS) text += textOf(codes.subarray(at, at + MAX_ARGUMENTS))
  return text
}
