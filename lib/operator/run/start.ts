/** Starts an operator: opens its clusters, prepares its CRDs, runs its parts, and closes all. */
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { messageOf } from '../../core/errors.ts'
import type { Runnable } from '../../core/runnable.ts'
import type { Transport } from '../../core/transport.ts'
import { untilAborted } from '../../async/abort.ts'
import { type Clock, turnBudgetOf } from '../../async/clock.ts'
import { environmentOf } from '../../observe/environment.ts'
import type { Log } from '../../observe/log.ts'
import type { Tracing } from '../../observe/tracing.ts'
import { hostName } from '../../runtime/os/files.ts'
import type { ReconcileReport } from '../../controller/controller.ts'
import { assemble, electorOf, hasElection } from '../assemble.ts'
import { type Clusters, openClusters } from '../clusters.ts'
import { boundTo, clientsOf } from '../work.ts'
import type { Parts } from '../description/context.ts'
import type { OperatorOptions } from '../description/options.ts'
import type { OperatorDescription } from '../description/description.ts'
import { isOptional } from '../description/used_kinds.ts'
import { type LoadedParts, loadMeter, loadParts, loadTracing } from '../loaded_parts.ts'
import { ownLog } from './own_log.ts'
import type { OperatorWebhooks, WebhookMode } from '../webhooks/setup.ts'

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
  /** Returns what replaces the connection to a cluster that a provider adds. Default: none. */
  connect?: (name: string) => Transport | undefined
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
  /** Whether to make the servers of health, metrics and profiling. Default: true. */
  serves?: boolean
  /** Whether metrics that cannot be loaded are an error, and not a warning. Default: true. */
  needsMetrics?: boolean
  /**
   * Called with each server: of health, metrics, profiling and extensions. Returns whether it is started. Default: all
   * are.
   */
  listens?: (server: Runnable) => boolean
  /** How the webhooks are served. Default: `stated`, as the operator states. */
  webhooks?: WebhookMode
  /** Called with the webhooks before they start. */
  onWebhooks?: (webhooks: OperatorWebhooks) => void
  /** Called when all files are loaded that the operator needs. Its requests begin when that has resolved. */
  onLoaded?: () => void | Promise<void>
  /** Freezes the objects that caches and clients return. Default: false. */
  freeze?: boolean
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  onReconcile?: (report: ReconcileReport) => void
  /** Called when a task has failed and waits for its next try, and without a failure when that begins. */
  onTask?: (task: string, failure?: { readonly error: unknown }) => void
  /** Called with the parts before they start. */
  onAssembled?: (parts: Parts) => void
}

/** Runs an operator until the signal is aborted. */
export async function startOperator(
  description: OperatorDescription,
  signal: AbortSignal,
  options: StartOptions,
): Promise<void> {
  const { serves = true } = options
  const setup = await setupOf(description, serves, options)
  const loaded = await loadParts(description, serves, { ...options, ...setup })
  let clusters: Clusters | undefined
  try {
    const { otherClusters, namespaces, shard } = loaded
    clusters = await openClusters(description, { ...setup, otherClusters, namespaces, shard, options, signal })
    const parts = await prepared(description, { ...setup, loaded, clusters }, options, signal)
    for (const extension of loaded.described.extensions) {
      await untilAborted(Promise.resolve(extension(parts)), signal)
    }
    options.onAssembled?.(parts)
    await parts.manager.start(signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    clusters?.close()
  }
}

/** What all parts of a start share. */
type Setup = Awaited<ReturnType<typeof setupOf>>

type Opened = Setup & { readonly loaded: LoadedParts; readonly clusters: Clusters }

async function setupOf(description: OperatorDescription, serves: boolean, options: StartOptions) {
  const { userClock, identity, uuid, instance = instanceOf(description.options) } = options
  const environment = environmentOf({ ...options, log: options.log ?? ownLog(description.options) })
  const meter = serves
    ? await loadMeter(description.options).catch((error: unknown) => {
      if (options.needsMetrics !== false) throw error
      environment.log.warn(`${messageOf(error)}; elsewhere this is fatal`)
      return undefined
    })
    : undefined
  // Not a public option: how the page of `kubeloop dev` holds runs.
  const tracing = (options as { readonly tracing?: Tracing }).tracing ?? await loadTracing(description.options)
  return { ...environment, userClock, instance, identity, uuid, meter, tracing }
}

/** Prepares the definitions in the clusters that must be there, and assembles the parts. */
async function prepared(
  description: OperatorDescription,
  opened: Opened,
  options: StartOptions,
  signal: AbortSignal,
): Promise<Parts> {
  const { clock, clusters, loaded } = opened
  const { leaderElection, listens, onReconcile, onTask } = options
  // The Lease of a shard is for its objects alone: definitions and webhooks are those of all replicas.
  const elects = !loaded.shard && hasElection(description.options.leaderElection, options)
  const webhooks = webhooksOf(description, opened, { ...options, elects }, signal)
  if (webhooks) options.onWebhooks?.(webhooks)
  const schedules = await loaded.schedules?.loadSchedules(description, clock)
  await options.onLoaded?.()
  const definitions = loaded.definitions &&
    new loaded.definitions.Definitions({ ...opened, description, options, elects, webhooks })
  // Definitions name a server that must listen before, and the CA of its certificate; without a certificate nothing
  // is installed.
  const isLate = webhooks?.isServed === true
  for (const cluster of [undefined, ...description.clusters]) {
    if (!isOptional(cluster) && (cluster || !isLate)) await definitions?.prepare(cluster, signal)
  }
  const others = [...clusters.others].map(([other, cluster]) => {
    if (!isOptional(other)) return cluster
    const prepare = async (signal: AbortSignal): Promise<void> => await definitions?.prepare(other, signal)
    return loaded.otherClusters!.optionalCluster(cluster, prepare, { ...opened, name: other.name })
  })
  const parts = assemble(loaded.described, {
    ...opened,
    running: [clusters.main, ...others],
    ...{ definitions, webhooks, schedules, onTask, listens, leaderElection, onReconcile },
    async afterWebhooks(signal) {
      if (!isLate) return
      await webhooks.addCas(signal)
      await definitions?.prepare(undefined, signal)
    },
  })
  definitions?.addInstallation(parts.manager)
  return parts
}

function webhooksOf(
  description: OperatorDescription,
  opened: Opened,
  { crds, definitionLog, elects, webhooks: mode = 'stated' }: StartOptions & { readonly elects: boolean },
  stopping: AbortSignal,
): OperatorWebhooks | undefined {
  const { clock, clusters, loaded } = opened
  const { api, config } = clusters.main
  const clients = clientsOf(clusters, undefined)
  return loaded.webhooks?.openWebhooks(description, {
    ...opened,
    ...{ api, crds, definitionLog, mode, stopping },
    budget: turnBudgetOf(clock),
    client: (call) => boundTo(clients, call).client,
    namespace: config?.namespace,
    apiServer: config?.server,
    elect: elects || mode !== 'stated' ? undefined : (onOther) => electorOf(description.options, opened, { onOther }),
  })
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
