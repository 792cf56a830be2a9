import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Latch } from '../../lib/async/latch.ts'

test('a latch opens once, for early and late waiters', async () => {
  const latch = new Latch<string>()
  const early = latch.opened
  assert.equal(latch.isOpen, false)
  latch.open('first')
  latch.open('second')
  assert.equal(latch.isOpen, true)
  assert.deepEqual([await early, await latch.opened], ['first', 'first'])
})
