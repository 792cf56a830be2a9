/** Runs the reconcile of a key and decides what happens to the key afterwards. */
import { firstOf, LeadershipLost, messageOf, readable } from '../core/errors.ts'
import { parseKey } from '../core/objects.ts'
import { formatMs } from '../core/duration.ts'
import { isAbort, LazyAbort } from '../async/abort.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { type Log, RateLimitedLog, withFields } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { RunHistory, RunRecord } from './run_history.ts'
import { withoutValues } from './change_summary.ts'
import { changesIn, FailureLog } from './failures.ts'
import { describeWrite, type WriteLoops } from './write_loops.ts'
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

export interface ReconcilerOptions extends PartEnvironment {
  readonly controller: string
  readonly kind: string
  readonly reconcile: (run: Run) => Promise<Result>
  readonly queue: WorkQueue<string>
  /** Returns the id of a run, for its log. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
  readonly timeoutMs?: number | undefined
  /** Whether nothing but the retry runs a key in its back-off. */
  readonly holdEvents?: boolean | undefined
  readonly stopping?: AbortSignal | undefined
  readonly abandon?: AbortSignal | undefined
  /** Aborted when the controller ends: no retry of a failure comes any more. */
  readonly ending: AbortSignal
  readonly metrics: ControllerMetrics | undefined
  readonly history: RunHistory
  /** Detects keys that run over and over; used for the log if there is no `onReconcile`. */
  readonly loops: WriteLoops
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
}

const GIVEN_UP: Disposition = { kind: 'forget', label: 'success' }

/** The maximum number of causes in a debug line. */
const MAX_CAUSES = 3

