/** Assembles the manager of one start from an operator's description and its clusters. */
import type { Fence } from '../core/fence.ts'
import { TerminalError } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { untilAborted } from '../async/abort.ts'
import { type Clock, sleep } from '../async/clock.ts'
import type { Latch } from '../async/latch.ts'
import { atLevel } from '../observe/log.ts'
import type { Tracing } from '../observe/tracing.ts'
import { getSelected } from '../cache/cached_reader.ts'
import type { Cache } from '../cache/cache.ts'
import { Informer } from '../cache/informer.ts'
import type { Recorder } from '../events/event_recorder.ts'
import { Controller, type ReconcileReport } from '../controller/controller.ts'
import type { Finalizer } from '../controller/finalizer.ts'
import type { Source } from '../controller/source.ts'
import { disposition, GONE, type Result, type Run } from '../controller/result.ts'
import { LeaderElector, type LeaderElectorOptions } from '../leader/leader_elector.ts'
import { DEFAULT_GRACE_MS, Manager } from '../manager/manager.ts'
import { Server } from '../manager/servers/server.ts'
import type { Buckets } from './sharding/buckets.ts'
import { fencedCluster } from './clusters.ts'
import { boundTo, type Clients, clientsOf, logOf, sleepOn } from './work.ts'
import type { Context, OtherCluster, Parts } from './description/context.ts'
import type { OperatorOptions } from './description/options.ts'
import {
  type ControllerDescription,
  controllerName,
  controllerTitle,
  finalizerOf,
  homeOf,
  leaseOf,
  type OperatorDescription,
  optionalMs,
  skipsGone,
  timingsOf,
} from './description/description.ts'
import { isOptional } from './description/used_kinds.ts'
import type { Definitions } from './definitions.ts'
import type { LoadedParts } from './loaded_parts.ts'
import type { OperatorWebhooks } from './webhooks/setup.ts'
import { sourcesOf } from './sources.ts'
import type { TaskSetup } from './tasks.ts'

export interface AssemblySetup extends Omit<TaskSetup, 'isTerminal'> {
  readonly tracing?: Tracing | undefined
  readonly instance: string
  /** Overrides the identity of the leader election. */
  readonly identity?: string | undefined
  /** The clock of the contexts of reconciles. Default: `clock`. */
  readonly userClock?: Clock | undefined
  readonly uuid?: (() => string) | undefined
  /** Overrides the operator's own. */
  readonly leaderElection?: boolean | undefined
  /** Called with each server. Returns whether it is started. Default: all are. */
  readonly listens?: ((server: Runnable) => boolean) | undefined
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
  readonly running: readonly Runnable[]
  readonly webhooks: OperatorWebhooks | undefined
  /** Called when the webhooks are served, before the caches start. */
  readonly afterWebhooks: (signal: AbortSignal) => Promise<void>
  readonly loaded: LoadedParts
  /** Undefined if the operator neither defines kinds nor has webhooks, and installs nothing. */
  readonly definitions: Definitions | undefined
}

export type ElectionSetup =
  & Pick<AssemblySetup, 'clusters' | 'instance' | 'identity' | 'clock' | 'log' | 'meter' | 'random' | 'uuid'>
  & Partial<Pick<AssemblySetup, 'loaded' | 'schedules'>>

