/** Signs and verifies tokens with an ECDSA key on the curve P-256 (ES256 of RFC 7518). */
import type { KeyObject } from 'node:crypto'
import { nodeCrypto } from './builtins.ts'

export interface TokenKey {
  /** The SHA-256 of the public key, base64url. */
  readonly id: string
  /** Returns the signature of a text, base64url. */
  sign(text: string): string
  /** Returns whether a signature of a text is by this key. Never throws. */
  verify(text: string, signature: string): boolean
  /** Returns the private key, PEM (PKCS #8). */
  pem(): string
}

/** Returns the key of a PEM text, or a new one. Throws if the text cannot be parsed. */
export function tokenKey(pem?: string): TokenKey {
  const crypto = nodeCrypto()
  const privateKey = pem === undefined
    ? crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    : crypto.createPrivateKey(pem)
  const publicKey = crypto.createPublicKey(privateKey as KeyObject)
  // The form of JSON Web Signatures: r and s, without DER.
  const dsaEncoding = 'ieee-p1363'
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const id = crypto.createHash('sha256').update(der).digest('base64url')
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  return {
    id,
    sign: (text) => crypto.sign('sha256', bytes(text), { key: privateKey, dsaEncoding }).toString('base64url'),
    verify(text, signature) {
      try {
        const decoded = Uint8Array.from(
          atob(signature.replace(/-/g, '+').replace(/_/g, '/')),
          (char) => char.charCodeAt(0),
        )
        return crypto.verify('sha256', bytes(text), { key: publicKey, dsaEncoding }, decoded)
      } catch {
        // The text is not base64, or not a signature.
        return false
      }
    },
    pem: () => String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}
