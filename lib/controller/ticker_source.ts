/** A source of keys at a fixed interval, for changes without events. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { keyOf, type Keys, type ObjectKey } from '../core/objects.ts'
import { nextTurn, pause } from '../async/clock.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'
import { boundedCall, type Call } from './bounded_call.ts'
import { LOW_PRIORITY, type Sink, type Source, type SourceFailure } from './source.ts'

/** Options of {@link TickerSource}. */
export interface TickerSourceOptions extends PartOptions {
  readonly name: string
  readonly everyMs: number
  /** Returns the keys of a tick. If it throws, it is called again at the next tick. */
  readonly keys: (call: Call) => Keys<ObjectKey>
  /** Default: −100, that of first lists: new events come first. */
  readonly priority?: number | undefined
}

/** A `keys` function that has not settled after a minute, or after the interval if that is longer, counts as failed. */
const MAX_ANSWER_MS = 60_000
/** Many keys must not block timers and sockets. */
const KEYS_PER_TURN = 256

/**
 * Adds keys at a fixed interval.
 *
 * The first tick comes after one interval, because the first lists queue all keys at the start. Ticks keep to their
 * times; ticks missed during a stall or a slow `keys` count as one.
 *
 * @example
 * ```ts
 * import { Controller } from 'kubeloop'
 * import { type Run, TickerSource } from 'kubeloop/parts'
 * const keys = () => [{ namespace: 'default', name: 'a' }]
 * const source = new TickerSource({ name: 'hourly', everyMs: 3_600_000, keys })
 * const reconcile = async ({ key }: Run) => console.log(key.name)
 * const controller = new Controller({ name: 'checker', sources: [source], reconcile })
 * ```
 */
export class TickerSource implements Source {
  readonly name: string
  readonly #options: TickerSourceOptions & PartEnvironment
  readonly #limitedLog: RateLimitedLog
  #failure: readonly SourceFailure[] = []
  #started = false
  #calling = false

  /** @throws RangeError if `everyMs` is not above 0 and finite. */
  constructor(options: TickerSourceOptions) {
    const { name, everyMs } = options
    if (!(everyMs > 0 && everyMs < Infinity)) {
      throw new RangeError(
        `Cannot make the source "${name}": its interval is ${everyMs} ms, and must be above 0 and finite`,
      )
    }
    this.name = name
    this.#options = { ...options, ...environmentOf(options) }
    this.#limitedLog = new RateLimitedLog(this.#options.clock, this.#options.log)
  }

  get failing(): readonly SourceFailure[] {
    return this.#failure
  }

  /** Whether no call of `keys` is in progress. */
  get idle(): boolean {
    return !this.#calling
  }

  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`Cannot start the source "${this.name}": it was started already`)
    this.#started = true
    const { clock, everyMs } = this.#options
    let dueMs = clock.monotonic()
    for (;;) {
      dueMs = nextTick(dueMs, everyMs, clock.monotonic())
      await pause(clock, dueMs - clock.monotonic(), signal)
      if (signal.aborted) return
      this.#calling = true
      await this.#tick(sink, signal)
      this.#calling = false
    }
  }

  async #tick(sink: Sink, signal: AbortSignal): Promise<void> {
    const { name, everyMs, keys, priority = LOW_PRIORITY, clock } = this.#options
    this.#failure = []
    const cause = (): string => `every ${formatMs(everyMs)}`
    try {
      const maxMs = Math.max(everyMs, MAX_ANSWER_MS)
      let added = 0
      for (const key of await boundedCall(keys, { what: 'its keys function', maxMs, clock, signal })) {
        sink.add(keyOf(key), { priority, cause })
        if (++added % KEYS_PER_TURN !== 0) continue
        await nextTurn()
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      this.#failure = [{ error }]
      this.#limitedLog.error(`Cannot get the keys of the source "${name}": ${messageOf(error)}`, { error })
    }
  }
}

/** Returns the first time after now that is a whole number of intervals after `lastMs`. */
export function nextTick(lastMs: number, everyMs: number, nowMs: number): number {
  return lastMs + everyMs * (Math.floor(Math.max(0, nowMs - lastMs) / everyMs) + 1)
}
