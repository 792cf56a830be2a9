/** Starts the replicas of an operator in its world. */
import type { Clock, Controller, Operator, Parts } from 'kubeloop'
import { internals } from 'kubeloop/apiserver'
import { messageOf } from '../../core/errors.ts'
import { parseKey } from '../../core/objects.ts'
import type { ReconcileReport } from '../../controller/controller.ts'
import type { OperatorOptions } from '../../operator/description/options.ts'
import type { StartOptions } from '../../operator/run/start.ts'
import type { Watched } from './activity.ts'
import { seededRandom } from './random.ts'
import { type Ran, Replica, ReplicaRuns } from './replica.ts'
import type { Services } from './services.ts'
import type { WorldClusters, WorldParts } from './world_clusters.ts'

interface ReplicaStart extends Pick<WorldParts, 'random' | 'log' | 'activity' | 'recorder' | 'trace'> {
  readonly operator: Operator
  /** The number of all replicas. */
  readonly replicas: number
  readonly seed: number
  readonly clock: Clock
  readonly clusters: Pick<WorldClusters, 'connectionsOf'>
  readonly services: Services
  readonly onRan: (ran: Ran) => void
  readonly onReport?: (report: ReconcileReport) => void
  /** Replace those of a world. */
  readonly options?: StartOptions
  /** The running replicas, to which this one is added until it ends. */
  readonly running: Map<Replica, () => void>
  readonly signal: AbortSignal
  /** Of replicas that start together. */
  readonly line?: StartLine
}

/** Lets replicas begin in the order of their numbers, once all have loaded their files, which takes real time. */
export class StartLine {
  readonly #begin: (() => void)[] = []
  #missing: number

  constructor(replicas: number) {
    this.#missing = replicas
  }

  /** Resolves when each replica has loaded or left. */
  loaded(number: number): Promise<void> {
    return new Promise((resolve) => {
      this.#begin[number] = resolve
      this.leave()
    })
  }

  /** For a replica that does not begin. */
  leave(): void {
    // Later, when the last one waits, too: they go on in the order of these calls.
    if (--this.#missing === 0) queueMicrotask(() => this.#begin.forEach((begin) => begin()))
  }
}

/** Starts all replicas together. */
export function startReplicas(start: ReplicaStart): void {
  const line = new StartLine(start.replicas)
  for (let number = 0; number < start.replicas; number++) startReplica(number, { ...start, line })
}

/** Starts a replica with its own clocks, connections and random values. */
export function startReplica(number: number, start: ReplicaStart): void {
  const { operator, replicas, seed, clock, random, log, activity, recorder, clusters, running, signal } = start
  const { services, onRan, onReport, options, trace, line = new StartLine(1) } = start
  const runs = new ReplicaRuns(clock, log)
  const replica = new Replica(number, runs, clock, log, {
    fetch: services.fetch,
    onTimer: () => onRan({ what: 'timer' }),
  })
  activity.watchRuns(runs)
  // A source of its own, so that log lines do not change other random values.
  const ids = seededRandom(seed + 1 + number)
  // A module that is being loaded has no open request.
  let loads = true
  const drop = activity.run((watch) => {
    watch({ idle: () => !loads, loads: () => loads, busyWith: () => ['files of kubeloop are being loaded'] })
    return replica.call(() =>
      operator.start(signal, {
        instance: `replica-${number}`,
        identity: identityOf(operator.description.options.leaderElection, number),
        ...clusters.connectionsOf(replica),
        clock: replica.clock,
        userClock: replica.userClock,
        random,
        uuid: () => internals.newUid(ids),
        log: replica.log,
        crds: 'install',
        freeze: true,
        fieldValidation: 'Strict',
        webhooks: 'memory',
        onWebhooks: ({ handlers }) => void (replica.webhooks = handlers),
        onLoaded: async () => {
          await line.loaded(number)
          loads = false
        },
        needsMetrics: false,
        listens(server) {
          replica.servers.push(server)
          // What has no requests to answer runs as everywhere.
          return server.role === 'server' && !('fetch' in server) && server.name.startsWith('metrics of ')
        },
        ...(replicas > 1 ? {} : { leaderElection: false }),
        onReconcile: (report) => {
          recorder?.reconciled(report)
          onReport?.(report)
          if (replica.isKilled) return
          runs.ended(report)
          trace.reconciled(number, report)
          const { controller, kind, key } = report
          onRan({ what: 'reconcile', controller, kind, key: parseKey(key) })
        },
        onTask: (task, failure) => {
          if (replica.isKilled) return
          runs.task(task, failure)
          trace.add(number, 'task', { object: task, result: failure ? messageOf(failure.error) : 'begins' })
          if (!failure) onRan({ what: 'task', task })
        },
        onAssembled: (parts) => {
          replica.parts = parts
          watch(watchedOf(parts, replica))
        },
        ...options,
      })
    ).catch((error: unknown) => {
      if (loads) line.leave()
      trace.add(number, 'ended', { result: messageOf(error) })
      throw error
    }).finally(() => running.delete(replica))
  })
  running.set(replica, drop)
}

/** Returns an identity of its own for each replica but the first: the file states one, and two must not share it. */
function identityOf(election: OperatorOptions['leaderElection'], number: number): string | undefined {
  const { identity } = typeof election === 'object' ? election : {}
  return identity === undefined || number === 0 ? undefined : `${identity}-${number}`
}

function watchedOf({ controllers, manager }: Parts, replica: Replica): Watched {
  // The keys of a warm-up wait for the lease. Clusters come with their controllers, and go.
  // After the election, a leader waits for late watches first. A stop drops the keys that wait.
  const isIdle = (each: Controller): boolean =>
    manager.stopping.aborted || (each.everyReplica !== true && !manager.isElected) || each.isWaiting || each.idle
  const busy = (): Controller[] => [...controllers.values()].filter((controller) => !isIdle(controller))
  return {
    idle: () => [...controllers.values()].every(isIdle),
    waits: () => replica.hasTimers,
    busyWith: () =>
      busy().flatMap(({ name, running }) =>
        running.length > 0
          ? running.map((key) => `the controller "${name}" reconciles "${key}"`)
          : [`the controller "${name}" has keys that wait, or events that are being mapped`]
      ),
  }
}
