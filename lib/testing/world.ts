/** A whole operator in memory: the embedded API, the control loops of a cluster, and a clock that the test advances. */
import { Cluster, type Client, type Log, type Operator, type OtherCluster, type Transport } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { toMs, type Duration } from '../core/duration.ts'
import type { KubeObject } from '../core/objects.ts'
import type { HttpRequest } from '../core/transport.ts'
import { silentLog } from '../observe/log.ts'
import { nextTurn } from '../runtime/turn.ts'
import { GarbageCollector } from '../simcluster/garbage_collector.ts'
import { FakeClock } from './fake_clock.ts'
import { faultyTransport, type Fault } from './faults.ts'

export interface WorldOptions {
  /** Created before the operator starts, in this order. Each has apiVersion, kind and metadata. */
  objects?: readonly object[]
  /** How many replicas of the operator run. Default: 1. */
  replicas?: number
  /** What is random in the run is random in the same way for the same seed. Default: 1. */
  seed?: number
  /** Default: none. */
  log?: Log
}

export interface World extends AsyncDisposable {
  /** A cluster administrator's, past every fault. */
  readonly client: Client
  /** The same for another cluster of the operator, which is a world of its own. */
  clientOf(cluster: OtherCluster): Client
  readonly clock: FakeClock
  /** Waits until no key is queued or in work and no request is under way. Rejects with what ended the operator, if it ended. */
  settle(): Promise<void>
  /** Lets time pass; what becomes due happens in order, each thing when the one before has settled. */
  advance(time: Duration): Promise<void>
  /** Makes requests of the operator fail. */
  fault(fault: Fault): void
  /** Stops the operator and waits for its end. */
  stop(): Promise<void>
}

/** After so many turns of the event loop without rest something goes in circles. */
const MOST_TURNS = 20_000
/** Work passes between parts by promises and turns; when nothing was seen for so many turns, there is none. */
const QUIET_TURNS = 5

/**
 * Starts an operator in a world of its own, and settles when it has come to rest.
 *
 * @example
 * ```ts
 * import { world } from 'kubeloop/testing'
 * import app, { Foo } from './sample_controller.ts'
 *
 * const w = await world(app)
 * await w.client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
 * await w.settle()
 * await w.stop()
 * ```
 */
export async function world(operator: Operator, options: WorldOptions = {}): Promise<World> {
  const { replicas = 1, seed = 1, log = silentLog, objects = [] } = options
  const activity = new Activity()
  const random = seededRandom(seed)
  const clock: FakeClock = new FakeClock({ settle: () => activity.rest() })
  const server = new ApiServer({ clock, random })
  const faults = faultyTransport(server.handle, clock)
  const admin = (handle: Transport): Cluster => new Cluster({ transport: handle, name: 'test', fieldValidation: 'Strict', clock, random })
  const { client, kinds } = admin(server.handle)
  for (const object of objects) await create({ client, kinds }, object as AnyObject)
  const others = new Map(operator.description.clusters.map(({ name }) => [name, new ApiServer({ clock, random })]))

  const stopping = new AbortController()
  const collector = new GarbageCollector({ transport: activity.counting(server.handle), clock, log })
  activity.watch(() => collector.idle)
  const running: Promise<void>[] = [activity.guard(collector.start(stopping.signal))]
  for (let replica = 0; replica < replicas; replica++) {
    const start = operator.start(stopping.signal, {
      instance: `replica-${replica}`,
      transport: activity.counting(faults.transport),
      transports: Object.fromEntries([...others].map(([name, other]) => [name, activity.counting(other.handle)])),
      clock,
      random,
      log,
      crds: 'install',
      freeze: true,
      fieldValidation: 'Strict',
      serves: false,
      ...(replicas > 1 ? {} : { leaderElection: false }),
      onAssembled: ({ controllers }) => activity.watch(() => [...controllers.values()].every((controller) => controller.idle)),
    })
    running.push(activity.guard(start))
  }
  const stop = async (): Promise<void> => {
    stopping.abort(new DOMException('The test has ended', 'AbortError'))
    // Draining may wait for timers of the fake clock; what does not end within the longest grace is a hang.
    const ended = Promise.all(running).then(() => true)
    while (!(await Promise.race([ended, nextTurn().then(() => false)]))) if (clock.pending > 0) await clock.advance(100)
  }
  try {
    await activity.rest()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    client,
    clientOf({ name }) {
      const other = others.get(name)
      if (!other) throw new TypeError(`Cannot use the cluster "${name}": the operator has none of that name`)
      return admin(other.handle).client
    },
    clock,
    settle: () => activity.rest(),
    advance: (time) => clock.advance(toMs(time)),
    fault: (fault) => faults.add(fault),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** What is under way: requests, and whatever says that it is busy. */
class Activity {
  #requests = 0
  /** Counts every request, so that work that begins and ends between two looks is seen. */
  #seen = 0
  readonly #idle: (() => boolean)[] = []
  #failure: { readonly error: unknown } | undefined

  watch(idle: () => boolean): void {
    this.#idle.push(idle)
  }

  /** Remembers what ended a part before its time. */
  guard(part: Promise<void>): Promise<void> {
    return part.catch((error: unknown) => void (this.#failure = { error }))
  }

  /** A watch is under way until its head has come; others until their whole answer was read. */
  counting(inner: Transport): Transport {
    return async (request: HttpRequest) => {
      this.#requests++
      this.#seen++
      try {
        return await inner(request)
      } finally {
        this.#requests--
      }
    }
  }

  async rest(): Promise<void> {
    let quiet = 0
    for (let turns = 0; quiet < QUIET_TURNS; turns++) {
      if (this.#failure) throw this.#failure.error
      if (turns > MOST_TURNS) throw new Error(`Cannot settle: after ${turns} turns of the event loop there is still work; does a reconcile change what causes it?`)
      const seen = this.#seen
      await nextTurn()
      quiet = this.#requests === 0 && this.#seen === seen && this.#idle.every((idle) => idle()) ? quiet + 1 : 0
    }
  }
}

type AnyObject = KubeObject & { readonly metadata: { readonly namespace?: string } }

async function create({ client, kinds }: Pick<Cluster, 'client' | 'kinds'>, object: AnyObject): Promise<void> {
  const { apiVersion, kind, metadata } = object
  const resource = await kinds.find({ apiVersion, kind })
  if (!resource) throw new TypeError(`Cannot create ${kind} "${metadata.name}": the world does not serve ${apiVersion} ${kind} before the operator has installed its CRDs`)
  await client.create(resource, object)
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
