/** The API servers of a world, each with its control loops. */
import { Cluster, isReason, type Log, type OtherCluster, type Parts, type Transport } from 'kubeloop'
import { ApiServer, type CallWebhook } from 'kubeloop/apiserver'
import { messageOf } from '../../core/errors.ts'
import { type AnyResource, groupResourceOf } from '../../core/resource.ts'
import {
  controllerTitle,
  memberCluster,
  memberOf,
  type OperatorDescription,
} from '../../operator/description/description.ts'
import type { StartOptions } from '../../operator/run/start.ts'
import { statedOptionalIn, usedResources, watchedResources } from '../../operator/description/used_kinds.ts'
import { placesIn } from '../../rights/likely.ts'
import type { TrialAccount } from '../../rights/trial.ts'
import { crdOf } from '../../schema/crds.ts'
import { GarbageCollector } from '../../simcluster/garbage_collector.ts'
import type { Workloads } from '../../simcluster/workloads/workloads.ts'
import type { Activity } from './activity.ts'
import type { FakeClock } from '../../async/fake_clock.ts'
import type { Faults } from './faults.ts'
import { createObjects } from './initial_objects.ts'
import { type ClusterRecord, restore } from '../mirror/record.ts'
import type { Replica } from './replica.ts'
import type { Trace } from './trace.ts'
import type { RightsRecorder } from '../rights_recorder.ts'
import { createMissing, missingNamespace, withAccount } from './world_account.ts'
import type { Simulation } from './world_pods.ts'

interface WorldCluster {
  readonly server: ApiServer
  readonly workloads: Workloads | undefined
  /** Not affected by faults. */
  readonly handle: Transport
  readonly admin: Cluster
  /** The operator's connection: the administrator's, or that of its account. */
  readonly operator: Transport
}

export interface WorldParts {
  readonly description: OperatorDescription
  readonly clock: FakeClock
  readonly random: () => number
  readonly log: Log
  readonly faults: Faults
  readonly recorder: RightsRecorder | undefined
  readonly trace: Trace
  /** Whose rights the operator has. Undefined: the administrator's. */
  readonly account: TrialAccount | undefined
  readonly activity: Activity
  /** What the clusters begin with. */
  readonly record?: ClusterRecord | undefined
}

interface WorldClustersOptions extends WorldParts {
  readonly callWebhook: CallWebhook
  /** Runs workloads in all clusters. Default: none run. */
  readonly simulation?: Simulation | undefined
  /** Ends the garbage collectors and the controllers of workloads. */
  readonly signal: AbortSignal
}

/** The operator's own cluster, and the others by their names. */
export class WorldClusters {
  readonly main: WorldCluster
  readonly #options: WorldClustersOptions
  /** Before, the objects of the start are created. */
  #isOpen = false
  readonly #others = new Map<string, WorldCluster>()

  constructor(options: WorldClustersOptions) {
    this.#options = options
    this.main = this.#create(undefined)
  }

  /** Creates the objects of the start, then starts the control loops, and all clusters that the operator names. */
  async open(objects: readonly object[]): Promise<void> {
    const { account, description } = this.#options
    const { conversions } = description
    const own = () => crdOf(usedResources(description), { conversions })
    await createMissing(this.main.admin, missingNamespace(account, objects))
    await createObjects(this.main.admin, objects, own, conversions)
    this.#isOpen = true
    this.#startLoops(this.main)
    for (const { name } of description.clusters) this.#other(name)
  }

