/** Runs replicas of several operators in one set of clusters, each with a clock of its own, and observes them. */
import type { AnyResource, Client, KubeObject, Log, Operator, OtherCluster, Transport } from 'kubeloop'
import { Lease } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import type { Clock } from '../../lib/async/clock.ts'
import { sleep } from '../../lib/async/clock.ts'
import { type RequestedAction, requestedAction, splitTarget } from '../../lib/core/requested_action.ts'
import { Activity } from '../../lib/testing/world/activity.ts'
import { type Fault, makeFaults } from '../../lib/testing/world/faults.ts'
import { createObjects } from '../../lib/testing/world/initial_objects.ts'
import { seededRandom } from '../../lib/testing/world/random.ts'
import { callIn, type Replica } from '../../lib/testing/world/replica.ts'
import { Services } from '../../lib/testing/world/services.ts'
import { startReplica } from '../../lib/testing/world/start_replica.ts'
import { Trace } from '../../lib/testing/world/trace.ts'
import { WorldClusters } from '../../lib/testing/world/world_clusters.ts'
import { accountOf, type TrialAccount } from '../../lib/rights/trial.ts'
import { rolesOf } from '../../lib/rights/account.ts'
import type { Rule } from '../../lib/rights/rules.ts'
import { SHARD, type Sharded, Sharder } from './sharder.ts'
import { Wire } from './wire.ts'

/** A request of a replica that changes something. */
export interface ObservedWrite extends RequestedAction {
  readonly replica: number
  readonly cluster: string | null
  readonly fieldManager: string
}

export interface StageOptions {
  readonly seed: number
  readonly objects: readonly object[]
  /** Any of the operators: all have the same clusters and kinds. */
  readonly app: Operator
  /** What its functions do beside what its description says; then it has an account with these and the printed rights. */
  readonly rules: readonly Rule[] | undefined
  /** What a ring distributes, by a sharder; undefined without one. */
  readonly sharded: readonly Sharded[] | undefined
  /** Called when a live shard gives an object up. */
  onReleased(shard: string, object: KubeObject): void
  onWrite(write: ObservedWrite): void
  onProblem(text: string): void
  /** Called when a replica has ended with an error. */
  onEnd(error: unknown): void
  /** Returns the log of a replica; undefined: of the world. */
  logOf(replica: number | undefined): Log
}

/** What a replica may hold while it is at rest: each is far more than a drawn operator needs. */
const MAX_TIMERS = 40
/** The timers and connections of a replica that has ended are gone after this time. */
const ENDED_MS = 5000

interface Running {
  readonly replica: Replica
  /** Ends it as SIGTERM does. */
  readonly stop: () => void
}

/** The running replicas; a deletion is the end of one. */
class Known extends Map<Replica, () => void> {
  onEnd: (replica: Replica) => void = () => {}

  override delete(replica: Replica): boolean {
    this.onEnd(replica)
    return super.delete(replica)
  }
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection']
/** Requests that every replica sends, or that a lease does not fence: of elections, definitions, webhooks and Events. */
const BESIDE = ['coordination.k8s.io', 'apiextensions.k8s.io', 'admissionregistration.k8s.io', 'events.k8s.io']

const SHARDER_URL = 'https://sharder.example/'

/** Returns the configuration of the webhook: it is called for objects that have no shard, or had none. */
function sharderWebhook(kinds: readonly Sharded[]): object {
  const rules = kinds.map(({ resource: { group, version, plural } }) => ({
    ...{ apiGroups: [group], apiVersions: [version], resources: [plural], operations: ['CREATE', 'UPDATE'] },
  }))
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'sharder' },
    webhooks: [{
      ...{ name: 'assign.sharder.example', clientConfig: { url: SHARDER_URL }, rules, failurePolicy: 'Ignore' },
      ...{ sideEffects: 'None', admissionReviewVersions: ['v1'] },
      objectSelector: { matchExpressions: [{ key: SHARD, operator: 'DoesNotExist' }] },
    }],
  }
}

