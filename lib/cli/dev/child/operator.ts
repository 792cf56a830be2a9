/** Changes an operator's options under `kubeloop dev`. */
import { type Runnable, Server } from 'kubeloop'
import type { Fetch } from 'kubeloop/parts'
import type { ClusterConfig } from '../../../core/cluster_config.ts'
import { ConfigError } from '../../../core/errors.ts'
import type { Transport } from '../../../core/transport.ts'
import { systemClock } from '../../../async/clock.ts'
import { type Log, silentLog } from '../../../observe/log.ts'
import { optionalEnv } from '../../../runtime/os/env.ts'
import { exitProcess } from '../../../runtime/os/signals.ts'
import { placeLine } from '../../../runtime/os/source_place.ts'
import { writeLine } from '../../../runtime/os/terminal.ts'
import { ownPid } from '../../../runtime/os/this_runtime.ts'
import type { ReconcileReport } from '../../../controller/controller.ts'
import { writeLoops } from '../../../controller/write_loops.ts'
import type { DevOperator, DevStart } from '../../../operator/run/tool_hooks.ts'
import type { OperatorDescription } from '../../../operator/description/description.ts'
import { checkSharding } from '../../../operator/sharding/ring.ts'
import { httpTransport } from '../../../runtime/net/transport.ts'
import { rightsRecorder } from '../../../testing/rights_recorder.ts'
import type { Parts } from '../../../operator/description/context.ts'
import type { StartOptions } from '../../../operator/run/start.ts'
import { ITS_OWN, openSession, pathOfCluster, type Session, type SessionAccount } from '../session.ts'
import { LiveView, reportFields } from './live_view.ts'

/** Set by `kubeloop dev`: `pretty` or `json`, the format of lines. */
export const DEV = 'KUBELOOP_DEV'
/** The ServiceAccount whose rights the operator has, or {@link ITS_OWN}. */
const AS = 'KUBELOOP_AS'
/** `1` keeps the operator's leader election. */
const ELECT = 'KUBELOOP_ELECT'

/** The port of the operator's webhooks on 127.0.0.1. */
const WEBHOOK_PORT = 'KUBELOOP_WEBHOOK_PORT'

/** The port of health, metrics and profiles on 127.0.0.1. */
const MONITORING_PORT = 'KUBELOOP_MONITORING_PORT'

/** A restart is reported after this time at the latest, even if not every key was reconciled. */
const MAX_RESTART_WAIT_MS = 1000

export async function prepareOperator(
  { description, cluster: admin, connection, log }: DevOperator,
  pretty: boolean,
): Promise<DevStart> {
  const as = optionalEnv(AS)
  // `kubeloop dev` runs without sharding; the replicas in a cluster use it.
  checkSharding(description)
  const account = as === undefined ? undefined : await accountIn(description, as === ITS_OWN ? undefined : as)
  const session = await openSession(connection, description, ownPid(), account)
  const configOf = account ? configOfAccount(account, admin, session) : () => admin
  const cluster = configOf('')
  // The command has ended, and the API with it, so a graceful stop is not possible.
  void session?.ended.then(() => exitProcess(1))
  const elects = optionalEnv(ELECT) === '1'
  const { start = 1, changed, downMs } = session?.response ?? {}
  const restart = start > 1 ? { elects, changed, downMs } : undefined
  const { options, flush } = pretty ? liveView(description, restart) : jsonLines(log, restart)
  const paused = session?.response.paused
  const loop = paused && await (await import('./loop.ts')).openLoop(description, session, paused, systemClock)
  const others = description.clusters.map(({ name }) =>
    [name, { ...configOf(name), server: cluster.server + pathOfCluster(name) }] as const
  )
  const port = Number(optionalEnv(MONITORING_PORT) ?? 0)
  const monitoring = port > 0 ? monitoringOn(port) : undefined
  const common: StartOptions = {
    cluster,
    log,
    // The operator's own configurations of other clusters are used only without this command.
    ...(session && {
      clusters: Object.fromEntries(others),
      ...recordingTransports({ description, cluster, log }, { admin, others }, session),
    }),
    // During development a schema changes often, and stored objects must not stop the operator.
    crds: { mode: 'install', narrow: session !== undefined },
    // The command itself reports changed definitions, but not the fields that stored objects lose by them.
    definitionLog: session ? { ...silentLog, warn: (...line) => log.warn(...line) } : log,
    fieldValidation: 'Strict',
    // Under the watch mode of a runtime alone there is no port for them.
    serves: monitoring !== undefined,
    needsMetrics: false,
    ...(monitoring && { listens: monitoring.listens }),
    webhooks: { port: Number(optionalEnv(WEBHOOK_PORT) ?? 0) },
    freeze: true,
  }
  const loops = writeLoops(systemClock)
  const onReconcile = (report: ReconcileReport): void => {
    if (loop?.ended(report)) return
    common.onReconcile?.(report)
    options.onReconcile?.(report)
    const problem = loops.ended(`${report.controller} ${report.key}`, report)
    if (problem) log.warn(problem)
  }
  const onAssembled = (parts: Parts): void => {
    options.onAssembled?.(parts)
    loop?.options.onAssembled(parts)
    const line = monitoring?.addTo(parts.manager)
    if (line && start === 1) log.info(line)
    if (session && parts.webhooks) void parts.manager.elected.then(() => session.send({ installed: true }))
  }
  const election = elects ? {} : { leaderElection: false }
  return { options: { ...common, ...election, ...options, ...loop?.options, onAssembled, onReconcile }, flush }
}

