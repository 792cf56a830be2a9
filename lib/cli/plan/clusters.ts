/** Opens what plan reads from: the clusters of an operator, or a record of them. */
import { Cluster, type ClusterConfig, loadConfig, type Transport } from 'kubeloop'
import { systemClock } from '../../async/clock.ts'
import type { OperatorDescription } from '../../operator/description/description.ts'
import { type ClusterRecord, replay } from '../../testing/mirror/record.ts'

export interface Sources {
  /** Describes the operator's own cluster. */
  readonly config: ClusterConfig
  /** The time at which the operator starts. */
  readonly at: string
  /** Whether they answer dry runs. */
  readonly isLive: boolean
  /** Returns a connection by the operator's name of a cluster; null for its own. Its first request opens it. */
  readonly connect: (name: string | null) => Transport
  close(): void
}

export async function clustersOf(
  description: OperatorDescription,
  options: { readonly kubeconfig?: string | undefined; readonly context?: string | undefined },
): Promise<Sources> {
  const { cluster: config } = await loadConfig(options)
  const opened: Cluster[] = []
  const ofGroups = configsOfGroups(description)
  const open = async (name: string | null): Promise<Transport> => {
    const { config: other = ofGroups.get(name ?? '') } = description.clusters.find((each) => each.name === name) ?? {}
    const found = name === null ? config : typeof other === 'function' ? await other() : other
    if (!found) throw new Error(`Cannot connect to the cluster "${name}": no provider has added it`)
    const cluster = new Cluster({ name: 'kubeloop-plan', config: found })
    opened.push(cluster)
    return cluster.transport
  }
  const connections = new Map<string | null, Promise<Transport>>()
  return {
    config,
    at: new Date(systemClock.now()).toISOString(),
    isLive: true,
    connect: (name) => async (request) => {
      const connection = connections.get(name) ?? connections.set(name, open(name)).get(name)!
      return await (await connection)(request)
    },
    close: () => opened.forEach((each) => each.close()),
  }
}

/** Returns the configurations that the providers of groups give, as they give them. */
export function configsOfGroups({ groups }: OperatorDescription): ReadonlyMap<string, ClusterConfig> {
  const configs = new Map<string, ClusterConfig>()
  for (const group of groups) {
    const { provider } = group
    const noted: typeof provider = async function* (context) {
      const changes = provider(context)[Symbol.asyncIterator]()
      try {
        for (;;) {
          const { done, value } = await changes.next()
          // The return value says whether the provider is called again.
          if (done) return value
          if ('add' in value) configs.set(value.add, value.config)
          yield value
        }
      } finally {
        await changes.return?.()
      }
    }
    Object.defineProperty(group, 'provider', { value: noted })
  }
  return configs
}

export function recordedClusters(record: ClusterRecord, note: (text: string) => void): Sources {
  return {
    config: { server: 'https://localhost', namespace: record.namespace },
    at: record.at,
    isLive: false,
    connect: (name) => replay(record, name, note),
    close() {},
  }
}
