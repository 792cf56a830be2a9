/** Runs of a reconcile: the signal of each, its deadline, and what became of it. */
import { formatMs } from '../core/duration.ts'
import { formatKey, type ObjectKey } from '../core/objects.ts'
import { LazyAbort } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import type { WriteRecord } from '../client/client.ts'
import type { Log } from '../observe/log.ts'
import type { Outcome, Result } from './result.ts'

/** What one run of a reconcile is given. */
export interface Run {
  readonly key: ObjectKey
  /** Ends with the run: when it settles, times out, or is abandoned at the end of the grace period. */
  readonly signal: AbortSignal
  readonly log: Log
  /** 1 at first, and one more after each failure in a row whose wait has ended. */
  readonly attempt: number
  /** Hears of the run's writes. */
  readonly onWrite: ((write: WriteRecord) => void) | undefined
}

export interface RunLimits {
  /** The kind that is reconciled, for the reasons of aborts. */
  readonly kind: string
  readonly clock: Clock
  /** Aborts a run's signal after so long. */
  readonly timeoutMs: number | undefined
  /** Aborts every run's signal when runs are given up. */
  readonly abandon: AbortSignal | undefined
}

export interface RunEnd {
  readonly outcome: Outcome
  /** Whether its own deadline came, and nothing else ended it before. */
  readonly timedOut: boolean
}

/** The runs of one controller. There are many of them, and short ones: what they can share is made once. */
export class Runs {
  readonly #limits: RunLimits
  readonly #running = new Set<LazyAbort>()
  /** Of every run: making one takes longer than a small reconcile. */
  readonly #ended: DOMException
  readonly #onAbandon = (): void => this.#running.forEach((run) => run.abort(this.#limits.abandon?.reason))
  #listens = false

  constructor(limits: RunLimits) {
    this.#limits = limits
    this.#ended = new DOMException(
      `The reconcile of this ${limits.kind} has ended, and what it left behind does not go on`,
      'AbortError',
    )
  }

  /** How many are under way. */
  get running(): number {
    return this.#running.size
  }

  /**
   * Runs it once. Never rejects: what was thrown is the outcome. An aborted run is asked to end, not left alone:
   * a key must not be in two hands.
   */
  async once(reconcile: (run: Run) => Promise<Result>, run: Omit<Run, 'signal'>): Promise<RunEnd> {
    const scope = this.#begin()
    let timedOut = false
    const stopTimer = this.#deadline(run.key, (reason) => (timedOut = scope.abort(reason)))
    try {
      const { key, log, attempt, onWrite } = run
      const result = await reconcile({
        key,
        log,
        attempt,
        onWrite,
        get signal() {
          return scope.signal
        },
      })
      return { outcome: { kind: 'returned', result }, timedOut }
    } catch (error) {
      return { outcome: { kind: 'threw', error }, timedOut }
    } finally {
      stopTimer?.()
      this.#running.delete(scope)
      // What the run left behind must not write on.
      scope.abort(this.#ended)
    }
  }

  /** Lets go of what runs listen to. Those that have not ended are not abandoned any more. */
  stop(): void {
    this.#limits.abandon?.removeEventListener('abort', this.#onAbandon)
    this.#listens = false
  }

  #begin(): LazyAbort {
    const { abandon } = this.#limits
    // A run that only reads from the cache never reads its signal.
    const scope = new LazyAbort()
    if (abandon?.aborted) scope.abort(abandon.reason)
    this.#running.add(scope)
    if (!this.#listens) abandon?.addEventListener('abort', this.#onAbandon)
    this.#listens = true
    return scope
  }

  #deadline(key: ObjectKey, abort: (reason: DOMException) => void): (() => void) | undefined {
    const { kind, clock, timeoutMs } = this.#limits
    if (timeoutMs === undefined) return undefined
    return clock.after(timeoutMs, () => {
      abort(
        new DOMException(
          `Cannot finish the reconcile of ${kind} "${formatKey(key)}": it took longer than ${formatMs(timeoutMs)}`,
          'TimeoutError',
        ),
      )
    })
  }
}
