/** Starts, syncs and stops the sources of a controller. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { within } from '../async/clock.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { endsInTime, type Sink, type Source, type SourceFailure } from './source.ts'

export interface SourceSetOptions extends PartEnvironment {
  /** The controller's name, for errors. */
  readonly controller: string
  /** The first sources; {@link SourceSet.add} adds more. */
  readonly sources: readonly Source[]
  readonly sink: Sink
  readonly syncTimeoutMs: number
  /** Names what else is missing, for the error of a sync timeout. */
  readonly unsynced?: (() => readonly string[]) | undefined
}

interface Running {
  readonly source: Source
  ended: Promise<void>
  isSynced: boolean
  failure?: { readonly error: unknown }
}

export class SourceSet {
  readonly #options: SourceSetOptions
  /** Sources that wait for the start, each with an additional signal that ends it. */
  readonly #first: { readonly source: Source; readonly signal: AbortSignal | undefined }[]
  readonly #running = new Set<Running>()
  readonly #stop = new AbortController()
  #synced: Promise<unknown> | undefined
  /** Whether all sources may start, not only those of a warm-up. */
  #isStarted = false
  /** Rejects if a source fails after its sync. */
  readonly #failure: Promise<never>
  #fail: (error: Error) => void = () => {}

  constructor(options: SourceSetOptions) {
    this.#options = options
    this.#first = options.sources.map((source) => ({ source, signal: undefined }))
    this.#failure = new Promise((_, reject) => (this.#fail = reject))
    this.#failure.catch(() => {}) // handled by the controller while it runs
  }

  /** Rejects if a source fails after its sync: the controller would miss its keys. */
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

  get failing(): readonly (SourceFailure & { readonly source: string })[] {
    return [...this.#running].flatMap(({ source: { name, failing = [] } }) =>
      failing.map((each) => ({ source: name, ...each }))
    )
  }

  /**
   * Adds a source, which ends with the set or with `signal`. In a set that has started, it starts at once. Resolves
   * when its first keys are in the sink, or it has ended; at once if it waits for the start.
   */
  async add(source: Source, signal?: AbortSignal): Promise<void> {
    if (this.#synced && this.#begins(source)) await this.#begin(source, signal)
    else this.#first.push({ source, signal })
  }

  /**
   * The first call starts all sources in parallel; `forWarmup` starts only those that warm up. Each call resolves when
   * the keys of all existing objects are in the sink, or the signal is aborted, which also stops the sources. Rejects
   * after the sync timeout, or if a source fails. The set listens to the signal until it is aborted, so it must not
   * outlive the sources.
   */
  async sync(signal: AbortSignal, forWarmup: boolean = false): Promise<void> {
    const end = (): void => this.#stop.abort(signal.reason)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    if (!this.#isStarted && !(forWarmup && this.#synced)) {
      this.#isStarted = !forWarmup
      this.#synced = Promise.all([this.#synced, this.#syncAll()])
    }
    await untilAborted(this.#synced!, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  /**
   * Stops all sources. Resolves when they have ended; after a failed sync at most 5 s later, so that its error is seen.
   */
  async stop(options: { readonly failed: boolean }): Promise<void> {
    const { controller, clock, log } = this.#options
    this.#stop.abort(new DOMException(`Controller "${controller}" has ended`, 'AbortError'))
    const ended = Promise.allSettled([...this.#running].map((each) => each.ended))
    if (!options.failed) return void (await ended)
    await endsInTime(
      ended,
      { clock, log },
      (limit) =>
        `Controller "${controller}" no longer waits for its sources, which did not end within ${limit}: ${this.#names()}`,
    )
  }

  async #syncAll(): Promise<void> {
    const { controller, clock, syncTimeoutMs } = this.#options
    const { signal } = this.#stop
    const begin = async (): Promise<void> => {
      const first = this.#first.splice(0)
      this.#first.push(...first.filter(({ source }) => !this.#begins(source)))
      const started = first.filter(({ source }) => this.#begins(source)).map((each) =>
        this.#begin(each.source, each.signal)
      )
      await Promise.race([Promise.all(started), this.#failure])
    }
    try {
      const late = (): Error => this.#syncTimeout(syncTimeoutMs)
      await within(clock, syncTimeoutMs, late, (limited) => untilAborted(begin(), limited), signal)
    } catch (error) {
      if (signal.aborted) return
      const cause = error instanceof Error ? error.cause : undefined
      throw new Error(
        `Cannot start controller "${controller}": ${messageOf(error)}`,
        cause === undefined ? undefined : { cause },
      )
    }
  }

  #begins(source: Source): boolean {
    return this.#isStarted || source.warms === true
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

  /** Starts a source. Resolves when its first keys are in the sink, or it has ended. */
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

  /** Never rejects. A failure before the sync rejects the sync; a later one stops the controller. */
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
          `The source "${source.name}" of controller "${controller}" failed while stopping: ${messageOf(error)}`,
          { error },
        )
      }
    }
  }

  /** Logs the failure at once: the controller rejects with it only after its running reconciles. */
  #end(source: Source, error: unknown): void {
    const failure = failureOf(source, error)
    this.#options.log.error(`Controller "${this.#options.controller}" stops: ${failure.message}`, { error })
    this.#fail(failure)
  }

  #names(): string {
    return [...this.#running].map(({ source }) => `"${source.name}"`).join(', ')
  }
}

function failureOf({ name }: Source, error: unknown): Error {
  return new Error(`the source "${name}" failed: ${messageOf(error)}`, { cause: error })
}
