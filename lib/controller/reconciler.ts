/** From a key that was handed out to what becomes of it: runs the reconcile and carries its disposition out. */
import { messageOf } from '../core/errors.ts'
import { parseKey } from '../core/objects.ts'
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { WriteRecord } from '../client/client.ts'
import type { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMetrics } from './controller_metrics.ts'
import type { Journal } from './journal.ts'
import { disposition, type Disposition, type Result } from './result.ts'
import { Runs, type Run } from './run.ts'
import { runLog } from './run_log.ts'
import { SlowRuns } from './slow_runs.ts'

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
  readonly journal: Journal | undefined
  readonly onReconcile: ((report: ReconcileReport) => void) | undefined
}

/** A run that takes longer than this is logged, once. */
const SLOW_MS = 60_000

export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #runs: Runs
  readonly #slow: SlowRuns

  constructor(options: ReconcilerOptions) {
    const { controller, kind, clock, log, timeoutMs, abandon } = options
    this.#options = options
    this.#runs = new Runs({ kind, clock, timeoutMs, abandon })
    this.#slow = new SlowRuns(clock, SLOW_MS, ({ key }, ms) => {
      const text = `The reconcile of ${kind} "${key}" has not ended for ${formatMs(ms)}: until it does, the key and a worker wait for it`
      log.warn(text, { controller, kind, ...parseKey(key) })
    })
  }

  /** Nothing more is told of runs that do not end. */
  stop(): void {
    this.#runs.stop()
    this.#slow.stop()
  }

  /** Never rejects: whatever a reconcile does is an outcome. */
  async run(key: string): Promise<void> {
    const { controller, kind, reconcile, queue, clock, metrics, journal } = this.#options
    const attempt = queue.failures(key) + 1
    const writes: WriteRecord[] = []
    const name = parseKey(key)
    const log = runLog(this.#options.log, () => ({ controller, kind, ...name, reconcileID: this.#options.uuid?.() ?? crypto.randomUUID() }))
    const running = { key, beganMs: clock.monotonic() }
    this.#slow.begin(running)
    metrics?.begin()
    const run: Omit<Run, 'signal'> = { key: name, log, attempt, onWrite: journal && ((write) => void writes.push(write)) }
    const end = await this.#runs.once(reconcile, run)
    const durationMs = clock.monotonic() - running.beganMs
    this.#slow.end(running)
    const decided = disposition(end.outcome)
    metrics?.end(decided, end, durationMs)
    const retryInMs = this.#dispose(key, decided)
    if (!journal) return this.#logFailure(key, decided, { log, attempt, retryInMs })
    this.#report({ controller, kind, key, ...journal.end(key), attempt, durationMs, disposition: decided, retryInMs, writes })
  }

  /** Carries a disposition out; the time until the next try, where there is one. */
  #dispose(key: string, decided: Disposition): number | undefined {
    const { queue, journal } = this.#options
    let delayMs: number | undefined
    switch (decided.kind) {
      case 'forget':
        queue.forget(key)
        break
      case 'later':
        // Forgotten first: coming back at a time of one's own choice is no failure.
        queue.forget(key)
        queue.add(key, { afterMs: decided.ms, priority: decided.priority ?? queue.priorityOf(key) })
        journal?.note(key, `requeued after ${formatMs(decided.ms)}`)
        break
      case 'requeue':
        delayMs = queue.retry(key, { priority: decided.priority })
        journal?.note(key, 'requeued')
        break
      case 'retry':
        delayMs = queue.retry(key, { priority: decided.priority })
        journal?.note(key, `retry ${queue.failures(key)}`)
        break
      case 'drop':
        break
    }
    queue.done(key)
    return delayMs
  }

  /** A listener that throws or rejects must not end the work. */
  #report(report: ReconcileReport): void {
    const { onReconcile, controller, log } = this.#options
    const failed = (error: unknown): void => {
      log.error(`The listener to the runs of controller "${controller}" threw: ${messageOf(error)}`, { error })
    }
    try {
      const told: unknown = onReconcile?.(report)
      if (told instanceof Promise) told.catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  #logFailure(key: string, decided: Disposition, run: Pick<ReconcileReport, 'attempt' | 'retryInMs'> & { readonly log: Log }): void {
    if (decided.kind !== 'retry' && decided.kind !== 'drop') return
    const { log, attempt, retryInMs } = run
    const next = retryInMs === undefined ? 'not retried' : `retry ${attempt} in ${formatMs(retryInMs)}`
    log.error(`Cannot reconcile ${this.#options.kind} "${key}": ${messageOf(decided.error)} (${next})`, { attempt, error: decided.error })
  }
}
