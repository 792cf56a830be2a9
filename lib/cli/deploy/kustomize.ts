/** Makes a kustomize base of an operator's objects. */
import { type ManifestObject, manifestText } from '../manifests.ts'
import { INJECTED_CA } from './cert_manager.ts'
import { markOf } from './folder.ts'
import { parseImage } from './image.ts'

export interface Workload extends ManifestObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
  }
}

const FILES: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'crds',
  Issuer: 'certificates',
  Certificate: 'certificates',
  ServiceAccount: 'rbac',
  ClusterRole: 'rbac',
  ClusterRoleBinding: 'rbac',
  Role: 'rbac',
  RoleBinding: 'rbac',
  MutatingWebhookConfiguration: 'webhooks',
  ValidatingWebhookConfiguration: 'webhooks',
}

export function workloadOf(objects: readonly ManifestObject[]): Workload {
  return objects.find(({ kind }) => kind === 'Deployment') as Workload
}

function placedElsewhere(objects: readonly ManifestObject[]): string[] {
  const { metadata: { namespace: own } } = workloadOf(objects)
  const places = objects.flatMap(({ metadata: { namespace } }) => namespace === undefined ? [] : [namespace])
  return [...new Set(places)].filter((place) => place !== own).sort()
}

/**
 * Returns the files by their names. The image is an entry of `images` in kustomization.yaml, with the name of its
 * repository, so that an overlay can set it with the same name.
 *
 * @see https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
 */
export function kustomizeFiles(objects: readonly ManifestObject[]): Map<string, string> {
  const mark = `${markOf(workloadOf(objects).metadata.name)}\n`
  // The operator's container is the first.
  const { image } = workloadOf(objects).spec.template.spec.containers[0]!
  const { repository = image, tag, digest } = parseImage(image) ?? {}
  // Without either, the entry is the place where an overlay's author finds the name.
  const set = tag === undefined && digest === undefined ? { newName: repository } : { newTag: tag, digest }
  const changed = structuredClone(objects)
  Object.assign(workloadOf(changed).spec.template.spec.containers[0]!, { image: repository })
  // In the order in which they can be applied.
  const files = Map.groupBy(changed, ({ kind }) => `${FILES[kind] ?? kind.toLowerCase()}.yaml`)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [...files.keys()],
    images: [{ name: repository, ...set }],
  }
  const caution = kustomizeCaution(objects)
  return new Map([
    ['kustomization.yaml', `${mark}${caution === undefined ? '' : `# ${caution}\n`}${manifestText([kustomization])}`],
    ...[...files].map(([file, some]) => [file, mark + manifestText(some)] as const),
  ])
}

interface Webhook {
  readonly namespaceSelector: object
  readonly matchConditions?: readonly { readonly expression: string }[]
}

interface Converted {
  readonly conversion?: {
    readonly webhook?: { readonly clientConfig: { readonly service?: { readonly namespace: string } } }
  }
}

/** Returns what an overlay must not set, as kustomize would do it wrong; undefined if there is nothing. */
export function kustomizeCaution(objects: readonly ManifestObject[]): string | undefined {
  const caution = (why: string): string => `An overlay must not set "namespace": ${why}; give --namespace instead`
  const elsewhere = placedElsewhere(objects)
  if (elsewhere.length > 0) return caution(`that moves the objects in ${elsewhere.join(', ')}`)
  const { namespace } = workloadOf(objects).metadata
  const converted = objects.map(({ spec }) =>
    (spec as Converted | undefined)?.conversion?.webhook?.clientConfig.service
  )
  if (converted.some((service) => service && service.namespace !== namespace)) {
    return caution('the Service of the conversions is in another one')
  }
  const own = JSON.stringify(namespace)
  const webhooks = objects.flatMap((each) => (each['webhooks'] ?? []) as readonly Webhook[])
  const isNamed = webhooks.some(({ namespaceSelector, matchConditions = [] }) =>
    [JSON.stringify(namespaceSelector), ...matchConditions.map(({ expression }) => expression)]
      .some((text) => text.includes(own))
  )
  if (isNamed) return caution('the webhooks leave out objects by its name')
  const named = objects.find(({ kind, spec }) =>
    ['ServiceMonitor', 'Certificate'].includes(kind) && JSON.stringify(spec).includes(`.${namespace}.svc`)
  )
  const isInjected = objects.some(({ metadata: { annotations } }) => annotations?.[INJECTED_CA] !== undefined)
  if (isInjected || named?.kind === 'Certificate') return caution('the Certificate has its name')
  return named && caution('the ServiceMonitor expects a certificate with its name')
}
