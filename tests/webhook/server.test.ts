/** Tests the webhook server: paths, limits, certificates, client certificates, start, readiness and stop. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request as httpsRequest } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { aborted } from '../../lib/async/abort.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import type { CertificateSource, WebhookHandler } from '../../lib/webhook/common/handler.ts'
import { WebhookServer, type WebhookServerOptions } from '../../lib/webhook/server/webhook_server.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { validityOf } from '../../lib/runtime/os/builtins.ts'
import { type Answer, ask1, ask2, type Call, noHttp2, openClient, openSession } from '../runtime/https_clients.ts'
import { type Certificates, certificates, TestSource } from './certificates.ts'
import { linesTo, Seen } from './secret_lab.ts'

let certs: Certificates
before(async () => void (certs = await certificates()))

const echo: WebhookHandler = ({ contentType, body }) =>
  Promise.resolve({ status: 200, body: JSON.stringify({ contentType, body: new TextDecoder().decode(body) }) })

/** Requests that are open until the test answers them. */
class Held extends Seen<{ readonly signal: AbortSignal; readonly body: Uint8Array; readonly answer: () => void }> {
  readonly handler: WebhookHandler = ({ signal, body }) =>
    new Promise((resolve) => this.add({ signal, body, answer: () => resolve({ status: 200, body: '{}' }) }))

  /** Resolves with the request at this place. */
  nth(at: number): ReturnType<Held['is']> {
    return this.is(() => true, at)
  }
}

interface Running {
  readonly server: WebhookServer
  readonly port: number
  readonly clock: FakeClock
  readonly source: TestSource
  readonly lines: string[]
  readonly stop: AbortController
  readonly ended: Promise<void>
  call(call: Call): Promise<Answer>
}

async function running(
  options: Partial<WebhookServerOptions>,
  setUp: (server: WebhookServer) => void,
  run: (running: Running) => Promise<void>,
): Promise<void> {
  const lines: string[] = []
  const log = linesTo((line) => lines.push(line))
  const clock = new FakeClock({ nowMs: Date.now() })
  const source = new TestSource(certs.first)
  const server = new WebhookServer({ host: '127.0.0.1', port: 0, certificates: source, clock, log, ...options })
  setUp(server)
  const stop = new AbortController()
  const ended = server.start(stop.signal)
  ended.catch(() => {})
  try {
    await server.ready(stop.signal)
    const port = server.port!
    const client = openClient(port, { ca: certs.authority.ca })
    await run({ server, port, clock, source, lines, stop, ended, call: client.ask })
    client.close()
  } finally {
    stop.abort()
    // A failed test may have left a request open, which would delay the stop.
    await clock.advance(1_000_000)
    await ended
    // Nothing secret in any line.
    for (const { key } of [certs.first, certs.second]) {
      const secret = key.split('\n')[1]!
      assert.ok(!lines.some((line) => line.includes(secret)))
    }
  }
}

test('scenario 102: a path is served once: a second handler for it is an error, before and after the start', () =>
  running({}, (server) => {
    server.handle('/validate-web-example-dev-v1-site', echo)
    assert.throws(
      () => server.handle('/validate-web-example-dev-v1-site', echo),
      /^Error: Cannot serve a webhook at "\/validate-web-example-dev-v1-site": the path is taken; choose another path$/,
    )
  }, async ({ server, call }) => {
    assert.equal((await call({ path: '/late' })).status, 404)
    server.handle('/late', echo)
    assert.equal((await call({ path: '/late' })).status, 200)
    assert.throws(() => server.handleFetch('/late', () => new Response()), /the path is taken/)
    assert.deepEqual(server.paths, ['/validate-web-example-dev-v1-site', '/late'])
  }))

test('a path is segments of simple characters after slashes', () => {
  const server = new WebhookServer({ certificates: new TestSource() })
  for (const path of ['', '/', 'a', '/a/', '//a', '/a b', '/a?b', '/a.b', '/ä']) {
    assert.throws(() => server.handle(path, echo), /^TypeError: Cannot serve a webhook at /, path)
  }
  for (const path of ['/a', '/a/b', '/mutate--v1-pod', '/A_1']) server.handle(path, echo)
})

