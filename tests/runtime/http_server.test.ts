/** Tests the server for probes, metrics and users' endpoints over real sockets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import http, { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { EventEmitter, once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { thisRuntime } from '../../lib/runtime/os/this_runtime.ts'
import { trackSockets } from '../../lib/runtime/net/listen.ts'
import { type HttpServer, type HttpServerOptions, refusal, serveHttp } from '../../lib/runtime/net/http_server.ts'
import fc from 'fast-check'
import { tries } from '../tools/fuzz.ts'
import { mutatedBytes } from '../tools/hostile.ts'
import { type Answer, ask1, ask2, noHttp2, openSession } from './https_clients.ts'
import { certificates } from './servers.ts'

const buffers = 'Deno' in globalThis ? 'Deno takes a response into memory before its client reads it' : false
const noDeadline = new AbortController().signal

async function serving(
  options: Partial<HttpServerOptions>,
  run: (server: HttpServer, errors: unknown[]) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1000,
    fetch: () => new Response('hello'),
    onError: (error) => errors.push(error),
    ...options,
  })
  try {
    await run(server, errors)
  } finally {
    await server.close(AbortSignal.abort())
  }
}

async function certificate() {
  const { authority, server } = await certificates()
  return { ca: authority.ca, tls: server }
}

/** Calls over HTTP/1.1, with TLS if there is a CA. */
const ask = (port: number, call: Parameters<typeof ask1>[1] = {}): Promise<Answer> =>
  ask1(port, { method: 'GET', ...(call.ca === undefined && { send: httpRequest }), ...call })

/** Begins a request whose failure is no error of the test. */
function beginRequest(port: number): ClientRequest {
  const request = httpRequest({ host: '127.0.0.1', port, agent: false })
  request.on('error', () => {})
  request.end()
  return request
}

test('an idle connection, and a head that is not complete, have limits', async () => {
  const { createServer } = http
  const limits: http.ServerOptions[] = []
  const spy = (options: http.ServerOptions): http.Server => (limits.push(options), createServer(options))
  Object.assign(http, { createServer: spy })
  try {
    await serving({}, async () => {})
  } finally {
    Object.assign(http, { createServer })
  }
  assert.deepEqual(limits, [{ keepAliveTimeout: 90_000, headersTimeout: 32_000 }])
})

test('fetch gets a standard Request, and its whole Response is sent', () =>
  serving({
    fetch: async (request) => {
      const url = new URL(request.url)
      return new Response(`${request.method} ${url.pathname}${url.search} ${await request.text()}`, {
        status: 201,
        headers: { 'x-a': '1', 'content-type': 'text/plain' },
      })
    },
  }, async ({ port, host }) => {
    const answer = await ask(port, { method: 'POST', path: '/a/b?c=d', body: 'Grüße' })
    assert.deepEqual([answer.status, answer.text, answer.headers['x-a'], host], [
      201,
      'POST /a/b?c=d Grüße',
      '1',
      '127.0.0.1',
    ])
    assert.equal((await ask(port, { method: 'HEAD' })).text, '')
  }))

test('a response body is streamed', () => {
  let more: (text: string) => void = () => {}
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      void (more = (text) => text ? controller.enqueue(new TextEncoder().encode(text)) : controller.close()),
  })
  return serving({ fetch: () => new Response(body) }, async ({ port }) => {
    more('one')
    const [response] = (await once(beginRequest(port), 'response')) as [IncomingMessage]
    const rest: string[] = []
    response.on('data', (chunk: Uint8Array) => rest.push(new TextDecoder().decode(chunk)))
    await once(response, 'data')
    assert.deepEqual(rest, ['one'])
    more('two')
    more('')
    await once(response, 'end')
    assert.equal(rest.join(''), 'onetwo')
  })
})

test('a handler that throws is an empty 500, reported once', () =>
  serving({
    fetch: () => {
      throw new Error('the password is 1234')
    },
  }, async ({ port }, errors) => {
    const answer = await ask(port)
    assert.deepEqual([answer.status, answer.text], [500, ''])
    assert.deepEqual(errors.map((error) => (error as Error).message), ['the password is 1234'])
  }))

test('a body that is too large is refused by its length, or while it is read', () => {
  let called = 0
  return serving({ fetch: () => (called++, new Response('no')) }, async ({ port }) => {
    assert.equal((await ask(port, { method: 'POST', body: 'x'.repeat(1001) })).status, 413)
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', agent: false })
    for (let part = 0; part < 2; part++) request.write('x'.repeat(600))
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    assert.deepEqual([response.statusCode, called], [413, 0])
    assert.equal((await ask(port, { method: 'POST', body: 'x'.repeat(1000) })).status, 200)
  })
})

