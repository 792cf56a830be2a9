/** Groups objects into files by topic, for a kustomize base and a Helm chart. */

/** An object that is printed. */
export interface AnyObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** The forms that are written to a folder. */
export type FolderForm = 'out' | 'helm'

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

/** Returns the objects by the names of their files, in the order in which they can be applied. */
export function byFile(objects: readonly AnyObject[]): Map<string, AnyObject[]> {
  return Map.groupBy(objects, ({ kind }) => `${FILES[kind] ?? kind.toLowerCase()}.yaml`)
}

/** The first word of every mark. */
const MARK = 'Written by kubeloop manifests'

/**
 * Returns the text in one of the first two lines of every file that is written: of one operator and one form, so that
 * two of them cannot overwrite each other in one folder. It needs no quotes in YAML, JSON and templates.
 */
export function markOf(form: FolderForm, operator: string): string {
  return `${MARK} --${form} of the operator ${operator}; its next run overwrites all changes`
}

/** Returns the mark of a file, or undefined if this command did not write it. */
export function markIn(text: string): string | undefined {
  const [first = '', second = ''] = text.split('\n', 2)
  for (const line of [first, second]) {
    const at = line.indexOf(MARK)
    if (at >= 0) return line.slice(at)
  }
  return undefined
}
