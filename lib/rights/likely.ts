/**
 * Derives the first Role of an operator from its description: what it watches, owns, finalizes and reports, and what
 * kubeloop itself reads and writes. Requests of the user's own code to other kinds are not known here.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { namespaceLabels, type Scope, scopesOf } from '../cache/cache_options.ts'
import { selectedName } from '../core/requested_action.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import type { OtherCluster } from '../operator/description/context.ts'
import {
  type ClusterDescription,
  crdModeOf,
  hasWebhooks,
  leaseOf,
  type OperatorDescription,
} from '../operator/description/description.ts'
import { ringOf } from '../operator/sharding/ring.ts'
import { cacheOptionsOf, ownKinds, watchedResources } from '../operator/description/used_kinds.ts'
import { crdOf } from '../schema/crds.ts'
import { configurationNames } from '../webhook/common/ownership.ts'
import { distinct, type Right, rightsOn, type RoleRules, rulesOf } from './rules.ts'

export function reviewsTokens({ metrics }: OperatorDescription['options']): boolean {
  return typeof metrics === 'object' && metrics.auth === true
}

type Allow = (...args: Parameters<typeof rightsOn>) => void

/** Where an operator runs, and of which of its clusters the rights are. */
export interface Place {
  /** The operator's own namespace. */
  readonly namespace: string
  /** Default: the operator's own cluster. */
  readonly cluster?: ClusterDescription | undefined
}

export function rightsOf(description: OperatorDescription, namespace: string): RoleRules {
  return rulesOf(likelyRights(description, { namespace }))
}

/** Returns what kubeloop itself requests, and what the operator's own code is likely to request of its kinds. */
export function likelyRights(description: OperatorDescription, place: Place): Right[] {
  const rights = ownRights(description, place)
  const { cluster } = place
  const allow = allowing(rights, scopesIn(description, cluster))
  const placesOf = placesIn(description, cluster)
  for (const resource of watchedResources(description, cluster)) allow(resource, ['get'])
  for (const { resource, options, sources } of description.controllers) {
    if (options.cluster !== cluster) continue
    if (hasStatus(resource)) allow(resource, ['get', 'update', 'patch'], '/status')
    for (const source of sources) {
      if (source.kind !== 'owns') continue
      // Objects of all names: the cache may select fewer than are written.
      for (const each of placesOf(source.resource)) {
        const { group, plural } = source.resource
        rights.push(...rightsOn(each, group, plural, ['create', 'patch', ...source.rights]))
      }
      // The admission plugin OwnerReferencesPermissionEnforcement asks for it: our owner references block deletion.
      allow(resource, ['update'], '/finalizers')
    }
  }
  for (const each of eventPlaces(description, cluster)) {
    rights.push(...rightsOn(each, 'events.k8s.io', 'events', ['create', 'patch']))
  }
  return distinct(rights)
}

/** Returns what kubeloop itself requests, whatever the operator's own code does. */
export function ownRights(description: OperatorDescription, { namespace, cluster }: Place): Right[] {
  const rights: Right[] = []
  const add: Allow = (...on) => void rights.push(...rightsOn(...on))
  const allow = allowing(rights, scopesIn(description, cluster))
  for (const resource of watchedResources(description, cluster)) {
    allow(resource, ['list', 'watch'])
    if (namespaceLabels(resource, ...cacheOptionsOf(resource, description, cluster)) === undefined) continue
    add(undefined, '', 'namespaces', ['list', 'watch'])
  }
  for (const { resource, options, finalize } of description.controllers) {
    // The object is read again after a conflict.
    if (options.cluster === cluster && finalize) allow(resource, ['get', 'patch'])
  }
  allowDefinitions(description, add, cluster)
  if (cluster) return distinct(rights)
  // A shard removes the labels of an object that it gives up, and reads whether a missing one was deleted.
  if (description.options.sharding?.ring) {
    for (const { resource } of ringOf(description)) allow(resource, ['get', 'patch'])
  }
  allowLease(description, add, namespace)
  allowWebhooks(description, add, namespace)
  if (reviewsTokens(description.options)) {
    add(undefined, 'authentication.k8s.io', 'tokenreviews', ['create'])
    add(undefined, 'authorization.k8s.io', 'subjectaccessreviews', ['create'])
  }
  return distinct(rights)
}

type ScopesOf = (resource: AnyResource) => readonly Scope[]

/** The rights are limited to the name that the cache selects by its fields, if any. */
function allowing(rights: Right[], scopesOf: ScopesOf) {
  return (resource: AnyResource, verbs: readonly string[], subresource = ''): void => {
    for (const { namespace, fields = '' } of scopesOf(resource)) {
      const of = `${resource.plural}${subresource}`
      rights.push(...rightsOn(namespace, resource.group, of, verbs, [selectedName(fields)]))
    }
  }
}

