/** Workers between a queue and a reconcile: one key is never worked on twice at once, and no outcome is lost. */
import { messageOf } from '../core/errors.ts'
import { parseKey } from '../core/objects.ts'
import { formatMs } from '../core/duration.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope } from '../async/abort.ts'
import { sleep, type Clock } from '../async/clock.ts'
import { withFields, type Log } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import { nextTurn } from '../runtime/turn.ts'
import { exponentialLimiter } from '../queue/rate_limiter.ts'
import { WorkQueue } from '../queue/work_queue.ts'
import { Journal } from './journal.ts'
import { disposition, type Disposition, type Result } from './result.ts'
import { runOnce, type Run } from './run.ts'
import type { Source } from './source.ts'

/** What the live view tells of one run. */
export interface ReconcileReport {
  readonly controller: string
  readonly kind: string
  readonly key: string
  /** Why the key was queued, the first reason first. */
  readonly causes: readonly string[]
  /** How many runs this key had, this one included; keys that did not run for long are forgotten. */
  readonly count: number
  readonly attempt: number
  readonly durationMs: number
  readonly disposition: Disposition
  /** When the next try comes, after a failure. */
  readonly retryInMs: number | undefined
  readonly writes: readonly WriteRecord[]
}

export interface ControllerDependencies {
  readonly name: string
  /** The kind in whose name keys are reconciled, for logs. */
  readonly kind: string
  readonly sources: readonly Source[]
  readonly reconcile: (run: Run) => Promise<Result>
  readonly clock: Clock
  readonly log: Log
  /** How many keys are worked on at once. Default: 1. */
  readonly concurrency?: number | undefined
  /** Aborts a run's signal after so long. Default: never. */
  readonly timeoutMs?: number | undefined
  readonly backoff?: { readonly firstMs?: number; readonly mostMs?: number } | undefined
  /** How long the first lists may take. Default: 2 minutes, as in controller-runtime. */
  readonly syncTimeoutMs?: number | undefined
  /** Aborted when running reconciles shall be given up. */
  readonly abandon?: AbortSignal | undefined
  /** Says what else is missing, for the error of a sync that takes too long: the sources name what they wait for. */
  readonly unsynced?: () => readonly string[]
  /** Hears of every run, and of failures instead of the log. */
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
}

export class Controller implements Runnable {
  readonly name: string
  readonly #dependencies: ControllerDependencies
  readonly #queue: WorkQueue<string>
  /** Sources that start with the controller, each with what else ends it. */
  readonly #first: { readonly source: Source; readonly signal: AbortSignal | undefined }[]
  /** Sources that run, until they have ended. */
  readonly #running = new Map<Source, Promise<void>>()
  /** Set from the start on: what a source that is added then ends with. */
  #signal: AbortSignal | undefined
  /** Kept only while somebody listens. */
  readonly #journal: Journal | undefined
  #runs = 0

