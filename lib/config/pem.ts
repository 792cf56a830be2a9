/** Validates PEM text and decodes base64. No error quotes the input. Pure. */

/** Returns the text if it has certificates, with comments or without. @throws the error that `wrong` makes. */
export function checkCertificate(text: string, wrong: (what: string) => Error): string {
  if (text.includes('-----BEGIN CERTIFICATE-----') || text.includes('-----BEGIN TRUSTED CERTIFICATE-----')) return text
  throw wrong('is not a PEM certificate')
}

/** Returns the text if it is a private key, of any algorithm. @throws the error that `wrong` makes. */
export function checkKey(text: string, wrong: (what: string) => Error): string {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw wrong('is encrypted with a passphrase; decrypt it first')
  }
  if (/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text)) return text
  throw wrong('is not a PEM private key')
}

/** Decodes base64 to text. @throws the error that `wrong` makes. */
export function decodeBase64(data: string, wrong: (what: string) => Error): string {
  const compact = data.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || compact.length % 4 !== 0) throw wrong('is not base64')
  return new TextDecoder().decode(Uint8Array.from(atob(compact), (character) => character.charCodeAt(0)))
}
