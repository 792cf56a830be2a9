/** The types of an operator file: contexts, options of controllers, and parts for extensions. */
import type { ClusterConfig } from '../../core/cluster_config.ts'
import type { Duration } from '../../core/duration.ts'
import type { KeyIn, Keys, KubeObject, Named, ObjectKey } from '../../core/objects.ts'
import type { Resource } from '../../core/resource.ts'
import type { Clock } from '../../async/clock.ts'
import type { Log, LogLevel } from '../../observe/log.ts'
import type { Meter } from '../../observe/metrics.ts'
import type { Delta } from '../../cache/store.ts'
import type { Client } from '../../client/client.ts'
import type { Recorder } from '../../events/event_recorder.ts'
import type { RateLimiter } from '../../queue/rate_limiter.ts'
import type { Controller } from '../../controller/controller.ts'
import type { Predicate } from '../../controller/predicates.ts'
import type { Result } from '../../controller/result.ts'
import type { Cluster } from '../../manager/cluster.ts'
import type { Manager } from '../../manager/manager.ts'
import type { PartMeter } from '../../manager/metrics.ts'
import type { HealthServer } from '../../manager/servers/health.ts'
import type { MetricsServer } from '../../manager/servers/metrics_server.ts'
import type { Fetch } from '../../manager/servers/server.ts'

/** A cluster besides the operator's own, returned by `app.cluster(…)`. Each start opens its own connection. */
export interface OtherCluster {
  readonly name: string
}

/** Clusters that come and go, returned by `app.clusters(…)`. */
export interface ClusterGroup {
  readonly name: string
  readonly provider: ClusterProvider
}

/** A cluster that a provider adds, or adds again with another configuration, or removes. */
export type ClusterChange = { readonly add: string; readonly config: ClusterConfig } | { readonly remove: string }

/**
 * Provides the clusters of a group, on every replica. When its stream throws or ends, it is called again with back-off,
 * unless the stream returns `done`.
 */
export type ClusterProvider = (context: WorkContext) => AsyncIterable<ClusterChange>

/** The context of all of an operator's functions. */
export interface WorkContext {
  /**
   * Its calls are aborted when the work has ended or is abandoned. With leader election, the lease fences the writes of
   * work that runs only on the leader.
   */
  readonly client: Client
  /**
   * Returns the client of another cluster; without an argument, of the operator's own. It is the same object within one
   * reconcile, one call of a map function, or one task.
   */
  clientOf(cluster?: OtherCluster): Client
  readonly log: Log
  /** The operator's own namespace: that of its pod, or of the kubeconfig's context, or else `default`. */
  readonly ownNamespace: string
  /**
   * The operator's clock; in tests, the world's. Use `clock.now()` for times that are written, such as
   * `lastTransitionTime`.
   */
  readonly clock: Clock
  /**
   * Resolves after the duration on the operator's clock. Rejects with the reason of `signal` if that is aborted first.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * const app = operator({ name: 'beat' })
   * app.add('beat', async ({ sleep, log }) => {
   *   for (;;) {
   *     log.info('still here')
   *     await sleep('1h')
   *   }
   * })
   * ```
   */
  sleep(duration: Duration): Promise<void>
  /** Aborted when the work must end, for a task when the stop begins; pass it to other requests. */
  readonly signal: AbortSignal
}

/** @internal A key; `cluster` is the name of its cluster for a controller with `clusters`, and else absent. */
type InCluster<Key> = Key & { readonly cluster?: string | undefined }

