/** Runs the reconcile of a key and decides what happens to the key afterwards. */
import { messageOf } from '../core/errors.ts'
import { parseKey } from '../core/objects.ts'
import { formatMs } from '../core/duration.ts'
import { LazyAbort } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { type Log, RateLimitedLog, withFields } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { RunHistory } from './run_history.ts'
import { FailureLog } from './failures.ts'
import type { HotKeys } from './hot_keys.ts'
import { type Disposition, disposition, type Outcome, type Result, type Run } from './result.ts'

/** One run, for the live view. */
export interface ReconcileReport {
  readonly controller: string
  readonly kind: string
  readonly key: string
  /** The cluster of the controller's own kind, as named in `app.cluster`; absent for the operator's own cluster. */
  readonly cluster?: string
  /** Why the key was queued, the first reason first. */
  readonly causes: readonly string[]
  /** The number of runs of this key, including this one; starts again for a key that has not run for a long time. */
  readonly count: number
  readonly attempt: number
  readonly durationMs: number
  readonly disposition: Disposition
  /** The delay of the next try, after a failure or `{ requeue: true }`. */
  readonly retryInMs: number | undefined
  readonly writes: readonly WriteRecord[]
}

export interface ReconcilerOptions {
  readonly controller: string
  readonly kind: string
  readonly reconcile: (run: Run) => Promise<Result>
  readonly queue: WorkQueue<string>
  readonly clock: Clock
  readonly log: Log
  /** Returns the id of a run, for its log. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
  readonly timeoutMs: number | undefined
  readonly abandon: AbortSignal | undefined
  readonly metrics: ControllerMetrics | undefined
  /** Present only with `onReconcile`. */
  readonly journal: RunHistory | undefined
  /** Detects keys that run over and over; used for the log if there is no `onReconcile`. */
  readonly hot: HotKeys
  readonly onReconcile: ((report: ReconcileReport) => void) | undefined
}

export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #runs: Runs
  readonly #failures: FailureLog
  readonly #hotLog: RateLimitedLog

  constructor(options: ReconcilerOptions) {
    const { controller, kind, clock, log, timeoutMs, abandon } = options
    this.#options = options
    this.#hotLog = new RateLimitedLog(clock)
    this.#failures = new FailureLog(kind, clock, withFields(log, { controller, kind }))
    const onSlow = (key: string, ms: number): void =>
      log.warn(
        `The reconcile of ${kind} "${key}" has run for ${formatMs(ms)}: it blocks the key and a worker until it ends`,
        { controller, kind, ...parseKey(key) },
      )
    this.#runs = new Runs({ kind, clock, timeoutMs, abandon, onSlow })
  }

  /** The keys of the runs in progress, the oldest run first. */
  get running(): readonly string[] {
    return this.#runs.keys
  }

  /** Stops reporting runs in progress and frees all timers and listeners. */
  stop(): void {
    this.#runs.stop()
    this.#failures.stop()
  }

  /** Never rejects: an error of the reconcile is an outcome. */
  async run(key: string): Promise<void> {
    const { controller, kind, reconcile, queue, metrics, journal, hot } = this.#options
    // A run caused by an event while a retry waits belongs to the attempt before that retry.
    const attempt = Math.max(1, queue.failures(key) + (queue.isRetrying(key) ? 0 : 1))
    const writes: WriteRecord[] = []
    const name = parseKey(key)
    // Computed with the first line: most runs log nothing, and an id costs as much as queueing a key.
    const log = withFields(
      this.#options.log,
      () => ({ controller, kind, ...name, reconcileID: this.#options.uuid?.() ?? crypto.randomUUID() }),
    )
    metrics?.begin()
    const run: Omit<Run, 'signal'> = { key: name, log, attempt, onWrite: (write) => void writes.push(write) }
    const end = await this.#runs.once(key, reconcile, run)
    const { durationMs } = end
    const decided = disposition(end.outcome)
    metrics?.end(decided, end, durationMs)
    const retryInMs = this.#dispose(key, decided)
    const ended = { controller, kind, key, attempt, durationMs, disposition: decided, retryInMs, writes }
    if (journal) return void this.#report({ ...ended, ...journal.end(key) })
    this.#failures.ended(ended, log)
    const problem = hot.ended(key, ended)
    if (problem) this.#hotLog.line((more) => log.warn(`${problem}${more}`))
  }

  /** Applies a disposition to the queue. Returns the delay of the next try after a failure or `{ requeue: true }`. */
  #dispose(key: string, decided: Disposition): number | undefined {
    const { queue, clock, journal, hot } = this.#options
    const note = (cause: string, afterMs: number, isRetry: boolean): void => {
      if (journal) journal.note(key, cause, { dueMs: nowMs + afterMs, isRetry })
      else if (hot.notes(key)) hot.note(key, cause)
    }
    // A run caused by an event during the back-off is not counted. client-go counts it: there, ten events within a
    // second turn a wait of milliseconds into one of seconds.
    const retry = (priority: number | undefined): number => queue.retry(key, { priority, keepsWait: true })
    // Read before the key is queued, so that the noted time is not after the queue's own.
    const nowMs = journal ? clock.monotonic() : 0
    let delayMs: number | undefined
    switch (decided.kind) {
      case 'forget':
        queue.forget(key)
        journal?.forgetRetries(key)
        break
      case 'later':
        // A requested time is not a failure.
        queue.forget(key)
        journal?.forgetRetries(key)
        queue.add(key, { afterMs: decided.ms, priority: decided.priority ?? queue.priorityOf(key) })
        note(`requeued after ${formatMs(decided.ms)}`, decided.ms, false)
        break
      case 'requeue':
        delayMs = retry(decided.priority)
        note('requeued', delayMs, true)
        break
      case 'retry':
        delayMs = retry(decided.priority)
        note(`retry ${queue.failures(key)}`, delayMs, true)
        break
      case 'drop':
        break
    }
    queue.done(key)
    return delayMs
  }

  /** Never rejects: a throwing listener must not stop the worker. */
  async #report(report: ReconcileReport): Promise<void> {
    const { onReconcile, controller, log } = this.#options
    try {
      await onReconcile?.(report)
    } catch (error) {
      log.error(`The onReconcile listener of controller "${controller}" threw: ${messageOf(error)}`, { error })
    }
  }
}

