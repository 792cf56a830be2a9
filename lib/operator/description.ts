/** An operator as data: what `operator()` gathers and each start assembles a manager from. */
import { type Duration, toMs } from '../core/duration.ts'
import type { Predicate } from '../controller/predicates.ts'
import { messageOf } from '../core/errors.ts'
import { checkOptionNames, type OptionShape } from '../core/option_names.ts'
import type { Draft, KubeObject, ObjectKey } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, resourceId } from '../core/resource.ts'
import { parseAddress } from '../manager/servers/address.ts'
import { type CacheOptions, checkOptions, describeOptions, isSubsumed, scopesOf } from '../cache/cache_options.ts'
import type { Log } from '../observe/log.ts'
import { callerFrame } from '../observe/stack.ts'
import type { PrometheusRegistry } from '../observe/prometheus.ts'
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { Result } from '../controller/result.ts'
import type { Context, ControllerOptions, MapContext, OtherCluster, WatchContext, WorkContext } from './context.ts'
import type { Parts } from './parts.ts'

/** Where the Lease of an operator is, and how it is held. */
export interface LeaderElectionOptions {
  /** The Lease's name. Default: the operator's. */
  lease?: string
  /**
   * The Lease's namespace. Default: the one this process runs in, or that of the kubeconfig's context; `default`, with a warning,
   * where there is neither. Candidates in different namespaces do not see each other, and lead at the same time.
   */
  namespace?: string
  /** How long others wait after the last renewal. Whole seconds. Default: 15 s. */
  duration?: Duration
  /** How long to try to renew before giving up. Default: 10 s. */
  renewDeadline?: Duration
  /** How long between tries. Default: 2 s. */
  retryPeriod?: Duration
  /** Who this process is among the candidates; no two may be the same. Default: the host's name and a random UUID. */
  identity?: string
  /** Laid over those that the Lease has. Default: none. */
  labels?: Readonly<Record<string, string>>
  /** Told at every change of holder that is seen, ourselves included. */
  onNewLeader?: (identity: string) => void | Promise<void>
}

/** Where a server listens: a port of 127.0.0.1, `:8080` for all interfaces, or `host:8080`. */
export type Address = number | string

/** Which objects of a kind a cache keeps, and what of them. */
export interface CacheSelection<T extends KubeObject> {
  /** A label selector: only these objects are kept, and seen. */
  labels?: string
  /** A field selector, likewise. */
  fields?: string
  /**
   * Takes out of each object what is not read, before it is stored. Reads from the cache then give objects without it; names,
   * versions, labels, owners and finalizers stay. Writes lose nothing: `edit` and `createOrUpdate` read such a kind from the
   * server, `setStatus` and `apply` are always sent, and `update` refuses an object of this cache, its draft, or a spread of it.
   */
  strip?: (draft: Draft<NoInfer<T>>) => void
}

/**
 * Where a kind is watched: namespaces by their names, or each with a selection of its own, whose options go before those beside
 * it. `*` is all namespaces that are not named. Empty: all of them.
 */
export type CacheNamespaces<T extends KubeObject> = string[] | Readonly<Record<string, CacheSelection<T>>>

/** Options of {@link Operator.cache}: what the cache keeps of a kind, and of which cluster. */
export interface CacheDeclaration<T extends KubeObject> extends CacheSelection<T> {
  /**
   * Instead of the operator's own, or of those of the `cluster`.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'greeter' })
   * app.cache(Secret, { namespaces: { 'kube-system': { labels: 'app=greeter' }, prod: {} } })
   * ```
   */
  namespaces?: CacheNamespaces<T>
  /** `live`: watched for its events, and read from the server, all of it. Default: read from the cache. */
  read?: 'live'
  /** Where. Default: the operator's own cluster. */
  cluster?: OtherCluster
  /** Start without the kind where it is not served, as in {@link WatchOptions}. Default: false. */
  optional?: boolean
}

/** What the caches keep of every kind. A field selector must be one that every kind knows. */
export interface CacheDefaults extends CacheSelection<KubeObject> {
  /** Instead of the operator's `namespaces`. Without effect on cluster-scoped kinds. */
  namespaces?: CacheNamespaces<KubeObject>
}

