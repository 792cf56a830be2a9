/** Reads X.509 certificates: their names, keys and validity. */
import { X509Certificate } from 'node:crypto'
import {
  encodeNames,
  exportPublic,
  keyIdOf,
  OID,
  type ServerNames,
  TAG_DNS_NAME,
  TAG_IP_ADDRESS,
} from './certificate_fields.ts'
import { type DerValue, oid, readAll } from './der.ts'

/** The facts of a certificate that decide about its renewal. Times are in milliseconds since 1970. */
export interface CertificateFacts {
  readonly isAuthority: boolean
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Tests for a signature by an authority, given by its certificate in PEM. False if that cannot be parsed. */
  isIssuedBy(ca: string): boolean
  readonly names: Required<ServerNames>
  /** Tests whether the certificate has all of these names, and perhaps others. */
  hasNames(names: ServerNames): boolean
}

/** Reads the facts of a certificate, or returns undefined if the text is not a certificate in PEM. */
export function readCertificate(pem: string): CertificateFacts | undefined {
  const certificate = parsed(pem)
  if (!certificate) return undefined
  return {
    isAuthority: certificate.ca,
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
    isIssuedBy(pem) {
      const ca = parsed(pem)
      return ca !== undefined && ca.subject === certificate.issuer && certificate.verify(ca.publicKey)
    },
    get names() {
      const found = readNames(certificate)
      const of = (tag: number): Uint8Array[] => found.filter((each) => each.tag === tag).map(({ content }) => content)
      return {
        dnsNames: of(TAG_DNS_NAME).map((bytes) => new TextDecoder().decode(bytes)),
        ipAddresses: of(TAG_IP_ADDRESS).map(addressText),
      }
    },
    hasNames(names) {
      const found = readNames(certificate)
      return encodeNames(names, 'Cannot compare names').every((name) => found.some(({ whole }) => equal(whole, name)))
    },
  }
}

/** Returns the certificates of a PEM text, without what is between them. */
export function certificatesIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

function readNames(certificate: X509Certificate): DerValue[] {
  const [list] = readAll(readExtension(readFields(certificate), OID.subjectAltName) ?? new Uint8Array())
  return readAll(list?.content ?? new Uint8Array())
}

/** Returns IPv4 with dots, and IPv6 without a gap. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: bytes.length / 2 }, (_, at) => (bytes[2 * at]! << 8) | bytes[2 * at + 1]!)
  return groups.map((group) => group.toString(16)).join(':')
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** Reads what issuing needs from the authority's certificate: subject and key id, byte for byte, and its end. */
export function readAuthority(ca: string): { subject: Uint8Array; keyId: Uint8Array; notAfterMs: number } {
  const certificate = new X509Certificate(ca)
  // version [0], serial, algorithm, issuer, validity, subject, public key, …, extensions [3]
  const fields = readFields(certificate)
  const subject = fields[5]?.whole
  if (!subject) throw new TypeError('Cannot read the certificate of an authority: it has no subject')
  const [stated] = readAll(readExtension(fields, OID.subjectKeyId) ?? new Uint8Array())
  return {
    subject,
    keyId: stated?.content ?? keyIdOf(exportPublic(certificate.publicKey)),
    notAfterMs: Date.parse(certificate.validTo),
  }
}

function readFields(certificate: X509Certificate): DerValue[] {
  const [whole] = readAll(certificate.raw)
  const [text] = readAll(whole?.content ?? new Uint8Array())
  return readAll(text?.content ?? new Uint8Array())
}

/** Returns the value of an extension: the content of its octet string. */
function readExtension(fields: readonly DerValue[], type: string): Uint8Array | undefined {
  const [list] = readAll(fields.find((field) => field.tag === 0xa3)?.content ?? new Uint8Array())
  const wanted = oid(type)
  return readAll(list?.content ?? new Uint8Array())
    .map((item) => readAll(item.content))
    .find(([found]) => found !== undefined && equal(found.whole, wanted))
    ?.at(-1)?.content
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