test('a handler gets the content type without parameters and the body, at the path without its query', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ call, port }) => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
    const answer = await call({ path: '/validate?timeout=5s', body: '{"ä":1}', headers })
    const want = { contentType: 'application/json', body: '{"ä":1}' }
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, want])
    assert.equal(answer.headers['content-type'], 'application/json')
    const one = await ask1(port, { ca: certs.authority.ca, path: '/validate', body: '{"ä":1}', headers })
    assert.deepEqual([one.status, JSON.parse(one.text)], [200, want])
    assert.equal(JSON.parse((await call({ path: '/validate' })).text).contentType, '')
  }))

test('an unknown path is 404, another method than POST 405, each with one line', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ call, lines }) => {
    lines.length = 0
    assert.equal((await call({ path: '/validat' })).status, 404)
    assert.equal((await call({ path: '/validate/' })).status, 404)
    const get = await call({ path: '/validate', method: 'GET' })
    assert.deepEqual([get.status, get.headers['allow']], [405, 'POST'])
    assert.deepEqual(lines, [
      'warn Refused a request to a webhook: No webhook is served at this path {"path":"/validat","method":"POST","status":404}',
      'warn Refused a request to a webhook: No webhook is served at this path {"path":"/validate/","method":"POST","status":404}',
      'warn Refused a request to a webhook: A webhook is called with POST {"path":"/validate","method":"GET","status":405}',
    ])
    for (let i = 0; i < 100; i++) await call({ path: '/x' })
    assert.ok(lines.length <= 5)
  }))

test('a response other than 200 is plain text', () =>
  running({}, (server) => {
    server.handle('/convert', () => Promise.resolve({ status: 400, body: 'not JSON' }), { protocol: 'conversion' })
  }, async ({ call }) => {
    const { status, text, headers } = await call({ path: '/convert' })
    assert.deepEqual([status, text, headers['content-type']], [400, 'not JSON\n', 'text/plain; charset=utf-8'])
  }))

test('scenario 99: a body above the limit, also one without an end, is 413, over both protocols', () =>
  running({ maxBodyBytes: 100 }, (server) => server.handle('/validate', echo), async ({ call, port }) => {
    assert.equal((await call({ path: '/validate', body: 'x'.repeat(100) })).status, 200)
    const large = await call({ path: '/validate', body: 'x'.repeat(101) })
    assert.deepEqual([large.status, large.text], [413, 'The body has more than 100 bytes\n'])
    const one = await ask1(port, { ca: certs.authority.ca, path: '/validate', body: 'x'.repeat(101) })
    assert.equal(one.status, 413)
    const target = { host: '127.0.0.1', port, path: '/validate', method: 'POST', agent: false, ca: certs.authority.ca }
    const request = httpsRequest(target)
    request.on('error', () => {}) // The server ends the connection.
    const answered = new Promise<number | undefined>((resolve) =>
      request.on('response', (response) => resolve(response.resume().statusCode))
    )
    // Never ended.
    for (let part = 0; part < 10; part++) request.write('x'.repeat(20))
    assert.equal(await answered, 413)
    request.destroy()
  }))

test('the default limit of a body is 20 MiB: two objects of 1.5 MiB whose characters are escaped as six', () =>
  running({}, (server) => {
    server.handle('/validate', ({ body }) => Promise.resolve({ status: 200, body: String(body.byteLength) }))
  }, async ({ call }) => {
    const size = 20 * 1024 * 1024
    assert.equal((await call({ path: '/validate', body: 'x'.repeat(size) })).text, String(size))
    assert.equal((await call({ path: '/validate', body: 'x'.repeat(size + 1) })).status, 413)
  }))

test('bodies above the limit of all together are 429, which the API server repeats after the given time', () => {
  const held = new Held()
  return running({ maxHeldBytes: 1000 }, (server) => server.handle('/slow', held.handler), async ({ call }) => {
    const open = call({ path: '/slow', body: 'x'.repeat(800) })
    const { answer } = await held.nth(0)
    const refused = await call({ path: '/slow', body: 'x'.repeat(300) })
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'])
    answer()
    assert.equal((await open).status, 200)
  })
})

