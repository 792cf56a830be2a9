/** From a key that was handed out to what becomes of it: runs the reconcile and carries its disposition out. */
import { messageOf } from '../core/errors.ts'
import { parseKey } from '../core/objects.ts'
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import { type Log, withFields } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { RunHistory } from './run_history.ts'
import { FailureLog } from './failures.ts'
import type { HotKeys } from './hot_keys.ts'
import { type Disposition, disposition, type Result } from './result.ts'
import { type Run, Runs } from './run.ts'
import { SlowRuns } from './slow_runs.ts'
import { andMore, RateLimitedLog } from '../observe/rate_limited_log.ts'

/** What the live view tells of one run. */
export interface ReconcileReport {
  readonly controller: string
  readonly kind: string
  readonly key: string
  /** Where the controller's own kind lives, as `app.cluster` named it; absent for the operator's own cluster. */
  readonly cluster?: string
  /** Why the key was queued, the first reason first. */
  readonly causes: readonly string[]
  /** How many runs this key had, this one included; keys that did not run for long are forgotten. */
  readonly count: number
  readonly attempt: number
  readonly durationMs: number
  readonly disposition: Disposition
  /** When the next try comes, after a failure or `{ requeue: true }`. */
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
  /** Makes the id of a run, for its log. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
  readonly timeoutMs: number | undefined
  readonly abandon: AbortSignal | undefined
  readonly metrics: ControllerMetrics | undefined
  /** Kept only while somebody listens. */
  readonly journal: RunHistory | undefined
  /** Counts keys that run over and over: they are logged where there is no `onReconcile`. */
  readonly hot: HotKeys
  readonly onReconcile: ((report: ReconcileReport) => void) | undefined
}

/** A run that takes longer than this is logged, once. */
const SLOW_MS = 60_000

export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #runs: Runs
  readonly #slow: SlowRuns
  readonly #failures: FailureLog
  readonly #sparse: RateLimitedLog

  constructor(options: ReconcilerOptions) {
    const { controller, kind, clock, log, timeoutMs, abandon } = options
    this.#options = options
    this.#sparse = new RateLimitedLog(clock)
    this.#failures = new FailureLog(kind, clock, withFields(log, { controller, kind }))
    this.#runs = new Runs({ kind, clock, timeoutMs, abandon })
    this.#slow = new SlowRuns(clock, SLOW_MS, ({ key }, ms) => {
      const text = `The reconcile of ${kind} "${key}" has not ended for ${
        formatMs(ms)
      }: until it does, the key and a worker wait for it`
      log.warn(text, { controller, kind, ...parseKey(key) })
    })
  }

  /** The keys that are reconciled now, those that began first at first. */
  get running(): readonly string[] {
    return this.#slow.keys
  }

  /** Nothing more is told of runs that do not end. */
  stop(): void {
    this.#runs.stop()
    this.#slow.stop()
    this.#failures.stop()
  }

  /** Never rejects: whatever a reconcile does is an outcome. */
  async run(key: string): Promise<void> {
    const { controller, kind, reconcile, queue, clock, metrics, journal, hot } = this.#options
    // A run that an event caused while a retry waits is one more run of the try before it.
    const attempt = Math.max(1, queue.failures(key) + (queue.isRetrying(key) ? 0 : 1))
    const writes: WriteRecord[] = []
    const name = parseKey(key)
    // Made with the first line: most runs write none, and an id costs as much as a queued key.
    const log = withFields(
      this.#options.log,
      () => ({ controller, kind, ...name, reconcileID: this.#options.uuid?.() ?? crypto.randomUUID() }),
    )
    const running = { key, beganMs: clock.monotonic() }
    this.#slow.begin(running)
    metrics?.begin()
    const run: Omit<Run, 'signal'> = { key: name, log, attempt, onWrite: (write) => void writes.push(write) }
    const end = await this.#runs.once(reconcile, run)
    const durationMs = clock.monotonic() - running.beganMs
    this.#slow.end(running)
    const decided = disposition(end.outcome)
    metrics?.end(decided, end, durationMs)
    const retryInMs = this.#dispose(key, decided)
    const ended = { controller, kind, key, attempt, durationMs, disposition: decided, retryInMs, writes }
    if (journal) return void this.#report({ ...ended, ...journal.end(key) })
    this.#failures.ended(ended, log)
    const problem = hot.ended(key, ended)
    if (problem) this.#sparse.line((left) => log.warn(`${problem}${andMore(left)}`))
  }

  /** Carries a disposition out; the time until the next try, where there is one. */
  #dispose(key: string, decided: Disposition): number | undefined {
    const { queue, clock, journal, hot } = this.#options
    const note = (cause: string, afterMs: number, isRetry: boolean): void => {
      if (journal) journal.note(key, cause, { dueMs: nowMs + afterMs, isRetry })
      else if (hot.notes(key)) hot.note(key, cause)
    }
    // A run that an event caused before the back-off has ended is not counted. client-go counts it: then ten events
    // within a second make a wait of seconds of one of milliseconds.
    const retry = (priority: number | undefined): number => queue.retry(key, { priority, keepsWait: true })
    // Before it is queued: the time that is noted is not after the queue's own.
    const nowMs = journal ? clock.monotonic() : 0
    let delayMs: number | undefined
    switch (decided.kind) {
      case 'forget':
        queue.forget(key)
        journal?.forgetRetries(key)
        break
      case 'later':
        // Forgotten first: coming back at a time of one's own choice is no failure.
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

  /** A listener that throws or rejects must not end the work. */
  async #report(report: ReconcileReport): Promise<void> {
    const { onReconcile, controller, log } = this.#options
    try {
      await onReconcile?.(report)
    } catch (error) {
      log.error(`The listener to the runs of controller "${controller}" threw: ${messageOf(error)}`, { error })
    }
  }
}
