/** Runs a whole operator in memory, with embedded API servers and a clock that the test advances. */
import type { Client, Log, Operator, OtherCluster } from 'kubeloop'
import type { Fetch } from 'kubeloop/parts'
import type { CallWebhook } from 'kubeloop/apiserver'
import { type Duration, toMs } from '../../core/duration.ts'
import { refuseUnknown, type ShapeOf } from '../../core/option_names.ts'
import { safeLog } from '../../observe/log.ts'
import { ownLog } from '../../operator/run/own_log.ts'
import { checkSharding } from '../../operator/sharding/ring.ts'
import type { Pods } from '../../simcluster/workloads/pod_script.ts'
import { Activity } from './activity.ts'
import { consoleLog } from './console_log.ts'
import { FakeClock } from '../../async/fake_clock.ts'
import { type Fault, makeFaults } from './faults.ts'
import { seededRandom } from './random.ts'
import { readRecord } from '../mirror/record.ts'
import { callIn, type Failing, fetchFrom, type Ran, type Replica, replicaOf } from './replica.ts'
import { Services } from './services.ts'
import { startReplicas } from './start_replica.ts'
import { Trace, type TraceEntry } from './trace.ts'
import { historyOf, type WorldSnapshot } from './world_snapshots.ts'
import { recorderOf, trialOf } from './world_account.ts'
import { simulate, type WorkloadTimes } from './world_pods.ts'
import { advanceUntil, endings, firstRest, millisOf } from './world_time.ts'
import { WorldClusters } from './world_clusters.ts'

/** Options of {@link world}. */
export interface WorldOptions {
  /**
   * Objects with apiVersion, kind and metadata, created in this order before the operator starts. Kinds of the operator
   * are defined before, and objects of old versions converted to the hub; for other kinds that are not built in, give
   * the CustomResourceDefinition first. What an object states of `status`, `uid`, `generation` and `creationTimestamp`
   * is kept. An owner reference may leave out the uid of an owner before it. With a `deletionTimestamp` an object is
   * being deleted, and needs a finalizer.
   */
  objects?: readonly object[]
  /**
   * Whose rights the operator has. `service-account`: the ServiceAccount and the roles of `kubeloop manifests`,
   * in the namespace `NAME-system`; roles of these names in `objects` take their place. `NAMESPACE/NAME`: that
   * ServiceAccount, with the roles that `objects` has for it. A refused request gets 403, whose error names the missing
   * rule. Default: all rights.
   *
   * @example
   * ```ts
   * import assert from 'node:assert/strict'
   * import { world } from 'kubeloop/testing'
   * import app, { Foo } from './operator.ts'
   * const w = await world(app, { as: 'service-account' })
   * await w.client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
   * assert.deepEqual(await w.settle(), [])
   * await w.stop()
   * ```
   */
  as?: 'service-account' | `${string}/${string}`
  /** The number of replicas of the operator. Default: 1. */
  replicas?: number
  /**
   * Services outside of the cluster that the operator calls with the global `fetch`, by their origins, as
   * {@link World.service} adds them: also for objects that exist at the start.
   */
  services?: Readonly<Record<string, Fetch>>
  /**
   * How long the world waits in real time for work that waits for something else than the world, such as a real HTTP
   * server or a process. Default: 5 s.
   */
  realTimeout?: Duration
  /**
   * A record of `kubeloop plan --record`: the world begins with the objects that were read from the cluster, and from
   * each other cluster of the operator, as they were, but with other values in Secrets. `objects` come after them.
   */
  from?: string
  /** The world's time at its start. Default: that of the record, or 2026-01-01T00:00:00Z. */
  now?: Date
  /**
   * The source of everything random: uids, generated names, back-off, identities of replicas, ids of reconciles. Equal
   * seeds give equal runs: the same requests in the same order, with the same responses. Default: 1.
   */
  seed?: number
  /**
   * Whether the clusters have controllers of workloads and a node: Deployments get ReplicaSets and pods, which become
   * Running and Ready by themselves, 1 s after their start on the world's clock. {@link World.pods} makes them fail.
   * Default: false, a test writes the statuses that it needs.
   *
   * @example
   * ```ts
   * import assert from 'node:assert/strict'
   * import { Deployment } from 'kubeloop/kinds'
   * import { world } from 'kubeloop/testing'
   * import app, { Foo } from './operator.ts'
   * const w = await world(app, { workloads: true })
   * await w.client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
   * await w.advance('1s')
   * const deployment = await w.client.get(Deployment, { namespace: 'default', name: 'b' })
   * assert.equal(deployment?.status?.readyReplicas, 1)
   * await w.stop()
   * ```
   */
  workloads?: boolean | WorkloadTimes
  /**
   * Faults from the start, for example for an unreachable cluster; {@link World.fault} adds more later.
   */
  faults?: readonly Fault[]
  /**
   * The operator's log. Default: that of the operator, or else warnings and errors on standard error, an error with the
   * place in the user's file.
   */
  log?: Log
}