const MEDDLER_URL = 'https://meddler.example/'
/** A webhook of others, which changes each Service. */
export const MEDDLER = {
  metadata: { name: 'meddler' },
  webhooks: [{
    ...{ name: 'services.meddler.example', clientConfig: { url: MEDDLER_URL }, sideEffects: 'None' },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['services'], operations: ['CREATE', 'UPDATE'] }],
    admissionReviewVersions: ['v1'],
  }],
}

function meddle(body: string): { readonly status: number; readonly body: string } {
  const review = JSON.parse(body)
  const labels = { ...review.request.object.metadata.labels, meddled: 'yes' }
  const patch = btoa(JSON.stringify([
    { op: 'add', path: '/metadata/labels', value: labels },
    { op: 'add', path: '/spec/ports/0/name', value: 'web' },
  ]))
  const response = { uid: review.request.uid, allowed: true, patchType: 'JSONPatch', patch }
  return { status: 200, body: JSON.stringify({ ...review, request: undefined, response }) }
}

export class Stage {
  readonly clock: FakeClock
  readonly #options: StageOptions
  readonly #random: () => number
  readonly #faults: ReturnType<typeof makeFaults>
  readonly #activity: Activity
  readonly #trace: Trace
  readonly #clusters: WorldClusters
  readonly #account: TrialAccount | undefined
  /** That of the ring. */
  readonly sharder: Sharder | undefined
  readonly #known = new Known()
  readonly #replicas = new Map<number, Running>()
  readonly #end = new AbortController()
  /** How far the clock of a replica is ahead, in milliseconds. */
  readonly #skews = new Map<number, number>()
  /** Until when a replica is suspended, by the clock of the world. */
  readonly #asleep = new Map<number, number>()
  /** The requests and answers that a suspension or a slow network holds. */
  #held = 0
  /** An answer that was held makes a client wait for longer than the fault that it carries says. */
  #wasSlow = false
  /** When a cluster was set back, by the clock of the world: before, versions go up, and a leader knows its Lease. */
  restoredMs = -Infinity
  /** What each replica, also one that has ended, sends and receives. */
  readonly #wires = new Map<number, Wire>()
  /** The pending timers of each replica. */
  readonly #timers = new Map<number, Set<object>>()
  /** When a replica ended, other than by a kill; when it was told to stop. */
  readonly #ended = new Map<number, number>()
  readonly #stopping = new Set<number>()
  #started = 0
  #nextStart = new AbortController()

