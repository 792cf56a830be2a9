/** How the body of an answer flows to a reader that is slower than its server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Readable } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import { type OpenBody, openBody } from '../../lib/runtime/net/http_body.ts'

const KIB = 1024

/** An answer whose chunks are pushed by the test; what it was told of its flow is kept. */
function answering(): { readonly body: OpenBody; readonly flow: string[]; push(kib: number): void; end(): void } {
  const flow: string[] = []
  const answer = Object.assign(new Readable({ read() {} }), { complete: false, headers: {} })
  const body = openBody(answer as unknown as IncomingMessage, {
    gzip: false,
    explain: (cause) => cause,
    hangUp() {},
    onEnd() {},
  })
  const { pause, resume } = answer
  answer.pause = () => (flow.push('pause'), pause.call(answer))
  answer.resume = () => (flow.push('resume'), resume.call(answer))
  return {
    body,
    flow,
    push: (kib) => void answer.emit('data', new Uint8Array(kib * KIB)),
    end() {
      answer.complete = true
      answer.emit('end')
    },
  }
}

test('a reader that iterates slowly has about a megabyte before it: the answer is paused, and goes on when all was taken', async () => {
  const { body, flow, push, end } = answering()
  const chunks = body[Symbol.asyncIterator]()
  const first = chunks.next()
  push(1)
  assert.equal((await first).value?.length, KIB)
  for (let n = 0; n < 3; n++) {
    push(512)
    push(512)
    assert.deepEqual(flow, [], 'a megabyte may wait')
    push(1)
    assert.deepEqual(flow, ['pause'])
    push(512)
    assert.deepEqual(flow.splice(0), ['pause'], 'once')
    for (const kib of [512, 512, 1]) assert.equal((await chunks.next()).value?.length, kib * KIB)
    assert.deepEqual(flow, [], 'something still waits')
    assert.equal((await chunks.next()).value?.length, 512 * KIB)
    assert.deepEqual(flow.splice(0), ['resume'])
  }
  end()
  assert.equal((await chunks.next()).done, true)
})

test('a body that is not iterated is never paused: it is read whole, or let go of with its connection', async () => {
  const { body, flow, push, end } = answering()
  for (let n = 0; n < 8; n++) push(512)
  const text = body.text()
  push(512)
  end()
  assert.equal((await text).length, 9 * 512 * KIB)
  assert.deepEqual(flow, [])
})

test('a reader that keeps up pauses nothing', async () => {
  const { body, flow, push } = answering()
  const chunks = body[Symbol.asyncIterator]()
  for (let n = 0; n < 8; n++) {
    push(900)
    assert.equal((await chunks.next()).value?.length, 900 * KIB)
  }
  assert.deepEqual(flow.filter((each) => each === 'pause'), [])
})
