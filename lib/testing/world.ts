/** A whole operator in memory: the embedded API, the control loops of a cluster, and a clock that the test advances. */
import {
  Api, KubeClient, startOperator,
  type Client, type Duration, type Log, type Operator, type Transport,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { toMs } from '../core/duration.ts'
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
  const client = new KubeClient({ api: new Api({ transport: server.handle }), fieldManager: 'test', fieldValidation: 'Strict' })
  for (const object of objects) await create(server.handle, object)

  const stopping = new AbortController()
  const collector = new GarbageCollector({ transport: activity.counting(server.handle), clock, log })
  activity.watch(() => collector.idle)
  const running: Promise<void>[] = [activity.guard(collector.start(stopping.signal))]
  for (let replica = 0; replica < replicas; replica++) {
    const start = startOperator(operator.description, stopping.signal, {
      transport: activity.counting(faults.transport),
      clock,
      random,
      log,
      crds: 'install',
      freeze: true,
      fieldValidation: 'Strict',
      ...(replicas > 1 ? {} : { leaderElection: false }),
      onAssembled: ({ controllers }) => activity.watch(() => controllers.every((controller) => controller.idle)),
    })
    running.push(activity.guard(start))
  }
  const stop = async (): Promise<void> => {
    stopping.abort(new DOMException('The test has ended', 'AbortError'))
    // Draining may wait for timers of the fake clock; what does not end within the longest grace is a hang.
    const ended = Promise.all(running).then(() => true)
    while (!(await Promise.race([ended, nextTurn().then(() => false)]))) if (clock.pending > 0) await clock.advance(100)
  }
  await activity.rest()
  return {
    client,
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

async function create(handle: Transport, object: object): Promise<void> {
  const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: { namespace?: string; name?: string } }
  const api = new Api({ transport: handle })
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
  const list = (await api.raw({ method: 'GET', path: group ? `/apis/${apiVersion}` : `/api/${apiVersion}`, headers: { accept: 'application/json' } }, `find ${kind}`)) as {
    resources: { name: string; kind: string; namespaced: boolean }[]
  }
  const found = list.resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))
  if (!found) throw new TypeError(`Cannot create ${kind} "${metadata.name}": the world does not serve ${apiVersion} ${kind} before the operator has installed its CRDs`)
  const resource = { group, version: apiVersion.slice(group ? group.length + 1 : 0), kind, plural: found.name, scope: found.namespaced ? ('Namespaced' as const) : ('Cluster' as const) }
  await api.create({ resource, namespace: found.namespaced ? metadata.namespace : undefined }, object, { fieldManager: 'test' })
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