const SHAPE: ShapeOf<WorldOptions> = {
  ...{ objects: [[]], as: 0, from: 0, replicas: 0, now: 0, seed: 0, faults: [[]], log: 0, services: 0, realTimeout: 0 },
  workloads: { readyAfter: 0, completeAfter: 0 },
}

/**
 * An operator, its clusters and their time.
 *
 * When a replica ends with an error, `settle` and `advance` reject with that error until {@link World.takeFailure} has
 * returned it, and `stop` rejects with it if none of them did.
 */
export interface World extends AsyncDisposable {
  /** A client of a cluster administrator, which faults do not affect. */
  readonly client: Client
  /**
   * Returns such a client for another cluster of the operator, which has its own API server and garbage collector.
   *
   * @throws TypeError if the operator has no cluster of that name.
   */
  clientOf(cluster: OtherCluster): Client
  readonly clock: FakeClock
  /**
   * Waits until no key is queued or in work and no request is open, except those that a fault delays. Resolves with
   * what fails and is tried again later: keys, map functions and other sources, tasks.
   *
   * Rejects with the error of a replica that ended. Rejects if the operator does not come to rest, or watches a kind
   * that the world does not serve, so that nothing is reconciled. Rejects and stops the operator if a key is reconciled
   * and written more than 50 times.
   */
  settle(): Promise<readonly Failing[]>
  /**
   * Lets time pass. Timers fire in order, each when the world has settled after the one before. Rejects as `settle`
   * does.
   */
  advance(time: Duration): Promise<void>
  /**
   * Advances to the next time at which the operator runs something: a reconcile after `requeueAfter`, a back-off or
   * `every`, a task, a schedule, or a reconcile or task that waits with its context. Resolves with how far that was,
   * and with what ran.
   *
   * Rejects as `settle` does, and if nothing runs any more.
   */
  advanceToNext(): Promise<{ readonly ms: number; readonly ran: readonly Ran[] }>
  /**
   * Answers what the operator requests from a service outside of the cluster with the global `fetch`: `url` is its
   * origin. Replaces an earlier one of the same origin. {@link World.fault} with `service` delays, refuses and drops
   * requests on the world's clock. A request is aborted with its signal.
   *
   * In a world with a service, a `fetch` of the operator from any other host rejects, except from this machine. Outside
   * of the operator's code, and in other worlds, `fetch` is as before. A reference to `fetch` that the operator has
   * taken before, and clients that do not use it, are not affected.
   *
   * @throws TypeError if the URL is more than an origin.
   */
  service(url: string, handler: Fetch): void
  /**
   * Calls a server by its name, in the first running replica, or in the leader if the server has `everyReplica: false`:
   * an extension's, or `health`, `metrics` and `profiling`, which the paths `/healthz`, `/readyz` and `/metrics` stand
   * for. If the server throws, the error is logged and the response has status 500, as over a network.
   *
   * @throws TypeError if no running replica has a server of that name. Error if the server listens only on
   * the leader, and no replica leads.
   *
   * @example
   * ```ts
   * import assert from 'node:assert/strict'
   * import { operator, Server } from 'kubeloop'
   * import { world } from 'kubeloop/testing'
   * const app = operator({ name: 'greeter' })
   * app.extend(({ manager }) => manager.add(new Server({ name: 'hello', fetch: () => new Response('hello') })))
   * app.add('wait', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))
   * const w = await world(app)
   * assert.equal(await (await w.fetch('hello', '/')).text(), 'hello')
   * await w.stop()
   * ```
   */
  fetch(server: string, request: Request | string, init?: RequestInit): Promise<Response>
  fetch(path: '/healthz' | '/readyz' | '/metrics'): Promise<Response>
  /**
   * Kills a replica, as when its node fails: it does not release its lease, its requests reach no server, its timers do
   * not fire, and `settle` and `stop` do not wait for it. The other replicas continue. Default: the leader.
   *
   * @throws RangeError if the replica of that number, from 0, does not run. Error without a number if no replica leads.
   *
   * @example
   * ```ts
   * import { world } from 'kubeloop/testing'
   * import app from './operator.ts'
   * const w = await world(app, { replicas: 2 })
   * w.kill()
   * await w.advance('20s') // the lease expires, and the other replica leads
   * await w.stop()
   * ```
   */
  kill(replica?: number): void
  /** Makes the simulated pods fail or wait. @throws Error if the world has no `workloads`. */
  readonly pods: Pods
  /**
   * Makes requests of the operator fail, also those to its other clusters.
   *
   * @throws TypeError or RangeError if the fault cannot have an effect.
   */
  fault(fault: Fault): void
  /**
   * Drops the history of a cluster's API server, as etcd's compaction does every five minutes: watches from older
   * versions get 410 and have to list again. Open watches go on. Default: the operator's own cluster.
   *
   * @throws TypeError if the operator has no cluster of that name.
   *
   * @example
   * ```ts
   * import { world } from 'kubeloop/testing'
   * import app, { Foo } from './operator.ts'
   * const w = await world(app)
   * w.compact()
   * w.fault({ verb: 'watch', resource: Foo, status: 410 }) // its next watch has to list again
   * await w.stop()
   * ```
   */
  compact(cluster?: OtherCluster): void
  /**
   * Ends all open watches of a cluster's API server, as its restart does: they are opened again from their last
   * versions. Default: the operator's own cluster.
   *
   * @throws TypeError if the operator has no cluster of that name.
   *
   * @example
   * ```ts
   * import { world } from 'kubeloop/testing'
   * import app from './operator.ts'
   * const w = await world(app)
   * w.compact()
   * w.closeWatches() // from versions that are gone: all kinds are listed again
   * await w.advance('1m')
   * await w.stop()
   * ```
   */
  closeWatches(cluster?: OtherCluster): void
  /**
   * Returns what the replicas did, the oldest first: their requests with what came of them, reconciles with their
   * causes and writes, tasks and ends. It has the last 5,000 entries, each one line as a text. Equal seeds give equal
   * traces.
   */
  trace(): readonly TraceEntry[]
  /** Returns the state of all clusters of the world, for {@link World.restore}. */
  snapshot(): WorldSnapshot
  /**
   * Sets the clusters back to a snapshot, as etcd's data is restored from a backup: all watches end and list again,
   * versions are not used twice, and what was written since is gone. The time and the replicas go on. A cluster that is
   * younger than the snapshot stays as it is.
   *
   * @throws TypeError if this world has not made the snapshot.
   */
  restore(snapshot: WorldSnapshot): void
  /**
   * Returns the error that a replica ended with, and drops it; undefined if there is none. For tests in which a replica
   * must fail: the other replicas continue.
   *
   * @example
   * ```ts
   * import assert from 'node:assert/strict'
   * import { LeadershipLost } from 'kubeloop'
   * import { Lease } from 'kubeloop/kinds'
   * import { world } from 'kubeloop/testing'
   * import app from './operator.ts'
   * const w = await world(app, { replicas: 2 })
   * w.fault({ verb: 'update', resource: Lease, status: 500, times: 5 })
   * await assert.rejects(w.advance('20s'), LeadershipLost)
   * w.takeFailure()
   * await w.stop()
   * ```
   */
  takeFailure(): unknown
  /**
   * Stops the operator and waits for its end. Advances the clock while the operator waits for timers. Rejects with the
   * errors of replicas that no other call has rejected with or returned. Rejects if the operator does not end within
   * its grace period plus ten minutes. Logs faults that no request has met.
   *
   * The end of an `await using` block calls it and never rejects, as that would hide a failed assertion: it logs the
   * error and sets the exit code of Node and Bun to 1.
   */
  stop(): Promise<void>
}

