/**
 * Makes an operator a shard of a ring of kubernetes-controller-sharding, by another description: with a Lease of its
 * own, caches that select its objects, and a controller for each kind that gives up the objects to move.
 */
import { BoundedMap } from '../../async/bounded_map.ts'
import { untilAborted } from '../../async/abort.ts'
import { nextTurn } from '../../async/clock.ts'
import { isReason } from '../../core/errors.ts'
import { isDomainName } from '../../core/names.ts'
import { type Draft, formatKey, keyOf, type KubeObject, type ObjectKey } from '../../core/objects.ts'
import { type AnyResource, groupResourceOf, resourceId } from '../../core/resource.ts'
import type { Cache } from '../../cache/cache.ts'
import { scopesOf } from '../../cache/cache_options.ts'
import { isMissingKind } from '../../client/codec.ts'
import type { OwnerCheck } from '../../client/kube_client.ts'
import type { Predicate } from '../../controller/predicates.ts'
import type { Result } from '../../controller/result.ts'
import type { Context } from '../description/context.ts'
import { informersOfKind } from '../kind_informers.ts'
import {
  type CacheDescription,
  type ControllerDescription,
  hasWebhooks,
  type OperatorDescription,
} from '../description/description.ts'
import { hasLabel, isIn, kindsOf, labelsOf, RING_LABEL, type RingLabels, ringOf, type RingResource } from './ring.ts'
import { cacheOptionsOf, watchedResources } from '../description/used_kinds.ts'

/** The part of finalizers, if it is loaded. */
type Finalizers = typeof import('../../controller/finalizer.ts') | undefined

/** What an operator that is a shard has beside its other parts, and instead of that of finalizers. */
export interface ShardParts {
  readonly finalizers: Finalizers
  readonly sharded: OperatorDescription
  /** Returns a check of the writes of a cluster, which puts labels of the ring back that an update would remove. */
  readonly keepLabels: (checkOwners: OwnerCheck | undefined) => OwnerCheck
}

/**
 * Returns the parts of a shard. `start`: as in `StartOptions`.
 *
 * @throws TypeError if a ring cannot distribute what the operator reconciles, or the name does not fit into a Lease.
 */
export function shardOf(
  description: OperatorDescription,
  { finalizers }: { readonly finalizers: Finalizers },
  start: { readonly identity?: string | undefined; readonly instance: string },
): ShardParts {
  const { options, controllers, extensions } = description
  const ring = ringOf(description)
  const own = typeof options.leaderElection === 'object' ? options.leaderElection : {}
  const shard = start.identity ?? own.identity ?? start.instance
  if (shard.length > 63 || !isDomainName(shard)) {
    throw new TypeError(
      `Cannot shard operator "${options.name}": "${shard}" names its Lease and is the value of a label: at most 63 ` +
        'lower-case letters, digits, dashes and dots; state leaderElection.identity instead of the name of the host',
    )
  }
  if (shard === options.name && hasWebhooks(description)) {
    throw new TypeError(
      `Cannot shard operator "${shard}": its webhooks have the Lease of this name; state another leaderElection.identity`,
    )
  }
  const name = options.sharding!.ring!
  const labels = labelsOf(name)
  let cache: Cache | undefined
  const drains = new Map(ring.map(({ resource }) => {
    const stored = (key: string, form = resource): KubeObject | undefined =>
      cache?.informersOf(form)?.map((informer) => informer.store.get(key)).find((each) => each)
    return [groupResourceOf(resource), new Drain(resource, labels, stored)] as const
  }))
  const drainOf = ({ resource }: ControllerDescription): Drain | undefined => drains.get(groupResourceOf(resource))
  return {
    sharded: {
      ...description,
      options: {
        ...options,
        leaderElection: { ...own, lease: shard, identity: shard, labels: { [RING_LABEL]: name } },
      },
      caches: selected(description, ring, `${labels.shard}=${shard}`),
      controllers: [
        ...controllers.map((each) => drainOf(each)?.guarding(each) ?? each),
        ...[...drains.values()].map((drain) => drain.controller(controllers.filter((each) => drainOf(each) === drain))),
      ],
      extensions: [({ cluster }) => void (cache = cluster.cache), ...extensions],
    },
    finalizers: finalizers && { ...finalizers, Finalizer: guardedFinalizer(finalizers.Finalizer, drains) },
    keepLabels: (checkOwners) => async (object, ...rest) => {
      await checkOwners?.(object, ...rest)
      if (cache) putBack(object as KubeObject, cache, labels)
    },
  }
}

