/**
 * Creates certificate authorities and issues certificates: X.509 v3, SHA-256, keys as PKCS#8 PEM.
 *
 * Uses node:crypto, which creates keys and signs the same on all three runtimes, and a DER writer of 100 lines: 2 KB.
 * The alternative @peculiar/x509 has 342 KB minified (82 KB gzipped) and thirteen packages, and needs a
 * `reflect-metadata` polyfill that changes the global Reflect.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { promisify } from 'node:util'
import {
  bitString,
  boolean,
  der,
  type DerValue,
  integer,
  namedBits,
  oid,
  readAll,
  sequence,
  TAG,
  tagged,
  time,
  utf8,
} from './der.ts'

/** The algorithm of a key, by the name that TLS servers and cert-manager use, and its size in bits. */
export type KeyAlgorithm = 'ECDSA-256' | 'ECDSA-384' | 'RSA-2048' | 'RSA-4096'

/** A certificate authority. Its private key is only available through `save`. */
export interface Authority {
  /** Its certificate in PEM, for clients to trust. */
  readonly ca: string
  issue(request: CertificateRequest): Promise<IssuedCertificate>
  /** Returns the authority as text, for {@link openAuthority}. The key is secret: it can sign for any name. */
  save(): { ca: string; key: string }
}

/** The names of a server. Clients check only these, and not the common name. */
export interface ServerNames {
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
}

interface CertificateRequest extends ServerNames {
  /** The subject's name. Kubernetes uses it as the user name. */
  readonly commonName: string
  /** Kubernetes uses them as the user's groups. */
  readonly organizations?: readonly string[]
  readonly usage: 'server' | 'client'
  /** Default: one year. Never longer than the authority's own validity. */
  readonly validForMs?: number
  /** The current time in milliseconds since 1970. Default: the authority's `now`. */
  readonly now?: number
  /** Default: ECDSA-256. */
  readonly algorithm?: KeyAlgorithm | undefined
}

export interface IssuedCertificate {
  /** The leaf in PEM, without the root, which the other side has. */
  readonly cert: string
  /** PKCS#8 in PEM. */
  readonly key: string
}

export interface AuthorityOptions {
  /** Default: `kubeloop-ca`. */
  readonly commonName?: string
  /** Default: ten years. */
  readonly validForMs?: number
  /** The current time in milliseconds since 1970, also for what it issues. Default: the system's time. */
  readonly now?: number
  /** Default: ECDSA-256. */
  readonly algorithm?: KeyAlgorithm | undefined
}

/**
 * Creates an authority.
 *
 * @example
 * ```ts
 * const authority = await createAuthority()
 * const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
 * const { cert, key } = await authority.issue({ commonName: 'api', ...names, usage: 'server' })
 * ```
 */
export async function createAuthority(options: AuthorityOptions = {}): Promise<Authority> {
  const { commonName = 'kubeloop-ca', validForMs = 10 * YEAR_MS, now = Date.now() } = options
  const { publicKey, privateKey } = await newKeyPair(options.algorithm)
  const subject = nameOf(commonName, [])
  const publicInfo = exportPublic(publicKey)
  const keyId = keyIdOf(publicInfo)
  const cert = signed({
    issuer: subject,
    subject,
    publicInfo,
    from: now - SKEW_MS,
    to: now + validForMs,
    extensions: [
      // It may only sign, and has no authorities below it.
      extension(OID.basicConstraints, sequence(boolean(true), integer(Uint8Array.of(0))), true),
      extension(OID.keyUsage, namedBits(KEY_USAGE.certSign, KEY_USAGE.crlSign), true),
      extension(OID.subjectKeyId, der(TAG.octetString, keyId)),
    ],
  }, privateKey)
  return authority(cert, privateKey, options.now)
}

/**
 * Opens an authority that was saved, or that another tool created with an EC or RSA key.
 * Rejects with a TypeError if certificate or key cannot be parsed, do not match, or are not an authority's.
 */
export function openAuthority(caPem: string, keyPem: string): Promise<Authority> {
  return Promise.resolve().then(() => {
    const doing = 'Cannot open a certificate authority'
    const privateKey = attempt(`${doing}: its key is not a private key in PEM`, () => createPrivateKey(keyPem))
    const cert = attempt(`${doing}: its certificate is not a certificate in PEM`, () => new X509Certificate(caPem))
    if (!cert.ca) throw new TypeError(`${doing}: the certificate is not a CA certificate; use one with CA:TRUE`)
    if (!equal(exportPublic(createPublicKey(privateKey)), exportPublic(cert.publicKey))) {
      throw new TypeError(`${doing}: the certificate belongs to another key; pass the key it was created with`)
    }
    return authority(caPem, privateKey, undefined)
  })
}

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

/** The tags of the names in a subjectAltName. */
const TAG_DNS_NAME = 0x82
const TAG_IP_ADDRESS = 0x87

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

