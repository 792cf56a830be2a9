import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf, type KubeObject } from '../../lib/core/objects.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn, sleep } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { isRestored } from '../../lib/cache/restored.ts'
import { silence } from '../client/transports.ts'
import type { WatchControl } from '../../lib/cache/reflector.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { reflecting, Stored, streaming, watching } from './reflecting.ts'
import { type Answer, failing, list, POD, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

const streamsOf = (count: number): Stream[] => Array.from({ length: count }, () => new Stream())
const lists = (requests: readonly string[]): number => requests.filter((what) => what.startsWith('list')).length

test('it lists, then watches from the version of the list, with bookmarks and a timeout', async () => {
  const stream = new Stream()
  await using r = await watching([stream])
  stream.send('ADDED', pod('b', '6'))
  stream.send('DELETED', pod('b', '7'))
  await r.clock.advance(0)
  assert.deepEqual(r.server.recorded(), ['list', 'watch 5'])
  assert.deepEqual(r.recorded(), ['list a', 'applied b', 'deleted b'])
  assert.match(r.server.requests[1]!.path, /allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300$/)
})

test('the back-off stays short for a connection that is cut every minute', async () => {
  const streams = streamsOf(8)
  await using r = await watching(streams)
  for (const stream of streams) {
    await r.clock.advance(60_000)
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    await r.clock.advance(800)
  }
  assert.equal(r.server.recorded().filter((what) => what === 'watch 5').length, 9)
})

test('silence of 150 s ends a watch; only received bytes end the silence', async () => {
  const stream = new Stream()
  await using r = await watching([stream])
  await r.clock.advance(149_000)
  stream.text('{"type":')
  await r.clock.advance(149_000)
  assert.deepEqual(r.server.recorded(), ['list', 'watch 5'])
  await r.clock.advance(1000)
  assert.match(r.recorded().at(-1) ?? '', /the server sent nothing for 150 s.*; 800$/)
  await r.clock.advance(800)
  assert.deepEqual(r.server.recorded(), ['watch 5'])
})

/**
 * Starts a reflector with a server that ends each watch after its timeout and sends only what the test sends. It
 * records when each watch was opened.
 */
async function withoutBookmarks({ ends = true, random = 0 } = {}) {
  const [server, clock, opened] = [new ScriptedServer(), new FakeClock(), [] as number[]]
  server.lists.push(list('5', [pod('a', '3')]))
  let last: Stream
  const watch: Answer = (request) => {
    const stream = (last = new Stream())
    opened.push(clock.monotonic())
    const seconds = Number(new URLSearchParams(request.path.split('?')[1]).get('timeoutSeconds'))
    if (ends) request.signal!.addEventListener('abort', clock.after(seconds * 1000, () => stream.end()), { once: true })
    return stream.answer(request)
  }
  // As many as requested.
  server.watches.shift = () => watch
  return { ...await reflecting(server, { random: () => random }, clock), opened, last: () => last }
}

const HOUR_MS = 3_600_000

test('a server without bookmarks is detected: after two silent watches, each watch lasts until the server ends it, without a new list', async () => {
  await using r = await withoutBookmarks()
  await r.clock.advance(6 * HOUR_MS)
  const requests = r.server.recorded()
  assert.equal(lists(requests), 1)
  // Two watches of 150 s, then one every 300 s.
  assert.ok(requests.length <= 2 + 2 + 6 * 12, `${requests.length} requests in six hours`)
  assert.deepEqual(r.opened.slice(0, 5).map((ms) => Math.round(ms / 1000)), [0, 151, 302, 602, 902])
  assert.equal(r.recorded().filter((what) => what.startsWith('Cannot')).length, 2)
  // An event between them changes nothing.
  r.last().send('ADDED', pod('b', '6'))
  await r.clock.advance(6 * HOUR_MS)
  assert.deepEqual([r.recorded(), lists(r.server.recorded())], [['applied b'], 0])
})

test('without bookmarks, a dead connection is found soon after the server should have ended the watch', async () => {
  await using r = await withoutBookmarks({ ends: false, random: 0.999 })
  await r.clock.advance(2 * HOUR_MS)
  const [, , ...quiet] = r.opened
  const lasted = quiet.slice(1).map((ms, i) => ms - quiet[i]!)
  assert.ok(lasted.length > 5 && lasted.every((ms) => ms <= 630_000 + 1600 && ms > 599_000), lasted.join())
  assert.match(r.recorded().at(-1) ?? '', /the server sent nothing for \d+ s, so the connection is considered dead/)
  assert.equal(lists(r.server.recorded()), 1)
})

test('without bookmarks, the time limit for the answer to a watch is unchanged', async () => {
  await using r = await withoutBookmarks()
  await r.clock.advance(400_000)
  const watch = r.server.watches.shift()!
  r.server.watches.shift = () => (r.server.watches.shift = () => watch, silence)
  await r.clock.advance(602_000 - 400_000)
  assert.equal(r.opened.length, 3)
  await r.clock.advance(150_000 + 1600)
  assert.equal(r.opened.length, 4)
})

test('a bookmark ends that mode at once: a silent connection is found after 150 s again', async () => {
  await using r = await withoutBookmarks({ ends: false })
  await r.clock.advance(310_000)
  assert.equal(r.opened.length, 3)
  r.last().bookmark('6')
  await r.clock.advance(60_000)
  r.last().send('MODIFIED', pod('a', '7'))
  await r.clock.advance(149_000)
  assert.equal(r.opened.length, 3)
  await r.clock.advance(2000)
  assert.equal(r.opened.length, 4)
  await r.clock.advance(152_000)
  // Silent again: this server sends bookmarks, so it may have been restored from a backup.
  assert.equal(lists(r.server.recorded()), 2)
})

test('a watch with events that the server does not end does not count as dead', async () => {
  await using r = await withoutBookmarks({ ends: false })
  await r.clock.advance(310_000)
  // An event does not end that mode.
  for (const [version, ms] of [[6, 200_000], ...Array.from({ length: 20 }, (_, i) => [i + 6, 100_000])]) {
    r.last().send('MODIFIED', pod('a', String(version)))
    await r.clock.advance(ms!)
    assert.equal(r.opened.length, 3)
  }
  await r.clock.advance(151_000)
  assert.equal(r.opened.length, 4, 'silent for 150 s after the time of the watch was over')
})

test('a server that accepts the connection and never answers is given up, for a watch and for a list', async () => {
  const server = new ScriptedServer()
  server.lists.push(silence as Answer, list('5'))
  server.watches.push(silence as Answer)
  await using r = await reflecting(server)
  await r.clock.advance(150_000 + 800)
  assert.deepEqual(server.recorded(), ['list', 'list', 'watch 5'])
  await r.clock.advance(150_000 + 1600)
  assert.deepEqual(server.recorded(), ['list', 'watch 5'])
})

test('after a failure the server is compared: without the last version, or with another object there, all is read', async () => {
  const other = (version: string): KubeObject => pod('b', version, { namespace: 'other' })
  const store = new Stored([['a', pod('a', '3')], ['b', other('4')], ['c', pod('c', '2')]])
  const [watched, read] = [[['list', 'watch 5'], []], [['list', 'list', 'watch 4'], ['list a']]] as const
  const tooLarge: Answer = () => {
    const details = { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] }
    const body = new Stream()
    body.text(JSON.stringify({ kind: 'Status', code: 504, reason: 'Timeout', details }))
    body.end()
    return { status: 504, headers: {}, body: body.body() }
  }
  const cases: readonly (readonly [Answer, outcome: readonly [readonly string[], readonly string[]]])[] = [
    [tooLarge, read],
    [list('5', [other('4')]), watched],
    // The server was restored, and has passed the version since then.
    [list('5', [other('3')]), read],
    [list('5', [other('5')]), read],
    [list('5'), read],
    // The watch shows whether the server works.
    [refusal(504, 'Timeout'), watched],
    [refusal(410, 'Expired'), watched],
    [failing(new NetworkError('down', { phase: 'connect' })), watched],
  ]
  for (const [answer, outcome] of cases) {
    const stream = new Stream()
    await using r = await watching([stream], { store })
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    await r.clock.advance(0)
    r.server.recorded()
    r.recorded()
    let path = ''
    r.server.lists.push((request) => (path = request.path, answer(request)), list('4', [pod('a', '3')]))
    await r.clock.advance(800)
    assert.deepEqual([r.server.recorded(), r.recorded()], outcome)
    const { pathname, searchParams } = new URL(path, 'http://server')
    assert.equal(pathname, '/api/v1/namespaces/other/pods')
    searchParams.delete('limit')
    assert.deepEqual(Object.fromEntries(searchParams), {
      fieldSelector: 'metadata.name=b',
      resourceVersion: '5',
      resourceVersionMatch: 'Exact',
    })
  }
})

