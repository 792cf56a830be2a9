/** Computes the least rights of an operator: what kubeloop itself needs, and what the operator was seen to ask for. */
import { type AnyResource, groupResourceOf } from '../../core/resource.ts'
import { leaseOf, type OperatorDescription } from '../../operator/description/description.ts'
import { usedResources } from '../../operator/description/used_kinds.ts'
import { ANY, type AskedRight } from '../../testing/rights_recorder.ts'
import { configurationNames } from '../../webhook/common/ownership.ts'
import { RBAC } from '../../rights/account.ts'
import { definitionNames, eventPlaces, ownRights, type Place, placesIn } from '../../rights/likely.ts'
import type { RightsRecord } from './record.ts'
import { type Right, withoutIncluded } from '../../rights/rules.ts'

export interface LeastRights {
  readonly rights: readonly Right[]
  /** The same, limited to the names that stand in the operator's files: what a role may be limited to by hand. */
  readonly limited: readonly Right[]
  /** Each right that the operator asked for, with the places in its files. */
  readonly asked: readonly (Right & { readonly at: readonly string[] })[]
  readonly notes: readonly string[]
}

/** Verbs whose requests have no name, or whose name a rule cannot limit. */
const NAMELESS: ReadonlySet<string> = new Set(['create', 'list', 'watch', 'deletecollection'])

const EVENTS = 'events.k8s.io'

/**
 * Returns the least rights. `stands` returns whether a name or namespace stands in the operator's files. Rules are
 * limited to the namespaces that do, unless a reconciled object has the same: then it may come from there. Names only
 * lead to hints, as one that stands there may be a label or a default, and the next object has another.
 */
export function leastRights(
  description: OperatorDescription,
  place: Place,
  record: RightsRecord,
  stands: (text: string) => boolean,
): LeastRights {
  const { cluster } = place
  const notes: string[] = []
  const isConstant = (text: string | undefined): boolean =>
    text !== undefined && text !== ANY && !record.reconciled.has(text) && stands(text)
  const places = placesOfRequests(description, place, isConstant, notes)
  const isPart = partsOf(description, place)
  const isBound = boundBy(record)
  const requests = record.rights.filter((line) => !isPart(line) && !isBound(line)).flatMap((line) => {
    const allowed = places(line)
    return completed(line).flatMap(({ verb, group, resource }) => {
      const isLimited = verb === 'bind' ? line.name !== ANY : !NAMELESS.has(verb) && isConstant(line.name)
      const name = isLimited ? line.name : undefined
      return allowed.map((namespace) => ({ on: { namespace, group, resource, verb }, name, at: line.at ?? [] }))
    })
  })
  const groups = [...Map.groupBy(requests, ({ on }) => JSON.stringify(on)).values()].map((some) => ({
    on: some[0]!.on,
    names: new Set(some.map(({ name }) => name)),
    at: [...new Set(some.flatMap(({ at }) => at))].sort(),
  }))
  const asked = groups.flatMap(({ on, names, at }) =>
    // The right to bind any role is that to become an administrator.
    (on.verb === 'bind' ? [...names] : [undefined]).map((name) => ({ ...on, name, at }))
  )
  const limited = groups.flatMap(({ on, names }) => {
    if (names.has(undefined)) return [{ ...on, name: undefined }]
    const all = [...names].sort()
    const quoted = all.map((name) => `"${name}"`).join(', ')
    const note = `${on.verb} of ${on.resource} was asked for ${quoted} only, which the file has: limit it with ` +
      `resourceNames: [${all.join(', ')}] if no other name can be meant`
    if (on.verb !== 'bind') notes.push(note)
    return all.map((name) => ({ ...on, name }))
  })
  for (const { verb, path, at } of record.paths) {
    notes.push(
      `Not in the roles: ${verb} of the path ${path}${at === undefined ? '' : ` (${at})`}; see nonResourceURLs`,
    )
  }
  for (const { sources, options } of description.controllers) {
    for (const source of sources) {
      if (source.kind !== 'owns' || options.cluster !== cluster) continue
      const { group, plural } = source.resource
      if (asked.some((each) => each.group === group && each.resource === plural && WRITES.has(each.verb))) continue
      notes.push(`The record has no write of ${plural}, which the operator owns: do its tests cover that?`)
    }
  }
  const [rights, least] = [asked, limited].map((some) => withoutIncluded([...some, ...ownRights(description, place)]))
  return { rights: rights!, limited: least!, asked, notes: [...new Set(notes)] }
}

/** What a writer of these needs beside the rights that they grant. */
const GRANTS = {
  'the rights that it grants, or the verb "escalate" on it': ['roles', 'clusterroles'],
  'the rights of its role, or the verb "bind" on that': ['rolebindings', 'clusterrolebindings'],
} as const

