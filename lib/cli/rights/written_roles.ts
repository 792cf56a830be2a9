/** Reads the Roles and ClusterRoles that a person has written. */
import type { ManifestObject } from '../manifests.ts'

/** One rule of a written role, and where it holds. */
export interface WrittenRule {
  /** The role, as `ClusterRole "a"`. */
  readonly role: string
  /** Where the rule holds; `''` is everywhere. Undefined: a Role without a namespace. Empty: nothing binds the role. */
  readonly namespaces: readonly (string | undefined)[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Empty for all. */
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

const GROUP = 'rbac.authorization.k8s.io/'

const LISTS = ['apiGroups', 'resources', 'verbs', 'resourceNames', 'nonResourceURLs'] as const

/**
 * Returns the rules of all roles in a file. A ClusterRole holds everywhere, or, if the file has only RoleBindings for
 * it, in their namespaces. In a file with bindings a role that none of them names holds nowhere: it is for other users.
 * Other objects are ignored.
 *
 * @throws Error if there is no role, one is aggregated, or a rule is malformed.
 */
export function writtenRules(objects: readonly ManifestObject[], file: string): WrittenRule[] {
  const roles = objects.filter(({ apiVersion, kind }) =>
    apiVersion.startsWith(GROUP) && (kind === 'Role' || kind === 'ClusterRole')
  )
  if (roles.length === 0) throw new Error(`Cannot check ${file}: it has no Role and no ClusterRole`)
  return roles.flatMap((role) => rulesOf(role, objects, file))
}

type RoleObject = ManifestObject & { readonly rules?: unknown; readonly aggregationRule?: unknown }

function rulesOf(role: RoleObject, objects: readonly ManifestObject[], file: string): WrittenRule[] {
  const title = `${role.kind} "${role.metadata.name}"`
  const wrong = (what: string): Error => new Error(`Cannot check ${file}: ${title} ${what}`)
  if (role.aggregationRule) {
    throw wrong('is aggregated: its rules are those of other ClusterRoles, chosen by the cluster; check those')
  }
  const { rules } = role
  if (rules !== undefined && rules !== null && !Array.isArray(rules)) throw wrong('has rules that are not a list')
  const namespaces = placesOf(role, objects)
  return ((rules ?? []) as unknown[]).map((rule, at) => {
    if (typeof rule !== 'object' || rule === null) throw wrong(`has a rule ${at + 1} that is not an object`)
    const read = Object.fromEntries(LISTS.map((field) => {
      const list = (rule as Record<string, unknown>)[field] ?? []
      const isTexts = Array.isArray(list) && list.every((each) => typeof each === 'string')
      if (!isTexts) throw wrong(`has a rule ${at + 1} whose ${field} is not a list of strings`)
      return [field, list as readonly string[]]
    })) as unknown as Record<(typeof LISTS)[number], readonly string[]>
    const unknown = Object.keys(rule).find((field) => !(LISTS as readonly string[]).includes(field))
    if (unknown !== undefined) throw wrong(`has a rule ${at + 1} with "${unknown}"; the fields are ${LISTS.join(', ')}`)
    if (read.verbs.length === 0) throw wrong(`has a rule ${at + 1} without verbs`)
    return { role: title, namespaces, ...read }
  })
}

interface Binding extends ManifestObject {
  readonly roleRef?: { readonly kind?: string; readonly name?: string }
}

/** Returns where a role holds by the bindings in the file. */
function placesOf({ kind, metadata: { name, namespace } }: RoleObject, objects: readonly ManifestObject[]) {
  const everywhere: readonly (string | undefined)[] = kind === 'Role' ? [namespace] : ['']
  const all = (objects as readonly Binding[]).filter((each) =>
    each.apiVersion.startsWith(GROUP) && each.kind.endsWith('Binding')
  )
  const bindings = all.filter(({ roleRef, metadata }) =>
    roleRef?.kind === kind && roleRef.name === name &&
    (kind === 'ClusterRole' || (metadata.namespace ?? namespace) === (namespace ?? metadata.namespace))
  )
  if (all.length > 0 && bindings.length === 0) return []
  const isWhole = kind === 'Role' || all.length === 0 || bindings.some((each) => each.kind === 'ClusterRoleBinding')
  return isWhole ? everywhere : bindings.map(({ metadata }) => metadata.namespace)
}