/**
 * Starts an operator in its own world. Resolves when the operator has come to rest.
 *
 * @throws TypeError or RangeError for invalid options. The operator's error if it cannot start.
 *
 * @example
 * ```ts
 * import { world } from 'kubeloop/testing'
 * import app, { Foo } from './operator.ts'
 *
 * const w = await world(app)
 * await w.client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
 * const [failing] = await w.settle()
 * if (failing) throw failing.error
 * await w.stop()
 * ```
 */
export async function world(operator: Operator, options: WorldOptions = {}): Promise<World> {
  refuseUnknown('Cannot create a world: ', options, SHAPE)
  const { replicas = 1, seed = 1, objects = [], from, realTimeout } = options
  const record = from === undefined ? undefined : await readRecord(from)
  const now = options.now ?? (record && new Date(record.at))
  const { description } = operator
  // A world of one replica runs without sharding; the replicas in a cluster use it.
  checkSharding(description)
  const random = seededRandom(seed)
  const clock: FakeClock = new FakeClock({ settle: () => activity.rest(), ...(now && { nowMs: millisOf(now) }) })
  const log = safeLog(options.log ?? ownLog(description.options) ?? consoleLog(clock))
  const { clusters: stated, groups } = description
  const faults = makeFaults(clock, groups.length > 0 ? undefined : stated.map(({ name }) => name))
  for (const fault of options.faults ?? []) faults.add(fault)
  const recorder = recorderOf(description)
  const stopping = new AbortController()
  const halt = (): void => stopping.abort(new DOMException('The operator does not come to rest', 'AbortError'))
  const activity = new Activity(faults, halt, realTimeout === undefined ? undefined : toMs(realTimeout))
  const services = new Services(activity, faults)
  /** The running replicas, each with the function that drops its activity. */
  const running = new Map<Replica, () => void>()
  const callWebhook: CallWebhook = async (address, body, { signal }) =>
    await callIn([...running.keys()], address, body, signal)
  const account = trialOf(description, options.as)
  const trace = new Trace(clock)
  const common = { description, clock, random, log, faults, recorder, account, activity, record, trace }
  const simulation = options.workloads ? await simulate(options.workloads, { clock, random, seed }) : undefined
  const clusters = new WorldClusters({ ...common, callWebhook, simulation, signal: stopping.signal })
  await clusters.open(objects)
  for (const [url, handler] of Object.entries(options.services ?? {})) services.add(url, handler)
  const ran: Ran[] = []
  const onRan = (each: Ran): void => void ran.push(each)
  const start = { ...common, operator, replicas, seed, clusters, services, running, onRan, signal: stopping.signal }
  startReplicas(start)
  const { stop, dispose } = endings({ ...common, services, stopping, isLogOwn: options.log !== undefined })
  const checkSynced = (): Promise<void> => clusters.refuseUnsynced([...running.keys()])
  await firstRest(activity, stop)
  return {
    client: clusters.main.admin.client,
    clientOf: (cluster) => clusters.of(cluster).admin.client,
    clock,
    async settle() {
      await activity.rest()
      await checkSynced()
      return [...running.keys()].flatMap(({ runs, parts }) => runs.failing(parts?.controllers.values() ?? []))
    },
    async advance(time) {
      await clock.advance(toMs(time))
      await checkSynced()
    },
    async advanceToNext() {
      const ms = await advanceUntil(clock, ran)
      await checkSynced()
      return { ms, ran: ran.splice(0) }
    },
    get pods() {
      if (simulation) return simulation.pods
      throw new Error('Cannot change pods: the world runs none; start it by world(app, { workloads: true })')
    },
    service: (url, handler) => services.add(url, handler),
    fetch: (server: string, request?: Request | string, init?: RequestInit) =>
      fetchFrom([...running.keys()], server, request, init),
    kill(number) {
      const replica = replicaOf([...running.keys()], number)
      replica.kill()
      trace.add(replica.number, 'killed')
      running.get(replica)!()
      running.delete(replica)
    },
    fault(fault) {
      const added = faults.add(fault)
      for (const replica of running.keys()) replica.endWatches(added)
    },
    trace: () => trace.entries(),
    ...historyOf(clusters, clock),
    takeFailure: () => activity.takeFailure(),
    stop,
    [Symbol.asyncDispose]: dispose,
  }
}
