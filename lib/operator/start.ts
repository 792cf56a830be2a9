/** One start of an operator: its clusters, its CRDs, its parts, and their end. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { resourceId, type AnyResource } from '../core/resource.ts'
import type { Transport } from '../core/transport.ts'
import { systemClock, type Clock } from '../async/clock.ts'
import { safeLog, type Log } from '../observe/log.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { hostName } from '../runtime/files.ts'
import type { ReconcileReport } from '../controller/controller.ts'
import { assemble } from './assemble.ts'
import { openClusters, type Clusters } from './clusters.ts'
import { installCrds, verifyCrds } from './crds.ts'
import { watchedResources, type OperatorDescription } from './description.ts'
import { meterOf } from './endpoints.ts'
import type { Parts } from './parts.ts'

/** What a start may be given. Only `cluster` is for everyday use; the rest is for tests and tools. */
export interface StartOptions {
  /** Default: found as kubectl finds it. */
  cluster?: ClusterConfig
  /** Instead of a connection to `cluster`. */
  transport?: Transport
  /** Instead of connections to the operator's other clusters, by their names. */
  transports?: Readonly<Record<string, Transport>>
  /** Which process this is, in Events and in the Lease. Default: the host's name. */
  instance?: string
  clock?: Clock
  random?: () => number
  /** Makes what must be unique: who this is among the candidates, and the ids of reconciles. Default: crypto.randomUUID. */
  uuid?: () => string
  log?: Log
  /** Instead of the operator's own. */
  crds?: 'install' | 'verify' | 'ignore'
  /** Where it is told which CRDs are new, when not in `log`. */
  definitionLog?: Log
  /** Instead of the operator's own. */
  leaderElection?: boolean
  /** Whether health, metrics and profiling are served where the operator says. Default: true. */
  serves?: boolean
  /** Freezes what the cache hands out. */
  freeze?: boolean
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  onReconcile?: (report: ReconcileReport) => void
  /** Hears of the parts before they start. */
  onAssembled?: (parts: Parts) => void
}

/** Runs an operator until the signal is aborted. */
export async function startOperator(description: OperatorDescription, signal: AbortSignal, options: StartOptions): Promise<void> {
  const { clock = systemClock, serves = true, instance = hostName() } = options
  const log = safeLog(options.log)
  const setup = { clock, log, instance, random: options.random, uuid: options.uuid, meter: serves ? await meterOf(description.options) : undefined }
  const clusters = await openClusters(description, {
    ...setup,
    cacheDefaults: description.options.cache as CacheOptions | undefined,
    config: options.cluster,
    transport: options.transport,
    transports: options.transports,
    freeze: options.freeze,
    fieldValidation: options.fieldValidation,
  })
  try {
    await prepareCrds(description, clusters, options, signal)
    const { leaderElection, onReconcile } = options
    const parts = assemble(description, { ...setup, clusters, serves, leaderElection, onReconcile })
    for (const extension of description.extensions) await extension(parts)
    options.onAssembled?.(parts)
    await parts.manager.start(signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    clusters.close()
  }
}

async function prepareCrds(description: OperatorDescription, clusters: Clusters, options: StartOptions, signal: AbortSignal): Promise<void> {
  const mode = options.crds ?? description.options.crds ?? 'verify'
  const { clock = systemClock } = options
  const log = safeLog(options.definitionLog ?? options.log)
  for (const cluster of [undefined, ...description.clusters]) {
    const ours = new Map<string, AnyResource>()
    for (const resource of watchedResources(description, cluster)) if (resource.definition) ours.set(resourceId(resource), resource)
    const dependencies = { api: clusters.of(cluster).api, clock, log, fieldManager: description.options.name }
    if (mode === 'install') await installCrds([...ours.values()], dependencies, signal)
    if (mode === 'verify') await verifyCrds([...ours.values()], dependencies, signal)
  }
}