test('the last change is looked for in several turns of the event loop, and not after an abort', async () => {
  for (const isAborted of [false, true]) {
    const server = new ScriptedServer()
    server.lists.push(list('5'))
    let read = 0
    const store = {
      *heads() {
        for (; read < 60; read++) yield pod(`p${read}`, '1')
      },
    }
    const clock = new SlowClock(1)
    const stop = new AbortController()
    const api = new Api({ transport: server.transport, clock })
    const options = { api, clock, store, control: {}, target: { resource: POD }, prepare() {} }
    const restored = isRestored(options, '5', stop.signal)
    for (let before = 0; before < 60 && !stop.signal.aborted; before = read) {
      assert.ok(read - before <= 20, `${read - before} objects in one turn`)
      if (isAborted && read > 20) stop.abort()
      await nextTurn()
    }
    assert.deepEqual([await restored, server.requests.length], isAborted ? [undefined, 0] : [true, 1])
  }
})

test('with an empty store, no object may be there, or not the one that was deleted last', async () => {
  const [watched, read] = [['list', 'watch 5'], ['list', 'list', 'watch 4']]
  for (
    const [deletion, answer, path, requests] of [
      [undefined, [], '?', watched],
      [undefined, [pod('a', '3')], '?', read],
      [pod('b', '5'), [], '?fieldSelector=metadata.name%3Db&', watched],
      // The deletion was undone by a restore.
      [pod('b', '5'), [pod('b', '4')], '?fieldSelector=metadata.name%3Db&', read],
    ] as const
  ) {
    const stream = new Stream()
    const control: WatchControl = {}
    await using r = await watching([stream], { target: { resource: POD, namespace: 'default' }, control })
    if (deletion) stream.send('DELETED', deletion)
    await r.clock.advance(0)
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    await r.clock.advance(0)
    r.server.recorded()
    // A further page would be refused, as it cannot be at a version.
    r.server.lists.push(list('5', answer, answer.length > 0 ? 'more' : undefined), list('4'))
    await r.clock.advance(800)
    assert.deepEqual(r.server.recorded(), requests)
    const asked = r.server.requests.find((each) => each.path.includes('resourceVersionMatch=Exact'))!.path
    assert.ok(asked.startsWith(`/api/v1/namespaces/default/pods${path}`), asked)
    // A list that followed has what was deleted again, or not.
    assert.equal('deleted' in control, deletion !== undefined && requests === watched)
  }
})

