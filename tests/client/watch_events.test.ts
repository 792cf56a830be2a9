import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import type { WatchChange } from '../../lib/client/client.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { parseWatchLine } from '../../lib/client/watch_events.ts'
import { isReason, NetworkError } from '../../lib/core/errors.ts'
import type { HttpRequest, HttpResponse } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { pod } from '../cache/scripted_server.ts'
import { CONFIG_MAP, type ConfigMap } from './case_bench.ts'
import { answer, silence } from './transports.ts'

const line = (type: unknown, object: unknown): string => JSON.stringify({ type, object })

test('parseWatchLine maps ADDED and MODIFIED to applied, and knows DELETED and BOOKMARK', () => {
  const object = pod('a', '5')
  assert.deepEqual(parseWatchLine(line('ADDED', object), 'pods'), { kind: 'applied', object })
  assert.deepEqual(parseWatchLine(line('MODIFIED', object), 'pods'), { kind: 'applied', object })
  assert.deepEqual(parseWatchLine(line('DELETED', object), 'pods'), { kind: 'deleted', object })
  assert.deepEqual(parseWatchLine(line('BOOKMARK', { metadata: { resourceVersion: '9' } }), 'pods'), {
    kind: 'bookmark',
    resourceVersion: '9',
  })
})

test('parseWatchLine throws the error of an ERROR event, with its Retry-After', () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    code: 410,
    reason: 'Expired',
    message: 'too old',
    details: { retryAfterSeconds: 3 },
  }
  assert.throws(
    () => parseWatchLine(line('ERROR', status), 'pods'),
    (error) =>
      isReason(error, 'Expired') && error.retryAfterMs === 3000 && /Cannot watch pods: too old/.test(error.message),
  )
})

test('parseWatchLine throws for a malformed line', () => {
  for (
    const bad of [
      '',
      '{',
      'null',
      '5',
      '[]',
      '"x"',
      '{}',
      line('ADDED', undefined),
      line('ADDED', null),
      line('ADDED', {}),
      line('ADDED', { metadata: {} }),
      line('BOOKMARK', { metadata: {} }),
      line('PATCHED', pod('a', '5')),
      line(undefined, pod('a', '5')),
      line('ERROR', undefined),
      line('ERROR', null),
    ]
  ) {
    assert.throws(() => parseWatchLine(bad, 'pods'), /Cannot watch pods/, bad)
  }
})

const event = (type: string, name: string): string =>
  JSON.stringify({ type, object: { kind: 'ConfigMap', metadata: { name, resourceVersion: '1' } } })

/** A server that answers each watch with these chunks, then ends it or is silent until an abort. */
function server(chunks: readonly string[], { silent = false, clock }: { silent?: boolean; clock?: FakeClock } = {}) {
  const requests: HttpRequest[] = []
  let closed = 0
  const transport = (request: HttpRequest): Promise<HttpResponse> => {
    requests.push(request)
    const { signal } = request
    return Promise.resolve({
      ...answer(200, ''),
      body: {
        ...answer(200, '').body,
        async *[Symbol.asyncIterator]() {
          try {
            for (const chunk of chunks) yield new TextEncoder().encode(chunk)
            if (silent) {
              await new Promise((_, reject) =>
                signal!.addEventListener('abort', () => reject(signal!.reason as Error), { once: true })
              )
            }
          } finally {
            closed++
          }
        },
      },
    })
  }
  const api = new Api({ transport, clock })
  return { api, client: new KubeClient({ api, fieldManager: 'me' }), requests, closed: () => closed }
}

async function read(chunks: readonly string[]): Promise<{ seen: string[]; failure: unknown }> {
  const seen: string[] = []
  const clock = new FakeClock()
  const { client } = server(chunks, { clock })
  try {
    for await (
      const { type, object } of client.watch(CONFIG_MAP, { resourceVersion: '7', labels: { a: 'b' } })
    ) seen.push(`${type} ${object.metadata.name}`)
  } catch (failure) {
    return { seen, failure }
  }
  assert.equal(clock.pending, 0, 'a timer would keep the process')
  return { seen, failure: undefined }
}

test('a watch yields events for any chunks, skips bookmarks, and ends when the server ends it', async () => {
  const bytes = `${event('ADDED', 'a')}\n${event('BOOKMARK', '')}\n${event('MODIFIED', 'a')}\n\n${
    event('DELETED', 'a')
  }\n`
  for (const size of [1, 7, 1000]) {
    const chunks = bytes.match(new RegExp(`[^]{1,${size}}`, 'g'))!
    assert.deepEqual(await read(chunks), { seen: ['ADDED a', 'MODIFIED a', 'DELETED a'], failure: undefined })
  }
})

test('bookmarks are yielded when they are wanted, with the version to continue from', async () => {
  const bookmark = JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } })
  const seen: unknown[] = []
  const watch = server([`${event('ADDED', 'a')}\n${bookmark}\n`]).client.watch(CONFIG_MAP, { bookmarks: true })
  for await (const change of watch) {
    seen.push(change.type === 'BOOKMARK' ? change.resourceVersion : change.object.metadata.name)
  }
  assert.deepEqual(seen, ['a', '9'])
})