test('bodies of many values are handled one after the other, others pass them, and the values have a limit', () => {
  const held = new Held()
  return running({}, (server) => {
    server.handle('/slow', held.handler)
    server.handleFetch('/quick', async (request) => new Response(await request.text()))
  }, async ({ call }) => {
    const large = '['.repeat(600_000)
    const first = call({ path: '/slow', body: large })
    const { body, answer } = await held.nth(0)
    const second = call({ path: '/slow', body: `${large}[` })
    assert.equal((await call({ path: '/quick', body: '[]' })).text, '[]')
    assert.deepEqual([held.all.length, body.byteLength], [1, large.length])
    answer()
    assert.equal((await first).status, 200)
    ;(await held.nth(1)).answer()
    assert.equal((await second).status, 200)
    const small = '['.repeat(41_000)
    const open = []
    for (let at = 2; at < 10; at++) {
      open.push(call({ path: '/slow', body: small }))
      await held.nth(at)
    }
    const many = await call({ path: '/quick', body: small })
    assert.deepEqual([many.status, many.headers['retry-after']], [429, '1'])
    for (const { answer } of held.all) answer()
    assert.ok((await Promise.all(open)).every(({ status }) => status === 200))
    for (const path of ['/slow', '/quick']) {
      const { status, text } = await call({ path, body: '[]'.repeat(900_000) })
      assert.deepEqual([status, text], [413, 'The body has so many values that they take more than 80 MiB\n'])
    }
  })
})

test("the handler's signal is aborted at the timeout in the query, and the client gets a 504", () => {
  const held = new Held()
  return running({}, (server) => {
    server.handle('/validate', held.handler)
    server.handleFetch('/review', ({ signal }) => new Promise(() => held.add({ signal } as never)))
  }, async ({ call, clock }) => {
    // 30 s is the most that an API server states.
    const cases = [
      ['/validate?timeout=5s', 5000, 504],
      ['/validate?a=b&timeout=1500ms', 1500, 504],
      ['/validate?timeout=1m', 30_000, 504],
      ['/validate?a=b', 30_000, 504],
      ['/review?timeout=3s', 3000, 500],
    ] as const
    for (const [at, [path, ms, status]] of cases.entries()) {
      const open = call({ path })
      const { signal } = await held.nth(at)
      await clock.advance(ms - 1)
      assert.equal(signal.aborted, false)
      await clock.advance(1)
      assert.deepEqual([signal.aborted, (await open).status], [true, status])
    }
  })
})

test('a handler that is done is not aborted at the timeout, also with others still waiting for theirs', () => {
  const signals: AbortSignal[] = []
  const handler: WebhookHandler = ({ signal }) => (signals.push(signal), Promise.resolve({ status: 200, body: '{}' }))
  return running({}, (server) => server.handle('/validate', handler), async ({ call, clock }) => {
    await call({ path: '/validate?timeout=5s' })
    await clock.advance(4000)
    await call({ path: '/validate?timeout=5s' })
    await clock.advance(60_000)
    assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false])
  })
})

test("the handler's signal is aborted when the client disconnects in the middle of the call", () => {
  const held = new Held()
  return running({}, (server) => server.handle('/validate', held.handler), async ({ port, call }) => {
    const other = openClient(port, { ca: certs.authority.ca })
    void other.ask({ path: '/validate' }).catch(() => {})
    const { signal } = await held.nth(0)
    other.close()
    await aborted(signal)
    assert.equal((await call({ path: '/none' })).status, 404)
  })
})

test('a handler that rejects or throws is a 500 without the reason, logged with it', () =>
  running({}, (server) => {
    server.handle('/rejects', () => Promise.reject(new Error('password 1234')), { name: 'default of Site' })
    server.handle('/throws', () => {
      throw new Error('sync')
    })
    server.handleFetch('/fetch', () => Promise.reject(new Error('fetched')))
  }, async ({ call, lines }) => {
    lines.length = 0
    const rejects = await call({ path: '/rejects' })
    assert.deepEqual([rejects.status, rejects.text.includes('1234')], [500, false])
    assert.equal((await call({ path: '/throws' })).status, 500)
    const fetched = await call({ path: '/fetch' })
    assert.deepEqual([fetched.status, fetched.text], [500, ''])
    assert.deepEqual(lines.map((line) => line.split(' {')[0]), [
      'error The webhook "default of Site" failed: password 1234',
      'error The webhook "/throws" failed: sync',
      'error A webhook failed: fetched',
    ])
  }))