export function assemble(description: OperatorDescription, setup: AssemblySetup): Parts {
  const { clusters, meter, clock, log, listens, loaded, definitions } = setup
  const { options } = description
  const elector = hasElection(options.leaderElection, setup) ? electorOf(options, setup) : undefined
  const manager = new Manager({ clock, log, elector, listens, graceMs: graceOf(options) })
  const buckets = loaded.shard?.buckets?.({
    ...setup,
    fence: manager.fence,
    graceMs: graceOf(options) ?? DEFAULT_GRACE_MS,
    elect: (of, by) =>
      electorOf(
        { ...options, leaderElection: { ...options.leaderElection as object, ...of, labels: {} } },
        { ...setup, ...by },
        { onOther() {}, fence: manager.fence, ...by },
      ),
    inform: (of) => new Informer({ ...setup, api: clusters.main.leaseApi, ...of }),
  })
  if (buckets) manager.add(buckets)
  for (const { resource, options: kept, cluster } of description.caches) {
    if (description.groups.every((group) => group !== cluster)) clusters.of(cluster).cache.declare(resource, kept)
  }
  const isOnly = description.controllers.length + description.groups.length + description.tasks.length === 1
  const controllers = description.controllers.map((controller) =>
    controllerOf(controller, options, manager, { ...setup, buckets, isOnly })
  )
  const named = new Map(controllers.map((controller) => [controller.name, controller]))
  const converted = new Set(description.conversions.map(({ hub }) => groupResourceOf(hub)))
  const endpoints = loaded.endpoints
    ?.addEndpoints(options, { ...setup, Server, manager, elector, converted })
  if (setup.webhooks) loaded.webhooks!.addWebhooks(setup.webhooks, setup, endpoints?.health, manager)
  if (elector) manager.add(leaseCheck(elector, clock))
  for (const cluster of setup.running) manager.add(cluster)
  for (const { recorder } of clusters.all) manager.add(recorder)
  controllers.forEach((controller, at) =>
    manager.add(waiting(controller, definitions?.latches.get(description.controllers[at]!.options.cluster!)))
  )
  const isTerminal = (error: unknown): boolean => error instanceof TerminalError
  loaded.tasks?.addTasks(description, manager, elector, { ...setup, isTerminal })
  loaded.otherClusters?.addGroups(description, {
    ...setup,
    manager,
    named,
    graceMs: graceOf(options) ?? DEFAULT_GRACE_MS,
    controller: (each, own) => controllerOf(each, options, own, { ...setup, ...own, isOnly: false }),
    waiting,
    read: (name, open, change) => loaded.otherSources!.changesOf(name, open, change, setup),
  })
  return {
    manager,
    meter,
    clock,
    log,
    health: endpoints?.health,
    metrics: endpoints?.metrics,
    webhooks: setup.webhooks?.server,
    cluster: fencedCluster(clusters.main, manager.fence),
    clusterOf: (cluster) => fencedCluster(clusters.of(cluster), manager.fence),
    controllers: named,
  }
}

/** Returns a controller that, if it runs only on the leader, starts when the latch is open. */
function waiting(controller: Controller, latch: Latch | undefined): Runnable {
  const { name, everyReplica, warmup } = controller
  if (!latch || everyReplica) return controller
  const start = async (signal: AbortSignal): Promise<void> => {
    await untilAborted(latch.opened, signal)
    await controller.start(signal)
  }
  return { name, everyReplica, start, working: () => controller.working(), ...(warmup && { warmup }) }
}

