/** Keys every so often, for what no event tells of. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { ObjectKey } from '../core/objects.ts'
import { type Clock, sleep, systemClock, turnBudgetOf } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { boundedCall, type Call } from './bounded_call.ts'
import { LOW_PRIORITY, type Sink, type Source } from './source.ts'
import { andMore, RateLimitedLog } from '../observe/rate_limited_log.ts'

/** Options of {@link TickerSource}. */
export interface TickerSourceOptions {
  readonly name: string
  readonly everyMs: number
  /** Whose turn it is. One that throws is asked again at the next tick. */
  readonly keys: (call: Call) => Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>
  /** Default: that of a first list, behind everything that is news. */
  readonly priority?: number | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
}

/** A function that has not answered after a minute, or the interval where that is longer, is treated like one that failed. */
const MAX_ANSWER_MS = 60_000

/**
 * Keys every so often.
 *
 * The first tick comes after one interval, for the first lists queue everything at the start. Ticks keep to their times; those
 * that a stall or a slow `keys` has missed are one.
 *
 * @example
 * ```ts
 * import { Controller, TickerSource } from 'kubeloop'
 * const source = new TickerSource({ name: 'hourly', everyMs: 3_600_000, keys: () => [{ namespace: 'default', name: 'a' }] })
 * const controller = new Controller({ name: 'checker', sources: [source], reconcile: async ({ key }) => console.log(key.name) })
 * ```
 */
export class TickerSource implements Source {
  readonly name: string
  readonly #options: TickerSourceOptions & { readonly clock: Clock; readonly log: Log }
  readonly #sparse: RateLimitedLog
  #started = false
  #asking = false

  /** @throws RangeError when the interval is none. */
  constructor(options: TickerSourceOptions) {
    const { name, everyMs, clock = systemClock } = options
    if (!(everyMs > 0 && everyMs < Infinity)) {
      throw new RangeError(`Cannot make the source "${name}": its interval is ${everyMs} ms`)
    }
    this.name = name
    this.#options = { ...options, clock, log: safeLog(options.log) }
    this.#sparse = new RateLimitedLog(clock)
  }

  /** Whether `keys` is not being asked. */
  get idle(): boolean {
    return !this.#asking
  }

  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`Cannot start the source "${this.name}": it was started already`)
    this.#started = true
    const { clock, everyMs } = this.#options
    let dueMs = clock.monotonic()
    try {
      while (!signal.aborted) {
        dueMs = nextTick(dueMs, everyMs, clock.monotonic())
        await sleep(clock, dueMs - clock.monotonic(), signal)
        this.#asking = true
        await this.#tick(sink, signal)
        this.#asking = false
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#asking = false
    }
  }

  async #tick(sink: Sink, signal: AbortSignal): Promise<void> {
    const { name, everyMs, keys, priority = LOW_PRIORITY, clock, log } = this.#options
    const cause = (): string => `every ${formatMs(everyMs)}`
    try {
      const maxMs = Math.max(everyMs, MAX_ANSWER_MS)
      const budget = turnBudgetOf(clock)
      for (const key of await boundedCall(keys, { what: 'Its function', maxMs, clock, signal })) {
        sink.add(key, { priority, cause })
        if (!budget.isSpent) continue
        await budget.turn()
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      this.#sparse.line((left) =>
        log.error(`Cannot tick in the source "${name}": ${messageOf(error)}${andMore(left)}`, { error })
      )
    }
  }
}

/** The first time after now that is a whole number of intervals after `lastMs`. */
export function nextTick(lastMs: number, everyMs: number, nowMs: number): number {
  return lastMs + everyMs * (Math.floor(Math.max(0, nowMs - lastMs) / everyMs) + 1)
}