  /** @throws TypeError if the operator has no cluster of that name. */
  of(cluster: OtherCluster | undefined): WorldCluster {
    if (!cluster) return this.main
    if (this.#others.has(cluster.name) || this.#options.description.groups.length > 0) return this.#other(cluster.name)
    throw new TypeError(`Cannot use the cluster "${cluster.name}": the operator has no cluster of that name`)
  }

  /** Returns what sets clusters back to their states of now. Default: all that there are. */
  backup(clusters: readonly WorldCluster[] = [this.main, ...this.#others.values()]): () => void {
    const states = clusters.map(({ server }) => [server, server.save()] as const)
    return () => {
      for (const [server, state] of states) server.restore(state)
    }
  }

  /** Returns the connections of a replica. */
  connectionsOf(replica: Replica): Pick<StartOptions, 'cluster' | 'transport' | 'transports' | 'connect'> {
    const { account } = this.#options
    const others = [...this.#others].map(([name, cluster]) => [name, this.#connect(replica, cluster, name)] as const)
    return {
      // A server on this machine may call webhooks in this process.
      ...(account && { cluster: { server: 'https://localhost', namespace: account.namespace } }),
      transport: this.#connect(replica, this.main, null),
      transports: Object.fromEntries(others),
      connect: (name) => this.#connect(replica, this.#other(name), name),
    }
  }

  /** Throws if a cache is not synced because the server does not serve its kind, or refuses to list it. */
  async refuseUnsynced(running: readonly Replica[]): Promise<void> {
    const { description } = this.#options
    const [missing, refused] = [new Set<string>(), new Set<string>()]
    const check = async (cluster: OtherCluster | undefined, resource: AnyResource, namespace?: string) => {
      const { api } = new Cluster({ name: 'test', transport: this.of(cluster).operator })
      const where = cluster ? ` in the cluster "${cluster.name}"` : ''
      await api.listPage({ resource, namespace }, { limit: 1 }).catch((error: unknown) => {
        const found = isReason(error, 'Forbidden') ? refused : missing
        found.add(`${groupResourceOf(resource)}${where} (${messageOf(error)})`)
      })
    }
    for (const { parts } of running) {
      if (!parts) continue
      for (const cluster of [undefined, ...description.clusters]) {
        // The operator starts without a kind that is optional by itself.
        const mayMiss = statedOptionalIn(description, cluster)
        const { cache } = cluster ? parts.clusterOf(cluster) : parts.cluster
        for (const { isSynced, resource, namespace } of cache.informers()) {
          if (!isSynced && !mayMiss(resource)) await check(cluster, resource, namespace)
        }
      }
      for (const { own, member } of this.#members(parts)) {
        const mayMiss = statedOptionalIn(own, member)
        for (const resource of watchedResources(own, member)) {
          const places = mayMiss(resource) ? [] : placesIn(own, member)(resource)
          for (const namespace of places) await check(member, resource, namespace)
        }
      }
    }
    const cannot = 'Cannot settle: nothing is reconciled before all caches are synced, and'
    if (refused.size > 0) throw new Error(`${cannot} the operator may not list ${[...refused].join(', ')}`)
    if (missing.size === 0) return
    const remedy = 'add their CustomResourceDefinitions: world(app, { objects: [definition] })'
    throw new Error(`${cannot} the world does not serve ${[...missing].join(', ')}; ${remedy}`)
  }

  /** Returns the clusters that providers have added and a replica works in, with what the operator does there. */
  #members({ controllers }: Parts) {
    const { description } = this.#options
    return description.groups.flatMap((group) =>
      [...this.#others.keys()].map((name) => {
        const member = memberCluster(group, name)
        return { member, own: memberOf(description, group, member) }
      })
    ).filter(({ own }) => own.controllers.some((each) => controllers.has(controllerTitle(each))))
  }

  #connect(replica: Replica, { operator }: WorldCluster, name: string | null): Transport {
    const { activity, faults, recorder, trace } = this.#options
    // Faults are outside of the count: a delayed request is not open.
    const connection = replica.receiving(faults.around(replica.sending(activity.counting(operator)), name), name)
    const traced = trace.around(connection, replica.number, name)
    return recorder?.around(traced, name) ?? traced
  }

  #other(name: string): WorldCluster {
    let cluster = this.#others.get(name)
    if (!cluster) {
      cluster = this.#create(name)
      this.#startLoops(cluster)
      this.#others.set(name, cluster)
    }
    return cluster
  }

  #create(name: string | undefined): WorldCluster {
    const { clock, log, random, callWebhook, account, activity, record } = this.#options
    const { simulation } = this.#options
    const { podLog } = simulation ?? {}
    const server = new ApiServer({
      ...{ clock, random, callWebhook, endlessWatches: true, keepsStated: () => !this.#isOpen },
      ...(podLog && { podLog }),
    })
    if (record) restore(server, record, name ?? null, { collects: true })
    const { handle } = server
    const workloads = simulation?.workloads({ transport: activity.counting(handle), clock, log })
    const options = { transport: handle, name: 'test', fieldValidation: 'Strict', freeze: true, clock, random } as const
    const admin = new Cluster(options)
    return { server, workloads, handle, admin, operator: account ? withAccount(handle, admin, account, name) : handle }
  }

  #startLoops({ handle, workloads }: WorldCluster): void {
    const { activity, clock, log, random, signal } = this.#options
    const collector = new GarbageCollector({ transport: activity.counting(handle), clock, log, random })
    activity.run((watch) => {
      watch({ idle: () => collector.idle, busyWith: () => ['the garbage collector collects dependents'] })
      return collector.start(signal)
    })
    if (!workloads) return
    activity.run((watch) => {
      const busyWith = (): string[] => workloads.busy.map(({ name }) => `the controller "${name}" of the cluster works`)
      watch({ idle: () => !workloads.loads && workloads.busy.length === 0, busyWith, loads: () => workloads.loads })
      return workloads.start(signal)
    })
  }
}
