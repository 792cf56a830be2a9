/** From a description and a cluster to a running manager: the only place where all parts meet. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { toMs } from '../core/duration.ts'
import { resourceId, type AnyResource } from '../core/resource.ts'
import type { Transport } from '../core/transport.ts'
import { systemClock, type Clock } from '../async/clock.ts'
import { silentLog, withFields, type Log } from '../observe/log.ts'
import { hostName } from '../runtime/files.ts'
import { httpTransport } from '../runtime/transport.ts'
import { Api } from '../client/api.ts'
import { KubeClient } from '../client/kube_client.ts'
import { retrying } from '../client/retry.ts'
import { describeConfig, loadConfig } from '../config/load.ts'
import { Cache } from '../cache/cache.ts'
import { CachedReader } from '../cache/cached_reader.ts'
import { Controller, type ReconcileReport } from '../controller/controller.ts'
import { controllerKey, ownKey, Source } from '../controller/source.ts'
import { LeaderElector } from '../leader/leader_elector.ts'
import { DEFAULT_TIMINGS } from '../leader/lease_state.ts'
import { Manager } from '../manager/manager.ts'
import { controllerName, watchedResources, type ControllerDescription, type LeaderElectionOptions, type OperatorDescription } from './description.ts'
import { installCrds, verifyCrds } from './crds.ts'

/** What a start may be given. Only `cluster` is for everyday use; the rest is for tests and tools. */
export interface StartOptions {
  /** Default: found as kubectl finds it. */
  cluster?: ClusterConfig
  /** Instead of a connection to `cluster`. */
  transport?: Transport
  clock?: Clock
  random?: () => number
  log?: Log
  /** Instead of the operator's own. */
  crds?: 'install' | 'verify' | 'ignore'
  /** Where it is told which CRDs are new, when not in `log`. */
  definitionLog?: Log
  /** Instead of the operator's own. */
  leaderElection?: boolean
  /** Freezes what the cache hands out. */
  freeze?: boolean
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  onReconcile?: (report: ReconcileReport) => void
  /** Hears of the assembled operator before it starts. */
  onAssembled?: (assembled: Assembled) => void
}

/** A running operator's parts. */
export interface Assembled {
  readonly manager: Manager
  readonly controllers: readonly Controller[]
  readonly cache: Cache
}

interface Foundation {
  readonly api: Api
  readonly client: KubeClient
  readonly cache: Cache
  readonly clock: Clock
  readonly log: Log
}

