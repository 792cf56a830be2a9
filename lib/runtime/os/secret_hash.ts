/** Hashes secrets, so that they can be keys of a map without being kept. */
import { nodeCrypto } from './builtins.ts'

/** Returns a hash function (HMAC-SHA-256) with a random key of its own: its results mean nothing elsewhere. */
export function secretHash(): (secret: string) => string {
  const { createHmac, randomBytes } = nodeCrypto()
  const key = randomBytes(32)
  return (secret) => createHmac('sha256', key).update(secret).digest('base64url')
}
