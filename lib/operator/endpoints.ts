/** Adds the servers for monitoring an operator: probes, metrics and profiles. */
import { loadPart } from '../core/optional_parts.ts'
import { aborted } from '../async/abort.ts'
import type { Cache } from '../cache/cache.ts'
import type { PrometheusMeter } from '../observe/prometheus.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { cachesSynced, type HealthServer, healthServer, leaderHealthy, ping } from '../manager/servers/health.ts'
import type { Manager } from '../manager/manager.ts'
import { type MetricsServer, metricsServer } from '../manager/servers/metrics_server.ts'
import type { PartMeter } from '../manager/metrics.ts'
import { type Fetch, type Listen, type ListenOptions, type Server } from '../manager/servers/server.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import type { Clusters } from './clusters.ts'
import type { MetricsOptions, OperatorOptions } from './description/options.ts'

export type OperatorMeter = PrometheusMeter & PartMeter

export interface EndpointSetup extends PartEnvironment {
  /** The class of mod.js. */
  readonly Server: typeof Server
  readonly manager: Manager
  readonly clusters: Clusters
  readonly elector: LeaderElector | undefined
  /** The kinds that the operator converts, as `plural.group`. */
  readonly converted: ReadonlySet<string>
  readonly meter: OperatorMeter | undefined
}

export interface Endpoints {
  readonly health: HealthServer | undefined
  readonly metrics: MetricsServer | undefined
}

/** Makes the servers and adds them to the manager; they listen when it starts. */
export function addEndpoints({ health, metrics, profiling }: OperatorOptions, setup: EndpointSetup): Endpoints {
  const { manager, meter, clock, log, Server } = setup
  const made: Endpoints = {
    health: health === undefined ? undefined : addHealth(health, setup),
    metrics: metrics === undefined || !meter ? undefined : metricsOf(metrics, meter, setup),
  }
  for (const server of [made.health, made.metrics]) if (server) manager.add(server)
  if (meter) addCacheMetrics(meter, setup)
  if (profiling !== undefined) manager.add(profilingServer(Server, { address: profiling, clock, log }))
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

function addHealth(address: number | string, setup: EndpointSetup): HealthServer {
  const { clusters, elector, converted, clock, log, Server } = setup
  const server = healthServer(Server, { address, clock, log })
  server.addLiveness('ping', ping)
  if (elector) server.addLiveness('leader', leaderHealthy(elector))
  const others = [...clusters.others.values()].map(({ cache }) => cache)
  server.addReadiness('caches-synced', cachesSynced([clusters.main.cache], converted, others))
  return server
}

/** Returns undefined for a registry without an address: the user's own code serves it. */
function metricsOf(
  metrics: NonNullable<OperatorOptions['metrics']>,
  meter: OperatorMeter,
  { clusters, clock, log, Server }: EndpointSetup,
): MetricsServer | undefined {
  const { address, tls, auth }: MetricsOptions = typeof metrics === 'object' ? metrics : { address: metrics }
  if (address === undefined) return undefined
  const certs = typeof tls === 'object' ? tls.certs : undefined
  const secure = { certs, api: auth ? clusters.main.api : undefined, clock, log, meter }
  const listen: Listen = async (...of) => {
    const { serveSecurely } = await loadPart(
      'secure-metrics',
      () => import('../manager/servers/secure_metrics.ts'),
      'serve metrics over TLS',
      'metrics_over_tls.js',
    )
    return await serveSecurely(secure, ...of)
  }
  const options = { address, registry: meter.registry, clock, log, ...(tls && { listen }) }
  return metricsServer(Server, options)
}

/** Returns a server that loads `profilingHandler` when asked. Keep it on loopback: its clients can read the memory. */
export function profilingServer(Class: typeof Server, options: ListenOptions = {}): Server {
  let handler: Promise<Fetch> | undefined
  const load = async (): Promise<Fetch> => {
    const { profilingHandler } = await loadPart(
      'profiling',
      () => import('../manager/servers/profiling.ts'),
      'profile',
      'profiles.js',
    )
    return profilingHandler(options)
  }
  // One handler for all requests, as it refuses a second recording at the same time.
  const fetch: Fetch = async (request) => (await (handler ??= load()))(request)
  return new Class({ ...options, name: 'profiling', fetch, maxBodyBytes: 0 })
}
