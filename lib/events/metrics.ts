/** The metric of dropped events; client-go has none for them. */
import type { Meter, MetricDefinition } from '../observe/metrics.ts'
import { DROP_CAUSES, type DropCause } from './event_state.ts'

const DROPPED: MetricDefinition<'cause'> = {
  name: 'kubeloop_events_dropped_total',
  help: 'Recorded events that were not written, by cause',
  labels: ['cause'],
}

/** Creates the metrics of events. */
export interface EventMeter {
  droppedEvents(): (cause: DropCause, count: number) => void
}

export function dropCounter(meter: Meter): ReturnType<EventMeter['droppedEvents']> {
  const dropped = meter.counter(DROPPED)
  const series = new Map(Object.keys(DROP_CAUSES).map((cause) => [cause, dropped.with({ cause })]))
  return (cause, count) => series.get(cause)?.inc(count)
}
