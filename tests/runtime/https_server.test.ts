/** Tests the TLS server over real sockets: certificate swaps, client certificates, timeouts and hostile clients. */
import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { Agent } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { nextTurn } from '../../lib/async/clock.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { BodyLimits } from '../../lib/runtime/net/body_limits.ts'
import { dialTls, type HttpsServer, type HttpsServerOptions, serveHttps } from '../../lib/runtime/net/https_server.ts'
import { SERVER_PARTS } from '../../lib/runtime/net/listen.ts'
import { serveTls } from '../../lib/runtime/net/tls_server.ts'
import type { BodyRefusal, ServerRequest, ServerResponse } from '../../lib/runtime/net/server_exchange.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import {
  type Answer,
  ask1 as http1,
  ask2 as http2,
  type KeptClient,
  noHttp2,
  openClient as openKept,
  openSession as openHttp2,
} from './https_clients.ts'

const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
let authority: Authority, clients: Authority
let first: IssuedCertificate, second: IssuedCertificate
let client: IssuedCertificate, stranger: IssuedCertificate
before(async () => {
  authority = await createAuthority({ commonName: 'test' })
  first = await authority.issue({ ...names, commonName: 'first' })
  second = await authority.issue({ ...names, commonName: 'second' })
  clients = await createAuthority({ commonName: 'clients' })
  client = await clients.issue({ commonName: 'api', usage: 'client' })
  stranger = await authority.issue({ commonName: 'stranger', usage: 'client' })
})

const text = (status: number, body: string): ServerResponse => ({
  status,
  headers: { 'content-type': 'text/plain' },
  body: new TextEncoder().encode(body),
})

async function serving(
  options: Partial<HttpsServerOptions>,
  run: (server: HttpsServer, errors: string[]) => Promise<void>,
): Promise<void> {
  const errors: string[] = []
  const server = await serveHttps({
    host: '127.0.0.1',
    port: 0,
    ...first,
    maxBodyBytes: 1000,
    handle: ({ body }) => Promise.resolve(text(200, `read ${body.byteLength}`)),
    refuseBody: (why) => text(413, why),
    onError: (error) => void errors.push(String(error)),
    onClientError: (error) => void errors.push(error.code ?? error.message),
    ...options,
  })
  try {
    await run(server, errors)
  } finally {
    await server.close()
  }
}

type Version = 'HTTP/1.1' | 'HTTP/2'
const VERSIONS: readonly Version[] = noHttp2 ? ['HTTP/1.1'] : ['HTTP/1.1', 'HTTP/2']

type TlsOptions = Partial<Pick<IssuedCertificate, 'cert' | 'key'>>

const ask1 = (port: number, call: Parameters<typeof http1>[1] = {}): Promise<Answer> =>
  http1(port, { ca: authority.ca, ...call })
const openSession = (port: number, options: TlsOptions = {}): ClientHttp2Session =>
  openHttp2(port, { ca: authority.ca, ...options })
const openClient = (port: number, options: TlsOptions = {}): KeptClient =>
  openKept(port, { ca: authority.ca, ...options })
const ask2 = (session: ClientHttp2Session, body = '', headers: Record<string, string> = {}): Promise<Answer> =>
  http2(session, { body, headers })

/** Resolves to the common name of the certificate that new connections get. */
async function servedBy(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: authority.ca })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

function closed(socket: Socket): Promise<string> {
  let got = ''
  socket.on('data', (chunk: Uint8Array) => (got += new TextDecoder().decode(chunk)))
  socket.on('error', () => {})
  return new Promise((resolve) => socket.on('close', () => resolve(got)))
}

function tls1(port: number): TLSSocket {
  return connectTls({ port, host: '127.0.0.1', ca: authority.ca, ALPNProtocols: ['http/1.1'] })
}

test('a request has the header host, over HTTP/2 from its authority', () =>
  serving({ handle: ({ headers }) => Promise.resolve(text(200, headers['host'] ?? 'none')) }, async ({ port }) => {
    const client = openClient(port)
    const answers = [await ask1(port), await client.ask({})]
    client.close()
    for (const { text } of answers) assert.match(text, new RegExp(`:${port}$`))
  }))

