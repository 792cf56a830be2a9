/** What the parts measure, all of it: loaded where metrics are on, as the built package has it in a file of its own. */
import type { Meter } from '../observe/metrics.ts'
import { queueMetrics } from '../queue/metrics.ts'
import { countingRequests, type RequestMeter } from '../client/metrics.ts'
import { dropCounter, type EventMeter } from '../events/metrics.ts'
import { type ControllerMeter, controllerMetrics } from '../controller/metrics.ts'
import { type ElectionMeter, electionMetrics } from '../leader/metrics.ts'

/** The `meter` of a Cluster, a Controller, a WorkQueue, a LeaderElector and an EventRecorder. */
export interface PartMeter extends ControllerMeter, ElectionMeter, EventMeter, RequestMeter {}

/**
 * Returns what measures the parts in a meter, under the names, labels and buckets of controller-runtime and client-go, so that
 * their dashboards and alerts work.
 */
export function partMeter(meter: Meter): PartMeter {
  return {
    queue: (...of) => queueMetrics(meter, ...of),
    controller: (...of) => controllerMetrics(meter, ...of),
    election: (lease) => electionMetrics(meter, lease),
    droppedEvents: () => dropCounter(meter),
    requests: (...of) => countingRequests(meter, ...of),
  }
}
