/** How long a key that failed has to wait. Pure bookkeeping: the queue does the waiting. */
import { backoffMs } from '../async/backoff.ts'

export interface RateLimiter<K> {
  /** Counts a failure of the key and says how long to wait before it is tried again. */
  when(key: K): number
  /** The failures counted since the key was last forgotten. */
  failures(key: K): number
  /** Ends the counting: the key succeeded, or will not be tried again. */
  forget(key: K): void
}

/**
 * `firstMs * 2^failures`, at most `mostMs`: 5 ms … 1000 s by default, as in client-go and controller-runtime.
 */
export function exponentialLimiter<K>(options: { readonly firstMs?: number; readonly mostMs?: number } = {}): RateLimiter<K> {
  const { firstMs = 5, mostMs = 1_000_000 } = options
  const failures = new Map<K, number>()
  return {
    when(key) {
      const before = failures.get(key) ?? 0
      failures.set(key, before + 1)
      return backoffMs(before, { firstMs, mostMs }, () => 0)
    },
    failures: (key) => failures.get(key) ?? 0,
    forget: (key) => void failures.delete(key),
  }
}