test('the newest change counts, with the fields of the reflector: a deletion, or an object that came after it', async () => {
  for (const [deleted, name] of [['6', 'b'], ['4', 'a']] as const) {
    const stream = new Stream()
    const store = new Stored([['a', pod('a', '5')]])
    await using r = await watching([stream], { store, fields: 'spec.nodeName=n' })
    stream.send('DELETED', pod('b', deleted))
    await r.clock.advance(0)
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    r.server.lists.push(list(deleted, name === 'a' ? [pod('a', '5')] : []))
    await r.clock.advance(800)
    const asked = new URL(r.server.requests.at(-2)!.path, 'http://server').searchParams
    assert.equal(asked.get('fieldSelector'), `spec.nodeName=n,metadata.name=${name}`)
    assert.deepEqual(r.server.recorded().slice(-1), [`watch ${deleted}`])
  }
})

test('an answer that does not come in time is not waited for, nor after a stop', async () => {
  for (const stops of [false, true]) {
    const stream = new Stream()
    await using r = await watching([stream])
    stream.fail(new NetworkError('cut', { phase: 'body' }))
    r.server.lists.push(silence as Answer)
    await r.clock.advance(800)
    assert.deepEqual(r.server.recorded(), ['list', 'watch 5', 'list'])
    if (stops) await r.stop()
    else await r.clock.advance(150_000)
    assert.deepEqual(r.server.recorded(), stops ? [] : ['watch 5'])
  }
})

