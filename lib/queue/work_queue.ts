/** The queue between events and workers: {@link QueueState} with a clock and waiting workers. */
import { rejectOnAbort } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { environmentOf, type PartOptions } from '../observe/environment.ts'
import { guardedCalls, rarely } from '../observe/log.ts'
import type { QueueMeter, QueueMetrics } from './metrics.ts'
import { type Aging, QueueState } from './queue_state.ts'
import { exponentialLimiter, guardedLimiter, type RateLimiter } from './rate_limiter.ts'

/** Options of {@link WorkQueue}. */
export interface WorkQueueOptions<K> extends PartOptions {
  /**
   * Default: 5 ms doubling to 1000 s, per key. The default is also used if this one throws or returns an invalid
   * number.
   */
  readonly limiter?: RateLimiter<K> | undefined
  /** How long a key may wait behind keys of higher priority. Default: 1 s, see {@link Aging}. */
  readonly aging?: Aging | undefined
  /**
   * Creates the metrics. Their series are removed when the queue is shut down and no key is in work. Default: no
   * metrics.
   */
  readonly meter?: QueueMeter | undefined
  /** The queue's label in metrics. Default: the controller's. */
  readonly name?: string | undefined
  /** The controller's label in metrics. Default: the queue's name. */
  readonly controller?: string | undefined
  /** Called with each key that is handed out; later adds belong to the next turn. It should not throw. */
  readonly onTake?: ((key: K) => void) | undefined
}

/** Options of {@link WorkQueue.add}. */
export interface AddOptions {
  /** The delay in milliseconds. Default: 0. The shortest delay of several adds counts. */
  readonly afterMs?: number | undefined
  /** Higher priorities go first. Default: 0. The highest priority of several adds counts. */
  readonly priority?: number | undefined
  /**
   * Counts a failure of the key and uses the delay of the rate limiter, unless `afterMs` is shorter. Like every add, it
   * stays when the key is forgotten. Default: false.
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
 * const key = await queue.get(AbortSignal.timeout(1000)) // 'default/b'; the next call returns 'default/a'
 * if (key !== undefined) queue.done(key)
 * ```
 */
export class WorkQueue<K> {
  readonly #state: QueueState<K>
  readonly #clock: Clock
  readonly #limiter: RateLimiter<K>
  /** Creates the metrics, at the first add or get. */
  #measure: (() => QueueMetrics | undefined) | undefined
  #metrics: QueueMetrics | undefined
  readonly #onTake: ((key: K) => void) | undefined
  /** The waiting workers, first come, first served. */
  readonly #waiting = new Set<(key: K | undefined) => void>()
  /** Whether a hand-out is scheduled. */
  #handingOut = false
  /** The waiting {@link shutDown} calls with `drain`. */
  #drains: (() => void)[] = []
  /** Whether the last shutdown drains, and the work has not ended. */
  #draining = false
  #shutDown = false
  /** When the timer fires for the earliest delayed key; Infinity without a timer. */
  #timerMs = Infinity
  #cancelTimer: (() => void) | undefined
  /**
   * The time at which keys count as added, for their age. Reading the clock for each add takes as long as the add
   * itself, so it is read again only after a few hand-outs, and when a worker had to wait. No key is younger than this
   * time, so the bounds of {@link Aging} hold.
   */
  #addedMs: number | undefined
  #handOuts = 0

  /** @throws RangeError if `aging` is invalid. */
  constructor(options: WorkQueueOptions<K> = {}) {
    const { limiter, aging, meter, onTake } = options
    const { name = options.controller ?? '', controller = name } = options
    const { clock, log } = environmentOf(options)
    this.#clock = clock
    this.#limiter = limiter ? guardedLimiter(limiter, log) : exponentialLimiter()
    this.#state = new QueueState(aging)
    const logMetricError = rarely(log, `A metric of the queue "${name}" threw`)
    this.#measure = meter && (() => {
      try {
        return guardedCalls(meter.queue({ name, controller }, this.#state, () => clock.monotonic()), logMetricError)
      } catch (error) {
        return void logMetricError(error)
      }
    })
    this.#onTake = onTake && guardedCalls({ onTake }, rarely(log, `onTake of the queue "${name}" threw`)).onTake
  }

  /** The number of waiting keys, without delayed keys and keys in work. */
  get length(): number {
    return this.#state.length
  }