export interface RunsOptions {
  /** The reconciled kind, for the reasons of aborts. */
  readonly kind: string
  readonly clock: Clock
  /** Aborts a run's signal after this time. */
  readonly timeoutMs: number | undefined
  /** Aborts the signals of all runs. */
  readonly abandon: AbortSignal | undefined
  /** Called once for a run that takes a minute, with its duration so far. */
  readonly onSlow?: (key: string, ms: number) => void
}

export interface RunEnd {
  readonly outcome: Outcome
  /** Whether the run's own deadline aborted it. */
  readonly timedOut: boolean
  readonly durationMs: number
}

interface RunInProgress {
  readonly key: string
  readonly beganMs: number
  readonly abort: LazyAbort
  isSlow: boolean
}

/** A run that takes longer is reported: it holds its key and a worker, and nothing else shows that. */
const SLOW_MS = 60_000

/**
 * The runs of one controller, each with a signal and a deadline. They are many and short, so they share what they can.
 */
export class Runs {
  readonly #options: RunsOptions
  /** The oldest first. */
  readonly #running = new Set<RunInProgress>()
  /** Shared by all runs: creating one takes longer than a small reconcile. */
  readonly #ended: DOMException
  readonly #onAbandon = (): void => this.#running.forEach(({ abort }) => abort.abort(this.#options.abandon?.reason))
  #listens = false
  /** One timer for all runs, not one per run. */
  #cancelTimer: (() => void) | undefined

  constructor(options: RunsOptions) {
    this.#options = options
    this.#ended = new DOMException(
      `The reconcile of this ${options.kind} has ended; await all its calls before it returns`,
      'AbortError',
    )
  }

  /** The keys of the runs in progress, the oldest run first. */
  get keys(): readonly string[] {
    return Array.from(this.#running, ({ key }) => key)
  }

  /**
   * Calls the reconcile once. Never rejects: an error is the outcome. Also waits for an aborted run to end, because a
   * key must not have two runs at once.
   */
  async once(key: string, reconcile: (run: Run) => Promise<Result>, run: Omit<Run, 'signal'>): Promise<RunEnd> {
    const { clock } = this.#options
    const own = this.#begin(key)
    const { abort } = own
    let timedOut = false
    const stopTimer = this.#deadline(key, (reason) => (timedOut = abort.abort(reason)))
    let outcome: Outcome
    try {
      const { key, log, attempt, onWrite } = run
      const result = await reconcile({
        key,
        log,
        attempt,
        onWrite,
        get signal() {
          return abort.signal
        },
      })
      outcome = { kind: 'returned', result }
    } catch (error) {
      outcome = { kind: 'threw', error }
    }
    stopTimer?.()
    this.#running.delete(own)
    // Calls that the reconcile did not await must not write any more.
    abort.abort(this.#ended)
    return { outcome, timedOut, durationMs: clock.monotonic() - own.beganMs }
  }

  /** Forgets the runs in progress: they are neither reported nor abandoned. Frees the timer and the listener. */
  stop(): void {
    this.#options.abandon?.removeEventListener('abort', this.#onAbandon)
    this.#listens = false
    this.#running.clear()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #begin(key: string): RunInProgress {
    const { abandon, clock, onSlow } = this.#options
    // A run that only reads from the cache never reads its signal.
    const own: RunInProgress = { key, beganMs: clock.monotonic(), abort: new LazyAbort(), isSlow: false }
    if (abandon?.aborted) own.abort.abort(abandon.reason)
    this.#running.add(own)
    if (!this.#listens) abandon?.addEventListener('abort', this.#onAbandon)
    this.#listens = true
    if (onSlow) this.#cancelTimer ??= clock.after(SLOW_MS, () => this.#reportSlow())
    return own
  }

  #deadline(key: string, abort: (reason: DOMException) => void): (() => void) | undefined {
    const { kind, clock, timeoutMs } = this.#options
    if (timeoutMs === undefined) return undefined
    return clock.after(timeoutMs, () => {
      const text = `Cannot finish the reconcile of ${kind} "${key}": it took longer than ${formatMs(timeoutMs)}`
      abort(new DOMException(text, 'TimeoutError'))
    })
  }

  #reportSlow(): void {
    const { clock, onSlow } = this.#options
    this.#cancelTimer = undefined
    const nowMs = clock.monotonic()
    for (const run of this.#running) {
      if (run.isSlow) continue
      const leftMs = run.beganMs + SLOW_MS - nowMs
      if (leftMs > 0) return void (this.#cancelTimer = clock.after(leftMs, () => this.#reportSlow()))
      run.isSlow = true
      onSlow?.(run.key, nowMs - run.beganMs)
    }
  }
}
