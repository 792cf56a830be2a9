/** Limits the request bodies of a server: their time, and their size together. */
import type { Clock } from '../../async/clock.ts'
import { Timeouts } from '../../async/timeouts.ts'

export interface BodyLimitOptions {
  readonly clock: Clock
  /** How long a body may take. */
  readonly timeoutMs: number
  /** The maximum size of all bodies of open requests together. */
  readonly maxHeldBytes: number
}

/** The limits of one server. {@link BodyLimits.close} frees their timer. */
export class BodyLimits {
  readonly #timeouts: Timeouts
  readonly #maxHeldBytes: number
  #heldBytes = 0
  #isClosed = false

  constructor(options: BodyLimitOptions) {
    this.#timeouts = new Timeouts(options.clock, options.timeoutMs)
    this.#maxHeldBytes = options.maxHeldBytes
  }

  /** Calls `onLate` when a body that begins now has taken too long. Returns a function that cancels the call. */
  begin(onLate: () => void): () => void {
    // The rest of a closed server's requests is ended anyway; a timer would keep the process.
    return this.#isClosed ? () => {} : this.#timeouts.begin(onLate)
  }

  /** Counts more bytes of a body. Returns false, and does not count them, if all bodies together would be too large. */
  hold(bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#maxHeldBytes) return false
    this.#heldBytes += bytes
    return true
  }

  /** Called when a request has ended, with the bytes that were counted for it. */
  free(bytes: number): void {
    this.#heldBytes -= bytes
  }

  close(): void {
    this.#isClosed = true
    this.#timeouts.close()
  }
}