test('a watch that the server closes at once is reopened after a back-off, then listed; onFailure is called', async () => {
  const streams = streamsOf(3)
  for (const stream of streams) stream.end()
  // A bookmark of the known version is no progress.
  streams[0]!.bookmark('5')
  await using r = await watching(streams)
  r.server.lists.push(list('5'), list('9'))
  await r.clock.advance(800 + 1600)
  assert.deepEqual(r.server.recorded(), ['list', 'watch 5', 'list', 'watch 5', 'list', 'watch 9'])
  assert.match(r.recorded().join(), /the server closed the watch too early; 800/)
})

test('a back-off ends at the last time that was asked for, and leaves no timer; initial objects are not lost', async () => {
  const control: WatchControl = {}
  const streams = streamsOf(2)
  for (const stream of streams) stream.end()
  await using r = await watching(streams, { control })
  r.server.lists.push(list('5'), list('9'))
  assert.equal(control.reopen, undefined)
  r.server.recorded()
  for (const ms of [600, 700]) control.retry!(ms)
  await r.clock.advance(699)
  assert.deepEqual(r.server.recorded(), [])
  await r.clock.advance(1)
  assert.equal(r.server.recorded()[0], 'list')
  // A longer time than the back-off.
  control.retry!(60_000)
  await r.clock.advance(1600)
  assert.deepEqual([r.server.recorded().at(-1), control.retry], ['watch 9', undefined])

  const server = new ScriptedServer()
  server.streams.push(new Stream().answer)
  const initial: WatchControl = {}
  await using s = await reflecting(server, { control: initial })
  initial.reopen!()
  await s.clock.advance(1000)
  assert.deepEqual(server.log, ['stream'])
})

test('a Table is no object of a watch', async () => {
  const stream = new Stream()
  await using r = await watching([stream], { apply: (event) => void ('object' in event && keyOf(event.object)) })
  r.server.lists.push(list('6'))
  stream.send('ADDED', { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: '5' }, rows: [] })
  await r.clock.advance(800)
  assert.match(r.recorded().join(), /^list a,.*name is missing; 800,list $/)
})

test('a list of 200,000 objects is delivered as one list', async () => {
  const server = new ScriptedServer()
  let size = 0
  server.lists.push(list('5', Array.from({ length: 200_000 }, (_, i) => pod(`p${i}`, '1'))))
  await using r = await reflecting(server, { replace: (objects) => void (size = objects.size) })
  await r.clock.advance(0)
  assert.equal(size, 200_000)
})

test('an error in apply or replace leads to a new list, never to a gap', async () => {
  const stream = new Stream()
  let replaced = 0
  await using r = await watching([stream], {
    apply: () => assert.fail('mine'),
    replace: () => void (++replaced === 2 && assert.fail('mine too')),
  })
  r.server.lists.push(list('9'), list('9'))
  stream.send('ADDED', pod('b', '6'))
  await r.clock.advance(800 + 1600)
  assert.deepEqual(r.server.recorded(), ['list', 'watch 5', 'list', 'list', 'watch 9'])
  assert.deepEqual(r.recorded(), ['mine; 800', 'mine too; 1600'])
})

test('an abort ends the reflector promptly in any state, and no callback is called afterwards', async () => {
  const answer = Promise.withResolvers<void>()
  const slow = new ScriptedServer()
  // An in-memory transport may answer in spite of the abort.
  slow.lists.push(async (request) => (await answer.promise, list('5', [pod('a', '1')])(request)))
  const listing = await reflecting(slow)
  const stopped = listing.stop()
  answer.resolve()
  await stopped
  assert.deepEqual(listing.recorded(), [])

  for (const [start, listed] of [[watching, ['list a']], [streaming, []]] as const) {
    const stream = new Stream()
    const reading = await start([stream])
    stream.send('ADDED', pod('late', '6'))
    stream.mark('7')
    await reading.stop()
    assert.deepEqual(reading.recorded(), listed)
    assert.equal(stream.cancelled, true)
  }

  const failed = new ScriptedServer()
  failed.lists.push(refusal(500, 'InternalError'))
  const waiting = await reflecting(failed)
  assert.equal(waiting.clock.pending, 1)
  await waiting.stop()
  assert.equal(failed.recorded().length, 1)
})

