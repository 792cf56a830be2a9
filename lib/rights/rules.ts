/** Rights as a set, each one verb on one resource, and as the rules of roles. Pure. */

export interface Right {
  /** Undefined for all. */
  readonly namespace: string | undefined
  readonly group: string
  /** With its subresource, as `foos/status`. */
  readonly resource: string
  readonly verb: string
  /** Undefined for all. */
  readonly name: string | undefined
}

export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export interface RoleRules {
  /** For a ClusterRole. */
  readonly everywhere: readonly Rule[]
  /** For a Role in each namespace. */
  readonly inNamespaces: ReadonlyMap<string, readonly Rule[]>
}

export function rightsOn(
  namespace: string | undefined,
  group: string,
  resource: string,
  verbs: readonly string[],
  names: readonly (string | undefined)[] = [undefined],
): Right[] {
  return names.flatMap((name) => verbs.map((verb) => ({ namespace, group, resource, verb, name })))
}

export function distinct(rights: readonly Right[]): Right[] {
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()]
}

/** Returns whether the first right includes the second one. */
export function includes(a: Right, b: Right): boolean {
  return a.verb === b.verb && a.group === b.group && a.resource === b.resource &&
    (a.namespace === undefined || a.namespace === b.namespace) && (a.name === undefined || a.name === b.name)
}

/** Returns the rights without those that others of them include. */
export function withoutIncluded(rights: readonly Right[]): Right[] {
  return rights.filter((right, at) =>
    // Of two equal ones, the first stays.
    !rights.some((other, index) => index !== at && includes(other, right) && (index < at || !includes(right, other)))
  )
}

/** Returns the rules that grant the rights, each once: what holds everywhere needs no rule in a namespace. */
export function rulesOf(all: readonly Right[]): RoleRules {
  const rights = withoutIncluded(all)
  const places = [...Map.groupBy(rights, ({ namespace }) => namespace)]
  const inNamespaces = places.flatMap(([place, some]) => place === undefined ? [] : [[place, rulesIn(some)] as const])
  return {
    everywhere: rulesIn(rights.filter(({ namespace }) => namespace === undefined)),
    inNamespaces: new Map(inNamespaces.sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** The order of verbs in a rule. */
const ORDER: readonly string[] = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

/**
 * Joins verbs, then names with the same verbs, then resources of a group with the same verbs and names. A right on all
 * names has left none on one of them with the same verb.
 */
function rulesIn(rights: readonly Right[]): readonly Rule[] {
  const objects = grouped(rights, ({ group, resource, name }) => [group, resource, name]).map((some) => {
    const given = new Set(some.map(({ verb }) => verb))
    const unusual = [...given].filter((verb) => !ORDER.includes(verb)).sort()
    return { ...some[0]!, verbs: [...ORDER.filter((verb) => given.has(verb)), ...unusual] }
  })
  const resources = grouped(objects, ({ group, resource, verbs }) => [group, resource, verbs])
    .map((some) => ({ ...some[0]!, names: some.flatMap(({ name }) => name ?? []).sort() }))
  const rules = grouped(resources, ({ group, verbs, names }) => [group, verbs, names]).map((some): Rule => {
    const { group, verbs, names } = some[0]!
    return {
      apiGroups: [group],
      resources: some.map(({ resource }) => resource).sort(),
      ...(names.length > 0 && { resourceNames: names }),
      verbs,
    }
  })
  return rules.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => readonly unknown[]): T[][] {
  return [...Map.groupBy(items, (item) => JSON.stringify(keyOf(item))).values()]
}

function sortKey({ apiGroups, resources, verbs, resourceNames = [] }: Rule): string {
  return JSON.stringify([apiGroups, resources, resourceNames.join(), verbs])
}
