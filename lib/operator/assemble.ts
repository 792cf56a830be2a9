/** From a description and its clusters to a manager that can start: the only place where all parts meet. */
import { type Duration, toMs } from '../core/duration.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, sleep } from '../async/clock.ts'
import type { Latch } from '../async/latch.ts'
import { type Log, withFields } from '../observe/log.ts'
import type { Recorder } from '../events/recorder.ts'
import { Controller, type ReconcileReport } from '../controller/controller.ts'
import { orWaiting } from '../controller/finalizer_predicate.ts'
import { LeaderElector } from '../leader/leader_elector.ts'
import { DEFAULT_TIMINGS } from '../leader/lease_state.ts'
import { Manager } from '../manager/manager.ts'
import { boundTo, clientsOf, type Clusters, fencedCluster, logOf } from './clusters.ts'
import type { OtherCluster } from './context.ts'
import {
  type ControllerDescription,
  controllerName,
  finalizerOf,
  isOptional,
  type OperatorDescription,
  type OperatorOptions,
} from './description.ts'
import { addEndpoints, type OperatorMeter } from './endpoints.ts'
import type { Parts } from './parts.ts'
import { sourcesOf } from './sources.ts'
import { stepOf } from './step.ts'

export interface AssemblySetup {
  readonly clusters: Clusters
  readonly meter: OperatorMeter | undefined
  readonly instance: string
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
  readonly uuid?: (() => string) | undefined
  /** Instead of the operator's own. */
  readonly leaderElection?: boolean | undefined
  /** Whether health, metrics and profiling are served where the operator says. */
  readonly serves: boolean
  /** Whether servers that extensions add are started, or what is called with each instead. Default: true. */
  readonly listens?: boolean | ((server: Runnable) => void) | undefined
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
  /** The clusters, as the manager runs them. */
  readonly running: readonly Runnable[]
  /** What the leader's controllers of an optional cluster wait for before they begin. */
  readonly installed: ReadonlyMap<OtherCluster, Latch>
}

export function assemble(description: OperatorDescription, setup: AssemblySetup): Parts {
  const { clusters, meter, clock, log, serves, listens } = setup
  const { options } = description
  const elector = electorOf(options, setup)
  const manager = new Manager({ clock, log, elector, listens, graceMs: graceOf(options) })
  for (const { resource, options: kept, cluster } of description.caches) {
    clusters.of(cluster).cache.declare(resource, kept)
  }
  const controllers = description.controllers.map((controller) => controllerOf(controller, options, manager, setup))
  const endpoints = serves
    ? addEndpoints(options, { manager, clusters, elector, meter, clock, log })
    : { health: undefined, metrics: undefined }
  if (elector) manager.add(leaseCheck(elector, clock))
  for (const cluster of setup.running) manager.add(cluster)
  for (const { recorder } of clusters.all) manager.add(recorder)
  controllers.forEach((controller, at) =>
    manager.add(waiting(controller, setup.installed.get(description.controllers[at]!.options.cluster!)))
  )
  addTasks(description, manager, setup)
  return {
    manager,
    meter,
    clock,
    log,
    ...endpoints,
    cluster: fencedCluster(clusters.main, manager.fence),
    clusterOf: (cluster) => fencedCluster(clusters.of(cluster), manager.fence),
    controllers: new Map(controllers.map((controller) => [controller.name, controller])),
  }
}

/** A controller of the leader's that begins when the latch is open. */
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
  manager: Manager,
  setup: AssemblySetup,
): Controller {
  const { clusters, meter, clock, log, uuid, onReconcile } = setup
  const { concurrency, timeout, backoff, limiter, eventFilter, syncTimeout, everyReplica = false, warmup, cluster } =
    description.options
  const clients = clientsOf(clusters, everyReplica ? undefined : manager.fence)
  const name = controllerName(description)
  const eventsOf = (cluster?: OtherCluster): Recorder => clusters.of(cluster).recorder.as(`${operator.name}/${name}`)
  const events = eventsOf(cluster)
  const isReady = (cluster?: OtherCluster): boolean => clusters.isReady(cluster)
  const finalizer = finalizerOf(description, operator.name)
  const step = stepOf(description, finalizer)
  return new Controller({
    name,
    kind: description.resource.kind,
    sources: sourcesOf(description, { ...setup, clients, finalizer }),
    when: finalizer === undefined ? eventFilter : orWaiting(eventFilter, finalizer),
    clock,
    log: logOf(log, cluster),
    uuid,
    meter,
    concurrency,
    everyReplica,
    warmup,
    timeoutMs: optionalMs(timeout),
    syncTimeoutMs: isOptional(cluster) ? Infinity : optionalMs(syncTimeout ?? operator.syncTimeout),
    backoff: { baseMs: optionalMs(backoff?.base), maxMs: optionalMs(backoff?.max) },
    limiter: limiter?.(),
    abandon: manager.abandon,
    unsynced: () => clusters.all.flatMap(({ cache }) => cache.unsynced()),
    onReconcile: onReconcile && cluster ? (report) => onReconcile({ ...report, cluster: cluster.name }) : onReconcile,
    reconcile: (run) => {
      const { key, log, attempt, onWrite } = run
      const { client, clientOf } = boundTo(clients, run, onWrite)
      return step({
        key,
        log,
        clock,
        attempt,
        events,
        eventsOf,
        client,
        clientOf,
        isReady,
        get signal() {
          return run.signal
        },
      })
    },
  })
}