test('the initial objects are collected until the end bookmark and then replace the store; the same connection goes on', async () => {
  const stream = new Stream()
  let opened = 0
  await using r = await streaming([stream], { onOpen: () => void opened++ })
  stream.send('ADDED', pod('a', '3'))
  stream.send('ADDED', pod('b', '4'))
  await r.clock.advance(0)
  assert.deepEqual([r.recorded(), r.prepared, opened], [[], ['a', 'b'], 0])
  stream.mark('7')
  stream.send('MODIFIED', pod('a', '8'))
  stream.bookmark('9')
  await r.clock.advance(0)
  assert.deepEqual(r.recorded(), ['list a,b', 'applied a', 'bookmark 9'])
  assert.deepEqual([r.server.recorded(), r.prepared], [['stream'], ['a', 'b', 'a']])
  assert.equal(
    r.server.requests[0]!.path.split('?')[1],
    'watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  )
  stream.end()
  await r.clock.advance(0)
  assert.deepEqual(r.server.recorded(), ['watch 9'])
})

test('30 s of silence before the end bookmark lead to a list; only new objects and parts of them end the silence', async () => {
  const stream = new Stream()
  await using r = await streaming([stream])
  r.server.lists.push(list('9'))
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
  assert.deepEqual(r.server.recorded(), ['stream', 'list', 'watch 9'])
  assert.match(r.recorded().join(), /^Cannot watch pods: the server sent nothing for 30 s.*; a list,list $/)
})

test('these 30 s begin when the server accepts the stream', async () => {
  const clock = new FakeClock()
  const stream = new Stream()
  const answer: Answer = async (request) => (await sleep(clock, 20_000), await stream.answer(request))
  await using r = await streaming([{ answer } as Stream], {}, clock)
  await clock.advance(49_000)
  assert.deepEqual(r.server.recorded(), ['stream'])
  r.server.lists.push(list('9'))
  await clock.advance(1000)
  assert.deepEqual(r.server.recorded(), ['list', 'watch 9'])
})

test('after the end bookmark a stream has the silence limit of a watch', async () => {
  const stream = new Stream()
  stream.mark('7')
  await using r = await streaming([stream])
  await r.clock.advance(149_000)
  assert.deepEqual(r.server.recorded(), ['stream'])
  await r.clock.advance(1000 + 800)
  assert.deepEqual(r.server.recorded(), ['watch 7'])
})

test('a later stream, after an expired version, has the silence limit of its watches', async () => {
  const streams = streamsOf(3)
  streams[0]!.mark('7')
  streams[1]!.mark('9')
  await using r = await streaming(streams)
  await r.clock.advance(302_000 + 151_000)
  assert.deepEqual(r.server.recorded(), ['stream', 'watch 7', 'stream', 'watch 9'])
  r.server.watches.push(refusal(410, 'Expired'))
  streams[2]!.mark('12')
  await r.clock.advance(331_000)
  assert.deepEqual(r.server.recorded(), ['watch 9', 'stream'])
  await r.clock.advance(329_000)
  assert.deepEqual(r.server.recorded(), [])
  await r.clock.advance(2_000)
  assert.deepEqual(r.server.recorded(), ['watch 12'])
})

test('slow local work does not count as silence, and long chunks yield to the event loop', async () => {
  const stream = new Stream()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) stream.send('ADDED', pod(name, '1'))
  stream.mark('7')
  const clock = new SlowClock(10)
  let release = (): void => {}
  const replace = (): Promise<void> => new Promise((resolve) => (release = resolve))
  await using r = await streaming([stream], { clock, replace }, clock.fake)
  assert.ok(r.prepared.length > 0 && r.prepared.length < 6, `${r.prepared.length} in one turn`)
  clock.lookMs = 0
  // Not everything is read yet, and then replace takes long.
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  assert.equal(r.prepared.length, 6)
  await r.clock.advance(400_000)
  assert.deepEqual(r.recorded(), [])
  stream.send('ADDED', pod('g', '8'))
  release()
  await r.clock.advance(0)
  assert.deepEqual(r.recorded(), ['applied g'])
  // From then on silence counts again.
  await r.clock.advance(149_000)
  assert.deepEqual(r.server.recorded(), ['stream'])
  await r.clock.advance(2000)
  assert.match(r.recorded().join(), /the server sent nothing for 150 s/)
})
