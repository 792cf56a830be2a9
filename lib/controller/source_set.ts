/** The sources of a controller: started together, in sync before work begins, added and removed while it runs. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, isInTime, sleep } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Sink, Source } from './source.ts'

export interface SourceSetOptions {
  /** Whose they are, for errors. */
  readonly controller: string
  /** Those that it begins with. */
  readonly sources: readonly Source[]
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Log
  readonly syncTimeoutMs: number
  /** Says what else is missing, for the error of a sync that takes too long. */
  readonly unsynced?: (() => readonly string[]) | undefined
}

interface Running {
  readonly source: Source
  ended: Promise<void>
  isSynced: boolean
  failure?: { readonly error: unknown }
}

/** How long sources may take to end when the sync has failed: one that hangs must not hide why. */
const END_MS = 5_000

export class SourceSet {
  readonly #options: SourceSetOptions
  /** Those that wait for the start, each with what else ends it. */
  readonly #first: { readonly source: Source; readonly signal: AbortSignal | undefined }[]
  readonly #running = new Set<Running>()
  readonly #stop = new AbortController()
  #synced: Promise<void> | undefined
  /** Rejects when a source fails once it was in sync. */
  readonly #failure: Promise<never>
  #fail: (error: Error) => void = () => {}

  constructor(options: SourceSetOptions) {
    this.#options = options
    this.#first = options.sources.map((source) => ({ source, signal: undefined }))
    this.#failure = new Promise((_, reject) => (this.#fail = reject))
    this.#failure.catch(() => {}) // whoever runs the set listens, while it runs
  }

  /** Rejects when a source fails once it was in sync: what runs would be deaf to it. */
  get failure(): Promise<never> {
    return this.#failure.catch((error: Error) => {
      throw new Error(`Cannot go on with controller "${this.#options.controller}": ${error.message}`, {
        cause: error.cause,
      })
    })
  }

  get idle(): boolean {
    for (const { source } of this.#running) if (source.idle === false) return false
    return true
  }

  /**
   * Adds a source, which ends with the set or with `signal`. Once the set has begun it starts at once; settles when
   * its initial keys are in the sink, or when it has ended.
   */
  async add(source: Source, signal?: AbortSignal): Promise<void> {
    if (this.#synced) await this.#begin(source, signal)
    else this.#first.push({ source, signal })
  }

  /**
   * Starts all sources in parallel at the first call; each call settles when the keys of all that exists are in the sink, or the
   * signal is aborted, which ends the sources: it is the caller's own, and lives no longer than the sources may. Rejects when
   * it takes too long, or one of them fails.
   */
  async sync(signal: AbortSignal): Promise<void> {
    const end = (): void => this.#stop.abort(signal.reason)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    this.#synced ??= this.#syncAll()
    await untilAborted(this.#synced, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  /** Ends all sources; settles when they have ended. After a failed sync it does not wait for ever. */
  async stop(options: { readonly failed: boolean }): Promise<void> {
    const { controller, clock, log } = this.#options
    this.#stop.abort(new DOMException(`Controller "${controller}" has ended`, 'AbortError'))
    const ended = Promise.allSettled([...this.#running].map((each) => each.ended))
    if (!options.failed) return void (await ended)
    if (await isInTime(clock, END_MS, ended)) return
    log.warn(
      `Controller "${controller}" left sources alone that did not end within ${formatMs(END_MS)}: ${this.#names()}`,
    )
  }

  async #syncAll(): Promise<void> {
    const { controller, clock, syncTimeoutMs } = this.#options
    const { signal } = this.#stop
    const scope = abortScope(signal)
    const timeout = sleep(clock, syncTimeoutMs, scope.signal).then(() => {
      throw this.#syncTimeout(syncTimeoutMs)
    })
    timeout.catch(() => {}) // lost the race, or was what ended it
    try {
      const started = this.#first.splice(0).map((first) => this.#begin(first.source, first.signal))
      await Promise.race([Promise.all(started), timeout, this.#failure])
    } catch (error) {
      if (signal.aborted) return
      const cause = error instanceof Error ? error.cause : undefined
      throw new Error(
        `Cannot start controller "${controller}": ${messageOf(error)}`,
        cause === undefined ? undefined : { cause },
      )
    } finally {
      scope.abort()
      scope[Symbol.dispose]()
    }
  }

  #syncTimeout(ms: number): Error {
    const missing = new Set<string>()
    for (const { source, isSynced } of this.#running) {
      if (isSynced) continue
      const own = source.missing ?? []
      for (const each of own.length > 0 ? own : [`the source "${source.name}"`]) missing.add(each)
    }
    for (const each of this.#options.unsynced?.() ?? []) missing.add(each)
    return new Error(`its sources were not in sync within ${formatMs(ms)}; still missing: ${[...missing].join(', ')}`)
  }

  /** Settles when the source's initial keys are in the sink, or when it has ended: then there are none to wait for. */
  async #begin(source: Source, own: AbortSignal | undefined): Promise<void> {
    const scope = abortScope(this.#stop.signal, own)
    const running: Running = { source, ended: Promise.resolve(), isSynced: false }
    this.#running.add(running)
    running.ended = this.#run(running, scope.signal).finally(() => {
      scope[Symbol.dispose]()
      this.#running.delete(running)
    })
    try {
      await Promise.race([running.ended, source.synced?.(scope.signal)])
      if (running.failure) throw running.failure.error
    } catch (error) {
      if (!scope.signal.aborted) throw failureOf(source, error)
    }
    running.isSynced = true
  }

  /** Never rejects. Who waits for the sync hears of a failure before it; one that comes later ends the set. */
  async #run(running: Running, signal: AbortSignal): Promise<void> {
    const { controller, log, sink } = this.#options
    const { source } = running
    try {
      await source.start(sink, signal)
    } catch (error) {
      if (!signal.aborted) {
        running.failure = { error }
        if (running.isSynced) this.#end(source, error)
      } else if (error !== signal.reason) {
        log.warn(
          `The source "${source.name}" of controller "${controller}" failed as it was stopped: ${messageOf(error)}`,
          { error },
        )
      }
    }
  }

  /** Told at once: who runs the set may have to wait for reconciles before it can say so. */
  #end(source: Source, error: unknown): void {
    const failure = failureOf(source, error)
    this.#options.log.error(`Controller "${this.#options.controller}" ends: ${failure.message}`, { error })
    this.#fail(failure)
  }

  #names(): string {
    return [...this.#running].map(({ source }) => `"${source.name}"`).join(', ')
  }
}

function failureOf({ name }: Source, error: unknown): Error {
  return new Error(`the source "${name}" failed: ${messageOf(error)}`, { cause: error })
}
