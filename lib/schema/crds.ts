/** Builds CustomResourceDefinitions: one for all versions of a kind, of which one is stored. */
import { type ConversionDescription, withConverted } from './conversions.ts'
import { compareVersions } from '../core/names.ts'
import { groupResourceOf, resourceId } from '../core/resource.ts'
import type {
  AnyResource,
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceVersion,
} from '../core/resource.ts'

export interface CrdOptions {
  /** The operator's conversions. Their hubs are stored, and their kinds need not be among the resources. */
  readonly conversions?: Iterable<ConversionDescription> | undefined
  /** The `spec.conversion` of kinds with conversions. Default: none. */
  readonly conversion?: CustomResourceConversion | undefined
}

/**
 * Returns one CRD for each group and kind, in the order of first mention. Kinds without a definition are skipped. The
 * stored version is the hub of the conversions, or else the one of the highest priority in Kubernetes' order.
 *
 * @throws TypeError if a version is defined twice, two versions are hubs, a version of a kind with conversions has
 * none, no version is served, or versions differ in kind or scope.
 */
export function crdOf(
  resources: Iterable<AnyResource>,
  { conversions = [], conversion }: CrdOptions = {},
): readonly CustomResourceDefinition[] {
  const all = [...conversions]
  const kinds = new Map<string, AnyResource[]>()
  for (const resource of withConverted(resources, all)) {
    if (!resource.definition) continue
    const name = groupResourceOf(resource)
    const versions = kinds.get(name) ?? []
    if (versions.some((other) => other.version === resource.version && other.definition !== resource.definition)) {
      refuse(name, `its version "${resource.version}" is defined twice`)
    }
    if (!versions.some((other) => other.definition === resource.definition)) kinds.set(name, [...versions, resource])
  }
  return [...kinds].map(([name, versions]) => {
    const own = all.filter(({ hub }) => groupResourceOf(hub) === name)
    const crd = combined(name, versions, own)
    return own.length > 0 && conversion ? { ...crd, spec: { ...crd.spec, conversion } } : crd
  })
}

function combined(
  name: string,
  resources: readonly AnyResource[],
  conversions: readonly ConversionDescription[],
): CustomResourceDefinition {
  const ordered = resources.toSorted((a, b) => compareVersions(a.version, b.version))
  const hubs = new Set(conversions.map(({ hub }) => resourceId(hub)))
  const chosen = ordered.filter((resource) => hubs.has(resourceId(resource)))
  if (chosen.length > 1) {
    const versions = chosen.map(({ version }) => `"${version}"`).join(' and ')
    refuse(name, `only one version can be stored, not ${versions}`)
  }
  const stored = chosen[0] ?? ordered[0]!
  for (const resource of ordered) {
    for (const key of ['kind', 'scope'] as const) {
      if (resource[key] !== stored[key]) {
        const values = [resource, stored].map((one) => `"${one.version}" has "${one[key]}"`).join(' and ')
        refuse(name, `versions differ in ${key}: ${values}`)
      }
    }
  }
  const lone = chosen.length > 0 &&
    ordered.find((one) => one !== stored && !conversions.some(({ from }) => from.version === one.version))
  if (lone) {
    const what = `its version "${lone.version}" has no conversion to "${stored.version}", which is stored`
    refuse(name, `${what}; declare it with app.convert()`)
  }
  // Names are those of the stored version, such as short names that other versions lack.
  const base = stored.definition!.crd
  const versions = ordered.map((resource): CustomResourceVersion => ({
    ...resource.definition!.crd.spec.versions[0]!,
    storage: resource === stored,
  }))
  if (!versions.some(({ served }) => served)) refuse(name, 'no version of it is served')
  return { ...base, spec: { ...base.spec, versions } }
}

function refuse(name: string, why: string): never {
  throw new TypeError(`Cannot make one CRD of "${name}": ${why}`)
}