/** Returns the caches of an operator, of which those of sharded kinds select the objects of one shard as well. */
function selected(
  description: OperatorDescription,
  ring: readonly RingResource[],
  selector: string,
): CacheDescription[] {
  const { caches } = description
  const isSharded = isIn(kindsOf(ring))
  const isDistributed = (each: { readonly resource: AnyResource; readonly cluster?: unknown }): boolean =>
    each.cluster === undefined && isSharded(each.resource)
  const kinds = new Map(watchedResources(description).filter(isSharded).map((each) => [resourceId(each), each]))
  const narrowed = [...kinds].map(([id, resource]): CacheDescription => {
    const known = caches.find((each) => isDistributed(each) && resourceId(each.resource) === id)
    // Each option of each namespace, as a label selector there would replace that of the kind.
    const spaces = scopesOf(resource, ...cacheOptionsOf(resource, description)).map((
      { namespace = '*', labels, ...scope },
    ) => [namespace, { ...scope, labels: labels ? `${labels},${selector}` : selector }] as const)
    return {
      resource,
      cluster: undefined,
      optional: known?.optional,
      declaredAt: known?.declaredAt ?? (() => undefined),
      options: { read: known?.options.read, compact: known?.options.compact, namespaces: Object.fromEntries(spaces) },
    }
  })
  return [...caches.filter((each) => !isDistributed(each)), ...narrowed]
}

/** Puts labels of the ring back that an update of a known object would remove: only the drain of a shard does. */
function putBack(object: KubeObject, cache: Cache, { shard, drain }: RingLabels): void {
  const metadata = object.metadata as Draft<KubeObject['metadata']>
  // A create has no version, and an apply leaves out what others own.
  if (!metadata?.resourceVersion || Object.isFrozen(metadata)) return
  // It may be written in another version than the one that is watched.
  for (const { reader } of informersOfKind(cache, object, metadata.namespace)) {
    const known = reader.get(formatKey(keyOf(object)))?.metadata
    for (const label of [shard, drain]) {
      const value = known?.labels?.[label]
      if (value !== undefined) metadata.labels = { [label]: value, ...metadata.labels }
    }
  }
}

/** Besides those that wait for a running reconcile. */
const ACKNOWLEDGED_AT_ONCE = 10
/** The max number of keys per kind that are remembered: of acknowledged objects, and of deleted ones. */
const MAX_REMEMBERED = 10_000

/** Keys of deleted objects whose reconcile is due. One that a filter rejects stays: the oldest ones are forgotten. */
type Gone = BoundedMap<string, true>

/** A run of a key, or several of controllers of one kind. */
interface Running {
  count: number
  readonly ended: Promise<void>
  readonly end: () => void
}

/** Decides for one kind which keys are reconciled, and gives the objects up that the sharder moves. */
class Drain {
  readonly #resource: AnyResource
  readonly #labels: RingLabels
  /** Returns what the watch of this form of the kind, or of another one, has delivered. */
  readonly #stored: (key: string, form?: AnyResource) => KubeObject | undefined
  readonly #running = new Map<string, Running>()
  /** The keys of objects that were given up and have not come back. */
  readonly #acknowledged = new BoundedMap<string, true>(MAX_REMEMBERED)

  constructor(
    resource: AnyResource,
    labels: RingLabels,
    stored: (key: string, form?: AnyResource) => KubeObject | undefined,
  ) {
    this.#resource = resource
    this.#labels = labels
    this.#stored = stored
  }

