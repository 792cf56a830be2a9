/** A source of keys from an async iterable, such as an EventChannel or a ReadableStream. */
import { isNotCapable, messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { nextTurn, pause } from '../async/clock.ts'
import { environmentOf, type RandomPartEnvironment, type RandomPartOptions } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'
import { endsInTime, type Sink, type Source, type SourceFailure } from './source.ts'

/** Options of {@link StreamSource}. */
export interface StreamSourceOptions extends RandomPartOptions {
  readonly name: string
  /**
   * Returns the stream. Called at the start, and again after a back-off when the stream throws or ends, unless it ends
   * with the return value `done`. The signal is aborted when the stream is no longer read.
   */
  readonly open: (signal: AbortSignal) => AsyncIterable<ObjectKey | Pick<KubeObject, 'metadata'>>
  /** Default: 0. */
  readonly priority?: number | undefined
}

/** What an iterator returns at its end if it must not be opened again: `return 'done'` in a generator. */
const DONE = 'done'
const BACKOFF = { baseMs: 100, maxMs: 30_000, jitter: 0.2 } as const
/** The back-off starts again after a stream that was open this long, as servers end idle streams regularly. */
const STEADY_MS = 5_000
/** A stream that always has an item must not block timers and sockets. */
const ITEMS_PER_TURN = 128

/**
 * Adds the keys of a stream. It requests the next item when the previous one is queued, and none before the start.
 *
 * @example
 * ```ts
 * import { Controller, EventChannel } from 'kubeloop'
 * import { type Run, StreamSource } from 'kubeloop/parts'
 * const channel = new EventChannel<{ namespace: string; name: string }>()
 * const source = new StreamSource({ name: 'webhook', open: () => channel })
 * const reconcile = async ({ key }: Run) => console.log(key.name)
 * const controller = new Controller({ name: 'deployer', sources: [source], reconcile })
 * ```
 */
export class StreamSource implements Source {
  readonly name: string
  readonly #options: StreamSourceOptions & RandomPartEnvironment
  readonly #limitedLog: RateLimitedLog
  #failure: readonly SourceFailure[] = []
  #started = false

  constructor(options: StreamSourceOptions) {
    this.#options = { ...options, ...environmentOf(options) }
    this.#limitedLog = new RateLimitedLog(this.#options.clock, this.#options.log)
    this.name = options.name
  }

  get failing(): readonly SourceFailure[] {
    return this.#failure
  }

  /** Adds keys until the signal is aborted or the stream returns `done`. Rejects if Deno denies a permission. */
  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`Cannot start the source "${this.name}": it was started already`)
    this.#started = true
    const { clock, log, random } = this.#options
    let attempt = 0
    while (!signal.aborted) {
      const openedMs = clock.monotonic()
      let count = 0
      let failure: { readonly error: unknown } | undefined
      try {
        const end = await this.#read(sink, signal, () => void count++)
        if (end === DONE) return log.debug(`The source "${this.name}" is done`)
      } catch (error) {
        if (signal.aborted) return
        if (isNotCapable(error)) throw error
        failure = { error }
      }
      // Items alone do not reset it at an end: a short list of keys would be read ten times a second.
      if ((failure && count > 0) || clock.monotonic() - openedMs >= STEADY_MS) attempt = 0
      const waitMs = backoffMs(attempt++, BACKOFF, random)
      const next = `(opened again in ${formatMs(waitMs)})`
      if (failure) {
        const text = `Cannot read the stream of the source "${this.name}": ${messageOf(failure.error)} ${next}`
        log.error(text, { attempt, waitMs, ...failure })
      } else if (count === 0 && (attempt & (attempt - 1)) === 0) {
        log.warn(`The stream of the source "${this.name}" ended without an item ${next}`, { attempt, waitMs })
      } else log.debug(`The stream of the source "${this.name}" has ended ${next}`)
      this.#failure = failure ? [failure] : []
      await pause(clock, waitMs, signal) // aborted: the loop's condition ends it
      this.#failure = []
    }
  }

  /** Resolves with the stream's return value when it has ended. Rejects if it throws or the signal is aborted. */
  async #read(sink: Sink, signal: AbortSignal, onItem: () => void): Promise<unknown> {
    const scope = abortScope(signal)
    let items: AsyncIterator<ObjectKey | Pick<KubeObject, 'metadata'>> | undefined
    try {
      items = this.#options.open(scope.signal)[Symbol.asyncIterator]()
      for (let count = 1;; count++) {
        const { done, value } = await untilAborted(items.next(), signal)
        if (done) {
          items = undefined
          return value
        }
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
    const { priority, name } = this.#options
    try {
      sink.add(keyOf(item), { priority, cause: () => name })
    } catch (error) {
      this.#limitedLog.error(`Cannot queue an item of the source "${name}": ${messageOf(error)}`, { error })
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
