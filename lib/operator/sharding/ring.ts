/**
 * Which kinds of an operator a ring of kubernetes-controller-sharding distributes, and which descriptions it cannot.
 *
 * @see https://github.com/timebertt/kubernetes-controller-sharding/blob/v0.11.0/docs/implement-sharding.md
 */
import { type AnyResource, groupResourceOf } from '../../core/resource.ts'
import type { KubeObject } from '../../core/objects.ts'
import {
  allControllers,
  type ControllerDescription,
  controllerTitle,
  type OperatorDescription,
} from '../description/description.ts'
import { namespaceLabels, scopesOf } from '../../cache/cache_options.ts'
import { cacheOptionsOf } from '../description/used_kinds.ts'
import { placeOf } from '../description/places.ts'

const ENGINE = 'alpha.sharding.timebertt.dev'

/** The label of a shard's Lease; its value is the name of the ring. */
export const RING_LABEL: string = `${ENGINE}/controllerring`

export interface RingLabels {
  /** Its value is the name of the shard that reconciles the object. */
  readonly shard: string
  /** If it is there, with any value, the shard must give the object up. */
  readonly drain: string
}

export function labelsOf(ring: string): RingLabels {
  return { shard: `shard.${ENGINE}/${ring}`, drain: `drain.${ENGINE}/${ring}` }
}

export function hasLabel({ metadata: { labels } }: KubeObject, label: string): boolean {
  return labels?.[label] !== undefined
}

/** A kind that is reconciled by shards, and the kinds of the objects that its objects own. */
export interface RingResource {
  readonly resource: AnyResource
  readonly controlled: readonly AnyResource[]
}

/** What else `leaderElection` may have beside `sharding`: the Lease of a shard is named as its holder. */
const KEPT: readonly string[] = ['namespace', 'identity', 'duration', 'renewDeadline', 'retryPeriod']

type Refuse = (what: string, at?: Parameters<typeof placeOf>[0]) => never

function refusing(name: string): Refuse {
  return (what, at) => {
    throw new TypeError(`Cannot shard operator "${name}": ${what}${at ? placeOf(at) : ''}`)
  }
}

/** Refuses what needs one leader among the replicas. */
function checkNoLeader({ options: { leaderElection = {} }, tasks }: OperatorDescription, refuse: Refuse): void {
  const other = typeof leaderElection === 'object' ? Object.keys(leaderElection).find((key) => !KEPT.includes(key)) : ''
  if (other !== undefined) {
    refuse(
      `leaderElection${other && `.${other}`} is for one leader, and each shard has a Lease of its own; beside ` +
        `sharding, leaderElection is an object with only ${KEPT.join(', ')}`,
    )
  }
  for (const task of tasks) {
    if (task.everyReplica) continue
    refuse(
      task.schedule
        ? `no shard is the leader that runs the schedule "${task.name}"; move it to an operator with leaderElection`
        : `no shard is the leader that runs the task "${task.name}"; give it everyReplica: true, or move it to an ` +
          'operator with leaderElection',
      task,
    )
  }
}

/** @throws TypeError if the operator has the option `sharding`, which cannot distribute what it does. */
export function checkSharding(description: OperatorDescription): void {
  const { sharding } = description.options
  if (sharding?.buckets !== undefined) checkBuckets(description)
  else if (sharding) ringOf(description)
}

/** @throws TypeError if buckets cannot distribute what the operator does. */
export function checkBuckets(description: OperatorDescription): void {
  const { options: { name, sharding }, groups } = description
  const refuse = refusing(name)
  const { buckets, ring, unsharded } = sharding!
  if (ring !== undefined || unsharded !== undefined) refuse('sharding has buckets beside ring or unsharded; give one')
  if (!Number.isInteger(buckets) || buckets! < 2 || buckets! > MAX_BUCKETS) {
    refuse(`sharding.buckets is ${String(buckets)}, and must be an integer from 2 to ${MAX_BUCKETS}`)
  }
  checkNoLeader(description, refuse)
  for (const { controllers } of groups) {
    for (const controller of controllers) {
      if (!controller.options.everyReplica) refuse('a group of clusters is for one leader, or everyReplica', controller)
    }
  }
  if (allControllers(description).every(({ options }) => options.everyReplica)) {
    refuse('it has no controller whose keys buckets distribute')
  }
}

/** Each is a Lease that is renewed every `retryPeriod`. */
const MAX_BUCKETS = 128

/**
 * Returns the kinds of an operator that a ring distributes, each once: those of its controllers, and what these own.
 *
 * @throws TypeError if a ring cannot keep two shards from reconciling one object, or would hide objects.
 */