test('a function of the Fetch API serves a path with any method', () =>
  running({}, (server) => {
    server.handleFetch('/review', async (request) => {
      const url = new URL(request.url)
      const { kind } = request.method === 'POST' ? await request.json() as { kind: string } : { kind: 'none' }
      return Response.json({ kind, path: url.pathname, query: url.search }, { status: 201 })
    })
  }, async ({ call }) => {
    const { status, text } = await call({ path: '/review?timeout=5s', body: '{"kind":"TokenReview"}' })
    assert.deepEqual([status, JSON.parse(text)], [201, { kind: 'TokenReview', path: '/review', query: '?timeout=5s' }])
    assert.equal(JSON.parse((await call({ path: '/review', method: 'GET' })).text).kind, 'none')
  }))

test('with a client CA, admission needs its certificate, conversion does not', () =>
  running({ clientCa: { pem: certs.clients.ca } }, (server) => {
    server.handle('/validate', echo)
    server.handle('/convert', echo, { protocol: 'conversion' })
    server.handle('/open', echo, { clientCertificate: 'ignored' })
    server.handle('/strict', echo, { protocol: 'conversion', clientCertificate: 'required' })
    server.handleFetch('/review', () => new Response('ok'))
  }, async ({ call, port, source, clock }) => {
    const statuses = async (ask: (call: Call) => Promise<Answer>): Promise<number[]> => {
      const paths = ['/validate', '/convert', '/open', '/strict', '/review']
      return (await Promise.all(paths.map((path) => ask({ path })))).map(({ status }) => status)
    }
    assert.deepEqual(await statuses(call), [403, 200, 200, 403, 403])
    assert.match((await call({ path: '/validate' })).text, /^The client must present a certificate of the CA /)
    const withClient = async (): Promise<number[]> => {
      const { cert, key } = certs.client
      const client = openClient(port, { ca: certs.authority.ca, cert, key })
      const result = await statuses(client.ask)
      client.close()
      return result
    }
    assert.deepEqual(await withClient(), [200, 200, 200, 200, 200])
    source.set(certs.second)
    assert.deepEqual(await withClient(), [200, 200, 200, 200, 200])
    const { first } = certs
    const other = openClient(port, { ca: certs.authority.ca, cert: first.cert, key: first.key })
    assert.deepEqual(await statuses(other.ask), [403, 200, 200, 403, 403])
    other.close()
    await clock.advance(0)
  }))

test('a client CA that is not a certificate is a ConfigError', async () => {
  const server = new WebhookServer({ certificates: new TestSource(certs.first), port: 0, clientCa: { pem: 'x' } })
  await assert.rejects(
    server.start(new AbortController().signal),
    (error) => error instanceof ConfigError && /clientCa\) is not a certificate in PEM/.test(error.message),
  )
})

test('an HTTP/1.1 connection is closed after 32 s without a request, and 120 s after its last one', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ call, clock, port }) => {
    for (const ms of [32_000, 120_000]) {
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      if (ms === 120_000) {
        socket.write('POST /validate HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}')
        await once(socket, 'data')
      }
      // The server has seen it before it answers.
      await call({ path: '/validate' })
      const ended = once(socket, 'close')
      await clock.advance(ms - 1)
      await call({ path: '/validate' })
      assert.equal(socket.destroyed, false)
      await clock.advance(1)
      await ended
    }
  }))

