import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TokenBucket } from '../../lib/async/token_bucket.ts'

test('a burst is taken at once, and one more token in each interval', () => {
  const bucket = new TokenBucket({ burst: 3, refillMs: 1000 })
  const takenAt = (nowMs: number): number => {
    let taken = 0
    while (taken < 10 && bucket.take(nowMs)) taken++
    return taken
  }
  assert.deepEqual([0, 999, 1000, 1500, 2000, 4000, 1_000_000].map(takenAt), [3, 0, 1, 0, 1, 2, 3])
})

test('refused calls do not delay the next token, however many there are', () => {
  const bucket = new TokenBucket({ burst: 1, refillMs: 60_000 })
  assert.equal(bucket.take(0), true)
  for (let nowMs = 1; nowMs < 60_000; nowMs += 7) assert.equal(bucket.take(nowMs), false)
  assert.equal(bucket.take(60_000), true)
})

test('a reservation returns the wait for its token, and later ones wait longer', () => {
  const bucket = new TokenBucket({ burst: 2, refillMs: 100 })
  assert.deepEqual([0, 0, 0, 0].map(() => bucket.reserve(0)), [0, 0, 100, 200])
  assert.equal(bucket.reserve(150), 150)
  assert.equal(bucket.take(200), false)
  assert.equal(bucket.reserve(10_000), 0)
})

test('at any time and interval, the whole burst is available and no more than the rate after it', () => {
  const times = {
    nowMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
    refillMs: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
  }
  fc.assert(
    fc.property(fc.record({ ...times, burst: fc.integer({ min: 1, max: 20 }) }), ({ nowMs, refillMs, burst }) => {
      const bucket = new TokenBucket({ burst, refillMs })
      for (let taken = 0; taken < burst; taken++) assert.equal(bucket.take(nowMs), true)
      assert.equal(bucket.take(nowMs), false)
      const afterMs = nowMs + refillMs * 1.5
      assert.deepEqual([bucket.take(afterMs), bucket.take(afterMs)], [true, false])
    }),
  )
})
