/** How long a key that failed has to wait. Pure bookkeeping: the queue does the waiting. */
import { backoffMs } from '../async/backoff.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { TokenBucket } from '../async/token_bucket.ts'

/** Decides how long a failed key waits before its retry. */
export interface RateLimiter<K> {
  /** Counts a failure of the key and returns how long to wait before it is tried again: a finite number of milliseconds, 0 or more. */
  when(key: K): number
  /** The failures counted since the key was last forgotten. */
  failures(key: K): number
  /** Ends the counting: the key succeeded, or will not be tried again. */
  forget(key: K): void
}

/**
 * `baseMs * 2^failures`, at most `maxMs`: 5 ms … 1000 s by default, as in client-go and controller-runtime.
 *
 * @throws RangeError when a time is negative or not finite.
 */
export function exponentialLimiter<K>(
  options: { readonly baseMs?: number | undefined; readonly maxMs?: number | undefined } = {},
): RateLimiter<K> {
  const { baseMs = 5, maxMs = 1_000_000 } = options
  checkMs('baseMs', baseMs)
  checkMs('maxMs', maxMs)
  return countingLimiter((failures) => backoffMs(failures - 1, { baseMs, maxMs }, () => 0))
}

/**
 * `fastMs` for the first `fastTries` failures of a key, `slowMs` from then on.
 *
 * @throws RangeError when a time is negative or not finite, or the tries are no whole number.
 */
export function fastSlowLimiter<K>(
  options: { readonly fastMs: number; readonly slowMs: number; readonly fastTries: number },
): RateLimiter<K> {
  const { fastMs, slowMs, fastTries } = options
  checkMs('fastMs', fastMs)
  checkMs('slowMs', slowMs)
  if (!Number.isInteger(fastTries) || fastTries < 0) throw unfit('fastTries', fastTries, 'a whole number, 0 or more')
  return countingLimiter((failures) => failures <= fastTries ? fastMs : slowMs)
}

/** A limiter that asks how long to wait after the n-th failure of a key. */
function countingLimiter<K>(delayMs: (failures: number) => number): RateLimiter<K> {
  const counts = new Map<K, number>()
  return {
    when(key) {
      const failures = (counts.get(key) ?? 0) + 1
      counts.set(key, failures)
      return delayMs(failures)
    },
    failures: (key) => counts.get(key) ?? 0,
    forget: (key) => void counts.delete(key),
  }
}

/** Options of a token bucket: its size, and how fast it is refilled. */
export interface TokenBucketOptions {
  /** Tokens that come back each second. Default: 10. */
  readonly qps?: number
  /** Tokens that the bucket holds, and begins with. Default: 100. */
  readonly burst?: number
  /** Default: the real clock. */
  readonly clock?: Clock
}

/**
 * A limit for all keys together, as golang.org/x/time/rate reserves: every call of `when` takes a token, and says how long
 * until that is there. While more are taken than come back, each waits `1 / qps` seconds longer than the one before. It
 * does not count the failures of a key, and there is nothing to forget.
 *
 * @throws RangeError when qps is not above 0, or burst is no whole number from 1 on.
 */
export function tokenBucketLimiter<K>(options: TokenBucketOptions = {}): RateLimiter<K> {
  const { qps = 10, burst = 100, clock = systemClock } = options
  if (!Number.isFinite(qps) || qps <= 0) throw unfit('qps', qps, 'above 0')
  if (!Number.isInteger(burst) || burst < 1) throw unfit('burst', burst, 'a whole number from 1 on')
  const bucket = new TokenBucket({ burst, refillMs: 1000 / qps })
  return {
    when: () => bucket.reserve(clock.monotonic()),
    failures: () => 0,
    forget: () => {},
  }
}

/**
 * Asks all of the limiters each time, and waits as long as the most patient one says. client-go's default is
 * `maxOf(exponentialLimiter(), tokenBucketLimiter())`.
 *
 * @throws RangeError without a limiter.
 */
export function maxOf<K>(...limiters: readonly RateLimiter<K>[]): RateLimiter<K> {
  if (limiters.length === 0) throw new RangeError('Cannot make a rate limiter: the largest of no limiters is asked for')
  return {
    when: (key) => Math.max(...limiters.map((each) => each.when(key))),
    failures: (key) => Math.max(...limiters.map((each) => each.failures(key))),
    forget: (key) => limiters.forEach((each) => each.forget(key)),
  }
}

/**
 * What the limiter says, but no longer than `maxMs`.
 *
 * @throws RangeError when the time is negative or not finite.
 */
export function withMaxWait<K>(limiter: RateLimiter<K>, maxMs: number): RateLimiter<K> {
  checkMs('maxMs', maxMs)
  return {
    when: (key) => Math.min(limiter.when(key), maxMs),
    failures: (key) => limiter.failures(key),
    forget: (key) => limiter.forget(key),
  }
}

function checkMs(name: string, ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) throw unfit(name, ms, 'a finite number, 0 or more')
}

function unfit(name: string, value: number, wanted: string): RangeError {
  return new RangeError(`Cannot make a rate limiter: ${name} is ${value}, and must be ${wanted}`)
}
