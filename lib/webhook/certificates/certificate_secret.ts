/** The content of the Secret that holds self-made certificates: how it is read, and how each step changes it. */
import { encodeBase64 } from '../../core/base64.ts'
import type { KubeObject } from '../../core/objects.ts'
import { type CertificateFacts, certificatesIn, readCertificate } from '../../runtime/net/certificate_facts.ts'
import { createAuthority, type KeyAlgorithm, openAuthority } from '../../runtime/net/certificates.ts'
import type { ServerNames } from '../../runtime/net/certificate_fields.ts'
import { isPair } from '../../runtime/os/builtins.ts'
import type { CertificatePair } from '../common/handler.ts'
import { withoutSpace } from './kept_cas.ts'
import type { RotationTimings, SecretFacts, WriteStep } from './rotation.ts'

/**
 * The texts of the Secret, in PEM; empty if missing. The keys are those of cert-manager, so that a mount of the Secret
 * can be served from files: `ca.crt` has all trusted CAs, the newest first, `tls.crt` and `tls.key` the served pair.
 * `ca.key` is the key of the newest CA.
 */
export interface CertificateTexts {
  readonly ca: string
  readonly caKey: string
  readonly cert: string
  readonly key: string
}

const KEYS = { ca: 'ca.crt', caKey: 'ca.key', cert: 'tls.crt', key: 'tls.key' } as const

const NOTHING: CertificateTexts = { ca: '', caKey: '', cert: '', key: '' }

type Data = Readonly<Record<string, string>>

/** Returns the texts of a Secret. A value that is not base64 is empty. */
export function textsOf(secret: KubeObject): CertificateTexts {
  const { data } = secret as KubeObject & { readonly data?: Data | null }
  const text = (name: string): string => decode(data?.[name] ?? '')
  return { ca: text(KEYS.ca), caKey: text(KEYS.caKey), cert: text(KEYS.cert), key: text(KEYS.key) }
}

/** Returns the `data` of the Secret for these texts. */
export function dataOf(texts: CertificateTexts): Data {
  return {
    [KEYS.ca]: encodeBase64(texts.ca),
    [KEYS.caKey]: encodeBase64(texts.caKey),
    [KEYS.cert]: encodeBase64(texts.cert),
    [KEYS.key]: encodeBase64(texts.key),
  }
}

function decode(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
  } catch {
    return ''
  }
}

/** Returns the CAs of the texts, in PEM, without what cannot be parsed: the bundle for clients to trust. */
export function bundleOf(texts: CertificateTexts): string {
  return casOf(texts).map(({ pem }) => pem).join('')
}

/** Returns the served pair, or undefined if it cannot be served. */
export function pairOf({ cert, key }: CertificateTexts): CertificatePair | undefined {
  return matches(cert, key) ? { cert, key } : undefined
}

/** Returns the CA of a Secret with the keys of cert-manager. @throws TypeError if it is not a CA with its key. */
export async function givenCaOf(secret: KubeObject): Promise<GivenCa> {
  const { cert, key } = textsOf(secret)
  // After it, there may be the certificates of its own issuers.
  const [first = ''] = certificatesIn(cert)
  await openAuthority(first, key)
  return { cert: `${first}\n`, key, notAfterMs: readCertificate(first)!.notAfterMs }
}

/** Returns what the rotation decides by. */
export function factsOf(texts: CertificateTexts, names: ServerNames, given?: GivenCa): SecretFacts {
  const cas = casOf(texts)
  const leaf = pairOf(texts) && readCertificate(texts.cert)
  return {
    cas: cas.map(({ facts }) => facts),
    hasCaKey: cas[0] !== undefined &&
      (given ? withoutSpace(cas[0].pem) === withoutSpace(given.cert) : matches(cas[0].pem, texts.caKey)),
    ...(given && { isGiven: true }),
    leaf: leaf && {
      notBeforeMs: leaf.notBeforeMs,
      notAfterMs: leaf.notAfterMs,
      issuer: cas.findIndex(({ pem }) => leaf.isIssuedBy(pem)),
      hasNames: leaf.hasNames(names),
    },
  }
}

function casOf({ ca }: CertificateTexts): { readonly pem: string; readonly facts: CertificateFacts }[] {
  return certificatesIn(ca).flatMap((block) => {
    const facts = readCertificate(block)
    return facts?.isAuthority ? [{ pem: `${block}\n`, facts }] : []
  })
}

function matches(cert: string, key: string): boolean {
  try {
    return isPair(cert, key)
  } catch {
    return false // Not PEM. The error is not reported, as it may quote a key.
  }
}

/** A CA that others make and renew, in PEM. Its key is never stored with what it issues. */
export interface GivenCa {
  readonly cert: string
  readonly key: string
  readonly notAfterMs: number
}

export interface StepOptions {
  readonly names: ServerNames
  /** Of new keys. */
  readonly algorithm?: KeyAlgorithm | undefined
  /** Undefined: CAs are made. */
  readonly given?: GivenCa | undefined
  readonly nowMs: number
  readonly timings: RotationTimings
}

/** Returns the texts after a step. `before`: the texts in the Secret, or the last good ones. */
export async function takeStep(
  kind: WriteStep['kind'],
  before: CertificateTexts | undefined = NOTHING,
  options: StepOptions,
): Promise<CertificateTexts> {
  switch (kind) {
    case 'create':
    case 'replace':
      return await withLeaf(await withCa(before, options), options)
    case 'addCa':
      return await withCa(before, options)
    case 'issueLeaf':
      return await withLeaf(before, options)
    case 'dropCas':
      return { ...before, ca: casOf(before)[0]?.pem ?? '' }
  }
}

/** Puts a new CA in front. Of the others, those that are newer than the issuer of the leaf have issued nothing. */
async function withCa(texts: CertificateTexts, options: StepOptions): Promise<CertificateTexts> {
  const { names, nowMs, timings, algorithm, given } = options
  const commonName = `kubeloop-webhook-ca@${Math.floor(nowMs / 1000)}`
  const { ca, key } = given
    ? { ca: given.cert, key: '' }
    : (await createAuthority({ commonName, now: nowMs, validForMs: timings.caLifeMs, algorithm })).save()
  const issuer = factsOf(texts, names).leaf?.issuer ?? 0
  const kept = casOf(texts).slice(Math.max(0, issuer))
  return { ...texts, ca: [ca, ...kept.map(({ pem }) => pem)].join(''), caKey: key }
}

async function withLeaf(texts: CertificateTexts, options: StepOptions): Promise<CertificateTexts> {
  const { names, nowMs, timings, algorithm, given } = options
  const ca = casOf(texts)[0]?.pem ?? ''
  const authority = await openAuthority(ca, given?.key ?? texts.caKey)
  const commonName = 'kubeloop-webhook'
  const before = readCertificate(texts.cert)
  const leaf = await authority.issue({
    commonName,
    // Replicas of another version of the operator may be called by other names until they end.
    ...(before && !before.hasNames(names) ? allNames(names, before.names) : names),
    usage: 'server',
    algorithm,
    validForMs: timings.leafLifeMs,
    now: nowMs,
  })
  return { ...texts, ...leaf }
}

function allNames(a: ServerNames, b: ServerNames): ServerNames {
  const all = (field: keyof ServerNames): string[] => [...new Set([...a[field] ?? [], ...b[field] ?? []])]
  return { dnsNames: all('dnsNames'), ipAddresses: all('ipAddresses') }
}
