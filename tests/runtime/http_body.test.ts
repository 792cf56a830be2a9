/** Tests how a body is buffered for a reader that is slower than the server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Readable } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import { AnswerBody } from '../../lib/runtime/net/http_body.ts'

const KIB = 1024

/** Returns a response whose chunks the test pushes, and the record of its pauses and resumes. */
function answering(): {
  readonly body: AnswerBody
  readonly flow: string[]
  deadlines(): number
  push(kib: number): void
  end(): void
} {
  const flow: string[] = []
  let deadlines = 0
  const answer = Object.assign(new Readable({ read() {} }), { complete: false, headers: {} })
  const body = new AnswerBody(answer as unknown as IncomingMessage, false, {
    explain: (cause) => cause,
    hangUp() {},
    onBytes: () => void deadlines++,
    onPause: () => void flow.push('no deadline'),
    onEnd() {},
  })
  const { pause, resume } = answer
  answer.pause = () => (flow.push('pause'), pause.call(answer))
  answer.resume = () => (flow.push('resume'), resume.call(answer))
  return {
    body,
    deadlines: () => deadlines,
    flow,
    push: (kib) => void answer.emit('data', new Uint8Array(kib * KIB)),
    end() {
      answer.complete = true
      answer.emit('end')
    },
  }
}

test('for a slow reader at most 1 MiB is buffered: the response is paused until the buffer is empty', async () => {
  const { body, flow, deadlines, push, end } = answering()
  const chunks = body[Symbol.asyncIterator]()
  const first = chunks.next()
  push(1)
  assert.equal((await first).value?.length, KIB)
  for (let n = 0; n < 3; n++) {
    push(512)
    push(512)
    assert.deepEqual(flow, [], '1 MiB is allowed')
    push(1)
    assert.deepEqual(flow, ['no deadline', 'pause'])
    push(512)
    assert.deepEqual(flow.splice(0), ['no deadline', 'pause'], 'once')
    for (const kib of [512, 512, 1]) assert.equal((await chunks.next()).value?.length, kib * KIB)
    assert.deepEqual(flow, [], 'a chunk is still buffered')
    const before = deadlines()
    assert.equal((await chunks.next()).value?.length, 512 * KIB)
    assert.deepEqual(flow.splice(0), ['resume'])
    assert.equal(deadlines(), before + 1, 'a server that is silent from here on is found')
  }
  end()
  assert.equal((await chunks.next()).done, true)
})

test('a body that is not iterated is never paused', async () => {
  const { body, flow, push, end } = answering()
  for (let n = 0; n < 8; n++) push(512)
  const text = body.text()
  push(512)
  end()
  assert.equal((await text).length, 9 * 512 * KIB)
  assert.deepEqual(flow, [])
})

test('a fast reader causes no pause', async () => {
  const { body, flow, push } = answering()
  const chunks = body[Symbol.asyncIterator]()
  for (let n = 0; n < 8; n++) {
    push(900)
    assert.equal((await chunks.next()).value?.length, 900 * KIB)
  }
  assert.deepEqual(flow.filter((each) => each === 'pause'), [])
})
