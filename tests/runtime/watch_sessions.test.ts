/** Tests watches over HTTP/2: what shares a connection, what ends, and where HTTP/1.1 is used instead. */
import assert from 'node:assert/strict'
import http2, { type Http2Session, type ServerHttp2Stream } from 'node:http2'
import net from 'node:net'
import tls from 'node:tls'
import { nextTurn } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import type { HttpRequest, Transport } from '../../lib/core/transport.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { thisRuntime } from '../../lib/runtime/os/this_runtime.ts'
import { certificates, isNetworkError, type Keep, keeping, listen, type TestServer, textOf } from './servers.ts'
import type { ClosableTransport } from '../../lib/runtime/net/transport.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

interface StreamServer extends TestServer {
  /** Open streams by their path, and their heads. */
  readonly streams: Map<string, ServerHttp2Stream>
  readonly heads: Headers[]
  sessions(): readonly Http2Session[]
  /** Returns how many streams each session has had, the oldest first. */
  perSession(): readonly number[]
}

type Answer = (stream: ServerHttp2Stream, head: Headers) => void

/** Answers with the head and a first event. */
const watching: Answer = (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'application/json', 'x-each': ['a', 'b'] })
  stream.write('first')
}

/** Starts a server that speaks HTTP/2 only. */
async function serveStreams(keep: Keep, options: { maxStreams?: number; answer?: Answer } = {}): Promise<StreamServer> {
  const { server: { cert, key }, authority } = await certificates()
  const { maxStreams = 100, answer = watching } = options
  const settings = { maxConcurrentStreams: maxStreams }
  const server = http2.createSecureServer({ cert, key, settings, ca: authority.ca })
  const counts = new Map<Http2Session, number>()
  const streams = new Map<string, ServerHttp2Stream>()
  const heads: Headers[] = []
  server.on('session', (session) => {
    counts.set(session, 0)
    session.on('error', () => {})
  })
  server.on('stream', (stream: ServerHttp2Stream, head: Headers) => {
    counts.set(stream.session!, counts.get(stream.session!)! + 1)
    const path = String(head[':path'])
    streams.set(path, stream)
    heads.push({ ...head })
    stream.on('error', () => {})
    stream.on('close', () => streams.delete(path))
    answer(stream, head)
  })
  return Object.assign(keep(await listen(server, 'https')), {
    streams,
    heads,
    sessions: () => [...counts.keys()],
    perSession: () => [...counts.values()],
  })
}

const watch = (name: string): Pick<HttpRequest, 'method' | 'path'> => ({ method: 'GET', path: `/${name}?watch=true` })

/** Opens a watch and reads its first event. */
async function open(transport: Transport, name: string, more: Partial<HttpRequest> = {}) {
  const { status, headers, body } = await transport({ ...watch(name), ...more })
  const chunks = body[Symbol.asyncIterator]()
  const { value } = await chunks.next()
  assert.equal(String(value && new TextDecoder().decode(value)), 'first')
  return { status, headers, body, next: () => chunks.next() }
}

type Watch = Awaited<ReturnType<typeof open>>

const openAll = (transport: Transport, count: number, from = 0): Promise<Watch[]> =>
  Promise.all(Array.from({ length: count }, (_, each) => open(transport, String(from + each))))

interface Shared {
  readonly server: StreamServer
  readonly transport: ClosableTransport
  readonly clock: FakeClock
}

/** A test of watches that share connections of one transport to one server. */
function sharing(title: string, body: (shared: Shared) => Promise<void>, options?: { maxStreams?: number }): void {
  keeping(title, async (keep) => {
    const server = await serveStreams(keep, options)
    const clock = new FakeClock()
    const transport = await keep.transportTo(server, { http2: true }, { clock })
    await body({ server, transport, clock })
  })
}

/** Waits for what sockets bring. */
async function until(what: string, isDone: () => boolean): Promise<void> {
  for (let turn = 0; !isDone(); turn++) {
    if (turn === 20_000) assert.fail(`never: ${what}`)
    await nextTurn()
  }
}

