/** Decides whose webhook configurations and conversions are: by label, field manager and address. Pure. */
import type { KubeObject } from '../../core/objects.ts'
import type { AnyResource, WebhookClientConfig } from '../../core/resource.ts'

/** The label of our objects; its value is the operator's name. */
export const OPERATOR_LABEL = 'kubeloop.dev/operator'

const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1', scope: 'Cluster' } as const

export const MUTATING: AnyResource = {
  ...ADMISSION,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
}

export const VALIDATING: AnyResource = {
  ...ADMISSION,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
}

/**
 * Returns the names of the operator's configurations: those that kubebuilder's projects have, as users search for them.
 */
export function configurationNames(operator: string): { readonly mutating: string; readonly validating: string } {
  return {
    mutating: `${operator}-mutating-webhook-configuration`,
    validating: `${operator}-validating-webhook-configuration`,
  }
}

/** Returns the operator's configurations: their kinds and names. */
export function ownConfigurations(operator: string): readonly (readonly [AnyResource, string])[] {
  const { mutating, validating } = configurationNames(operator)
  return [[MUTATING, mutating], [VALIDATING, validating]]
}

/** A webhook configuration, with the fields that are read here. */
export type Called = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig: WebhookClientConfig }[] | null
}

/** Tests whether two addresses are of one server, at any path. */
export function isSameServer(a: WebhookClientConfig, b: WebhookClientConfig): boolean {
  if (a.service && b.service) return a.service.name === b.service.name && a.service.namespace === b.service.namespace
  return a.url !== undefined && b.url !== undefined && URL.parse(a.url)?.host === URL.parse(b.url)?.host
}

export function serverOf({ service, url }: WebhookClientConfig): string {
  return service ? `the Service "${service.namespace}/${service.name}"` : url ?? 'nothing'
}

/**
 * Tests whether a configuration is of this operator and not of another instance with its name. `namespace`: that of the
 * operator's Services; undefined where it has none. A URL is judged by the field manager.
 */
export function isOwnConfiguration(object: Called, operator: string, namespace: string | undefined): boolean {
  if (object.metadata.labels?.[OPERATOR_LABEL] !== operator) return false
  const isWriter = managersOf(object).some(({ manager }) => manager === operator)
  return (object.webhooks ?? []).every(({ clientConfig: { service } }) =>
    service ? service.namespace === namespace : isWriter
  )
}

/**
 * Tests whether a conversion of a definition is of this operator, as {@link isOwnConfiguration}. Others apply the one
 * that `kubeloop crd` prints, with the Service of the operator's name.
 */
export function isOwnConversion(
  crd: KubeObject,
  { service }: WebhookClientConfig,
  operator: string,
  namespace: string | undefined,
): boolean {
  if (service && service.namespace !== namespace) return false
  return service?.name === operator || setsConversion(crd, operator)
}

/** Tests whether a field manager has set the strategy of a definition's conversion. */
export function setsConversion(crd: KubeObject, manager: string): boolean {
  return managersOf(crd).some((each) =>
    each.manager === manager && each.fieldsV1?.['f:spec']?.['f:conversion']?.['f:strategy'] !== undefined
  )
}

interface FieldManager {
  readonly manager?: string
  readonly fieldsV1?: { readonly 'f:spec'?: { readonly 'f:conversion'?: { readonly 'f:strategy'?: unknown } } }
}

function managersOf({ metadata }: KubeObject): readonly FieldManager[] {
  return (metadata as { readonly managedFields?: readonly FieldManager[] }).managedFields ?? []
}
