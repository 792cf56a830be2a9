/**
 * `kubeloop/metrics`: metrics in a registry of prom-client. An operator whose `metrics` are on loads it; those who assemble
 * parts of their own give it to them.
 *
 * @module
 */
import { type PrometheusMeter, prometheusMeter as meterIn, type PrometheusRegistry } from '../observe/prometheus.ts'
import { type PartMeter, partMeter } from './part_meter.ts'

export { type PartMeter, partMeter } from './part_meter.ts'

/**
 * Returns a meter that keeps its metrics in a registry of prom-client: the one that is given, else one of its own, which also has
 * prom-client's metrics of the process. prom-client's global registry is used only if it is the one given. A metric that is in the
 * registry under one of our names is used as it is.
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
  const meter = await meterIn(registry)
  return { ...meter, ...partMeter(meter) }
}

// Types that those above mention
export type { PrometheusMeter } from '../observe/prometheus.ts'
export type { RequestMeter } from '../client/metrics.ts'
export type { EventMeter } from '../events/metrics.ts'
export type { DropCause } from '../events/event_state.ts'
export type { ControllerMeter, ControllerMetrics } from '../controller/metrics.ts'
export type { ElectionMeter, ElectionMetrics } from '../leader/metrics.ts'
export type { MeasuredQueue, QueueMeter, QueueMetrics } from '../queue/metrics.ts'
