/** What one start of an operator is made of, as its extensions see it. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Meter } from '../observe/metrics.ts'
import type { Cluster } from '../manager/cluster.ts'
import type { HealthServer } from '../manager/servers/health.ts'
import type { Manager } from '../manager/manager.ts'
import type { MetricsServer } from '../manager/servers/metrics_server.ts'
import type { PartMeter } from '../manager/part_meter.ts'
import type { Controller } from '../controller/controller.ts'
import type { OtherCluster } from './context.ts'

/**
 * A cluster of one start. Writes by its `client` and `api` are fenced by `manager.fence`: with leader election they are rejected
 * before the lease is won and after it is lost; without, they end with the grace period.
 */
export interface ClusterParts
  extends Pick<Cluster, 'name' | 'config' | 'api' | 'client' | 'cache' | 'kinds' | 'recorder'> {
  /** The cluster itself, for what every replica does: its `client`, `api` and `transport` write without a fence. */
  readonly unfenced: Cluster
}

/** The parts that a started operator is assembled from. */
export interface Parts {
  /** Runs what is added to it, before the start or at any time while it runs. `manager.fence` is for other clients of the leader's. */
  readonly manager: Manager
  /** The operator's own cluster. */
  readonly cluster: ClusterParts
  /** Another cluster of the operator. */
  clusterOf(cluster: OtherCluster): ClusterParts
  /** By name. `watch` adds a source to one, also while it runs, until a signal of yours is aborted. */
  readonly controllers: ReadonlyMap<string, Controller>
  /** Takes checks before the start. Absent where `health` is not set. */
  readonly health: HealthServer | undefined
  /** Takes handlers before the start. Absent where `metrics` is not set. */
  readonly metrics: MetricsServer | undefined
  /** Where the operator measures. Absent where nobody does. */
  readonly meter: (Meter & PartMeter) | undefined
  readonly clock: Clock
  readonly log: Log
}