test(
  'a swap serves the new certificate, and ends HTTP/2 sessions after their open requests',
  { skip: noHttp2 },
  async () => {
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<ServerResponse>()]
    const handle = (): Promise<ServerResponse> => (asked.resolve(), answer.promise)
    await serving({ handle }, async (server) => {
      assert.equal(await servedBy(server.port), 'first')
      const session = openSession(server.port)
      const open = ask2(session)
      await asked.promise
      const isClosed = once(session, 'close')
      const goaway = once(session, 'goaway')
      server.setCertificate(second.cert, second.key)
      assert.equal(await servedBy(server.port), 'second')
      await goaway
      answer.resolve(text(200, 'late'))
      assert.equal((await open).text, 'late')
      await isClosed
    })
  },
)

test('after a swap, a kept HTTP/1.1 connection closes with its next response', () =>
  serving({}, async (server) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.notEqual((await ask1(server.port, { agent })).headers['connection'], 'close')
    server.setCertificate(second.cert, second.key)
    assert.equal(await servedBy(server.port), 'second')
    assert.equal((await ask1(server.port, { agent })).headers['connection'], 'close')
    // A connection of after the swap is kept.
    assert.notEqual((await ask1(server.port, { agent })).headers['connection'], 'close')
    agent.destroy()
  }))

test('after a drain, all HTTP/1.1 connections close with their next response, also new ones', () =>
  serving({}, async (server) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await ask1(server.port, { agent })
    server.drain()
    for (const which of ['open', 'new']) {
      assert.equal((await ask1(server.port, { agent })).headers['connection'], 'close', which)
    }
    agent.destroy()
  }))

test('a pair that does not match, or cannot be parsed, leaves the last one in use, and its connections open', () =>
  serving({}, async (server) => {
    const kept = openClient(server.port)
    await kept.ask()
    for (const [cert, key] of [[second.cert, first.key], ['torn', second.key], [second.cert, '']] as const) {
      assert.throws(() => server.setCertificate(cert, key))
    }
    assert.equal(await servedBy(server.port), 'first')
    const { status, headers } = await kept.ask()
    assert.equal(status, 200)
    assert.notEqual(headers['connection'], 'close')
    kept.close()
  }))

test('clients are trusted by the CA that was set last, and others are answered, too', async () => {
  const handle = ({ isTrusted }: ServerRequest): Promise<ServerResponse> => Promise.resolve(text(200, `${isTrusted}`))
  const all = async (port: number, options: TlsOptions): Promise<string[]> => {
    const kept = openClient(port, options)
    const first = (await kept.ask()).text
    kept.close()
    return [first, (await ask1(port, options)).text]
  }
  const pick = ({ cert, key }: IssuedCertificate): TlsOptions => ({ cert, key })
  await serving({ handle, clientCa: clients.ca }, async (server) => {
    assert.deepEqual(await all(server.port, pick(client)), ['true', 'true'])
    assert.deepEqual(await all(server.port, pick(stranger)), ['false', 'false'])
    assert.deepEqual(await all(server.port, {}), ['false', 'false'])
    server.setCertificate(second.cert, second.key, clients.ca)
    assert.deepEqual(await all(server.port, pick(client)), ['true', 'true'])
    server.setCertificate(second.cert, second.key, authority.ca)
    assert.deepEqual(await all(server.port, pick(client)), ['false', 'false'])
    assert.deepEqual(await all(server.port, pick(stranger)), ['true', 'true'])
  })
  // Deno says that every client is authorized if none is asked.
  await serving({ handle }, async (server) => {
    assert.deepEqual(await all(server.port, pick(client)), ['false', 'false'])
    assert.deepEqual(await all(server.port, {}), ['false', 'false'])
  })
})

