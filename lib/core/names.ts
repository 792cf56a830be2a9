/** Validates names as the API server does. */
import { isFields } from './clone.ts'

/** Tests for a lower-case domain name of at most 253 characters: a DNS subdomain of RFC 1123. */
export function isDomainName(text: string): boolean {
  return text.length <= 253 && /^[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/.test(text)
}

/**
 * Tests for the name or value of a label: 1 to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends.
 */
export function isLabelText(text: string): boolean {
  return /^[A-Za-z\d](?:[-\w.]{0,61}[A-Za-z\d])?$/.test(text)
}

const TEXT = '63 letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'

/** Returns why the API server refuses the name of a label, or undefined. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/')
  if (slash >= 0 && !isDomainName(key.slice(0, slash))) {
    return 'what is before the slash must be a domain name in lower case'
  }
  return isLabelText(key.slice(slash + 1)) ? undefined : `a name has 1 to ${TEXT}`
}

/** The same for the value of a label, which may be empty. */
export function labelValueProblem(value: unknown): string | undefined {
  if (value === '' || (typeof value === 'string' && isLabelText(value))) return undefined
  return `a value is text of at most ${TEXT}`
}

/** @throws TypeError that begins with `cannot`, for a label that the API server refuses. */
export function checkLabel(cannot: string, key: string, ...values: readonly unknown[]): void {
  const problem = labelKeyProblem(key) ?? values.map(labelValueProblem).find(Boolean)
  if (problem) throw new TypeError(`${cannot} the label ${JSON.stringify(key)}: ${problem}`)
}

/** @throws TypeError for labels that the API server refuses on an object. */
export function checkLabels(labels: unknown): void {
  if (!isFields(labels)) throw new TypeError('labels must be an object')
  for (const [key, value] of Object.entries(labels)) checkLabel('Cannot set', key, value)
}

/** Tests for a lower-case DNS label of at most 63 characters (RFC 1035). */
export function isLabel(text: string): boolean {
  return /^[a-z](?:[-a-z\d]{0,61}[a-z\d])?$/.test(text)
}

/** Tests for the name of a namespace: a DNS label of RFC 1123, which may begin with a digit. */
export function isNamespace(text: string): boolean {
  return text.length <= 63 && !text.includes('.') && isDomainName(text)
}

export interface KindNames {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind?: string | undefined
  readonly plural?: string | undefined
}

/** Returns what is wrong with the names of a kind, or undefined. */
export function kindProblem({ group, version, kind, plural }: KindNames): string | undefined {
  if (group !== '' && !isDomainName(group)) {
    return `group ${
      JSON.stringify(group)
    } must be a domain, such as "apps" or "example.com", or empty for the core group`
  }
  if (!isLabel(version)) {
    return `version ${JSON.stringify(version)} must be a lower-case label, such as "v1" or "v1alpha1"`
  }
  if (kind !== undefined && !/^[A-Za-z][A-Za-z\d]{0,62}$/.test(kind)) return notCamelCase(kind)
  // Aggregated APIs have names with "_" and ".", such as those of external metrics.
  if (plural !== undefined && !/^\w[-\w.]*$/.test(plural)) {
    return `plural ${JSON.stringify(plural)} must be one word, such as "foos"`
  }
  return undefined
}

export function notCamelCase(kind: string): string {
  return `kind ${JSON.stringify(kind)} must be CamelCase with at most 63 letters and digits, such as "Foo"`
}

/** Returns whether the API server accepts a finalizer for all kinds: a qualified name with a domain. */
export function isFinalizerName(text: string): boolean {
  const [domain = '', name = '', ...more] = text.split('/')
  return more.length === 0 && isDomainName(domain) && isLabelText(name)
}

/** Tests whether the API server requires an approval annotation on CRDs of this group. */
export function isProtectedGroup(group: string): boolean {
  return /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)
}

/**
 * Orders versions as Kubernetes does, highest priority first: v2, v1, v2beta1, v1beta1, v1alpha1, then others by
 * alphabet.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(rank)
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0
  return right[0] - left[0] || right[1] - left[1] || right[2] - left[2]
}

/** Returns stability, major and minor. Larger has priority. */
function rank(version: string): readonly [number, number, number] | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version)
  if (!match) return undefined
  const stability = match[2] === 'alpha' ? 0 : match[2] === 'beta' ? 1 : 2
  return [stability, Number(match[1]), Number(match[3] ?? 0)]
}
