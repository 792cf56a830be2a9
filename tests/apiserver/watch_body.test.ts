import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WatchBody } from '../../lib/apiserver/verbs/watch_body.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('the initial state may have any number of lines; a reader with 100,000 later lines is disconnected', async () => {
  let ended = 0
  const body = new WatchBody(() => void ended++)
  for (let i = 0; i < 150_000; i++) body.pushInitial(() => bytes('x\n'))
  const line = bytes('y\n')
  for (let i = 0; i < 100_000; i++) body.push(line)
  assert.equal(body.isOpen, true)
  body.push(line)
  assert.deepEqual([body.isOpen, ended], [false, 1])
  assert.equal(await body.text(), '', 'the unread lines are dropped: a reader that has stopped must not keep them')
})

test('a reader with more than 128 MiB of later lines is disconnected; what it reads makes room', async () => {
  let ended = 0
  const body = new WatchBody(() => void ended++)
  const line = new Uint8Array(1024 * 1024).fill(10)
  for (let i = 0; i < 128; i++) body.push(line)
  const reader = body[Symbol.asyncIterator]()
  assert.equal((await reader.next()).value, line, 'a single line is not copied: other watches have the same')
  body.push(line)
  assert.deepEqual([body.isOpen, ended], [true, 0])
  body.push(line)
  assert.deepEqual([body.isOpen, ended], [false, 1])
  assert.equal((await reader.next()).done, true)
})

test('lines are read in chunks of bounded size, in order, while others are pushed', async () => {
  const body = new WatchBody(() => {})
  let next = 0
  for (; next < 30_000; next++) {
    const i = next
    body.pushInitial(() => bytes(`${i} ${'-'.repeat(90)}\n`))
  }
  let [read, rest] = [0, '']
  const sizes: number[] = []
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    sizes.push(chunk.length)
    const lines = (rest + decoder.decode(chunk)).split('\n')
    rest = lines.pop()!
    for (const line of lines) assert.equal(line.split(' ')[0], String(read++))
    if (next < 60_000) { for (const end = next + 5000; next < end; next++) body.push(bytes(`${next} .\n`)) }
    else body.end()
  }
  assert.deepEqual([read, rest], [60_000, ''])
  assert.ok(Math.max(...sizes) < 300_000, `a chunk has ${Math.max(...sizes)} bytes`)
})