test('an HTTP/1.1 connection without a whole head is closed at the timeout of heads', async () => {
  const clock = new FakeClock()
  await serving({ clock, headerTimeoutMs: 32_000, idleTimeoutMs: 90_000 }, async (server) => {
    const silent = tls1(server.port), slow = tls1(server.port)
    await Promise.all([once(silent, 'secureConnect'), once(slow, 'secureConnect')])
    slow.write('GET / HTTP/1.1\r\n')
    // A third one, served last, shows that the server has seen both.
    await ask1(server.port)
    const ends = [closed(silent), closed(slow)]
    await clock.advance(31_999)
    slow.write('a: b\r\n')
    await ask1(server.port)
    assert.deepEqual([silent.destroyed, slow.destroyed], [false, false])
    await clock.advance(1)
    await Promise.all(ends)
    await once(tls1(server.port).on('error', () => {}), 'secureConnect')
    await ask1(server.port)
  })
  // No timeout of a connection outlives the server. Its side of a connection may close a turn later.
  while (clock.pending > 0) await nextTurn()
})

test('an idle HTTP/1.1 connection is closed at the idle timeout, and not while a request is open', async () => {
  const clock = new FakeClock()
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<ServerResponse>()]
  const handle = (): Promise<ServerResponse> => (asked.resolve(), answer.promise)
  await serving({ clock, handle, headerTimeoutMs: 32_000, idleTimeoutMs: 90_000 }, async (server) => {
    const socket = tls1(server.port)
    const end = closed(socket)
    await once(socket, 'secureConnect')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await asked.promise
    await clock.advance(1_000_000)
    const response = once(socket, 'data')
    answer.resolve(text(200, ''))
    await response
    while (clock.pending === 0) await nextTurn()
    await clock.advance(89_999)
    assert.equal(socket.destroyed, false)
    await clock.advance(1)
    await end
  })
})

for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`${version}: a body that is not complete at its timeout is refused, and its bytes are freed`, {
    skip: version === 'HTTP/2' && noHttp2,
  }, async () => {
    const clock = new FakeClock()
    const refusals: BodyRefusal[] = []
    const seen = Promise.withResolvers<void>()
    const bodyLimits = new BodyLimits({ clock, timeoutMs: 30_000, maxHeldBytes: 1500 })
    const options: Partial<HttpsServerOptions> = {
      clock,
      bodyLimits,
      refuse: () => void seen.resolve(),
      refuseBody: (why) => (refusals.push(why), text(408, why)),
    }
    await serving(options, async (server) => {
      const slow = slowClient(version, server.port)
      await seen.promise
      await clock.advance(29_999)
      slow.write('b'.repeat(100))
      assert.deepEqual(refusals, [])
      await clock.advance(1)
      assert.equal(await slow.status, 408)
      // The response ends what the client sends later: over HTTP/1.1 at once, over HTTP/2 after the same time.
      if (version === 'HTTP/2') {
        while (clock.pending === 0) await nextTurn()
        await clock.advance(30_000)
      }
      await slow.ended
      assert.deepEqual(refusals, ['too slow'])
      assert.equal((await ask1(server.port, { body: 'x'.repeat(1000) })).text, 'read 1000')
    })
    assert.deepEqual([bodyLimits.hold(1501), bodyLimits.hold(1500)], [false, true])
  })
}

test('the limit of the time in which a client must read ends with each wait for it', async () => {
  let waits = 0
  let open = 0
  const chunk = new Uint8Array(1024 * 1024)
  const options: Partial<HttpsServerOptions> = {
    beginSend: () => (waits++, open++, () => void open--),
    handle: () => {
      const body = { ...streamOf(Array.from({ length: 8 }, () => chunk)), cancel() {} }
      return Promise.resolve({ status: 200, headers: {}, body })
    },
  }
  await serving(options, async (server) => {
    assert.equal((await ask1(server.port)).text.length, 8 * chunk.length)
  })
  assert.ok(waits > 1, 'the client read too fast')
  assert.equal(open, 0)
})

