import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from '../../lib/core/objects.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { HttpRequest, HttpResponse } from '../../lib/core/transport.ts'
import type { ReflectorOptions } from '../../lib/cache/reflector.ts'
import type { FakeClock } from '../../lib/testing/fake_clock.ts'
import { startReflecting } from './reflecting.ts'
import { failing, list, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

/** A reflector of pods against a scripted server, with a record of its calls. */
function reflecting(server: ScriptedServer, more: Partial<ReflectorOptions> = {}) {
  const { did, ...reflecting } = startReflecting(server, (did) => ({
    prepare: () => {},
    replace: (objects) => void did.push(`list ${[...objects.values()].map(({ metadata }) => metadata.name).join()}`),
    ...more,
  }))
  return { ...reflecting, recorded: () => did.splice(0) }
}

function serverWith(...streams: Stream[]): ScriptedServer {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '3')]))
  server.watches.push(...streams.map((stream) => stream.answer))
  return server
}

test('it lists, then watches from the version of the list, with bookmarks and a timeout', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const r = reflecting(server)
  await r.settle()
  stream.send('ADDED', pod('b', '6'))
  stream.send('DELETED', pod('b', '7'))
  await r.settle()
  assert.deepEqual(server.recorded(), ['list', 'watch 5'])
  assert.deepEqual(r.recorded(), ['list a', 'applied b', 'deleted b'])
  assert.match(server.requests[1]!.path, /allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300$/)
  await r.stop()
})

test('a watch that ends is reopened at the last version, also of a bookmark, without a list', async () => {
  const streams = [new Stream(), new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  const r = reflecting(server)
  await r.settle()
  streams[0].send('MODIFIED', pod('a', '6'))
  streams[0].end()
  await r.settle()
  streams[1].bookmark('99')
  streams[1].end()
  await r.settle()
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'watch 6', 'watch 99'])
  assert.deepEqual(r.recorded(), ['list a', 'applied a', 'bookmark 99'])
  await r.stop()
})

test('an expired version leads to a new list after a back-off: as an answer', async () => {
  const server = serverWith()
  server.watches.push(refusal(410, 'Expired'))
  server.lists.push(list('9', [pod('b', '8')]))
  const r = reflecting(server)
  await r.clock.advance(799)
  assert.deepEqual(server.recorded(), ['list', 'watch 5'])
  await r.clock.advance(1)
  assert.deepEqual(server.recorded(), ['list', 'watch 9'])
  assert.deepEqual(r.recorded(), ['list a', 'Cannot watch pods: scripted Expired; 800', 'list b'])
  await r.stop()
})

test('an expired version leads to a new list after a back-off: as an ERROR event', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  server.lists.push(list('9'))
  const r = reflecting(server)
  await r.settle()
  stream.send('ADDED', pod('b', '6'))
  stream.error(410, 'Expired')
  stream.send('ADDED', pod('after', '7'))
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'list', 'watch 9'])
  assert.deepEqual(r.recorded(), ['list a', 'applied b', 'Cannot watch pods: scripted Expired; 800', 'list '])
  assert.equal(stream.cancelled, true)
  await r.stop()
})

test('429 and refused connections are retried with a growing back-off, without a list; Retry-After is respected', async () => {
  const server = serverWith()
  const refused = new NetworkError('refused', { phase: 'connect' })
  server.watches.push(
    failing(refused),
    failing(refused),
    refusal(429, 'TooManyRequests', { 'retry-after': '7' }),
    failing(refused),
  )
  const r = reflecting(server)
  await r.clock.advance(800 + 1600 + 7000 + 6400)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'watch 5', 'watch 5', 'watch 5', 'watch 5'])
  assert.deepEqual(r.recorded(), [
    'list a',
    'refused; 800',
    'refused; 1600',
    'Cannot watch pods: scripted TooManyRequests; 7000',
    'refused; 6400',
  ])
  await r.stop()
})

test('an invalid line is not skipped: events before it count, and then a list follows', async () => {
  for (
    const garbled of [
      '{"type":"ADDED","obj\n',
      '{"type":"NEWS","object":{"metadata":{"resourceVersion":"7"}}}\n',
      '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n',
    ]
  ) {
    const stream = new Stream()
    const server = serverWith(stream)
    server.lists.push(list('9'))
    const r = reflecting(server)
    await r.settle()
    stream.send('ADDED', pod('b', '6'))
    stream.text(garbled)
    stream.send('ADDED', pod('c', '8'))
    await r.clock.advance(800)
    assert.deepEqual(server.recorded(), ['list', 'watch 5', 'list', 'watch 9'], garbled)
    assert.deepEqual(
      r.recorded().filter((what) => !what.startsWith('Cannot watch')),
      ['list a', 'applied b', 'list '],
      garbled,
    )
    await r.stop()
  }
})

