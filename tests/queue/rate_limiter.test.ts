import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exponentialLimiter } from '../../lib/queue/rate_limiter.ts'

test('delays are 5 ms doubling to 1000 s for each key by itself, and never overflow', () => {
  const limiter = exponentialLimiter<string>()
  assert.deepEqual([1, 2, 3, 4].map(() => limiter.when('a')), [5, 10, 20, 40])
  assert.equal(limiter.when('b'), 5)
  for (let i = 0; i < 5000; i++) limiter.when('a')
  assert.equal(limiter.when('a'), 1_000_000)
  assert.equal(limiter.failures('a'), 5005)
})

test('a forgotten key begins anew, and another one does not', () => {
  const limiter = exponentialLimiter<string>({ firstMs: 100, mostMs: 150 })
  assert.deepEqual([limiter.when('a'), limiter.when('a'), limiter.when('b')], [100, 150, 100])
  limiter.forget('a')
  assert.deepEqual([limiter.failures('a'), limiter.failures('b'), limiter.when('a'), limiter.when('b')], [0, 1, 100, 150])
})
