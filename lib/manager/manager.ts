/** Decides when each part may start, and in which order they stop. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, abortScope, type AbortScope } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { Log } from '../observe/log.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { START_ORDER, STOP_ORDER, type Phase } from './phases.ts'
import { aggregate, RunnableGroup } from './runnable_group.ts'

export interface ManagerOptions {
  readonly clock: Clock
  readonly log: Log
  /** Without one, leader runnables start like the others. */
  readonly elector?: LeaderElector | undefined
  /** How long to wait for what runs, once told to stop: 0 is not at all, Infinity for ever. Default: 30 s. */
  readonly graceMs?: number | undefined
}

export class Manager {
  readonly #options: ManagerOptions
  readonly #groups: ReadonlyMap<Phase, RunnableGroup>
  readonly #elected = new Latch()
  readonly #abandon = new AbortController()
  /** Aborted when nobody is waited for any more. */
  readonly #deadline = new AbortController()
  readonly #errors: unknown[] = []
  /** Set by the start; ends with its signal or with the first failure. */
  #stop: AbortScope | undefined
  /** The election ended before its time: somebody else may lead. */
  #lost = false

  /** Throws a RangeError for a grace period that is none. */
  constructor(options: ManagerOptions) {
    const { graceMs = 0 } = options
    if (!(graceMs >= 0)) throw new RangeError(`Cannot make a manager: graceMs is ${graceMs}, and must be 0, more, or Infinity`)
    this.#options = options
    const onError = (error: unknown, { name }: Runnable): void => this.#fail(error, `"${name}"`)
    this.#groups = new Map(START_ORDER.map((phase) => [phase, new RunnableGroup(phase, onError)]))
  }

  /** Opens when the leader's runnables are ready; without an election, when everything is. */
  get elected(): Promise<void> {
    return this.#elected.opened
  }

  /** Aborted when the grace period is over or the lease is lost: what still runs then must not write any more. */
  get abandon(): AbortSignal {
    return this.#abandon.signal
  }

  /** Before the start it is queued, afterwards launched in its turn. Throws when the manager is stopping. */
  add(phase: Phase, runnable: Runnable): void {
    if (this.#stop?.signal.aborted) throw new Error(`Cannot add "${runnable.name}": the manager is stopping`)
    this.#groups.get(phase)!.add(runnable)
  }

  /**
   * Runs until the signal is aborted, then stops everything in order and resolves when all has ended.
   * Rejects with the first error of a runnable, with LeadershipLost, or with what did not stop in time; an AggregateError
   * of them where there are several. After LeadershipLost the process should end: runnables may still be at work.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stop) throw new Error('Cannot start the manager: it was started already')
    const stop = (this.#stop = abortScope(signal))
    const campaign = new AbortController()
    let election: Promise<void> | undefined
    try {
      for (const phase of START_ORDER) if (phase !== 'leader') await this.#groups.get(phase)!.start(stop.signal)
      election = this.#elect(campaign.signal, stop.signal)
      await aborted(stop.signal)
    } catch (error) {
      if (error !== stop.signal.reason) this.#fail(error, 'the start')
    }
    await this.#stopAll(campaign, election)
    stop[Symbol.dispose]()
    if (this.#errors.length > 0) throw aggregate(this.#errors)
  }

  /** Settles when the elector has. */
  async #elect(signal: AbortSignal, stop: AbortSignal): Promise<void> {
    const { elector } = this.#options
    const leader = this.#groups.get('leader')!
    const lead = (): void => {
      if (stop.aborted) return
      leader.start(stop).then(() => this.#elected.open(), (error: unknown) => {
        if (error !== stop.reason) this.#fail(error, 'the start of the leader')
      })
    }
    if (!elector) return lead()
    try {
      await elector.start(signal, lead, { mayRelease: () => leader.running === 0 })
    } catch (error) {
      // Somebody else may lead already: there is no time to end things gently, not even when we are stopping anyway.
      this.#lost = true
      this.#errors.push(error)
      this.#stop!.abort(error)
      this.#endGrace(new Error(messageOf(error), { cause: error }))
    }
  }

  async #stopAll(campaign: AbortController, election: Promise<void> | undefined): Promise<void> {
    const { clock, graceMs = 30_000, log } = this.#options
    // Who does not lead has nothing to keep the lease for, and must not win it now.
    if (!this.#groups.get('leader')!.started) campaign.abort(stopping())
    const isHasty = (): boolean => this.#lost || graceMs === 0
    const end = (): void => this.#endGrace(new Error(`the grace period of ${formatMs(graceMs)} is over`))
    let stopTimer: (() => void) | undefined
    if (graceMs === 0) end()
    else if (graceMs !== Infinity) stopTimer = clock.after(graceMs, end)
    for (const phase of STOP_ORDER) {
      try {
        await this.#groups.get(phase)!.stopAndWait(this.#deadline.signal)
      } catch (error) {
        if (isHasty()) log.warn(messageOf(error))
        else this.#errors.push(error)
      }
    }
    stopTimer?.()
    // Last: the lease is renewed as long as anybody works in its name. The elector's end is bounded by its own deadline.
    campaign.abort(stopping())
    await election
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
}

function stopping(): DOMException {
  return new DOMException('The manager is stopping', 'AbortError')
}
