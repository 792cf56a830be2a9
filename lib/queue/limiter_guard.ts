/** A rate limiter as a queue calls it: one that throws or returns nonsense must not cost a key its retry. */
import { type Log, rarely } from '../observe/log.ts'
import { exponentialLimiter, type RateLimiter } from './rate_limiter.ts'

/** Returns a limiter that never throws: where the given one fails, the default back-off of that key counts instead. */
export function guardedLimiter<K>(limiter: RateLimiter<K>, log: Log): RateLimiter<K> {
  /** Made at the first failure: it has what the other could not count. */
  let fallback: RateLimiter<K> | undefined
  const failed = rarely(log, 'A rate limiter failed, and the default back-off is used instead')
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
