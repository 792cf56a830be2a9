/** Writes that are tried again when another was first. */
import { type Clock, sleep, systemClock } from '../async/clock.ts'
import { isReason } from '../core/errors.ts'

/** Options of {@link retryOnConflict}. */
export interface RetryOnConflictOptions {
  /** Ends the wait between two tries, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Default: the real one. */
  readonly clock?: Clock | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const MAX_TRIES = 5
const WAIT_MS = 10
const JITTER = 0.1

/**
 * Calls `write` until it does not reject with a Conflict: at most 5 times, 10 ms and up to a tenth more apart, as client-go's
 * `retry.RetryOnConflict` with its `DefaultRetry`. `write` has to read anew what it writes. `edit` does all that for one object.
 *
 * @throws What `write` rejects with: at once what is no Conflict, and the last Conflict.
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
