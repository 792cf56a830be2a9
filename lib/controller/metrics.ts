/** What a controller measures, under controller-runtime's names, labels and buckets, so that its dashboards work. */
import type { HistogramDefinition, Meter, MetricDefinition } from '../observe/metrics.ts'
import { OwnSeries } from '../observe/own_series.ts'
import type { QueueMeter } from '../queue/metrics.ts'
import type { Disposition } from './result.ts'

/** Where controllers are measured, and their queues. */
export interface ControllerMeter extends QueueMeter {
  /**
   * Makes the series of one controller, all at 0.
   * Throws when another one of this name measures here: the two could not be told apart.
   */
  controller(controller: string, concurrency: number): ControllerMetrics
}

/** The metrics of one controller. */
export interface ControllerMetrics {
  /** A worker has begun a run. */
  begin(): void
  /** The run is over. */
  end(decided: Disposition, run: { readonly timedOut?: boolean | undefined }, durationMs: number): void
  /** Takes all series out; the name is free again. */
  remove(): void
}

export function controllerMetrics(meter: Meter, controller: string, concurrency: number): ControllerMetrics {
  const names = inUse.get(meter) ?? new Set()
  if (names.has(controller)) {
    throw new Error(`Cannot start controller "${controller}": another one of this name runs, and its metrics would mix`)
  }
  inUse.set(meter, names.add(controller))

  const runs = meter.counter(TOTAL)
  const [success, requeueAfter, error, requeue] = RESULTS.map((result) => runs.with({ controller, result }))
  const series = new OwnSeries(meter, { controller })
  const errors = series.counter(ERRORS)
  const terminal = series.counter(TERMINAL_ERRORS)
  const timeouts = series.counter(TIMEOUTS)
  series.counter(PANICS)
  const time = series.histogram(TIME)
  const active = series.gauge(ACTIVE)
  series.gauge(MOST).set(concurrency)

  return {
    begin: () => active.inc(),
    end(decided, { timedOut }, durationMs) {
      active.dec()
      time.observe(durationMs / 1000)
      if (timedOut) timeouts.inc()
      switch (decided.kind) {
        case 'forget':
          return success!.inc()
        case 'later':
          return requeueAfter!.inc()
        case 'requeue':
          return requeue!.inc()
        case 'drop':
          terminal.inc()
      }
      errors.inc()
      error!.inc()
    },
    remove() {
      series.remove()
      for (const result of RESULTS) runs.remove({ controller, result })
      names.delete(controller)
    },
  }
}

/** The names that are measured, by where. */
const inUse = new WeakMap<Meter, Set<string>>()

const RESULTS = ['success', 'requeue_after', 'error', 'requeue'] as const
const LABELS = ['controller'] as const
type Label = (typeof LABELS)[number]

const TOTAL: MetricDefinition<Label | 'result'> = {
  name: 'controller_runtime_reconcile_total',
  help: 'Runs of a reconcile, by controller and result',
  labels: ['controller', 'result'],
}
const ERRORS: MetricDefinition<Label> = {
  name: 'controller_runtime_reconcile_errors_total',
  help: 'Runs that threw',
  labels: LABELS,
}
const TERMINAL_ERRORS: MetricDefinition<Label> = {
  name: 'controller_runtime_terminal_reconcile_errors_total',
  help: 'Runs that threw a TerminalError, and are not tried again',
  labels: LABELS,
}
const PANICS: MetricDefinition<Label> = {
  name: 'controller_runtime_reconcile_panics_total',
  help: 'Always 0: whatever a reconcile throws in JavaScript is an error, and counted as one',
  labels: LABELS,
}
const TIMEOUTS: MetricDefinition<Label> = {
  name: 'controller_runtime_reconcile_timeouts_total',
  help: 'Runs that took longer than the controller allows',
  labels: LABELS,
}
const MOST: MetricDefinition<Label> = {
  name: 'controller_runtime_max_concurrent_reconciles',
  help: 'How many keys are worked on at once at most',
  labels: LABELS,
}
const ACTIVE: MetricDefinition<Label> = {
  name: 'controller_runtime_active_workers',
  help: 'How many keys are in work',
  labels: LABELS,
}
const TIME: HistogramDefinition<Label> = {
  name: 'controller_runtime_reconcile_time_seconds',
  help: 'How long a run of a reconcile took',
  labels: LABELS,
  buckets: [
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.25,
    1.5,
    1.75,
    2,
    2.5,
    3,
    3.5,
    4,
    4.5,
    5,
    6,
    7,
    8,
    9,
    10,
    15,
    20,
    25,
    30,
    40,
    50,
    60,
  ],
}
