import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  exponentialLimiter,
  fastSlowLimiter,
  maxOf,
  tokenBucketLimiter,
  withMaxWait,
} from '../../lib/queue/rate_limiter.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

const times = <T>(count: number, what: () => T): T[] => Array.from({ length: count }, what)

test('delays are 5 ms doubling to 1000 s per key, and never overflow', () => {
  const limiter = exponentialLimiter<string>()
  assert.deepEqual(times(4, () => limiter.when('a')), [5, 10, 20, 40])
  assert.equal(limiter.when('b'), 5)
  for (let i = 0; i < 5000; i++) limiter.when('a')
  assert.equal(limiter.when('a'), 1_000_000)
  assert.equal(limiter.failures('a'), 5005)
})

test('forget resets one key and no other', () => {
  const limiter = exponentialLimiter<string>({ baseMs: 100, maxMs: 150 })
  assert.deepEqual([limiter.when('a'), limiter.when('a'), limiter.when('b')], [100, 150, 100])
  limiter.forget('a')
  assert.deepEqual(
    [limiter.failures('a'), limiter.failures('b'), limiter.when('a'), limiter.when('b')],
    [0, 1, 100, 150],
  )
})

test('delays are fast for the first failures of a key, then slow, and fast again after forget', () => {
  const limiter = fastSlowLimiter<string>({ fastMs: 5, slowMs: 10_000, fastTries: 3 })
  assert.deepEqual(times(5, () => limiter.when('a')), [5, 5, 5, 10_000, 10_000])
  assert.deepEqual([limiter.when('b'), limiter.failures('a')], [5, 5])
  limiter.forget('a')
  assert.deepEqual([limiter.failures('a'), limiter.when('a')], [0, 5])
})

test('a bucket allows its burst at once, delays later calls longer and longer, and refills', async () => {
  const clock = new FakeClock()
  const limiter = tokenBucketLimiter<string>({ qps: 10, burst: 3, clock })
  assert.deepEqual(times(6, () => limiter.when('a')), [0, 0, 0, 100, 200, 300])
  // After 100 ms one token is refilled, and three are reserved.
  await clock.advance(100)
  assert.equal(limiter.when('b'), 300)
  await clock.advance(300)
  assert.equal(limiter.when('b'), 100)
  // The bucket never holds more than its burst.
  await clock.advance(3_600_000)
  assert.deepEqual(times(4, () => limiter.when('a')), [0, 0, 0, 100])
  limiter.forget('a')
  assert.deepEqual([limiter.failures('a'), limiter.when('a')], [0, 200])
})

test('the default bucket is that of client-go: ten per second, a hundred at once', () => {
  const limiter = tokenBucketLimiter<string>({ clock: new FakeClock() })
  assert.deepEqual(times(102, () => limiter.when('a')).slice(98), [0, 0, 100, 200])
})

test('maxOf calls all limiters each time, and returns the highest failure count', () => {
  const bucket = tokenBucketLimiter<string>({ qps: 1, burst: 2, clock: new FakeClock() })
  const limiter = maxOf<string>(
    exponentialLimiter(),
    fastSlowLimiter({ fastMs: 7, slowMs: 3000, fastTries: 3 }),
    bucket,
  )
  assert.deepEqual(times(4, () => limiter.when('a')), [7, 10, 1000, 3000])
  assert.equal(limiter.failures('a'), 4)
  // The bucket was called each time, though another limiter decided.
  assert.equal(bucket.when('b'), 3000)
  limiter.forget('a')
  assert.equal(limiter.failures('a'), 0)
})

test('withMaxWait limits the delay and keeps the failure count', () => {
  const limiter = withMaxWait(exponentialLimiter<string>(), 12)
  assert.deepEqual(times(4, () => limiter.when('a')), [5, 10, 12, 12])
  assert.equal(limiter.failures('a'), 4)
  limiter.forget('a')
  assert.equal(limiter.when('a'), 5)
})

const TIME = 'and must be a finite number, 0 or more'
const invalid: readonly (readonly [make: () => unknown, why: string])[] = [
  [() => exponentialLimiter({ baseMs: NaN }), `baseMs is NaN, ${TIME}`],
  [() => exponentialLimiter({ baseMs: -1 }), `baseMs is -1, ${TIME}`],
  [() => exponentialLimiter({ maxMs: Infinity }), `maxMs is Infinity, ${TIME}`],
  [() => exponentialLimiter({ maxMs: -1 }), `maxMs is -1, ${TIME}`],
  [() => fastSlowLimiter({ fastMs: -1, slowMs: 2, fastTries: 1 }), `fastMs is -1, ${TIME}`],
  [() => fastSlowLimiter({ fastMs: 1, slowMs: NaN, fastTries: 1 }), `slowMs is NaN, ${TIME}`],
  [
    () => fastSlowLimiter({ fastMs: 1, slowMs: 2, fastTries: -1 }),
    'fastTries is -1, and must be an integer, 0 or more',
  ],
  [
    () => fastSlowLimiter({ fastMs: 1, slowMs: 2, fastTries: 1.5 }),
    'fastTries is 1.5, and must be an integer, 0 or more',
  ],
  [() => tokenBucketLimiter({ qps: Infinity }), 'qps is Infinity, and must be above 0'],
  [() => tokenBucketLimiter({ qps: 0 }), 'qps is 0, and must be above 0'],
  [() => tokenBucketLimiter({ burst: 1.5 }), 'burst is 1.5, and must be an integer, 1 or more'],
  [() => tokenBucketLimiter({ burst: 0 }), 'burst is 0, and must be an integer, 1 or more'],
  [() => maxOf(), 'maxOf needs at least one limiter'],
  [() => withMaxWait(exponentialLimiter(), -5), `maxMs is -5, ${TIME}`],
]

test('invalid options of limiters are refused', () => {
  for (const [make, why] of invalid) {
    assert.throws(make, { name: 'RangeError', message: `Cannot make a rate limiter: ${why}` })
  }
})