/** The path of each server of an operator's options, by its name. */
const MONITORED: Readonly<Record<string, string>> = {
  health: '/readyz',
  profiling: '/debug/pprof/',
  metrics: '/metrics',
}

/** Returns the name of the server that has a path. Beside the metrics may be any path of the user's. */
function monitoredBy(path: string): string {
  return /^\/(?:healthz|readyz)\b/.test(path) ? 'health' : path.startsWith('/debug/pprof') ? 'profiling' : 'metrics'
}

/**
 * Serves health, metrics and profiles on one port of 127.0.0.1: their own addresses may be in use, are open to other
 * machines, and need permissions of Deno. `addTo` returns a line that names them; undefined if there are none.
 */
function monitoringOn(port: number) {
  const servers = new Map<string, Server>()
  const fetch: Fetch = async (request) => {
    const name = monitoredBy(new URL(request.url).pathname)
    return await servers.get(name)?.fetch(request) ?? new Response(`there is no ${name}\n`, { status: 404 })
  }
  return {
    /** Returns whether a server is started as it is. */
    listens(server: Runnable): boolean {
      if (!(server.name in MONITORED && 'fetch' in server)) return true
      servers.set(server.name, server as Server)
      return false
    },
    addTo(manager: Parts['manager']): string | undefined {
      if (servers.size === 0) return undefined
      manager.add(new Server({ name: 'monitoring', address: `127.0.0.1:${port}`, fetch }))
      return `http://127.0.0.1:${port} has ${[...servers.keys()].map((name) => MONITORED[name]).join(', ')}`
    },
  }
}

/** Returns the account, with what it needs in each of the operator's clusters. */
async function accountIn(description: OperatorDescription, stated: string | undefined): Promise<SessionAccount> {
  const { accountOf } = await import('../../../rights/trial.ts')
  const { objectsIn, ...account } = accountOf(description, stated)
  const name = 'kubeloop manifests'
  const others = description.clusters.map((other) => ({ name, cluster: other.name, objects: objectsIn(other.name) }))
  return { ...account, manifests: [{ name, objects: objectsIn(undefined) }, ...others] }
}

/**
 * Returns a function from a cluster to the configuration that a pod of the account would have there.
 *
 * @throws ConfigError if the account has no token, as the operator must not run with other rights.
 */
function configOfAccount(
  { namespace, name }: SessionAccount,
  { server, ca }: ClusterConfig,
  session: Session | undefined,
): (cluster: string) => ClusterConfig {
  const { tokens, refused } = session?.response ?? {}
  if (!tokens) {
    const why = refused ?? `the API server at ${server} is not that of kubeloop dev; leave out --as-service-account`
    throw new ConfigError(`Cannot run as the ServiceAccount "${namespace}/${name}": ${why}`)
  }
  const identity = `the ServiceAccount "${namespace}/${name}"`
  return (cluster) => ({ server, ca, token: tokens[cluster]!, namespace, origin: { identity } })
}

/** Returns connections to the command's clusters that send the rights that the operator asks for to the command. */
function recordingTransports(
  { description, cluster, log }: Pick<DevOperator, 'description' | 'cluster' | 'log'>,
  { admin, others }: {
    readonly admin: ClusterConfig
    readonly others: readonly (readonly [name: string, config: ClusterConfig])[]
  },
  session: Session,
): Pick<StartOptions, 'transport' | 'transports' | 'connect' | 'onReconcile'> {
  const { name: operator } = description.options
  const recorder = rightsRecorder(description, (right) => void session.send({ right }))
  const open = (config: ClusterConfig, name: string | null): Transport => {
    const connection = httpTransport(config, { log, userAgent: `${operator} kubeloop`, cluster: name ?? undefined })
    return recorder.around(connection, name)
  }
  return {
    transport: open(cluster, null),
    transports: Object.fromEntries(others.map(([name, config]) => [name, open(config, name)])),
    // Not to the cluster that a provider names: its objects are not for trials.
    connect(name) {
      const served = session.send({ cluster: name })
      const connection = open({ ...admin, server: cluster.server + pathOfCluster(name) }, name)
      return async (request) => await served.then(() => connection(request))
    },
    onReconcile: (report) => recorder.reconciled(report),
  }
}

type Restart = Parameters<LiveView['restarted']>[0]

function jsonLines(log: Log, restart: Restart | undefined): DevStart {
  if (restart) log.info('restarted', { ...restart })
  return { options: { onReconcile: (report) => log.info('reconcile', reportFields(report)) }, flush() {} }
}

function liveView({ clusters }: OperatorDescription, restart: Restart | undefined): DevStart {
  const view = new LiveView(placeLine)
  let assembled: Parts | undefined
  const print = (lines: readonly string[]): void => lines.forEach(writeLine)
  const converged = (): boolean => {
    if (!assembled) return false
    const { cluster, clusterOf, controllers } = assembled
    return [cluster, ...clusters.map(clusterOf)].every(({ cache }) => cache.unsynced().length === 0) &&
      [...controllers.values()].every(({ idle }) => idle)
  }
  if (restart) {
    view.restarted(restart)
    systemClock.after(MAX_RESTART_WAIT_MS, () => print(view.settled(converged())))
  }
  return {
    options: {
      onAssembled: (parts) => void (assembled = parts),
      onReconcile: (report: ReconcileReport) => {
        print(view.lines(report, systemClock.now()))
        if (view.restarting && converged()) print(view.settled(true))
      },
    },
    flush: () => print(view.settled(false)),
  }
}