export function ringOf(description: OperatorDescription): readonly RingResource[] {
  const { options: { name, sharding } } = description
  const refuse = refusing(name)
  if (!sharding?.ring) refuse("sharding needs the name of a ControllerRing, { ring: 'my-ring' }, or { buckets: 16 }")
  const isWhole = isIn(sharding!.unsharded ?? [])
  checkNoLeader(description, refuse)
  const everywhere = allControllers(description)
  const sharded = everywhere.filter(({ options }) => !options.everyReplica)
  if (sharded.length === 0) refuse('it has no controller whose objects a ring distributes')
  const ring = new Map<string, { readonly resource: AnyResource; readonly controlled: Map<string, AnyResource> }>()
  for (const controller of sharded) {
    const { resource, options } = controller
    const cannot = (why: string): never => refuse(`the controller "${controllerTitle(controller)}" ${why}`, controller)
    if (options.cluster ?? options.clusters) {
      cannot("is for another cluster, and a ring distributes objects of the operator's own; give it everyReplica: true")
    }
    if (resource.scope !== 'Namespaced') {
      cannot(`reconciles ${resource.kind}: the sharder moves objects in namespaces only`)
    }
    if (isWhole(resource)) {
      cannot(`reconciles ${resource.kind}, which is in sharding.unsharded: all shards would at once`)
    }
    const id = groupResourceOf(resource)
    const other = ring.get(id)?.resource
    if (other && selectionOf(resource, description) !== selectionOf(other, description)) {
      cannot(
        `reconciles ${resource.kind}, which is watched in two forms that select different objects; give app.cache the ` +
          'same namespaces, labels and fields for both',
      )
    }
    const { controlled } = ring.get(id) ?? ring.set(id, { resource, controlled: new Map() }).get(id)!
    for (const source of controller.sources) {
      if (source.kind !== 'owns' || isWhole(source.resource)) continue
      const { kind } = source.resource
      if (source.anyOwner) {
        cannot(`owns ${kind} with anyOwner, and a ring distributes it by its controller; add it to sharding.unsharded`)
      }
      controlled.set(groupResourceOf(source.resource), source.resource)
    }
  }
  for (const { resource, controlled } of ring.values()) {
    for (const each of [resource, ...controlled.values()]) {
      if (namespaceLabels(each, ...cacheOptionsOf(each, description)) === undefined) continue
      refuse(
        `${each.kind} has namespaces by labels, and a shard must see its objects until the sharder moves them; give ` +
          'the labels to spec.namespaceSelector of the ControllerRing instead',
      )
    }
  }
  for (const controller of everywhere) checkBeside(controller, ring, (why) => refuse(why, controller))
  return [...ring.values()].map(({ resource, controlled }) => ({ resource, controlled: [...controlled.values()] }))
}

/** Returns a text for the objects that the watches of a form of a kind select. */
function selectionOf(resource: AnyResource, description: OperatorDescription): string {
  const scopes = scopesOf(resource, ...cacheOptionsOf(resource, description))
  return JSON.stringify(scopes.map(({ namespace, labels, fields }) => [namespace, labels, fields]))
}

/** Refuses a controller of a kind of which its replica does not see all, or whose objects move without a drain. */
function checkBeside(
  controller: ControllerDescription,
  ring: ReadonlyMap<string, { readonly resource: AnyResource; readonly controlled: ReadonlyMap<string, AnyResource> }>,
  refuse: (why: string) => never,
): void {
  const { resource, options } = controller
  if (options.cluster ?? options.clusters) return
  const [id, { kind }] = [groupResourceOf(resource), resource]
  const title = `the controller "${controllerTitle(controller)}"`
  const owner = [...ring.values()].find(({ controlled }) => controlled.has(id))?.resource.kind
  if (options.everyReplica && (owner ?? ring.has(id))) {
    refuse(
      `${title} has everyReplica, and would see only the ${kind} objects of its own shard; move it to its own operator`,
    )
  }
  if (owner === undefined) return
  refuse(
    `${title} reconciles ${kind}, which the controller of ${owner} owns, and owned objects move without a drain; add ` +
      `${kind} to sharding.unsharded and move this controller to an operator with a ring of its own`,
  )
}

/** Returns a test whether a kind is among others, in any version. */
export function isIn(resources: readonly AnyResource[]): (resource: AnyResource) => boolean {
  const ids = new Set(resources.map(groupResourceOf))
  return (resource) => ids.has(groupResourceOf(resource))
}

/** Returns all kinds of a ring. */
export function kindsOf(ring: readonly RingResource[]): AnyResource[] {
  return ring.flatMap(({ resource, controlled }) => [resource, ...controlled])
}
