/**
 * Derives the first Role of an operator from its description: what it watches, owns, finalizes and reports, and what
 * kubeloop itself reads and writes. Requests of the user's own code to other kinds are not known here.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { type CacheOptions, scopesOf } from '../../cache/cache_options.ts'
import { type AnyResource, groupResourceOf, resourceId } from '../../core/resource.ts'
import type { OtherCluster } from '../../operator/context.ts'
import {
  type ClusterDescription,
  crdModeOf,
  hasWebhooks,
  leaseOf,
  type OperatorDescription,
  ownKinds,
  watchedResources,
} from '../../operator/description.ts'
import { crdOf } from '../../schema/crds.ts'
import { configurationNames } from '../../webhook/ownership.ts'
import { reviewsTokens } from './metrics.ts'

/** A rule of a Role. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** The rules of an operator in one cluster. */
export interface Rights {
  /** For a ClusterRole. */
  readonly everywhere: readonly Rule[]
  /** For a Role in each namespace. */
  readonly inNamespaces: ReadonlyMap<string, readonly Rule[]>
}

/** One verb on a resource, or on its objects with these names. */
export interface Grant {
  /** Undefined for all. */
  readonly namespace: string | undefined
  readonly group: string
  /** With its subresource, as `foos/status`. */
  readonly resource: string
  readonly verb: string
  /** Sorted. Empty for all. */
  readonly names: readonly string[]
}

/** The verbs on a resource, or on its objects with these names. */
interface Allowed {
  readonly group: string
  readonly resource: string
  readonly names: readonly string[]
  readonly verbs: Set<string>
}

/** Collects verbs by place, resource and names. */
export class Collector {
  readonly #everywhere = new Map<string, Allowed>()
  readonly #places = new Map<string, Map<string, Allowed>>()

  /** `namespace`: undefined for all. `names`: only objects with these names; empty for all. */
  allow(
    namespace: string | undefined,
    group: string,
    resource: string,
    verbs: readonly string[],
    names: readonly string[] = [],
  ): void {
    const rules = namespace === undefined ? this.#everywhere : entryOf(this.#places, namespace, () => new Map())
    const allowed = entryOf(
      rules,
      JSON.stringify([group, resource, names]),
      () => ({ group, resource, names, verbs: new Set() }),
    )
    for (const verb of verbs) allowed.verbs.add(verb)
  }