/** Returns the namespaces in which a kind is watched; undefined in the list stands for all. */
export function placesIn(
  description: OperatorDescription,
  cluster: ClusterDescription | undefined,
): (resource: AnyResource) => (string | undefined)[] {
  const scopes = scopesIn(description, cluster)
  return (resource) => scopes(resource).map(({ namespace }) => namespace)
}

function scopesIn(description: OperatorDescription, cluster: ClusterDescription | undefined): ScopesOf {
  return (resource) => scopesOf(resource, ...cacheOptionsOf(resource, description, cluster))
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

function allowLease(description: OperatorDescription, allow: Allow, namespace: string): void {
  const { options } = description
  if (options.sharding) {
    // Named as its pod.
    const { namespace: place = namespace } = leaseOf(options, namespace)
    // Replicas that share buckets find each other, and delete what earlier ones have left.
    const others = options.sharding.ring ? [] : ['list', 'delete']
    allow(place, 'coordination.k8s.io', 'leases', ['get', 'watch', 'create', 'update', ...others])
  }
  // Without leader election, the replica that installs the configurations of webhooks holds the Lease.
  if (
    (options.sharding || !options.leaderElection) &&
    !(hasWebhooks(description) && crdModeOf(options).mode === 'install')
  ) return
  const { lease, namespace: place = namespace } = leaseOf(options, namespace)
  // A name cannot limit a create.
  allow(place, 'coordination.k8s.io', 'leases', ['create'])
  // The watch makes a handover prompt; it needs no wider right, as it is of one name.
  allow(place, 'coordination.k8s.io', 'leases', ['get', 'watch', 'update'], [lease])
}

/** Returns the names of the definitions of the operator's kinds. Those of optional kinds are not the operator's. */
export function definitionNames(description: OperatorDescription, cluster: OtherCluster | undefined): string[] {
  return ownDefinitions(description, cluster).map(({ metadata }) => metadata.name).sort()
}

function ownDefinitions(description: OperatorDescription, cluster: OtherCluster | undefined) {
  return crdOf(ownKinds(description, cluster), description)
}

const DEFINITIONS = ['apiextensions.k8s.io', 'customresourcedefinitions'] as const

function allowDefinitions(
  description: OperatorDescription,
  allow: Allow,
  cluster: OtherCluster | undefined,
): void {
  const { mode } = crdModeOf(description.options)
  const definitions = ownDefinitions(description, cluster)
  const names = definitions.map(({ metadata }) => metadata.name).sort()
  if (mode === 'ignore' || names.length === 0) return
  allow(undefined, ...DEFINITIONS, ['get'], names)
  if (mode === 'verify') return
  allow(undefined, ...DEFINITIONS, ['create'])
  allow(undefined, ...DEFINITIONS, ['update'], names)
  // A narrower schema is checked with all objects, also of namespaces and of kinds of admissions that are not watched.
  for (const { spec: { group, names: { plural } } } of definitions) allow(undefined, group, plural, ['list'])
}

/** Certificates in a Secret and CAs in configurations rotate. A release without webhooks finds an earlier one's. */
function allowWebhooks(description: OperatorDescription, allow: Allow, namespace: string): void {
  const { name, webhooks = {} } = description.options
  const { mode } = crdModeOf(description.options)
  const { certs } = webhooks
  if (typeof certs === 'object') {
    const place = certs.namespace ?? namespace
    allow(place, '', 'secrets', ['create'])
    allow(place, '', 'secrets', ['get', 'watch', 'update'], [certs.secret])
    if (certs.ca) allow(certs.ca.namespace ?? place, '', 'secrets', ['get'], [certs.ca.secret])
  }
  const installs = mode === 'install'
  const isUnused = !hasWebhooks(description) && !installs && definitionNames(description, undefined).length === 0
  if (mode === 'ignore' || isUnused) return
  const names = configurationNames(name)
  const configurations = (kind: 'mutating' | 'validating', isUsed: boolean): void => {
    const on = ['admissionregistration.k8s.io', `${kind}webhookconfigurations`] as const
    // What an earlier version of the operator has installed and this one has not, is deleted.
    const verbs = isUsed ? ['get', 'watch', 'update'] : installs ? ['get', 'delete'] : ['get']
    allow(undefined, ...on, verbs, [names[kind]])
    if (installs && isUsed) allow(undefined, ...on, ['create'])
  }
  configurations('mutating', description.admissions.some(({ hooks }) => hooks.default))
  configurations('validating', description.admissions.some(({ hooks }) => hooks.validate))
  const converted = [...new Set(description.conversions.map(({ hub }) => groupResourceOf(hub)))].sort()
  if (converted.length > 0) {
    allow(undefined, ...DEFINITIONS, ['get', 'update', 'watch'], converted)
  }
}
