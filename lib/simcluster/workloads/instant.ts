/** Times and hashes as Kubernetes writes them. */

/** Returns the time in whole seconds. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** Returns a hash of 32 bits (FNV-1a) that is neither a word nor a number. */
export function hashText(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return [...String(hash >>> 0)].map((digit) => LETTERS[digit.charCodeAt(0) % LETTERS.length]).join('')
}
