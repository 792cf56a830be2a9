/** Compares written roles with the rights that an operator needs. Pure. */
import { shortPath } from '../../runtime/os/source_place.ts'
import { includes, type Right, rightsOn } from '../../rights/rules.ts'
import type { WrittenRule } from './written_roles.ts'

export interface Expected {
  /** What the roles must allow at least: {@link needed}, perhaps limited to names. */
  readonly limited: readonly Right[]
  /** What the operator needs, and the roles may allow. */
  readonly needed: readonly Right[]
  /** What they may allow besides: the operator's code is likely to ask for it. */
  readonly likely: readonly Right[]
  /** Where the operator asked. */
  readonly asked: readonly (Right & { readonly at: readonly string[] })[]
  /** The namespace of a Role that states none. */
  readonly namespace: string
  /** Whether there is a record. Without one, what the roles exceed is unknown. */
  readonly isRecorded: boolean
}

/** `*` in a list of a rule stands for all. */
const ALL = '*'

/** A right of a written rule, whose parts may be `*`. */
interface Written extends Right {
  readonly role: string
}

/** Returns one line for each right that is lacking, then for each that exceeds, and hints. */
export function compareRoles(
  rules: readonly WrittenRule[],
  expected: Expected,
): { readonly problems: readonly string[]; readonly notes: readonly string[] } {
  const written = rules.flatMap((rule) => writtenRights(rule, expected.namespace))
  const { limited, needed, likely } = expected
  const lacking = limited.filter((right) => !written.some((each) => covers(each, right)))
  const lacks = lacking.map((right) => `lacks: ${titleOf(right)}${reasonOf(right, expected)}`)
  const unbound = [...new Set(rules.flatMap(({ role, namespaces }) => namespaces.length === 0 ? [role] : []))]
    .map((role) => `${role} does not count: other roles have bindings, and none names it`)
  if (!expected.isRecorded) {
    const note = 'Compared with what kubeloop itself requests: without --record, nothing is known about the ' +
      "operator's own requests, and a role that exceeds them is not found"
    return { problems: lacks, notes: [note, ...unbound] }
  }
  const exceeding: (Written & { readonly why: string })[] = []
  const tolerated: Written[] = []
  for (const each of written) {
    if (isWithin(each, needed)) continue
    if (isWithin(each, [...needed, ...likely])) tolerated.push(each)
    else exceeding.push({ ...each, why: whyExceeds(each, needed) })
  }
  return {
    problems: [...lacks, ...joined(exceeding).map((line) => `exceeds: ${line}`)],
    notes: [...joined(tolerated.map((each) => ({ ...each, why: TOLERATED }))), ...unbound],
  }
}

const TOLERATED = "not asked for in the record, but kinds of the operator's description suggest it"

/** Returns why a written right is too wide: by its names or namespaces, or as a whole. */
function whyExceeds(written: Right, needed: readonly Right[]): string {
  const same = needed.filter(({ verb, group, resource }) =>
    verb === written.verb && group === written.group && resource === written.resource
  )
  if (same.length === 0) return 'not asked for in the record'
  const places = [...new Set(same.map(({ namespace }) => namespace))]
  const wanted = same.filter(({ namespace }) => namespace === written.namespace)
  if (wanted.length === 0) return `needed only in ${places.map((each) => each ?? 'all namespaces').sort().join(', ')}`
  return `needed only for ${wanted.map(({ name }) => `"${name}"`).sort().join(', ')}`
}

/** Returns whether a written right includes a needed one, as the API server decides. */
function covers(written: Right, needed: Right): boolean {
  const [, subresource] = needed.resource.split('/')
  const resources = [needed.resource, ALL, ...(subresource === undefined ? [] : [`*/${subresource}`])]
  return resources.includes(written.resource) && includes({
    ...written,
    verb: written.verb === ALL ? needed.verb : written.verb,
    group: written.group === ALL ? needed.group : written.group,
    resource: needed.resource,
  }, needed)
}

/** Returns whether a written right is not wider than an expected one. A `*` always is. */
function isWithin(written: Right, expected: readonly Right[]): boolean {
  return expected.some((each) => includes(each, written))
}

function writtenRights(
  { role, namespaces, apiGroups, resources, verbs, resourceNames, nonResourceURLs }: WrittenRule,
  own: string,
): Written[] {
  const names = resourceNames.length > 0 ? resourceNames : undefined
  return namespaces.flatMap((place) => {
    const namespace = place === '' ? undefined : place ?? own
    return [
      ...apiGroups.flatMap((group) =>
        resources.flatMap((resource) => rightsOn(namespace, group, resource, verbs, names))
      ),
      ...nonResourceURLs.flatMap((url) => rightsOn(namespace, '', url, verbs)),
    ].map((right) => ({ role, ...right }))
  })
}

/** Returns a line for each resource, with its verbs. */
function joined(rights: readonly (Written & { readonly why: string })[]): string[] {
  const lines = Map.groupBy(rights, (right) => JSON.stringify({ ...right, verb: '' }))
  return [...lines.values()].map((some) => {
    const { role, why, ...right } = some[0]!
    const verb = [...new Set(some.map((each) => each.verb))].join(', ')
    return `${titleOf({ ...right, verb })} (${role}): ${why}`
  })
}

function titleOf({ verb, group, resource, namespace, name }: Right): string {
  const of = resource.startsWith('/') ? `the path ${resource}` : `${resource} (${group === '' ? 'core' : group})`
  const where = namespace === undefined ? '' : ` in ${namespace}`
  return `${verb} of ${of}${name === undefined ? '' : ` "${name}"`}${where}`
}

/** Returns the place that asked, or that kubeloop itself does. */
function reasonOf(right: Right, { asked }: Expected): string {
  const found = asked.filter((each) => includes(each, right))
  const [at] = found.flatMap((each) => each.at)
  if (at !== undefined) return `: ${shortPath(at)}`
  return found.length > 0 ? ': asked for in the record' : ': kubeloop itself requests it'
}
