/** A time by which something must have come, and which can be put off: one timer, however often it is. */
import type { Clock } from './clock.ts'

export interface Deadline {
  /** Makes it so long from now. */
  set(ms: number): void
  /** It does not come any more, whatever is set. */
  cancel(): void
}

/** Calls `onDue` once, with the time that was set last, when that has passed. It must be cancelled. */
export function deadline(clock: Clock, ms: number, onDue: (ms: number) => void): Deadline {
  let setMs = ms
  let dueMs = clock.monotonic() + ms
  /** When the timer looks: never after the deadline, and before it where that was put off. */
  let lookMs = dueMs
  let stop = clock.after(ms, look)
  function look(): void {
    const leftMs = dueMs - clock.monotonic()
    if (leftMs > 0) lookAfter(leftMs)
    else onDue(setMs)
  }
  function lookAfter(ms: number): void {
    lookMs = dueMs
    stop = clock.after(ms, look)
  }
  return {
    set(ms) {
      setMs = ms
      dueMs = clock.monotonic() + ms
      if (dueMs >= lookMs) return
      stop()
      lookAfter(ms)
    },
    cancel() {
      lookMs = -Infinity
      stop()
    },
  }
}
