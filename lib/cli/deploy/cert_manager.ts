/** Builds what cert-manager needs to keep the certificate of an operator's webhooks. */
import type { OperatorDescription } from '../../operator/description.ts'
import { namesOf, type WebhookTarget } from '../../webhook/configurations.ts'
import type { ManifestObject } from '../manifests.ts'

/** The same life as that of a self-made CA. */
const CA_LIFE = `${10 * 365 * 24}h`
const KEY = { algorithm: 'ECDSA', size: 256 } as const

/** Returns the name of the Secret with the certificate, which is also that of the Certificate. */
export function certificateName(operator: string): string {
  return `${operator}-webhook-certs`
}

/**
 * Returns a CA and a certificate of it. A certificate of a self-signed Issuer alone would be its own CA: each renewal
 * would change what the API server must trust.
 *
 * @see https://cert-manager.io/docs/configuration/selfsigned/#bootstrapping-ca-issuers
 *
 * @throws Error if the operator has no webhooks, or makes their certificate itself.
 */
export function certManagerObjects(
  { options: { name, webhooks } }: OperatorDescription,
  target: WebhookTarget | undefined,
  { namespace, labels }: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
): object[] {
  const cannot = `Cannot write manifests of operator "${name}": --cert-manager`
  if (!target) throw new Error(`${cannot} is for webhooks, and it has none`)
  if (typeof webhooks?.certs === 'object') {
    throw new Error(`${cannot} needs a folder: with certs: { secret } the operator makes the certificate itself`)
  }
  const { dnsNames, ipAddresses } = namesOf(target)
  const [root, ca] = [`${name}-webhook-root`, `${name}-webhook-ca`]
  const made = (kind: string, of: string, spec: object) => ({
    apiVersion: 'cert-manager.io/v1',
    kind,
    metadata: { name: of, namespace, labels },
    spec,
  })
  const certificate = (of: string, issuer: string, spec: object): object => {
    const issuerRef = { group: 'cert-manager.io', kind: 'Issuer', name: issuer }
    return made('Certificate', of, { secretName: of, privateKey: KEY, ...spec, issuerRef })
  }
  return [
    made('Issuer', root, { selfSigned: {} }),
    certificate(ca, root, { isCA: true, commonName: `${name}-ca`, duration: CA_LIFE }),
    made('Issuer', ca, { ca: { secretName: ca } }),
    certificate(certificateName(name), ca, {
      dnsNames,
      ...(ipAddresses.length > 0 && { ipAddresses }),
      usages: ['digital signature', 'server auth'],
    }),
  ]
}

/** Returns the objects with the annotation by which cert-manager writes their CA, if they call webhooks. */
export function withInjectedCa(objects: readonly object[], namespace: string, operator: string): object[] {
  return (objects as readonly ManifestObject[]).map((each) => {
    const { conversion } = (each['spec'] ?? {}) as { readonly conversion?: unknown }
    if (each.kind === 'CustomResourceDefinition' && !conversion) return each
    const own = { 'cert-manager.io/inject-ca-from': `${namespace}/${certificateName(operator)}` }
    return { ...each, metadata: { ...each.metadata, annotations: { ...each.metadata.annotations, ...own } } }
  })
}