test('a refusal says what a client can do', () => {
  const rows = {
    400: {},
    401: { 'www-authenticate': 'Bearer' },
    405: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    429: { 'retry-after': '1' },
  }
  for (const [status, more] of Object.entries(rows)) {
    const common = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
    assert.deepEqual(refusal(Number(status), 'no').headers, { ...common, ...more })
  }
})

/** Sends a head as it is, and returns the status line of the answer. */
async function sendHead(port: number, head: string): Promise<string> {
  const client = connect(port, '127.0.0.1', () => client.write(`${head}\r\nconnection: close\r\n\r\n`))
  let answer = ''
  for await (const part of client as AsyncIterable<Uint8Array>) answer += new TextDecoder().decode(part)
  return answer.split('\r\n', 1)[0]!
}

for (
  const [head, status] of [
    ['TRACE / HTTP/1.1\r\nhost: a', '405 Method Not Allowed'],
    ...['a b', 'a/healthz?', 'a?', 'a#', 'u@a', 'a\\b', '[::1', 'a:b', 'a:99999999', '%%'].map((host) =>
      [`GET / HTTP/1.1\r\nhost: ${host}`, '400 Bad Request'] as const
    ),
    ...['a', 'a:1', '[::1]:8081', '10.0.0.1', 'a_b.svc'].map((host) =>
      [`GET / HTTP/1.1\r\nhost: ${host}`, '200 OK'] as const
    ),
    ['GET / HTTP/1.0', '200 OK'],
  ] as const
) {
  test(`${JSON.stringify(head)} is answered with ${status}, and is no error of the server`, () => {
    let called = 0
    return serving({ fetch: () => (called++, new Response('')) }, async ({ port }, errors) => {
      assert.equal((await sendHead(port, head)).replace(/^HTTP\/1\.[01] /, ''), status)
      assert.deepEqual([called, errors], [status === '200 OK' ? 1 : 0, []])
    })
  })
}