test('the certificate is swapped under load of both protocols, and no call fails', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ source, port }) => {
    const ca = certs.authority.ca
    const agent = new Agent({ keepAlive: true, maxSockets: 2 })
    let session = noHttp2 ? undefined : openSession(port, { ca })
    const body = 'x'.repeat(2000)
    let swaps = 0, calls = 0, sessions = 1
    const caller = async (call: () => Promise<Answer>): Promise<void> => {
      while (swaps < 6) {
        assert.equal((await call()).status, 200)
        if (++calls % 50 === 0) source.set(++swaps % 2 ? certs.second : certs.first)
      }
    }
    const two = async (): Promise<Answer> => {
      try {
        return await ask2(session!, { path: '/validate', body })
      } catch (error) {
        // As the API server's client: a call that the closing session did not take is sent on another one.
        assert.match(String(error), /REFUSED_STREAM|GOAWAY|INVALID_SESSION|session/)
        session = openSession(port, { ca })
        sessions++
        return await ask2(session, { path: '/validate', body })
      }
    }
    const one = (): Promise<Answer> => ask1(port, { ca, agent, path: '/validate', body })
    await Promise.all([noHttp2 ? caller(one) : caller(two), caller(one), caller(one)])
    assert.ok(noHttp2 || sessions > 1)
    assert.equal(session?.remoteSettings.maxConcurrentStreams, noHttp2 ? undefined : 250)
    agent.destroy()
    session?.destroy()
  }))

test('the CA of clients is read from a file, and followed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeloop-ca-'))
  try {
    const file = join(folder, 'ca.crt')
    await writeFile(file, certs.authority.ca)
    await running({ clientCa: { file } }, (server) => server.handle('/validate', echo), async ({ port, clock }) => {
      const { cert, key } = certs.client
      const ask = async (): Promise<number> =>
        (await ask1(port, { ca: certs.authority.ca, cert, key, path: '/validate' })).status
      assert.equal(await ask(), 403)
      await writeFile(file, certs.clients.ca)
      let status = 403
      for (let polls = 0; status !== 200 && polls < 50; polls++) {
        await clock.advance(10_000)
        status = await ask()
      }
      assert.equal(status, 200)
    })
    const server = new WebhookServer({
      certificates: new TestSource(certs.first),
      clientCa: { file: join(folder, 'none') },
    })
    await assert.rejects(
      server.start(new AbortController().signal),
      /^ConfigError: Cannot verify the clients of webhooks: /,
    )
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a certificate whose end is near is one warning a day, and one that has expired is not ready', async () => {
  const hour = 60 * 60 * 1000
  const names = { commonName: 'a', dnsNames: ['localhost'], usage: 'server' } as const
  await running({}, () => {}, async ({ source, server, clock, lines }) => {
    // It is valid from an hour before now.
    const renew = async () =>
      source.set(await certs.authority.issue({ ...names, now: clock.now(), validForMs: 299 * hour }))
    const warnings = async (): Promise<number> => {
      await server.check()
      return lines.filter((line) => line.startsWith('warn The certificate of the webhooks ends soon')).length
    }
    await renew()
    await clock.advance(283 * hour)
    assert.equal(await warnings(), 0)
    await clock.advance(2 * hour)
    assert.deepEqual([await warnings(), await warnings()], [1, 1])
    await clock.advance(14 * hour)
    await assert.rejects(server.check(), /^Error: The certificate of the webhooks has expired at \d/)
    await server.ready(new AbortController().signal)
    await renew()
    assert.equal(await warnings(), 1)
    source.set(await certs.authority.issue({ ...names, now: clock.now(), validForMs: 2400 * hour }))
    await clock.advance(2300 * hour)
    assert.equal(await warnings(), 2)
    await clock.advance(23 * hour)
    assert.equal(await warnings(), 2)
    await clock.advance(hour)
    assert.equal(await warnings(), 3)
    // The next one has warnings of its own.
    source.set(
      await certs.authority.issue({ ...names, now: clock.now() - 2390 * hour, validForMs: 2400 * hour }),
    )
    assert.equal(await warnings(), 4)
  })
})

test('a failure of the certificate source before the first pair is that of the start and of ready', async () => {
  const source: CertificateSource = { run: () => Promise.reject(new ConfigError('no certificate at /certs')) }
  const server = new WebhookServer({ certificates: source, port: 0 })
  const ready = assert.rejects(server.ready(new AbortController().signal), /no certificate at \/certs/)
  await assert.rejects(server.start(new AbortController().signal), /no certificate at \/certs/)
  await ready
})