keeping('watches share a connection, with the headers of a request', async (keep) => {
  const server = await serveStreams(keep)
  const transport = await keep.transportTo(server, { server: `${server.url}/prefix/`, token: 'secret', http2: true })
  const watches = await openAll(transport, 20)
  assert.equal(server.connections(), 1)
  assert.deepEqual(server.perSession(), [20])
  const { status, headers } = watches[0]!
  assert.deepEqual({ status, type: headers['content-type'], each: headers['x-each'] }, {
    status: 200,
    type: 'application/json',
    each: 'a, b',
  })
  assert.equal(headers[':status'], undefined)
  const head = server.heads.find((each) => each[':path'] === '/prefix/0?watch=true')!
  const { ':method': method, ':authority': authority, authorization, host } = head
  const expected = { method: 'GET', authority: `127.0.0.1:${server.port}`, authorization: 'Bearer secret' }
  assert.deepEqual({ method, authority, authorization }, expected)
  assert.equal(host, undefined)
  const { initialWindowSize, enablePush } = server.sessions()[0]!.remoteSettings
  assert.deepEqual({ initialWindowSize, enablePush }, { initialWindowSize: 4 * 1024 * 1024, enablePush: false })
})

sharing('a watch that is not read does not stop the others', async ({ server, transport }) => {
  const unread = await transport(watch('unread'))
  const iterating = unread.body[Symbol.asyncIterator]()
  await iterating.next()
  const other = await open(transport, 'other')
  for (let part = 0; part < 16; part++) server.streams.get('/unread?watch=true')!.write(new Uint8Array(1024 * 1024))
  const next = other.next()
  server.streams.get('/other?watch=true')!.write('second')
  assert.equal(new TextDecoder().decode((await next).value), 'second')
})

keeping('by default the first 16 watches have connections of their own, and on Deno all', async (keep) => {
  const { server: { cert, key } } = await certificates()
  const both = http2.createSecureServer({ cert, key, allowHTTP1: true })
  const versions: string[] = []
  both.on('request', (request, response) => {
    versions.push(request.httpVersion)
    response.writeHead(200)
    response.write('first')
  })
  const server = keep(await listen(both, 'https'))
  const transport = await keep.transportTo(server)
  // All begin in one turn, as the informers of an operator.
  const watches = await openAll(transport, 20)
  const shares = thisRuntime().name !== 'deno'
  assert.equal(versions.filter((each) => each === '1.1').length, shares ? 16 : 20)
  if (!shares) return
  assert.equal(server.connections(), 17)
  for (const each of [...watches.slice(0, 12), ...watches.slice(16)]) each.body.cancel()
  await server.closedConnections(13)
  await openAll(transport, 1, 20)
  assert.equal(versions.at(-1), '1.1', 'watches that have ended do not count')
})

keeping('with `http2: false`, by http and for other requests HTTP/1.1 is used', async (keep) => {
  const answer = (version: string[]) => (request: { httpVersion: string }, response: { end(body: string): void }) => {
    version.push(request.httpVersion)
    response.end('first')
  }
  const versions: string[] = []
  const secure = await keep.serveTls(answer(versions), { ALPNProtocols: ['h2', 'http/1.1'] })
  await open(await keep.transportTo(secure, { http2: false }), 'a')
  const plain = await keep.servePlain(answer(versions))
  await open(await keep.transportTo(plain, { http2: true }), 'a')
  const shared = await keep.transportTo(secure, { http2: true })
  for (const path of ['/', '/?watch=0', '/log?follow=true', '/services/a/proxy']) await textOf(shared, { path })
  assert.deepEqual(versions, Array(6).fill('1.1'))
})

keeping('a server without HTTP/2 is asked again after ten minutes', async (keep) => {
  const clock = new FakeClock()
  const server = await keep.serveTls((_, response) => response.write('first'))
  const transport = await keep.transportTo(server, { http2: true }, { clock })
  await openAll(transport, 3)
  assert.equal(server.connections(), 4)
  await openAll(transport, 2, 3)
  assert.equal(server.connections(), 6)
  await clock.advance(600_000)
  await openAll(transport, 1, 5)
  assert.equal(server.connections(), 8)
})

keeping('through a proxy watches use HTTP/1.1', async (keep) => {
  const server = await keep.serveTls((_, response) => response.write('first'))
  const proxy = await keep.serveProxy()
  await open(await keep.transportTo(server, { http2: true, proxy: proxy.url }), 'a')
  assert.equal(proxy.asked.length, 1)
})

sharing('a full session is followed by another one', async ({ server, transport }) => {
  const first = await openAll(transport, 5)
  assert.deepEqual(server.perSession(), [3, 2])
  await openAll(transport, 2, 5)
  assert.deepEqual(server.perSession(), [3, 3, 1])
  first[0]!.body.cancel()
  await until('the watch has ended', () => server.streams.size === 6)
  await openAll(transport, 1, 7)
  assert.equal(server.sessions().length, 3, 'a place that is free again is used')
}, { maxStreams: 3 })