/** How long the caches may take to sync before the lease is looked at. */
const LEASE_CHECK_MS = 2000

/** A role that lacks the rule for the lease often lacks others as well: it should not be found only when the caches are in sync at last. */
function leaseCheck(elector: LeaderElector, clock: Clock): Runnable {
  const start = async (signal: AbortSignal): Promise<void> => {
    await sleep(clock, LEASE_CHECK_MS, signal)
    await elector.check(signal)
  }
  return { name: 'lease check', role: 'server', start }
}

/**
 * A task that is told to stop may finish what it writes, as a reconcile may: its client ends with the task, or when nobody
 * waits any more. A write that is cut off would keep the lease from being given back, as nobody knows what becomes of it.
 */
function addTasks({ tasks }: OperatorDescription, manager: Manager, { clusters, clock, log }: AssemblySetup): void {
  for (const { name, task, everyReplica } of tasks) {
    const clients = clientsOf(clusters, everyReplica ? undefined : manager.fence)
    const start = async (signal: AbortSignal): Promise<void> => {
      const scope = abortScope(manager.abandon)
      try {
        await task({ signal, log: withFields(log, { task: name }), clock, ...boundTo(clients, scope) })
      } finally {
        scope.abort(new DOMException(`The task "${name}" has ended`, 'AbortError'))
        scope[Symbol.dispose]()
      }
    }
    manager.add({ name, everyReplica, start })
  }
}

/** Whether one replica leads: as the start says, or else as the operator does. */
export function hasElection(
  own: OperatorOptions['leaderElection'],
  start: { readonly leaderElection?: boolean | undefined },
): boolean {
  return start.leaderElection ?? Boolean(own)
}

function electorOf({ leaderElection, name }: OperatorOptions, setup: AssemblySetup): LeaderElector | undefined {
  if (!hasElection(leaderElection, setup)) return undefined
  const { clusters, instance, clock, log, meter, random, uuid = () => crypto.randomUUID() } = setup
  const { config, leaseApi } = clusters.main
  const own = typeof leaderElection === 'object' ? leaderElection : {}
  const lease = own.lease ?? name
  const namespace = own.namespace ?? (config?.namespace || undefined)
  // A start on a transport alone, as in a test, has no configuration and no replicas elsewhere.
  if (config && namespace === undefined) {
    const hint =
      'set leaderElection.namespace to that of the other replicas: those elsewhere do not see this one, and lead beside it'
    log.warn(`The configuration names no namespace for the lease "${lease}", so it is in "default"; ${hint}`)
  }
  return new LeaderElector({
    api: leaseApi,
    clock,
    log,
    meter,
    random,
    lease,
    namespace: namespace ?? 'default',
    identity: own.identity ?? `${instance}_${uuid()}`,
    labels: own.labels,
    callbacks: { onNewLeader: own.onNewLeader },
    timings: {
      durationMs: optionalMs(own.duration) ?? DEFAULT_TIMINGS.durationMs,
      renewDeadlineMs: optionalMs(own.renewDeadline) ?? DEFAULT_TIMINGS.renewDeadlineMs,
      retryPeriodMs: optionalMs(own.retryPeriod) ?? DEFAULT_TIMINGS.retryPeriodMs,
    },
  })
}

function graceOf({ grace }: OperatorOptions): number | undefined {
  return grace === 'forever' ? Infinity : optionalMs(grace)
}

function optionalMs(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : toMs(duration)
}
