/** Starts an operator: opens its clusters, prepares its CRDs, runs its parts, and closes all. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { messageOf } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import { type AnyResource, resourceId } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import type { Transport } from '../core/transport.ts'
import { untilAborted } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { fill } from '../observe/format_log.ts'
import { type Log, type LogFields, safeLog } from '../observe/log.ts'
import { clusterSuffix } from '../client/api.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { hostName } from '../runtime/os/files.ts'
import type { ReconcileReport } from '../controller/controller.ts'
import { assemble, hasElection } from './assemble.ts'
import { type Clusters, logOf, openClusters } from './clusters.ts'
import type { OtherCluster, Parts } from './context.ts'
import { createCrds, installCrds, verifyCrds } from './crds.ts'
import {
  isOptional,
  type OperatorDescription,
  type OperatorOptions,
  optionalIn,
  watchedResources,
} from './description.ts'
import { checkMeter, meterOf } from './endpoints.ts'
import { optionalCluster, untilDone } from './optional.ts'

/** Options of a start. Only `cluster` is for everyday use; the rest is for tests and tools. */
export interface StartOptions {
  /** Default: found by `loadConfig`, in the order of controller-runtime. */
  cluster?: ClusterConfig
  /** Override the configurations of the operator's other clusters, by their names. */
  clusters?: Readonly<Record<string, ClusterConfig>>
  /** Replaces the connection to `cluster`. */
  transport?: Transport
  /** Replace the connections to the operator's other clusters, by their names. */
  transports?: Readonly<Record<string, Transport>>
  /**
   * Names this process in Events and in the Lease. Default: the `identity` of the leader election, or the host's name.
   */
  instance?: string
  clock?: Clock
  /** Overrides the `identity` of the leader election. */
  identity?: string | undefined
  /** The clock of the contexts of reconciles. Default: `clock`. */
  userClock?: Clock
  random?: () => number
  /** Makes the identity of this candidate and the ids of reconciles. Default: crypto.randomUUID. */
  uuid?: () => string
  /** Overrides the operator's own. Default: none. */
  log?: Log
  /** Overrides the operator's own. */
  crds?: OperatorOptions['crds']
  /** Logs the installed and updated CRDs, instead of `log`. */
  definitionLog?: Log
  /** Overrides the operator's own. */
  leaderElection?: boolean
  /** Whether to serve health, metrics and profiling at the operator's addresses. Default: true. */
  serves?: boolean
  /**
   * Whether to start the servers that extensions add. A function is called with each of them instead. Default: true.
   */
  listens?: boolean | ((server: Runnable) => void)
  /** Freezes the objects that caches and clients return. Default: false. */
  freeze?: boolean
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  onReconcile?: (report: ReconcileReport) => void
  /** Called with the parts before they start. */
  onAssembled?: (parts: Parts) => void
}

/** Runs an operator until the signal is aborted. */
export async function startOperator(
  description: OperatorDescription,
  signal: AbortSignal,
  options: StartOptions,
): Promise<void> {
  const { clock = systemClock, serves = true, instance = instanceOf(description.options) } = options
  const log = safeLog(options.log ?? ownLog(description.options))
  const setup = {
    clock,
    userClock: options.userClock,
    log,
    instance,
    identity: options.identity,
    random: options.random,
    uuid: options.uuid,
    meter: serves ? await meterOf(description.options) : undefined,
  }
  if (!serves) checkMeter(description.options, log)
  const clusters = await openClusters(description, {
    ...setup,
    cacheDefaults: description.options.cache as CacheOptions | undefined,
    config: options.cluster,
    configs: options.clusters,
    transport: options.transport,
    transports: options.transports,
    freeze: options.freeze,
    fieldValidation: options.fieldValidation,
  })
  try {
    const { leaderElection, listens, onReconcile } = options
    const elects = hasElection(description.options.leaderElection, options)
    const prepare = preparationOf(description, clusters, options, elects)
    for (const cluster of [undefined, ...description.clusters]) if (!isOptional(cluster)) await prepare(cluster, signal)
    const running = [
      clusters.main,
      ...[...clusters.others].map(([other, cluster]) => {
        return isOptional(other)
          ? optionalCluster(cluster, (signal) => prepare(other, signal), { ...setup, name: other.name })
          : cluster
      }),
    ]
    const installs = elects && crdsOf(description, options).mode === 'install'
    const installed = new Map(
      installs ? description.clusters.filter(isOptional).map((cluster) => [cluster, new Latch()]) : [],
    )
    const parts = assemble(description, {
      ...setup,
      clusters,
      running,
      installed,
      serves,
      listens,
      leaderElection,
      onReconcile,
    })
    if (installs) addInstallation(description, clusters, options, installed, parts)
    for (const extension of description.extensions) await extension(parts)
    options.onAssembled?.(parts)
    await parts.manager.start(signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    clusters.close()
  }
}

/** The call order of pino. */
type FieldsFirst = Readonly<Record<keyof Log, (fields: LogFields, message: string) => void>>

/**
 * Returns the log of `operator({ log })`, made safe, if there is one. pino takes the fields first and drops them after
 * the message, so a log with pino's `bindings` is called in that order, with the braces of the message filled in and
 * `error` renamed to `err`.
 */
export function ownLog({ log }: OperatorOptions): Log | undefined {
  if (!log || !('bindings' in log)) return log && safeLog(log)
  const at = (level: keyof Log): Log['info'] => (message, fields = {}) => {
    const { error, ...rest } = fields
    const given = error instanceof Error ? { ...rest, err: error } : fields
    ;(log as unknown as FieldsFirst)[level](given, fill(message, fields))
  }
  return safeLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })
}

