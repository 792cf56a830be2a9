/** What is measured of events: those that nobody will see. client-go has no metric of its own for them. */
import type { Meter, MetricDefinition } from '../observe/metrics.ts'
import { DROP_CAUSES, type DropCause } from './event_state.ts'

const DROPPED: MetricDefinition<'cause'> = {
  name: 'kubeloop_events_dropped_total',
  help: 'Events that were recorded and not written, by cause',
  labels: ['cause'],
}

/** Where lost events are counted. */
export interface EventMeter {
  /** Returns what counts them. */
  droppedEvents(): (cause: DropCause, count: number) => void
}

export function dropCounter(meter: Meter): ReturnType<EventMeter['droppedEvents']> {
  const dropped = meter.counter(DROPPED)
  const series = new Map(DROP_CAUSES.map((cause) => [cause, dropped.with({ cause })]))
  return (cause, count) => series.get(cause)?.inc(count)
}
