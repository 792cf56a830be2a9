/** What a reconcile is given, and what the builder of a controller takes: the words of an operator file. */
import type { Duration } from '../core/duration.ts'
import type { KeyIn, Keys, KubeObject, Named, ObjectKey } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Delta } from '../cache/store.ts'
import type { Client } from '../client/client.ts'
import type { Recorder } from '../events/recorder.ts'
import type { RateLimiter } from '../queue/rate_limiter.ts'
import type { Predicate } from '../controller/predicates.ts'
import type { Result } from '../controller/result.ts'

/** Another cluster than the operator's own, as `app.cluster(…)` named it. Each start connects to it anew. */
export interface OtherCluster {
  readonly name: string
}

/** What everything that works in an operator is given. */
export interface WorkContext {
  /**
   * Its calls end when the work has ended, or when nobody waits for that any more. With leader election on, the writes of
   * what only the leader does are fenced by the lease.
   */
  readonly client: Client
  /** The same for another cluster of the operator; always the same one within a reconcile, a call of a map function, or a task. */
  clientOf(cluster: OtherCluster): Client
  readonly log: Log
  /** The operator's clock, in tests that of the world: `clock.now()` for the times that are written, such as `lastTransitionTime`. */
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** What a reconcile function works with. */
export interface Context extends WorkContext {
  readonly key: ObjectKey
  /** Bound to this run: its calls end with it, so that an abandoned reconcile cannot write on. */
  readonly client: Client
  /** Every line has the controller, the key and the run's id. */
  readonly log: Log
  /**
   * Records Events about objects of the cluster where the controller's own kind lives, for `kubectl describe`; never waits, never
   * fails. Their source is `operator/controller`.
   */
  readonly events: Recorder
  /** The same for objects of another cluster of the operator; without an argument, of the operator's own. */
  eventsOf(cluster?: OtherCluster): Recorder
  /**
   * Returns whether what the operator watches in a cluster is listed there, and no watch of it fails now; without an
   * argument, in the operator's own. Kinds that are `optional` by themselves do not count; where nothing is watched, it is
   * always true. It asks the caches and sends nothing, so a request may fail nevertheless.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { ConfigMap } from 'kubeloop/kinds'
   * const app = operator({ name: 'mirror' })
   * const east = app.cluster('east', { server: 'https://east:6443' }, { optional: true })
   * app.controllerFor(ConfigMap).watches(ConfigMap, ({ metadata }) => [metadata], { cluster: east })
   *   .reconcile(async (map, { isReady }) => isReady(east) ? undefined : { requeueAfter: '30s' })
   * ```
   */
  isReady(cluster?: OtherCluster): boolean
  /** Aborted when the run times out, has ended, or is abandoned at the end of the grace period. */
  readonly signal: AbortSignal
  /** 1 at first, and one more after each failure or `{ requeue: true }` in a row whose wait has ended. */
  readonly attempt: number
}

/** What sources and their functions are given. */
export type MapContext = WorkContext

/** What a map function is given. */
export interface WatchContext<W extends KubeObject> extends MapContext {
  /**
   * Why it is called: `added` (`initial` for what a first list brought), `updated` with the object as it was in `old`, or `deleted`. For
   * an update it is called for both states, with one event: `event.object` and `event.old`.
   */
  readonly event: Delta<W>
}

/** Options of {@link Operator.controllerFor}. */
export interface ControllerOptions<T extends KubeObject> {
  /** In logs and metrics; unique within the operator. Default: the kind in lower case. */
  name?: string
  /** How many keys are worked on at once. Default: 1. */
  concurrency?: number
  /** Which changes of the controller's own kind are worth a reconcile. Default: all. */
  when?: Predicate<T>
  /** Which changes of any kind that it watches are, beside what is said of each. Default: all. */
  eventFilter?: Predicate
  /** Aborts a run's signal, and with it its client. Default: none. */
  timeout?: Duration
  /** Run also where this replica does not lead, and without its fence. Default: false. */
  everyReplica?: boolean
  /** List, watch and fill the queue before this replica leads, so that it takes over at once. Default: false. */
  warmup?: boolean
  /** How long a key waits that fails or asks for `requeue`: `base`, doubled each time, up to `max`. Default: 5 ms … 1000 s. */
  backoff?: { base?: Duration; max?: Duration }
  /** Instead of `backoff`: makes the limiter of one start. Those of kubeloop are in `limiters`. */
  limiter?: () => RateLimiter<string>
  /**
   * How long the first list of each kind that it watches may take before the start of the operator fails. Of two controllers that
   * watch a kind and state a timeout, the shorter one counts for it. Without effect on what is optional. Default: the operator's
   * own, 2 minutes.
   */
  syncTimeout?: Duration
  /** Where its own kind lives. Default: the operator's own cluster. */
  cluster?: OtherCluster
}

/** Options of {@link ControllerBuilder.owns}. */
export interface OwnsOptions<W extends KubeObject> {
  /** Which changes are worth a reconcile. Default: all. */
  when?: Predicate<W>
  /** Reconcile every owner of our kind, not only the controlling one. Default: false. */
  anyOwner?: boolean
  /** As in {@link WatchOptions}. */
  optional?: boolean
}

/** Options of {@link ControllerBuilder.watches}. */
export interface WatchOptions<W extends KubeObject> {
  /** Which changes are worth a reconcile. Default: all. */
  when?: Predicate<W>
  /** Where the kind is watched. Default: the operator's own cluster. */
  cluster?: OtherCluster
  /**
   * Start without the kind where its CRD is missing or it cannot be listed for another reason, log so, and watch it as soon as it is
   * there. Until then reads of it fail as the server says. Readiness does not depend on it. Default: false; a kind that something
   * else watches without this option holds the start.
   */
  optional?: boolean
}

/** Options of {@link ControllerBuilder.finalize}. */
export interface FinalizeOptions {
  /**
   * The finalizer: `domain/name`, which no other program may use. Objects keep it until it is removed by its name, so it has to
   * stay what it is when the operator or the controller is renamed. Default: `operator/controller`, the names of both.
   */
  finalizer?: string
}

/** Describes a controller: its sources, its finalizer, and its reconcile function. */
export interface ControllerBuilder<T extends KubeObject, Operator> {
  /** Reconciles the owner when an object of this kind, controlled by it, changes. */
  // deno-lint-ignore no-explicit-any -- watching does not depend on what is written
  owns<W extends KubeObject>(resource: Resource<W, any>, options?: OwnsOptions<NoInfer<W>>): this
  /**
   * Reconciles what `map` returns when an object of this kind changes; of an update, what it returns for the object as it is and for
   * the object as it was, each key once. A map function that throws is called again with back-off.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { ConfigMap, Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'copier' })
   * app.controllerFor(ConfigMap)
   *   .watches(Secret, ({ metadata: { namespace, name } }, { event }) => (event.kind === 'deleted' ? [] : [{ namespace, name }]))
   *   .reconcile(async () => {})
   * ```
   */
  watches<W extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- as above
    resource: Resource<W, any>,
    map: (object: W, context: WatchContext<W>) => Keys<KeyIn<T['metadata']['namespace']>>,
    options?: WatchOptions<NoInfer<W>>,
  ): this
  /**
   * Reconciles what comes from outside the cluster: `open` is called at each start, and again, after a back-off, when what
   * it gave throws. An {@link EventChannel} is one, a ReadableStream another. A key is all that arrives, and it is lost with this
   * process: what is asked for beside it belongs into the object, as an annotation, whose change wakes the leader by itself.
   */
  from(name: string, open: (context: MapContext) => AsyncIterable<Named<KeyIn<T['metadata']['namespace']>>>): this
  /**
   * Reconciles what `keys` answers every so often, in low priority; without `keys`, everything of the controller's kind that
   * the cache has. Ticks that a stall or a slow `keys` missed are not made up for.
   */
  every(interval: Duration, keys?: (context: MapContext) => Keys<KeyIn<T['metadata']['namespace']>>): this
  /**
   * Turns a finalizer on: an object has it before it is reconciled for the first time, and when it is deleted it stays until
   * `cleanup` has returned. `{ requeueAfter }` and `{ requeue: true }` mean not yet; throw to be called again with back-off. It may be called again for
   * what it has cleaned up. Objects that are being deleted are not reconciled any more; what never had the finalizer is not
   * cleaned up. Cleanup is called for every object that waits for it, whatever `when` and `eventFilter` say.
   */
  finalize(cleanup: (object: T, context: Context) => Promise<Result>, options?: FinalizeOptions): this
  /** Ends the sentence. Called for objects that exist; throw to be called again with back-off. */
  reconcile(step: (object: T, context: Context) => Promise<Result>): Operator
  /** As reconcile, by key only: also called when the object is gone. With `finalize`, not while it is being deleted. */
  reconcileKey(step: (key: ObjectKey, context: Context) => Promise<Result>): Operator
}
