/** The queue between events and workers: {@link QueueState} with a clock and with workers that wait. */
import { rejectOnAbort } from '../async/abort.ts'
import { systemClock, type Clock } from '../async/clock.ts'
import { QueueState } from './queue_state.ts'
import { exponentialLimiter, type RateLimiter } from './rate_limiter.ts'

export interface WorkQueueOptions<K> {
  /** Default: the real clock. */
  readonly clock?: Clock
  /** Default: 5 ms doubling to 1000 s, per key. */
  readonly limiter?: RateLimiter<K>
  /** Hears of each key as it is handed out: what is added from then on belongs to the next time. */
  readonly onTake?: ((key: K) => void) | undefined
}

export interface AddOptions {
  /** Not before so many milliseconds. The earliest of several delays counts. */
  readonly afterMs?: number
}

/**
 * A deduplicating, delaying, rate-limited queue of keys.
 *
 * @example
 * ```ts
 * import { WorkQueue } from 'kubeloop'
 * const queue = new WorkQueue<string>()
 * queue.add('default/a')
 * queue.add('default/a')
 * const key = await queue.get(AbortSignal.timeout(1000)) // 'default/a', once
 * if (key !== undefined) queue.done(key)
 * ```
 */
export class WorkQueue<K> {
  readonly #state = new QueueState<K>()
  readonly #clock: Clock
  readonly #limiter: RateLimiter<K>
  readonly #onTake: ((key: K) => void) | undefined
  /** Workers that wait for a key, first come first served. */
  readonly #waiting = new Set<(key: K | undefined) => void>()
  /** Whether a hand-out is on its way. */
  #handingOut = false
  /** Those who wait for the end of the work, while draining. */
  #drains: (() => void)[] = []
  #shutDown = false
  /** The one timer for all delays, and when it fires. */
  #cancelTimer: (() => void) | undefined
  #timerDueMs = Infinity

  constructor(options: WorkQueueOptions<K> = {}) {
    this.#clock = options.clock ?? systemClock
    this.#limiter = options.limiter ?? exponentialLimiter()
    this.#onTake = options.onTake
  }

  /** Keys that wait to be handed out. */
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

  /** Does nothing once the queue is shut down. */
  add(key: K, options: AddOptions = {}): void {
    if (this.#shutDown) return
    const { afterMs = 0 } = options
    if (afterMs > 0) {
      this.#state.addAt(key, this.#clock.monotonic() + afterMs)
      this.#armTimer()
      return
    }
    this.#state.add(key)
    this.#handOutSoon()
  }

  /** Counts a failure of the key and adds it when the rate limiter says; returns that delay. */
  retry(key: K): number {
    const afterMs = this.#limiter.when(key)
    this.add(key, { afterMs })
    return afterMs
  }

  /**
   * The next key, when there is one; `undefined` when the queue is shut down and empty.
   * The key is the caller's until {@link done}.
   */
  get(signal: AbortSignal): Promise<K | undefined> {
    return rejectOnAbort<K | undefined>(signal, (resolve) => {
      // Those who came first go first, also while a hand-out is on its way.
      const key = this.#waiting.size === 0 ? this.#take() : undefined
      if (key !== undefined || this.#shutDown) {
        resolve(key)
        return () => {}
      }
      this.#waiting.add(resolve)
      return () => this.#waiting.delete(resolve)
    })
  }

  /** Ends the work on a key. If it was added meanwhile, it is handed out again, also while shutting down. */
  done(key: K): void {
    this.#state.done(key)
    this.#handOutSoon()
    if (this.#state.idle) this.#endDrains()
  }

  /** Ends the counting of a key's failures. It removes nothing from the queue. */
  forget(key: K): void {
    this.#limiter.forget(key)
  }

  /** How often a key failed since it was last forgotten. */
  failures(key: K): number {
    return this.#limiter.failures(key)
  }

  /**
   * Takes no more keys and drops the delayed ones; those that wait are still handed out, then workers get `undefined`.
   * With `drain` it settles when nothing waits or is in work; without, at once, also ending an earlier drain.
   */
  async shutDown(options: { readonly drain?: boolean } = {}): Promise<void> {
    this.#shutDown = true
    this.#state.dropDelayed()
    this.#armTimer()
    this.#handOut()
    if (!options.drain) this.#endDrains()
    else if (!this.#state.idle) await new Promise<void>((resolve) => void this.#drains.push(resolve))
  }

  #endDrains(): void {
    for (const resolve of this.#drains.splice(0)) resolve()
  }

  #take(): K | undefined {
    const key = this.#state.take()
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
      const key = this.#take()
      if (key === undefined && !this.#shutDown) return
      this.#waiting.delete(resolve)
      resolve(key)
    }
  }

  /** Keeps one timer, for the earliest delayed key. */
  #armTimer(): void {
    const dueMs = this.#state.nextDueMs() ?? Infinity
    if (dueMs === this.#timerDueMs) return
    this.#cancelTimer?.()
    this.#timerDueMs = dueMs
    const waitMs = Math.max(0, dueMs - this.#clock.monotonic())
    this.#cancelTimer = dueMs === Infinity ? undefined : this.#clock.after(waitMs, () => this.#onTimer())
  }

  #onTimer(): void {
    this.#timerDueMs = Infinity
    this.#cancelTimer = undefined
    // A timer may fire a fraction early; what is due by then is promoted, and the rest arms the timer again.
    this.#state.promote(this.#clock.monotonic())
    this.#handOutSoon()
    this.#armTimer()
  }
}