function authority(ca: string, privateKey: KeyObject, fixedNow: number | undefined): Authority {
  const { subject, keyId, notAfterMs } = readAuthority(ca)
  return {
    ca,
    async issue(request) {
      const { commonName, organizations = [], validForMs = YEAR_MS, now = fixedNow ?? Date.now() } = request
      const names = subjectAltNames(request)
      const pair = await newKeyPair(request.algorithm)
      const publicInfo = exportPublic(pair.publicKey)
      const cert = signed({
        issuer: subject,
        subject: nameOf(commonName, organizations),
        publicInfo,
        from: now - SKEW_MS,
        to: Math.min(now + validForMs, notAfterMs),
        extensions: [
          extension(OID.basicConstraints, sequence(), true),
          extension(OID.keyUsage, namedBits(KEY_USAGE.digitalSignature), true),
          extension(OID.extendedKeyUsage, sequence(oid(request.usage === 'server' ? OID.serverAuth : OID.clientAuth))),
          extension(OID.subjectKeyId, der(TAG.octetString, keyIdOf(publicInfo))),
          extension(OID.authorityKeyId, sequence(tagged(0, false, keyId))),
          ...(names.length > 0 ? [extension(OID.subjectAltName, sequence(...names))] : []),
        ],
      }, privateKey)
      return { cert, key: exportPrivate(pair.privateKey) }
    },
    save: () => ({ ca, key: exportPrivate(privateKey) }),
  }
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000
/** Certificates are valid from an hour before now, because clocks of two machines differ. */
const SKEW_MS = 60 * 60 * 1000

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

const KEY_USAGE = { digitalSignature: 0, certSign: 5, crlSign: 6 } as const

interface Certificate {
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  readonly publicInfo: Uint8Array
  readonly from: number
  readonly to: number
  readonly extensions: readonly Uint8Array[]
}

/** Returns the certificate in PEM: its content, and the signature over it (RFC 5280, section 4.1). */
function signed(certificate: Certificate, key: KeyObject): string {
  const { issuer, subject, publicInfo, from, to, extensions } = certificate
  const algorithm = key.asymmetricKeyType === 'rsa'
    ? sequence(oid(OID.sha256WithRsa), der(0x05))
    : sequence(oid(OID.ecdsaWithSha256))
  const text = sequence(
    tagged(0, true, integer(Uint8Array.of(2))),
    integer(serialNumber()),
    algorithm,
    issuer,
    sequence(time(from), time(to)),
    subject,
    publicInfo,
    tagged(3, true, sequence(...extensions)),
  )
  return pem('CERTIFICATE', sequence(text, algorithm, bitString(sign('sha256', text, key))))
}

/** Positive, at most 20 bytes, and unique: Go and OpenSSL distinguish certificates of one issuer by it. */
function serialNumber(): Uint8Array {
  const bytes = Uint8Array.from(randomBytes(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function nameOf(commonName: string, organizations: readonly string[]): Uint8Array {
  const part = (type: string, value: string): Uint8Array => der(TAG.set, sequence(oid(type), utf8(value)))
  return sequence(...organizations.map((name) => part(OID.organization, name)), part(OID.commonName, commonName))
}

function extension(type: string, value: Uint8Array, critical = false): Uint8Array {
  return sequence(oid(type), ...(critical ? [boolean(true)] : []), der(TAG.octetString, value))
}

function subjectAltNames(request: CertificateRequest): Uint8Array[] {
  const { commonName, dnsNames = [], ipAddresses = [], usage } = request
  const doing = `Cannot issue a certificate for "${commonName}"`
  if (usage === 'server' && dnsNames.length + ipAddresses.length === 0) {
    throw new TypeError(
      `${doing}: it has no names; set dnsNames or ipAddresses, because clients ignore a server's common name`,
    )
  }
  return encodeNames(request, doing)
}

function encodeNames({ dnsNames = [], ipAddresses = [] }: ServerNames, doing: string): Uint8Array[] {
  return [
    ...dnsNames.map((name) => {
      if (!/^[\x21-\x7e]+$/.test(name)) throw new TypeError(`${doing}: "${name}" is not a DNS name in ASCII`)
      return tagged(2, false, new TextEncoder().encode(name))
    }),
    ...ipAddresses.map((address) => {
      const bytes = addressBytes(address)
      if (!bytes) throw new TypeError(`${doing}: "${address}" is not an IP address`)
      return tagged(7, false, bytes)
    }),
  ]
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)

/** Undefined if it is no address. Without `isIP` of node:net, whose first call compiles patterns for 5 ms on Node. */
function addressBytes(address: string): Uint8Array | undefined {
  if (IPV4.test(address)) return Uint8Array.from(address.split('.').map(Number))
  // URL normalises every form, such as ::ffff:1.2.3.4, to hexadecimal groups with at most one gap.
  const canonical = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) : undefined
  if (canonical === undefined) return undefined
  const [left = [], right = []] = canonical.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right]
  return Uint8Array.from(groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]))
}

/** Reads what issuing needs from the authority's certificate: subject and key id, byte for byte, and its end. */
function readAuthority(ca: string): { subject: Uint8Array; keyId: Uint8Array; notAfterMs: number } {
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

/** Returns the first 160 bits of the SHA-256 of the key's bits (RFC 7093, method 1). */
function keyIdOf(publicInfo: Uint8Array): Uint8Array {
  const [, bits] = readAll(readAll(publicInfo)[0]?.content ?? new Uint8Array())
  return createHash('sha256').update(bits?.content.subarray(1) ?? new Uint8Array()).digest().subarray(0, 20)
}

function newKeyPair(algorithm: KeyAlgorithm = 'ECDSA-256'): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const [type, bits] = algorithm.split('-')
  return type === 'RSA'
    ? promisify(generateKeyPair)('rsa', { modulusLength: Number(bits) })
    : promisify(generateKeyPair)('ec', { namedCurve: `P-${bits}` })
}

function exportPublic(key: KeyObject): Uint8Array {
  return key.export({ type: 'spki', format: 'der' })
}

function exportPrivate(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes).toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

function attempt<T>(message: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    throw new TypeError(message, { cause })
  }
}
