/** Makes a kustomize base of an operator's objects. */
import { yamlText } from '../yaml_text.ts'
import { type AnyObject, byFile, markOf } from './files.ts'
import { parseImage } from './image.ts'
import { imageOf, placedElsewhere, withImage, workloadOf } from './parts.ts'

/**
 * Returns the files by their names. The image is an entry of `images` in kustomization.yaml, with the name of its
 * repository, so that an overlay can set it with the same name.
 *
 * @see https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
 */
export function kustomizeFiles(objects: readonly AnyObject[]): Map<string, string> {
  const mark = `# ${markOf('out', workloadOf(objects).metadata.name)}\n`
  const image = imageOf(objects)
  const { repository = image, tag, digest } = parseImage(image) ?? {}
  // Without either, the entry is the place where an overlay's author finds the name.
  const set = tag === undefined && digest === undefined ? { newName: repository } : { newTag: tag, digest }
  const files = byFile(withImage(objects, repository))
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [...files.keys()],
    images: [{ name: repository, ...set }],
  }
  const caution = kustomizeCaution(objects)
  return new Map([
    ['kustomization.yaml', `${mark}${caution === undefined ? '' : `# ${caution}\n`}${yamlText(kustomization)}`],
    ...[...files].map(([file, some]) => [file, mark + some.map(yamlText).join('---\n')] as const),
  ])
}

interface Webhook {
  readonly namespaceSelector: object
  readonly matchConditions?: readonly { readonly expression: string }[]
}

/** Returns what an overlay must not set, as kustomize would do it wrong; undefined if there is nothing. */
export function kustomizeCaution(objects: readonly AnyObject[]): string | undefined {
  const caution = (why: string): string => `An overlay must not set "namespace": ${why}; give --namespace instead`
  const elsewhere = placedElsewhere(objects)
  if (elsewhere.length > 0) return caution(`that moves the objects in ${elsewhere.join(', ')}`)
  const { namespace } = workloadOf(objects).metadata
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
  if (named?.kind === 'Certificate') return caution('the Certificate has its name')
  return named && caution('the ServiceMonitor expects a certificate with its name')
}