test('a watch that is silent for 150 s ends with a NetworkError; the time of its consumer does not count', async () => {
  for (const chunks of [[], [`${event('ADDED', 'a')}\n`, event('ADDED', 'b').slice(0, 9)]]) {
    const clock = new FakeClock()
    const it = server(chunks, { silent: true, clock })
    const changes = it.client.watch(CONFIG_MAP)[Symbol.asyncIterator]()
    if (chunks.length > 0) {
      await changes.next()
      await clock.advance(1_000_000)
    }
    const failures: unknown[] = []
    changes.next().catch((error: unknown) => failures.push(error))
    await clock.advance(149_999)
    assert.equal(failures.length, 0)
    await clock.advance(1)
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    const [failure] = failures
    assert.ok(failure instanceof NetworkError && failure.code === 'ETIMEDOUT')
    assert.match(failure.message, /^Cannot watch configmaps: the server sent nothing for 150 s/)
    assert.deepEqual([it.closed(), clock.pending], [1, 0])
  }
})

test('a watch that the server does not accept within 150 s is given up', async () => {
  const clock = new FakeClock()
  const client = new KubeClient({ api: new Api({ transport: silence, clock }), fieldManager: 'me' })
  const failed = assert.rejects(
    client.watch(CONFIG_MAP)[Symbol.asyncIterator]().next(),
    /Cannot watch configmaps: the server sent nothing for 150 s/,
  )
  await clock.advance(150_000)
  await failed
})

test('an ERROR event is thrown after the events before it', async () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old resource version: 1 (7)',
  }
  const { seen, failure } = await read([
    `${event('ADDED', 'a')}\n${JSON.stringify({ type: 'ERROR', object: status })}\n${event('ADDED', 'b')}\n`,
  ])
  assert.deepEqual(seen, ['ADDED a'])
  assert.ok(isReason(failure, 'Expired') && failure.code === 410)
  assert.equal(failure.message, 'Cannot watch configmaps: too old resource version: 1 (7)')
})

test('the error for a malformed event quotes nothing of it', async () => {
  const lines = [
    '{"type":"ADDED","object":{"data":{"password":"hunter2"',
    '"hunter2"',
    'null',
    '{"type":"ADDED"}',
    '{"type":"hunter"}',
    `${event('ADDED', 'hunter2')}x`,
  ]
  for (const line of lines) {
    const { seen, failure } = await read([`${line}\n`])
    assert.deepEqual(seen, [])
    assert.match(String(failure), /^TypeError: Cannot watch configmaps: the server sent /)
    assert.doesNotMatch(String((failure as Error).stack), /hunter2/)
  }
  const cut = await read([`${event('ADDED', 'a')}\n${event('ADDED', 'b').slice(0, -1)}`])
  assert.deepEqual([cut.seen, (cut.failure as Error).name], [['ADDED a'], 'TypeError'])
})

test('a watch sends no timeout, and a version only if one was given', async () => {
  const it = server([])
  for await (
    const _ of it.client.watch(CONFIG_MAP, { namespace: 'ns', fields: 'metadata.name=a', resourceVersion: '7' })
  ) assert.fail()
  for await (const _ of it.client.watch(CONFIG_MAP)) assert.fail()
  assert.deepEqual(it.requests.map(({ path }) => path), [
    '/api/v1/namespaces/ns/configmaps?fieldSelector=metadata.name%3Da&watch=true&allowWatchBookmarks=true&resourceVersion=7',
    '/api/v1/configmaps?watch=true&allowWatchBookmarks=true',
  ])
})

test('events received before an abort are not yielded after it', async () => {
  for (const ends of ['signal', 'run'] as const) {
    const [own, run] = [new AbortController(), new AbortController()]
    const it = server([`${event('ADDED', 'a')}\n${event('ADDED', 'b')}\n${event('ADDED', 'c')}\n`], { silent: true })
    const changes = it.client.bound(run).watch(CONFIG_MAP, { signal: own.signal })[Symbol.asyncIterator]()
    for (const name of ['a', 'b']) {
      assert.equal(((await changes.next()).value as WatchChange<ConfigMap>).object.metadata.name, name)
    }
    const stop = ends === 'signal' ? own : run
    stop.abort(new Error('enough'))
    await assert.rejects(changes.next(), /^Error: enough$/)
    assert.deepEqual([(await changes.next()).done, it.closed()], [true, 1])
  }
})

test('leaving the loop, the signal and the end of the run each close a watch and leave no listener', async () => {
  const { controller, listeners } = countedSignal()
  const { signal } = controller
  const it = server([`${event('ADDED', 'a')}\n`], { silent: true })
  for await (const _ of it.client.watch(CONFIG_MAP, { signal })) break
  assert.deepEqual([it.closed(), listeners(), it.requests[0]!.signal!.aborted], [1, 0, true])

  const run = new AbortController()
  const bound = it.client.bound(run).watch(CONFIG_MAP, { signal })[Symbol.asyncIterator]()
  await bound.next()
  const next = bound.next()
  run.abort(new Error('the run has ended'))
  await assert.rejects(next, /^Error: the run has ended$/)
  assert.deepEqual([it.closed(), listeners()], [2, 0])

  const own = it.client.watch(CONFIG_MAP, { signal })[Symbol.asyncIterator]()
  await own.next()
  const last = own.next()
  controller.abort(new Error('enough'))
  await assert.rejects(last, /^Error: enough$/)
  assert.deepEqual([it.closed(), listeners()], [3, 0])
})