function controllerOf(
  description: ControllerDescription,
  operator: OperatorOptions,
  manager: Pick<Manager, 'fence' | 'abandon' | 'stopping'>,
  common: AssemblySetup & { readonly isOnly: boolean; readonly buckets?: Buckets | undefined },
): Controller {
  const { concurrency, timeout, backoff, holdEvents, limiter, eventFilter, syncTimeout, everyReplica = false } =
    description.options
  const { warmup, cluster, fieldManager, logLevel } = description.options
  const setup = { ...common, log: atLevel(common.log, logLevel) }
  const { clusters, meter, tracing, clock, log, uuid, onReconcile } = setup
  const { kind } = description.resource
  const name = controllerTitle(description)
  const writer = { name: setup.isOnly ? undefined : `controller "${name}"`, fieldManager }
  const fence = everyReplica ? undefined : manager.fence
  const clients = clientsOf(clusters, fence, writer)
  const finalizer = finalizerOf(description, operator.name)
  const filter = finalizer === undefined ? eventFilter : setup.loaded.finalizers!.orNeedsCleanup(eventFilter, finalizer)
  const { cache } = clusters.of(cluster)
  const informers = cache.declare(description.resource)
  const namespaces = cache.namespacesOf(description.resource)
  const gate = common.buckets?.gateOf(description)
  const reconcileAny = reconcileOf(description, operator, { ...setup, clients, cache, finalizer })
  const reconcileBy = namespaces
    ? setup.loaded.namespaces!.inSelected(namespaces, description, reconcileAny, clients, () => controller)
    : reconcileAny
  const reconcileKept = gate ? gate.reconcile(reconcileBy, (fence) => clientsOf(clusters, fence, writer)) : reconcileBy
  // After a suspension of the process, a run may be due before the timer that ends the term.
  const reconcile = (run: Run): Promise<Result> => {
    fence?.check()
    return reconcileKept(run)
  }
  const sources = (only?: typeof description): Source[] =>
    sourcesOf(only ?? description, { ...setup, clients, finalizer, eventFilter: filter })
  const controller: Controller = new Controller({
    name,
    kind,
    namespaces: namespaces ?? namespacesOf(informers),
    isClusterScoped: description.resource.scope === 'Cluster',
    sources: gate ? gate.guarded(sources()) : sources(),
    when: filter,
    clock,
    log: logOf(log, cluster),
    uuid,
    meter,
    concurrency,
    everyReplica,
    warmup,
    skipsGone: skipsGone(description),
    timeoutMs: optionalMs(timeout),
    syncTimeoutMs: isOptional(cluster) ? Infinity : optionalMs(syncTimeout ?? operator.syncTimeout),
    backoff: { baseMs: optionalMs(backoff?.base), maxMs: optionalMs(backoff?.max) },
    limiter: limiter?.(),
    holdEvents,
    stopping: manager.stopping,
    abandon: manager.abandon,
    unsynced: () => clusters.all.flatMap(({ cache }) => cache.unsynced()),
    onReconcile: onReconcile && cluster ? (report) => onReconcile({ ...report, cluster: cluster.name }) : onReconcile,
    reconcile: tracing
      ? (run) => {
        const of = { controller: name, kind, cluster: cluster?.name }
        return tracing.reconcile({ ...of, key: run.key, attempt: run.attempt }, () => reconcile(run), disposition)
      }
      : reconcile,
  })
  gate?.guards(controller, sources)
  return controller
}

/** Returns the function that makes the context of a run, and calls the user's functions. */
function reconcileOf(
  description: ControllerDescription,
  operator: OperatorOptions,
  setup: AssemblySetup & {
    readonly clients: Clients
    readonly cache: Cache
    readonly finalizer: string | undefined
  },
): (run: Run, clients?: Clients) => Promise<Result> {
  const { cache, clients, clock, clusters, finalizer, loaded, userClock = clock } = setup
  const { cluster } = description.options
  const home = homeOf(description)
  const eventsOf = (cluster?: OtherCluster): Recorder =>
    clusters.of(cluster).recorder.as(`${operator.name}/${controllerName(description)}`)
  const events = eventsOf(cluster)
  const step = stepOf(
    description,
    cache,
    finalizer === undefined ? undefined : new loaded.finalizers!.Finalizer(description.resource, finalizer),
  )
  return (run, of = clients) =>
    step({
      key: home ? { cluster: home.name, ...run.key } : run.key,
      cluster,
      log: run.log,
      ownNamespace: clusters.ownNamespace,
      clock: userClock,
      sleep: sleepOn(userClock, run),
      attempt: run.attempt,
      events,
      eventsOf,
      ...boundTo(of, run, home),
      isReady: (cluster) => clusters.isReady(cluster),
      get signal() {
        return run.signal
      },
      get stopping() {
        return run.stopping
      },
    })
}

