/** Limits the keys of deleted objects in the queue of a replica that waits for the lease. */
import type { Clock } from '../async/clock.ts'

/** A deletion that is older than this was handled by the leader of that time. */
const KEEP_MS = 5 * 60_000

/**
 * Removes the key of a deleted object: after five minutes, as the leader may have ended before it handled the deletion,
 * or at once if the reconcile does nothing for it.
 */
export class GoneKeys {
  readonly #clock: Clock
  readonly #skipsGone: boolean
  readonly #remove: (key: string) => void
  /** When the objects were deleted, the oldest first. */
  readonly #deletedMs = new Map<string, number>()

  /** `skipsGone`: a reconcile does nothing for a deleted object. `remove` removes a key from the queue. */
  constructor(clock: Clock, skipsGone: boolean, remove: (key: string) => void) {
    this.#clock = clock
    this.#skipsGone = skipsGone
    this.#remove = remove
  }

  note(key: string, exists: boolean): void {
    this.#deletedMs.delete(key)
    if (exists) return
    this.#deletedMs.set(key, this.#clock.monotonic())
    if (this.#skipsGone) this.#remove(key)
    this.expire()
  }

  /** Whether a key must not be queued. Deleted dependents are mapped to the key of their owner, which is gone, too. */
  ignores(key: string): boolean {
    return this.#skipsGone && this.#deletedMs.has(key)
  }

  /** Removes the keys of objects that were deleted more than five minutes ago. */
  expire(): void {
    const nowMs = this.#clock.monotonic()
    for (const [key, deletedMs] of this.#deletedMs) {
      if (nowMs - deletedMs < KEEP_MS) return
      this.#deletedMs.delete(key)
      if (!this.#skipsGone) this.#remove(key)
    }
  }
}