test('a failure of the certificate source later stops the server', async () => {
  let fail = (_: Error): void => {}
  const source: CertificateSource = {
    run: (use) => (use(certs.first), new Promise((_, reject) => (fail = reject))),
  }
  const server = new WebhookServer({ certificates: source, host: '127.0.0.1', port: 0 })
  const signal = new AbortController().signal
  const ended = server.start(signal)
  await server.ready(signal)
  fail(new Error('the Secret is gone'))
  await assert.rejects(ended, /the Secret is gone/)
  await assert.rejects(server.check())
})

test('a stop before the first pair ends the start and its source', async () => {
  const source = new TestSource()
  const stop = new AbortController()
  const server = new WebhookServer({ certificates: source, port: 0 })
  const ended = server.start(stop.signal)
  await nextTurn()
  assert.equal(source.isRunning, true)
  stop.abort()
  await ended
  assert.equal(source.isRunning, false)
  await assert.rejects(server.check(), /does not listen yet/)
})

test('a port in use is an error that says what to do', () =>
  running({}, () => {}, async ({ port }) => {
    const source = new TestSource(certs.first)
    const server = new WebhookServer({ host: '127.0.0.1', port, certificates: source })
    const ready = assert.rejects(server.ready(new AbortController().signal), /another process uses the port/)
    await assert.rejects(
      server.start(new AbortController().signal),
      new RegExp(
        `^ConfigError: Cannot serve webhooks on 127.0.0.1, port ${port}: another process uses the port; stop it, or ` +
          'choose another one with `webhooks: { port: … }`$',
      ),
    )
    await ready
    assert.equal(source.isRunning, false)
  }))

test('a certificate that is replaced while the server begins to listen is served', () => {
  const source: CertificateSource = {
    async run(use, signal) {
      use(certs.first)
      // Longer than the server takes to begin, and shorter than the system takes to listen.
      for (let step = 0; step < 50; step++) await Promise.resolve()
      use(certs.second)
      await aborted(signal)
    },
  }
  return running({ certificates: source }, () => {}, async ({ port }) => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: certs.authority.ca })
    await once(socket, 'secureConnect')
    assert.equal(socket.getPeerCertificate().subject.CN, 'second')
    socket.destroy()
  })
})

test('a stop lets an open request end, refuses new ones, and aborts what is left at its timeout', async () => {
  const held = new Held()
  const setUp = (server: WebhookServer): void => server.handle('/slow', held.handler)
  await running({}, setUp, async ({ call, stop, clock, ended, port, server }) => {
    const slow = call({ path: '/slow?timeout=30s' })
    const { answer } = await held.nth(0)
    const hangs = call({ path: '/slow' }).catch((error: Error) => error)
    const { signal } = await held.nth(1)
    stop.abort()
    await assert.rejects(ask1(port, { ca: certs.authority.ca, path: '/slow' }))
    await assert.rejects(server.check())
    answer()
    assert.equal((await slow).status, 200)
    await clock.advance(9999)
    assert.equal(signal.aborted, false)
    await clock.advance(1)
    await ended
    assert.equal(signal.aborted, true)
    await hangs
    assert.equal(clock.pending, 0)
    // Ready means that a handshake works.
    await assert.rejects(server.ready(new AbortController().signal), /Cannot reach the own webhook server on port/)
  })
})

test('a stop of the operator is followed by a time of service, which a failure has not', async () => {
  const { controller: stopping, listeners } = countedSignal()
  const options = { shutdownDelayMs: 5000, stopping: stopping.signal }
  const setUp = (server: WebhookServer): void => server.handle('/validate', echo)
  await running(options, setUp, async ({ stop, ended, server }) => {
    stop.abort()
    await ended
    assert.equal(listeners(), 0)
    await assert.rejects(server.check())
  })
  await running(options, setUp, async ({ stop, clock, ended, port, server }) => {
    const agent = new Agent({ keepAlive: true })
    const connection = async (): Promise<unknown> =>
      (await ask1(port, { ca: certs.authority.ca, agent, path: '/validate' })).headers['connection']
    assert.notEqual(await connection(), 'close')
    stopping.abort()
    // No connection is idle when they are closed: a client could just begin a request on it.
    assert.equal(await connection(), 'close')
    assert.equal(await connection(), 'close')
    // The leader's work stops before this server.
    await clock.advance(3000)
    stop.abort()
    await clock.advance(1999)
    const client = openClient(port, { ca: certs.authority.ca })
    assert.equal((await client.ask({ path: '/validate' })).status, 200)
    client.close()
    assert.equal((await ask1(port, { ca: certs.authority.ca, path: '/validate' })).status, 200)
    await clock.advance(1)
    await ended
    assert.equal(clock.pending, 0)
    await assert.rejects(server.check())
    agent.destroy()
  })
})