test('bytes that are not UTF-8 are an invalid line', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  server.lists.push(list('9'))
  const r = reflecting(server)
  await r.settle()
  stream.bytes(Uint8Array.of(0x7b, 0xff, 0x0a))
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'list', 'watch 9'])
  await r.stop()
})

test('repeated invalid lines do not cause a flood of lists, even with events between them', async () => {
  const streams = Array.from({ length: 6 }, () => new Stream())
  const server = serverWith(...streams)
  for (let i = 0; i < 6; i++) server.lists.push(list(`${10 + i}`))
  for (const [i, stream] of streams.entries()) {
    stream.send('ADDED', pod('b', `${20 + i}`))
    stream.text('{\n')
  }
  const r = reflecting(server)
  await r.clock.advance(12_000)
  // After 0, 0.8, 2.4 and 5.6 s; the fifth comes at 12.
  assert.equal(server.recorded().filter((what) => what === 'list').length, 5)
  await r.stop()
})

test('a watch whose connection breaks is reopened at the last version', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const r = reflecting(server)
  await r.settle()
  stream.send('ADDED', pod('b', '6'))
  await r.settle()
  stream.fail(new NetworkError('cut', { phase: 'body' }))
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'watch 6'])
  await r.stop()
})

test('the back-off stays short for a connection that is cut every minute', async () => {
  const streams = Array.from({ length: 8 }, () => new Stream())
  const server = serverWith(...streams)
  const r = reflecting(server)
  await r.settle()
  for (const stream of streams) {
    await r.clock.advance(60_000)
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    await r.clock.advance(800)
  }
  assert.equal(server.recorded().filter((what) => what === 'watch 5').length, 9)
  await r.stop()
})

test('silence of 150 s ends a watch; only received bytes end the silence', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const r = reflecting(server)
  await r.clock.advance(149_000)
  stream.text('{"type":')
  await r.clock.advance(149_000)
  assert.deepEqual(server.recorded(), ['list', 'watch 5'])
  await r.clock.advance(1000)
  assert.match(r.recorded().at(-1) ?? '', /the server sent nothing for 150 s.*; 800$/)
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['watch 5'])
  await r.stop()
})

/**
 * A server that ends each watch after its timeout and sends only what the test sends. It records when each watch was
 * opened.
 */
function withoutBookmarks(
  reflector: () => { readonly clock: FakeClock },
  { ends = true } = {},
): { server: ScriptedServer; opened: number[]; last: () => Stream } {
  const server = serverWith()
  const opened: number[] = []
  let last: Stream
  const watch = (request: HttpRequest): HttpResponse | Promise<HttpResponse> => {
    const { clock } = reflector()
    const stream = (last = new Stream())
    opened.push(clock.monotonic())
    const seconds = Number(new URLSearchParams(request.path.split('?')[1]).get('timeoutSeconds'))
    if (ends) request.signal!.addEventListener('abort', clock.after(seconds * 1000, () => stream.end()), { once: true })
    return stream.answer(request)
  }
  // As many as requested.
  server.watches.shift = () => watch
  return { server, opened, last: () => last }
}

const HOUR_MS = 3_600_000

test('a server without bookmarks is detected: after two silent watches, each watch lasts until the server ends it, without a new list', async () => {
  const { server, opened, last } = withoutBookmarks(() => r)
  const r = reflecting(server)
  await r.clock.advance(6 * HOUR_MS)
  const requests = server.recorded()
  assert.deepEqual(requests.filter((what) => what.startsWith('list')), ['list'])
  // Two watches of 150 s, then one every 300 s.
  assert.ok(requests.length <= 2 + 2 + 6 * 12, `${requests.length} requests in six hours`)
  assert.deepEqual(opened.slice(0, 5).map((ms) => Math.round(ms / 1000)), [0, 151, 302, 602, 902])
  assert.equal(r.recorded().filter((what) => what.startsWith('Cannot')).length, 2)
  // An event between them changes nothing.
  last().send('ADDED', pod('b', '6'))
  await r.clock.advance(6 * HOUR_MS)
  assert.deepEqual([r.recorded(), server.recorded().filter((what) => what.startsWith('list'))], [['applied b'], []])
  await r.stop()
})

