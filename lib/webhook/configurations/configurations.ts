/** Makes the webhook configurations of an operator, and the conversion of its CRDs. Pure. */
import { encodeBase64 } from '../../core/base64.ts'
import { toMs } from '../../core/duration.ts'
import type { AnyResource, CustomResourceConversion, WebhookClientConfig } from '../../core/resource.ts'
import { hostOf } from '../../runtime/net/address.ts'
import type { ServerNames } from '../../runtime/net/certificate_fields.ts'
import {
  type AdmissionDescription,
  cannot,
  checkAdmission,
  type MatchCondition,
} from '../admission/admission_options.ts'
import { configurationNames, OPERATOR_LABEL } from '../common/ownership.ts'

/** How the API server reaches the webhook server: by URL (`https://127.0.0.1:9443`, without a path), or by Service. */
export type WebhookTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number | undefined } }

export interface ConfigurationOptions {
  readonly operator: string
  readonly admissions: readonly AdmissionDescription[]
  readonly target: WebhookTarget
  /** The CAs that the API server trusts, in PEM. Default: those of its system, or what cert-manager injects. */
  readonly caBundle?: string | undefined
  /** Such as `cert-manager.io/inject-ca-from`. Default: none. */
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /** What the operator writes itself before it can answer. These objects are never sent to its own webhooks. */
  readonly own?: OwnObjects | undefined
}

export interface OwnObjects {
  /** Where the operator runs. */
  readonly namespace: string
  /** Without a name: all Leases of the namespace, as those of shards are named as their pods. */
  readonly lease?: { readonly namespace: string; readonly name?: string | undefined } | undefined
  /** The Secrets with the certificates and with the CA that issues them, without which the operator cannot answer. */
  readonly secrets?: readonly Place[] | undefined
  /** The names of the definitions of its kinds. */
  readonly crds?: readonly string[] | undefined
}

interface Place {
  readonly namespace: string
  readonly name: string
}

/** The two objects of an operator; undefined if it has no webhook of that kind. */
export interface WebhookConfigurations {
  readonly mutating: WebhookConfiguration | undefined
  readonly validating: WebhookConfiguration | undefined
}

/** A MutatingWebhookConfiguration or ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1. */
export interface WebhookConfiguration {
  readonly apiVersion: 'admissionregistration.k8s.io/v1'
  readonly kind: 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration'
  readonly metadata: {
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly webhooks: readonly WebhookEntry[]
}

export interface WebhookEntry {
  readonly name: string
  readonly clientConfig: WebhookClientConfig
  readonly [field: string]: unknown
}

/** What the control plane and the nodes store. */
const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-node-lease']

/**
 * Returns the configurations of an operator. Every field that the API server would default is stated, so that a stored
 * object can be compared.
 *
 * @throws TypeError for invalid options or an invalid target, or if a path has two different sets of options.
 */
export function configurationsOf(options: ConfigurationOptions): WebhookConfigurations {
  const names = configurationNames(options.operator)
  const make = (
    kind: WebhookConfiguration['kind'],
    name: string,
    mutating: boolean,
  ): WebhookConfiguration | undefined => {
    const webhooks = entriesOf(options, mutating)
    if (webhooks.length === 0) return undefined
    const { annotations } = options
    const metadata = { name, labels: { [OPERATOR_LABEL]: options.operator }, ...(annotations && { annotations }) }
    return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata, webhooks }
  }
  return {
    mutating: make('MutatingWebhookConfiguration', names.mutating, true),
    validating: make('ValidatingWebhookConfiguration', names.validating, false),
  }
}

function entriesOf(options: ConfigurationOptions, mutating: boolean): WebhookEntry[] {
  const entries = new Map<string, WebhookEntry>()
  for (const admission of options.admissions) {
    if (admission.mutating !== mutating) continue
    const entry = entryOf(admission, options)
    const before = entries.get(entry.name)
    if (before && JSON.stringify(before) !== JSON.stringify(entry)) {
      throw new TypeError(
        `${cannot(admission.resource)}: the path ${admission.path} has two admissions with different options; ` +
          'give them the same options, or one of them another path',
      )
    }
    entries.set(entry.name, entry)
  }
  return [...entries.values()]
}

function entryOf(
  admission: AdmissionDescription,
  { operator, target, caBundle, own }: ConfigurationOptions,
): WebhookEntry {
  const { resource, path, mutating, options = {} } = admission
  checkAdmission(admission)
  const { operations = ['CREATE', 'UPDATE'], subresources = [], failurePolicy = 'Fail' } = options
  const { group, version, plural } = resource
  const conditions = [...exceptions(admission, target, own), ...(options.matchConditions ?? [])]
  return {
    name: entryName(path, operator),
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfigOf(target, path, caBundle),
    failurePolicy,
    ...(conditions.length > 0 && { matchConditions: conditions }),
    matchPolicy: options.matchPolicy ?? 'Equivalent',
    namespaceSelector: options.namespaceSelector ?? {},
    objectSelector: options.objectSelector ?? {},
    ...(mutating && { reinvocationPolicy: options.reinvocationPolicy ?? 'Never' }),
    rules: [{
      apiGroups: [group],
      apiVersions: [version],
      operations: operations.filter((operation) => !mutating || operation !== 'DELETE'),
      resources: [plural, ...subresources.map((subresource) => `${plural}/${subresource}`)],
      scope: options.scope ?? '*',
    }],
    sideEffects: options.sideEffects ?? 'None',
    timeoutSeconds: toMs(options.timeout ?? '10s') / 1000,
  }
}

