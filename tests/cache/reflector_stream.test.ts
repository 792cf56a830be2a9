import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, NetworkError } from '../../lib/core/errors.ts'
import { Api } from '../../lib/client/api.ts'
import type { ReflectorOptions } from '../../lib/cache/reflector.ts'
import { startReflecting } from './reflecting.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { failing, list, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

/** A reflector of pods against a streaming server, with a record of its calls. */
function streaming(server: ScriptedServer, more: Partial<ReflectorOptions> = {}) {
  const { did, ...reflecting } = startReflecting(server, (did) => ({
    prepare: ({ metadata }) => void did.push(`prepare ${metadata.name}`),
    replace: (objects, version) =>
      void did.push(
        `whole ${
          [...objects.values()].map(({ metadata }) => `${metadata.name}:${metadata.resourceVersion}`).join()
        } at ${version}`,
      ),
    onFallback: (error) => did.push(`${messageOf(error)}; a list`),
    ...more,
  }))
  return {
    ...reflecting,
    recorded: () => did.splice(0).filter((what) => !what.startsWith('prepare')),
    prepared: () => did.filter((what) => what.startsWith('prepare')),
  }
}

function serverWith(...streams: Stream[]): ScriptedServer {
  const server = new ScriptedServer()
  server.streams.push(...streams.map((stream) => stream.answer))
  return server
}

test('the initial objects are collected until the end bookmark and then replace the store; the same connection goes on', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const r = streaming(server)
  await r.settle()
  stream.send('ADDED', pod('a', '3'))
  stream.send('ADDED', pod('b', '4'))
  await r.settle()
  assert.deepEqual(r.recorded(), [])
  stream.mark('7')
  await r.settle()
  assert.deepEqual(r.recorded(), ['whole a:3,b:4 at 7'])
  stream.send('MODIFIED', pod('a', '8'))
  stream.bookmark('9')
  await r.settle()
  assert.deepEqual([server.recorded(), r.recorded()], [['stream'], ['applied a', 'bookmark 9']])
  const query = server.requests[0]!.path.split('?')[1]
  assert.equal(
    query,
    'watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  )
  stream.end()
  await r.settle()
  assert.deepEqual(server.recorded(), ['watch 9'])
  await r.stop()
})

test('changes before the end bookmark count: deleted objects are left out, changed ones are included once', async () => {
  const stream = new Stream()
  const r = streaming(serverWith(stream))
  for (const name of ['a', 'b']) stream.send('ADDED', pod(name, '3'))
  stream.send('MODIFIED', pod('b', '5'))
  stream.send('DELETED', pod('a', '6'))
  stream.mark('7')
  await r.settle()
  assert.deepEqual(r.recorded(), ['whole b:5 at 7'])
  await r.stop()
})

test('a plain bookmark does not end the initial objects', async () => {
  const stream = new Stream()
  const r = streaming(serverWith(stream))
  stream.send('ADDED', pod('a', '3'))
  stream.bookmark('6')
  await r.settle()
  assert.deepEqual(r.recorded(), [])
  stream.mark('7')
  await r.settle()
  assert.deepEqual(r.recorded(), ['whole a:3 at 7'])
  await r.stop()
})

test('every object is prepared once, when it is received', async () => {
  const stream = new Stream()
  const r = streaming(serverWith(stream))
  stream.send('ADDED', pod('a', '3'))
  await r.settle()
  assert.deepEqual(r.prepared(), ['prepare a'])
  stream.mark('7')
  stream.send('MODIFIED', pod('b', '8'))
  await r.settle()
  assert.deepEqual(r.prepared(), ['prepare a', 'prepare b'])
  await r.stop()
})

test('a stream that ends before its end bookmark is restarted; the second time a list follows', async () => {
  const streams = [new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  server.lists.push(list('9', [pod('c', '8')]))
  const r = streaming(server)
  streams[0].send('ADDED', pod('gone', '3'))
  streams[0].end()
  await r.clock.advance(800)
  streams[1].send('ADDED', pod('gone', '3'))
  streams[1].fail(new NetworkError('cut', { phase: 'body' }))
  await r.clock.advance(1600)
  assert.deepEqual(server.recorded(), ['stream', 'stream', 'list', 'watch 9'])
  assert.deepEqual(r.recorded(), [
    'Cannot watch pods: the server closed the watch too early; 800',
    'cut; 1600',
    'whole c:8 at 9',
  ])
  await r.stop()
})

test('30 s of silence before the end bookmark lead to a list; only new objects and parts of them end the silence', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  server.lists.push(list('9'))
  const r = streaming(server)
  await r.clock.advance(29_000)
  stream.send('ADDED', pod('a', '3'))
  await r.clock.advance(29_000)
  stream.text('{"type":"ADDED",')
  await r.clock.advance(29_000)
  stream.text(`"object":${JSON.stringify(pod('b', '4'))}}\n`)
  await r.clock.advance(29_000)
  stream.bookmark('6')
  stream.send('MODIFIED', pod('b', '7'))
  assert.deepEqual(r.recorded(), [])
  await r.clock.advance(1000)
  assert.deepEqual(server.recorded(), ['stream', 'list', 'watch 9'])
  assert.match(r.recorded().join(), /^Cannot watch pods: the server sent nothing for 30 s.*; a list,whole {2}at 9$/)
  await r.stop()
})

test('after the end bookmark a stream has the silence limit of a watch', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const r = streaming(server)
  stream.mark('7')
  await r.clock.advance(149_000)
  assert.deepEqual(server.recorded(), ['stream'])
  await r.clock.advance(1000 + 800)
  assert.deepEqual(server.recorded(), ['watch 7'])
  await r.stop()
})