test('without bookmarks, a dead connection is found soon after the server should have ended the watch', async () => {
  const { server, opened } = withoutBookmarks(() => r, { ends: false })
  const r = reflecting(server, { random: () => 0.999 })
  await r.clock.advance(2 * HOUR_MS)
  const [, , ...quiet] = opened
  const lasted = quiet.slice(1).map((ms, i) => ms - quiet[i]!)
  assert.ok(lasted.length > 5 && lasted.every((ms) => ms <= 630_000 + 1600 && ms > 599_000), lasted.join())
  assert.match(r.recorded().at(-1) ?? '', /the server sent nothing for \d+ s, so the connection is considered dead/)
  assert.deepEqual(server.recorded().filter((what) => what.startsWith('list')), ['list'])
  await r.stop()
})

test('without bookmarks, the time limit for the answer to a watch is unchanged', async () => {
  const { server, opened } = withoutBookmarks(() => r)
  const r = reflecting(server)
  await r.clock.advance(400_000)
  const never = ({ signal }: HttpRequest): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
  const watch = server.watches.shift()!
  server.watches.shift = () => (server.watches.shift = () => watch, never)
  await r.clock.advance(602_000 - 400_000)
  assert.equal(opened.length, 3)
  await r.clock.advance(150_000 + 1600)
  assert.equal(opened.length, 4)
  await r.stop()
})

test('a bookmark ends that mode at once: a silent connection is found after 150 s again', async () => {
  const { server, opened, last } = withoutBookmarks(() => r, { ends: false })
  const r = reflecting(server)
  await r.clock.advance(310_000)
  assert.equal(opened.length, 3)
  last().bookmark('6')
  await r.clock.advance(60_000)
  last().send('MODIFIED', pod('a', '7'))
  await r.clock.advance(149_000)
  assert.equal(opened.length, 3)
  await r.clock.advance(2000)
  assert.equal(opened.length, 4)
  await r.clock.advance(152_000)
  // Silent again: this server sends bookmarks, so it may have been restored from a backup.
  assert.equal(server.recorded().filter((what) => what.startsWith('list')).length, 2)
  await r.stop()
})

test('a watch with events that the server does not end does not count as dead', async () => {
  const { server, opened, last } = withoutBookmarks(() => r, { ends: false })
  const r = reflecting(server)
  await r.clock.advance(310_000)
  // An event does not end that mode.
  last().send('MODIFIED', pod('a', '6'))
  await r.clock.advance(200_000)
  assert.equal(opened.length, 3)
  for (let version = 6; version < 26; version++) {
    last().send('MODIFIED', pod('a', String(version)))
    await r.clock.advance(100_000)
  }
  assert.equal(opened.length, 3)
  await r.clock.advance(151_000)
  assert.equal(opened.length, 4, 'silent for 150 s after the time of the watch was over')
  await r.stop()
})

test('a server that accepts the connection and never answers is given up, for a watch and for a list', async () => {
  const server = new ScriptedServer()
  const never = ({ signal }: { signal?: AbortSignal | undefined }): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
  server.lists.push(never, list('5'))
  server.watches.push(never)
  const r = reflecting(server)
  await r.clock.advance(150_000 + 800)
  assert.deepEqual(server.recorded(), ['list', 'list', 'watch 5'])
  await r.clock.advance(150_000 + 1600)
  assert.deepEqual(server.recorded(), ['watch 5'])
  await r.stop()
})

test('a watch that the server closes at once is reopened after a back-off, then listed; onFailure is called', async () => {
  const streams = [new Stream(), new Stream(), new Stream()] as const
  for (const stream of streams) stream.end()
  // A bookmark of the known version is no progress.
  streams[0].bookmark('5')
  const server = serverWith(...streams)
  server.lists.push(list('9'))
  const r = reflecting(server)
  await r.clock.advance(800 + 1600)
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'watch 5', 'list', 'watch 9'])
  assert.match(
    r.recorded().find((what) => what.startsWith('Cannot')) ?? '',
    /the server closed the watch too early; 800/,
  )
  await r.stop()
})

test('pages become one list with the version of the last page', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '1')], 'two'), list('5', [pod('b', '2')], 'three'), list('5', [pod('c', '3')]))
  const r = reflecting(server)
  await r.settle()
  assert.deepEqual([server.recorded(), r.recorded()], [['list', 'list two', 'list three', 'watch 5'], ['list a,b,c']])
  await r.stop()
})

