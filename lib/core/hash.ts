/**
 * A keyed 128-bit hash of text: after HalfSipHash-1-3, over pairs of UTF-16 code units; the hash is its whole state.
 * The key is random in each process, so that texts with equal hashes cannot be found from outside. Two texts collide
 * with a probability of about 2^-128. Synchronous on every runtime. Not for signatures: a hash must stay in the
 * process.
 *
 * @see https://www.aumasson.jp/siphash/siphash.pdf
 */

const KEY = crypto.getRandomValues(new Int32Array(4))

/** Returns eight UTF-16 code units for each text, in one flat string. */
export function hashOf(...texts: readonly string[]): string {
  const units: number[] = []
  for (const text of texts) hashInto(units, text)
  return String.fromCharCode(...units)
}

function hashInto(units: number[], text: string): void {
  let [v0, v1, v2, v3] = KEY as unknown as [number, number, number, number]
  const { length } = text
  // The pairs, then the rest with the length, then three rounds that mix the last word.
  for (let at = 0, end = length + 7 - (length & 1); at < end; at += 2) {
    const word = at + 1 < length
      ? text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      : at > length
      ? 0
      : (length << 16) | (at < length ? text.charCodeAt(at) : 0)
    if (at > length) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  units.push(v0 >>> 16, v0 & 0xffff, v1 >>> 16, v1 & 0xffff, v2 >>> 16, v2 & 0xffff, v3 >>> 16, v3 & 0xffff)
}
