/** Builds CustomResourceDefinitions: one for all versions of a kind, of which one is stored. */
import { compareVersions } from './names.ts'
import { groupResourceOf, resourceId } from '../core/resource.ts'
import type { AnyResource, CustomResourceDefinition, CustomResourceVersion } from '../core/resource.ts'

/**
 * Returns one CRD for each group and kind, in the order of first mention. Kinds without a definition are skipped. The
 * stored version is the one in `hubs` (the targets of conversions), or else the one of the highest priority in
 * Kubernetes' order.
 *
 * @throws TypeError if a version is defined twice, two versions are hubs, or versions differ in kind or scope.
 */
export function crdOf(
  resources: Iterable<AnyResource>,
  options: { readonly hubs?: Iterable<AnyResource> } = {},
): readonly CustomResourceDefinition[] {
  const hubs = new Set([...options.hubs ?? []].map(resourceId))
  const kinds = new Map<string, AnyResource[]>()
  for (const resource of resources) {
    if (!resource.definition) continue
    const name = groupResourceOf(resource)
    const versions = kinds.get(name) ?? []
    if (versions.some((other) => other.version === resource.version && other.definition !== resource.definition)) {
      throw new TypeError(`Cannot make one CRD of "${name}": its version "${resource.version}" is defined twice`)
    }
    if (!versions.some((other) => other.definition === resource.definition)) kinds.set(name, [...versions, resource])
  }
  return [...kinds].map(([name, versions]) => combined(name, versions, hubs))
}

function combined(
  name: string,
  resources: readonly AnyResource[],
  hubs: ReadonlySet<string>,
): CustomResourceDefinition {
  const ordered = resources.toSorted((a, b) => compareVersions(a.version, b.version))
  const chosen = ordered.filter((resource) => hubs.has(resourceId(resource)))
  if (chosen.length > 1) {
    const versions = chosen.map(({ version }) => `"${version}"`).join(' and ')
    throw new TypeError(`Cannot make one CRD of "${name}": only one version can be stored, not ${versions}`)
  }
  const stored = chosen[0] ?? ordered[0]!
  for (const resource of ordered) {
    for (const key of ['kind', 'scope'] as const) {
      if (resource[key] !== stored[key]) {
        const values = [resource, stored].map((one) => `"${one.version}" has "${one[key]}"`).join(' and ')
        throw new TypeError(`Cannot make one CRD of "${name}": versions differ in ${key}: ${values}`)
      }
    }
  }
  // Names are those of the stored version, such as short names that other versions lack.
  const base = stored.definition!.crd
  const versions = ordered.map((resource): CustomResourceVersion => ({
    ...resource.definition!.crd.spec.versions[0]!,
    storage: resource === stored,
  }))
  return { ...base, spec: { ...base.spec, versions } }
}