/** Options of `operator()`. */
export interface OperatorOptions {
  /** Who writes: field manager, Lease, User-Agent. */
  name: string
  /**
   * Where lines go, instead of to standard output: `console`, LogTape's logger, pino's; see {@link Log}. It decides itself which
   * levels it keeps, so `KUBELOOP_LOG` has no effect on it.
   */
  log?: Log
  /** Let one replica work at a time. Default: false. */
  leaderElection?: boolean | LeaderElectionOptions
  /** What is watched, in other clusters too unless `app.cluster` names others for one. Default, and when empty: all namespaces. */
  namespaces?: string[]
  /**
   * What the caches keep of every kind that is watched, in all clusters. What `app.cache(Kind, …)` says of a kind goes before it,
   * each option by itself. Default: everything.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * const app = operator({
   *   name: 'greeter',
   *   cache: { strip: ({ metadata }) => void delete metadata.annotations, namespaces: { 'kube-system': { labels: 'ours' }, '*': {} } },
   * })
   * ```
   */
  cache?: CacheDefaults
  /**
   * What to do about the CRDs of our kinds at start. Default: `verify`; under `kubeloop dev` and in tests `install`.
   *
   * `install`: every replica creates what is missing; with leader election, only the leader changes what is there, before its
   * controllers start. A schema that became narrower is refused while stored objects would be invalid by it or lose fields; with
   * `{ mode: 'install', narrow: true }` it is installed, and the objects are named in a warning.
   *
   * `verify`: the start fails with the differences unless the cluster's definition says all that ours does. Versions, optional
   * fields, columns and names that only the cluster's has may be there, and descriptions may differ.
   */
  crds?: 'install' | 'verify' | 'ignore' | { readonly mode: 'install'; readonly narrow?: boolean }
  /**
   * How long the first list of a kind may take before the start fails. The `syncTimeout` of a controller goes before it, for the
   * kinds that the controller watches. Default: 2 minutes.
   */
  syncTimeout?: Duration
  /** How long to wait for running reconciles when told to stop. Default: 30 s. */
  grace?: Duration | 'forever'
  /** Where `/healthz` and `/readyz` are served, with `?verbose` and each check by its name below. Default: nowhere. */
  health?: Address
  /**
   * Where `/metrics` is served, with controller-runtime's names; needs prom-client. `registry`: one of prom-client, in which
   * your own metrics may be. Default: nowhere.
   */
  metrics?: Address | { readonly address?: Address; readonly registry?: PrometheusRegistry }
  /** Where `/debug/pprof/` is served: whoever reaches it can read this process's memory. Default: nowhere. */
  profiling?: Address
}

/** Runs beside the controllers until the signal is aborted. */
export type Task = (context: WorkContext) => Promise<void>

/** @internal */
type Keys = Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

/** Where a controller's keys come from, beside the changes of its own kind. */
export type SourceDescription =
  | {
    readonly kind: 'owns'
    readonly resource: AnyResource
    readonly anyOwner: boolean
    readonly optional: boolean | undefined
    readonly when: Predicate | undefined
  }
  | {
    readonly kind: 'watches'
    readonly resource: AnyResource
    readonly map: (object: KubeObject, context: WatchContext<KubeObject>) => Keys
    readonly when: Predicate | undefined
    readonly cluster: OtherCluster | undefined
    readonly optional: boolean | undefined
  }
  | { readonly kind: 'from'; readonly name: string; readonly open: (context: MapContext) => AsyncIterable<ObjectKey> }
  | { readonly kind: 'every'; readonly ms: number; readonly keys: ((context: MapContext) => Keys) | undefined }

/** What an operator file says of one controller. */
export interface ControllerDescription {
  readonly resource: AnyResource
  readonly options: ControllerOptions<KubeObject>
  readonly sources: SourceDescription[]
  /** Where in the user's file it was begun, for errors. */
  readonly declaredAt: () => string | undefined
  finalize: FinalizeDescription | undefined
  step: StepDescription | undefined
}

/** What an operator file says of a finalizer. */
export interface FinalizeDescription {
  readonly cleanup: (object: KubeObject, context: Context) => Promise<Result>
  /** Default: by the names of the operator and the controller. */
  readonly finalizer: string | undefined
}

/** What is done for a key: with the object, or whether there is one or not. */
export type StepDescription =
  | { readonly kind: 'object'; readonly reconcile: (object: KubeObject, context: Context) => Promise<Result> }
  | { readonly kind: 'key'; readonly reconcile: (key: ObjectKey, context: Context) => Promise<Result> }

