/** Rate limiters: how long a failed key waits before it is retried. The queue does the waiting. */
import { backoffMs } from '../async/backoff.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { TokenBucket } from '../async/token_bucket.ts'
import { type Log, rarely } from '../observe/log.ts'

/** Decides how long a failed key waits before its retry. */
export interface RateLimiter<K> {
  /** Counts a failure of the key. Returns the delay before the retry: a finite number of milliseconds, 0 or more. */
  when(key: K): number
  /** Returns the failures since the key was last forgotten. */
  failures(key: K): number
  /** Resets the count: the key succeeded, or will not be retried. */
  forget(key: K): void
}

/**
 * Returns a limiter with the delay `baseMs * 2^failures`, at most `maxMs`. Defaults: 5 ms and 1000 s, as in client-go
 * and controller-runtime.
 *
 * @throws RangeError if a time is negative or not finite.
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
 * Returns a limiter with the delay `fastMs` for the first `fastTries` failures of a key, and `slowMs` from then on.
 *
 * @throws RangeError if a time is negative or not finite, or `fastTries` is not an integer of 0 or more.
 */
export function fastSlowLimiter<K>(
  options: { readonly fastMs: number; readonly slowMs: number; readonly fastTries: number },
): RateLimiter<K> {
  const { fastMs, slowMs, fastTries } = options
  checkMs('fastMs', fastMs)
  checkMs('slowMs', slowMs)
  if (!Number.isInteger(fastTries) || fastTries < 0) throw invalid('fastTries', fastTries, 'an integer, 0 or more')
  return countingLimiter((failures) => failures <= fastTries ? fastMs : slowMs)
}

/** Returns a limiter whose delay depends on the number of failures of a key. */
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
  /** Tokens added per second. Default: 10. */
  readonly qps?: number
  /** The size of the bucket, which is full at first. Default: 100. */
  readonly burst?: number
  /** Default: the real clock. */
  readonly clock?: Clock
}

/**
 * Returns a limiter for all keys together, like a reservation of golang.org/x/time/rate: each call of `when` takes a
 * token and returns the time until that token is available. While the bucket is empty, each call waits `1 / qps`
 * seconds longer than the one before. Failures of a key are not counted, and `forget` does nothing.
 *
 * @throws RangeError if `qps` is not above 0, or `burst` is not an integer of 1 or more.
 */
export function tokenBucketLimiter<K>(options: TokenBucketOptions = {}): RateLimiter<K> {
  const { qps = 10, burst = 100, clock = systemClock } = options
  if (!Number.isFinite(qps) || qps <= 0) throw invalid('qps', qps, 'above 0')
  if (!Number.isInteger(burst) || burst < 1) throw invalid('burst', burst, 'an integer, 1 or more')
  const bucket = new TokenBucket({ burst, refillMs: 1000 / qps })
  return { when: () => bucket.reserve(clock.monotonic()), failures: () => 0, forget: () => {} }
}

/**
 * Returns a limiter that calls all given limiters and uses the longest delay. client-go's default is
 * `maxOf(exponentialLimiter(), tokenBucketLimiter())`.
 *
 * @throws RangeError if no limiter is given.
 */
export function maxOf<K>(...limiters: readonly RateLimiter<K>[]): RateLimiter<K> {
  if (limiters.length === 0) throw new RangeError('Cannot make a rate limiter: maxOf needs at least one limiter')
  return {
    when: (key) => Math.max(...limiters.map((each) => each.when(key))),
    failures: (key) => Math.max(...limiters.map((each) => each.failures(key))),
    forget: (key) => limiters.forEach((each) => each.forget(key)),
  }
}

/**
 * Returns a limiter with the delays of the given one, at most `maxMs`.
 *
 * @throws RangeError if `maxMs` is negative or not finite.
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
  if (!Number.isFinite(ms) || ms < 0) throw invalid(name, ms, 'a finite number, 0 or more')
}

function invalid(name: string, value: number, wanted: string): RangeError {
  return new RangeError(`Cannot make a rate limiter: ${name} is ${value}, and must be ${wanted}`)
}

/**
 * Returns a limiter that never throws: if the given one throws or returns an invalid number, the key gets the default
 * back-off, so that its retry is not lost.
 */
export function guardedLimiter<K>(limiter: RateLimiter<K>, log: Log): RateLimiter<K> {
  /** Created at the first failure. It counts what the given limiter could not count. */
  let fallback: RateLimiter<K> | undefined
  const failed = rarely(log, 'A rate limiter failed; the default back-off is used instead')
  const guard = <T>(call: (limiter: RateLimiter<K>) => T): T => {
    try {
      return call(limiter)
    } catch (error) {
      failed(error)
      return call(fallback ??= exponentialLimiter())
    }
  }
  return {
    when: (key) => guard((each) => checked('when', each.when(key))),
    failures: (key) => guard((each) => checked('failures', each.failures(key))),
    forget(key) {
      fallback?.forget(key)
      guard((each) => each.forget(key))
    },
  }
}

/** NaN would be retried at once for ever, and Infinity never. */
function checked(what: 'when' | 'failures', value: number): number {
  if (Number.isFinite(value) && value >= 0) return value
  throw new RangeError(`${what} returned ${String(value)}, and must return a finite number, 0 or more`)
}
