/** Makes the clients, the log and the sleep of one piece of work. Imports no client, as files beside mod.js use it. */
import { type Duration, toMs } from '../core/duration.ts'
import type { Fence } from '../core/fence.ts'
import { type Clock, sleep } from '../async/clock.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { type Log, withFields } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { KubeClient } from '../client/kube_client.ts'
import type { Cluster } from '../manager/cluster.ts'
import type { Clusters } from './clusters.ts'
import type { OtherCluster, WorkContext } from './description/context.ts'

/** Returns the client of a cluster; undefined is the operator's own. */
export type Clients = (cluster?: OtherCluster) => KubeClient

/** A controller or task, for its writes: its title if there are several, and its own field manager. */
export interface Writer {
  readonly name: string | undefined
  readonly fieldManager?: string | undefined
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

/** Returns the context of one piece of work. `calls`: its signal aborts their calls. Default: that of the work. */
export function workOf(
  { clusters: { ownNamespace }, clock, log }: PartEnvironment & { readonly clusters: Clusters },
  clients: Clients,
  work: { readonly signal: AbortSignal },
  calls: { readonly signal: AbortSignal } = work,
): WorkContext {
  return { signal: work.signal, log, clock, ownNamespace, sleep: sleepOn(clock, work), ...boundTo(clients, calls) }
}

/** Returns the `sleep` of a context. It reads the signal when it is called, as few contexts need one. */
export function sleepOn(clock: Clock, work: { readonly signal: AbortSignal }): (duration: Duration) => Promise<void> {
  return async (duration) => await sleep(clock, toMs(duration), work.signal)
}