  /** Returns the controller that acknowledges drains of the kind, beside its other controllers. */
  controller(controllers: readonly ControllerDescription[]): ControllerDescription {
    const busy = controllers.reduce((sum, { options: { concurrency = 1 } }) => sum + concurrency, 0)
    return {
      resource: controllers[0]!.resource,
      options: {
        name: `drain-${groupResourceOf(this.#resource)}`,
        when: (now, _before, { kind }) => {
          if (kind === 'deleted' || hasLabel(now, this.#labels.drain)) return kind !== 'deleted'
          // It may have come back, of which the filters of other controllers may not tell.
          this.#acknowledged.delete(formatKey(keyOf(now)))
          return false
        },
        concurrency: busy + ACKNOWLEDGED_AT_ONCE,
        backoff: { max: '10s' },
      },
      sources: [],
      declaredAt: () => undefined,
      finalize: undefined,
      step: { kind: 'key', reconcile: (key, context) => this.#acknowledge(key, context) },
    }
  }

  /** Returns a controller that reconciles the objects of this shard only, until they are drained. */
  guarding(controller: ControllerDescription): ControllerDescription {
    const { options, resource, step } = controller
    if (step!.kind === 'object') {
      const { reconcile } = step as Extract<typeof step, { kind: 'object' }>
      const guarded = (object: KubeObject, context: Context): Promise<Result> =>
        this.guard(object, resource, () => reconcile(object, context))
      return { ...controller, step: { kind: 'object', reconcile: guarded } }
    }
    const { reconcile } = step as Extract<typeof step, { kind: 'key' }>
    const gone: Gone = new BoundedMap(MAX_REMEMBERED)
    return {
      ...controller,
      options: { ...options, when: this.#noting(options.when, gone) },
      step: { kind: 'key', reconcile: (key, context) => this.#runOfKey(key, resource, context, gone, reconcile) },
    }
  }

  /**
   * Runs a reconcile of an object of this shard, unless it is drained. `form`: of the kind, as its controller watches
   * it: another version, or the metadata alone. If only that watch has the object, one of the two is late: the object
   * has just come, or was just given up.
   */
  async guard(object: KubeObject, form: AnyResource, reconcile: () => Promise<Result>): Promise<Result> {
    const key = formatKey(keyOf(object))
    const stored = this.#stored(key)
    if (!stored && this.#stored(key, form)) return { requeue: true }
    if (!stored || hasLabel(stored, this.#labels.drain)) return undefined
    return await this.#run(key, reconcile)
  }

  /** Runs the reconcile of a key: of an object of this shard, or of one that was deleted while it was this shard's. */
  async #runOfKey(
    key: ObjectKey,
    form: AnyResource,
    context: Context,
    gone: Gone,
    reconcile: (key: ObjectKey, context: Context) => Promise<Result>,
  ): Promise<Result> {
    const text = formatKey(key)
    if (!this.#stored(text)) {
      if (this.#stored(text, form)) return { requeue: true }
      if (!gone.has(text)) return
      // The watch reports an object that has left the selection as deleted.
      const live = await context.client.live.get(this.#resource, key as never).catch((error: unknown) => {
        // The object is gone with its definition.
        if (!isMissingKind(error)) throw error
      })
      if (live) return void gone.delete(text)
    }
    const stored = this.#stored(text)
    if (stored && hasLabel(stored, this.#labels.drain)) return
    const result = await this.#run(text, () => reconcile(key, context))
    if (!result || !(result.requeue || result.requeueAfter)) gone.delete(text)
    return result
  }

  /** Counts the run, and has an acknowledgement of its key wait. The check before it is in the same turn. */
  async #run(key: string, reconcile: () => Promise<Result>): Promise<Result> {
    let running = this.#running.get(key)
    if (!running) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      this.#running.set(key, running = { count: 0, ended, end })
    }
    running.count++
    try {
      return await reconcile()
    } finally {
      if (--running.count === 0) {
        this.#running.delete(key)
        running.end()
      }
    }
  }

  /** Removes both labels in one write, when no reconcile of the key runs: then the sharder assigns the object anew. */
  async #acknowledge(key: ObjectKey, { client, signal }: Context): Promise<Result> {
    const text = formatKey(key)
    for (;;) {
      // The end of a run aborts the calls that it has not awaited.
      await nextTurn()
      const running = this.#running.get(text)
      if (!running) break
      await untilAborted(running.ended, signal)
    }
    const object = this.#stored(text)
    const { shard, drain } = this.#labels
    if (!object || !hasLabel(object, drain)) return
    const { resourceVersion } = object.metadata
    this.#acknowledged.set(text, true)
    try {
      await client.patch(
        this.#resource,
        object,
        { merge: { metadata: { labels: { [shard]: null, [drain]: null } } } },
        { resourceVersion },
      )
    } catch (error) {
      this.#acknowledged.delete(text)
      if (isReason(error, 'NotFound')) return
      // The watch has not delivered what was written last.
      if (isReason(error, 'Conflict')) return { requeue: true }
      throw error
    }
  }

  /** Notes deletions for the reconcile of a key, before the key is queued. */
  #noting(when: Predicate | undefined, gone: Gone): Predicate {
    return (now, before, change) => {
      const key = formatKey(keyOf(now))
      if (change.kind !== 'deleted') {
        if (!hasLabel(now, this.#labels.drain)) this.#acknowledged.delete(key)
      } else if (!this.#acknowledged.has(key)) gone.set(key, true)
      return when?.(now, before, change) ?? true
    }
  }
}

type FinalizerClass = NonNullable<Finalizers>['Finalizer']

/** Returns the class with runs that count as reconciles of their object: they write before and after it. */
function guardedFinalizer(Finalizer: FinalizerClass, drains: ReadonlyMap<string, Drain>): FinalizerClass {
  return class extends Finalizer {
    readonly #drain: Drain | undefined
    readonly #form: AnyResource

    constructor(resource: AnyResource, name: string) {
      super(resource, name)
      this.#drain = drains.get(groupResourceOf(resource))
      this.#form = resource
    }

    override async run(...args: Parameters<InstanceType<FinalizerClass>['run']>): Promise<Result> {
      const run = (): Promise<Result> => super.run(...args)
      return await (this.#drain ? this.#drain.guard(args[0], this.#form, run) : run())
    }
  }
}