test('a server that refuses to stream is listed at once, and no stream is requested again', async () => {
  const server = serverWith()
  server.lists.push(list('5'), list('9'))
  server.watches.push(refusal(410, 'Expired'))
  const requested: string[] = []
  const { transport } = server
  const r = streaming(server, {
    api: new Api({
      transport: (
        request,
      ) => (requested.push(request.path.includes('sendInitialEvents') ? 'stream' : 'other'), transport(request)),
    }),
  })
  await r.clock.advance(800)
  assert.deepEqual([requested, server.recorded()], [['stream', 'other', 'other', 'other', 'other'], [
    'list',
    'watch 5',
    'list',
    'watch 9',
  ]])
  await r.stop()
})

test('429, refused connections and a busy server lead to a back-off without a list', async () => {
  const stream = new Stream()
  const server = new ScriptedServer()
  const refused = new NetworkError('refused', { phase: 'connect' })
  server.streams.push(
    failing(refused),
    refusal(429, 'TooManyRequests', { 'retry-after': '7' }),
    refusal(503, 'ServiceUnavailable'),
    stream.answer,
  )
  stream.mark('7')
  const r = streaming(server)
  await r.clock.advance(800 + 7000 + 3200)
  assert.deepEqual(server.recorded(), ['stream', 'stream', 'stream', 'stream'])
  assert.equal(r.recorded().at(-1), 'whole  at 7')
  await r.stop()
})

test('an error in the stream, or a refusal that a list may not get, leads to a list at once; after a 410 it is streamed again', async () => {
  const streams = [new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  server.lists.push(list('5'))
  server.watches.push(refusal(410, 'Expired'))
  const r = streaming(server)
  streams[0].error(500, 'InternalError')
  streams[1].mark('9')
  await r.clock.advance(800)
  assert.deepEqual(server.recorded(), ['stream', 'list', 'watch 5', 'stream'])
  assert.deepEqual(r.recorded(), [
    'Cannot watch pods: scripted InternalError; a list',
    'whole  at 5',
    'Cannot watch pods: scripted Expired; 800',
    'whole  at 9',
  ])
  await r.stop()
})

test('two watches without any data lead to a full read: the server may have been restored from a backup', async () => {
  const streams = [new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  const r = streaming(server)
  streams[0].mark('1000')
  streams[1].mark('500')
  await r.clock.advance(150_000 + 800 + 150_000 + 800)
  assert.deepEqual(server.recorded(), ['stream', 'watch 1000', 'stream'])
  assert.deepEqual(r.recorded().filter((what) => what.startsWith('whole')), ['whole  at 1000', 'whole  at 500'])
  await r.stop()
})

test('a streaming server without other bookmarks gets one more full read, and no further one', async () => {
  const streams = [new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  const r = streaming(server)
  streams[0].mark('7')
  streams[1].mark('9')
  await r.clock.advance(3 * 3_600_000)
  const requested = server.recorded()
  assert.deepEqual(requested.slice(0, 4), ['stream', 'watch 7', 'stream', 'watch 9'])
  assert.ok(requested.slice(4).every((what) => what === 'watch 9') && requested.length < 40, requested.join())
  await r.stop()
})

test('a later stream, after an expired version, has the silence limit of its watches', async () => {
  const streams = [new Stream(), new Stream(), new Stream()] as const
  const server = serverWith(...streams)
  const r = streaming(server)
  streams[0].mark('7')
  streams[1].mark('9')
  await r.clock.advance(302_000 + 151_000)
  assert.deepEqual(server.recorded(), ['stream', 'watch 7', 'stream', 'watch 9'])
  server.watches.push(refusal(410, 'Expired'))
  streams[2].mark('12')
  await r.clock.advance(331_000)
  assert.deepEqual(server.recorded(), ['watch 9', 'stream'])
  await r.clock.advance(329_000)
  assert.deepEqual(server.recorded(), [])
  await r.clock.advance(2_000)
  assert.deepEqual(server.recorded(), ['watch 12'])
  await r.stop()
})

test('an abort during a stream delivers nothing', async () => {
  const stream = new Stream()
  const r = streaming(serverWith(stream))
  await r.settle()
  stream.send('ADDED', pod('a', '3'))
  stream.mark('7')
  await r.stop()
  assert.deepEqual(r.recorded(), [])
  assert.equal(stream.cancelled, true)
})

test('slow local work does not count as silence, and long chunks yield to the event loop', async () => {
  const stream = new Stream()
  const server = serverWith(stream)
  const clock = new SlowClock(0)
  let release = (): void => {}
  const s = streaming(server, { clock, replace: () => new Promise<void>((resolve) => (release = resolve)) })
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) stream.send('ADDED', pod(name, '1'))
  stream.mark('7')
  clock.lookMs = 10
  await s.settle()
  assert.ok(s.prepared().length > 0 && s.prepared().length < 6, `${s.prepared().length} in one turn`)
  clock.lookMs = 0
  // Not everything is read yet, and then replace takes long.
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  assert.equal(s.prepared().length, 6)
  await clock.fake.advance(400_000)
  assert.deepEqual(s.recorded(), [])
  stream.send('ADDED', pod('g', '8'))
  release()
  await clock.fake.advance(0)
  assert.deepEqual(s.recorded(), ['applied g'])
  // From then on silence counts again.
  await clock.fake.advance(149_000)
  assert.deepEqual(server.recorded(), ['stream'])
  await clock.fake.advance(2000)
  assert.match(s.recorded().join(), /the server sent nothing for 150 s/)
  await s.stop()
})
