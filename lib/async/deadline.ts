/** Deadlines that can be moved often with a single timer. */
import type { Clock } from './clock.ts'

export interface Deadline {
  /** Moves the deadline to `ms` from now. */
  set(ms: number): void
  /** Cancels the deadline for good: a later `set` has no effect. */
  cancel(): void
}

/** Calls `onDue` once when the deadline passes, with the milliseconds set last. Cancel it to free the timer. */
export function deadline(clock: Clock, ms: number, onDue: (ms: number) => void): Deadline {
  let setMs: number
  let dueMs: number
  /** When the timer fires: never after the deadline; before it if the deadline was moved later. */
  let timerMs = Infinity
  let stop: (() => void) | undefined
  const checkAfter = (ms: number): void => {
    timerMs = dueMs
    stop = clock.after(ms, () => {
      const leftMs = dueMs - clock.monotonic()
      if (leftMs > 0) checkAfter(leftMs)
      else onDue(setMs)
    })
  }
  const set = (ms: number): void => {
    setMs = ms
    dueMs = clock.monotonic() + ms
    if (dueMs >= timerMs) return
    stop?.()
    checkAfter(ms)
  }
  set(ms)
  return {
    set,
    cancel() {
      timerMs = -Infinity
      stop?.()
    },
  }
}