/** The context of a reconcile or a cleanup. */
export interface Context extends WorkContext {
  /** With the name of its `cluster` for a controller with `clusters`. */
  readonly key: InCluster<ObjectKey>
  /** The cluster of the controller's own kind, and of this object; undefined is the operator's own. */
  readonly cluster: OtherCluster | undefined
  /**
   * The client of the operator's own cluster, or of this object's cluster for a controller with `clusters`. Bound to
   * this run: its calls are aborted with it, so an abandoned reconcile cannot write any more.
   */
  readonly client: Client
  /** Adds the controller, the key and the run's id to each line. */
  readonly log: Log
  /**
   * Records Events about objects in the cluster of the controller's own kind, for `kubectl describe`. It never waits
   * and never throws. Their source is `operator/controller`.
   */
  readonly events: Recorder
  /** Returns the recorder of another cluster; without an argument, of the operator's own. */
  eventsOf(cluster?: OtherCluster): Recorder
  /**
   * Whether all kinds that the operator watches in a cluster are listed and no watch fails now; without an argument, in
   * the operator's own. Kinds that are `optional` by themselves do not count; without a watched kind it is true. It
   * only reads the state of the caches, so a request may still fail.
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
  /**
   * Aborted when the run times out, ends, or is abandoned shortly before the end of the grace period: 2 s, or a tenth
   * of it.
   */
  readonly signal: AbortSignal
  /**
   * Aborted when the operator begins to stop, when the cluster is removed from its group, and with `signal`. Pass it to
   * waits that a stop may cut short, such as a poll of an external API; the client still works. A run that rejects with
   * its reason is not logged as a failure.
   */
  readonly stopping: AbortSignal
  /** 1 at first, and one more after the back-off of each consecutive failure or `{ requeue: true }`. */
  readonly attempt: number
}

/** The context of the functions of sources. The client is that of {@link Context}. */
export interface MapContext extends WorkContext {
  /** As in {@link Context}. */
  readonly cluster: OtherCluster | undefined
}

/** The context of a map function. */
export interface WatchContext<W extends KubeObject> extends MapContext {
  /**
   * The change: `added` (`initial` if from a first list), `updated` with the previous object as `old`, or `deleted`.
   * For an update, the function is called for both `event.object` and `event.old`.
   */
  readonly event: Delta<W>
}

/** How the keys of an event are queued. */
export interface QueueOptions {
  /** Keys with a higher priority are reconciled first. Default: 0; −100 for objects of a first list. */
  priority?: number | undefined
  /** The delay. Default: none. */
  after?: Duration | undefined
  /** Use the delay of the back-off, and count as a failure of the key. Default: false. */
  rateLimited?: boolean | undefined
}

/** Options of {@link Operator.controllerFor}. */
export interface ControllerOptions<T extends KubeObject> {
  /** The name in logs, Events and metrics; unique within the operator. Default: the kind in lower case. */
  name?: string
  /**
   * Returns how the key of an object is queued, for all its events; `event.initial` is true for a first list. If it
   * throws, the error is logged, and the key is queued as by default.
   */
  queue?: (object: T, event: Delta<T>) => QueueOptions | undefined
  /** The maximum number of keys reconciled at the same time. Default: 1. */
  concurrency?: number
  /** Tests which changes of the controller's own kind cause a reconcile. Default: all. */
  when?: Predicate<T>
  /** The same for all kinds that it watches, in addition to their own `when`. Default: all. */
  eventFilter?: Predicate
  /** The time limit of a run: then its signal is aborted, and so are its client's calls. Default: none. */
  timeout?: Duration
  /** Run on every replica, not only on the leader, and without a fence. Default: false. */
  everyReplica?: boolean
  /** List, watch and fill the queue before this replica leads, for a quick takeover. Default: false. */
  warmup?: boolean
  /**
   * The delay of a key that fails or returns `requeue`: `base`, doubled each time, up to `max`. Default: 5 ms … 1000 s.
   */
  backoff?: { base?: Duration; max?: Duration }
  /**
   * Let the events of a failing key wait for its retry, so that its back-off holds: for an external API that is down.
   * By default an event, which may be the remedy, runs the key at once.
   */
  holdEvents?: boolean
  /** Makes the rate limiter of one start, instead of `backoff`. See `limiters`. */
  limiter?: () => RateLimiter<string>
  /**
   * The time limit of the first list of each kind that it watches; then the operator's start fails. The shortest limit
   * of all controllers of a kind applies. Optional kinds and clusters have none. Default: the operator's `syncTimeout`.
   */
  syncTimeout?: Duration
  /** The cluster of its own kind. Default: the operator's own. */
  cluster?: OtherCluster
  /** The lowest level of its lines. A log that is not kubeloop's may drop more. Default: that of the log. */
  logLevel?: LogLevel
  /**
   * The clusters of its own kind, instead of `cluster`. It runs once in each, as `name@cluster` in logs and metrics,
   * with a queue and workers of its own, so that the objects of two clusters are two keys and a cluster that is down
   * delays no other. `client`, `events`, `owns` and a `watches` without a cluster are those of the object's cluster.
   * Functions of its sources are called for each of the clusters; keys with the name of another `cluster` are left to
   * that one.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { ConfigMap, Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'fleet' })
   * const [east, west] = ['east', 'west'].map((name) => app.cluster(name, { server: `https://${name}:6443` }))
   * app.controllerFor(ConfigMap, { clusters: [east!, west!] }).owns(Secret)
   *   .reconcile(async (map, { client, key }) => {
   *     const { name } = map.metadata
   *     await client.apply(Secret, { metadata: { name }, stringData: { cluster: key.cluster! } }, { owner: map })
   *   })
   * ```
   */
  clusters?: readonly OtherCluster[] | ClusterGroup
  /**
   * The field manager of its writes, at most 128 printable characters. Give one to a controller that applies an object
   * which another controller applies, too: an apply removes what it leaves out of the fields of its own manager.
   * Default: the operator's name.
   */
  fieldManager?: string
}

