import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { WatchBody } from '../../lib/apiserver/verbs/watch_body.ts'
import type { HttpBody } from '../../lib/core/transport.ts'
import { systemClock, turnBudgetOf } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'

const budget = turnBudgetOf(systemClock)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('the initial state may have any number of lines; a reader with 100,000 later lines is disconnected', async () => {
  let ended = 0
  const body = new WatchBody(budget)
  body.onEnd(() => ended++)
  body.startWith(Array.from({ length: 150_000 }, () => 'x\n').values())
  const line = bytes('y\n')
  for (let i = 0; i < 100_000; i++) body.push(line)
  assert.equal(body.isOpen, true)
  body.push(line)
  assert.deepEqual([body.isOpen, ended], [false, 1])
  assert.equal(await body.text(), '', 'the unread lines are dropped: a reader that has stopped must not keep them')
})

test('a reader with more than 128 MiB of later lines is disconnected; what it reads makes room', async () => {
  let ended = 0
  const body = new WatchBody(budget)
  body.onEnd(() => ended++)
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

interface Ending {
  readonly server: ApiServer
  readonly clock: FakeClock
  readonly body: HttpBody
  readonly abort: () => void
}

const endings: Readonly<Record<string, (watch: Ending) => unknown>> = {
  'its reader cancels it': ({ body }) => body.cancel(),
  'its reader leaves the loop': async ({ body }) => {
    for await (const _ of body) break
  },
  'its time is over': ({ clock }) => clock.advance(30_000),
  'the server ends all watches': ({ server }) => server.closeWatches(),
  'its request is aborted': ({ abort }) => abort(),
}

for (const [what, end] of Object.entries(endings)) {
  test(`a watch leaves no listener on its request's signal and no timer when ${what}`, async () => {
    const clock = new FakeClock()
    const server = new ApiServer({ clock })
    const idle = clock.pending
    // A signal that many requests share, as that of an operator.
    const { controller, listeners } = countedSignal()
    const path = '/api/v1/namespaces?watch=true&timeoutSeconds=30&allowWatchBookmarks=true'
    for (let i = 0; i < 3; i++) {
      const { body } = await server.handle({ method: 'GET', path, signal: controller.signal })
      assert.deepEqual([server.watches, listeners() > 0], [1, true])
      await end({ server, clock, body, abort: () => controller.abort(new Error('enough')) })
      assert.deepEqual([server.watches, listeners(), clock.pending], [0, 0, idle])
      if (controller.signal.aborted) break
    }
  })
}