/** Runs an operator until the signal is aborted. */
export async function startOperator(description: OperatorDescription, signal: AbortSignal, options: StartOptions): Promise<void> {
  const { clock = systemClock, log = silentLog } = options
  const { name } = description.options
  const cluster = options.transport ? undefined : (options.cluster ?? (await findCluster(log)))
  const connection = cluster && httpTransport(cluster, { clock, log, userAgent: `${name} kubeloop` })
  try {
    const transport = retrying((options.transport ?? connection)!, { clock, log })
    const api = new Api({ transport })
    await prepareCrds(description, { api, clock, log: options.definitionLog ?? log, fieldManager: name }, options, signal)
    const namespace = cluster?.namespace ?? 'default'
    const assembled = assemble(description, { api, clock, log, namespace }, options)
    options.onAssembled?.(assembled)
    await assembled.manager.start(signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    connection?.close()
  }
}

async function findCluster(log: Log): Promise<ClusterConfig> {
  const found = await loadConfig({ log })
  log.debug(`Found the cluster ${found.cluster.server}: ${describeConfig(found)}`)
  return found.cluster
}

async function prepareCrds(description: OperatorDescription, dependencies: Parameters<typeof installCrds>[1], options: StartOptions, signal: AbortSignal): Promise<void> {
  const ours = new Map<string, AnyResource>()
  for (const resource of watchedResources(description)) if (resource.definition) ours.set(resourceId(resource), resource)
  const mode = options.crds ?? description.options.crds ?? 'verify'
  if (mode === 'install') await installCrds([...ours.values()], dependencies, signal)
  if (mode === 'verify') await verifyCrds([...ours.values()], dependencies, signal)
}

function assemble(description: OperatorDescription, base: { api: Api; clock: Clock; log: Log; namespace: string }, options: StartOptions): Assembled {
  const { api, clock, log } = base
  const { name, namespaces, grace } = description.options
  const cache = new Cache({ api, clock, log, namespaces, random: options.random, freeze: options.freeze })
  const client = new KubeClient({ api, reader: (live) => new CachedReader(cache, live), fieldManager: name, fieldValidation: options.fieldValidation })
  const foundation: Foundation = { api, client, cache, clock, log }
  const manager = new Manager({ clock, log, elector: electorOf(description, base, options), graceMs: grace === undefined ? undefined : grace === 'forever' ? Infinity : toMs(grace) })

  for (const { resource, options: kept } of description.caches) cache.declare(resource, kept)
  const controllers = description.controllers.map((controller) => {
    const built = controllerOf(controller, foundation, manager, options)
    manager.add(controller.options.everyReplica ? 'others' : 'leader', built)
    return built
  })
  manager.add('caches', { name: 'cache', start: (signal) => cache.start(signal) })
  for (const { name: taskName, task, everyReplica } of description.tasks) {
    manager.add(everyReplica ? 'others' : 'leader', {
      name: taskName,
      start: (signal) => task({ client: client.bound(signal), log: withFields(log, { task: taskName }), signal }),
    })
  }
  return { manager, controllers, cache }
}

function controllerOf(description: ControllerDescription, { cache, client, clock, log }: Foundation, manager: Manager, options: StartOptions): Controller {
  const { resource, owns, watches } = description
  const { concurrency, timeout, backoff, when } = description.options
  const { random } = options
  const sources = [
    new Source({ informers: cache.declare(resource), map: ownKey, own: true, when, clock, log, random }),
    ...owns.map((owned) => new Source({ informers: cache.declare(owned), map: controllerKey(resource), own: false, clock, log, random })),
    ...watches.map((watch) => new Source({ informers: cache.declare(watch.resource), map: (object) => watch.map(object, { client }), own: false, when: watch.when, clock, log, random })),
  ]
  return new Controller({
    name: controllerName(description),
    kind: resource.kind,
    sources,
    clock,
    log,
    concurrency,
    timeoutMs: timeout === undefined ? undefined : toMs(timeout),
    backoff: {
      ...(backoff?.first === undefined ? {} : { firstMs: toMs(backoff.first) }),
      ...(backoff?.most === undefined ? {} : { mostMs: toMs(backoff.most) }),
    },
    abandon: manager.abandon,
    unsynced: () => cache.unsynced(),
    onReconcile: options.onReconcile,
    reconcile: ({ key, signal, log, attempt, onWrite }) => description.step!({ key, signal, log, attempt, client: client.bound(signal, onWrite) }),
  })
}

function electorOf(description: OperatorDescription, { api, clock, log, namespace }: { api: Api; clock: Clock; log: Log; namespace: string }, options: StartOptions): LeaderElector | undefined {
  const { leaderElection, name } = description.options
  if (!(options.leaderElection ?? Boolean(leaderElection))) return undefined
  const own: LeaderElectionOptions = typeof leaderElection === 'object' ? leaderElection : {}
  const ms = (duration: LeaderElectionOptions['duration'], standard: number): number => (duration === undefined ? standard : toMs(duration))
  return new LeaderElector({
    api,
    clock,
    log,
    random: options.random,
    lease: own.lease ?? name,
    namespace: own.namespace ?? namespace,
    identity: `${hostName()}_${crypto.randomUUID()}`,
    timings: {
      durationMs: ms(own.duration, DEFAULT_TIMINGS.durationMs),
      renewDeadlineMs: ms(own.renewDeadline, DEFAULT_TIMINGS.renewDeadlineMs),
      retryPeriodMs: ms(own.retryPeriod, DEFAULT_TIMINGS.retryPeriodMs),
    },
  })
}