sharing('a limit that the server has said is expected of new sessions', async ({ server, transport }) => {
  await openAll(transport, 9)
  assert.deepEqual(server.perSession(), [2, 2, 2, 2, 1])
}, { maxStreams: 2 })

keeping('a connection that never opens is given up, however many watches wait for it', async (keep) => {
  const server = await serveStreams(keep)
  let isMute = true
  const relay = await keep.serveBytes((socket) => {
    if (isMute) return
    const upstream = net.connect(server.port, '127.0.0.1')
    for (const each of [socket, upstream]) each.on('error', () => {})
    socket.pipe(upstream).pipe(socket)
    socket.on('close', () => upstream.destroy())
  })
  const clock = new FakeClock()
  const transport = await keep.transportTo(
    server,
    { server: `https://127.0.0.1:${relay.port}`, http2: true },
    { clock, connectTimeoutMs: 10_000 },
  )
  const late = [0, 1].map(() => isNetworkError('connect', /no answer in time/, 'ETIMEDOUT'))
  const first = assert.rejects(open(transport, '0'), late[0]!)
  await until('the first watch waits for a connection', () => relay.connections() === 1)
  await clock.advance(9000)
  const second = assert.rejects(open(transport, '1'), late[1]!)
  await nextTurn()
  await clock.advance(1000)
  await first
  isMute = false
  const third = open(transport, '2')
  await until('the third watch has another connection', () => relay.connections() === 2)
  await Promise.all([second, third])
})

sharing('a session is closed when its last watch has ended', async ({ server, transport, clock }) => {
  const [a, b] = await openAll(transport, 2)
  a!.body.cancel()
  await until('the watch has ended', () => server.streams.size === 1)
  const next = b!.next()
  server.streams.get('/1?watch=true')!.end()
  assert.deepEqual(await next, { done: true, value: undefined })
  await server.closedConnections(1)
  assert.equal(clock.pending, 0, 'no timer is left')
  await openAll(transport, 1)
  assert.equal(server.connections(), 2)
})

sharing('a watch that the server breaks off is not complete; the others go on', async ({ server, transport }) => {
  const [a, b] = await openAll(transport, 2)
  const broken = assert.rejects(a!.next(), isNetworkError('body'))
  server.streams.get('/0?watch=true')!.destroy(new Error('a fault'))
  await broken
  const next = b!.next()
  server.streams.get('/1?watch=true')!.write('second')
  assert.equal(new TextDecoder().decode((await next).value), 'second')
})

sharing(
  'a connection that is lost breaks off its watches, and the next ones open another',
  async ({ server, transport }) => {
    const watches = await openAll(transport, 3)
    const broken = watches.map((each) => assert.rejects(each.next(), isNetworkError('body')))
    server.dropConnections()
    await Promise.all(broken)
    await openAll(transport, 2, 3)
    assert.equal(server.connections(), 2)
  },
)

sharing('an abort ends the watch at both sides, and leaves the others', async ({ server, transport }) => {
  const controller = new AbortController()
  const a = await open(transport, 'a', { signal: controller.signal })
  await open(transport, 'b')
  const reason = new Error('stop')
  const ended = assert.rejects(a.next(), (error) => error === reason)
  controller.abort(reason)
  await ended
  await until('the stream is closed', () => server.streams.size === 1)
  assert.equal(server.connections(), 1)
})

keeping('an abort before the answer, and while the connection is opened, rejects with its reason', async (keep) => {
  const arrived = Promise.withResolvers<void>()
  const silent = await serveStreams(keep, { answer: () => arrived.resolve() })
  const opened = Promise.withResolvers<void>()
  const mute = await keep.serveBytes((socket) => socket.once('data', () => opened.resolve()))
  for (const [server, here] of [[silent, arrived], [mute, opened]] as const) {
    const transport = await keep.transportTo(server, { server: `https://127.0.0.1:${server.port}`, http2: true })
    const controller = new AbortController()
    const answer = transport({ ...watch('a'), signal: controller.signal })
    await here.promise
    const reason = new Error('stop')
    controller.abort(reason)
    await assert.rejects(answer, (error) => error === reason)
    await server.closedConnections(1)
  }
})

sharing('closing the transport ends all watches', async ({ server, transport }) => {
  const watches = await openAll(transport, 3)
  const ended = watches.map((each) => assert.rejects(each.next(), /was closed by this process/))
  transport.close()
  await Promise.all(ended)
  await server.closedConnections(1)
})

