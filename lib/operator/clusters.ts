/** Opens the clusters of one start, and makes the clients of its work. */
import { type Duration, toMs } from '../core/duration.ts'
import { ConfigError, isExpired, messageOf } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { Transport } from '../core/transport.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { type Log, withFields } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { KubeClient } from '../client/kube_client.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { describeConfig, loadConfig } from '../config/load.ts'
import { type ClosableTransport, httpTransport } from '../runtime/net/transport.ts'
import { Cluster, type ClusterOptions } from '../manager/cluster.ts'
import type { Environment } from './environment.ts'
import type { ClusterParts, OtherCluster, WorkContext } from './context.ts'
import type { ClusterDescription, OperatorDescription } from './description.ts'
import { isOptional, optionalIn, syncTimeoutsOf } from './used_kinds.ts'
import { type ClusterFlags, describeFlags } from './flags.ts'

export interface ClusterSetup extends Environment, Pick<ClusterOptions, 'meter' | 'tracing'> {
  readonly instance: string
  /** As in `StartOptions`. */
  readonly options: Pick<ClusterOptions, 'transport' | 'freeze' | 'fieldValidation'> & {
    readonly cluster?: ClusterConfig
    readonly clusters?: Readonly<Record<string, ClusterConfig>>
    readonly transports?: Readonly<Record<string, Transport>>
    readonly connect?: (name: string) => Transport | undefined
  }
  /** Undefined without other clusters. */
  readonly otherClusters?:
    | Pick<typeof import('./foreign_owners.ts'), 'foreignOwners'>
      & Pick<typeof import('./optional.ts'), 'lateConnection'>
    | undefined
}

export class Clusters {
  /** The operator's own cluster. */
  readonly main: Cluster
  readonly others: Map<OtherCluster, Cluster> = new Map()
  readonly #connections: readonly ClosableTransport[]

  /** Opens a cluster that a provider adds. `description` has what runs there. */
  readonly add: (
    other: ClusterDescription,
    description: OperatorDescription,
    at: Pick<ClusterOptions, 'config' | 'transport'>,
  ) => Cluster

  /** `connections`: those that the clusters do not close themselves. */
  constructor(main: Cluster, connections: readonly ClosableTransport[], add: Clusters['add']) {
    this.main = main
    this.#connections = connections
    this.add = add
  }

  /** Closes and forgets a cluster that a provider has removed. */
  drop(other: OtherCluster): void {
    this.others.get(other)?.close()
    this.others.delete(other)
  }

  get all(): readonly Cluster[] {
    return [this.main, ...this.others.values()]
  }

  /** The operator's own namespace. */
  get ownNamespace(): string {
    return this.main.config?.namespace || 'default'
  }

  /** @throws TypeError for a cluster of another operator. */
  of(cluster: OtherCluster | undefined): Cluster {
    const found = cluster ? this.others.get(cluster) : this.main
    if (!found) {
      throw new TypeError(
        `Cannot use the cluster "${cluster?.name}": this operator has no such cluster; make one with app.cluster(…)`,
      )
    }
    return found
  }

  /**
   * Whether the kinds watched in a cluster are listed and no watch fails now. Kinds that are optional by themselves do
   * not count.
   */
  isReady(cluster: OtherCluster | undefined): boolean {
    const mayMiss = (optional: boolean): boolean => optional && !isOptional(cluster)
    return [...this.of(cluster).cache.informers()].every(({ optional, isSynced, failure }) =>
      mayMiss(optional) || (isSynced && (failure === undefined || isExpired(failure)))
    )
  }

