import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backoffMs } from '../../lib/async/backoff.ts'

test('delays double from baseMs and stop at maxMs', () => {
  const delays = [0, 1, 2, 3, 4].map((attempt) => backoffMs(attempt, { baseMs: 5, maxMs: 30 }, () => 0.5))
  assert.deepEqual(delays, [5, 10, 20, 30, 30])
})

test('jitter adds its share to the capped delay', () => {
  assert.equal(backoffMs(9, { baseMs: 800, maxMs: 30_000, jitter: 1 }, () => 0.5), 45_000)
})

test('a delay is never below baseMs, above maxMs with its jitter, or NaN', () => {
  const options = fc.record({
    baseMs: fc.nat(10_000),
    maxMs: fc.nat(10_000_000),
    jitter: fc.double({ min: 0, max: 2, noNaN: true }),
  })
  fc.assert(
    fc.property(
      fc.nat(100_000),
      options,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (attempt, options, random) => {
        const { baseMs, maxMs, jitter } = options
        const delay = backoffMs(attempt, options, () => random)
        assert.ok(
          delay >= Math.min(baseMs, maxMs) &&
            delay <= Math.min(baseMs * 2 ** Math.min(attempt, 60), maxMs) * (1 + jitter),
          `${delay}`,
        )
        assert.ok(backoffMs(attempt + 1, options, () => 0) >= backoffMs(attempt, options, () => 0), 'it shrank')
      },
    ),
  )
})
