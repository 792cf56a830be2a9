/** One start of an operator: its clusters, its CRDs, its parts, and their end. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { messageOf } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import { type AnyResource, resourceId } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import type { Transport } from '../core/transport.ts'
import { untilAborted } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { clusterSuffix } from '../client/api.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { hostName } from '../runtime/os/files.ts'
import type { ReconcileReport } from '../controller/controller.ts'
import { assemble, hasElection } from './assemble.ts'
import { type Clusters, logOf, openClusters } from './clusters.ts'
import type { OtherCluster } from './context.ts'
import { createCrds, installCrds, verifyCrds } from './crds.ts'
import {
  isOptional,
  type OperatorDescription,
  type OperatorOptions,
  optionalIn,
  watchedResources,
} from './description.ts'
import { checkMeter, meterOf } from './endpoints.ts'
import { ownLog } from './own_log.ts'
import { optionalCluster, untilDone } from './optional.ts'
import type { Parts } from './parts.ts'

/** What a start may be given. Only `cluster` is for everyday use; the rest is for tests and tools. */
export interface StartOptions {
  /** Default: found as kubectl finds it. */
  cluster?: ClusterConfig
  /** Instead of the configurations of the operator's other clusters, by their names. */
  clusters?: Readonly<Record<string, ClusterConfig>>
  /** Instead of a connection to `cluster`. */
  transport?: Transport
  /** Instead of connections to the operator's other clusters, by their names. */
  transports?: Readonly<Record<string, Transport>>
  /** Which process this is, in Events and in the Lease. Default: the identity that the operator states for its election, or the host's name. */
  instance?: string
  clock?: Clock
  random?: () => number
  /** Makes what must be unique: who this is among the candidates, and the ids of reconciles. Default: crypto.randomUUID. */
  uuid?: () => string
  /** Instead of the operator's own. Default: none. */
  log?: Log
  /** Instead of the operator's own. */
  crds?: OperatorOptions['crds']
  /** Where it is told which CRDs are new, when not in `log`. */
  definitionLog?: Log
  /** Instead of the operator's own. */
  leaderElection?: boolean
  /** Whether health, metrics and profiling are served where the operator says. Default: true. */
  serves?: boolean
  /** Whether the servers that extensions add are started. A function is called with each instead. Default: true. */
  listens?: boolean | ((server: Runnable) => void)
  /** Freezes what caches and clients return. Default: false. */
  freeze?: boolean
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  onReconcile?: (report: ReconcileReport) => void
  /** Hears of the parts before they start. */
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
    log,
    instance,
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

/** On Deno, the host's name needs a permission: it is not asked for where nothing depends on it. */
function instanceOf({ leaderElection }: OperatorOptions): string {
  const identity = typeof leaderElection === 'object' ? leaderElection.identity : undefined
  try {
    return identity || hostName()
  } catch (cause) {
    throw new Error(`Cannot name this process: ${messageOf(cause)}, or state leaderElection.identity`, { cause })
  }
}

type InCluster = (cluster: OtherCluster | undefined, signal: AbortSignal) => Promise<void>

/** Before the caches start: what they could not sync without. All else that has to change is the leader's, if there is one. */
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
 * The definitions are changed in the name of the lease, and nothing of the leader's work begins before they are served; in an
 * optional cluster, nothing of the work there.
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

/** Does what `prepare` does about the definitions of a cluster. Its errors name one that is not the operator's own. */
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
    // What a request was refused with names it already, and so does what waits for an optional one.
    if (!cluster || isOptional(cluster) || signal.aborted || text.includes(where)) throw error
    throw new Error(text.includes(HERE) ? text.replace(HERE, where) : `${text} (${where})`, { cause: error })
  }
}

/** What errors about a definition say of where it is. */
const HERE = 'in this cluster'

/** The kinds of ours in a cluster, and what is needed to prepare them. The definition of a kind that is optional is not ours. */
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
