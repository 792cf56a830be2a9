/** Starts and stops runnables in order, around a leader election. */
import { firstOf, LeadershipLost, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { Fence } from '../core/fence.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, type AbortScope, abortScope, untilAborted } from '../async/abort.ts'
import { bothFences } from '../async/both_fences.ts'
import { Latch } from '../async/latch.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../observe/environment.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { classify, type Phase, START_ORDER, STEPS, STOP_ORDER } from './start_order.ts'
import {
  aggregate,
  asRunnable,
  ManagerStopping,
  type RunnableFunction,
  RunnableGroup,
  stopReason,
} from './runnable_group.ts'

/** Options of {@link Manager}. */
export interface ManagerOptions extends PartOptions {
  /** The name in logs and errors if another manager runs this one. Default: `manager`. */
  readonly name?: string | undefined
  /** Whether another manager runs it on every replica or only on the leader. Default: false, as for all work. */
  readonly everyReplica?: boolean | undefined
  /** Not shared with another manager. Without an elector, the leader's runnables start like all others. */
  readonly elector?: LeaderElector | undefined
  /** How long a stop waits for running runnables: 0 is no wait, Infinity is no limit. Default: 30 s. */
  readonly graceMs?: number | undefined
  /** Called with each runnable of the roles `server` and `webhook`. Returns whether it is started. Default: all are. */
  readonly listens?: ((server: Runnable) => boolean) | undefined
}

/**
 * Signals are aborted this long before the grace period ends, at most a tenth of it: work that obeys its signal still
 * ends in time, and the lease is released before Kubernetes kills a pod after its own 30 s.
 */
const ABANDON_MS = 2000
/** The time that a stop has. */
export const DEFAULT_GRACE_MS = 30_000
/** A stop that takes longer is logged once. */
const LONG_STOP_MS = 1000
/** The maximum number of names in that line. */
const MAX_NAMES = 5

/**
 * Runs what is added to it. It is a runnable itself, so one manager may run another.
 *
 * @example
 * ```ts
 * import { Manager } from 'kubeloop'
 * const manager = new Manager()
 * manager.add({ name: 'greeter', start: async (signal) => console.log('hello', signal.aborted) })
 * await manager.start(AbortSignal.timeout(1000))
 * ```
 */
export class Manager implements Runnable {
  readonly name: string
  readonly everyReplica: boolean | undefined
  readonly #options: ManagerOptions & PartEnvironment
  readonly #groups: ReadonlyMap<Phase, RunnableGroup>
  readonly #elected = new Latch()
  /** Opens when everything except the leader's work is ready. */
  readonly #launched = new Latch()
  readonly #ended = new Latch()
  readonly #stopping = new AbortController()
  readonly #abandon = new AbortController()
  /** Aborted when the stop no longer waits. */
  readonly #deadline = new AbortController()
  readonly #fence: Fence
  readonly #errors: unknown[] = []
  /** Set by the start; ends with its signal or with the first failure. */
  #stop: AbortScope | undefined
  /** Whether the election ended early, so that another replica may lead. */
  #lost = false

  /** @throws RangeError if `graceMs` is negative or not a number. */
  constructor(options: ManagerOptions = {}) {
    const { name = 'manager', everyReplica, elector, graceMs = 0 } = options
    if (!(graceMs >= 0)) {
      throw new RangeError(`Cannot make a manager: graceMs is ${graceMs}, and must be at least 0`)
    }
    this.name = name
    this.everyReplica = everyReplica
    this.#options = { ...options, ...environmentOf(options) }
    const { signal } = this.#abandon
    const own: Fence = { signal, check: () => signal.throwIfAborted() }
    this.#fence = elector ? bothFences(own, elector.fence) : own
    const onError = (error: unknown, { name }: Runnable): void => this.#fail(error, `"${name}"`)
    const phases = STEPS.flatMap(({ step }) => (step === 'election' ? [] : [step]))
    this.#groups = new Map(phases.map((phase) => [phase, new RunnableGroup(phase, onError)]))
  }

  /**
   * Resolves when the leader's runnables are started and ready; without an election, when all are. Never settles if the
   * manager stops before that.
   */
  get elected(): Promise<void> {
    return this.#elected.opened
  }

  /** Whether {@link elected} has resolved. Stays true after a stop. */
  get isElected(): boolean {
    return this.#elected.isOpen
  }

  /** Aborted when the stop begins: waits of running work should end. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /**
   * Aborted shortly before the grace period ends, by 2 s or a tenth of it, or when the lease is lost: runnables must
   * not write after that.
   */
  get abandon(): AbortSignal {
    return this.#abandon.signal
  }

  /**
   * The fence for the clients of the leader's runnables: passes no write without the lease or after {@link abandon}.
   */
  get fence(): Fence {
    return this.#fence
  }

  /**
   * Adds a runnable to the group of its role and everyReplica; a plain function is the leader's work. A runnable added
   * before the start is queued; later ones start with their group, or at once.
   *
   * @throws ManagerStopping when the manager is stopping.
   */
  add(what: Runnable | RunnableFunction): void {
    const runnable = asRunnable(what)
    const { name, role } = runnable
    if (this.#stop?.signal.aborted) throw new ManagerStopping(`Cannot add "${name}": the manager is stopping`)
    const phase = classify(runnable)
    if ((role === 'server' || role === 'webhook') && this.#options.listens?.(runnable) === false) return
    if (runnable.warmup) {
      this.#group('warmup').add({ name: `${name} (warm-up)`, start: (signal) => runnable.warmup!(signal) })
    }
    this.#group(phase).add(runnable)
  }

  /**
   * Runs until the signal is aborted or a runnable fails, then stops everything in order. Resolves when all has ended.
   * Rejects with the first error of a runnable, with LeadershipLost, or with the StopTimeout of runnables that did not
   * end in time; with an AggregateError if there are several. The process should exit after LeadershipLost, as
   * runnables may still run.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stop) throw new Error('Cannot start the manager: it was started already')
    const stop = (this.#stop = abortScope(signal))
    void aborted(stop.signal).then(() => this.#stopping.abort(stop.signal.reason))
    const campaign = new AbortController()
    let election: Promise<void> | undefined
    try {
      for (const step of START_ORDER) {
        if (step === 'election') election = this.#elect(campaign.signal, stop.signal)
        else if (step !== 'preparation' && step !== 'leader') await this.#group(step).start(stop.signal)
      }
      this.#launched.open()
      await aborted(stop.signal)
    } catch (error) {
      if (error !== stop.signal.reason) this.#fail(error, 'the start')
    }
    await this.#stopAll(campaign, election)
    stop[Symbol.dispose]()
    this.#ended.open()
    if (this.#errors.length > 0) throw aggregate(this.#errors)
  }

  /**
   * Resolves when everything is ready; with an election, everything except the leader's work, which may wait long for
   * the lease. Rejects if the manager ends before that, or with the signal's reason.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const ready = this.#options.elector ? this.#launched : this.#elected
    await untilAborted(Promise.race([ready.opened, this.#ended.opened]), signal)
    if (!ready.isOpen) throw new Error(`The manager "${this.name}" ended before it was ready`)
  }

  /** Settles when the elector does. */
  async #elect(signal: AbortSignal, stop: AbortSignal): Promise<void> {
    const { elector } = this.#options
    const [preparation, leader] = [this.#group('preparation'), this.#group('leader')]
    const startLeader = async (): Promise<void> => {
      const caches = elector ? this.#group('caches').members : []
      await Promise.all([preparation.start(stop), ...caches.map(async (cache) => await cache.beforeLeading?.(stop))])
      stop.throwIfAborted()
      await leader.start(stop)
      this.#elected.open()
    }
    const lead = (): void => {
      // The lease was won during a stop: the leader's work does not start any more.
      if (stop.aborted) return
      startLeader().catch((error: unknown) => {
        if (error !== stop.reason) this.#fail(error, 'the start of the leader')
      })
    }
    if (!elector) return lead()
    try {
      await elector.start(signal, lead, { mayRelease: () => preparation.running + leader.running === 0 })
    } catch (error) {
      // Another replica may lead already, so end at once, even during a stop.
      this.#lost = true
      if (error instanceof LeadershipLost) this.#options.log.error(messageOf(error))
      this.#errors.push(error)
      this.#stop!.abort(error)
      this.#endGrace(new Error(messageOf(error), { cause: error }))
    }
  }

  async #stopAll(campaign: AbortController, election: Promise<void> | undefined): Promise<void> {
    const { clock, graceMs = DEFAULT_GRACE_MS } = this.#options
    // A replica that does not lead must not win the lease now.
    if (!this.#group('preparation').started) campaign.abort(stopReason())
    const endGrace = (): void => this.#endGrace(new Error(`the grace period of ${formatMs(graceMs)} is over`))
    const timers: (() => void)[] = []
    if (graceMs === 0) endGrace()
    else if (graceMs !== Infinity) {
      const leftMs = Math.min(ABANDON_MS, graceMs / 10)
      const why = `the grace period of ${formatMs(graceMs)} is about to end`
      timers.push(clock.after(graceMs - leftMs, () => this.#abandonWork(why)), clock.after(graceMs, endGrace))
    }
    if (graceMs > LONG_STOP_MS) {
      timers.push(clock.after(LONG_STOP_MS, () => this.#logStop(graceMs - LONG_STOP_MS)))
    }
    const concurrent = Promise.all([this.#stopGroup('warmup'), this.#stopGroup('preparation')])
    for (const step of STOP_ORDER) {
      if (step !== 'election') {
        await this.#stopGroup(step)
        continue
      }
      await concurrent
      campaign.abort(stopReason())
      // Bounded by the elector's own deadline.
      await election
    }
    for (const cancel of timers) cancel()
  }

  /** Logs what the stop waits for, and for how long. */
  #logStop(leftMs: number): void {
    const names = [...this.#groups.values()].flatMap((group) => group.unfinished())
    if (names.length === 0) return
    const time = leftMs === Infinity ? 'without a limit' : `up to ${formatMs(leftMs)} more`
    this.#options.log.info(`Waiting ${time} for ${firstOf(names, MAX_NAMES).join(', ')}`)
  }

  /** Never rejects. */
  async #stopGroup(phase: Phase): Promise<void> {
    try {
      await this.#group(phase).stopAndWait(this.#deadline.signal)
    } catch (error) {
      const isForced = this.#lost || this.#options.graceMs === 0
      if (isForced) this.#options.log.warn(messageOf(error))
      else this.#errors.push(error)
    }
  }

  #endGrace(reason: Error): void {
    // Safety: writes are fenced off before the manager stops waiting.
    this.#abandonWork(reason.message)
    this.#deadline.abort(reason)
  }

  #abandonWork(why: string): void {
    this.#abandon.abort(new DOMException(why, 'AbortError'))
  }

  /** The first failure stops the manager, and its start rejects with it. Later failures are logged. */
  #fail(error: unknown, source: string): void {
    const { signal, abort } = this.#stop!
    if (!signal.aborted) {
      this.#errors.push(error ?? new Error(`${source} failed without an error`))
      abort(error)
    } else if (error !== signal.reason) {
      this.#options.log.error(`${source} failed while the manager was stopping: ${messageOf(error)}`, { error })
    }
  }

  #group(phase: Phase): RunnableGroup {
    return this.#groups.get(phase)!
  }
}
