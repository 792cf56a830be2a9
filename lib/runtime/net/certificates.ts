/**
 * Creates certificate authorities and issues certificates: X.509 v3, SHA-256, keys as PKCS#8 PEM.
 *
 * Uses node:crypto, which creates keys and signs the same on all three runtimes, and a DER writer of 100 lines: 2 KB.
 * The alternative @peculiar/x509 has 342 KB minified (82 KB gzipped) and thirteen packages, and needs a
 * `reflect-metadata` polyfill that changes the global Reflect.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { promisify } from 'node:util'
import { equal, readAuthority } from './certificate_facts.ts'
import { encodeNames, exportPublic, keyIdOf, OID, type ServerNames } from './certificate_fields.ts'
import { bitString, boolean, der, integer, namedBits, oid, sequence, TAG, tagged, time, utf8 } from './der.ts'

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

function newKeyPair(algorithm: KeyAlgorithm = 'ECDSA-256'): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const [type, bits] = algorithm.split('-')
  return type === 'RSA'
    ? promisify(generateKeyPair)('rsa', { modulusLength: Number(bits) })
    : promisify(generateKeyPair)('ec', { namedCurve: `P-${bits}` })
}

function exportPrivate(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes).toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

function attempt<T>(message: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    throw new TypeError(message, { cause })
  }
}
