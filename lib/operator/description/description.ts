/** An operator's description, which each start reads, and the names in it. */
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { type Duration, toMs } from '../../core/duration.ts'
import type { KubeObject, ObjectKey } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import type { CacheOptions } from '../../cache/cache_options.ts'
import { DEFAULT_TIMINGS, type LeaseTimings } from '../../leader/lease_state.ts'
import type { ConversionDescription } from '../../schema/conversions.ts'
import type { Predicate } from '../../controller/predicates.ts'
import type { Result } from '../../controller/result.ts'
import type { Admission } from '../../webhook/admission/admission.ts'
import type { AdmissionOptions } from '../../webhook/admission/admission_options.ts'
import type {
  ClusterGroup,
  Context,
  ControllerOptions,
  MapContext,
  OtherCluster,
  OwnsOptions,
  Parts,
  WatchContext,
} from './context.ts'
import type { Namespaces, OperatorOptions, Task } from './options.ts'

/** A task or a schedule. */
export interface TaskDescription {
  readonly name: string
  readonly task: Task
  readonly everyReplica: boolean
  readonly restart: boolean
  /** When it runs. Undefined for a task, which runs from the start on. */
  readonly schedule: { readonly cron: string; readonly timeZone: string } | undefined
  /** Returns the place of the declaration in the user's file. */
  readonly declaredAt: () => string | undefined
}

/** @internal */
type Keys = Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

/** A source of a controller's keys, beside the changes of its own kind. */
export type SourceDescription =
  | {
    readonly kind: 'owns'
    readonly resource: AnyResource
    readonly anyOwner: boolean
    readonly rights: NonNullable<OwnsOptions<KubeObject>['rights']>
    readonly optional: boolean | undefined
    readonly when: Predicate | undefined
    readonly queue: ControllerOptions<KubeObject>['queue'] | undefined
  }
  | {
    readonly kind: 'watches'
    readonly resource: AnyResource
    readonly map: (object: KubeObject, context: WatchContext<KubeObject>) => Keys
    readonly when: Predicate | undefined
    readonly queue: ControllerOptions<KubeObject>['queue'] | undefined
    readonly cluster: OtherCluster | undefined
    /** Whether the operator's own cluster was named. */
    readonly isOwn: boolean
    readonly optional: boolean | undefined
  }
  | { readonly kind: 'from'; readonly name: string; readonly open: (context: MapContext) => AsyncIterable<ObjectKey> }
  | { readonly kind: 'every'; readonly ms: number; readonly keys: ((context: MapContext) => Keys) | undefined }

/** The description of a controller, or of one with `clusters` in one of them, which is its `cluster` then. */
export interface ControllerDescription {
  readonly resource: AnyResource
  readonly options: ControllerOptions<KubeObject>
  readonly sources: SourceDescription[]
  /** Returns the place of `controllerFor` in the user's file, for errors. */
  readonly declaredAt: () => string | undefined
  finalize: FinalizeDescription | undefined
  step: StepDescription | undefined
}

/** The description of a finalizer. */
export interface FinalizeDescription {
  readonly cleanup: (object: KubeObject, context: Context) => Promise<Result>
  /** Default: see {@link finalizerOf}. */
  readonly finalizer: string | undefined
}

/** A reconcile function: with the object, or with the key, also if there is no object. */
export type StepDescription =
  | { readonly kind: 'object'; readonly reconcile: (object: KubeObject, context: Context) => Promise<Result> }
  | { readonly kind: 'key'; readonly reconcile: (key: ObjectKey, context: Context) => Promise<Result> }

/** The description of another cluster. */
export interface ClusterDescription extends OtherCluster {
  readonly config: ClusterConfig | (() => ClusterConfig | Promise<ClusterConfig>)
  /** Default: those of the operator. */
  readonly namespaces?: Namespaces | undefined
  /** Whether the operator can start without it. Default: false. */
  readonly optional?: boolean | undefined
}

/** The description of a group of clusters. */
export interface GroupDescription extends ClusterGroup {
  readonly namespaces?: Namespaces | undefined
  readonly controllers: ControllerDescription[]
}

/** The description of a kind's cache. */
export interface CacheDescription {
  readonly resource: AnyResource
  readonly options: CacheOptions
  readonly cluster: OtherCluster | undefined
  /** Whether the operator can start without it. Default: false. */
  readonly optional?: boolean | undefined
  /** Returns the place of the declaration in the user's file, for errors. */
  readonly declaredAt: () => string | undefined
}

/** The description of an operator, which each start reads. */
export interface OperatorDescription {
  readonly options: OperatorOptions
  readonly controllers: ControllerDescription[]
  readonly caches: CacheDescription[]
  readonly tasks: TaskDescription[]
  readonly clusters: ClusterDescription[]
  readonly groups: GroupDescription[]
  readonly extensions: ((parts: Parts) => void | Promise<void>)[]
  readonly admissions: AdmissionDescription[]
  readonly conversions: ConversionDescription[]
}

