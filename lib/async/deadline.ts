/** Deadlines that can be moved often with a single timer. */
import { NetworkError } from '../core/errors.ts'
import type { Clock } from './clock.ts'

/**
 * The default silence after which a connection to the API server counts as dead. Bookmarks come about every 60 s (121 s
 * was measured), and the server gives up a request after 60 s.
 */
export const SILENCE_MS = 150_000

/**
 * Calls `onSilence` with an error when the server sends nothing for the time that was set last. It must be cancelled.
 */
export function silenceDeadline(
  clock: Clock,
  { action, phase, ms = SILENCE_MS }: {
    /** What is being done, for the error: `watch pods`. */
    readonly action: string
    readonly phase: NetworkError['phase']
    readonly ms?: number
  },
  onSilence: (error: NetworkError) => void,
): Deadline {
  return deadline(clock, ms, (ms) => {
    const message = `Cannot ${action}: the server sent nothing for ${ms / 1000} s, so the connection is considered dead`
    onSilence(new NetworkError(message, { phase, code: 'ETIMEDOUT' }))
  })
}

export interface Deadline {
  /** Moves the deadline to `ms` from now. */
  set(ms: number): void
  /** Cancels the deadline for good: a later `set` has no effect. */
  cancel(): void
}

/** Calls `onDue` once when the deadline passes, with the milliseconds set last. Cancel it to free the timer. */
export function deadline(clock: Clock, ms: number, onDue: (ms: number) => void): Deadline {
  let setMs = ms
  let dueMs = clock.monotonic() + ms
  /** When the timer fires: never after the deadline; before it if the deadline was moved later. */
  let timerMs = dueMs
  let stop = clock.after(ms, check)
  function check(): void {
    const leftMs = dueMs - clock.monotonic()
    if (leftMs > 0) checkAfter(leftMs)
    else onDue(setMs)
  }
  function checkAfter(ms: number): void {
    timerMs = dueMs
    stop = clock.after(ms, check)
  }
  return {
    set(ms) {
      setMs = ms
      dueMs = clock.monotonic() + ms
      if (dueMs >= timerMs) return
      stop()
      checkAfter(ms)
    },
    cancel() {
      timerMs = -Infinity
      stop()
    },
  }
}
