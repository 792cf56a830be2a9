/** A source of keys from an async iterable, such as an EventChannel or a ReadableStream. */
import { isNotCapable, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { type Clock, nextTurn, pause, systemClock } from '../async/clock.ts'
import { type Log, RateLimitedLog, safeLog } from '../observe/log.ts'
import { endsInTime, type Sink, type Source } from './source.ts'

/** Options of {@link StreamSource}. */
export interface StreamSourceOptions {
  readonly name: string
  /**
   * Returns the stream. Called at the start, and again after a back-off if the stream throws. The signal is aborted
   * when the stream is no longer read.
   */
  readonly open: (signal: AbortSignal) => AsyncIterable<ObjectKey | Pick<KubeObject, 'metadata'>>
  /** Default: 0. */
  readonly priority?: number | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. Errors of the log are ignored. */
  readonly log?: Log | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const BACKOFF = { baseMs: 100, maxMs: 30_000, jitter: 0.2 } as const
/** A stream that always has an item must not block timers and sockets. */
const ITEMS_PER_TURN = 128

/**
 * Adds the keys of a stream. It requests the next item when the previous one is queued, and none before the start.
 *
 * @example
 * ```ts
 * import { Controller, EventChannel, type Run, StreamSource } from 'kubeloop'
 * const channel = new EventChannel<{ namespace: string; name: string }>()
 * const source = new StreamSource({ name: 'webhook', open: () => channel })
 * const reconcile = async ({ key }: Run) => console.log(key.name)
 * const controller = new Controller({ name: 'deployer', sources: [source], reconcile })
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

  /** Adds keys until the signal is aborted or the stream has ended. Rejects if Deno denies a permission. */
  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`Cannot start the source "${this.name}": it was started already`)
    this.#started = true
    const { clock, log, random = Math.random } = this.#options
    let attempt = 0
    while (!signal.aborted) {
      try {
        await this.#read(sink, signal, () => (attempt = 0))
        return log.debug(`The source "${this.name}" has ended with its stream`)
      } catch (error) {
        if (signal.aborted) return
        if (isNotCapable(error)) throw error
        const waitMs = backoffMs(attempt++, BACKOFF, random)
        const text = `Cannot read the stream of the source "${this.name}": ${messageOf(error)} (opened again in ${
          formatMs(waitMs)
        })`
        log.error(text, { attempt, waitMs, error })
        await pause(clock, waitMs, signal) // aborted: the loop's condition ends it
      }
    }
  }

  /** Resolves when the stream has ended. Rejects if it throws or the signal is aborted. */
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
      scope.abort(new DOMException(`The source "${this.name}" is no longer read`, 'AbortError'))
      scope[Symbol.dispose]()
      await this.#end(items)
    }
  }

  /** Logs an item without a name and goes on: opening the stream again would not help. */
  #add(sink: Sink, item: ObjectKey | Pick<KubeObject, 'metadata'>): void {
    const { log, priority, name } = this.#options
    try {
      sink.add(keyOf(item), { priority, cause: () => name })
    } catch (error) {
      const text = `Cannot queue an item of the source "${name}": ${messageOf(error)}`
      this.#malformed.line((more) => log.error(`${text}${more}`, { error }))
    }
  }

  async #end(items: AsyncIterator<unknown> | undefined): Promise<void> {
    if (!items?.return) return
    const { clock, log } = this.#options
    try {
      const ended = (async () => await items.return?.())()
      await endsInTime(
        ended,
        { clock, log },
        (limit) =>
          `Cannot close the stream of the source "${this.name}": it did not end within ${limit}; end it when its signal is aborted`,
      )
    } catch (error) {
      log.warn(`Cannot close the stream of the source "${this.name}": ${messageOf(error)}`, { error })
    }
  }
}
