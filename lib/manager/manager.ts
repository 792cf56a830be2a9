/** Decides when each part may start, and in which order they stop. */
import { LeadershipLost, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { Fence } from '../core/fence.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, type AbortScope, abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { type Log, safeLog } from '../observe/log.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { firstToFall, signalFence } from './fences.ts'
import { classify, type Phase, START_ORDER, STEPS, STOP_ORDER } from './start_order.ts'
import { aggregate, asRunnable, type RunnableFunction, RunnableGroup } from './runnable_group.ts'
import { ManagerStopping, stopReason } from './stopping.ts'

/** Options of {@link Manager}. */
export interface ManagerOptions {
  /** How it is called in logs and errors, where another manager runs it. Default: `manager`. */
  readonly name?: string | undefined
  /** Where another manager runs it: on every replica, or on the leader alone. Default: the leader, as for all work. */
  readonly everyReplica?: boolean | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  /** For this manager alone. Without one, the leader's runnables start like the others. */
  readonly elector?: LeaderElector | undefined
  /** How long to wait for what runs, once told to stop: 0 is not at all, Infinity for ever. Default: 30 s. */
  readonly graceMs?: number | undefined
  /**
   * Whether runnables of the roles `server` and `webhook` are started. A function is called with each instead. Default: true.
   */
  readonly listens?: boolean | ((server: Runnable) => void) | undefined
}

/** A stop that takes longer is logged, once. */
const LONG_STOP_MS = 1000
/** How many names that line has. */
const MAX_NAMES = 5

/**
 * Runs what is added to it. A runnable itself, so that one manager may run another.
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
  readonly #options: ManagerOptions & { readonly clock: Clock; readonly log: Log }
  readonly #groups: ReadonlyMap<Phase, RunnableGroup>
  readonly #elected = new Latch()
  /** Everything but the leader's work is ready. */
  readonly #launched = new Latch()
  readonly #ended = new Latch()
  readonly #abandon = new AbortController()
  /** Aborted when nobody is waited for any more. */
  readonly #deadline = new AbortController()
  readonly #fence: Fence
  readonly #errors: unknown[] = []
  /** Set by the start; ends with its signal or with the first failure. */
  #stop: AbortScope | undefined
  /** The election ended before its time: somebody else may lead. */
  #lost = false

  /** Throws a RangeError for a grace period that is none. */
  constructor(options: ManagerOptions = {}) {
    const { name = 'manager', everyReplica, clock = systemClock, elector, graceMs = 0 } = options
    if (!(graceMs >= 0)) {
      throw new RangeError(`Cannot make a manager: graceMs is ${graceMs}, and must be 0, more, or Infinity`)
    }
    this.name = name
    this.everyReplica = everyReplica
    this.#options = { ...options, clock, log: safeLog(options.log) }
    const own = signalFence(this.#abandon.signal)
    this.#fence = elector ? firstToFall(own, elector.fence) : own
    const onError = (error: unknown, { name }: Runnable): void => this.#fail(error, `"${name}"`)
    const phases = STEPS.flatMap(({ step }) => (step === 'election' ? [] : [step]))
    this.#groups = new Map(phases.map((phase) => [phase, new RunnableGroup(phase, onError)]))
  }

  /**
   * Opens when the leader's runnables are launched and ready; without an election, when everything is. It stays closed in a
   * manager that stops before that.
   */
  get elected(): Promise<void> {
    return this.#elected.opened
  }

  /** Whether {@link elected} has opened. It stays so after a stop. */
  get isElected(): boolean {
    return this.#elected.isOpen
  }

  /** Aborted when the grace period is over or the lease is lost: what still runs then must not write any more. */
  get abandon(): AbortSignal {
    return this.#abandon.signal
  }

  /** For the clients of the leader's runnables: falls with the elector's, and with {@link abandon}. */
  get fence(): Fence {
    return this.#fence
  }

  /**
   * Takes a runnable into the group that its role and everyReplica say; a plain function is the leader's work. Before the start it
   * is queued, afterwards launched in its turn. Throws ManagerStopping when the manager is stopping.
   */
  add(what: Runnable | RunnableFunction): void {
    const runnable = asRunnable(what)
    const { name } = runnable
    if (this.#stop?.signal.aborted) throw new ManagerStopping(`Cannot add "${name}": the manager is stopping`)
    const phase = classify(runnable)
    const { listens = true } = this.#options
    if (listens !== true && (runnable.role === 'server' || runnable.role === 'webhook')) {
      if (listens) listens(runnable)
      return
    }
    if (runnable.warmup) {
      this.#group('warmup').add({
        name: `${name} (warm-up)`,
        start: (signal) => runnable.warmup!(signal),
      })
    }
    this.#group(phase).add(runnable)
  }

  /**
   * Runs until the signal is aborted, then stops everything in order and resolves when all has ended.
   * Rejects with the first error of a runnable, with LeadershipLost, or with the StopTimeout of what did not end in time; an
   * AggregateError of them where there are several. After LeadershipLost the process should end: runnables may still be at work.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stop) throw new Error('Cannot start the manager: it was started already')
    const stop = (this.#stop = abortScope(signal))
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
   * Resolves when everything is ready; with an election, everything but the leader's work, which may wait for the lease for long.
   * Rejects when the manager ends before that, or with the signal's reason.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const ready = this.#options.elector ? this.#launched : this.#elected
    await untilAborted(Promise.race([ready.opened, this.#ended.opened]), signal)
    if (!ready.isOpen) throw new Error(`The manager "${this.name}" ended before it was ready`)
  }

  /** Settles when the elector has. */
  async #elect(signal: AbortSignal, stop: AbortSignal): Promise<void> {
    const { elector } = this.#options
    const [preparation, leader] = [this.#group('preparation'), this.#group('leader')]
    const begin = async (): Promise<void> => {
      await preparation.start(stop)
      stop.throwIfAborted()
      await leader.start(stop)
      this.#elected.open()
    }
    const lead = (): void => {
      // A lease that comes when we are stopping: what waits for it is never launched.
      if (stop.aborted) return
      begin().catch((error: unknown) => {
        if (error !== stop.reason) this.#fail(error, 'the start of the leader')
      })
    }
    if (!elector) return lead()
    try {
      await elector.start(signal, lead, { mayRelease: () => preparation.running + leader.running === 0 })
    } catch (error) {
      // Somebody else may lead already: there is no time to end things gently, not even when we are stopping anyway.
      this.#lost = true
      if (error instanceof LeadershipLost) this.#options.log.error(messageOf(error))
      this.#errors.push(error)
      this.#stop!.abort(error)
      this.#endGrace(new Error(messageOf(error), { cause: error }))
    }
  }

  async #stopAll(campaign: AbortController, election: Promise<void> | undefined): Promise<void> {
    const { clock, graceMs = 30_000 } = this.#options
    // Who does not lead has nothing to keep the lease for, and must not win it now.
    if (!this.#group('preparation').started) campaign.abort(stopReason())
    const end = (): void => this.#endGrace(new Error(`the grace period of ${formatMs(graceMs)} is over`))
    let stopTimer: (() => void) | undefined
    if (graceMs === 0) end()
    else if (graceMs !== Infinity) stopTimer = clock.after(graceMs, end)
    const stopNote = graceMs > LONG_STOP_MS && !this.#lost
      ? clock.after(LONG_STOP_MS, () => this.#noteStop(graceMs - LONG_STOP_MS))
      : undefined
    const beside = Promise.all([this.#stopGroup('warmup'), this.#stopGroup('preparation')])
    for (const step of STOP_ORDER) {
      if (step !== 'election') {
        await this.#stopGroup(step)
        continue
      }
      await beside
      campaign.abort(stopReason())
      // Bounded by the elector's own deadline.
      await election
    }
    stopTimer?.()
    stopNote?.()
  }

  /** Says what a stop waits for, and for how long. */
  #noteStop(leftMs: number): void {
    const names = [...this.#groups.values()].flatMap((group) => group.unfinished())
    if (names.length === 0) return
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
    const time = leftMs === Infinity ? 'without a limit' : `up to ${formatMs(leftMs)} more`
    this.#options.log.info(`Waiting ${time} for ${names.slice(0, MAX_NAMES).join(', ')}${more}`)
  }

  /** Never rejects. */
  async #stopGroup(phase: Phase): Promise<void> {
    try {
      await this.#group(phase).stopAndWait(this.#deadline.signal)
    } catch (error) {
      const isHasty = this.#lost || this.#options.graceMs === 0
      if (isHasty) this.#options.log.warn(messageOf(error))
      else this.#errors.push(error)
    }
  }

  #endGrace(reason: Error): void {
    // First nobody may write any more; only then do we stop waiting.
    this.#abandon.abort(new DOMException(reason.message, 'AbortError'))
    this.#deadline.abort(reason)
  }

  /** The first failure stops the manager and is what its start rejects with; those that follow are told to the log. */
  #fail(error: unknown, who: string): void {
    const { signal, abort } = this.#stop!
    if (!signal.aborted) {
      this.#errors.push(error ?? new Error(`${who} failed without saying why`))
      abort(error)
    } else if (error !== signal.reason) {
      this.#options.log.error(`${who} failed while the manager was stopping: ${messageOf(error)}`, { error })
    }
  }

  #group(phase: Phase): RunnableGroup {
    return this.#groups.get(phase)!
  }
}