test('after an expired page, the whole list is fetched in one response', async () => {
  const server = new ScriptedServer()
  server.lists.push(
    list('5', [pod('a', '1')], 'two'),
    refusal(410, 'Expired'),
    list('8', [pod('a', '1'), pod('b', '7')]),
  )
  const r = reflecting(server)
  await r.settle()
  assert.deepEqual([server.recorded(), r.recorded()], [['list', 'list two', 'list whole', 'watch 8'], ['list a,b']])
  await r.stop()
})

test('a list without a version is a failure, and no watch is opened', async () => {
  const server = new ScriptedServer()
  server.lists.push(list(''), list('5'))
  const r = reflecting(server)
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['list', 'list', 'watch 5'])
  assert.match(r.recorded()[0] ?? '', /Cannot list pods: the server's list has no resourceVersion; 800/)
  await r.stop()
})

test('a Table is neither an empty list nor an object', async () => {
  const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: '5' }, rows: [] }
  const stream = new Stream()
  const server = new ScriptedServer()
  const answer = new Stream()
  answer.text(JSON.stringify(table))
  answer.end()
  server.lists.push((request) => answer.answer(request), list('5', [pod('a', '3')]), list('6', [pod('a', '3')]))
  server.watches.push(stream.answer)
  const r = reflecting(server, {
    apply: ({ kind, ...event }) => void ('object' in event && keyOf(event.object) && assert.fail(kind)),
  })
  await r.clock.advance(800)
  assert.deepEqual(r.recorded(), ['Cannot list pods: the response is not a list; 800', 'list a'])
  stream.send('ADDED', table)
  await r.clock.advance(1600)
  assert.match(r.recorded().join(), /name is missing; 1600,list a$/)
  assert.deepEqual(server.recorded(), ['list', 'list', 'watch 5', 'list', 'watch 6'])
  await r.stop()
})

test('a list of 200,000 objects is delivered as one list', async () => {
  const server = new ScriptedServer()
  const items = Array.from({ length: 200_000 }, (_, i) => pod(`p${i}`, '1'))
  let size = 0
  server.lists.push(list('5', items))
  const r = reflecting(server, { replace: (objects) => void (size = objects.size) })
  await r.settle()
  assert.equal(size, 200_000)
  await r.stop()
})

test('the version of an event is read before prepare can remove it', async () => {
  const streams = [new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  const r = reflecting(server, {
    apply: (event) =>
      void (event.kind === 'applied' && delete (event.object.metadata as { resourceVersion?: string }).resourceVersion),
  })
  await r.settle()
  streams[0].send('ADDED', pod('b', '6'))
  streams[0].end()
  await r.settle()
  assert.deepEqual(server.recorded(), ['list', 'watch 5', 'watch 6'])
  await r.stop()
})

test('an error in apply or replace leads to a new list, never to a gap', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  server.lists.push(list('9'), list('9'))
  let throws = 2
  const r = reflecting(server, {
    apply: () => assert.fail('mine'),
    replace: () => void (server.log.length > 2 && throws-- > 1 && assert.fail('mine too')),
  })
  await r.settle()
  stream.send('ADDED', pod('b', '6'))
  await r.clock.advance(800 + 1600)
  assert.deepEqual([server.recorded(), r.recorded()], [['list', 'watch 5', 'list', 'list', 'watch 9'], [
    'mine; 800',
    'mine too; 1600',
  ]])
  await r.stop()
})

test('an abort ends the reflector promptly in any state, and no callback is called afterwards', async () => {
  const answer = Promise.withResolvers<void>()
  const slow = new ScriptedServer()
  // An in-memory transport may answer in spite of the abort.
  slow.lists.push(async (request) => (await answer.promise, list('5', [pod('a', '1')])(request)))
  const listing = reflecting(slow)
  await listing.settle()
  const stopped = listing.stop()
  answer.resolve()
  await stopped
  assert.deepEqual(listing.recorded(), [])

  const stream = new Stream()
  const watching = reflecting(serverWith(stream))
  await watching.settle()
  stream.send('ADDED', pod('late', '6'))
  await watching.stop()
  assert.deepEqual(watching.recorded(), ['list a'])
  assert.equal(stream.cancelled, true)

  const failed = new ScriptedServer()
  failed.lists.push(refusal(500, 'InternalError'))
  const waiting = reflecting(failed)
  await waiting.settle()
  assert.equal(waiting.clock.pending, 1)
  await waiting.stop()
  assert.equal(failed.recorded().length, 1)
})
