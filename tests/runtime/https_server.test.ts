/** Tests the TLS server over real sockets: certificate swaps, client certificates, timeouts and hostile clients. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { Agent } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { nextTurn } from '../../lib/async/clock.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { BodyLimits } from '../../lib/runtime/net/body_limits.ts'
import { dialTls, type HttpsServer, type HttpsServerOptions, serveHttps } from '../../lib/runtime/net/https_server.ts'
import type { BodyRefusal, ServerRequest, ServerResponse } from '../../lib/runtime/net/server_exchange.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { type Answer, ask1 as http1, ask2 as http2, openSession as openHttp2 } from './https_clients.ts'

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

type TlsOptions = Partial<Pick<IssuedCertificate, 'cert' | 'key'>>

const ask1 = (port: number, call: Parameters<typeof http1>[1] = {}): Promise<Answer> =>
  http1(port, { ca: authority.ca, ...call })
const openSession = (port: number, options: TlsOptions = {}): ClientHttp2Session =>
  openHttp2(port, { ca: authority.ca, ...options })
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

test('a swap serves the new certificate, and ends HTTP/2 sessions after their open requests', async () => {
  let answer = (_: ServerResponse): void => {}
  let begun = (): void => {}
  const asked = new Promise<void>((resolve) => (begun = resolve))
  const handle = (): Promise<ServerResponse> => (begun(), new Promise((resolve) => (answer = resolve)))
  await serving({ handle }, async (server) => {
    assert.equal(await servedBy(server.port), 'first')
    const session = openSession(server.port)
    const open = ask2(session)
    await asked
    const isClosed = once(session, 'close')
    const goaway = once(session, 'goaway')
    server.setCertificate(second.cert, second.key)
    assert.equal(await servedBy(server.port), 'second')
    await goaway
    answer(text(200, 'late'))
    assert.equal((await open).text, 'late')
    await isClosed
  })
})

test('after a swap, a kept HTTP/1.1 connection closes with its next response', () =>
  serving({}, async (server) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.notEqual((await ask1(server.port, { agent })).headers['connection'], 'close')
    server.setCertificate(second.cert, second.key)
    assert.equal((await ask1(server.port, { agent })).headers['connection'], 'close')
    // A connection of after the swap is kept.
    assert.notEqual((await ask1(server.port, { agent })).headers['connection'], 'close')
    agent.destroy()
  }))

test('a pair that does not match, or cannot be parsed, leaves the last one in use, and its sessions open', () =>
  serving({}, async (server) => {
    const session = openSession(server.port)
    await ask2(session)
    for (const [cert, key] of [[second.cert, first.key], ['torn', second.key], [second.cert, '']] as const) {
      assert.throws(() => server.setCertificate(cert, key))
    }
    assert.equal(await servedBy(server.port), 'first')
    assert.equal((await ask2(session)).status, 200)
    session.close()
  }))

test('clients are trusted by the CA that was set last, and others are answered, too', async () => {
  const handle = ({ isTrusted }: ServerRequest): Promise<ServerResponse> => Promise.resolve(text(200, `${isTrusted}`))
  const all = async (port: number, options: TlsOptions): Promise<string[]> => {
    const session = openSession(port, options)
    const two = (await ask2(session)).text
    session.close()
    return [two, (await ask1(port, options)).text]
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
  })
})

test('an idle HTTP/1.1 connection is closed at the idle timeout, and not while a request is open', async () => {
  const clock = new FakeClock()
  let answer = (): void => {}
  let begun = (): void => {}
  const handle = (): Promise<
    ServerResponse
  > => (begun(), new Promise((resolve) => (answer = () => resolve(text(200, '')))))
  await serving({ clock, handle, headerTimeoutMs: 32_000, idleTimeoutMs: 90_000 }, async (server) => {
    const socket = tls1(server.port)
    const end = closed(socket)
    await once(socket, 'secureConnect')
    const asked = new Promise<void>((resolve) => (begun = resolve))
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await asked
    await clock.advance(1_000_000)
    const response = once(socket, 'data')
    answer()
    await response
    while (clock.pending === 0) await nextTurn()
    await clock.advance(89_999)
    assert.equal(socket.destroyed, false)
    await clock.advance(1)
    await end
  })
})

for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`${version}: a body that is not complete at its timeout is refused, and its bytes are freed`, async () => {
    const clock = new FakeClock()
    const refusals: BodyRefusal[] = []
    let seen = (): void => {}
    const options: Partial<HttpsServerOptions> = {
      clock,
      bodyLimits: new BodyLimits({ clock, timeoutMs: 30_000, maxHeldBytes: 1500 }),
      refuse: () => void seen(),
      refuseBody: (why) => (refusals.push(why), text(408, why)),
    }
    await serving(options, async (server) => {
      const begun = new Promise<void>((resolve) => (seen = resolve))
      const slow = slowClient(version, server.port)
      await begun
      await clock.advance(29_999)
      slow.write('b'.repeat(100))
      assert.deepEqual(refusals, [])
      await clock.advance(1)
      assert.equal(await slow.status, 408)
      // The response ends what the client sends later: over HTTP/1.1 at once, over HTTP/2 after the same time.
      while (version === 'HTTP/2' && clock.pending === 0) await nextTurn()
      await clock.advance(30_000)
      await slow.ended
      assert.deepEqual(refusals, ['too slow'])
      const session = openSession(server.port)
      assert.equal((await ask2(session, 'x'.repeat(1000))).text, 'read 1000')
      session.close()
    })
  })
}

function slowClient(version: 'HTTP/1.1' | 'HTTP/2', port: number) {
  if (version === 'HTTP/2') {
    const session = openSession(port)
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('a'.repeat(700))
    const status = once(stream, 'response').then(([head]) => Number(head[':status']))
    const ended = once(stream, 'close').then(() => session.destroy())
    stream.resume()
    return { status, ended, write: (text: string) => void stream.write(text) }
  }
  const socket = tls1(port)
  socket.on(
    'secureConnect',
    () => socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${'a'.repeat(700)}`),
  )
  const status = closed(socket).then((got) => Number(got.split(' ')[1]))
  return { status, ended: status, write: (text: string) => void socket.write(text) }
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
    const session = openSession(server.port)
    const asked = new Promise<void>((resolve) => (begun = resolve))
    const open = ask2(session, 'x'.repeat(600))
    await asked
    assert.deepEqual(await ask2(session, 'x'.repeat(401)).then(({ status, text }) => [status, text]), [429, 'too many'])
    answers.pop()!()
    assert.equal((await open).status, 200)
    begun = () => answers.pop()!()
    // Also the bytes of the refused body are free again.
    assert.equal((await ask2(session, 'x'.repeat(1000))).status, 200)
    session.close()
  })
})

test('a request can be refused before its body is read', async () => {
  let handled = 0
  const options: Partial<HttpsServerOptions> = {
    handle: () => (handled++, Promise.resolve(text(200, ''))),
    refuse: ({ method, path }) => text(404, `${method} ${path}`),
  }
  await serving(options, async (server) => {
    const session = openSession(server.port)
    // The client never ends this body.
    const stream = session.request({ ':path': '/none?a=b', ':method': 'POST' })
    stream.on('error', () => {})
    stream.resume()
    stream.write('begin')
    const [[head]] = await Promise.all([once(stream, 'response'), once(stream, 'end')])
    assert.equal(head[':status'], 404)
    session.destroy()
    const agent = new Agent({ keepAlive: true })
    const { text: why, headers } = await ask1(server.port, { agent, path: '/none', body: 'x' })
    agent.destroy()
    assert.deepEqual([why, headers['connection'], handled], ['POST /none', 'close', 0])
  })
})

test('a client that disconnects, or resets its request, aborts the request, before and after its body', async () => {
  let begun = (_: AbortSignal): void => {}
  const handle = ({ signal }: ServerRequest): Promise<ServerResponse> => (begun(signal), new Promise(() => {}))
  await serving({ handle }, async (server) => {
    for (const how of ['session', 'stream', 'HTTP/1.1'] as const) {
      const asked = new Promise<AbortSignal>((resolve) => (begun = resolve))
      const end = how === 'HTTP/1.1' ? begin1(server.port) : begin2(server.port, how)
      const signal = await asked
      const isAborted = once(signal, 'abort')
      end()
      await isAborted
    }
    // In the middle of a body: the server's close waits for no such request.
    const session = openSession(server.port)
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('half')
    session.destroy()
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
    assert.doesNotMatch(await tls(`GET / HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(100_000)}\r\n\r\n`), /200/)
    const session = openSession(port)
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`h${i}`, 'b']))
    await assert.rejects(ask2(session, '', many))
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('half')
    stream.close(8)
    session.destroy()
    const half = tls1(port)
    half.on('error', () => {})
    await once(half, 'secureConnect')
    half.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf')
    half.destroy()
    assert.equal((await ask1(port, { body: 'x' })).text, 'read 1')
  }))

test('a dial completes a handshake, and rejects when nothing listens or the signal is aborted', async () => {
  let port = 0
  await serving({}, async (server) => {
    port = server.port
    await dialTls(server, new AbortController().signal)
  })
  await assert.rejects(dialTls({ host: '127.0.0.1', port }, new AbortController().signal))
  await assert.rejects(dialTls({ host: '127.0.0.1', port }, AbortSignal.abort(new Error('no time'))), /no time/)
})
