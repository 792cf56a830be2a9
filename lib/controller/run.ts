/** One run of a reconcile: its signal, its deadline, and what became of it. */
import { formatMs } from '../core/duration.ts'
import type { ObjectKey } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
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
  /** 1 at first, and one more after each failure in a row. */
  readonly attempt: number
  /** Hears of the run's writes. */
  readonly onWrite: ((write: WriteRecord) => void) | undefined
}

export interface RunLimits {
  /** What is reconciled, for the reasons of aborts: `Foo "default/a"`. */
  readonly what: string
  readonly clock: Clock
  /** Aborts the run's signal after so long. */
  readonly timeoutMs: number | undefined
  /** Aborts the run's signal when runs are given up. */
  readonly abandon: AbortSignal | undefined
}

export interface RunEnd {
  readonly outcome: Outcome
  /** Whether its own deadline came, and nothing else ended it before. */
  readonly timedOut: boolean
}

/**
 * Runs it once. Never rejects: what was thrown is the outcome. An aborted run is asked to end, not left alone:
 * a key must not be in two hands.
 */
export async function runOnce(reconcile: (run: Run) => Promise<Result>, run: Omit<Run, 'signal'>, limits: RunLimits): Promise<RunEnd> {
  const { what, clock, timeoutMs, abandon } = limits
  const scope = abortScope(abandon)
  let timedOut = false
  const stopTimer = timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => {
    timedOut = !scope.signal.aborted
    scope.abort(new DOMException(`Cannot finish the reconcile of ${what}: it took longer than ${formatMs(timeoutMs)}`, 'TimeoutError'))
  })
  try {
    const result = await reconcile({ ...run, signal: scope.signal })
    return { outcome: { kind: 'returned', result }, timedOut }
  } catch (error) {
    return { outcome: { kind: 'threw', error }, timedOut }
  } finally {
    stopTimer?.()
    // What the run left behind must not write on.
    scope.abort(new DOMException(`The reconcile of ${what} has ended`, 'AbortError'))
    scope[Symbol.dispose]()
  }
}
