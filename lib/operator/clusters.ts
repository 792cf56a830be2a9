/** Opens the clusters of one start. */
import { ConfigError, isExpired } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Transport } from '../core/transport.ts'
import type { Log } from '../observe/log.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { loadConfig } from '../config/load.ts'
import { describeConfig } from '../config/loaded.ts'
import { type ClosableTransport, httpTransport } from '../runtime/net/transport.ts'
import { Cluster, type ClusterOptions } from '../manager/cluster.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { ClusterParts, OtherCluster } from './description/context.ts'
import type { ClusterDescription, OperatorDescription } from './description/description.ts'
import type { Replacements } from './description/optional.ts'
import type { ShardParts } from './sharding/shard.ts'
import { optionalIn, statedOptionalIn, syncTimeoutsOf } from './description/used_kinds.ts'
import { type ClusterFlags, describeFlags } from './run/flags.ts'

export interface ClusterSetup extends RandomPartEnvironment, Pick<ClusterOptions, 'meter' | 'tracing'> {
  readonly instance: string
  /** Ends the wait for configurations. */
  readonly signal?: AbortSignal | undefined
  /** As in `StartOptions`. */
  readonly options: Pick<ClusterOptions, 'transport' | 'freeze' | 'fieldValidation'> & Replacements & {
    readonly cluster?: ClusterConfig
    readonly connect?: (name: string) => Transport | undefined
  }
  /** Undefined without other clusters. */
  readonly otherClusters?:
    | Pick<typeof import('./foreign_owners.ts'), 'foreignOwners'>
      & Pick<typeof import('./description/optional.ts'), 'openOthers'>
    | undefined
  /** Undefined without namespaces by labels. */
  readonly namespaces?: Pick<ClusterOptions, 'selectNamespaces'> | undefined
  readonly shard?: Partial<Pick<ShardParts, 'keepLabels'>> | undefined
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

  /** For each cluster: returns whether the operator has declared a kind as optional. */
  readonly mayMiss: WeakMap<Cluster, (resource: AnyResource) => boolean> = new WeakMap()

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
    const of = this.of(cluster)
    const mayMiss = this.mayMiss.get(of)!
    return [...of.cache.informers()].every(({ resource, isSynced, failure }) =>
      mayMiss(resource) || (isSynced && (failure === undefined || isExpired(failure)))
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
  const { options } = description
  const { options: start, otherClusters, namespaces: selected, shard, ...shared } = setup
  const { cluster: config, clusters: configs = {}, transport, connect, freeze, fieldValidation } = start
  const { name, namespaces } = options
  const cacheDefaults = options.cache as CacheOptions | undefined
  const { selectNamespaces } = selected ?? {}
  const common = { ...shared, freeze, fieldValidation, cacheDefaults, selectNamespaces }
  const make = (given: Omit<ClusterOptions, 'name'>): Cluster => {
    const checkOwners = otherClusters?.foreignOwners(() => cluster, () => opened.all)
    const keepLabels = shard?.keepLabels?.(checkOwners)
    const cluster: Cluster = new Cluster({ ...common, ...given, name, checkOwners: keepLabels ?? checkOwners })
    return cluster
  }
  const mayMiss = statedOptionalIn(description)
  const main = make({
    namespaces,
    transport,
    config: config ?? (transport ? undefined : await findCluster(setup.log)),
    syncTimeoutMs: syncTimeoutsOf(description),
    optional: mayMiss,
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
    opened.mayMiss.set(cluster, statedOptionalIn(own, other))
    return cluster
  }
  const opened = new Clusters(main, late, (other, own, { config }) => {
    const transport = connect?.(other.name)
    return add(
      other,
      own,
      transport ? { transport } : { config: Object.hasOwn(configs, other.name) ? configs[other.name] : config },
    )
  })
  opened.mayMiss.set(main, mayMiss)
  await otherClusters?.openOthers(description, start, {
    ...setup,
    late,
    add: (other, at) => add(other, description, at),
    connect: (config) => httpTransport(config, { ...setup, userAgent: `${name} kubeloop` }),
  })
  return opened
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