test(
  'a large response that is not read does not end other requests of its HTTP/2 connection',
  { skip: noHttp2 },
  () => {
    // More than the runtimes let a session buffer.
    const large = new Uint8Array(12_000_000)
    const bodies: readonly ServerResponse['body'][] = [large, { ...streamOf([large]), cancel() {} }]
    let next = 0
    const handle = ({ path }: ServerRequest): Promise<ServerResponse> =>
      Promise.resolve(path === '/large' ? { status: 200, headers: {}, body: bodies[next++]! } : text(200, 'small'))
    return serving({ handle }, async (server) => {
      for (const _ of bodies) {
        const session = openSession(server.port)
        const stream = session.request({ ':path': '/large' })
        await once(stream, 'response')
        assert.equal((await ask2(session)).text, 'small')
        let read = 0
        for await (const chunk of stream) read += (chunk as Uint8Array).byteLength
        assert.equal(read, large.byteLength)
        session.destroy()
      }
    })
  },
)

function streamOf(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array, undefined> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* chunks
      return undefined
    },
  }
}

/** Sends a request whose body is not complete. */
function slowClient(version: Version, port: number, path = '/') {
  if (version === 'HTTP/2') {
    const session = openSession(port)
    const stream = session.request({ ':path': path, ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('a'.repeat(700))
    const status = once(stream, 'response').then(([head]) => Number(head[':status']))
    const ended = once(stream, 'close').then(() => session.destroy())
    stream.resume()
    // When the test ends it early.
    for (const each of [status, ended]) each.catch(() => {})
    return { status, ended, write: (text: string) => void stream.write(text), end: () => session.destroy() }
  }
  const socket = tls1(port)
  socket.on(
    'secureConnect',
    () => socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${'a'.repeat(700)}`),
  )
  const status = once(socket, 'data').then(([head]: Uint8Array[]) =>
    Number(new TextDecoder().decode(head).split(' ')[1])
  )
  // When the test ends it early.
  status.catch(() => {})
  return {
    status,
    ended: closed(socket),
    write: (text: string) => void socket.write(text),
    end: () => void socket.destroy(),
  }
}

test('bodies of open requests have a limit together, which counts until their responses', async () => {
  const clock = new FakeClock()
  const answers: (() => void)[] = []
  let begun = (): void => {}
  const options: Partial<HttpsServerOptions> = {
    bodyLimits: new BodyLimits({ clock, timeoutMs: 30_000, maxHeldBytes: 1000 }),
    handle: () => new Promise((resolve) => (answers.push(() => resolve(text(200, ''))), begun())),
    refuseBody: (why) => text(429, why),
  }
  await serving(options, async (server) => {
    const { port } = server
    const asked = new Promise<void>((resolve) => (begun = resolve))
    const open = ask1(port, { body: 'x'.repeat(600) })
    await asked
    const refused = await ask1(port, { body: 'x'.repeat(401) })
    assert.deepEqual([refused.status, refused.text], [429, 'too many'])
    answers.pop()!()
    assert.equal((await open).status, 200)
    begun = () => answers.pop()!()
    // Also the bytes of the refused body are free again.
    assert.equal((await ask1(port, { body: 'x'.repeat(1000) })).status, 200)
  })
})

test('a request can be refused before its body is read', async () => {
  let handled = 0
  const clock = new FakeClock()
  const options: Partial<HttpsServerOptions> = {
    clock,
    bodyLimits: new BodyLimits({ clock, timeoutMs: 30_000, maxHeldBytes: 1500 }),
    handle: () => (handled++, Promise.resolve(text(200, ''))),
    refuse: ({ method, path }) => text(404, `${method} ${path}`),
  }
  await serving(options, async (server) => {
    for (const version of VERSIONS) {
      // The client never ends this body.
      const unended = slowClient(version, server.port, '/none?a=b')
      assert.equal(await unended.status, 404)
      await clock.advance(30_000)
      await unended.ended
    }
    const agent = new Agent({ keepAlive: true })
    const { text: why, headers } = await ask1(server.port, { agent, path: '/none', body: 'x' })
    agent.destroy()
    assert.deepEqual([why, headers['connection'], handled], ['POST /none', 'close', 0])
  })
})

test('over HTTP/1.1 a client that sends its whole body before it reads gets the refusal', () =>
  serving({ maxBodyBytes: 4_000_000 }, async ({ port }) => {
    for (const head of ['content-length: 4000001', 'transfer-encoding: chunked']) {
      const socket = tls1(port)
      await once(socket, 'secureConnect')
      const body = 'x'.repeat(4_000_001)
      const sent = head.startsWith('content') ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      await new Promise<void>((resolve) =>
        socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${sent}`, () => resolve())
      )
      const answer = await closed(socket)
      assert.match(answer, /^HTTP\/1.1 413 [^]*connection: close[^]*too large$/i)
    }
  }))