/** Reads the host's name only without an identity, as it needs a permission on Deno. */
function instanceOf({ leaderElection }: OperatorOptions): string {
  const identity = typeof leaderElection === 'object' ? leaderElection.identity : undefined
  try {
    return identity || hostName()
  } catch (cause) {
    throw new Error(`Cannot name this process: ${messageOf(cause)}, or state leaderElection.identity`, { cause })
  }
}

type InCluster = (cluster: OtherCluster | undefined, signal: AbortSignal) => Promise<void>

/**
 * Returns what prepares the CRDs of a cluster before its caches start. With leader election, only the leader changes
 * existing CRDs.
 */
function preparationOf(
  description: OperatorDescription,
  clusters: Clusters,
  options: StartOptions,
  elects: boolean,
): InCluster {
  const { mode } = crdsOf(description, options)
  const prepare = mode === 'verify' ? verifyCrds : mode === 'ignore' ? undefined : elects ? createCrds : installCrds
  return async (cluster, signal) => {
    if (prepare) await prepareIn(prepare, definitionsOf(description, clusters, options, cluster), cluster, signal)
  }
}

/**
 * Adds the installation of CRDs by the leader. The leader's work starts when they are served; work in an optional
 * cluster, when they are served there.
 */
function addInstallation(
  description: OperatorDescription,
  clusters: Clusters,
  options: StartOptions,
  late: ReadonlyMap<OtherCluster, Latch>,
  { manager, clock, log }: Parts,
): void {
  const installed = new Latch()
  const install: InCluster = (cluster, signal) =>
    prepareIn(installCrds, definitionsOf(description, clusters, options, cluster, manager.fence), cluster, signal)
  manager.add({
    name: 'definitions',
    role: 'preparation',
    async start(signal) {
      for (const cluster of [undefined, ...description.clusters]) {
        if (!isOptional(cluster)) await install(cluster, signal)
      }
      installed.open()
    },
    ready: (signal) => untilAborted(installed.opened, signal),
  })
  for (const [cluster, latch] of late) {
    const { name } = cluster
    manager.add({
      name: `definitions in ${name}`,
      async start(signal) {
        const report = (reason: string): void =>
          log.warn(`The controllers of the cluster "${name}" wait for its definitions: ${reason}`)
        await untilDone(
          (signal) => install(cluster, signal),
          report,
          { name, clock, log, random: options.random },
          signal,
        )
        latch.open()
      },
    })
  }
}

function crdsOf(
  { options }: OperatorDescription,
  { crds = options.crds ?? 'verify' }: StartOptions,
): { readonly mode: string; readonly narrow?: boolean } {
  return typeof crds === 'object' ? crds : { mode: crds }
}

/** Calls `prepare` for the definitions of a cluster. Errors name a cluster other than the operator's own. */
async function prepareIn(
  prepare: typeof installCrds,
  definitions: ReturnType<typeof definitionsOf>,
  cluster: OtherCluster | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    await prepare(...definitions, signal)
  } catch (error) {
    const text = messageOf(error)
    const where = clusterSuffix({ cluster: cluster?.name }).trimStart()
    // Errors of requests name the cluster already, as do the log lines of an optional cluster.
    if (!cluster || isOptional(cluster) || signal.aborted || text.includes(where)) throw error
    throw new Error(text.includes(HERE) ? text.replace(HERE, where) : `${text} (${where})`, { cause: error })
  }
}

/** The place in errors about a definition, which the name of a cluster replaces. */
const HERE = 'in this cluster'

/** Returns the first arguments of `prepare` in a cluster. CRDs of optional kinds are not the operator's. */
function definitionsOf(
  description: OperatorDescription,
  clusters: Clusters,
  options: StartOptions,
  cluster: OtherCluster | undefined,
  fence?: Fence,
): [AnyResource[], Parameters<typeof installCrds>[1]] {
  const { clock = systemClock } = options
  const log = safeLog(options.definitionLog ?? options.log ?? ownLog(description.options))
  const { narrow } = crdsOf(description, options)
  const isForeign = isOptional(cluster) ? () => false : optionalIn(description, cluster)
  const ours = new Map<string, AnyResource>()
  for (const resource of watchedResources(description, cluster)) {
    if (resource.definition && !isForeign(resource)) ours.set(resourceId(resource), resource)
  }
  const { api } = clusters.of(cluster)
  return [[...ours.values()], {
    api: fence ? api.fenced(fence) : api,
    clock,
    log: logOf(log, cluster),
    fieldManager: description.options.name,
    narrow,
  }]
}
