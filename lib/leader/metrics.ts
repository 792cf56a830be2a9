/** What is measured of an election, by the Lease's name, as client-go names it. */
import type { Counter, Gauge, Meter, MetricDefinition } from '../observe/metrics.ts'

const MASTER_STATUS: MetricDefinition<'name'> = {
  name: 'leader_election_master_status',
  help: 'Whether this process holds the lease: 1 if it does, 0 if it does not',
  labels: ['name'],
}

const SLOWPATH: MetricDefinition<'name'> = {
  name: 'leader_election_slowpath_total',
  help: 'How often a holder had to read its lease before it could renew it',
  labels: ['name'],
}

/** Where elections are measured. */
export interface ElectionMeter {
  /** The series of one Lease. */
  election(lease: string): ElectionMetrics
}

/** The metrics of one election. */
export interface ElectionMetrics {
  readonly status: Gauge
  readonly slowpath: Counter
}

export function electionMetrics(meter: Meter, name: string): ElectionMetrics {
  return { status: meter.gauge(MASTER_STATUS).with({ name }), slowpath: meter.counter(SLOWPATH).with({ name }) }
}