test('over HTTP/1.1 a client that goes on with a refused body is disconnected', () =>
  serving({}, async ({ port }) => {
    const socket = tls1(port)
    const end = closed(socket)
    await once(socket, 'secureConnect')
    const more = (): void => void (socket.destroyed || socket.write('b'.repeat(500), () => setImmediate(more)))
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000000\r\n\r\n', more)
    assert.match(await end, /^HTTP\/1.1 413 /)
  }))

test('a client that disconnects, or resets its request, aborts the request, before and after its body', async () => {
  let asked = Promise.withResolvers<AbortSignal>()
  const handle = ({ signal }: ServerRequest): Promise<ServerResponse> => (asked.resolve(signal), new Promise(() => {}))
  let headSeen = (): void => {}
  await serving({ handle, refuse: () => void headSeen() }, async (server) => {
    for (const how of ['HTTP/1.1', ...(noHttp2 ? [] : ['session', 'stream'] as const)] as const) {
      asked = Promise.withResolvers()
      const end = how === 'HTTP/1.1' ? begin1(server.port) : begin2(server.port, how)
      const isAborted = once(await asked.promise, 'abort')
      end()
      await isAborted
    }
    // In the middle of a body: the server's close waits for no such request.
    for (const version of VERSIONS) {
      const seen = new Promise<void>((resolve) => (headSeen = resolve))
      const slow = slowClient(version, server.port)
      await seen
      slow.end()
    }
  })
})

test('a response that comes after its client has gone is cancelled', async () => {
  const [asked, cancelled] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()]
  const answer = Promise.withResolvers<ServerResponse>()
  await serving({ handle: ({ signal }) => (asked.resolve(signal), answer.promise) }, async ({ port }) => {
    const end = begin1(port)
    const isAborted = once(await asked.promise, 'abort')
    end()
    await isAborted
    answer.resolve({ status: 200, headers: {}, body: { ...streamOf([]), cancel: () => cancelled.resolve() } })
    await cancelled.promise
  })
})

