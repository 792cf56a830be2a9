/** Retries a write that fails with a Conflict. */
import { type Clock, sleep, systemClock } from '../async/clock.ts'
import { isReason } from '../core/errors.ts'

/** Options of {@link retryOnConflict}. */
export interface RetryOnConflictOptions {
  /** Aborts the wait between two tries, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Default: the system clock. */
  readonly clock?: Clock | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const MAX_TRIES = 5
const WAIT_MS = 10
const JITTER = 0.1

/**
 * Calls `write` until it does not reject with a Conflict: at most 5 times, with waits of 10 to 11 ms, as client-go's
 * `retry.RetryOnConflict` with its `DefaultRetry`. `write` must read the object again each time. For one object, `edit`
 * does it all.
 *
 * @throws What `write` rejects with: another error at once, a Conflict after the last try.
 * @see https://pkg.go.dev/k8s.io/client-go/util/retry#RetryOnConflict
 */
export async function retryOnConflict<T>(write: () => Promise<T>, options: RetryOnConflictOptions = {}): Promise<T> {
  const { clock = systemClock, random = Math.random, signal } = options
  for (let attempt = 1;; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (!isReason(error, 'Conflict') || attempt >= MAX_TRIES) throw error
    }
    await sleep(clock, WAIT_MS * (1 + random() * JITTER), signal)
  }
}