export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #runs: Runs
  readonly #failures: FailureLog
  readonly #hotLog: RateLimitedLog
  /** The keys in work that must not come back by the result of their run. */
  readonly #dropped = new Set<string>()

  constructor(options: ReconcilerOptions) {
    const { controller, kind, clock, log } = options
    this.#options = options
    this.#hotLog = new RateLimitedLog(clock)
    this.#failures = new FailureLog(kind, clock, withFields(log, { controller, kind }))
    const onSlow = (key: string, ms: number): void =>
      log.warn(
        `The reconcile of ${kind} "${key}" has run for ${formatMs(ms)}: it blocks the key and a worker until it ends`,
        { controller, kind, ...parseKey(key) },
      )
    this.#runs = new Runs({ ...options, onSlow })
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

  /** Has the results of the runs in progress not queue these keys. One whose run has not begun does not run. */
  drop(keys: ReadonlySet<string>): void {
    for (const key of keys) if (this.#options.queue.isInWork(key)) this.#dropped.add(key)
  }

  /** Never rejects: an error of the reconcile is an outcome. */
  async run(key: string): Promise<void> {
    const { controller, kind, reconcile, queue, metrics, history, loops } = this.#options
    // While its worker waited for a turn.
    if (this.#dropped.delete(key)) return void this.#dispose(key, GIVEN_UP)
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
    const run: RunArgument = { key: name, log, attempt, onWrite: (write) => void writes.push(write) }
    const end = await this.#runs.once(key, reconcile, run)
    const { durationMs } = end
    const decided = disposition(end.outcome)
    metrics?.end(decided, end, durationMs)
    const { retryInMs, causes, count } = this.#dispose(key, this.#dropped.delete(key) ? GIVEN_UP : decided)
    const ended = { controller, kind, key, causes, count, attempt, durationMs, disposition: decided, retryInMs, writes }
    if (this.#options.onReconcile) return void this.#report(ended)
    if (history.isShown) {
      const why = firstOf(causes.map(withoutValues), MAX_CAUSES).join(', ')
      const wrote = changesIn(writes).map(describeWrite).join(', ') || 'nothing to write'
      const fields = { attempt, count, ...(retryInMs !== undefined && { retryInMs }) }
      log.debug(
        `Reconciled for ${why || 'no new cause'} in ${formatMs(durationMs)}: ${decided.label}, ${wrote}`,
        fields,
      )
    }
    if (this.#isCutShort(end.outcome)) {
      return log.debug(`The stop has cut the reconcile of ${kind} "${key}" short`)
    }
    const { stopping, abandon, ending } = this.#options
    // The fence of a lost lease falls before the stop begins.
    const isLost = end.outcome.kind === 'threw' && end.outcome.error instanceof LeadershipLost
    const isLast = isLost || [stopping, abandon, ending].some((signal) => signal?.aborted)
    this.#failures.ended({ ...ended, isLast }, log)
    const problem = loops.ended(key, ended)
    if (problem) this.#hotLog.line((more) => log.warn(`${problem}${more}`))
  }

  /** Whether a run ended because of the signal of the stop, which is no failure. */
  #isCutShort(outcome: Outcome): boolean {
    const { stopping, abandon } = this.#options
    return stopping?.aborted === true && !abandon?.aborted && outcome.kind === 'threw' &&
      isAbort(outcome.error, stopping)
  }

  /**
   * Applies a disposition to the queue, and ends the key's record. Returns the record, with the delay of the next try
   * after a failure or `{ requeue: true }`.
   */
  #dispose(key: string, decided: Disposition): RunRecord & { readonly retryInMs: number | undefined } {
    const { queue, clock, history, holdEvents } = this.#options
    const note = (cause: string, afterMs: number, isRetry: boolean): void => {
      if (history.wants(key)) history.note(key, cause, { dueMs: nowMs + afterMs, isRetry })
    }
    // Read before the key is queued, so that the noted time is not after the queue's own.
    const nowMs = decided.kind === 'forget' ? 0 : clock.monotonic()
    let delayMs: number | undefined
    switch (decided.kind) {
      case 'forget':
      // The retry of an earlier failure must not run a key that was given up.
      case 'drop':
        queue.forget(key)
        history.forgetRetries(key)
        break
      case 'later':
        // A requested time is not a failure.
        queue.forget(key)
        history.forgetRetries(key)
        queue.add(key, { afterMs: decided.ms, priority: decided.priority ?? queue.priorityOf(key) })
        note(`requeued after ${formatMs(decided.ms)}`, decided.ms, false)
        break
      case 'requeue':
      case 'retry':
        // A run caused by an event during the back-off is not counted. client-go counts it: there, ten events within a
        // second turn a wait of milliseconds into one of seconds.
        delayMs = queue.retry(key, { priority: decided.priority, keepsWait: true, alone: holdEvents })
        note(decided.kind === 'retry' ? `retry ${queue.failures(key)}` : 'requeued', delayMs, true)
    }
    queue.done(key)
    return { ...history.end(key), retryInMs: delayMs }
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

export interface RunsOptions extends Pick<ReconcilerOptions, 'kind' | 'clock' | 'timeoutMs' | 'stopping' | 'abandon'> {
  /** Called once for a run that takes a minute, with its duration so far. */
  readonly onSlow?: (key: string, ms: number) => void
}

export interface RunEnd {
  readonly outcome: Outcome
  /** Whether the run's own deadline aborted it. */
  readonly timedOut: boolean
  readonly durationMs: number
}

/** The argument of a reconcile without the signals. */
export type RunArgument = Omit<Run, 'signal' | 'stopping'>

/** A class, not a literal with getters: those cost as much as a small reconcile. */
class RunInProgress implements Run {
  readonly key: Run['key']
  readonly log: Log
  readonly attempt: number
  readonly onWrite: Run['onWrite']
  readonly text: string
  readonly beganMs: number
  isSlow = false
  // A run that only reads from the cache never reads its signals.
  readonly #signal = new LazyAbort()
  #stopping: LazyAbort | undefined
  readonly #stop: AbortSignal | undefined
  #isAborted = false

  constructor(run: RunArgument, text: string, beganMs: number, stop: AbortSignal | undefined) {
    this.key = run.key
    this.log = run.log
    this.attempt = run.attempt
    this.onWrite = run.onWrite
    this.text = text
    this.beganMs = beganMs
    this.#stop = stop
  }

  get signal(): AbortSignal {
    return this.#signal.signal
  }

  get stopping(): AbortSignal {
    this.#stopping ??= new LazyAbort(this.#stop)
    if (this.#isAborted) this.#stopping.abort(this.signal.reason)
    return this.#stopping.signal
  }

  /** Aborts both signals. Returns false if that was done before. */
  abort(reason: unknown): boolean {
    this.#isAborted = true
    this.#stopping?.abort(reason)
    return this.#signal.abort(reason)
  }
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
  readonly #onAbandon = (): void => this.#running.forEach((run) => run.abort(this.#options.abandon?.reason))
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
    return Array.from(this.#running, ({ text }) => text)
  }

  /** Calls the reconcile once. Never rejects. Also waits for an aborted run to end: a key must not have two at once. */
  async once(key: string, reconcile: (run: Run) => Promise<Result>, run: RunArgument): Promise<RunEnd> {
    const { clock } = this.#options
    const own = this.#begin(key, run)
    let timedOut = false
    const stopTimer = this.#deadline(key, (reason) => (timedOut = own.abort(reason)))
    let outcome: Outcome
    try {
      const result = await reconcile(own)
      outcome = { kind: 'returned', result }
    } catch (error) {
      outcome = { kind: 'threw', error: readable(error) }
    }
    stopTimer?.()
    this.#running.delete(own)
    // Calls that the reconcile did not await must not write any more.
    own.abort(this.#ended)
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

  #begin(key: string, run: RunArgument): RunInProgress {
    const { stopping, abandon, clock, onSlow } = this.#options
    const own = new RunInProgress(run, key, clock.monotonic(), stopping)
    if (abandon?.aborted) own.abort(abandon.reason)
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
      onSlow?.(run.text, nowMs - run.beganMs)
    }
  }
}