  close(): void {
    for (const each of [...this.all, ...this.#connections]) each.close()
  }
}

/**
 * Resolves every configuration, without a connection. A failing configuration of an optional cluster is retried later.
 */
export async function openClusters(description: OperatorDescription, setup: ClusterSetup): Promise<Clusters> {
  const { options, clusters } = description
  const { options: start, otherClusters, ...shared } = setup
  const { cluster: config, clusters: configs = {}, transport, transports = {}, connect, freeze, fieldValidation } =
    start
  const { name, namespaces } = options
  const common = { ...shared, freeze, fieldValidation, cacheDefaults: options.cache as CacheOptions | undefined }
  const make = (given: Omit<ClusterOptions, 'name'>): Cluster => {
    const checkOwners = otherClusters?.foreignOwners(() => cluster, () => opened.all)
    const cluster: Cluster = new Cluster({ ...common, ...given, name, checkOwners })
    return cluster
  }
  const main = make({
    namespaces,
    transport,
    config: config ?? (transport ? undefined : await findCluster(setup.log)),
    syncTimeoutMs: syncTimeoutsOf(description),
    optional: optionalIn(description),
  })
  const late: ClosableTransport[] = []
  const add: Clusters['add'] = (other, own, at) => {
    const cluster = make({
      ...at,
      label: other.name,
      namespaces: other.namespaces ?? namespaces,
      syncTimeoutMs: syncTimeoutsOf(own, other),
      optional: optionalIn(own, other),
    })
    opened.others.set(other, cluster)
    return cluster
  }
  const opened = new Clusters(main, late, (other, own, { config }) => {
    const transport = connect?.(other.name)
    return add(other, own, transport ? { transport } : { config: configs[other.name] ?? config })
  })
  for (const other of clusters) {
    let replacement = transports[other.name]
    const config = replacement
      ? undefined
      : configs[other.name] ?? await configOf(other).catch((error: unknown): undefined => {
        if (!other.optional) throw error
      })
    if (!replacement && !config) {
      const { clock, log } = setup
      late.push(
        replacement = otherClusters!.lateConnection(async () =>
          httpTransport(await configOf(other), { clock, log, userAgent: `${name} kubeloop` })
        ),
      )
    }
    add(other, description, { config, transport: replacement })
  }
  return opened
}

async function configOf({ name, config }: ClusterDescription): Promise<ClusterConfig> {
  if (typeof config !== 'function') return config
  try {
    return await config()
  } catch (cause) {
    throw new Error(`Cannot find the cluster "${name}": ${messageOf(cause)}`, { cause })
  }
}

/** Finds the operator's own cluster by the flags, else by `loadConfig`. Errors name the flags. */
export async function findCluster(log: Log, flags: ClusterFlags = {}): Promise<ClusterConfig> {
  const flagNames = describeFlags(flags)
  const found = await loadConfig({ log, ...flags }).catch((error: unknown) => {
    throw flagNames && error instanceof ConfigError
      ? new ConfigError(`${error.message} (from ${flagNames})`, { cause: error })
      : error
  })
  log.debug(`Found the cluster ${found.cluster.server}: ${describeConfig(found)}`)
  return found.cluster
}

/** Returns the client of a cluster; undefined is the operator's own. */
export type Clients = (cluster?: OtherCluster) => KubeClient

/** A controller, for its writes: its name if the operator has several, and its own field manager. */
export interface Writer {
  readonly name: string | undefined
  readonly fieldManager: string | undefined
}

/**
 * Returns clients with the fence, if any. One fence covers the writes to all clusters, as the operator has one lease.
 */
export function clientsOf(clusters: Clusters, fence: Fence | undefined, writer?: Writer): Clients {
  const made = new WeakMap<Cluster, KubeClient>()
  return (cluster) => {
    const of = clusters.of(cluster)
    let client = made.get(of)
    if (!client) {
      const own = writer ? of.client.as(writer.name, writer.fieldManager) : of.client
      made.set(of, client = fence ? own.fenced(fence) : own)
    }
    return client
  }
}

/** Returns a cluster for extensions. */
export function fencedCluster(cluster: Cluster, fence: Fence): ClusterParts {
  const { name, config, cache, kinds, recorder } = cluster
  return {
    name,
    config,
    cache,
    kinds,
    recorder,
    api: cluster.api.fenced(fence),
    client: cluster.client.fenced(fence),
    unfenced: cluster,
  }
}

/** Returns a log whose lines name a cluster other than the operator's own. */
export function logOf(log: Log, cluster: OtherCluster | undefined): Log {
  return cluster ? { ...withFields(log, { cluster: cluster.name }), level: log.level } : log
}

/**
 * Returns the clients of one piece of work: its signal aborts their calls, and `onWrite` is called for their writes.
 * `home`: the cluster of `client`. Default: the operator's own.
 */
export function boundTo(
  clients: Clients,
  work: { readonly signal: AbortSignal; readonly onWrite?: ((write: WriteRecord) => void) | undefined },
  home?: OtherCluster,
): Pick<WorkContext, 'client' | 'clientOf'> {
  const { onWrite } = work
  const bound = new Map<KubeClient, KubeClient>()
  const onWriteIn = (cluster?: OtherCluster): typeof onWrite =>
    onWrite && cluster ? (write) => onWrite({ ...write, cluster: cluster.name }) : onWrite
  const clientOf = (cluster?: OtherCluster): KubeClient => {
    const client = clients(cluster)
    return bound.get(client) ?? bound.set(client, client.bound(work, onWriteIn(cluster))).get(client)!
  }
  return { client: clientOf(home), clientOf }
}

/** Returns the `sleep` of a context. It reads the signal when it is called, as few contexts need one. */
export function sleepOn(clock: Clock, work: { readonly signal: AbortSignal }): (duration: Duration) => Promise<void> {
  return async (duration) => await sleep(clock, toMs(duration), work.signal)
}
