/** A kind whose conversion webhook does not answer: the API server's answers are waited out, as measured on 1.36. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { answer } from '../client/transports.ts'
import { type Answer, keptLog, list, POD, pod, ScriptedServer, Stream } from './scripted_server.ts'

const FAILED =
  'conversion webhook for web.example.dev/v1, Kind=Site failed: Post "https://127.0.0.1:9443/convert?timeout=30s": dial tcp 127.0.0.1:9443: connect: connection refused'

/** A 500 has no reason here. */
const failed: Answer = () => answer(500, { kind: 'Status', status: 'Failure', code: 500, message: FAILED })
const initializing: Answer = () =>
  answer(429, {
    kind: 'Status',
    status: 'Failure',
    reason: 'TooManyRequests',
    code: 429,
    details: { retryAfterSeconds: 1 },
    message: `storage is (re)initializing: ${FAILED}`,
  })

/** A stream that the server accepts, and ends after 3 s with "Too large resource version". */
function tooLarge(): Stream {
  const stream = new Stream()
  const details = { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge', message: 'x' }] }
  stream.send('ERROR', {
    kind: 'Status',
    status: 'Failure',
    reason: 'Timeout',
    code: 504,
    details,
    message: 'Too large',
  })
  return stream
}

function informerOf(server: ScriptedServer) {
  const clock = new FakeClock()
  const { lines, log } = keptLog()
  const stop = new AbortController()
  const api = new Api({ transport: server.transport })
  const informer = new Informer({ api, resource: POD, clock, log, random: () => 0 })
  const events: string[] = []
  informer.addHandler(({ kind, object }) => events.push(`${kind} ${object.metadata.name}`))
  let ended: unknown = 'runs'
  const running = informer.start(stop.signal).then(() => (ended = 'ended'), (error: unknown) => (ended = error))
  return {
    clock,
    lines,
    informer,
    events,
    ended: () => ended,
    async stop() {
      stop.abort()
      await running
      for (const { path } of server.requests) assert.doesNotMatch(path, /[?&]resourceVersion=0(&|$)/)
    },
  }
}

test('a cold cache waits for the conversion, never takes a stale empty list, and then has all objects', async () => {
  const server = new ScriptedServer()
  server.streams.push(tooLarge().answer)
  server.lists.push(failed, initializing, failed, list('9', [pod('a', '3'), pod('b', '4')]))
  const one = informerOf(server)
  await one.clock.advance(0)
  assert.deepEqual([one.informer.isSynced, one.ended()], [false, 'runs'])
  await one.clock.advance(20_000)
  assert.deepEqual(server.recorded(), ['stream', 'list', 'list', 'list', 'list', 'watch 9'])
  assert.deepEqual([one.informer.isSynced, one.events], [true, ['added a', 'added b']])
  assert.deepEqual(one.lines.filter((line) => !line.startsWith('debug')), [
    `warn Cannot list pods: ${FAILED}; next try in 800 ms`,
    `warn Cannot list pods: storage is (re)initializing: ${FAILED}; next try in 1 s`,
    `warn Cannot list pods: ${FAILED}; next try in 1.6 s`,
    'info Watching pods',
  ])
  await one.stop()
})
