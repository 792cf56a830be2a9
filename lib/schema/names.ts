/** Checks the names of a kind by the API server's rules, derives plurals and orders versions. */
import { isDomainName, isLabel, kindProblem, notCamelCase } from '../core/names.ts'

export interface Names {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** Returns why the API server would refuse these names, or undefined. */
export function nameProblem({ group, version, kind, plural, shortNames, categories }: Names): string | undefined {
  if (!isDomainName(group) || !group.includes('.')) {
    return `group "${group}" must be a domain with at least one dot, such as "example.com"`
  }
  const problem = kindProblem({ group, version, kind })
  if (problem) return problem
  if (/^[a-z]/.test(kind)) return notCamelCase(kind)
  if (`${plural}.${group}`.length > 253) return `"${plural}.${group}" must have at most 253 characters`
  const notLabel = (what: string, example: string, names: readonly string[] = []): string | undefined => {
    const name = names.find((each) => !isLabel(each))
    return name === undefined ? undefined : `${what} "${name}" must be a lower-case label, such as "${example}"`
  }
  return notLabel('plural', 'foos', [plural]) ?? notLabel('short name', 'fo', shortNames) ??
    notLabel('category', 'all', categories)
}

/** Returns the usual plural of a kind, in lower case: Foo → foos, Proxy → proxies, Ingress → ingresses. */
export function pluralOf(kind: string): string {
  const singular = kind.toLowerCase()
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`
}