/** What an operator file says of another cluster. */
export interface ClusterDescription extends OtherCluster {
  readonly config: ClusterConfig | (() => ClusterConfig | Promise<ClusterConfig>)
  /** Default: the operator's own. */
  readonly namespaces?: readonly string[] | undefined
  /** Whether the operator starts without it. Default: false. */
  readonly optional?: boolean | undefined
}

/** What an operator file says of a kind's cache. */
export interface CacheDescription {
  readonly resource: AnyResource
  readonly options: CacheOptions
  readonly cluster: OtherCluster | undefined
  /** Whether the operator starts without it. Default: false. */
  readonly optional?: boolean | undefined
  /** Where in the user's file it was declared, for errors. */
  readonly declaredAt: () => string | undefined
}

/** What an operator file says, as it is read when the operator starts. */
export interface OperatorDescription {
  readonly options: OperatorOptions
  readonly controllers: ControllerDescription[]
  readonly caches: CacheDescription[]
  readonly tasks: { readonly name: string; readonly task: Task; readonly everyReplica: boolean }[]
  readonly clusters: ClusterDescription[]
  readonly extensions: ((parts: Parts) => void | Promise<void>)[]
}

/** The name of a controller: given, or the kind in lower case. */
export function controllerName({ options, resource }: ControllerDescription): string {
  return options.name ?? resource.kind.toLowerCase()
}

/**
 * The finalizer of a controller that has one: given, or `operator/controller`, the name under which it tells Events. Whatever these
 * two may be called is a valid finalizer.
 */
export function finalizerOf(controller: ControllerDescription, operator: string): string | undefined {
  return controller.finalize && (controller.finalize.finalizer ?? `${operator}/${controllerName(controller)}`)
}

/** Every kind that the operator watches in one of its clusters; undefined is its own. */
export function watchedResources(description: OperatorDescription, cluster?: OtherCluster): AnyResource[] {
  const kinds = description.caches.filter((cache) => cache.cluster === cluster).map(({ resource }) => resource)
  return kinds.concat(description.controllers.flatMap((controller) => watchedBy(controller, cluster)))
}

/** The same of one controller; given `optional`, only its own kind and those that are so, or are not. */
function watchedBy(
  { resource, options, sources }: ControllerDescription,
  cluster: OtherCluster | undefined,
  optional?: boolean,
): AnyResource[] {
  const kinds = options.cluster === cluster ? [resource] : []
  for (const source of sources) {
    if (source.kind !== 'owns' && source.kind !== 'watches') continue
    if ((source.kind === 'owns' ? options : source).cluster !== cluster) continue
    if (optional === undefined || optional === Boolean(source.optional)) kinds.push(source.resource)
  }
  return kinds
}

/** Whether a cluster of `app.cluster` is one that the operator starts without. */
export function isOptional(cluster: OtherCluster | undefined): boolean {
  return Boolean((cluster as ClusterDescription | undefined)?.optional)
}

/** Tests whether a kind of a cluster is one that the operator starts without: stated so somewhere, and needed by no controller. */
export function optionalIn(
  { caches, controllers }: OperatorDescription,
  cluster?: OtherCluster,
): (resource: AnyResource) => boolean {
  if (isOptional(cluster)) return () => true
  const kinds = (optional: boolean): Set<string> =>
    new Set(controllers.flatMap((controller) => watchedBy(controller, cluster, optional)).map(resourceId))
  const [needed, dispensable] = [kinds(false), kinds(true)]
  for (const each of caches) if (each.optional && each.cluster === cluster) dispensable.add(resourceId(each.resource))
  return (resource) => dispensable.has(resourceId(resource)) && !needed.has(resourceId(resource))
}

/**
 * Throws a TypeError, with the place in the user's file, if what is declared of a kind contradicts itself or what was declared
 * before. A kind is watched once in a cluster.
 */
export function checkCache(
  { caches }: OperatorDescription,
  { resource, options, cluster, declaredAt }: CacheDescription,
): void {
  at(declaredAt, () => scopesOf(resource, options))
  const known = caches.find((each) => each.cluster === cluster && resourceId(each.resource) === resourceId(resource))
  if (!known || isSubsumed(options, known.options)) return
  const before = `it was declared with ${describeOptions(known.options)}${placeOf(known)}`
  at(declaredAt, () => {
    throw new TypeError(
      `Cannot cache ${groupResourceOf(resource)} twice: ${before}, now with ${
        describeOptions(options)
      }; declare it once`,
    )
  })
}

