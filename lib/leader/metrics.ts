/** The metrics of an election. A file of its own: it is loaded only if metrics are on. */
import type { Counter, Gauge, Meter, MetricDefinition } from '../observe/metrics.ts'

const MASTER_STATUS: MetricDefinition<'name'> = {
  name: 'leader_election_master_status',
  help: 'Whether this process holds the lease (1) or not (0).',
  labels: ['name'],
}

const SLOWPATH: MetricDefinition<'name'> = {
  name: 'leader_election_slowpath_total',
  help: 'Number of renewals that had to read the lease first.',
  labels: ['name'],
}

/** Creates the metrics of elections. */
export interface ElectionMeter {
  election(lease: string): ElectionMetrics
}

/** The metrics of one election. */
export interface ElectionMetrics {
  readonly status: Gauge
  readonly slowpath: Counter
}

/** Returns the metrics of one Lease, under client-go's names. */
export function electionMetrics(meter: Meter, name: string): ElectionMetrics {
  return { status: meter.gauge(MASTER_STATUS).with({ name }), slowpath: meter.counter(SLOWPATH).with({ name }) }
}
