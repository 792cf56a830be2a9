/** Hashes the stored version of a kind, as discovery shows it: the first eight bytes of SHA-256. */

/** The fractions of the cube roots of the first primes, 32 bits each. */
const K: readonly number[] = primes(64).map((prime) => fraction(Math.cbrt(prime)))

function primes(count: number): readonly number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
}

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

const hashes = new Map<string, string>()

/** Returns the hash of a text in base64. Web Crypto cannot be used: a request is answered synchronously. */
export function storageHash(text: string): string {
  let hash = hashes.get(text)
  if (hash === undefined) {
    const bytes = sha256(new TextEncoder().encode(text)).slice(0, 8)
    hash = btoa(String.fromCharCode(...bytes))
    hashes.set(text, hash)
  }
  return hash
}

/** @see https://doi.org/10.6028/NIST.FIPS.180-4 section 6.2 */
function sha256(message: Uint8Array): Uint8Array {
  const blocks = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64)
  blocks.set(message)
  blocks[message.length] = 0x80
  new DataView(blocks.buffer).setUint32(blocks.length - 4, message.length * 8)
  const state = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)))
  for (let at = 0; at < blocks.length; at += 64) addBlock(state, new DataView(blocks.buffer, at, 64))
  const digest = new DataView(new ArrayBuffer(32))
  state.forEach((word, index) => digest.setInt32(index * 4, word))
  return new Uint8Array(digest.buffer)
}

function addBlock(state: Int32Array, block: DataView): void {
  const words = new Int32Array(64)
  for (let t = 0; t < 64; t++) {
    if (t < 16) words[t] = block.getInt32(t * 4)
    else {
      const [x, y] = [words[t - 15]!, words[t - 2]!]
      const first = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
      const second = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
      words[t] = words[t - 16]! + first + words[t - 7]! + second
    }
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let t = 0; t < 64; t++) {
    const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[t]! + words[t]!
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, index) => state[index] = state[index]! + word)
}
