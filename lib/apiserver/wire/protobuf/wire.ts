/** Reads the wire format of protobuf: varints, lengths, and what is skipped. */

/** Thrown for bytes that are not a message, with the text of Go's generated decoders. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

export const VARINT = 0
export const FIXED64 = 1
export const LENGTH = 2
const START_GROUP = 3
export const END_GROUP = 4
const FIXED32 = 5

const TWO_32 = 2 ** 32
const MAX_SHIFT = 63

/** A position in a body. Each method that reads takes the end of the message that contains the position. */
export class WireReader {
  readonly bytes: Uint8Array
  at = 0
  /** The number of values that were read. */
  values = 0
  /** The two halves of the last varint, unsigned. */
  low = 0
  high = 0
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Reads a varint into `low` and `high`. Bits above the 64th are dropped. */
  varint(end: number): void {
    let low = 0
    let high = 0
    for (let shift = 0;; shift += 7) {
      if (shift > MAX_SHIFT) throw new WireError('proto: integer overflow')
      if (this.at >= end) throw new WireError('unexpected EOF')
      const byte = this.bytes[this.at++]!
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) break
    }
    this.low = low >>> 0
    this.high = high >>> 0
  }

  /** Returns the last varint as a 64-bit integer with sign; the nearest number if it is not exact. */
  signed(): number {
    return (this.high | 0) * TWO_32 + this.low
  }

  /** Returns the last varint without sign, for messages. */
  unsignedText(): string {
    return String(BigInt(this.high) * BigInt(TWO_32) + BigInt(this.low))
  }

  /** Returns the field number of the last varint, which is a tag: 32 bits with sign. */
  fieldNumber(): number {
    return ((this.high << 29) | (this.low >>> 3)) | 0
  }

  /** Reads a length. Returns the end of what it counts, which may lie beyond the message. */
  lengthEnd(end: number): number {
    this.varint(end)
    // Both the length and the end are 64-bit integers with sign.
    if (this.high >= 0x80000000 || (this.high === 0x7fffffff && this.low + this.at >= TWO_32)) {
      throw new WireError('proto: negative length found during unmarshaling')
    }
    return this.signed() + this.at
  }

  /** Reads a length. Returns the end of what it counts, within the message. */
  boundedEnd(end: number): number {
    const after = this.lengthEnd(end)
    if (after > end) throw new WireError('unexpected EOF')
    return after
  }

  double(end: number): number {
    if (this.at + 8 > end) throw new WireError('unexpected EOF')
    this.at += 8
    return this.#view.getFloat64(this.at - 8, true)
  }

  /** Skips a field with its tag: a group with all its fields. */
  skip(end: number): void {
    for (let depth = 0; this.at < end;) {
      this.varint(end)
      const wireType = this.low & 7
      switch (wireType) {
        case VARINT:
          this.varint(end)
          break
        case FIXED64:
          this.at += 8
          break
        case LENGTH:
          this.at = this.lengthEnd(end)
          break
        case START_GROUP:
          depth++
          break
        case END_GROUP:
          if (depth === 0) throw new WireError('proto: unexpected end of group')
          depth--
          break
        case FIXED32:
          this.at += 4
          break
        default:
          throw new WireError(`proto: illegal wireType ${wireType}`)
      }
      if (depth === 0) {
        if (this.at > end) throw new WireError('unexpected EOF')
        return
      }
    }
    throw new WireError('unexpected EOF')
  }
}