/** The admission webhooks of a kind. */
export interface AdmissionDescription {
  readonly resource: AnyResource
  readonly hooks: Admission<KubeObject>
  readonly options: AdmissionOptions
  /** Returns the place of the declaration in the user's file, for errors. */
  readonly declaredAt: () => string | undefined
}

/** Returns name and namespace of an operator's Lease. `configured`: the namespace of the cluster's configuration. */
export function leaseOf(
  { leaderElection, name }: {
    readonly leaderElection?: OperatorOptions['leaderElection'] | undefined
    readonly name: string
  },
  configured: string | undefined,
): { readonly lease: string; readonly namespace: string | undefined } {
  const own = typeof leaderElection === 'object' ? leaderElection : {}
  return { lease: own.lease ?? name, namespace: own.namespace ?? (configured || undefined) }
}

/** Returns the timings of an election, as they are or by default. */
export function timingsOf(leaderElection: OperatorOptions['leaderElection']): LeaseTimings {
  const own = typeof leaderElection === 'object' ? leaderElection : {}
  return {
    durationMs: optionalMs(own.duration) ?? DEFAULT_TIMINGS.durationMs,
    renewDeadlineMs: optionalMs(own.renewDeadline) ?? DEFAULT_TIMINGS.renewDeadlineMs,
    retryPeriodMs: optionalMs(own.retryPeriod) ?? DEFAULT_TIMINGS.retryPeriodMs,
  }
}

/** Whether its reconcile does nothing for a key without an object. */
export function skipsGone({ step }: ControllerDescription): boolean {
  return step!.kind === 'object'
}

export function optionalMs(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : toMs(duration)
}

/** Returns what a start does with the CRDs. */
export function crdModeOf(
  { crds = 'verify' }: { readonly crds?: OperatorOptions['crds'] | undefined },
): { readonly mode: 'install' | 'verify' | 'ignore'; readonly narrow?: boolean } {
  return typeof crds === 'object' ? crds : { mode: crds }
}

export function hasWebhooks({ options, admissions, conversions }: OperatorDescription): boolean {
  return options.webhooks !== undefined || admissions.length + conversions.length > 0
}

/** Returns the name of a controller. Default: the kind in lower case. */
export function controllerName({ options, resource }: ControllerDescription): string {
  return options.name ?? resource.kind.toLowerCase()
}

/** Returns the name of a controller in one of its clusters, which is unique within the operator. */
export function controllerTitle(controller: ControllerDescription): string {
  const home = homeOf(controller)
  return controllerName(controller) + (home ? `@${home.name}` : '')
}

/** Returns the group of a controller that has one. */
export function groupOf({ options: { clusters } }: ControllerDescription): ClusterGroup | undefined {
  return clusters && 'provider' in clusters ? clusters : undefined
}

/** Returns all controllers. Those of groups are in no cluster as they are, but may watch kinds of stated ones. */
export function allControllers({ controllers, groups }: OperatorDescription): ControllerDescription[] {
  return [...controllers, ...groups.flatMap((group) => group.controllers)]
}

/** Returns the description of a cluster of a group. `config`: not needed for what is known without a connection. */
export function memberCluster(
  { namespaces }: GroupDescription,
  name: string,
  config: ClusterConfig = { server: '' },
): ClusterDescription {
  return { name, config, namespaces, optional: true }
}

/** Returns what a cluster of a group, or the group itself, has of the description. */
export function memberOf(
  description: OperatorDescription,
  group: GroupDescription,
  member: ClusterDescription,
): OperatorDescription {
  const caches = description.caches.filter(({ cluster }) => cluster === group)
  return {
    ...description,
    clusters: [member],
    controllers: group.controllers.map((controller) => inCluster(controller, member)),
    caches: caches.map((cache) => ({ ...cache, cluster: member })),
  }
}

/** Returns the cluster to which keys, clients and sources of a controller belong if it has `clusters`. */
export function homeOf({ options: { cluster, clusters } }: ControllerDescription): OtherCluster | undefined {
  return clusters && cluster
}

/** Returns a controller of several clusters as it is in one of them. What is described later is included. */
export function inCluster(controller: ControllerDescription, cluster: OtherCluster): ControllerDescription {
  const { resource, options, declaredAt } = controller
  return {
    resource,
    options: { ...options, cluster },
    declaredAt,
    get sources() {
      return controller.sources.map((source) =>
        source.kind === 'watches' && source.cluster === undefined && !source.isOwn ? { ...source, cluster } : source
      )
    },
    get finalize() {
      return controller.finalize
    },
    get step() {
      return controller.step
    },
  }
}

/**
 * Returns the finalizer of a controller that has one. Default: `operator/controller`, the source of its Events. All
 * valid names of the two make a valid finalizer.
 */
export function finalizerOf(controller: ControllerDescription, operator: string): string | undefined {
  return controller.finalize && (controller.finalize.finalizer ?? `${operator}/${controllerName(controller)}`)
}
