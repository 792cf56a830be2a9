/** Builds what cert-manager needs to keep the certificates of an operator's webhooks and metrics. */
import type { OperatorDescription } from '../../operator/description/description.ts'
import type { OperatorOptions } from '../../operator/description/options.ts'
import { namesOf, type WebhookTarget } from '../../webhook/configurations/configurations.ts'
import { CERTIFICATE_FOLDER } from '../../webhook/server/defaults.ts'
import type { ManifestObject } from '../manifests.ts'
import { metricsFolder, metricsHost, metricsSecret } from './metrics.ts'

/** The same life as that of a self-made CA. */
const CA_LIFE = `${10 * 365 * 24}h`
const KEY = { algorithm: 'ECDSA', size: 256 } as const

/** Returns the name of the Secret with the certificate, which is also that of the Certificate. */
export function certificateName(operator: string): string {
  return `${operator}-webhook-certs`
}

/** Returns the folder of the certificate of the webhooks. Undefined if the operator makes it itself. */
export function certificateFolder({ webhooks = {} }: Pick<OperatorOptions, 'webhooks'>): string | undefined {
  return typeof webhooks.certs === 'object' ? undefined : webhooks.certs ?? `/tmp/${CERTIFICATE_FOLDER}`
}

type Place = { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }

/** @throws Error if nothing is mounted: no webhooks and no metrics have a certificate, or they make it themselves. */
export function certManagerObjects(
  { options }: OperatorDescription,
  target: WebhookTarget | undefined,
  place: Place,
): object[] {
  const { name, webhooks } = options
  const mounts = target !== undefined && typeof webhooks?.certs !== 'object'
  const objects = [
    ...(mounts ? chainOf(`${name}-webhook`, certificateName(name), namesOf(target), place) : []),
    ...(metricsFolder(options) !== undefined
      ? chainOf(`${name}-metrics`, metricsSecret(options), { dnsNames: [metricsHost(name, place.namespace)] }, place)
      : []),
  ]
  if (objects.length > 0) return objects
  const cannot = `Cannot write manifests of operator "${name}": --cert-manager`
  if (!target) throw new Error(`${cannot} is for webhooks, or metrics with tls: { certs }, and it has neither`)
  throw new Error(`${cannot} needs a folder: with certs: { secret } the operator makes the certificate itself`)
}

/**
 * Returns a CA and a certificate of it. A certificate of a self-signed Issuer alone would be its own CA: each renewal
 * would change what the clients must trust.
 *
 * @see https://cert-manager.io/docs/configuration/selfsigned/#bootstrapping-ca-issuers
 */
function chainOf(
  prefix: string,
  secret: string,
  { dnsNames, ipAddresses = [] }: { readonly dnsNames: readonly string[]; readonly ipAddresses?: readonly string[] },
  { namespace, labels }: Place,
): object[] {
  const [root, ca] = [`${prefix}-root`, `${prefix}-ca`]
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
    certificate(ca, root, { isCA: true, commonName: `${labels['app.kubernetes.io/name']}-ca`, duration: CA_LIFE }),
    made('Issuer', ca, { ca: { secretName: ca } }),
    certificate(secret, ca, {
      dnsNames,
      ...(ipAddresses.length > 0 && { ipAddresses }),
      usages: ['digital signature', 'server auth'],
    }),
  ]
}

/** The annotation of objects into which cert-manager writes the CA of a Certificate. */
export const INJECTED_CA = 'cert-manager.io/inject-ca-from'

/** Returns the objects with the annotation by which cert-manager writes their CA, if they call webhooks. */
export function withInjectedCa(objects: readonly object[], namespace: string, operator: string): object[] {
  return (objects as readonly ManifestObject[]).map((each) => {
    const { conversion } = (each['spec'] ?? {}) as { readonly conversion?: unknown }
    if (each.kind === 'CustomResourceDefinition' && !conversion) return each
    const own = { [INJECTED_CA]: `${namespace}/${certificateName(operator)}` }
    return { ...each, metadata: { ...each.metadata, annotations: { ...each.metadata.annotations, ...own } } }
  })
}
