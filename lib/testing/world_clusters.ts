/** The API servers of a world, each with its garbage collector. */
import { Cluster, type Log, type OtherCluster, type Transport } from 'kubeloop'
import { ApiServer, type CallWebhook } from 'kubeloop/apiserver'
import type { OperatorDescription } from '../operator/description.ts'
import type { StartOptions } from '../operator/start.ts'
import { GarbageCollector } from '../simcluster/garbage_collector.ts'
import type { Activity } from './activity.ts'
import type { FakeClock } from '../async/fake_clock.ts'
import type { Faults } from './faults.ts'
import type { Replica } from './replica.ts'
import type { RightsRecorder } from './rights_recorder.ts'

interface WorldCluster {
  readonly server: ApiServer
  /** Not affected by faults. */
  readonly handle: Transport
  readonly admin: Cluster
}

interface WorldClustersOptions {
  readonly description: OperatorDescription
  readonly clock: FakeClock
  readonly random: () => number
  readonly log: Log
  readonly faults: Faults
  readonly recorder: RightsRecorder | undefined
  readonly activity: Activity
  readonly callWebhook: CallWebhook
  /** Ends the garbage collectors. */
  readonly signal: AbortSignal
}

/** The operator's own cluster, and the others by their names. */
export class WorldClusters {
  readonly main: WorldCluster
  readonly #options: WorldClustersOptions
  readonly #others = new Map<string, WorldCluster>()

  constructor(options: WorldClustersOptions) {
    this.#options = options
    this.main = this.#create()
  }

  /** Starts the garbage collector of the own cluster, and all clusters that the operator names. */
  open(): void {
    this.#collectIn(this.main)
    for (const { name } of this.#options.description.clusters) this.#other(name)
  }

  /** @throws TypeError if the operator has no cluster of that name. */
  of(cluster: OtherCluster | undefined): WorldCluster {
    if (!cluster) return this.main
    if (this.#others.has(cluster.name) || this.#options.description.groups.length > 0) return this.#other(cluster.name)
    throw new TypeError(`Cannot use the cluster "${cluster.name}": the operator has no cluster of that name`)
  }

  /** Returns the connections of a replica. */
  connectionsOf(replica: Replica): Pick<StartOptions, 'transport' | 'transports' | 'connect'> {
    const others = [...this.#others].map(([name, cluster]) => [name, this.#connect(replica, cluster, name)] as const)
    return {
      transport: this.#connect(replica, this.main, null),
      transports: Object.fromEntries(others),
      connect: (name) => this.#connect(replica, this.#other(name), name),
    }
  }

  #connect(replica: Replica, { handle }: WorldCluster, name: string | null): Transport {
    const { activity, faults, recorder } = this.#options
    // Faults are outside of the count: a delayed request is not open.
    const connection = replica.receiving(faults.around(replica.sending(activity.counting(handle)), name))
    return recorder?.around(connection, name) ?? connection
  }

  #other(name: string): WorldCluster {
    let cluster = this.#others.get(name)
    if (!cluster) {
      cluster = this.#create()
      this.#collectIn(cluster)
      this.#others.set(name, cluster)
    }
    return cluster
  }

  #create(): WorldCluster {
    const { clock, random, callWebhook } = this.#options
    const server = new ApiServer({ clock, random, callWebhook })
    const { handle } = server
    const options = { transport: handle, name: 'test', fieldValidation: 'Strict', freeze: true, clock, random } as const
    return { server, handle, admin: new Cluster(options) }
  }

  #collectIn({ handle }: WorldCluster): void {
    const { activity, clock, log, random, signal } = this.#options
    const collector = new GarbageCollector({ transport: activity.counting(handle), clock, log, random })
    activity.run((watch) => {
      watch({ idle: () => collector.idle, busyWith: () => ['the garbage collector collects dependents'] })
      return collector.start(signal)
    })
  }
}
