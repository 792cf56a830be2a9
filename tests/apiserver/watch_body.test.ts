import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WatchBody } from '../../lib/apiserver/verbs/watch.ts'

test('the initial state may have any number of lines; a reader with a backlog of 100,000 later lines is disconnected', async () => {
  let ended = 0
  const body = new WatchBody(() => void ended++)
  for (let i = 0; i < 150_000; i++) body.pushInitial('x\n')
  for (let i = 0; i < 100_000; i++) body.push('y\n')
  assert.equal(body.isOpen, true)
  body.push('z\n')
  assert.deepEqual([body.isOpen, ended], [false, 1])
  const sizes: number[] = []
  for await (const chunk of body) sizes.push(chunk.length)
  assert.equal(sizes.reduce((a, b) => a + b), 2 * 250_001)
  assert.ok(Math.max(...sizes) <= 4000, 'a chunk contains the whole backlog')
})
