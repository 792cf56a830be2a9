/** Many timeouts of one length with a single timer: on Deno a timer of its own costs a request 10 µs. */
import type { Clock } from './clock.ts'

interface Timeout {
  readonly dueMs: number
  readonly onDue: () => void
}

/** Timeouts of one length. {@link Timeouts.close} frees the timer. */
export class Timeouts {
  readonly #clock: Clock
  readonly #ms: number
  /** The earliest first, because all have the same length. */
  readonly #waiting = new Set<Timeout>()
  #stop: (() => void) | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Calls `onDue` when the time has passed. Returns a function that cancels the call. */
  begin(onDue: () => void): () => void {
    const timeout: Timeout = { dueMs: this.#clock.monotonic() + this.#ms, onDue }
    this.#waiting.add(timeout)
    // A timer stays armed when its timeout is cancelled, for the next one.
    this.#stop ??= this.#clock.after(this.#ms, () => this.#fire())
    return () => void this.#waiting.delete(timeout)
  }

  close(): void {
    this.#waiting.clear()
    this.#stop?.()
    this.#stop = undefined
  }

  #fire(): void {
    this.#stop = undefined
    for (const timeout of this.#waiting) {
      const leftMs = timeout.dueMs - this.#clock.monotonic()
      if (leftMs > 0) {
        this.#stop = this.#clock.after(leftMs, () => this.#fire())
        return
      }
      this.#waiting.delete(timeout)
      timeout.onDue()
    }
  }
}
