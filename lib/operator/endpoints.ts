/** Adds the servers for monitoring an operator: probes, metrics and profiles. */
import { fileMissing, messageOf } from '../core/errors.ts'
import { aborted } from '../async/abort.ts'
import type { Cache } from '../cache/cache.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { PrometheusMeter } from '../observe/prometheus.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { cachesSynced, HealthServer, leaderHealthy, ping } from '../manager/servers/health.ts'
import type { Manager } from '../manager/manager.ts'
import { MetricsServer } from '../manager/servers/metrics_server.ts'
import type { PartMeter } from '../manager/metrics.ts'
import { type Fetch, type Listen, type ListenOptions, Server } from '../manager/servers/server.ts'
import type { Clusters } from './clusters.ts'
import type { MetricsOptions, OperatorOptions } from './description.ts'

/** The meter of an operator, with its registry. */
export type OperatorMeter = PrometheusMeter & PartMeter

/**
 * Returns undefined if metrics are off; then neither the metrics nor prom-client are loaded.
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

/** Warns in development and in tests, where metrics are not served, if the operator could not serve them elsewhere. */
export function checkMeter(options: OperatorOptions, log: Log): void {
  meterOf(options).catch((error: unknown) =>
    log.warn(`${messageOf(error)}; without it the operator does not start where its metrics are served`)
  )
}

export interface EndpointSetup {
  readonly manager: Manager
  readonly clusters: Clusters
  readonly elector: LeaderElector | undefined
  /** The kinds that the operator converts, as `plural.group`. */
  readonly converted: ReadonlySet<string>
  readonly meter: OperatorMeter | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface Endpoints {
  readonly health: HealthServer | undefined
  readonly metrics: MetricsServer | undefined
}

/** Makes the servers and adds them to the manager; they listen when it starts. */
export function addEndpoints({ health, metrics, profiling }: OperatorOptions, setup: EndpointSetup): Endpoints {
  const { manager, meter, clock, log } = setup
  const made: Endpoints = {
    health: health === undefined ? undefined : healthServer(health, setup),
    metrics: metrics === undefined || !meter ? undefined : metricsServer(metrics, meter, setup),
  }
  for (const server of [made.health, made.metrics]) if (server) manager.add(server)
  if (meter) addCacheMetrics(meter, setup)
  if (profiling !== undefined) manager.add(profilingServer({ address: profiling, clock, log }))
  return made
}

function addCacheMetrics(meter: OperatorMeter, { manager, clusters: { main, others } }: EndpointSetup): void {
  const start = async (signal: AbortSignal): Promise<void> => {
    const caches = function* (): Generator<readonly [string, Cache]> {
      yield ['', main.cache]
      for (const [{ name }, { cache }] of others) yield [name, cache]
    }
    const end = meter.caches({ [Symbol.iterator]: caches })
    await aborted(signal)
    end()
  }
  manager.add({ name: 'metrics of the caches', role: 'server', start })
}

function healthServer(address: number | string, setup: EndpointSetup): HealthServer {
  const { clusters, elector, converted, clock, log } = setup
  const server = new HealthServer({ address, clock, log })
  server.addLiveness('ping', ping)
  if (elector) server.addLiveness('leader', leaderHealthy(elector))
  const others = [...clusters.others.values()].map(({ cache }) => cache)
  server.addReadiness('caches-synced', cachesSynced([clusters.main.cache], converted, others))
  return server
}

/** Returns undefined for a registry without an address: the user's own code serves it. */
function metricsServer(
  metrics: NonNullable<OperatorOptions['metrics']>,
  meter: OperatorMeter,
  { clusters, clock, log }: EndpointSetup,
): MetricsServer | undefined {
  const { address, tls, auth }: MetricsOptions = typeof metrics === 'object' ? metrics : { address: metrics }
  if (address === undefined) return undefined
  const certs = typeof tls === 'object' ? tls.certs : undefined
  const secure = { certs, api: auth ? clusters.main.api : undefined, clock, log, meter }
  const listen: Listen = async (...of) => {
    const { serveSecurely } = await import('../manager/servers/secure_metrics.ts').catch(
      fileMissing('Cannot serve metrics over TLS', 'secure_metrics.js'),
    )
    return await serveSecurely(secure, ...of)
  }
  const options = { address, registry: meter.registry, clock, log, ...(tls && { listen }) }
  return new MetricsServer(options)
}

/**
 * Returns a server that loads `profilingHandler` at the first request. Keep it on loopback: its clients can read the
 * memory.
 */
export function profilingServer(options: ListenOptions = {}): Server {
  let handler: Promise<Fetch> | undefined
  const load = async (): Promise<Fetch> => {
    const { profilingHandler } = await import('../manager/servers/profiling.ts').catch(
      fileMissing('Cannot profile', 'profiling.js'),
    )
    return profilingHandler(options)
  }
  // One handler for all requests, as it refuses a second recording at the same time.
  return new Server({ ...options, name: 'profiling', fetch: async (request) => (await (handler ??= load()))(request) })
}