  /** Returns each verb by itself, in the order in which the resources were added. */
  grants(): Grant[] {
    const all = [[undefined, this.#everywhere] as const, ...this.#places]
    return all.flatMap(([namespace, rules]) =>
      [...rules.values()].flatMap(({ verbs, ...on }) => [...verbs].map((verb) => ({ namespace, ...on, verb })))
    )
  }

  rights(): Rights {
    const places = [...this.#places].sort(([a], [b]) => (a < b ? -1 : 1))
    return {
      everywhere: rulesOf(this.#everywhere.values()),
      inNamespaces: new Map(places.map(([place, rules]) => [place, rulesOf(rules.values())])),
    }
  }
}

function entryOf<V>(map: Map<string, V>, key: string, create: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, value = create())
  return value
}

/** The order of verbs in a rule. */
const ORDER: readonly string[] = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

function isUnusual(verb: string): boolean {
  return !ORDER.includes(verb)
}

/** Joins resources of a group with the same verbs and names into one rule. */
function rulesOf(allowed: Iterable<Allowed>): readonly Rule[] {
  const joined = new Map<string, Rule & { readonly resources: string[] }>()
  for (const { group, resource, names, verbs: granted } of allowed) {
    const verbs = [...ORDER.filter((verb) => granted.has(verb)), ...[...granted].filter(isUnusual).sort()]
    const rule = entryOf(joined, JSON.stringify([group, verbs, names]), () => ({
      apiGroups: [group],
      resources: [],
      ...(names.length > 0 && { resourceNames: names }),
      verbs,
    }))
    rule.resources.push(resource)
  }
  for (const { resources } of joined.values()) resources.sort()
  return [...joined.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
}

function sortKey({ apiGroups, resources, verbs, resourceNames = [] }: Rule): string {
  return JSON.stringify([apiGroups, resources, resourceNames.join(), verbs])
}

/** Where an operator runs, and of which of its clusters the rights are. */
export interface Place {
  /** The operator's own namespace. */
  readonly namespace: string
  /** Default: the operator's own cluster. */
  readonly cluster?: ClusterDescription | undefined
}

/** Returns the rules of an operator that runs in this namespace. */
export function rightsOf(description: OperatorDescription, namespace: string): Rights {
  return likelyRights(description, { namespace }).rights()
}

/** Returns what kubeloop itself requests, and what the operator's own code is likely to request of its kinds. */
export function likelyRights(description: OperatorDescription, place: Place): Collector {
  const collector = ownRights(description, place)
  const { cluster } = place
  const placesOf = placesIn(description, cluster)
  const allow = allowing(collector, placesOf)
  for (const resource of watchedResources(description, cluster)) allow(resource, ['get'])
  for (const { resource, options, sources } of description.controllers) {
    if (options.cluster !== cluster) continue
    if (hasStatus(resource)) allow(resource, ['get', 'update', 'patch'], '/status')
    for (const source of sources) {
      if (source.kind !== 'owns') continue
      allow(source.resource, ['create', 'update', 'patch', 'delete'])
      // The admission plugin OwnerReferencesPermissionEnforcement asks for it: our owner references block deletion.
      allow(resource, ['update'], '/finalizers')
    }
  }
  for (const each of eventPlaces(description, cluster)) {
    collector.allow(each, 'events.k8s.io', 'events', ['create', 'patch'])
  }
  return collector
}

/** Returns what kubeloop itself requests, whatever the operator's own code does. */
export function ownRights(description: OperatorDescription, { namespace, cluster }: Place): Collector {
  const collector = new Collector()
  const allow = allowing(collector, placesIn(description, cluster))
  for (const resource of watchedResources(description, cluster)) allow(resource, ['list', 'watch'])
  for (const { resource, options, finalize } of description.controllers) {
    // The object is read again after a conflict.
    if (options.cluster === cluster && finalize) allow(resource, ['get', 'patch'])
  }
  allowDefinitions(description, collector, cluster)
  if (cluster) return collector
  allowLease(description, collector, namespace)
  allowWebhooks(description, collector, namespace)
  if (reviewsTokens(description.options)) {
    collector.allow(undefined, 'authentication.k8s.io', 'tokenreviews', ['create'])
    collector.allow(undefined, 'authorization.k8s.io', 'subjectaccessreviews', ['create'])
  }
  return collector
}

type PlacesOf = (resource: AnyResource) => (string | undefined)[]

function allowing(collector: Collector, placesOf: PlacesOf) {
  return (resource: AnyResource, verbs: readonly string[], subresource = ''): void => {
    for (const place of placesOf(resource)) {
      collector.allow(place, resource.group, `${resource.plural}${subresource}`, verbs)
    }
  }
}

/** Returns the namespaces in which a kind is watched; undefined in the list stands for all. */
export function placesIn({ options, caches }: OperatorDescription, cluster: ClusterDescription | undefined): PlacesOf {
  const { cache, namespaces } = options
  const common = { ...cache, namespaces: cluster?.namespaces ?? cache?.namespaces ?? namespaces } as CacheOptions
  return (resource) => {
    const own = caches.find((each) => each.cluster === cluster && resourceId(each.resource) === resourceId(resource))
    return scopesOf(resource, own?.options ?? {}, common).map((scope) => scope.namespace)
  }
}

function hasStatus({ definition, version }: AnyResource): boolean {
  const found = definition?.crd.spec.versions.find(({ name }) => name === version)
  return found?.subresources?.status !== undefined
}

/** Events are in the namespace of their object; those of cluster-scoped objects are in `default`. */
export function eventPlaces(
  description: OperatorDescription,
  cluster: ClusterDescription | undefined,
): (string | undefined)[] {
  const placesOf = placesIn(description, cluster)
  const own = description.controllers.filter(({ options }) => options.cluster === cluster)
  const places = own.flatMap(({ resource }) => resource.scope === 'Cluster' ? ['default'] : placesOf(resource))
  return places.includes(undefined) ? [undefined] : [...new Set(places)]
}

function allowLease(description: OperatorDescription, collector: Collector, namespace: string): void {
  const { options } = description
  // Without leader election, the replica that installs the configurations of webhooks holds the Lease.
  if (!options.leaderElection && !(hasWebhooks(description) && crdModeOf(options).mode === 'install')) return
  const { lease, namespace: place = namespace } = leaseOf(options, namespace)
  // A name cannot limit a create.
  collector.allow(place, 'coordination.k8s.io', 'leases', ['create'])
  // The watch makes a handover prompt; it needs no wider right, as it is of one name.
  collector.allow(place, 'coordination.k8s.io', 'leases', ['get', 'watch', 'update'], [lease])
}

/** Returns the names of the definitions of the operator's kinds. Those of optional kinds are not the operator's. */
export function definitionNames(description: OperatorDescription, cluster: OtherCluster | undefined): string[] {
  return crdOf(ownKinds(description, cluster), description).map(({ metadata }) => metadata.name).sort()
}

function allowDefinitions(
  description: OperatorDescription,
  collector: Collector,
  cluster: OtherCluster | undefined,
): void {
  const { mode } = crdModeOf(description.options)
  const names = definitionNames(description, cluster)
  if (mode === 'ignore' || names.length === 0) return
  const crd = ['apiextensions.k8s.io', 'customresourcedefinitions'] as const
  collector.allow(undefined, ...crd, ['get'], names)
  if (mode === 'verify') return
  collector.allow(undefined, ...crd, ['create'])
  collector.allow(undefined, ...crd, ['update'], names)
}

/**
 * Certificates in a Secret are rotated, and so are the CAs in the configurations and definitions. A release without
 * webhooks finds those of an earlier one.
 */
function allowWebhooks(description: OperatorDescription, collector: Collector, namespace: string): void {
  const { name, webhooks = {} } = description.options
  const { mode } = crdModeOf(description.options)
  const { certs } = webhooks
  if (typeof certs === 'object') {
    const place = certs.namespace ?? namespace
    collector.allow(place, '', 'secrets', ['create'])
    collector.allow(place, '', 'secrets', ['get', 'watch', 'update'], [certs.secret])
    if (certs.ca) collector.allow(certs.ca.namespace ?? place, '', 'secrets', ['get'], [certs.ca.secret])
  }
  const installs = mode === 'install'
  const isUnused = !hasWebhooks(description) && !installs && definitionNames(description, undefined).length === 0
  if (mode === 'ignore' || isUnused) return
  const names = configurationNames(name)
  const configurations = (kind: 'mutating' | 'validating', isUsed: boolean): void => {
    const on = ['admissionregistration.k8s.io', `${kind}webhookconfigurations`] as const
    // What an earlier version of the operator has installed and this one has not, is deleted.
    const verbs = isUsed ? ['get', 'watch', 'update'] : installs ? ['get', 'delete'] : ['get']
    collector.allow(undefined, ...on, verbs, [names[kind]])
    if (installs && isUsed) collector.allow(undefined, ...on, ['create'])
  }
  configurations('mutating', description.admissions.some(({ hooks }) => hooks.default))
  configurations('validating', description.admissions.some(({ hooks }) => hooks.validate))
  const converted = [...new Set(description.conversions.map(({ hub }) => groupResourceOf(hub)))].sort()
  if (converted.length > 0) {
    collector.allow(
      undefined,
      'apiextensions.k8s.io',
      'customresourcedefinitions',
      ['get', 'update', 'watch'],
      converted,
    )
  }
}