/** Forwards bytes to a server until it is frozen: then its connections stay open, and nothing passes. */
async function freezable(keep: Keep, server: TestServer): Promise<{ relay: TestServer; freeze(): void }> {
  const sockets: net.Socket[] = []
  const relay = await keep.serveBytes((socket) => {
    const upstream = net.connect(server.port, '127.0.0.1')
    sockets.push(socket, upstream)
    for (const each of [socket, upstream]) each.on('error', () => {})
    socket.on('data', (bytes) => frozen.has(socket) || upstream.write(bytes))
    upstream.on('data', (bytes) => frozen.has(socket) || socket.write(bytes))
    socket.on('close', () => upstream.destroy())
  })
  const frozen = new Set<net.Socket>()
  return { relay, freeze: () => sockets.forEach((each) => frozen.add(each)) }
}

keeping('a connection that answers no ping is closed after 30 s, and the next watch opens another', async (keep) => {
  const server = await serveStreams(keep)
  const { relay, freeze } = await freezable(keep, server)
  const clock = new FakeClock()
  const transport = await keep.transportTo(
    server,
    { server: `https://127.0.0.1:${relay.port}`, http2: true },
    { clock },
  )
  const pings: unknown[] = []
  const watches = await openAll(transport, 2)
  server.sessions()[0]!.on('ping', (payload) => pings.push(payload))
  for (let round = 1; round <= 4; round++) {
    await clock.advance(15_000)
    await until('the ping has arrived', () => pings.length === round)
    // The answer needs the way back.
    server.streams.get('/0?watch=true')!.write('second')
    await watches[0]!.next()
  }
  freeze()
  const broken = watches.map((each) =>
    assert.rejects(each.next(), isNetworkError('body', /no answer in time/, 'ETIMEDOUT'))
  )
  await clock.advance(15_000)
  await clock.advance(14_000)
  const late = assert.rejects(open(transport, '2'), isNetworkError('response', /no answer in time/, 'ETIMEDOUT'))
  await nextTurn()
  await clock.advance(1000)
  await Promise.all([...broken, late])
  await openAll(transport, 1, 3)
  assert.equal(relay.connections(), 2)
})

keeping('after a watch without an answer in time, the next one opens another connection', async (keep) => {
  const server = await serveStreams(keep, {
    answer: (stream, head) =>
      void (head[':path'] === '/silent?watch=true' ? arrived.resolve() : watching(stream, head)),
  })
  const arrived = Promise.withResolvers<void>()
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, { http2: true }, { clock, answerTimeoutMs: 10_000 })
  const [a] = await openAll(transport, 1)
  const silent = assert.rejects(open(transport, 'silent'), isNetworkError('response', /in time/, 'ETIMEDOUT'))
  await arrived.promise
  await clock.advance(10_000)
  await silent
  await openAll(transport, 1, 1)
  assert.deepEqual(server.perSession(), [2, 1])
  server.streams.get('/0?watch=true')!.write('second')
  await a!.next()
})

keeping('a watch without an answer on an old connection does not retire the newer one', async (keep) => {
  let silent = 0
  const server = await serveStreams(keep, {
    answer: (stream, head) => void (/silent/.test(String(head[':path'])) ? silent++ : watching(stream, head)),
  })
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, { http2: true }, { clock, answerTimeoutMs: 10_000 })
  await openAll(transport, 1)
  const fails = async (name: string): Promise<void> => {
    const wanted = silent + 1
    failing.push(assert.rejects(open(transport, name), isNetworkError('response', /in time/, 'ETIMEDOUT')))
    await until('the watch has arrived', () => silent === wanted)
  }
  const failing: Promise<void>[] = []
  await fails('silent-a')
  await clock.advance(5000)
  await fails('silent-b')
  await clock.advance(5000)
  await failing[0]
  await openAll(transport, 1, 1)
  await clock.advance(5000)
  await failing[1]
  await openAll(transport, 1, 2)
  assert.deepEqual(server.perSession(), [3, 2])
})

/** A frame of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */
function frame(type: number, flags: number, stream: number, payload: Iterable<number>): Uint8Array {
  const bytes = [...payload]
  return Uint8Array.of(0, 0, bytes.length, type, flags, 0, 0, 0, stream, ...bytes)
}