/**
 * Returns the name of a webhook. The API server requires a domain with three parts, and shows it to users whose request
 * is denied and in its metrics; so it names kind and operator.
 */
function entryName(path: string, operator: string): string {
  return `${path.toLowerCase().replace(/[^a-z\d]/g, '-').replace(/^-+|-+$/g, '')}.${operator}.kubeloop`
}

/**
 * Excludes the operator's own objects: if they were refused, it could never lead, nor mend its certificates. And, of a
 * webhook that runs in the cluster, what may be needed to start its Pods. These are conditions, which hold beside the
 * user's selectors, and for objects without a namespace.
 */
function exceptions(
  { resource, options: { failurePolicy = 'Fail', includeSystem = [] } = {} }: AdmissionDescription,
  target: WebhookTarget,
  own: OwnObjects | undefined,
): MatchCondition[] {
  const conditions: MatchCondition[] = []
  const expression = excluded(resource.group, resource.plural, own)
  if (expression !== undefined) conditions.push({ name: `not-of-${resource.plural}-of-the-operator`, expression })
  if (failurePolicy === 'Fail' && 'service' in target && isBuiltIn(resource) && !includeSystem.includes('namespaces')) {
    const places = new Set([...SYSTEM_NAMESPACES, target.service.namespace, ...(own ? [own.namespace] : [])])
    conditions.push({
      name: 'not-in-system-namespaces',
      expression: `!(has(request.namespace) && request.namespace in ${JSON.stringify([...places])})`,
    })
  }
  return conditions
}

function excluded(group: string, plural: string, own: OwnObjects | undefined): string | undefined {
  switch (`${group}/${plural}`) {
    case 'coordination.k8s.io/leases':
      return own?.lease && notAt(own.lease)
    case '/secrets':
      return own?.secrets?.map(notAt).join(' && ') || undefined
    case 'apiextensions.k8s.io/customresourcedefinitions':
      return own?.crds?.length ? `!(request.name in ${JSON.stringify(own.crds)})` : undefined
    default:
      return undefined
  }
}

function notAt({ namespace, name }: NonNullable<OwnObjects['lease']>): string {
  const isThere = `request.namespace == ${JSON.stringify(namespace)}`
  return `!(${name === undefined ? isThere : `${isThere} && request.name == ${JSON.stringify(name)}`})`
}

/** Tests for a kind that may be needed to start a Pod. */
function isBuiltIn({ group, definition }: AnyResource & { readonly definition?: unknown }): boolean {
  return !definition && (!group.includes('.') || group.endsWith('.k8s.io'))
}

/** Returns the `spec.conversion` of a CRD whose objects the server converts at this path. */
export function conversionOf(target: WebhookTarget, caBundle?: string, path = '/convert'): CustomResourceConversion {
  return {
    strategy: 'Webhook',
    webhook: { clientConfig: clientConfigOf(target, path, caBundle), conversionReviewVersions: ['v1'] },
  }
}

/** Returns the names that a server's certificate needs to be called at this target. */
export function namesOf(target: WebhookTarget): Required<ServerNames> {
  if ('service' in target) {
    const { name, namespace } = target.service
    const service = `${name}.${namespace}`
    return { dnsNames: [`${service}.svc`, `${service}.svc.cluster.local`, service], ipAddresses: [] }
  }
  const host = hostOf(urlOf(target.url))
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':')
  const [dnsNames, ipAddresses] = [new Set(['localhost']), new Set(['127.0.0.1', '::1'])]
  ;(isAddress ? ipAddresses : dnsNames).add(host)
  return { dnsNames: [...dnsNames], ipAddresses: [...ipAddresses] }
}

function clientConfigOf(target: WebhookTarget, path: string, caBundle: string | undefined): WebhookClientConfig {
  const trusted = caBundle === undefined ? {} : { caBundle: encodeBase64(caBundle) }
  if ('service' in target) {
    const { namespace, name, port = 443 } = target.service
    return { service: { namespace, name, port, path }, ...trusted }
  }
  return { url: urlOf(target.url).href.replace(/\/$/, '') + path, ...trusted }
}

/** Checks a URL as the API server does. */
function urlOf(text: string): URL {
  const url = URL.parse(text)
  const problem = !url
    ? 'it is not a URL'
    : url.protocol !== 'https:'
    ? 'it must begin with https://'
    : url.username || url.password
    ? 'it must have no user name or password'
    : url.search || url.hash
    ? 'it must have no query and no fragment'
    : undefined
  if (problem) {
    const shown = url ? `${url.protocol}//${url.host}` : text
    throw new TypeError(
      `Cannot use ${JSON.stringify(shown)} as the URL of webhooks: ${problem}; write https://HOST:PORT`,
    )
  }
  return url!
}