/** Returns hints for an operator that owns roles or bindings: its description does not say what they grant. */
export function grantNotes({ controllers }: OperatorDescription): readonly string[] {
  const owned = controllers.flatMap(({ sources }) => sources.filter((each) => each.kind === 'owns'))
  return Object.entries(GRANTS).flatMap(([needs, plurals]) => {
    const found = owned.find(({ resource: { group, plural } }) => group === RBAC && plurals.includes(plural as never))
    return found
      ? [`A ${found.resource.kind} is written only by those who have ${needs}: record the rights, or add them`]
      : []
  })
}

/** Verbs that give a role its rules. */
const GIVES: ReadonlySet<string> = new Set(['create', 'update', 'patch'])

/** Returns a test for the right to bind a role that the operator has written, in the namespace of the role. */
function boundBy({ rights }: RightsRecord): (line: AskedRight) => boolean {
  const isIn = (written: string | undefined, asked: string | undefined): boolean => written === asked || written === ANY
  return ({ verb, resource, name, namespace }) =>
    verb === 'bind' &&
    rights.some((role) =>
      role.group === RBAC && role.resource === resource && GIVES.has(role.verb) && isIn(role.name, name) &&
      (resource === 'clusterroles' || isIn(role.namespace, namespace))
    )
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

type On = Pick<Right, 'verb' | 'group' | 'resource'>

/** Returns what a request needs together with what kubeloop sends beside it in other cases. */
function completed({ verb, group, resource, at }: AskedRight): On[] {
  const on = { verb, group, resource }
  // An Event that occurs again is patched.
  if (isEvent(on, at)) return [{ ...on, verb: 'create' }, { ...on, verb: 'patch' }]
  // After a conflict, the object is read again.
  if (verb === 'update' && !resource.includes('/')) return [on, { ...on, verb: 'get' }]
  return [on]
}

function isEvent({ group, resource }: On, at: string | undefined): boolean {
  return at === undefined && group === EVENTS && resource === 'events'
}

/** Returns a test for requests of kubeloop itself: they depend on the run, so the description gives their rights. */
function partsOf(description: OperatorDescription, { namespace, cluster }: Place): (line: AskedRight) => boolean {
  const { options } = description
  const { certs } = options.webhooks ?? {}
  const names: Readonly<Record<string, readonly string[]>> = {
    'leases.coordination.k8s.io': [leaseOf(options, namespace).lease],
    'customresourcedefinitions.apiextensions.k8s.io': definitionNames(description, cluster),
    'mutatingwebhookconfigurations.admissionregistration.k8s.io': [configurationNames(options.name).mutating],
    'validatingwebhookconfigurations.admissionregistration.k8s.io': [configurationNames(options.name).validating],
    'secrets.': typeof certs === 'object' ? [certs.secret, ...(certs.ca ? [certs.ca.secret] : [])] : [],
  }
  const used = new Set(usedResources(description, cluster).map(groupResourceOf))
  return ({ verb, group, resource, name, at }) => {
    if (at !== undefined) return false
    if (name !== undefined && names[`${resource}.${group}`]?.includes(name)) return true
    // Of its caches, and for the check of a new definition.
    return (verb === 'list' || verb === 'watch') && used.has(groupResourceOf({ group, plural: resource }))
  }
}

/** Returns a function that finds where a rule must hold for a request; undefined in its result is everywhere. */
function placesOfRequests(
  description: OperatorDescription,
  { cluster }: Place,
  isConstant: (text: string | undefined) => boolean,
  notes: string[],
): (line: AskedRight) => readonly (string | undefined)[] {
  const watched = placesIn(description, cluster)
  const known = new Map<string, AnyResource>(
    usedResources(description, cluster).map((each) => [groupResourceOf(each), each]),
  )
  const events = eventPlaces(description, cluster)
  return ({ verb, group, resource, namespace, at }) => {
    if (namespace === undefined) return [undefined]
    const [plural = ''] = resource.split('/')
    const kind = known.get(groupResourceOf({ group, plural })) ?? { ...NAMESPACED, group, plural }
    const places = isEvent({ verb, group, resource }, at) ? events : watched(kind)
    if (places.includes(namespace)) return places
    if (isConstant(namespace)) return [namespace]
    if (!places.includes(undefined) && namespace !== ANY) {
      notes.push(
        `${verb} of ${resource} is allowed in all namespaces: it was asked for in "${namespace}", which is not among ` +
          'those that the operator watches, and does not stand in the file',
      )
    }
    return [undefined]
  }
}

const NAMESPACED = { version: 'v1', kind: '', scope: 'Namespaced' } as const