/** The options that `operator({ controllers })` may give to all controllers. */
export type ControllerDefaults = Pick<
  ControllerOptions<KubeObject>,
  'concurrency' | 'when' | 'timeout' | 'backoff' | 'holdEvents' | 'logLevel'
>

/** Options of {@link ControllerBuilder.owns}. */
export interface OwnsOptions<W extends KubeObject> {
  /** Tests which changes cause a reconcile. Default: all. */
  when?: Predicate<W>
  /** As in {@link ControllerOptions}, for the owner's key. */
  queue?: (object: W, event: Delta<W>) => QueueOptions | undefined
  /** Reconcile every owner of the controller's kind, not only the controlling one. Default: false. */
  anyOwner?: boolean
  /** As in {@link WatchOptions}. */
  optional?: boolean
  /**
   * What the operator's own code does to objects of this kind beside reading, creating and patching them, for the roles
   * that are made for it: `client.update`, `edit` and `createOrUpdate` need `update`, `deleteAll` needs
   * `deletecollection`. Default: none.
   */
  rights?: readonly ('update' | 'delete' | 'deletecollection')[]
}

/** Options of {@link ControllerBuilder.watches}. */
export interface WatchOptions<W extends KubeObject> {
  /** Tests which changes cause a reconcile. Default: all. */
  when?: Predicate<W>
  /** As in {@link ControllerOptions}, for the keys that the map function returns. */
  queue?: (object: W, event: Delta<W>) => QueueOptions | undefined
  /**
   * The cluster where the kind is watched. Default: the operator's own, or each of the controller's `clusters`; `own`
   * is the operator's own in any case.
   */
  cluster?: OtherCluster | 'own'
  /**
   * Start without the kind if it cannot be listed, for example without its CRD: that is logged, and it is watched as
   * soon as it is served. Until then its reads fail with the server's error. Readiness does not depend on it. Default:
   * false. A kind that another controller watches without this option is required.
   */
  optional?: boolean
}

/** Options of {@link ControllerBuilder.finalize}. */
export interface FinalizeOptions {
  /**
   * The finalizer, as `domain/name`; no other program may use it. Objects keep it until it is removed by this name, so
   * it must not change when the operator or the controller is renamed. Default: `operator/controller`, from their
   * names.
   */
  finalizer?: string
}

