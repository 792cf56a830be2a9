import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Duration, formatMs, toMs } from '../../lib/core/duration.ts'

test('a duration is milliseconds, or a number with a unit', () => {
  const table: readonly (readonly [Duration, number])[] = [
    [0, 0],
    [1500, 1500],
    ['0s', 0],
    ['250ms', 250],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['1.5h', 5_400_000],
    ['1d', 86_400_000],
  ]
  for (const [duration, ms] of table) assert.equal(toMs(duration), ms, String(duration))
})

test('an invalid duration throws with examples', () => {
  for (const wrong of ['', '5', 's', '-5s', '5 s', '5w', '1e3s', '.5s', '5S', '5mss']) {
    assert.throws(
      () => toMs(wrong as Duration),
      (error: Error) =>
        error instanceof RangeError && error.message.includes(`"${wrong}"`) &&
        /ms, s, m, h or d, .*durationMs/.test(error.message),
      wrong,
    )
  }
  for (const wrong of [-1, NaN, Infinity, `${'9'.repeat(309)}s` as '30s']) assert.throws(() => toMs(wrong), RangeError)
})

test('a duration is formatted in a fitting unit', () => {
  assert.deepEqual(
    [0, 8.4, 1500, 59_000, 120_000, 5_400_000, 86_400_000].map(formatMs),
    ['0 ms', '8 ms', '1.5 s', '59 s', '2 m', '1.5 h', '1 d'],
  )
  // What is rounded to 60 or 24 of a unit is 1 of the next.
  assert.deepEqual([999.6, 59_960, 3_599_900, 86_399_000, 59_940].map(formatMs), ['1 s', '1 m', '1 h', '1 d', '59.9 s'])
})
