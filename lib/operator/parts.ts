/** What one start of an operator is made of, as its extensions see it. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Meter } from '../observe/metrics.ts'
import type { Cluster } from '../manager/cluster.ts'
import type { HealthServer } from '../manager/health.ts'
import type { Manager } from '../manager/manager.ts'
import type { MetricsServer } from '../manager/metrics_server.ts'
import type { Controller } from '../controller/controller.ts'
import type { OtherCluster } from './context.ts'

export interface Parts {
  /** Runs what is added to it, before the start or at any time while it runs; `manager.fence` is for clients of what only the leader does. */
  readonly manager: Manager
  /** The operator's own cluster. */
  readonly cluster: Cluster
  /** Another cluster of the operator. */
  clusterOf(cluster: OtherCluster): Cluster
  /** By name. `watch` adds a source to one, also while it runs, until a signal of yours is aborted. */
  readonly controllers: ReadonlyMap<string, Controller>
  /** Takes checks before the start. Absent where `health` is not set. */
  readonly health: HealthServer | undefined
  /** Takes handlers before the start. Absent where `metrics` is not set. */
  readonly metrics: MetricsServer | undefined
  /** Where the operator measures. Absent where nobody does. */
  readonly meter: Meter | undefined
  readonly clock: Clock
  readonly log: Log
}