  /** The number of delayed keys. */
  get delayed(): number {
    return this.#state.delayed
  }

  /** Whether no key waits or is in work; delayed keys do not count. */
  get idle(): boolean {
    return this.#state.idle
  }

  /**
   * Adds a key, or updates the delay and priority of a key that is already there. Does nothing after the shutdown.
   *
   * @throws RangeError if the priority is not finite, or the delay is NaN.
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
   * Counts a failure of a key in work and adds it again after the delay of the rate limiter. Returns that delay. The
   * default priority is that of the current turn. With `keepsWait`, a waiting retry of the key stays unchanged, nothing
   * is counted, and the rest of that wait is returned: the key was handed out for another reason. With `alone`, the
   * retry replaces all other adds of the key so far.
   *
   * @throws RangeError if the priority is not finite.
   */
  retry(
    key: K,
    options: {
      readonly priority?: number | undefined
      readonly keepsWait?: boolean | undefined
      readonly alone?: boolean | undefined
    } = {},
  ): number {
    const { priority = this.priorityOf(key), keepsWait = false, alone = false } = options
    checkPriority(key, priority)
    const dueMs = keepsWait ? this.#state.retryDueMs(key) : undefined
    if (dueMs !== undefined) {
      this.#state.addAt(key, dueMs, priority, true)
      return Math.max(0, dueMs - this.#clock.monotonic())
    }
    const afterMs = this.#limiter.when(key)
    if (alone) this.remove(key)
    if (!this.#shutDown) this.#addAfter(key, afterMs, priority, true)
    return afterMs
  }

  /** Returns the priority of the current turn of a key in work; 0 for a key that is not in work. */
  priorityOf(key: K): number {
    return this.#state.turnOf(key)?.priority ?? 0
  }

  /**
   * Resolves with the next key as soon as there is one, or with `undefined` when the queue is shut down and empty. The
   * key is in work until {@link done}. Rejects when the signal is aborted.
   */
  get(signal: AbortSignal): Promise<K | undefined> {
    if (this.#measure) this.#beginMeasuring()
    // Earlier workers go first, also while a hand-out is scheduled.
    if (this.#waiting.size === 0 && !signal.aborted) {
      const key = this.#take()
      if (key !== undefined || this.#shutDown) return Promise.resolve(key)
    }
    return rejectOnAbort<K | undefined>(signal, (resolve) => {
      this.#waiting.add(resolve)
      return () => this.#waiting.delete(resolve)
    })
  }

  /** Ends the work on a key. If it was added meanwhile, it is handed out again, also during the shutdown. */
  done(key: K): void {
    const turn = this.#metrics && this.#state.turnOf(key)
    if (turn) this.#metrics?.done(this.#clock.monotonic() - turn.takenMs)
    this.#state.done(key)
    this.#handOutSoon()
    if (this.#shutDown) this.#finish()
  }

  /**
   * Resets the failures of a key and cancels its delayed {@link retry}, because the key has succeeded or is given up.
   * (client-go keeps the retry, which then runs before a later delay that was added meanwhile.) All adds stay, as in
   * client-go, also delayed and rate-limited ones; so does a retry that is already due.
   */
  forget(key: K): void {
    this.#limiter.forget(key)
    if (this.#state.cancelRetry(key)) this.#setTimer()
  }

  /** Removes the turn to come and all delayed adds of a key, and nothing of a turn in work. */
  remove(key: K): void {
    this.#state.remove(key)
    this.#setTimer()
  }

  /** Removes and forgets all keys that match. Returns them, also those in work. */
  drop(matches: (key: K) => boolean): ReadonlySet<K> {
    const dropped = new Set([...this.#state.keys()].filter(matches))
    for (const key of dropped) {
      this.remove(key)
      this.forget(key)
    }
    return dropped
  }

  /** Returns the failures of a key since it was last forgotten. */
  failures(key: K): number {
    return this.#limiter.failures(key)
  }

  /** Whether the key was handed out and is not {@link done}. */
  isInWork(key: K): boolean {
    return this.#state.turnOf(key) !== undefined
  }

  /** Whether a {@link retry} of the key waits for its time. */
  isRetrying(key: K): boolean {
    return this.#state.retryDueMs(key) !== undefined
  }

  /**
   * Stops accepting keys and drops the delayed ones. Waiting keys are still handed out, then workers get `undefined`.
   * With `drain` it resolves when no key waits or is in work; without, it resolves at once and ends an earlier drain.
   * It may be called again.
   */
  async shutDown(options: { readonly drain?: boolean | undefined } = {}): Promise<void> {
    this.#shutDown = true
    this.#measure = undefined
    this.#state.dropDelayed()
    this.#setTimer()
    this.#handOut()
    this.#draining = options.drain === true && !this.#state.idle
    const drained = this.#draining ? new Promise<void>((resolve) => void this.#drains.push(resolve)) : undefined
    this.#finish()
    await drained
  }

  /** After the shutdown: ends drains that are complete, and the metrics when no key is in work. */
  #finish(): void {
    if (this.#state.idle) this.#draining = false
    if (this.#draining) return
    for (const resolve of this.#drains.splice(0)) resolve()
    // Keys that still wait may never be taken after a shutdown without drain, but the metric name must become free.
    if (this.#state.processing === 0) this.#metrics?.end()
  }

  #addAfter(key: K, afterMs: number, priority: number, retry: boolean): void {
    if (afterMs <= 0) return this.#addNow(key, priority)
    if (this.#measure) this.#beginMeasuring()
    this.#metrics?.delayed()
    this.#state.addAt(key, this.#clock.monotonic() + afterMs, priority, retry)
    this.#setTimer()
  }

  #addNow(key: K, priority: number): void {
    if (this.#measure) this.#beginMeasuring()
    // Without a new turn there is nothing more to hand out.
    if (!this.#state.add(key, priority, this.#timeOfAdd())) return
    this.#metrics?.added(1)
    this.#handOutSoon()
  }

  #timeOfAdd(): number {
    if (this.#metrics) return this.#clock.monotonic()
    return this.#addedMs ??= this.#clock.monotonic()
  }

  #take(): K | undefined {
    const nowMs = this.#metrics || this.#state.needsTime ? this.#clock.monotonic() : 0
    const next = this.#metrics && this.#state.peek(nowMs)
    if (next) this.#metrics?.taken(nowMs - next.addedMs)
    const key = this.#state.take(nowMs)
    if (key === undefined || ++this.#handOuts % HAND_OUTS_PER_READING === 0) this.#addedMs = undefined
    if (key !== undefined) this.#onTake?.(key)
    return key
  }

  /** Deferred, so that several events of one event-loop turn become one run, also when a worker is waiting. */
  #handOutSoon(): void {
    if (this.#handingOut || this.#waiting.size === 0 || this.#state.length === 0) return
    this.#handingOut = true
    queueMicrotask(() => this.#handOut())
  }

  #handOut(): void {
    this.#handingOut = false
    for (const resolve of this.#waiting) {
      if (this.#state.length === 0 && !this.#shutDown) return void (this.#addedMs = undefined)
      // Before the key is taken: onTake may shut the queue down, and this worker must not be served twice.
      this.#waiting.delete(resolve)
      resolve(this.#take())
    }
  }

  /** Adds the keys that are due. If the timer fired too early, or many keys are due, it is set again for the rest. */
  #onDue(): void {
    this.#timerMs = Infinity
    this.#cancelTimer = undefined
    const turns = this.#state.promote(this.#clock.monotonic(), MAX_DUE_PER_TURN)
    if (turns > 0) this.#metrics?.added(turns)
    this.#handOutSoon()
    this.#setTimer()
  }

  /** Sets the one timer to the earliest delayed key. */
  #setTimer(): void {
    const dueMs = this.#state.nextDueMs() ?? Infinity
    if (dueMs === this.#timerMs) return
    this.#cancelTimer?.()
    this.#timerMs = dueMs
    this.#cancelTimer = dueMs === Infinity
      ? undefined
      : this.#clock.after(Math.max(0, dueMs - this.#clock.monotonic()), () => this.#onDue())
  }

  #beginMeasuring(): void {
    const measure = this.#measure
    this.#measure = undefined
    this.#metrics = measure?.()
  }
}

/** The number of hand-outs for which one clock reading is used; the default of {@link Aging.every}. */
const HAND_OUTS_PER_READING = 8

/**
 * The max number of due keys added in one turn of the event loop, as many keys of many queues may come due together.
 */
const MAX_DUE_PER_TURN = 256

function checkPriority(key: unknown, priority: number): void {
  if (Number.isFinite(priority)) return
  throw new RangeError(`Cannot add "${String(key)}": its priority is ${priority}, and must be a finite number`)
}
