/** A whole operator in memory: the embedded API, the control loops of a cluster, and a clock that the test advances. */
import {
  type Client,
  Cluster,
  type Controller,
  type CustomResourceDefinition,
  type Log,
  type Operator,
  type OtherCluster,
  type Transport,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { newUid } from '../apiserver/storage/objects.ts'
import { type Duration, formatMs, toMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, groupResourceOf } from '../core/resource.ts'
import { safeLog } from '../observe/log.ts'
import { watchedResources } from '../operator/description.ts'
import { nextTurn } from '../async/clock.ts'
import { crdOf } from '../schema/crds.ts'
import { GarbageCollector } from '../simcluster/garbage_collector.ts'
import { Activity, MAX_TURNS, type Watched } from './activity.ts'
import { consoleLog } from './console_log.ts'
import { FakeClock } from './fake_clock.ts'
import { type Fault, makeFaults } from './faults.ts'
import { Replica } from './replica.ts'
import { type FailingKey, ReplicaRuns } from './replica_runs.ts'
import { fetchFrom } from './servers.ts'

/** Options of {@link world}. */
export interface WorldOptions {
  /**
   * Created before the operator starts, in this order. Each has apiVersion, kind and metadata. A kind that the operator
   * defines is there; of others that are not built in, the CustomResourceDefinition comes first.
   */
  objects?: readonly object[]
  /** How many replicas of the operator run. Default: 1. */
  replicas?: number
  /** The time at which the world begins. Default: 2026-01-01T00:00:00Z. */
  now?: Date
  /**
   * Everything random comes from it: uids, generated names, back-off, the identities of replicas, the ids of
   * reconciles. Equal seeds give equal runs: the same requests in the same order, with the same answers. Default: 1.
   */
  seed?: number
  /**
   * In force when the operator starts, as for a cluster that is not there yet; {@link World.fault} adds others later.
   */
  faults?: readonly Fault[]
  /** Default: warnings and errors on standard error, an error with the place in the user's file. */
  log?: Log
}

/**
 * An operator, its clusters and their time.
 *
 * When a replica ends with an error, `settle` and `advance` reject with that error until {@link World.takeFailure} has
 * returned it, and `stop` rejects with it if none of them did.
 */
export interface World extends AsyncDisposable {
  /** A cluster administrator's, past every fault. */
  readonly client: Client
  /**
   * The same for another cluster of the operator, which has an API server and an owner-reference collector of its own.
   *
   * @throws TypeError if the operator has no cluster of that name.
   */
  clientOf(cluster: OtherCluster): Client
  readonly clock: FakeClock
  /**
   * Waits until no key is queued or in work and no request is under way; a request that a fault delays waits for its
   * time, and is not waited for. Resolves with the keys that fail: each waits for its next try, or for a change of its
   * object if it is not retried.
   *
   * Rejects with the error of a replica that ended, if the operator does not come to rest, if a key is reconciled and
   * written for more than 50 times meanwhile, which also stops the operator, and if the operator watches a kind that
   * the world does not serve: nothing is reconciled then.
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
  settle(): Promise<readonly FailingKey[]>
  /**
   * Lets time pass; what becomes due happens in order, each thing when the one before has settled. Rejects as `settle`
   * does.
   */
  advance(time: Duration): Promise<void>
  /**
   * Calls a server that an extension added, by its name, in the replica on which it would listen: the first that runs,
   * or the leader if the server has `everyReplica: false`. A throw is logged and answered with 500, as over a network.
   *
   * @throws TypeError if no running replica has a server of that name. Error if it is the leader's, and no replica
   * leads.
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
   * Kills a replica, as a node that fails does: it does not give its lease back, no request of its own reaches a server
   * any more, none of its timers fires, and neither `settle` nor `stop` waits for it. The others go on. Default: the
   * replica that leads.
   *
   * @throws RangeError if no replica of that number, from 0, runs. Error if none is named and none leads.
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
   * Makes requests of the operator fail, those to its other clusters included.
   *
   * @throws TypeError or RangeError if the fault cannot have an effect.
   */
  fault(fault: Fault): void
  /**
   * Returns the error that a replica ended with and forgets it; undefined if there is none. For tests in which a
   * replica is to fail: the other replicas go on.
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
   * Stops the operator and waits for its end, advancing the clock where that waits for it. Rejects with the errors of
   * replicas that no other call has rejected with or returned, and if the operator does not end within its grace period
   * and ten minutes.
   */
  stop(): Promise<void>
}

/**
 * What an end may take besides the grace period, which covers the controllers: the lease is given back, the last Events
 * are sent.
 */
const STOP_MARGIN_MS = 600_000
/** An infinite grace period ends, too, or a test would. */
const MAX_GRACE_MS = 3_600_000

/**
 * Starts an operator in a world of its own, and settles when it has come to rest.
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
  const log = safeLog(options.log ?? consoleLog(clock))
  const faults = makeFaults(clock, description.clusters.map(({ name }) => name))
  for (const fault of options.faults ?? []) faults.add(fault)
  const stopping = new AbortController()
  const halt = (): void => stopping.abort(new DOMException('The operator never comes to rest', 'AbortError'))
  const activity = new Activity(faults, halt)
  const admin = (handle: Transport): Cluster =>
    new Cluster({ transport: handle, name: 'test', fieldValidation: 'Strict', freeze: true, clock, random })
  const open = (name: string | null): Opened => {
    const { handle } = new ApiServer({ clock, random })
    const counted = activity.counting(handle)
    // Outside of what is counted: a request that a fault delays is not under way.
    const of = (replica: Replica): Transport => replica.receiving(faults.around(replica.sending(counted), name))
    return { handle, transportOf: of, admin: admin(handle) }
  }
  const main = open(null)
  const { client } = main.admin
  const own = (): readonly CustomResourceDefinition[] => crdOf(watchedResources(description))
  for (const [index, object] of objects.entries()) await create(main.admin, checked(object, index), own)
  const others = new Map(description.clusters.map(({ name }) => [name, open(name)]))

  for (const { handle } of [main, ...others.values()]) {
    const collector = new GarbageCollector({ transport: activity.counting(handle), clock, log, random })
    activity.run((watch) => {
      watch({ idle: () => collector.idle, busyWith: () => ['the garbage collector collects dependents'] })
      return collector.start(stopping.signal)
    })
  }
  /** The replicas that run, each with what drops it from what is under way. */
  const running = new Map<Replica, () => void>()
  for (let number = 0; number < replicas; number++) {
    const runs = new ReplicaRuns(clock, log)
    const replica = new Replica(number, runs, clock, log)
    activity.watchRuns(runs)
    // A source of its own: whether anything is logged must not change what else is random.
    const ids = seededRandom(seed + 1 + number)
    const drop = activity.run((watch) =>
      operator.start(stopping.signal, {
        instance: `replica-${number}`,
        transport: main.transportOf(replica),
        transports: Object.fromEntries([...others].map(([name, { transportOf }]) => [name, transportOf(replica)])),
        clock: replica.clock,
        random,
        uuid: () => newUid(ids),
        log: replica.log,
        crds: 'install',
        freeze: true,
        fieldValidation: 'Strict',
        serves: false,
        listens: (server) => void replica.servers.push(server),
        ...(replicas > 1 ? {} : { leaderElection: false }),
        onReconcile: (report) => {
          if (!replica.isKilled) runs.ended(report)
        },
        onAssembled: (parts) => {
          replica.parts = parts
          for (const controller of parts.controllers.values()) watch(watchedOf(controller))
        },
      }).finally(() => running.delete(replica))
    )
    running.set(replica, drop)
  }
  const { grace = '30s', name } = description.options
  const maxStopMs = Math.min(grace === 'forever' ? Infinity : toMs(grace), MAX_GRACE_MS) + STOP_MARGIN_MS
  const end = async (): Promise<void> => {
    stopping.abort(new DOMException('The test has ended', 'AbortError'))
    activity.stop()
    const untilMs = clock.monotonic() + maxStopMs
    await activity.rest()
    // Draining may wait for timers of the clock; what needs none has only turns.
    for (let turns = 0; activity.isRunning; await nextTurn()) {
      if (clock.pending > 0 && clock.monotonic() < untilMs) await clock.advance(100)
      else if (turns++ > MAX_TURNS) {
        throw new Error(
          `Cannot stop operator "${name}": it has not ended ${
            formatMs(maxStopMs)
          } after its signal was aborted; does a task or a reconcile wait for something that never comes?`,
        )
      }
    }
  }
  let ended: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    await (ended ??= end().catch((error: unknown) => activity.fail(error)))
    const errors = activity.untold()
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
  }
  /** What is not synced without a fault of the test's: an administrator cannot list it, either. */
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
      `Cannot settle: nothing is reconciled before the first lists of all kinds are in, and the world does not serve ${
        [...missing].join(', ')
      }; give it their CustomResourceDefinitions: world(app, { objects: [definition] })`,
    )
  }
  try {
    await activity.rest()
  } catch (error) {
    try {
      await stop()
    } catch (other) {
      throw new AggregateError([error, other], `${messageOf(error)}; and at the stop: ${messageOf(other)}`)
    }
    throw error
  }
  return {
    client,
    clientOf({ name }) {
      const other = others.get(name)
      if (!other) throw new TypeError(`Cannot use the cluster "${name}": the operator has none of that name`)
      return other.admin.client
    },
    clock,
    async settle() {
      await activity.rest()
      await checkSynced()
      return [...running.keys()].flatMap(({ runs }) => [...runs.failing.values()])
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
          throw new Error('Cannot kill the replica that leads: none does; name one by its number')
        }
        const running = all.length > 0 ? `those that run are ${all.map((each) => each.number).join(', ')}` : 'none runs'
        throw new RangeError(`Cannot kill replica ${number}: ${running}`)
      }
      replica.kill()
      running.get(replica)!()
      running.delete(replica)
    },
    fault: (fault) => faults.add(fault),
    takeFailure: () => activity.takeFailure(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

interface Opened {
  /** Past every fault. */
  readonly handle: Transport
  /** A replica's. */
  readonly transportOf: (replica: Replica) => Transport
  readonly admin: Cluster
}

type AnyObject = KubeObject & { readonly metadata: { readonly namespace?: string; readonly generateName?: string } }

function millisOf(now: unknown): number {
  if (!(now instanceof Date)) {
    throw new TypeError(`Cannot make a world: now is ${JSON.stringify(now)}, and must be a Date`)
  }
  const ms = now.getTime()
  if (Number.isNaN(ms)) throw new RangeError('Cannot make a world: now is an invalid Date')
  return ms
}

/** The object, if it says what it is. */
function checked(object: unknown, index: number): AnyObject {
  const { apiVersion, kind, metadata } = (object ?? {}) as Partial<AnyObject>
  const missing = Object.entries({ apiVersion, kind, 'metadata.name': metadata?.name ?? metadata?.generateName })
    .flatMap(([field, value]) => (typeof value === 'string' && value !== '' ? [] : [field]))
  if (missing.length === 0) return object as AnyObject
  throw new TypeError(
    `Cannot create objects[${index}] of the world: it has no ${
      missing.join(' and no ')
    }; give whole objects: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }`,
  )
}

/** Creates an object, and before the first one of a kind that the operator defines, its definition. */
async function create(
  { client, kinds }: Pick<Cluster, 'client' | 'kinds'>,
  object: AnyObject,
  own: () => readonly CustomResourceDefinition[],
): Promise<void> {
  const { apiVersion, kind, metadata } = object
  let resource = await kinds.find(object)
  if (!resource) {
    const definition = own().find(({ spec }) =>
      spec.names.kind === kind &&
      spec.versions.some(({ name }) => apiVersionOf({ ...spec, version: name }) === apiVersion)
    )
    if (definition) {
      await create({ client, kinds }, definition as CustomResourceDefinition & AnyObject, () => [])
      resource = await kinds.find(object)
    }
  }
  if (!resource) {
    throw new TypeError(
      `Cannot create ${kind} "${metadata.name}": the world does not serve ${apiVersion} ${kind}, and no controller of the operator defines it; give its CustomResourceDefinition before it: world(app, { objects: [definition, object] })`,
    )
  }
  await client.create(resource, object)
}

/** What a world watches of a controller. */
function watchedOf(controller: Controller): Watched {
  return {
    idle: () => controller.idle,
    busyWith: () =>
      controller.running.length > 0
        ? controller.running.map((key) => `the controller "${controller.name}" reconciles "${key}"`)
        : [`the controller "${controller.name}" has keys that wait, or events that are being mapped`],
  }
}

/** A small generator of good enough numbers (mulberry32), so that a seed repeats a run. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
