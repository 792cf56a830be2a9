/**
 * Makes replicas share the keys of an operator by buckets, each with a Lease: without an engine, and without selectors,
 * so that each replica caches all objects.
 */
import { isReason, messageOf } from '../../core/errors.ts'
import type { Fence } from '../../core/fence.ts'
import { isDomainName } from '../../core/names.ts'
import type { Runnable } from '../../core/runnable.ts'
import { aborted, abortScope } from '../../async/abort.ts'
import { bothFences } from '../../async/both_fences.ts'
import { nextTurn, pause } from '../../async/clock.ts'
import { type Log, RateLimitedLog } from '../../observe/log.ts'
import { withVerbs } from '../../client/codec.ts'
import type { Informer, InformerOptions } from '../../cache/informer.ts'
import { expiresAtMs, LEASE, type Lease, type Observation, observe } from '../../leader/lease_state.ts'
import type { LeaderElector, LeaderElectorOptions } from '../../leader/leader_elector.ts'
import type { Cluster } from '../../manager/cluster.ts'
import type { RandomPartEnvironment } from '../../observe/environment.ts'
import {
  type ControllerDescription,
  controllerTitle,
  leaseOf,
  type OperatorDescription,
  timingsOf,
} from '../description/description.ts'
import { type Bucket, Gate } from './bucket_gate.ts'
import { type BucketInput, bucketInputs, bucketStep } from './bucket_state.ts'
import { checkBuckets } from './ring.ts'

/** The label of a replica's own Lease; its value is the name of the operator. */
const MEMBER_LABEL = 'kubeloop.dev/replica-of'
/** The annotations of that Lease: the number of buckets, whether the replica gives all of them up, its controllers. */
const [COUNT, STOPS, NAMES] = ['kubeloop.dev/buckets', 'kubeloop.dev/stops', 'kubeloop.dev/controllers']

/** How long after its end the Lease of a replica is deleted. */
const KEPT_MS = 5 * 60_000

/** What an assembled operator gives its buckets. */
export interface BucketsSetup extends RandomPartEnvironment {
  readonly clusters: { readonly main: Cluster; readonly all: readonly Cluster[] }
  readonly elect: (
    of: { readonly lease: string; readonly namespace: string },
    by: Pick<LeaderElectorOptions, 'hasEnded'> & { readonly log: Log },
  ) => LeaderElector
  /** How long the runs of a bucket that is given up may go on before they are aborted. */
  readonly graceMs: number
  /** That of the replica's own Lease. */
  readonly fence: Fence
  /** Makes an informer by the connection of the Leases. */
  readonly inform: (options: Pick<InformerOptions, 'resource' | 'namespace' | 'labels'>) => Informer
}

/** What an operator has whose replicas share buckets. */
export interface BucketParts {
  readonly sharded: OperatorDescription
  /** Of the replica's own Lease. */
  readonly annotations: Readonly<Record<string, string>>
  readonly buckets: (setup: BucketsSetup) => Buckets
}

/**
 * Returns the parts of a replica that shares buckets. `start`: as in `StartOptions`.
 *
 * @throws TypeError if buckets cannot distribute what the operator does, or the name does not fit into a Lease.
 */
export function bucketsOf(
  description: OperatorDescription,
  start: { readonly identity?: string | undefined; readonly instance: string },
): BucketParts {
  checkBuckets(description)
  const { options } = description
  const own = typeof options.leaderElection === 'object' ? options.leaderElection : {}
  const identity = start.identity ?? own.identity ?? start.instance
  const lease = `${options.name}-replica-${identity}`
  if (!isDomainName(lease) || lease.length > 253) {
    throw new TypeError(
      `Cannot shard operator "${options.name}": "${identity}" is part of the name of its Lease: lower-case letters, ` +
        'digits, dashes and dots; state leaderElection.identity instead of the name of the host',
    )
  }
  const labels = { [MEMBER_LABEL]: options.name }
  const annotations: Record<string, string> = { [COUNT]: String(options.sharding!.buckets), [STOPS]: 'false' }
  const ours = description.controllers.filter((each) => !each.options.everyReplica)
  annotations[NAMES] = ours.map(controllerTitle).join()
  const sharded = { ...description, options: { ...options, leaderElection: { ...own, lease, identity, labels } } }
  return {
    sharded,
    annotations,
    buckets: (setup: BucketsSetup): Buckets => new Buckets(sharded, identity, annotations, setup),
  }
}

