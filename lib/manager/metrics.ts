/**
 * `kubeloop/metrics`: metrics in a prom-client registry, for operators with `metrics` and for single parts.
 *
 * @module
 */
import { providePart } from '../core/optional_parts.ts'
import { groupResourceOf } from '../core/resource.ts'
import type { LabelValues, Meter, MetricDefinition } from '../observe/metrics.ts'
import { type PrometheusMeter, prometheusMeter as meterIn, type PrometheusRegistry } from '../observe/prometheus.ts'
import { residentMemory, thisRuntime } from '../runtime/os/this_runtime.ts'
import { queueMetrics } from '../queue/metrics.ts'
import { countingRequests, type RequestMeter } from '../client/metrics.ts'
import type { Cache } from '../cache/cache.ts'
import { dropCounter, type EventMeter } from '../events/metrics.ts'
import { type ControllerMeter, controllerMetrics } from '../controller/metrics.ts'
import { type ElectionMeter, electionMetrics } from '../leader/metrics.ts'
import { certificateMetrics, type WebhookMeter, webhookMetrics } from '../webhook/common/metrics.ts'

/** The `meter` of a Cluster, a Controller, a WorkQueue, a LeaderElector, an EventRecorder and a webhook server. */
export interface PartMeter
  extends CacheMeter, ControllerMeter, ElectionMeter, EventMeter, RequestMeter, TaskMeter, WebhookMeter {}

/** Creates the metrics of tasks and schedules. */
export interface TaskMeter {
  /** Returns functions that count the failed calls of a task, and the skipped times of a schedule. */
  task(task: string, isSchedule: boolean): { failed(): void; skipped(): void }
}

/** Reports whether caches are in sync. */
export interface CacheMeter {
  /**
   * Sets `kubeloop_cache_synced` at each scrape, for each informer of the caches. Returns a function that ends this and
   * removes the series.
   *
   * @param caches The caches by the names of their clusters, which become labels.
   */
  caches(caches: Iterable<readonly [string, Cache]>): () => void
}

/**
 * Returns the metrics of the parts in a meter, with the names, labels and buckets of controller-runtime and client-go,
 * so that their dashboards and alerts work.
 */
export function partMeter(meter: Meter): PartMeter {
  return {
    queue: (...of) => queueMetrics(meter, ...of),
    controller: (...of) => controllerMetrics(meter, ...of),
    election: (lease) => electionMetrics(meter, lease),
    droppedEvents: () => dropCounter(meter),
    requests: (...of) => countingRequests(meter, ...of),
    webhooks: () => webhookMetrics(meter),
    task: (...of) => taskMetrics(meter, ...of),
    certificates: (server) => certificateMetrics(meter, server),
    caches: (caches) => syncedGauge(meter, caches),
  }
}

const FAILURES: MetricDefinition<'task'> = {
  name: 'kubeloop_task_failures_total',
  help: 'Number of calls of a task or a schedule that threw',
  labels: ['task'],
}

const SKIPPED: MetricDefinition<'task'> = {
  name: 'kubeloop_schedule_skipped_total',
  help: 'Number of times of a schedule that were skipped, as its last run had not ended',
  labels: ['task'],
}

function taskMetrics(meter: Meter, task: string, isSchedule: boolean): ReturnType<TaskMeter['task']> {
  const failures = meter.counter(FAILURES).with({ task })
  const skips = isSchedule ? meter.counter(SKIPPED).with({ task }) : undefined
  return { failed: () => failures.inc(), skipped: () => skips?.inc() }
}

const SYNCED: MetricDefinition<'cluster' | 'resource' | 'namespace'> = {
  name: 'kubeloop_cache_synced',
  help: 'Whether an informer is in sync (1), or has no first list or a failing watch (0).',
  labels: ['cluster', 'resource', 'namespace'],
}

/** For alerts: a missing optional kind affects neither start nor readiness. An empty label is all namespaces. */
function syncedGauge(meter: Meter, caches: Iterable<readonly [string, Cache]>): () => void {
  const series = meter.gauge(SYNCED)
  const reported: LabelValues<'cluster' | 'resource' | 'namespace'>[] = []
  const clear = (): void => reported.splice(0).forEach((labels) => series.remove(labels))
  const end = meter.onScrape(() => {
    clear()
    for (const [cluster, cache] of caches) {
      for (const { resource, namespace = '', isSynced, failure } of cache.informers()) {
        const labels = { cluster, resource: groupResourceOf(resource), namespace }
        reported.push(labels)
        series.with(labels).set(Number(isSynced && failure === undefined))
      }
    }
  })
  return () => {
    end()
    clear()
  }
}

/**
 * Returns a meter that keeps its metrics in a registry of prom-client: the given one, or a new one. What its `registry`
 * writes also has prom-client's metrics of the process. prom-client's global registry is used only if it is given. A
 * metric that the registry has under one of our names is reused.
 *
 * @throws ConfigError if prom-client is needed and cannot be loaded.
 *
 * @example
 * ```ts
 * import { Cluster, loadConfig } from 'kubeloop'
 * import { prometheusMeter } from 'kubeloop/metrics'
 * import { register } from 'prom-client'
 * const meter = await prometheusMeter(register)
 * const cluster = new Cluster({ name: 'watcher', config: (await loadConfig()).cluster, meter })
 * ```
 */
export async function prometheusMeter(registry?: PrometheusRegistry): Promise<PrometheusMeter & PartMeter> {
  // prom-client reads a file, for which Deno needs a permission.
  const meter = await meterIn(registry, thisRuntime().name === 'deno' ? residentMemory : undefined)
  return { ...meter, ...partMeter(meter) }
}

// As this module is in the bundle of an operator that imports it.
providePart('metrics', () => Promise.resolve({ prometheusMeter }))

// Types that those above mention
export type {
  Counter,
  Gauge,
  Histogram,
  HistogramDefinition,
  LabelValues,
  Meter,
  MetricDefinition,
  Series,
} from '../observe/metrics.ts'
export type { PrometheusRegistry } from '../observe/prometheus.ts'
export type { PrometheusMeter } from '../observe/prometheus.ts'
export type { RequestMeter } from '../client/metrics.ts'
export type { EventMeter } from '../events/metrics.ts'
export type { DropCause } from '../events/event_state.ts'
export type { ControllerMeter, ControllerMetrics } from '../controller/metrics.ts'
export type { ElectionMeter, ElectionMetrics } from '../leader/metrics.ts'
export type {
  CertificateMeter,
  CertificateMetrics,
  PathMetrics,
  WebhookMeter,
  WebhookMetrics,
} from '../webhook/common/metrics.ts'
export type { MeasuredQueue, QueueMeter, QueueMetrics } from '../queue/metrics.ts'