/** Describes a controller: its sources, its finalizer, and its reconcile function. */
export interface ControllerBuilder<T extends KubeObject, Operator> {
  /** Reconciles the controlling owner of an object of this kind when the object changes. */
  // deno-lint-ignore no-explicit-any -- the type of writes does not matter to a watch
  owns<W extends KubeObject>(resource: Resource<W, any>, options?: OwnsOptions<NoInfer<W>>): this
  /**
   * Reconciles the keys that `map` returns when an object of this kind changes. For an update, `map` is called with the
   * new and the old object, and each key is reconciled once. Updates of one object that wait for a slow function are
   * joined. A map function that throws is called again with back-off.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { ConfigMap, Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'copier' })
   * app.controllerFor(ConfigMap)
   *   .watches(Secret, ({ metadata }, { event }) => event.kind === 'deleted' ? [] : [metadata])
   *   .reconcile(async () => {})
   * ```
   */
  watches<W extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- as above
    resource: Resource<W, any>,
    map: (object: W, context: WatchContext<W>) => Keys<InCluster<KeyIn<T['metadata']['namespace']>>>,
    options?: WatchOptions<NoInfer<W>>,
  ): this
  /**
   * Reconciles keys from outside the cluster. `open` is called at each start, and again with back-off when its stream
   * throws or ends, unless it ends with `return 'done'`, as a closed {@link EventChannel} does. A ReadableStream will
   * do, too. Keys are lost with the process and carry no data: write durable requests into the object, for example as
   * an annotation, which triggers the leader by its change.
   */
  from(
    name: string,
    open: (context: MapContext) => AsyncIterable<Named<InCluster<KeyIn<T['metadata']['namespace']>>>>,
  ): this
  /**
   * Reconciles the keys that `keys` returns at each interval, with low priority; without `keys`, all objects of the
   * controller's kind that `when` and `eventFilter` pass as in a first list. Ticks that were missed during a stall or a
   * slow `keys` are dropped.
   */
  every(interval: Duration, keys?: (context: MapContext) => Keys<InCluster<KeyIn<T['metadata']['namespace']>>>): this
  /**
   * Adds a finalizer to each object before its first reconcile; a deleted object stays until `cleanup` has returned. A
   * result of `{ requeueAfter }` or `{ requeue: true }` means that the cleanup is not done; a throw is retried with
   * back-off. `cleanup` may be called again for a cleaned object. Objects in deletion are not reconciled; objects
   * without the finalizer are not cleaned up. `when` and `eventFilter` do not apply to objects that wait for `cleanup`.
   */
  finalize(cleanup: (object: T, context: Context) => Promise<Result>, options?: FinalizeOptions): this
  /** Completes the controller. `step` is called for objects that exist; a throw is retried with back-off. */
  reconcile(step: (object: T, context: Context) => Promise<Result>): Operator
  /**
   * Like `reconcile`, but with the key only, and also called after the object is gone. With `finalize`, not during its
   * deletion.
   */
  reconcileKey(step: (key: InCluster<KeyIn<T['metadata']['namespace']>>, context: Context) => Promise<Result>): Operator
}

/**
 * A cluster of one start. `manager.fence` fences the writes of its `client` and `api`: with leader election they are
 * rejected without the lease; without it, after the grace period.
 */
export interface ClusterParts
  extends Pick<Cluster, 'name' | 'config' | 'api' | 'client' | 'cache' | 'kinds' | 'recorder'> {
  /** The cluster itself, for work on every replica: its `client`, `api` and `transport` write without a fence. */
  readonly unfenced: Cluster
}

/** The server of an operator's webhooks, which runs on every replica. */
export interface WebhookParts {
  /** Undefined until the server listens. */
  readonly port: number | undefined
  readonly paths: readonly string[]
  /**
   * Serves a path with a function of the Fetch API, for webhooks that are not reviews of admission or conversion, such
   * as token reviews. With `clientCa`, clients need a certificate, unless `clientCertificate` is `ignored`. If the
   * function throws, the error is logged, and the client gets an empty 500.
   *
   * @throws TypeError if the path is not segments of letters, digits, `-` and `_` after slashes. Error if it is taken.
   */
  handleFetch(path: string, fetch: Fetch, options?: { readonly clientCertificate?: 'required' | 'ignored' }): void
  /** Completes a TLS handshake with the server. Rejects if that fails, or after 10 s. */
  check(signal?: AbortSignal): Promise<void>
}

/** The parts of a started operator, for extensions. */
export interface Parts {
  /**
   * Runs runnables that are added before the start or later. Its `fence` is for further clients of the leader's work.
   */
  readonly manager: Manager
  /** The operator's own cluster. */
  readonly cluster: ClusterParts
  /** Another cluster of the operator. */
  clusterOf(cluster: OtherCluster): ClusterParts
  /** By name. `watch` adds a source to a controller, also to a running one, until a given signal is aborted. */
  readonly controllers: ReadonlyMap<string, Controller>
  /** Accepts checks before the start. Undefined without `health`. */
  readonly health: HealthServer | undefined
  /** Accepts handlers before the start. Undefined without `metrics`. */
  readonly metrics: MetricsServer | undefined
  /** Undefined if the operator has neither admissions, conversions, nor the option `webhooks`. */
  readonly webhooks: WebhookParts | undefined
  /** The meter of the operator. Undefined if metrics are off. */
  readonly meter: (Meter & PartMeter) | undefined
  readonly clock: Clock
  readonly log: Log
}