/** Returns the function of a run, made once a start: a finalizer remembers the objects that it has finished. */
function stepOf(
  description: ControllerDescription,
  cache: Cache,
  finalizer: Finalizer | undefined,
): (context: Context) => Promise<Result> {
  const { resource, options: { cluster }, finalize } = description
  const step = description.step!
  if (step.kind === 'key' && !finalizer) return (context) => step.reconcile(context.key, context)
  return async (context) => {
    const client = cluster ? context.clientOf(cluster) : context.client
    const reconcile = (object: KubeObject): Promise<Result> =>
      step.kind === 'key' ? step.reconcile(context.key, context) : step.reconcile(object, context)
    const object = await client.get<KubeObject>(resource, context.key as never)
    // The object is gone, and its dependents are garbage-collected by their owner references. In a foreground deletion
    // they go first: one that is made again would keep the object. In an orphaning one they lose their references: one
    // that gets its own again would go with the object.
    const isGoing = !finalizer && object?.metadata.deletionTimestamp &&
      object.metadata.finalizers?.some((each) => each === 'foregroundDeletion' || each === 'orphan')
    if (step.kind === 'object' && (!object || isGoing)) return GONE
    if (!finalizer || !object) return await reconcile(object!)
    return await finalizer.run(object, {
      client,
      read: (object) =>
        getSelected(cache.informersOf(resource, object.metadata.namespace), client.live, resource, object),
      reconcile,
      cleanup: (deleted) => finalize!.cleanup(deleted, context),
    })
  }
}

/** Returns the watched namespaces; undefined for all. */
function namespacesOf(informers: readonly Informer[]): ReadonlySet<string> | undefined {
  const namespaces = informers.flatMap(({ namespace }) => (namespace === undefined ? [] : [namespace]))
  return namespaces.length === informers.length ? new Set(namespaces) : undefined
}
/** The delay of the check of the lease, which a quick sync of the caches makes unnecessary. */
const LEASE_CHECK_MS = 2000

/** Reports a missing RBAC rule for the lease early: caches that wait for other rules would delay the election. */
function leaseCheck(elector: LeaderElector, clock: Clock): Runnable {
  const start = async (signal: AbortSignal): Promise<void> => {
    await sleep(clock, LEASE_CHECK_MS, signal)
    await elector.check(signal)
  }
  return { name: 'lease check', role: 'server', start }
}

/** Whether leader election is on. The option of the start overrides that of the operator. */
export function hasElection(
  own: OperatorOptions['leaderElection'],
  start: { readonly leaderElection?: boolean | undefined },
): boolean {
  return start.leaderElection ?? Boolean(own)
}

/** How the elector of a lease beside the operator's own differs. */
interface OtherLease extends Pick<LeaderElectorOptions, 'hasEnded'> {
  /** Called when another process holds the lease, instead of the operator's own callback. */
  readonly onOther: () => void
  /** Checked before the lease is written. */
  readonly fence?: Fence
}

export function electorOf(
  { leaderElection, name }: OperatorOptions,
  setup: ElectionSetup,
  { onOther, fence, hasEnded }: Partial<OtherLease> = {},
): LeaderElector {
  const { clusters, instance, identity, log, meter, schedules, loaded, uuid = () => crypto.randomUUID() } = setup
  const { config, leaseApi } = clusters.main
  const own = typeof leaderElection === 'object' ? leaderElection : {}
  const { lease, namespace } = leaseOf({ leaderElection, name }, config?.namespace)
  // A start with only a transport, as in a test, has no configuration and no other replicas.
  if (config && namespace === undefined) {
    const hint = 'set leaderElection.namespace, as replicas in different namespaces lead at the same time'
    log.warn(`The configuration names no namespace for the lease "${lease}", so it is in "default"; ${hint}`)
  }
  const candidate = identity ?? own.identity ?? `${instance}_${uuid()}`
  return new LeaderElector({
    ...setup,
    api: fence ? leaseApi.fenced(fence) : leaseApi,
    meter: onOther ? undefined : meter,
    lease,
    namespace: namespace ?? 'default',
    identity: candidate,
    labels: own.labels,
    hasEnded,
    annotations: schedules?.annotations ?? loaded?.shard?.annotations,
    callbacks: {
      onNewLeader: onOther ? (holder) => void (holder && holder !== candidate && onOther()) : own.onNewLeader,
    },
    timings: timingsOf(leaderElection),
  })
}

function graceOf({ grace }: OperatorOptions): number | undefined {
  return grace === 'forever' ? Infinity : optionalMs(grace)
}