keeping('a watch that the server has not begun to answer is sent again', async (keep) => {
  const { server: { cert, key } } = await certificates()
  const [DATA, HEADERS, RST_STREAM, SETTINGS] = [0, 1, 3, 4]
  // By hand, as Bun's server sends another code.
  const refusing = tls.createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {})
    socket.write(frame(SETTINGS, 0, 0, []))
    let received: Uint8Array = new Uint8Array()
    let at = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length
    socket.on('data', (bytes: Uint8Array) => {
      received = Buffer.concat([received, bytes])
      for (let length = 0; received.length >= at + 9; at += 9 + length) {
        length = received[at]! * 65_536 + received[at + 1]! * 256 + received[at + 2]!
        const stream = received[at + 8]!
        if (received[at + 3] !== HEADERS) continue
        streams.push(stream)
        if (streams.length === 1) socket.write(frame(RST_STREAM, 0, stream, [0, 0, 0, 7]))
        else {for (const each of [frame(HEADERS, 4, stream, [0x88]), frame(DATA, 0, stream, Buffer.from('first'))]) {
            socket.write(each)
          }}
      }
    })
  })
  const streams: number[] = []
  const server = keep(await listen(refusing, 'https'))
  await open(await keep.transportTo(server, { http2: true }), 'a')
  assert.equal(streams.length, 2)
})

keeping('a server whose HTTP/2 is broken is asked by HTTP/1.1', async (keep) => {
  const { server: { cert, key } } = await certificates()
  const begun: string[] = []
  const broken = tls.createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      begun.push(String(bytes).slice(0, 3))
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst')
    })
  })
  const server = keep(await listen(broken, 'https'))
  await open(await keep.transportTo(server, { http2: true }), 'a')
  assert.deepEqual(begun, ['PRI', 'GET'])
})

sharing('a session that the server retires keeps its watches, and gets no more', async ({ server, transport }) => {
  const [a] = await openAll(transport, 1)
  server.sessions()[0]!.goaway(http2.constants.NGHTTP2_NO_ERROR)
  server.streams.get('/0?watch=true')!.write('second')
  assert.equal(new TextDecoder().decode((await a!.next()).value), 'second')
  await openAll(transport, 1, 1)
  assert.deepEqual(server.perSession(), [1, 1])
  server.streams.get('/0?watch=true')!.write('third')
  assert.equal(new TextDecoder().decode((await a!.next()).value), 'third')
})

sharing(
  '`beforeSend` is called when the connection is open; what it throws rejects the request',
  async ({ server, transport }) => {
    const refused = new Error('the lease is lost')
    const beforeSend = (): void => {
      assert.equal(server.connections(), 1)
      throw refused
    }
    await assert.rejects(transport({ ...watch('a'), beforeSend }), (error) => error === refused)
    assert.equal(server.heads.length, 0)
  },
)

keeping('a refused watch has its status and body, and new credentials are sent after a 401', async (keep) => {
  const server = await serveStreams(keep, {
    answer: (stream, { authorization }) => {
      stream.respond({ ':status': authorization === 'Bearer new' ? 403 : 401 })
      stream.end('not you')
    },
  })
  let token = 'old'
  const transport = await keep.transportTo(server, {
    http2: true,
    token: () => Promise.resolve(token),
    invalidate: () => (token = 'new'),
  })
  const { status, text } = await textOf(transport, watch('a'))
  assert.deepEqual({ status, text }, { status: 403, text: 'not you' })
})

sharing('a header that HTTP/2 forbids is an error', async ({ transport }) => {
  await assert.rejects(
    transport({ ...watch('a'), headers: { connection: 'upgrade' } }),
    isNetworkError('response'),
  )
})

keeping('the server is verified, and a client certificate that changes opens another session', async (keep) => {
  const server = await serveStreams(keep)
  const other = await createAuthority()
  const stranger = keep(httpTransport({ server: server.url, ca: other.ca, token: 'secret', http2: true }))
  await assert.rejects(stranger(watch('a')), isNetworkError('connect', /is not signed by a CA that is trusted here/))
  const named = await keep.transportTo(server, { serverName: 'another.test', http2: true })
  await assert.rejects(named(watch('a')), isNetworkError('connect', /its certificate is for another name/))
  assert.equal(server.heads.length, 0)
  const { authority } = await certificates()
  const issue = (): Promise<{ cert: string; key: string }> => authority.issue({ commonName: 'a', usage: 'client' })
  let credentials = await issue()
  const transport = await keep.transportTo(server, {
    serverName: 'api.test',
    http2: true,
    credentials: () => Promise.resolve(credentials),
  })
  const [a] = await openAll(transport, 2)
  credentials = await issue()
  await openAll(transport, 2, 2)
  assert.deepEqual(server.perSession().filter(Boolean), [2, 2])
  server.streams.get('/0?watch=true')!.write('second')
  await a!.next()
})