test('bodies of open requests hold four of the largest together, and have 30 s each', async () => {
  const clock = new FakeClock()
  await serving({ clock }, async ({ port }) => {
    const begin = async (size: number): Promise<Socket> => {
      const client = connect(port, '127.0.0.1')
      client.on('error', () => {})
      await once(client, 'connect')
      client.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n${'x'.repeat(size)}`)
      return client
    }
    const statusOf = async (client: Socket): Promise<number> => {
      const [answer] = (await once(client, 'data')) as [Uint8Array]
      client.destroy()
      return Number(/ (\d+) /.exec(new TextDecoder().decode(answer))![1])
    }
    const slow = await Promise.all(Array.from({ length: 4 }, () => begin(999)))
    // The server reads the connections in its own order, so more are begun until it has read them all.
    while (await statusOf(await begin(1000)) !== 429);
    const statuses = slow.map(statusOf)
    let isOver = false
    void Promise.all(statuses).then(() => (isOver = true))
    while (!isOver) await clock.advance(30_000)
    assert.deepEqual(await Promise.all(statuses), [408, 408, 408, 408])
    assert.equal(await statusOf(await begin(1000)), 200, 'their bytes are free again')
  })
  assert.equal(clock.pending, 0, 'no timer is left')
})

test('a client that takes nothing of a response for 30 s is disconnected', { skip: buffers }, async () => {
  const clock = new FakeClock()
  const cancelled = Promise.withResolvers<void>()
  const chunk = new Uint8Array(1024 * 1024)
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(chunk), cancel: () => cancelled.resolve() })
  await serving({ clock, fetch: () => new Response(body()) }, async ({ port }) => {
    const [response] = (await once(beginRequest(port), 'response')) as [IncomingMessage]
    response.on('error', () => {})
    response.pause()
    let isCancelled = false
    void cancelled.promise.then(() => (isCancelled = true))
    while (!isCancelled) await clock.advance(30_000)
    response.destroy()
  })
})

for (const secure of [false, true]) {
  test(`a connection above the limit closes the oldest one${secure ? ', with TLS' : ''}`, async () => {
    const { tls, ca } = await certificate()
    await serving({ maxConnections: 2, ...(secure && { tls }) }, async ({ port }) => {
      const closed: number[] = []
      const two = Promise.withResolvers<void>()
      const clients: Socket[] = []
      for (let at = 0; at < 6; at++) {
        const to = { port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] }
        const client = secure ? connectTls(to) : connect(to)
        client.on('error', () => {})
        client.on('close', () => closed.push(at) === 2 && two.resolve())
        clients.push(client)
        // Bun accepts a connection with its first byte.
        client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
        await once(client, 'data')
      }
      await two.promise
      assert.deepEqual(closed.slice(0, 2), [0, 1])
      assert.equal((await ask(port, secure ? { ca } : {})).text, 'hello')
      for (const client of clients) client.destroy()
    })
  })
}

test('a closed connection does not count for the limit', () => {
  const server = new EventEmitter()
  const sockets = trackSockets(server as Server, 2, 'connection')
  const destroyed: string[] = []
  const prompt: string[] = []
  const open = (name: string): EventEmitter => {
    const setNoDelay = (isSet: boolean): unknown => isSet && prompt.push(name)
    const socket = Object.assign(new EventEmitter(), { setNoDelay, destroy: () => destroyed.push(name) })
    server.emit('connection', socket)
    return socket
  }
  open('a')
  open('b').emit('close')
  open('c')
  assert.deepEqual(destroyed, [])
  open('d')
  assert.deepEqual([destroyed, sockets.size, prompt.join('')], [['a'], 2, 'abcd'])
})

test('a port in use is an error with the address and a remedy', () =>
  serving({}, async ({ port }) => {
    await assert.rejects(serving({ port }, async () => {}), (error: Error & { code?: string }) => {
      assert.equal(error.name, 'ConfigError')
      assert.match(
        error.message,
        new RegExp(
          `^Cannot listen on 127.0.0.1:${port}: the address is in use; stop what listens there or choose another port$`,
        ),
      )
      return error.code === 'EADDRINUSE'
    })
  }))

test('without a host the server listens on all interfaces', () =>
  serving({ host: undefined }, async ({ port }) => {
    assert.equal((await ask(port)).text, 'hello')
  }))

test('close lets an open request end, and refuses new ones', () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Response>()
  return serving({ fetch: () => (asked.resolve(), answer.promise) }, async (server) => {
    const open = ask(server.port)
    await asked.promise
    const closed = server.close(noDeadline)
    await assert.rejects(ask(server.port))
    answer.resolve(new Response('late'))
    assert.equal((await open).text, 'late')
    await closed
    assert.equal(server.close(noDeadline), closed)
  })
})

test("a request that does not end is aborted at the close's deadline", () => {
  const deadline = new AbortController()
  const asked = Promise.withResolvers<AbortSignal>()
  return serving({ fetch: ({ signal }) => (asked.resolve(signal), new Promise(() => {})) }, async (server) => {
    const open = ask(server.port).catch((error: Error) => error)
    const signal = await asked.promise
    const closed = server.close(deadline.signal)
    assert.equal(signal.aborted, false)
    deadline.abort()
    // A handler that never settles does not delay the close beyond its abort.
    await closed
    assert.equal(signal.aborted, true)
    assert.ok((await open) instanceof Error)
  })
})

test('a response that has begun is sent whole before the close, also to a slow reader', async () => {
  const { ca, tls } = await certificate()
  const chunk = new Uint8Array(1000), count = 200
  const body = (): Iterable<Uint8Array> => Array.from({ length: count }, () => chunk)
  let closed: Promise<void> | undefined
  let server: HttpServer | undefined
  const fetch = (): Response => {
    closed = server!.close(noDeadline)
    return new Response(ReadableStream.from(body()) as ReadableStream<Uint8Array>)
  }
  await serving({ tls, fetch }, async (serving) => {
    server = serving
    if (noHttp2) {
      assert.equal((await ask(server.port, { ca })).text.length, count * chunk.length)
      return await closed
    }
    const session = openSession(server.port, { ca })
    const stream = session.request({ ':path': '/' })
    await once(stream, 'response')
    // Over HTTP/2 the server sends only what fits the reader's window: the rest waits in this process.
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    let got = 0
    for await (const part of stream as AsyncIterable<Uint8Array>) got += part.byteLength
    assert.equal(got, count * chunk.length)
    session.close()
    await closed
  })
})

test('a response that never ends is aborted at the deadline, and its body is cancelled', () => {
  const cancelled = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('one')),
    cancel: () => cancelled.resolve(),
  })
  return serving({ fetch: () => new Response(body) }, async (server) => {
    const deadline = new AbortController()
    const [response] = (await once(beginRequest(server.port), 'response')) as [IncomingMessage]
    response.on('error', () => {})
    await once(response, 'data')
    const closed = server.close(deadline.signal)
    deadline.abort()
    await Promise.all([closed, cancelled.promise])
  })
})

test('close waits neither for kept connections nor for one without a request', () =>
  serving({}, async (server) => {
    const agent = new Agent({ keepAlive: true })
    await ask(server.port, { agent })
    const silent = connect(server.port, '127.0.0.1')
    silent.on('error', () => {})
    await once(silent, 'connect')
    await server.close(noDeadline)
    silent.destroy()
    agent.destroy()
  }))

test('a request with a whole response is not aborted, over HTTP/1.1 and HTTP/2', async () => {
  const { ca, tls } = await certificate()
  for (const options of [{}, { tls }]) {
    const signals: AbortSignal[] = []
    const fetch = ({ signal }: Request): Response => (signals.push(signal), new Response('hello'))
    await serving({ ...options, fetch }, async (server) => {
      await ask(server.port, { ...('tls' in options && { ca }) })
      if ('tls' in options && !noHttp2) {
        const session = openSession(server.port, { ca })
        await ask2(session, { method: 'GET' })
        session.close()
      }
      await server.close(noDeadline)
    })
    assert.deepEqual(signals.map(({ aborted }) => aborted), signals.map(() => false))
  }
})

test('a client that disconnects aborts its request', () => {
  const asked = Promise.withResolvers<AbortSignal>()
  return serving({ fetch: ({ signal }) => (asked.resolve(signal), new Promise(() => {})) }, async ({ port }) => {
    const request = beginRequest(port)
    const signal = await asked.promise
    const aborted = once(signal, 'abort')
    request.destroy()
    await aborted
  })
})

/** Only Node collects a Request while its signal is in use. */
const skip = thisRuntime().name === 'node' ? false : 'only Node collects a Request while its signal is in use'

test('a handler that keeps only the signal is aborted when its client disconnects', { skip }, async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [asked, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const fetch = ({ signal }: Request): Promise<Response> => {
    signal.addEventListener('abort', () => aborted.resolve(), { once: true })
    asked.resolve()
    return new Promise(() => {})
  }
  await serving({ fetch }, async ({ port }) => {
    const request = beginRequest(port)
    await asked.promise
    for (let round = 0; round < 5; round++) {
      collect()
      await nextTurn()
    }
    request.destroy()
    await aborted.promise
  })
})

test('with a certificate the server speaks TLS, over HTTP/1.1 and HTTP/2', async () => {
  const { ca, tls } = await certificate()
  await serving({ tls, fetch: (request) => new Response(new URL(request.url).protocol) }, async (server) => {
    assert.equal((await ask(server.port, { ca })).text, 'https:')
    if (noHttp2) return
    const session = openSession(server.port, { ca })
    assert.equal((await ask2(session, { method: 'GET' })).text, 'https:')
    // An open session does not delay the close.
    await server.close(noDeadline)
    session.destroy()
  })
  const other = await (await createAuthority({ commonName: 'other' })).issue({
    commonName: 'server',
    dnsNames: ['localhost'],
    ipAddresses: [],
    usage: 'server',
  })
  await assert.rejects(
    serving({ tls: { cert: tls.cert, key: other.key } }, async () => {}),
    /^TypeError: Cannot serve TLS: the private key does not belong/,
  )
})

/** Returns the first bytes that a TLS client sends. */
async function clientHello(): Promise<Uint8Array> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connectTls({ host: '127.0.0.1', port, servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] })
  client.on('error', () => {})
  const [socket] = await once(server, 'connection') as [Socket]
  const [bytes] = await once(socket, 'data') as [Uint8Array]
  for (const each of [client, socket]) each.destroy()
  server.close()
  return bytes
}

/** The preface of HTTP/2, empty settings, a request without fields, a ping and a window of 1. */
const FRAMES = new Uint8Array([
  ...new TextEncoder().encode('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  ...[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0x82, 0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
  ...[0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1],
])

test('fuzz: any bytes on a TLS port, also behind the handshake, end the connection alone', async () => {
  const [{ ca, tls }, hello] = [await certificate(), await clientHello()]
  const request = new TextEncoder().encode('POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello')
  const bytes = (protocol: string): fc.Arbitrary<readonly [string, Uint8Array]> =>
    mutatedBytes(protocol === 'none' ? hello : protocol === 'h2' ? FRAMES : request).map((each) => [protocol, each])
  await serving({ tls }, async ({ port }, errors) => {
    const inputs = fc.oneof(bytes('none'), bytes('http/1.1'), ...(noHttp2 ? [] : [bytes('h2')]))
    await fc.assert(
      fc.asyncProperty(inputs, async ([protocol, sent]) => {
        const to = { host: '127.0.0.1', port }
        const socket = protocol === 'none' ? connect(to) : connectTls({ ...to, ca, ALPNProtocols: [protocol] })
        const closed = new Promise((resolve) => socket.on('close', resolve))
        socket.on('error', () => {})
        socket.resume()
        socket.write(sent, () => socket.end())
        assert.equal((await ask(port, { ca })).text, 'hello')
        socket.destroy()
        await closed
      }),
      { numRuns: tries(60), endOnFailure: true },
    )
    assert.deepEqual(errors, [])
  })
})