  constructor(options: StageOptions) {
    this.#options = options
    const { app, seed } = options
    const log = options.logOf(undefined)
    const random = this.#random = seededRandom(seed)
    const clock = this.clock = new FakeClock({ settle: () => this.#activity.rest() })
    this.#trace = new Trace(clock)
    const faults = this.#faults = makeFaults(clock, app.description.clusters.map(({ name }) => name))
    const activity = this.#activity = new Activity(faults, () => this.#end.abort())
    const { description } = app
    this.#known.onEnd = ({ number, isKilled }) => {
      this.#replicas.delete(number)
      this.#stopping.delete(number)
      if (!isKilled) this.#ended.set(number, clock.monotonic())
    }
    const account = this.#account = options.rules && accountOf(description, undefined)
    this.#clusters = new WorldClusters({
      ...{ description, clock, random, log, faults, activity, recorder: undefined, account },
      trace: this.#trace,
      callWebhook: async (address, body, { signal }) =>
        address.url === SHARDER_URL
          ? this.sharder!.review(body)
          : address.url === MEDDLER_URL
          ? meddle(body)
          : await callIn([...this.#known.keys()], address, body, signal),
      signal: this.#end.signal,
    })
    const { sharded, onReleased } = options
    const { client } = this.#clusters.main.admin
    this.sharder = sharded && new Sharder({ client, clock, kinds: sharded, onReleased })
  }

  async open(): Promise<void> {
    const { objects, rules, sharded } = this.#options
    await this.#clusters.open([...objects, ...(sharded ? [sharderWebhook(sharded)] : [])])
    for (const cluster of this.#account ? [undefined, { name: 'west' } as OtherCluster] : []) {
      const { name, namespace } = this.#account!
      const roles = rolesOf(name, namespace, { everywhere: rules!, inNamespaces: new Map() }, `${name}-code`)
      await createObjects(this.#clusters.of(cluster).admin, roles, () => [])
    }
    // The work of a suspended replica waits for the clock.
    this.#activity.run(async (watch) => {
      watch({
        idle: () => true,
        busyWith: () => [],
        waits: () => this.#held > 0 || this.#wasSlow || this.running.some((each) => this.#sleepMs(each) > 0),
      })
      watch({ idle: () => this.sharder?.isBusy !== true, busyWith: () => ['the sharder works'] })
      this.sharder?.start(this.#end.signal)
      await new Promise<void>((resolve) => this.#end.signal.addEventListener('abort', () => resolve()))
    })
  }

  clientOf(cluster: OtherCluster | undefined): Client {
    return this.#clusters.of(cluster).admin.client
  }

  /** Returns a connection of an administrator. */
  connectionTo(cluster: OtherCluster | undefined): Transport {
    return this.#clusters.of(cluster).server.handle
  }

  get running(): readonly number[] {
    return [...this.#replicas.keys()]
  }

  get leader(): number | undefined {
    return this.#leaders[0]
  }

  /** Whether a replica was stopped for a time: its runs go on then, without its Leases. */
  wasSuspended(number: number): boolean {
    return this.#asleep.has(number)
  }

  /** Returns the labels of an object in the cache of a replica. */
  cachedLabels(number: number, resource: AnyResource, key: string): Readonly<Record<string, string>> {
    const { cluster } = this.#replicas.get(number)?.replica.parts ?? {}
    const informers = cluster?.cache.informersOf(resource) ?? []
    return informers.map(({ store }) => store.get(key)).find((each) => each)?.metadata.labels ?? {}
  }

  /** Returns how the caches of a replica differ from what they select of the objects of a kind in a cluster. */
  async differences(number: number, resource: AnyResource, cluster: OtherCluster | undefined): Promise<string[]> {
    const { parts } = this.#replicas.get(number)!.replica
    const { cache } = (cluster ? parts?.clusterOf(cluster) : parts?.cluster) ?? {}
    const informers = cache?.informersOf(resource) ?? []
    if (informers.length === 0) return []
    const objects = await this.clientOf(cluster).list<KubeObject>(resource as never).catch(() => undefined)
    // A restore may take a definition away. What is cached then stays, as when a server cannot be reached.
    if (!objects && this.restoredMs > -Infinity) return []
    const textOf = ({ metadata: { namespace, name, resourceVersion } }: Pick<KubeObject, 'metadata'>): string =>
      `${namespace}/${name}@${resourceVersion}`
    return informers.flatMap((informer) => {
      const wanted = objects?.filter(({ metadata }) => informer.selects(metadata) ?? true).map(textOf).sort().join() ??
        ''
      const found = [...informer.store.values()].map(textOf).sort().join()
      const isRight = found === wanted && (informer.isSynced || !objects)
      return isRight ? [] : [`replica ${number} has cached ${informer.title} as [${found}], and they are [${wanted}]`]
    })
  }

  /** Whether a replica leads, and no other one believes the same, such as one that was suspended. */
  leadsAlone(number: number): boolean {
    return this.#leaders.join() === String(number)
  }

  get #leaders(): readonly number[] {
    return this.running.filter((number) => this.#replicas.get(number)!.replica.parts?.manager.isElected)
  }

  fault(fault: Fault): void {
    const added = this.#faults.add(fault)
    for (const replica of this.#known.keys()) replica.endWatches(added)
  }

  compact(cluster: OtherCluster | undefined): void {
    this.#clusters.of(cluster).server.compact()
  }

  /** Returns what sets a cluster back to its state of now. */
  backup(cluster: OtherCluster | undefined): () => void {
    const restore = this.#clusters.backup([this.#clusters.of(cluster)])
    return () => {
      restore()
      this.restoredMs = this.clock.monotonic()
    }
  }

  /** Aborted when a process starts. */
  get nextStart(): AbortSignal {
    return this.#nextStart.signal
  }

  closeWatches(cluster: OtherCluster | undefined): void {
    this.#clusters.of(cluster).server.closeWatches()
  }

  /** Sets how far the clock of a replica is ahead of the world's. */
  skew(number: number, ms: number): void {
    this.#skews.set(number, ms)
  }

  /** Stops a process for a time, as SIGSTOP or a suspended machine do: it sends and gets nothing, no timer fires. */
  suspend(number: number, ms: number): void {
    this.#asleep.set(number, this.clock.monotonic() + ms)
  }

  #sleepMs(number: number): number {
    return (this.#asleep.get(number) ?? 0) - this.clock.monotonic()
  }

  async #awake(number: number): Promise<void> {
    await this.hold(this.#wires.get(number)!.delayMs())
    for (let ms = this.#sleepMs(number); ms > 0; ms = this.#sleepMs(number)) await this.hold(ms)
  }

  /** Takes some time for which the world is not at rest. */
  async hold(ms: number): Promise<void> {
    if (ms <= 0) return
    this.#held++
    await sleep(this.clock, ms)
    this.#held--
  }

  /** Delays each request and each answer of a replica by up to `maxMs`, so that those of two connections pass each other. */
  slow(number: number, maxMs: number, until: AbortSignal): void {
    const wire = this.#wires.get(number)
    if (!wire) return
    this.#wasSlow = true
    const delay = { maxMs }
    wire.delays.add(delay)
    until.addEventListener('abort', () => wire.delays.delete(delay), { once: true })
  }

  /** Delays each part of each watch of the replicas that do not lead. */
  lagStandbys(ms: number, until: AbortSignal): void {
    for (const number of this.running.filter((each) => each !== this.leader)) {
      const wire = this.#wires.get(number)!
      wire.lagMs = ms
      until.addEventListener('abort', () => (wire.lagMs = 0), { once: true })
    }
  }

  /** Garbles the next bytes that a replica receives on an open watch, or of the next answer to another request. */
  garble(number: number, what: 'watch' | 'answer', until: AbortSignal): void {
    const wire = this.#wires.get(number)
    if (!wire) return
    wire.garbled = what
    until.addEventListener('abort', () => (wire.garbled = undefined), { once: true })
  }

  /** Reports what replicas hold that they should not, when the operator is at rest. */
  checkHeld(): void {
    const report = this.#options.onProblem
    for (const [number, wire] of this.#wires) {
      const timers = this.#timers.get(number)!.size
      const endedMs = this.#ended.get(number)
      const isRunning = this.#replicas.has(number)
      if (isRunning) {
        for (const path of wire.doubled()) report(`replica ${number} watches ${path} more than once`)
        if (timers > MAX_TIMERS) report(`replica ${number} holds ${timers} timers`)
        if (this.#stopping.has(number)) report(`replica ${number} does not stop`)
      } else if (endedMs !== undefined && endedMs + ENDED_MS < this.clock.monotonic()) {
        if (timers > 0) report(`replica ${number} has ended, and holds ${timers} timers`)
        if (wire.open.length > 0) report(`replica ${number} has ended, and reads ${wire.open.join()}`)
      }
    }
  }

  /** Returns what the probes of a replica answer, other than that it is alive and ready. */
  async unhealthy(number: number): Promise<readonly string[]> {
    const { health } = this.#replicas.get(number)!.replica.parts ?? {}
    const wrong: string[] = []
    for (const path of health ? ['/healthz', '/readyz'] : []) {
      const response = await health!.fetch(new Request(`http://localhost${path}`))
      const text = await response.text()
      if (response.status !== 200) wrong.push(`${path} of replica ${number} answers ${response.status}: ${text}`)
    }
    return wrong
  }

  /** Returns a signal that is aborted after a time. */
  after(ms: number): AbortSignal {
    const ended = new AbortController()
    this.clock.after(ms, () => ended.abort())
    return ended.signal
  }

  /** Returns the number of the next replica, for {@link start}. */
  get next(): number {
    return this.#started
  }

  start(app: Operator, replicas: number): void {
    const number = this.#started++
    this.#nextStart.abort()
    this.#nextStart = new AbortController()
    const timers = new Set<object>()
    this.#timers.set(number, timers)
    const clock: Clock = {
      now: () => this.clock.now() + (this.#skews.get(number) ?? 0),
      monotonic: () => this.clock.monotonic(),
      after: (ms, fire) => {
        const timer = {}
        if (ms !== Infinity) timers.add(timer)
        const late = (): void => {
          const left = this.#sleepMs(number)
          if (left > 0) return void (cancel = this.clock.after(left, late))
          timers.delete(timer)
          fire()
        }
        let cancel = this.clock.after(ms, late)
        return () => {
          timers.delete(timer)
          cancel()
        }
      },
    }
    const wire = new Wire(seededRandom(this.#options.seed + number), (ms) => this.hold(ms))
    this.#wires.set(number, wire)
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, this.#end.signal])
    const before = new Set(this.#known.keys())
    const { seed } = this.#options
    const log = this.#options.logOf(number)
    const connectionsOf: WorldClusters['connectionsOf'] = (replica) => {
      const { transport, transports = {}, connect, ...rest } = this.#clusters.connectionsOf(replica)
      const observed = (inner: Transport, cluster: string | null): Transport => async (request) => {
        if (this.#ended.has(number)) this.#options.onProblem(`replica ${number} has ended, and sends ${request.path}`)
        // Begun before a suspension: the fence was checked then.
        this.#observe(number, cluster, request.method, request.path)
        await this.#awake(number)
        request.signal?.throwIfAborted()
        const response = await inner(request)
        await this.#awake(number)
        // As a connection does that is closed while the answer is on its way.
        if (request.signal?.aborted) {
          response.body.cancel()
          throw request.signal.reason
        }
        return wire.receive(response, cluster, request)
      }
      return {
        ...rest,
        transport: observed(transport!, null),
        connect: (name) => observed(connect!(name)!, name),
        transports: Object.fromEntries(
          Object.entries(transports).map(([name, each]) => [name, observed(each, name)] as const),
        ),
      }
    }
    startReplica(number, {
      ...{ operator: app, replicas, seed, clock, random: this.#random, log, activity: this.#activity, signal },
      ...{ recorder: undefined, clusters: { connectionsOf }, running: this.#known, onRan() {} },
      services: new Services(this.#activity, this.#faults),
      trace: this.#trace,
    })
    const replica = [...this.#known.keys()].find((each) => !before.has(each))!
    this.#replicas.set(number, { replica, stop: () => stop.abort() })
  }

  stop(number: number): void {
    if (this.#replicas.has(number)) this.#stopping.add(number)
    this.#replicas.get(number)?.stop()
  }

  /** Ends it as SIGKILL does. */
  kill(number: number): void {
    const running = this.#replicas.get(number)
    if (!running) return
    running.replica.kill()
    this.#known.get(running.replica)?.()
    this.#known.delete(running.replica)
  }

  /** Lets time pass. A replica that loses its lease ends, as it must; its Deployment starts another: see `onEnded`. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.clock.monotonic() + ms
    for (;;) {
      try {
        await this.clock.advance(Math.max(0, untilMs - this.clock.monotonic()))
        return
      } catch (error) {
        this.#failed(error)
      }
    }
  }

  #failed(error: unknown): void {
    this.#activity.takeFailure()
    this.#options.onEnd(error)
    if (this.#end.signal.aborted || /^Error: Cannot settle/.test(String(error))) throw error
  }

  /** Ends all replicas, and checks that they end. */
  async close(): Promise<void> {
    this.#activity.stop()
    this.#end.abort()
    // An error of a replica ends a call.
    for (let tries = 0; tries < 12; tries++) {
      await this.advance(10_000).catch(() => {})
      this.checkHeld()
    }
    if (this.running.length > 0) this.#options.onProblem(`replicas ${this.running.join()} do not end within 2 minutes`)
  }

  #observe(replica: number, cluster: string | null, method: string, path: string): void {
    const { path: target, query } = splitTarget(path)
    const action = requestedAction(method, target, query)
    if (!action.isResource || !WRITES.includes(action.verb) || BESIDE.includes(action.group)) return
    this.#options.onWrite({ ...action, replica, cluster, fieldManager: query.get('fieldManager') ?? '' })
  }

  /** Returns who holds a lease now; empty if it was released, undefined before there is one. */
  async holder(name: string): Promise<string | undefined> {
    const lease = await this.clientOf(undefined).get(Lease, { namespace: 'a', name })
    return lease && (lease.spec?.holderIdentity ?? '')
  }
}