function begin1(port: number): () => void {
  const socket = tls1(port)
  socket.on('error', () => {})
  socket.on('secureConnect', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
  return () => socket.destroy()
}

function begin2(port: number, how: 'session' | 'stream'): () => void {
  const session = openSession(port)
  const stream = session.request({ ':path': '/', ':method': 'POST' })
  stream.on('error', () => {})
  stream.end('whole')
  return () => {
    if (how === 'stream') stream.close(8)
    else session.destroy()
  }
}

test('garbage, plain HTTP, old TLS, huge heads and broken requests end alone: the server stays', () =>
  serving({ headerTimeoutMs: 32_000, idleTimeoutMs: 90_000 }, async (server) => {
    const { port } = server
    const tcp = (bytes: string): Promise<string> => {
      const socket = connectTcp(port, '127.0.0.1')
      socket.on('connect', () => socket.write(bytes))
      return closed(socket)
    }
    const tls = (bytes: string): Promise<string> => {
      const socket = tls1(port)
      socket.on('secureConnect', () => socket.write(bytes))
      return closed(socket)
    }
    await tcp('garbage garbage garbage\n\n')
    await tcp('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await closed(connectTls({ port, host: '127.0.0.1', ca: authority.ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }))
    assert.match(await tls('garbage\r\n\r\n'), /^HTTP\/1.1 400 |^$/)
    assert.match(await tls(`GET / HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(100_000)}\r\n\r\n`), /^HTTP\/1.1 431 |^$/)
    if (!noHttp2) {
      const session = openSession(port)
      const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`h${i}`, 'b']))
      await assert.rejects(ask2(session, '', many))
      const stream = session.request({ ':path': '/', ':method': 'POST' })
      stream.on('error', () => {})
      stream.write('half')
      stream.close(8)
      session.destroy()
    }
    const half = tls1(port)
    half.on('error', () => {})
    await once(half, 'secureConnect')
    half.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf')
    half.destroy()
    assert.equal((await ask1(port, { body: 'x' })).text, 'read 1')
  }))

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.set([type, flags], 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Headers of HPACK: each literal, without indexing, of less than 127 bytes. */
function headers(...pairs: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(pairs.flatMap(([name, value]) => [
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]))
}

// On Deno 2.9.6 an HTTP/2 server ends within twenty of these: https://github.com/denoland/deno/issues/36788
test('clients that only close their connection are not reported, and closed sessions are forgotten', async () => {
  const codes: unknown[] = []
  let server!: EventEmitter
  let sessions: ReadonlySet<unknown> | undefined
  const closeServer: typeof SERVER_PARTS.closeServer = (...parts) => {
    sessions = parts[2][0]
    return SERVER_PARTS.closeServer(...parts)
  }
  const listen: typeof SERVER_PARTS.listen = (each, ...place) => SERVER_PARTS.listen(server = each, ...place)
  const handle = () => Promise.resolve(text(200, ''))
  const served = await serveTls({
    ...{ port: 0, ...first, maxBodyBytes: 1, handle, onError: () => {}, refuseBody: (why) => text(413, why) },
    onClientError: ({ code }) => codes.push(code),
  }, { ...SERVER_PARTS, listen, closeServer })
  for (const code of ['ECONNRESET', 'EPIPE', 'HPE_INVALID_METHOD']) {
    server.emit('sessionError', Object.assign(new Error(code), { code }))
  }
  if (!noHttp2) {
    const opened = once(server, 'session')
    const client = openSession(served.port)
    const [session] = await opened as [EventEmitter]
    client.destroy()
    await once(session, 'close')
  }
  await served.close()
  assert.deepEqual([codes, sessions?.size], [['HPE_INVALID_METHOD'], 0])
})

test('a client that goes on after its GOAWAY ends alone: the server stays', () =>
  serving({}, async (server) => {
    const HEADERS = 1, SETTINGS = 4, PING = 6, GOAWAY = 7, END = 5
    const head = headers([':method', 'GET'], [':scheme', 'https'], [':path', '/'], [':authority', 'localhost'])
    const goaway = frame(GOAWAY, 0, 0, Buffer.alloc(8))
    const [first, rest] = [
      [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0), frame(HEADERS, END, 1, head)],
      [goaway, frame(PING, 0, 0, Buffer.alloc(8)), frame(HEADERS, END, 5, head), goaway],
    ]
    for (let round = 0; round < 50; round++) {
      const socket = connectTls({
        port: server.port,
        host: '127.0.0.1',
        ca: authority.ca,
        ALPNProtocols: ['h2', 'http/1.1'],
      })
      const end = closed(socket)
      await once(socket, 'secureConnect')
      socket.write(Buffer.concat(first))
      socket.end(Buffer.concat(rest))
      await end
    }
    assert.equal((await ask1(server.port, { body: 'x' })).text, 'read 1')
  }))

test('a dial completes a handshake and closes its connection, and rejects when nothing listens or the signal is aborted', async () => {
  let port = 0
  const clock = new FakeClock()
  await serving({ clock, headerTimeoutMs: 32_000 }, async (server) => {
    port = server.port
    await dialTls(server, new AbortController().signal)
    await ask1(port)
    // The timers of the connections end with them.
    while (clock.pending > 0) await nextTurn()
  })
  await assert.rejects(dialTls({ host: '127.0.0.1', port }, new AbortController().signal))
  await assert.rejects(dialTls({ host: '127.0.0.1', port }, AbortSignal.abort(new Error('no time'))), /no time/)
})
