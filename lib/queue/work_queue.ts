/** The queue between events and workers: {@link QueueState} with a clock and with workers that wait. */
import { rejectOnAbort } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { type Log, rarely, safeLog } from '../observe/log.ts'
import { guardedCalls } from '../observe/guarded_calls.ts'
import { Alarm } from './alarm.ts'
import { guardedLimiter } from './limiter_guard.ts'
import type { QueueMeter, QueueMetrics } from './metrics.ts'
import { type Aging, QueueState } from './queue_state.ts'
import { exponentialLimiter, type RateLimiter } from './rate_limiter.ts'

/** Options of {@link WorkQueue}. */
export interface WorkQueueOptions<K> {
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** What goes wrong in the limiter, in {@link onTake} and in the meter is logged, the first time and then ever more rarely. Default: none. */
  readonly log?: Log | undefined
  /** Default: 5 ms doubling to 1000 s, per key. Where it throws or returns no finite number from 0 on, that default is used instead. */
  readonly limiter?: RateLimiter<K> | undefined
  /** How long a key may wait behind more urgent ones. Default: after a second it gets its share, see {@link Aging}. */
  readonly aging?: Aging | undefined
  /** Where it is measured; nothing is without one. Its series end when it is shut down and nothing is in work any more. */
  readonly meter?: QueueMeter | undefined
  /** The queue's label in metrics. Default: the controller's. */
  readonly name?: string | undefined
  /** The controller's label in metrics. Default: the queue's name. */
  readonly controller?: string | undefined
  /** Called with each key as it is handed out: what is added from then on belongs to the next time. It should not throw. */
  readonly onTake?: ((key: K) => void) | undefined
}

/** Options of {@link WorkQueue.add}. */
export interface AddOptions {
  /** Not before so many milliseconds. Default: 0. The earliest of several delays counts. */
  readonly afterMs?: number | undefined
  /** Higher ones go first. Default: 0. The highest of several adds counts. */
  readonly priority?: number | undefined
  /**
   * Counts a failure of the key and waits as the rate limiter says, unless `afterMs` is shorter. As every add it stays when the key
   * is forgotten. Default: false.
   */
  readonly rateLimited?: boolean | undefined
}

/**
 * A deduplicating, delaying, rate-limited queue of keys with priorities.
 *
 * @example
 * ```ts
 * import { WorkQueue } from 'kubeloop'
 * const queue = new WorkQueue<string>()
 * queue.add('default/a')
 * queue.add('default/b', { priority: 10 })
 * queue.add('default/a')
 * const key = await queue.get(AbortSignal.timeout(1000)) // 'default/b', and then 'default/a', once
 * if (key !== undefined) queue.done(key)
 * ```
 */
export class WorkQueue<K> {
  readonly #state: QueueState<K>
  readonly #clock: Clock
  readonly #limiter: RateLimiter<K>
  /** Makes the series, at the first add or get. */
  #measure: (() => QueueMetrics | undefined) | undefined
  #metrics: QueueMetrics | undefined
  readonly #onTake: ((key: K) => void) | undefined
  /** Workers that wait for a key, first come first served. */
  readonly #waiting = new Set<(key: K | undefined) => void>()
  /** Whether a hand-out is on its way. */
  #handingOut = false
  /** Those who wait for the end of the work, while draining. */
  #drains: (() => void)[] = []
  /** Whether the last shut down asked to drain, and the work has not ended. */
  #draining = false
  #shutDown = false
  /** Rings for the earliest delayed key. */
  readonly #alarm: Alarm
  /**
   * The time that adds count from, for the age of a key: asking the clock for each takes as long as adding it. It is asked
   * again after a few hand-outs, and when a worker had to wait. No key is younger than that, so what {@link Aging} bounds holds.
   */
  #addedMs: number | undefined
  #handOuts = 0

  /** @throws RangeError when the aging is none. */
  constructor(options: WorkQueueOptions<K> = {}) {
    const { clock = systemClock, limiter, aging, meter, onTake } = options
    const { name = options.controller ?? '', controller = name } = options
    const log = safeLog(options.log)
    this.#clock = clock
    this.#alarm = new Alarm(clock, () => this.#onDue())
    this.#limiter = limiter ? guardedLimiter(limiter, log) : exponentialLimiter()
    this.#state = new QueueState(aging)
    const unmeasured = rarely(log, `A metric of the queue "${name}" threw`)
    this.#measure = meter && (() => {
      try {
        return guardedCalls(meter.queue({ name, controller }, this.#state, () => clock.monotonic()), unmeasured)
      } catch (error) {
        return void unmeasured(error)
      }
    })
    this.#onTake = onTake && guardedCalls({ onTake }, rarely(log, `onTake of the queue "${name}" threw`)).onTake
  }