test('a client that is not one of TLS is one line with a limited rate, and the server stays', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ port, lines, call }) => {
    lines.length = 0
    const garbage = (bytes: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connectTcp(port, '127.0.0.1', () => socket.write(bytes))
        socket.on('error', () => {})
        socket.on('data', () => {})
        socket.on('close', () => resolve())
      })
    await garbage('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /^warn A client of the webhooks could not connect, or did not speak TLS and HTTP \{"error"/)
    for (let i = 0; i < 20; i++) await garbage('garbage garbage garbage')
    assert.ok(lines.length <= 5, String(lines.length))
    assert.equal((await call({ path: '/validate' })).status, 200)
  }))

test('a client that does not trust the certificate is one line that names the caBundle', () =>
  running({}, (server) => server.handle('/validate', echo), async ({ port, lines }) => {
    lines.length = 0
    await assert.rejects(ask1(port, { ca: certs.clients.ca, path: '/validate' }))
    for (let i = 0; i < 200 && lines.length === 0; i++) await nextTurn()
    // Not every runtime's client sends an alert.
    assert.ok(lines.every((line) => line.includes('check the caBundle')), lines.join())
    assert.ok(lines.length <= 1)
  }))

test('metrics count requests by path and status, their time, those in flight, and throws', () => {
  const meter = memoryMeter()
  const held = new Held()
  return running({ meter, maxBodyBytes: 10 }, (server) => {
    server.handle('/validate', held.handler)
    server.handle('/throws', () => Promise.reject(new Error('x')))
    server.handle('/convert', () => Promise.resolve({ status: 200, body: '{}', failed: true }), {
      protocol: 'conversion',
    })
  }, async ({ call, clock }) => {
    const value = (name: string, labels?: Record<string, string>): number | undefined =>
      meter.value(`controller_runtime_${name}`, labels)
    const webhook = '/validate'
    const requests = (webhook: string, ...codes: number[]): (number | undefined)[] =>
      codes.map((code) => value('webhook_requests_total', { webhook, code: String(code) }))
    assert.deepEqual(requests(webhook, 200, 500, 413), [0, 0, undefined])
    const open = call({ path: webhook })
    const { answer } = await held.nth(0)
    assert.equal(value('webhook_requests_in_flight', { webhook }), 1)
    await clock.advance(2000)
    answer()
    await open
    await call({ path: webhook, body: 'x'.repeat(11) })
    await call({ path: webhook, method: 'GET' })
    for (const path of ['/throws', '/convert', '/none']) await call({ path })
    assert.equal(value('webhook_requests_in_flight', { webhook }), 0)
    const counts = [...requests(webhook, 200, 405, 413), ...requests('/throws', 500), ...requests('/convert', 200)]
    assert.deepEqual([...counts, ...requests('/none', 404)], [1, 1, 1, 1, 1, undefined])
    assert.deepEqual(meter.observed('controller_runtime_webhook_latency_seconds', { webhook }), [2])
    assert.deepEqual([value('webhook_panics_total'), value('conversion_webhook_panics_total')], [1, 1])
  })
})

test('the end of the certificate is measured, also of the next one', () => {
  const meter = memoryMeter()
  const ends = (): number => meter.value('kubeloop_certificate_expiration_timestamp_seconds', { server: 'webhooks' })!
  return running({ meter }, () => {}, async ({ source }) => {
    assert.equal(ends(), validityOf(certs.first.cert).toMs / 1000)
    const next = await certs.authority.issue({
      ...{ commonName: 'next', dnsNames: ['localhost'], usage: 'server' },
      validForMs: 3_600_000,
    })
    source.set(next)
    assert.equal(ends(), validityOf(next.cert).toMs / 1000)
  })
})
