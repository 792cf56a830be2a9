/** Keys from outside the cluster: anything that can be iterated, such as an EventChannel or a ReadableStream. */
import { isNotCapable, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { type Clock, isInTime, nextTurn, sleep, systemClock } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import type { Sink, Source } from './source.ts'
import { andMore, RateLimitedLog } from '../observe/rate_limited_log.ts'

/** Options of {@link StreamSource}. */
export interface StreamSourceOptions {
  readonly name: string
  /** Called at the start, and again after a back-off when what it gave has thrown. The signal is aborted when it is read no more. */
  readonly open: (signal: AbortSignal) => AsyncIterable<ObjectKey | Pick<KubeObject, 'metadata'>>
  /** Default: 0. */
  readonly priority?: number | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const BACKOFF = { baseMs: 100, maxMs: 30_000, jitter: 0.2 } as const
/** A stream that always has an item must not keep timers and sockets waiting. */
const ITEMS_PER_TURN = 128
/** How long an iteration may take to end once it is read no more; a generator that waits for something ends only after that. */
const END_MS = 5_000

/**
 * The keys of a stream. It pulls: the next item is asked for when the one before is queued. Nothing is asked for before the start.
 *
 * @example
 * ```ts
 * import { Controller, EventChannel, StreamSource } from 'kubeloop'
 * const channel = new EventChannel<{ namespace: string; name: string }>()
 * const source = new StreamSource({ name: 'webhook', open: () => channel })
 * const controller = new Controller({ name: 'deployer', sources: [source], reconcile: async ({ key }) => console.log(key.name) })
 * ```
 */
export class StreamSource implements Source {
  readonly name: string
  readonly #options: StreamSourceOptions & { readonly clock: Clock; readonly log: Log }
  readonly #malformed: RateLimitedLog
  #started = false

  constructor(options: StreamSourceOptions) {
    const { clock = systemClock } = options
    this.#options = { ...options, clock, log: safeLog(options.log) }
    this.#malformed = new RateLimitedLog(clock)
    this.name = options.name
  }

  /** Adds keys until the signal is aborted or the stream has ended. Rejects with what Deno does not permit. */
  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`Cannot start the source "${this.name}": it was started already`)
    this.#started = true
    const { clock, log, random = Math.random } = this.#options
    let attempt = 0
    while (!signal.aborted) {
      try {
        await this.#read(sink, signal, () => (attempt = 0))
        return log.debug(`The source "${this.name}" has ended: there is no more to read`)
      } catch (error) {
        if (signal.aborted) return
        if (isNotCapable(error)) throw error
        const waitMs = backoffMs(attempt++, BACKOFF, random)
        const text = `Cannot read on in the source "${this.name}": ${messageOf(error)} (opened again in ${
          formatMs(waitMs)
        })`
        log.error(text, { attempt, waitMs, error })
        await sleep(clock, waitMs, signal).catch(() => {}) // aborted: the loop ends by its condition
      }
    }
  }

  /** Until the stream ends; rejects when it throws or the signal is aborted. */
  async #read(sink: Sink, signal: AbortSignal, onItem: () => void): Promise<void> {
    const scope = abortScope(signal)
    let items: AsyncIterator<ObjectKey | Pick<KubeObject, 'metadata'>> | undefined
    try {
      items = this.#options.open(scope.signal)[Symbol.asyncIterator]()
      for (let count = 1;; count++) {
        const { done, value } = await untilAborted(items.next(), signal)
        if (done) return void (items = undefined)
        onItem()
        this.#add(sink, value)
        if (count % ITEMS_PER_TURN === 0) await nextTurn()
      }
    } finally {
      scope.abort(new DOMException(`The source "${this.name}" is read no more`, 'AbortError'))
      scope[Symbol.dispose]()
      await this.#end(items)
    }
  }

  /** What names nothing cannot be reconciled, and would not be better if it were read again. */
  #add(sink: Sink, item: ObjectKey | Pick<KubeObject, 'metadata'>): void {
    const { log, priority, name } = this.#options
    try {
      sink.add(keyOf(item), { priority, cause: () => name })
    } catch (error) {
      const text = `Cannot queue an item of the source "${name}": ${messageOf(error)}`
      this.#malformed.line((left) => log.error(`${text}${andMore(left)}`, { error }))
    }
  }

  async #end(items: AsyncIterator<unknown> | undefined): Promise<void> {
    if (!items?.return) return
    const { clock, log } = this.#options
    try {
      if (await isInTime(clock, END_MS, (async () => await items.return?.())())) return
      log.warn(`The source "${this.name}" was left alone: what it reads did not end within ${formatMs(END_MS)}`)
    } catch (error) {
      log.warn(`What the source "${this.name}" reads failed as it ended: ${messageOf(error)}`, { error })
    }
  }
}