  constructor(dependencies: ControllerDependencies) {
    const { name, sources, clock, backoff, onReconcile, concurrency = 1 } = dependencies
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`Cannot make controller "${name}": its concurrency is ${concurrency}, and must be a whole number from 1 on`)
    }
    this.name = name
    this.#dependencies = dependencies
    this.#first = sources.map((source) => ({ source, signal: undefined }))
    this.#journal = onReconcile ? new Journal() : undefined
    this.#queue = new WorkQueue({ clock, limiter: exponentialLimiter(backoff), onTake: (key) => this.#journal?.begin(key) })
  }

  /** Whether no key waits or is in work and no event waits to be mapped; keys that wait for their time do not count. */
  get idle(): boolean {
    return this.#queue.idle && [...this.#running.keys()].every((source) => source.idle)
  }

  /**
   * Adds a source, which ends with the controller or with `signal`. In a controller that runs it starts at once;
   * settles when its initial keys are queued, or when it has ended.
   */
  async watch(source: Source, signal?: AbortSignal): Promise<void> {
    if (this.#signal) await this.#startSource(source, signal, this.#signal)
    else this.#first.push({ source, signal })
  }

  /**
   * Queues the keys of everything that exists, then works until the signal is aborted and the running reconciles
   * have ended. Rejects when the first lists take too long.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#signal) throw new Error(`Cannot start controller "${this.name}": it was started already`)
    const { concurrency = 1, log } = this.#dependencies
    const scope = abortScope(signal)
    this.#signal = scope.signal
    let workers: Promise<void>[] = []
    try {
      await this.#sync(scope.signal)
      if (signal.aborted) return
      log.debug(`Controller "${this.name}" runs`, { workers: concurrency, queued: this.#queue.length })
      workers = Array.from({ length: concurrency }, () => this.#work(scope.signal))
      await Promise.all(workers)
    } finally {
      scope.abort(new DOMException(`Controller "${this.name}" has ended`, 'AbortError'))
      await Promise.allSettled([...workers, ...this.#running.values()])
      await this.#queue.shutDown()
      scope[Symbol.dispose]()
    }
  }

  /** All sources in parallel; every initial key is queued before the first reconcile. An abort ends it early. */
  async #sync(signal: AbortSignal): Promise<void> {
    const { clock, syncTimeoutMs = 120_000 } = this.#dependencies
    const scope = abortScope(signal)
    const timeout = sleep(clock, syncTimeoutMs, scope.signal).then(() => {
      throw this.#syncTimeout(syncTimeoutMs)
    })
    timeout.catch(() => {}) // lost the race, or was what ended it
    try {
      const started = this.#first.splice(0).map((first) => this.#startSource(first.source, first.signal, signal))
      await Promise.race([Promise.all(started), timeout])
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      scope.abort()
      scope[Symbol.dispose]()
    }
  }

  #syncTimeout(ms: number): Error {
    const missing = new Set([...this.#running.keys()].flatMap((source) => source.missing))
    for (const more of this.#dependencies.unsynced?.() ?? []) missing.add(more)
    const what = missing.size > 0 ? `; still missing: ${[...missing].join(', ')}` : ''
    return new Error(`Cannot start controller "${this.name}": its first lists took longer than ${formatMs(ms)}${what}`)
  }

  /** Settles when the source's initial keys are queued, or when it has ended: then there are none to wait for. */
  async #startSource(source: Source, own: AbortSignal | undefined, signal: AbortSignal): Promise<void> {
    const scope = abortScope(signal, own)
    const run = source.start((key, cause) => this.#enqueue(key, cause), scope.signal)
    const ended = run.finally(() => {
      scope[Symbol.dispose]()
      this.#running.delete(source)
    })
    this.#running.set(source, ended)
    try {
      await Promise.race([source.synced(scope.signal), ended])
    } catch (error) {
      if (!scope.signal.aborted) throw error
    }
  }

  #enqueue(key: string, cause: () => string): void {
    this.#journal?.note(key, cause())
    this.#queue.add(key)
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let key: string | undefined
      try {
        key = await this.#queue.get(signal)
      } catch (error) {
        if (signal.aborted) return
        throw error
      }
      // A key that was handed out with the abort is not begun any more.
      if (key === undefined || signal.aborted) return
      await this.#runKey(key)
      // A reconcile that never waits must not keep timers and sockets waiting: leases are renewed by them.
      await nextTurn()
    }
  }

  async #runKey(key: string): Promise<void> {
    const { clock, log, kind, reconcile, timeoutMs, abandon } = this.#dependencies
    const attempt = this.#queue.failures(key) + 1
    const writes: WriteRecord[] = []
    const began = clock.monotonic()
    const run: Omit<Run, 'signal'> = {
      key: parseKey(key),
      log: withFields(log, { controller: this.name, kind, ...parseKey(key), reconcileID: ++this.#runs }),
      attempt,
      onWrite: this.#journal && ((write) => void writes.push(write)),
    }
    const outcome = await runOnce(reconcile, run, { what: `${kind} "${key}"`, clock, timeoutMs, abandon })
    const durationMs = clock.monotonic() - began
    const decided = disposition(outcome)
    const retryInMs = this.#dispose(key, decided)
    if (!this.#journal) return this.#logFailure(key, decided, attempt, retryInMs)
    const entry = this.#journal.end(key)
    this.#report({ controller: this.name, kind, key, ...entry, attempt, durationMs, disposition: decided, retryInMs, writes })
  }

  /** Carries a disposition out; the time until the next try, where there is one. */
  #dispose(key: string, decided: Disposition): number | undefined {
    const queue = this.#queue
    let delayMs: number | undefined
    switch (decided.kind) {
      case 'forget':
        queue.forget(key)
        break
      case 'later':
        // Forgotten first: coming back at a time of one's own choice is no failure.
        queue.forget(key)
        queue.add(key, { afterMs: decided.ms })
        this.#journal?.note(key, `requeued after ${formatMs(decided.ms)}`)
        break
      case 'retry':
        delayMs = queue.retry(key)
        this.#journal?.note(key, `retry ${queue.failures(key)}`)
        break
      case 'drop':
        break
    }
    queue.done(key)
    return delayMs
  }

  /** Who listens must not be able to end the work. */
  #report(report: ReconcileReport): void {
    try {
      this.#dependencies.onReconcile?.(report)
    } catch (error) {
      this.#dependencies.log.error(`The listener to the runs of controller "${this.name}" threw: ${messageOf(error)}`, { error })
    }
  }

  #logFailure(key: string, decided: Disposition, attempt: number, retryInMs: number | undefined): void {
    if (decided.kind !== 'retry' && decided.kind !== 'drop') return
    const { log, kind } = this.#dependencies
    const { error } = decided
    const fields = { controller: this.name, ...parseKey(key), attempt, error }
    const next = retryInMs === undefined ? 'not retried' : `retry ${attempt} in ${formatMs(retryInMs)}`
    log.error(`Cannot reconcile ${kind} "${key}": ${messageOf(error)} (${next})`, fields)
  }
}