/** The same of what is said of all kinds. */
export function checkCacheDefaults({ cache, namespaces }: OperatorOptions, declaredAt: () => string | undefined): void {
  if (!cache) return
  at(declaredAt, () => {
    if (namespaces && cache.namespaces) {
      throw new TypeError('Cannot cache by two lists of namespaces: give namespaces or cache.namespaces')
    }
    checkOptions('all kinds', cache as CacheOptions)
  })
}

/**
 * Throws a TypeError, with the place in the user's file, for an option that does not exist or has an invalid value.
 *
 * @param cannot What was being described, for the message: `Cannot control Foo`.
 */
export function checkShape(cannot: string, options: unknown, shape: OptionShape): void {
  const declaredAt = callerFrame()
  checkOptionNames(options, shape, (problem) => {
    throw new TypeError(`${cannot}: ${problem}${placeOf({ declaredAt })}`)
  })
}

/** What `check` throws as a TypeError with the place in the user's file. */
function at(declaredAt: () => string | undefined, check: () => void): void {
  try {
    check()
  } catch (cause) {
    throw new TypeError(`${messageOf(cause)}${placeOf({ declaredAt })}`, { cause })
  }
}

/** Where in the user's file something was declared, behind what is said of it. */
function placeOf({ declaredAt }: { readonly declaredAt: () => string | undefined }): string {
  const place = declaredAt()
  return place ? ` (${place})` : ''
}

/**
 * How long the first list of a kind may take in one of the clusters, in milliseconds: the shortest `syncTimeout` that is stated by
 * the controllers that watch it there, else the operator's own, else undefined.
 */
export function syncTimeoutsOf(
  description: OperatorDescription,
  cluster?: OtherCluster,
): (resource: AnyResource) => number | undefined {
  const common = description.options.syncTimeout === undefined ? undefined : toMs(description.options.syncTimeout)
  const stated = new Map<string, number>()
  for (const controller of description.controllers) {
    const { syncTimeout } = controller.options
    if (syncTimeout === undefined) continue
    for (const id of watchedBy(controller, cluster).map(resourceId)) {
      stated.set(id, Math.min(stated.get(id) ?? Infinity, toMs(syncTimeout)))
    }
  }
  return (resource) => stated.get(resourceId(resource)) ?? common
}

/** Throws an error that names what is missing, before anything is connected. */
export function checkDescription(description: OperatorDescription): void {
  const { options, controllers, tasks } = description
  const cannot = `Cannot start operator "${options.name}"`
  if (controllers.length === 0 && tasks.length === 0) {
    throw new TypeError(`${cannot}: it has no controller and no task; call app.controllerFor(Kind).reconcile(…)`)
  }
  for (
    const address of [
      options.health,
      options.profiling,
      typeof options.metrics === 'object' ? options.metrics.address : options.metrics,
    ]
  ) {
    if (address !== undefined) parseAddress(address)
  }
  const names = new Map<string, ControllerDescription>()
  const finalizers = new Map<string, ControllerDescription>()
  for (const controller of controllers) {
    const name = controllerName(controller)
    const wrong = (what: string): TypeError => new TypeError(`${cannot}: ${what}${placeOf(controller)}`)
    if (!controller.step) {
      throw wrong(`the controller for ${controller.resource.kind} has no reconcile; end it with .reconcile(…)`)
    }
    const namesake = names.get(name)
    if (namesake) throw wrong(`two controllers are called "${name}"${placeOf(namesake)}; give one of them another name`)
    names.set(name, controller)
    const finalizer = finalizerOf(controller, options.name)
    if (finalizer === undefined) continue
    const id = `${groupResourceOf(controller.resource)} ${controller.options.cluster?.name ?? ''} ${finalizer}`
    const other = finalizers.get(id)
    if (other) {
      const what = `two controllers for ${controller.resource.kind} have the finalizer "${finalizer}"${placeOf(other)}`
      throw wrong(`${what}, and one would take it off before the other has cleaned up`)
    }
    finalizers.set(id, controller)
  }
}