  /** Keys that wait to be handed out; neither delayed ones nor those in work. */
  get length(): number {
    return this.#state.length
  }

  /** Keys whose time has not come. */
  get delayed(): number {
    return this.#state.delayed
  }

  /** Whether no key waits and none is in work; delayed keys do not count. */
  get idle(): boolean {
    return this.#state.idle
  }

  /**
   * Adds a key, or what is new about one that waits. Does nothing once the queue is shut down.
   *
   * @throws RangeError when the priority is not finite, or the delay is NaN.
   */
  add(key: K, options?: AddOptions): void {
    if (this.#shutDown) return
    if (!options) return this.#addNow(key, 0)
    const { afterMs = 0, priority = 0, rateLimited = false } = options
    checkPriority(key, priority)
    if (Number.isNaN(afterMs)) throw new RangeError(`Cannot add "${String(key)}": its delay is NaN`)
    if (!rateLimited) return this.#addAfter(key, afterMs, priority, false)
    const limitedMs = this.#limiter.when(key)
    this.#addAfter(key, afterMs > 0 ? Math.min(afterMs, limitedMs) : limitedMs, priority, false)
  }

  /**
   * For the worker that the key was handed to: counts a failure of the key and adds it when the rate limiter says; returns that
   * delay. Its priority is by default the one that it is in work with. With `keepsWait`, a retry of the key that still
   * waits for its time stays as it is, and nothing is counted: the key was handed out for another reason. Then the rest of
   * that wait is returned.
   *
   * @throws RangeError when the priority is not finite.
   */
  retry(key: K, options: { readonly priority?: number | undefined; readonly keepsWait?: boolean } = {}): number {
    const { priority = this.priorityOf(key), keepsWait = false } = options
    checkPriority(key, priority)
    const dueMs = keepsWait ? this.#state.retryDueMs(key) : undefined
    if (dueMs !== undefined) {
      this.#state.addAt(key, dueMs, priority, true)
      return Math.max(0, dueMs - this.#clock.monotonic())
    }
    const afterMs = this.#limiter.when(key)
    if (!this.#shutDown) this.#addAfter(key, afterMs, priority, true)
    return afterMs
  }

  /** The priority with which a key in work was handed out, to be kept when it is added again; 0 for one that is not in work. */
  priorityOf(key: K): number {
    return this.#state.turnOf(key)?.priority ?? 0
  }

  /**
   * The next key, when there is one; `undefined` when the queue is shut down and empty.
   * The key is the caller's until {@link done}.
   */
  get(signal: AbortSignal): Promise<K | undefined> {
    if (this.#measure) this.#beginMeasuring()
    // Those who came first go first, also while a hand-out is on its way.
    if (this.#waiting.size === 0 && !signal.aborted) {
      const key = this.#take()
      if (key !== undefined || this.#shutDown) return Promise.resolve(key)
    }
    return rejectOnAbort<K | undefined>(signal, (resolve) => {
      this.#waiting.add(resolve)
      return () => this.#waiting.delete(resolve)
    })
  }

  /** Ends the work on a key. If it was added meanwhile, it is handed out again, also while shutting down. */
  done(key: K): void {
    const turn = this.#metrics && this.#state.turnOf(key)
    if (turn) this.#metrics?.done(this.#clock.monotonic() - turn.takenMs)
    this.#state.done(key)
    this.#handOutSoon()
    if (this.#shutDown) this.#endWhatIsOver()
  }

  /**
   * Ends the counting of a key's failures, and takes back a {@link retry} that waits for its time: what failed has succeeded
   * since, or is given up. (client-go lets it come; where a later run asked for a later time, the old retry would come
   * first.) Whatever was added stays, as in client-go: delayed or rate limited, before the work on the key or during it; and so
   * does a key whose time has come.
   */
  forget(key: K): void {
    this.#limiter.forget(key)
    if (this.#state.cancelRetry(key)) this.#setAlarm()
  }

  /** How often a key failed since it was last forgotten. */
  failures(key: K): number {
    return this.#limiter.failures(key)
  }

  /** Whether a {@link retry} of the key waits for its time. */
  isRetrying(key: K): boolean {
    return this.#state.retryDueMs(key) !== undefined
  }

  /**
   * Takes no more keys and drops the delayed ones; those that wait are still handed out, then workers get `undefined`.
   * With `drain` it settles when nothing waits or is in work; without, at once, also ending an earlier drain.
   * May be called again.
   */
  async shutDown(options: { readonly drain?: boolean | undefined } = {}): Promise<void> {
    this.#shutDown = true
    this.#measure = undefined
    this.#state.dropDelayed()
    this.#setAlarm()
    this.#handOut()
    this.#draining = options.drain === true && !this.#state.idle
    const drained = this.#draining ? new Promise<void>((resolve) => void this.#drains.push(resolve)) : undefined
    this.#endWhatIsOver()
    await drained
  }

  /** After the shut down: drains that have nothing to wait for any more, and the metrics when nothing is in work. */
  #endWhatIsOver(): void {
    if (this.#state.idle) this.#draining = false
    if (this.#draining) return
    for (const resolve of this.#drains.splice(0)) resolve()
    // What waits after a shut down without drain is perhaps never asked for; the name must be free nevertheless.
    if (this.#state.processing === 0) this.#metrics?.end()
  }

  #addAfter(key: K, afterMs: number, priority: number, retry: boolean): void {
    if (afterMs <= 0) return this.#addNow(key, priority)
    if (this.#measure) this.#beginMeasuring()
    this.#metrics?.delayed()
    this.#state.addAt(key, this.#clock.monotonic() + afterMs, priority, retry)
    this.#setAlarm()
  }

  #addNow(key: K, priority: number): void {
    if (this.#measure) this.#beginMeasuring()
    // Only a new turn can be handed out; what became part of one is on its way with it.
    if (!this.#state.add(key, priority, this.#timeOfAdd())) return
    this.#metrics?.added(1)
    this.#handOutSoon()
  }

  #timeOfAdd(): number {
    if (this.#metrics) return this.#clock.monotonic()
    return this.#addedMs ??= this.#clock.monotonic()
  }

  #take(): K | undefined {
    const nowMs = this.#metrics || this.#state.asksForTime ? this.#clock.monotonic() : 0
    const next = this.#metrics && this.#state.peek(nowMs)
    if (next) this.#metrics?.taken(nowMs - next.addedMs)
    const key = this.#state.take(nowMs)
    if (key === undefined || ++this.#handOuts % HAND_OUTS_OF_ONE_TIME === 0) this.#addedMs = undefined
    if (key !== undefined) this.#onTake?.(key)
    return key
  }

  /** Not at once: several events of one turn are one run, also when a worker is waiting. */
  #handOutSoon(): void {
    if (this.#handingOut || this.#waiting.size === 0 || this.#state.length === 0) return
    this.#handingOut = true
    queueMicrotask(() => this.#handOut())
  }

  #handOut(): void {
    this.#handingOut = false
    for (const resolve of this.#waiting) {
      if (this.#state.length === 0 && !this.#shutDown) return void (this.#addedMs = undefined)
      // Before the key is taken: whoever hears of that may shut the queue down, and this worker has its key.
      this.#waiting.delete(resolve)
      resolve(this.#take())
    }
  }

  /** What is due is added; where the alarm came a fraction early, or much is due at once, it is set again for the rest. */
  #onDue(): void {
    const turns = this.#state.promote(this.#clock.monotonic(), DUE_OF_A_TURN)
    if (turns > 0) this.#metrics?.added(turns)
    this.#handOutSoon()
    this.#setAlarm()
  }

  #setAlarm(): void {
    this.#alarm.set(this.#state.nextDueMs())
  }

  #beginMeasuring(): void {
    const measure = this.#measure
    this.#measure = undefined
    this.#metrics = measure?.()
  }
}

/** As often as aging asks by default. */
const HAND_OUTS_OF_ONE_TIME = 8

/** Keys that come due together are added in several turns of the event loop: there may be many, in many queues. */
const DUE_OF_A_TURN = 256

function checkPriority(key: unknown, priority: number): void {
  if (Number.isFinite(priority)) return
  throw new RangeError(`Cannot add "${String(key)}": its priority is ${priority}, and must be a finite number`)
}
