/** PEM text, checked for what it says it is, and text behind base64. Nothing here quotes what it was given. Pure. */

/** Certificates; CA bundles may have comments between them. @throws the error that `wrong` makes. */
export function checkCertificate(text: string, wrong: (what: string) => Error): string {
  if (text.includes('-----BEGIN CERTIFICATE-----') || text.includes('-----BEGIN TRUSTED CERTIFICATE-----')) return text
  throw wrong('is not a PEM certificate')
}

/** A private key, of any algorithm. @throws the error that `wrong` makes. */
export function checkKey(text: string, wrong: (what: string) => Error): string {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw wrong('is encrypted with a passphrase; decrypt it first')
  }
  if (/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text)) return text
  throw wrong('is not a PEM private key')
}

/** The text behind base64. @throws the error that `wrong` makes. */
export function decodeBase64(data: string, wrong: (what: string) => Error): string {
  const compact = data.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || compact.length % 4 !== 0) throw wrong('is not base64')
  return new TextDecoder().decode(Uint8Array.from(atob(compact), (character) => character.charCodeAt(0)))
}
