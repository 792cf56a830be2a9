/** A controller's metrics, with controller-runtime's names, labels and buckets, so that its dashboards work. */
import { type Meter, type MetricDefinition, OwnSeries } from '../observe/metrics.ts'
import type { QueueMeter } from '../queue/metrics.ts'
import type { Disposition } from './result.ts'

/** Makes the metrics of controllers and their queues. */
export interface ControllerMeter extends QueueMeter {
  /**
   * Makes the series of one controller, all at 0.
   *
   * @throws Error if a running controller with this name uses the same meter: their series would mix.
   */
  controller(controller: string, concurrency: number): ControllerMetrics
}

/** The metrics of one controller. */
export interface ControllerMetrics {
  /** Called when a run begins. */
  begin(): void
  end(decided: Disposition, run: { readonly timedOut?: boolean | undefined }, durationMs: number): void
  /** Removes all series; the name can be used again. Later calls do nothing. */
  remove(): void
}

export function controllerMetrics(meter: Meter, controller: string, concurrency: number): ControllerMetrics {
  const store = meter.store ?? meter
  const names = inUse.get(store) ?? new Set()
  if (names.has(controller)) {
    throw new Error(
      `Cannot start controller "${controller}": another controller with this name is running; give it a name of its own, or another registry, or their metrics mix`,
    )
  }
  const runs = meter.counter<Label | 'result'>({
    ...metric('controller_runtime_reconcile_total'),
    labels: ['controller', 'result'],
  })
  const [success, requeueAfter, error, requeue] = RESULTS.map((result) => runs.with({ controller, result }))
  const series = new OwnSeries(meter, { controller })
  const errors = series.counter(metric('controller_runtime_reconcile_errors_total'))
  const terminal = series.counter(metric('controller_runtime_terminal_reconcile_errors_total'))
  const timeouts = series.counter(metric('controller_runtime_reconcile_timeouts_total'))
  series.counter(metric('controller_runtime_reconcile_panics_total'))
  const time = series.histogram({
    ...metric('controller_runtime_reconcile_time_seconds'),
    buckets: [...BELOW_1_S, ...FROM_1_S],
  })
  const active = series.gauge(metric('controller_runtime_active_workers'))
  series.gauge(metric('controller_runtime_max_concurrent_reconciles')).set(concurrency)
  inUse.set(store, names.add(controller))

  let isRemoved = false
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
      if (isRemoved) return
      isRemoved = true
      series.remove()
      for (const result of RESULTS) runs.remove({ controller, result })
      names.delete(controller)
    },
  }
}

/** The names in use, by the store of the meter. */
const inUse = new WeakMap<object, Set<string>>()

const RESULTS = ['success', 'requeue_after', 'error', 'requeue'] as const
const LABELS = ['controller'] as const
type Label = (typeof LABELS)[number]

const HELP = {
  controller_runtime_reconcile_total: 'Number of reconcile runs, by controller and result',
  controller_runtime_reconcile_errors_total: 'Number of reconcile runs that threw',
  controller_runtime_terminal_reconcile_errors_total:
    'Number of reconcile runs that threw a TerminalError and are not retried',
  controller_runtime_reconcile_panics_total: 'Always 0: JavaScript has no panics, all throws count as errors',
  controller_runtime_reconcile_timeouts_total: 'Number of reconcile runs that exceeded the timeout',
  controller_runtime_max_concurrent_reconciles: 'Maximum number of concurrent reconcile runs',
  controller_runtime_active_workers: 'Number of reconcile runs in progress',
  controller_runtime_reconcile_time_seconds: 'Duration of reconcile runs in seconds',
}

function metric(name: keyof typeof HELP): MetricDefinition<Label> {
  return { name, help: HELP[name], labels: LABELS }
}

const BELOW_1_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9]
const FROM_1_S = [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60]
