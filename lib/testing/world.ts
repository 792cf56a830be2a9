/** Runs a whole operator in memory, with embedded API servers and a clock that the test advances. */
import {
  type Client,
  Cluster,
  type Controller,
  type Log,
  type Operator,
  type OtherCluster,
  type Parts,
  type Transport,
} from 'kubeloop'
import { ApiServer, type CallWebhook } from 'kubeloop/apiserver'
import { newUid } from '../apiserver/storage/objects.ts'
import { type Duration, formatMs, toMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import { groupResourceOf } from '../core/resource.ts'
import { safeLog } from '../observe/log.ts'
import type { OperatorOptions } from '../operator/options.ts'
import type { OperatorDescription } from '../operator/description.ts'
import { usedResources } from '../operator/used_kinds.ts'
import { ownLog } from '../operator/own_log.ts'
import { nextTurn } from '../async/clock.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { crdOf } from '../schema/crds.ts'
import { GarbageCollector } from '../simcluster/garbage_collector.ts'
import { Activity, MAX_TURNS, type Watched } from './activity.ts'
import { consoleLog } from './console_log.ts'
import { FakeClock } from './fake_clock.ts'
import { type Fault, makeFaults } from './faults.ts'
import { createObjects } from './initial_objects.ts'
import { lineWriter, RIGHTS, RightsRecorder } from './rights_recorder.ts'
import { callIn, type Failing, fetchFrom, Replica, ReplicaRuns } from './replica.ts'

/** Options of {@link world}. */
export interface WorldOptions {
  /**
   * Objects with apiVersion, kind and metadata, created in this order before the operator starts. Kinds of the operator
   * are defined before; for other kinds that are not built in, give the CustomResourceDefinition first.
   */
  objects?: readonly object[]
  /** The number of replicas of the operator. Default: 1. */
  replicas?: number
  /** The world's time at its start. Default: 2026-01-01T00:00:00Z. */
  now?: Date
  /**
   * The source of everything random: uids, generated names, back-off, identities of replicas, ids of reconciles. Equal
   * seeds give equal runs: the same requests in the same order, with the same responses. Default: 1.
   */
  seed?: number
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
   *
   * @example
   * ```ts
   * import assert from 'node:assert/strict'
   * import { world } from 'kubeloop/testing'
   * import app from './operator.ts'
   * const w = await world(app)
   * assert.deepEqual(await w.settle(), [])
   * await w.stop()
   * ```
   */
  settle(): Promise<readonly Failing[]>
  /**
   * Lets time pass. Timers fire in order, each when the world has settled after the one before. Rejects as `settle`
   * does.
   */
  advance(time: Duration): Promise<void>
  /**
   * Calls an extension's server by its name, in the first running replica, or in the leader if the server has
   * `everyReplica: false`. If the server throws, the error is logged and the response has status 500, as over a
   * network.
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
   * its grace period plus ten minutes; `await using` logs that if the world did not come to rest before. Logs faults
   * that no request has met.
   */
  stop(): Promise<void>
}

/**
 * The time to end after the grace period, which is only for the controllers: to release the lease, and to send the last
 * Events.
 */
const STOP_MARGIN_MS = 600_000
/** Limits an infinite grace period, so that the test ends. */
const MAX_GRACE_MS = 3_600_000

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
 * await w.settle()
 * await w.stop()
 * ```
 */
export async function world(operator: Operator, options: WorldOptions = {}): Promise<World> {
  const { replicas = 1, seed = 1, objects = [], now } = options
  const { description } = operator
  const random = seededRandom(seed)
  const clock: FakeClock = new FakeClock({ settle: () => activity.rest(), ...(now && { nowMs: millisOf(now) }) })
  const log = safeLog(options.log ?? ownLog(description.options) ?? consoleLog(clock))
  const faults = makeFaults(clock, description.clusters.map(({ name }) => name))
  for (const fault of options.faults ?? []) faults.add(fault)
  const recorder = recorderOf(description)
  const stopping = new AbortController()
  const halt = (): void => stopping.abort(new DOMException('The operator does not come to rest', 'AbortError'))
  const activity = new Activity(faults, halt)
  const admin = (handle: Transport): Cluster =>
    new Cluster({ transport: handle, name: 'test', fieldValidation: 'Strict', freeze: true, clock, random })
  /** The running replicas, each with the function that drops its activity. */
  const running = new Map<Replica, () => void>()
  const callWebhook: CallWebhook = async (address, body, { signal }) =>
    await callIn([...running.keys()], address, body, signal)
  const open = (name: string | null): Opened => {
    const server = new ApiServer({ clock, random, callWebhook })
    const { handle } = server
    const counted = activity.counting(handle)
    const of = (replica: Replica): Transport => {
      // Faults are outside of the count: a delayed request is not open.
      const connection = replica.receiving(faults.around(replica.sending(counted), name))
      return recorder?.around(connection, name) ?? connection
    }
    return { server, handle, transportOf: of, admin: admin(handle) }
  }
  const main = open(null)
  const { client } = main.admin
  const own = () => crdOf(usedResources(description), { conversions: description.conversions })
  await createObjects(main.admin, objects, own)
  const others = new Map<string, Opened>()
  const collect = (opened: Opened): Opened => {
    const collector = new GarbageCollector({ transport: activity.counting(opened.handle), clock, log, random })
    activity.run((watch) => {
      watch({ idle: () => collector.idle, busyWith: () => ['the garbage collector collects dependents'] })
      return collector.start(stopping.signal)
    })
    return opened
  }
  const other = (name: string): Opened => {
    if (!others.has(name)) others.set(name, collect(open(name)))
    return others.get(name)!
  }
  collect(main)
  for (const { name } of description.clusters) other(name)
  for (let number = 0; number < replicas; number++) {
    const runs = new ReplicaRuns(clock, log)
    const replica = new Replica(number, runs, clock, log)
    activity.watchRuns(runs)
    // A source of its own, so that log lines do not change other random values.
    const ids = seededRandom(seed + 1 + number)
    // A module that is being loaded has no open request.
    let loads = true
    const drop = activity.run((watch) => {
      watch({ idle: () => !loads, loads: () => loads, busyWith: () => ['files of kubeloop are being loaded'] })
      return operator.start(stopping.signal, {
        instance: `replica-${number}`,
        identity: identityOf(description.options.leaderElection, number),
        transport: main.transportOf(replica),
        transports: Object.fromEntries([...others].map(([name, { transportOf }]) => [name, transportOf(replica)])),
        connect: (name) => other(name).transportOf(replica),
        clock: replica.clock,
        userClock: replica.userClock,
        random,
        uuid: () => newUid(ids),
        log: replica.log,
        crds: 'install',
        freeze: true,
        fieldValidation: 'Strict',
        serves: false,
        webhooks: 'memory',
        onWebhooks: ({ handlers }) => void (replica.webhooks = handlers),
        onLoaded: () => void (loads = false),
        listens: (server) => void replica.servers.push(server),
        ...(replicas > 1 ? {} : { leaderElection: false }),
        onReconcile: (report) => {
          if (!replica.isKilled) runs.ended(report)
          recorder?.reconciled(report)
        },
        onTask: (task, failure) => void (replica.isKilled || runs.task(task, failure)),
        onAssembled: (parts) => {
          replica.parts = parts
          watch(watchedOf(parts, replica))
        },
      }).finally(() => running.delete(replica))
    })
    running.set(replica, drop)
  }
  const { grace = '30s', name } = description.options
  const maxStopMs = Math.min(grace === 'forever' ? Infinity : toMs(grace), MAX_GRACE_MS) + STOP_MARGIN_MS
  const end = async (): Promise<void> => {
    stopping.abort(new DOMException('The test has ended', 'AbortError'))
    activity.stop()
    const untilMs = clock.monotonic() + maxStopMs
    await activity.rest()
    // The end may wait for timers, so advance the clock; otherwise wait some turns.
    for (let turns = 0; activity.isRunning; await nextTurn()) {
      if (clock.pending > 0 && clock.monotonic() < untilMs) await clock.advance(100)
      else if (turns++ > MAX_TURNS) {
        throw new Error(
          `Cannot stop operator "${name}": it has not ended ${
            formatMs(maxStopMs)
          } after its signal was aborted; does a task or a reconcile wait for something that never happens?${
            activity.restless ? ` Before that: ${activity.restless.message}` : ''
          }`,
          { cause: activity.restless },
        )
      }
    }
  }
  let ended: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    await (ended ??= end().catch((error: unknown) => activity.fail(error)))
    for (const fault of faults.unmet()) log.warn(`No request met the fault ${fault}`)
    const errors = activity.takeUnreported()
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
  }
  /**
   * Throws if a cache is not synced because the server does not serve its kind: an administrator cannot list it either.
   */
  const checkSynced = async (): Promise<void> => {
    const missing = new Set<string>()
    for (const { parts } of running.keys()) {
      if (!parts) continue
      for (const cluster of [undefined, ...description.clusters]) {
        const { admin } = cluster ? others.get(cluster.name)! : main
        const { cache } = cluster ? parts.clusterOf(cluster) : parts.cluster
        for (const { isSynced, resource, namespace } of cache.informers()) {
          if (isSynced) continue
          const where = cluster ? ` in the cluster "${cluster.name}"` : ''
          await admin.api.listPage({ resource, namespace }, { limit: 1 })
            .catch((error: unknown) => missing.add(`${groupResourceOf(resource)}${where} (${messageOf(error)})`))
        }
      }
    }
    if (missing.size === 0) return
    throw new Error(
      `Cannot settle: nothing is reconciled before all caches are synced, and the world does not serve ${
        [...missing].join(', ')
      }; add their CustomResourceDefinitions: world(app, { objects: [definition] })`,
    )
  }
  const openedAs = (cluster: OtherCluster | undefined): Opened => {
    if (!cluster) return main
    if (others.has(cluster.name) || description.groups.length > 0) return other(cluster.name)
    throw new TypeError(`Cannot use the cluster "${cluster.name}": the operator has no cluster of that name`)
  }
  try {
    await activity.rest()
  } catch (error) {
    try {
      await stop()
    } catch (other) {
      throw new AggregateError([error, other], `${messageOf(error)}; and when it stopped:  ${messageOf(other)}`)
    }
    throw error
  }
  return {
    client,
    clientOf: (cluster) => openedAs(cluster).admin.client,
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
    async fetch(server, request, init) {
      const whole = new Request(request instanceof Request ? request : new URL(request, 'http://localhost'), init)
      return await fetchFrom([...running.keys()], server, whole)
    },
    kill(number) {
      const all = [...running.keys()]
      const replica = all.find((each) => number === undefined ? each.parts?.manager.isElected : each.number === number)
      if (!replica) {
        if (number === undefined) {
          throw new Error('Cannot kill the leader: no replica leads; give the number of a replica')
        }
        const running = all.length > 0
          ? `the running replicas are ${all.map((each) => each.number).join(', ')}`
          : 'no replica runs'
        throw new RangeError(`Cannot kill replica ${number}: ${running}`)
      }
      replica.kill()
      running.get(replica)!()
      running.delete(replica)
    },
    fault: (fault) => faults.add(fault),
    compact: (cluster) => openedAs(cluster).server.compact(),
    closeWatches: (cluster) => openedAs(cluster).server.closeWatches(),
    takeFailure: () => activity.takeFailure(),
    stop,
    async [Symbol.asyncDispose]() {
      try {
        await stop()
      } catch (error) {
        // If the test fails too, runners print neither error: of a SuppressedError they print only its own message.
        log.error(messageOf(error), { error })
        // A world that did not come to rest has rejected before.
        if (!activity.restless) throw error
      }
    },
  }
}

interface Opened {
  readonly server: ApiServer
  /** Not affected by faults. */
  readonly handle: Transport
  /** Returns a replica's transport. */
  readonly transportOf: (replica: Replica) => Transport
  readonly admin: Cluster
}

/** Returns what records the operator's requests if the environment names a folder for it. */
function recorderOf(description: OperatorDescription): RightsRecorder | undefined {
  const folder = optionalEnv(RIGHTS)
  if (folder === undefined) return undefined
  const { name } = description.options
  const resources = [undefined, ...description.clusters].flatMap((cluster) => usedResources(description, cluster))
  return new RightsRecorder({ operator: name, resources, write: lineWriter(folder, name) })
}

function millisOf(now: unknown): number {
  if (!(now instanceof Date)) {
    throw new TypeError(`Cannot create a world: now is ${JSON.stringify(now)}, and must be a Date`)
  }
  const ms = now.getTime()
  if (Number.isNaN(ms)) throw new RangeError('Cannot create a world: now is an invalid Date')
  return ms
}

/** Returns an identity of its own for each replica but the first: the file states one, and two must not share it. */
function identityOf(election: OperatorOptions['leaderElection'], number: number): string | undefined {
  const { identity } = typeof election === 'object' ? election : {}
  return identity === undefined || number === 0 ? undefined : `${identity}-${number}`
}

/** Returns what a world watches of the controllers of a replica. */
function watchedOf({ controllers, manager }: Parts, replica: Replica): Watched {
  // The keys of a warm-up wait for the lease. Clusters come with their controllers, and go.
  const isIdle = ({ idle, everyReplica }: Controller): boolean => idle || (everyReplica !== true && !manager.isElected)
  const busy = (): Controller[] => [...controllers.values()].filter((controller) => !isIdle(controller))
  return {
    idle: () => busy().length === 0,
    waits: () => replica.hasTimers,
    busyWith: () =>
      busy().flatMap(({ name, running }) =>
        running.length > 0
          ? running.map((key) => `the controller "${name}" reconciles "${key}"`)
          : [`the controller "${name}" has keys that wait, or events that are being mapped`]
      ),
  }
}

/** Returns a small random generator (mulberry32), so that a seed repeats a run. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