/** The Lease of a replica. */
type Member = Observation & {
  readonly count: string | undefined
  /** A controller of this replica that it does not have. */
  readonly lacks: string | undefined
  readonly stops: boolean
  readonly resourceVersion: string
}

export class Buckets implements Runnable {
  readonly name = 'buckets'
  readonly #operator: string
  readonly #self: string
  readonly #annotations: Record<string, string>
  readonly #setup: BucketsSetup
  readonly #periodMs: number
  readonly #namespace: string
  readonly #labels: string
  readonly #buckets: readonly Bucket[]
  readonly #gates: Gate[] = []
  readonly #members = new Map<string, Member>()
  readonly #elections = new Set<Promise<void>>()
  /** Buckets whose keys wait for the caches. */
  readonly #pending = new Set<Bucket>()
  #isOpening = false
  readonly #failureLog: RateLimitedLog
  /** Of the terms that began while all live replicas had this number of buckets. */
  readonly #alone = new WeakSet<Fence>()
  /** Whether the replicas are known. */
  #isListed = false
  /** Whether it waits for replicas with another number of buckets. */
  #isWaiting = false
  #gaveUpMs = -Infinity
  #stops = false

  constructor(
    { options }: OperatorDescription,
    self: string,
    annotations: Record<string, string>,
    setup: BucketsSetup,
  ) {
    this.#operator = options.name
    this.#self = self
    this.#annotations = annotations
    this.#setup = setup
    this.#failureLog = new RateLimitedLog(setup.clock, setup.log)
    this.#labels = `${MEMBER_LABEL}=${options.name}`
    this.#periodMs = timingsOf(options.leaderElection).retryPeriodMs
    this.#namespace = leaseOf(options, setup.clusters.main.config?.namespace).namespace ?? 'default'
    this.#buckets = Array.from({ length: options.sharding!.buckets! }, () => ({
      phase: 'free',
      isOpen: false,
      running: 0,
      fence: undefined,
      stop: new AbortController(),
    }))
  }

  /** Returns what lets a controller work on open buckets alone; undefined for one of every replica. */
  gateOf(description: ControllerDescription): Gate | undefined {
    if (description.options.everyReplica) return undefined
    const gate = new Gate(description, this.#buckets, this.#setup, () => this.#evaluate())
    this.#gates.push(gate)
    return gate
  }

  /** Takes and gives up buckets. A stop gives all of them up, each when its runs have ended. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, fence } = this.#setup
    // Without its own Lease the replica ends at once, and sends nothing more.
    const [work, watch] = [abortScope(signal, fence.signal), abortScope(fence.signal)]
    const watching = this.#watchMembers(watch.signal)
    // Not a race with each pause: the watch would hold all of them until its end.
    watching.catch(work.abort)
    void aborted(fence.signal).then(() => this.#buckets.forEach(({ stop }) => stop.abort(RELEASED)))
    try {
      while (!work.signal.aborted) {
        this.#evaluate()
        this.#openSoon()
        await pause(clock, this.#periodMs, work.signal)
      }
      if (!signal.aborted && !fence.signal.aborted) await watching
      this.#stops = true
      this.#annotations[STOPS] = 'true'
      this.#evaluate()
      while (this.#elections.size > 0) await Promise.all(this.#elections)
    } finally {
      watch.abort(RELEASED)
      await watching
      for (const scope of [work, watch]) scope[Symbol.dispose]()
    }
  }

  /** None: what a stop waits for are the reconciles of the controllers. */
  working(): readonly string[] {
    return []
  }

  #note({ metadata: { name, annotations, resourceVersion }, spec = {} }: Lease): void {
    const before = this.#members.get(name)
    const seen = observe(before, spec, this.#setup.clock.monotonic())
    const stops = annotations?.[STOPS] === 'true'
    const theirs = annotations?.[NAMES]?.split(',')
    const lacks = theirs && this.#annotations[NAMES]?.split(',').find((each) => !theirs.includes(each))
    if (lacks !== undefined && lacks !== before?.lacks && spec.holderIdentity) {
      const why = `it is of another release, or of another operator with the name "${this.#operator}"`
      this.#setup.log.warn(
        `"${spec.holderIdentity}" has no controller "${lacks}", whose keys wait in its buckets: ${why}`,
      )
    }
    this.#members.set(name, { ...seen, count: annotations?.[COUNT], lacks, stops, resourceVersion })
  }

  /** Reads the Leases of all replicas, as the watch may be late. */
  async #readMembers(signal: AbortSignal): Promise<void> {
    const target = { resource: LEASE, namespace: this.#namespace }
    const { items } = await this.#setup.clusters.main.leaseApi.listPage(target, { labels: this.#labels }, signal)
    for (const lease of items) this.#note(lease)
  }

  /** Follows the Leases of all replicas. */
  async #watchMembers(signal: AbortSignal): Promise<void> {
    const labels = this.#labels
    const informer = this.#setup.inform({ resource: LEASE, namespace: this.#namespace, labels })
    const { synced } = informer.addHandler(({ kind, object }) => {
      if (kind === 'deleted') this.#members.delete(object.metadata.name)
      else this.#note(object)
      this.#evaluate()
    })
    synced(signal).then(() => {
      this.#isListed = true
      this.#evaluate()
    }, () => {})
    await informer.start(signal)
  }

  /** Returns the replicas that hold their Lease; undefined while one of them has another number of buckets. */
  #live(): string[] | undefined {
    const nowMs = this.#setup.clock.monotonic()
    const live = new Set<string>()
    for (const [name, member] of this.#members) {
      const { holderIdentity } = member.record
      const isExpired = nowMs >= expiresAtMs(member)
      if (isExpired && this.#buckets[0]!.isOpen) void this.#forget(name, member, nowMs - expiresAtMs(member))
      if (!holderIdentity || isExpired || holderIdentity === this.#self) continue
      if (member.count !== this.#annotations[COUNT]) {
        if (!this.#isWaiting) {
          const text = `Taking no buckets while "${holderIdentity}" has another number of buckets`
          this.#setup.log.warn(`${text} (${member.count}, here ${this.#annotations[COUNT]})`)
        }
        this.#isWaiting = true
        return undefined
      }
      if (!member.stops) live.add(holderIdentity)
    }
    this.#isWaiting = false
    if (!this.#stops) live.add(this.#self)
    return [...live]
  }

  /**
   * Returns whether a replica's own Lease has expired. Then it writes nothing, and renews no Lease of a bucket.
   * The watch may be late, so the Lease is read from the server: its record must be the one that has expired here.
   */
  async #hasEnded(holder: string, signal: AbortSignal): Promise<boolean> {
    const { clock, clusters: { main } } = this.#setup
    const name = `${this.#operator}-replica-${holder}`
    const member = this.#members.get(name)
    if (!member || clock.monotonic() < expiresAtMs(member)) return false
    const { spec = {} } =
      (await main.leaseApi.get({ resource: LEASE, namespace: this.#namespace, name }, signal)) as Lease
    return observe(member, spec, clock.monotonic()) === member
  }

  #evaluate(): void {
    const { clock } = this.#setup
    const inputs = bucketInputs(this.#buckets.map(({ phase }) => phase), {
      ...{ self: this.#self, members: this.#isListed ? this.#live() : undefined, stops: this.#stops },
      ...{ nowMs: clock.monotonic(), gaveUpMs: this.#gaveUpMs, periodMs: this.#periodMs },
    })
    inputs.forEach((input, at) => {
      if (input) this.#take(at, input)
      if (this.#buckets[at]!.running === 0) this.#take(at, 'idle')
      // One that hangs must not keep the other keys of its bucket. A stop has a grace period of its own.
      else if (!this.#stops && clock.monotonic() - this.#gaveUpMs >= this.#setup.graceMs) this.#take(at, 'overdue')
    })
  }

  #take(at: number, input: BucketInput): void {
    const bucket = this.#buckets[at]!
    const [phase, effect] = bucketStep(bucket.phase, input)
    bucket.phase = phase
    switch (effect) {
      case 'take': {
        bucket.stop = new AbortController()
        const election: Promise<void> = this.#elect(at, bucket).finally(() => this.#elections.delete(election))
        this.#elections.add(election)
        break
      }
      case 'open':
        this.#pending.add(bucket)
        this.#openSoon()
        break
      case 'close':
        bucket.isOpen = false
        if (input === 'unwanted') this.#gaveUpMs = this.#setup.clock.monotonic()
        for (const gate of this.#gates) gate.drop(at)
        break
      case 'release':
        bucket.stop.abort(RELEASED)
    }
  }

  /** Holds the Lease of a bucket until that is released or lost. Never rejects. */
  async #elect(at: number, bucket: Bucket): Promise<void> {
    const { log } = this.#setup
    const { stop } = bucket
    const of = { lease: `${this.#operator}-bucket-${at}`, namespace: this.#namespace }
    // All are late at once.
    const limited: Log = { ...log, warn: (...line) => this.#failureLog.warn(...line) }
    const elector = this.#setup.elect(of, { hasEnded: (...by) => this.#hasEnded(...by), log: limited })
    let both: (Fence & Disposable) | undefined
    const lead = (fence: Fence): void => {
      bucket.fence = both = bothFences(this.#setup.fence, fence)
      this.#take(at, 'acquired')
    }
    try {
      const mayRelease = (): boolean => bucket.running === 0 && !this.#setup.fence.signal.aborted
      await elector.start(stop.signal, lead, { mayRelease })
    } catch (error) {
      log.warn(`Bucket ${at} is lost, and its runs are aborted: ${messageOf(error)}`)
    }
    stop.abort(RELEASED)
    bucket.fence = undefined
    this.#take(at, 'ended')
    both?.[Symbol.dispose]()
  }

  #openSoon(): void {
    if (this.#pending.size > 0 && !this.#isOpening) void this.#open()
  }

  /**
   * Lets the keys of taken buckets run, when the caches have what their last holders have written, and no live replica
   * has another number of buckets: that is asked once a term, and else later. Never rejects.
   */
  async #open(): Promise<void> {
    const { clusters, fence: { signal } } = this.#setup
    this.#isOpening = true
    const late = new Set<Bucket>()
    // Those of one turn share the lists.
    await nextTurn()
    while (this.#pending.size > 0) {
      const terms = [...this.#pending].flatMap((bucket) => bucket.fence ? { bucket, fence: bucket.fence } : [])
      this.#pending.clear()
      if (terms.length === 0) continue
      try {
        await this.#readMembers(signal)
        const isAlone = this.#live() !== undefined
        for (const { bucket, fence } of terms) {
          if (isAlone) this.#alone.add(fence)
          else if (!this.#alone.has(fence)) late.add(bucket)
        }
        if (terms.every(({ bucket }) => late.has(bucket))) continue
        await Promise.all(clusters.all.map((cluster) => cluster.beforeLeading(signal)))
      } catch (error) {
        // The work is abandoned.
        if (signal.aborted) return
        const text = withVerbs(messageOf(error), 'get', 'list', 'watch', 'create', 'update', 'delete')
        this.#failureLog.warn(`The keys of taken buckets wait: ${text}; trying again`)
        for (const { bucket } of terms) late.add(bucket)
        continue
      }
      const isCurrent = ({ bucket, fence }: (typeof terms)[0]): boolean =>
        bucket.phase === 'held' && bucket.fence === fence && !bucket.isOpen && !late.has(bucket)
      const opened = new Set(terms.filter(isCurrent).map(({ bucket }) => bucket))
      for (const bucket of opened) bucket.isOpen = true
      for (const gate of this.#gates) void gate.fill(opened, signal)
    }
    for (const bucket of late) this.#pending.add(bucket)
    // In the turn of the test above, so that a bucket that is taken next begins anew.
    this.#isOpening = false
  }

  /** Deletes the Lease of a replica that ended long ago: names of pods do not come back. */
  async #forget(name: string, { resourceVersion }: Member, agoMs: number): Promise<void> {
    if (agoMs < KEPT_MS) return
    this.#members.delete(name)
    const { clusters: { main }, log } = this.#setup
    const target = { resource: LEASE, namespace: this.#namespace, name }
    // A process that was suspended may have renewed it: then it is a Conflict.
    await main.leaseApi.delete(target, { resourceVersion }).catch((error: unknown) => {
      if (!isReason(error, 'NotFound')) log.debug(`Cannot delete the Lease "${name}": ${messageOf(error)}`)
    })
  }
}

const RELEASED = new DOMException('The bucket is given up', 'AbortError')
