/** What an operator answers to those who watch it: probes, metrics and profiles, each where it was told to listen. */
import { fileMissing, messageOf } from '../core/errors.ts'
import { groupResourceOf } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { LabelValues, Meter, MetricDefinition } from '../observe/metrics.ts'
import type { PrometheusMeter } from '../observe/prometheus.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { cachesSynced, leaderHealthy, ping } from '../manager/servers/checks.ts'
import { HealthServer } from '../manager/servers/health.ts'
import type { Manager } from '../manager/manager.ts'
import { MetricsServer } from '../manager/servers/metrics_server.ts'
import type { PartMeter } from '../manager/part_meter.ts'
import { profilingServer } from '../manager/servers/profiling_server.ts'
import type { Clusters } from './clusters.ts'
import type { OperatorOptions } from './description.ts'

/** What an operator measures with, and what it serves of it. */
export type OperatorMeter = PrometheusMeter & PartMeter

/**
 * Undefined where metrics are off: then neither what measures nor prom-client is loaded.
 *
 * @throws ConfigError if either cannot be loaded.
 */
export async function meterOf({ metrics }: OperatorOptions): Promise<OperatorMeter | undefined> {
  if (metrics === undefined) return undefined
  const { prometheusMeter } = await import('../manager/metrics.ts').catch(
    fileMissing('Cannot serve metrics', 'metrics.js'),
  )
  return await prometheusMeter(typeof metrics === 'object' ? metrics.registry : undefined)
}

/** Warns of what would end the start of an operator whose metrics are served, where they are not: in development and in tests. */
export function checkMeter(options: OperatorOptions, log: Log): void {
  meterOf(options).catch((error: unknown) =>
    log.warn(`${messageOf(error)}; without it the operator does not start where its metrics are served`)
  )
}

export interface EndpointSetup {
  readonly manager: Manager
  readonly clusters: Clusters
  readonly elector: LeaderElector | undefined
  readonly meter: OperatorMeter | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface Endpoints {
  readonly health: HealthServer | undefined
  readonly metrics: MetricsServer | undefined
}

/** Makes the servers and hands them to the manager; they listen when it starts. */
export function addEndpoints({ health, metrics, profiling }: OperatorOptions, setup: EndpointSetup): Endpoints {
  const { manager, meter, clock, log } = setup
  const made: Endpoints = {
    health: health === undefined ? undefined : healthServer(health, setup),
    metrics: metrics === undefined || !meter ? undefined : metricsServer(metrics, meter, setup),
  }
  for (const server of [made.health, made.metrics]) if (server) manager.add(server)
  if (meter) manager.add(syncedGauge(meter, setup.clusters))
  if (profiling !== undefined) manager.add(profilingServer({ address: profiling, clock, log }))
  return made
}

const SYNCED: MetricDefinition<'cluster' | 'resource' | 'namespace'> = {
  name: 'kubeloop_cache_synced',
  help: 'Whether what is watched is in sync: 1, or 0 without its first list or while its watch fails',
  labels: ['cluster', 'resource', 'namespace'],
}

/** What is optional and missing holds neither the start nor readiness: an alert sees it here. Labels are empty for the operator's own cluster and all namespaces. */
function syncedGauge(meter: Meter, { main, others }: Clusters): Runnable {
  return {
    name: 'metrics of the caches',
    role: 'server',
    async start(signal) {
      const series = meter.gauge(SYNCED)
      const told: LabelValues<'cluster' | 'resource' | 'namespace'>[] = []
      const clear = (): void => told.splice(0).forEach((labels) => series.remove(labels))
      const end = meter.onScrape(() => {
        clear()
        for (const [other, { cache }] of [[undefined, main] as const, ...others]) {
          for (const { resource, namespace = '', isSynced, failure } of cache.informers()) {
            const labels = { cluster: other?.name ?? '', resource: groupResourceOf(resource), namespace }
            told.push(labels)
            series.with(labels).set(Number(isSynced && failure === undefined))
          }
        }
      })
      await aborted(signal)
      end()
      clear()
    },
  }
}

function healthServer(address: number | string, { clusters, elector, clock, log }: EndpointSetup): HealthServer {
  const server = new HealthServer({ address, clock, log })
  server.addLiveness('ping', ping)
  if (elector) server.addLiveness('leader', leaderHealthy(elector))
  server.addReadiness('caches-synced', cachesSynced(clusters.all.map(({ cache }) => cache)))
  return server
}

/** With a registry and no address, somebody else serves it. */
function metricsServer(
  metrics: NonNullable<OperatorOptions['metrics']>,
  meter: PrometheusMeter,
  { clock, log }: EndpointSetup,
): MetricsServer | undefined {
  const address = typeof metrics === 'object' ? metrics.address : metrics
  return address === undefined ? undefined : new MetricsServer({ address, registry: meter.registry, clock, log })
}
