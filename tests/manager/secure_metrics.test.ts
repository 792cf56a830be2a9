/** Tests the metrics over TLS, over real sockets: certificates, tokens, limits, start and stop. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { connect } from 'node:tls'
import { nextTurn, systemClock } from '../../lib/async/clock.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { HttpRequest } from '../../lib/core/transport.ts'
import {
  type MetricsServer,
  metricsServer,
  type MetricsServerOptions,
} from '../../lib/manager/servers/metrics_server.ts'
import { Server } from '../../lib/manager/servers/server.ts'
import { serveSecurely } from '../../lib/manager/servers/secure_metrics.ts'
import type { Listen } from '../../lib/manager/servers/server.ts'
import type { IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { type Answer, ask1, ask2, type Call, noHttp2, openSession } from '../runtime/https_clients.ts'
import { type Certificates, certificates } from '../webhook/certificates.ts'

let certs: Certificates
before(async () => void (certs = await certificates()))

const registry = { contentType: 'text/plain; version=0.0.4', metrics: () => Promise.resolve('a_total 1\n') }

interface Options {
  readonly certs?: string
  /** The user of each token that is valid; those called `alice` have the right. */
  readonly tokens?: Readonly<Record<string, string>>
  readonly clock?: Clock
  /** Instead of 512. */
  readonly maxConnections?: number
  readonly setUp?: (server: MetricsServer) => void
}

interface Running {
  readonly server: MetricsServer
  readonly port: number
  readonly lines: string[]
  readonly meter: ReturnType<typeof memoryMeter>
  readonly stop: AbortController
  readonly ended: Promise<void>
  get(call?: Call & { readonly token?: string }): Promise<Answer>
}

/** Answers reviews as an API server does. */
function reviewer(tokens: Readonly<Record<string, string>>) {
  return {
    async raw({ body }: HttpRequest): Promise<unknown> {
      await nextTurn()
      const { spec } = JSON.parse(body as string) as { spec: { token?: string; user?: string } }
      if (spec.token === undefined) return { status: { allowed: spec.user === 'alice' } }
      const username = tokens[spec.token]
      return { status: username === undefined ? { error: 'unknown' } : { authenticated: true, user: { username } } }
    },
  }
}

async function running(options: Options, run: (running: Running) => Promise<void>): Promise<void> {
  const { tokens, clock = systemClock, setUp } = options
  const lines: string[] = []
  const line = (level: string) => (message: string): void => void lines.push(`${level} ${message}`)
  const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  const meter = memoryMeter()
  const secure = { certs: options.certs, api: tokens && reviewer(tokens), clock, log, meter }
  const listen: Listen = (http, signal) => {
    assert.equal(http.maxConnections, 512)
    return serveSecurely(secure, { ...http, maxConnections: options.maxConnections ?? 512 }, signal)
  }
  const server = metricsServer(Server, { registry, clock, log, listen } as MetricsServerOptions)
  setUp?.(server)
  const stop = new AbortController()
  const ended = server.start(stop.signal)
  ended.catch(() => {})
  try {
    await server.ready(stop.signal)
    const port = server.port!
    const get = ({ token, ...call }: Call & { readonly token?: string } = {}): Promise<Answer> =>
      ask1(port, {
        ...{ path: '/metrics', method: 'GET', rejectUnauthorized: false },
        ...call,
        headers: { ...call.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      })
    await run({ server, port, lines, meter, stop, ended, get })
  } finally {
    stop.abort()
    await ended.catch(() => {})
    for (const token of Object.keys(tokens ?? {})) assert.ok(!lines.some((each) => each.includes(token)), token)
  }
}

/** Calls `work` with a folder that has the first certificate. */
async function withFolder(work: (folder: string, put: (pair: IssuedCertificate) => Promise<void>) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'kubeloop-metrics-'))
  const put = async ({ cert, key }: IssuedCertificate): Promise<void> => {
    for (const [name, text] of [['tls.crt', cert], ['tls.key', key]] as const) {
      await writeFile(join(folder, `${name}.new`), text)
      await rename(join(folder, `${name}.new`), join(folder, name))
    }
  }
  try {
    await put(certs.first)
    await work(folder, put)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a certificate is made for the process, and the metrics are served over HTTP/1.1 and HTTP/2', () =>
  running({}, async ({ port, get, lines, meter }) => {
    const answer = await get()
    assert.deepEqual(
      [answer.status, answer.text, answer.headers['content-type']],
      [200, 'a_total 1\n', registry.contentType],
    )
    assert.equal((await get({ path: '/x' })).status, 404)
    if (!noHttp2) {
      const session = openSession(port, { rejectUnauthorized: false } as object)
      const second = await ask2(session, { path: '/metrics', method: 'GET' })
      assert.equal(session.remoteSettings.maxConcurrentStreams, 32)
      session.destroy()
      assert.deepEqual([second.status, second.text], [200, 'a_total 1\n'])
    }
    await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`))
    // A client that verifies certificates does not trust it.
    await assert.rejects(ask1(port, { path: '/metrics', method: 'GET', ca: certs.authority.ca }))
    assert.equal(lines[0], `info Serving metrics on 127.0.0.1:${port}`)
    const ends = meter.value('kubeloop_certificate_expiration_timestamp_seconds', { server: 'metrics' })!
    assert.ok(Math.abs(ends * 1000 - Date.now() - 365 * 24 * 3_600_000) < 3_600_000, String(ends))
  }))

test('certificate files are served, verified by their CA, and swapped while running', () =>
  withFolder((folder, put) =>
    running({ certs: folder }, async ({ get, lines }) => {
      const ca = { ca: certs.authority.ca, rejectUnauthorized: true } as object
      assert.equal((await get(ca)).text, 'a_total 1\n')
      assert.deepEqual(lines.filter((line) => /certificate/.test(line)), [])
      const swapped = new Latch()
      lines.push = (...added) => {
        if (added.some((line) => line === 'info Serving metrics with a new certificate')) swapped.open()
        return Array.prototype.push.apply(lines, added)
      }
      const names = { commonName: 'next', ipAddresses: ['127.0.0.1'], usage: 'server' } as const
      await put(await certs.clients.issue(names))
      await swapped.opened
      assert.equal((await get({ ...ca, ca: certs.clients.ca } as object)).text, 'a_total 1\n')
      await assert.rejects(get(ca))
    })
  ))

/** Returns a server that serves its metrics without reviews. */
function unreviewed(clock: Clock, certs?: string, address = 0): MetricsServer {
  const listen: Listen = (...of) =>
    serveSecurely({ certs, api: undefined, clock, log: silentLog, meter: undefined }, ...of)
  return metricsServer(Server, { address, registry, clock, listen } as MetricsServerOptions)
}

test('without a certificate the start fails, with both remedies', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeloop-metrics-'))
  const clock = new FakeClock()
  const ended = unreviewed(clock, folder).start(new AbortController().signal)
  let isEnded = false
  ended.catch(() => (isEnded = true))
  // The files may be written just after the start.
  while (!isEnded) await clock.advance(1000)
  await assert.rejects(
    ended,
    new RegExp(
      '^ConfigError: Cannot start the server "metrics": Cannot serve metrics without a certificate; mount one at ' +
        `"${folder}" with tls\\.crt and tls\\.key, as cert-manager writes them, or let the operator make its own with ` +
        '`metrics: { tls: true }`: Cannot read the certificate ',
    ),
  )
  assert.equal(clock.pending, 0)
  await rm(folder, { recursive: true })
})

test('a stop during the start ends it without an error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeloop-metrics-'))
  const clock = new FakeClock()
  const stop = new AbortController()
  const ended = unreviewed(clock, folder).start(stop.signal)
  await nextTurn()
  stop.abort()
  await ended
  assert.equal(clock.pending, 0)
  await rm(folder, { recursive: true })
})

test('a port in use is reported', () =>
  running({}, async ({ port }) => {
    await assert.rejects(
      unreviewed(systemClock, undefined, port).start(new AbortController().signal),
      /^ConfigError: Cannot start the server "metrics": Cannot listen on 127\.0\.0\.1:\d+: the address is in use/,
    )
  }))

const TOKENS = { 'token-of-alice': 'alice', 'token-of-bob': 'bob' }

test('with auth: 200 with the right, 403 without it, 401 without a valid token; handlers beside it, too', () =>
  running(
    { tokens: TOKENS, setUp: (server) => server.handle('/own', () => new Response('own')) },
    async ({ get, lines }) => {
      const none = await get()
      assert.deepEqual([none.status, none.text, none.headers['www-authenticate']], [401, 'Unauthorized\n', 'Bearer'])
      const wrong = await get({ token: 'made-up' })
      assert.deepEqual([wrong.status, wrong.text, wrong.headers['www-authenticate']], [401, 'Unauthorized\n', 'Bearer'])
      const bob = await get({ token: 'token-of-bob' })
      assert.deepEqual([bob.status, bob.text], [
        403,
        'Forbidden: "bob" must be allowed to get the non-resource URL "/metrics"\n',
      ])
      const alice = await get({ token: 'token-of-alice' })
      assert.deepEqual([alice.status, alice.text], [200, 'a_total 1\n'])
      assert.deepEqual([(await get({ path: '/own' })).status, (await get({ path: '/x' })).status], [401, 401])
      assert.equal((await get({ path: '/own', token: 'token-of-alice' })).text, 'own')
      assert.ok(lines.every((line) => /^(info Serving|debug Refused)/.test(line)), lines.join('\n'))
    },
  ))

test('the judged path is the served one, whatever the target and the host header are', () =>
  running({ tokens: TOKENS }, async ({ get, lines }) => {
    lines.length = 0
    for (const path of ['/x/../metrics', '//metrics', '/%6detrics', '/metrics?a=/x']) {
      await get({ path, token: 'token-of-bob' })
    }
    await get({ path: '/x', headers: { host: 'a/metrics?' }, token: 'token-of-bob' }).catch(() => {})
    assert.equal((await get({ path: '/x/../metrics', token: 'token-of-alice' })).status, 200)
  }))

test('without a handler of its own the server takes no body', () =>
  running({ tokens: TOKENS }, async ({ get }) => {
    assert.equal((await get({ method: 'POST', body: 'x', token: 'token-of-alice' })).status, 413)
  }))

test('a body without a token is refused before it is read, a slow one ends after 30 s', async () => {
  const clock = new FakeClock({ nowMs: Date.now() })
  const setUp = (server: MetricsServer): void => server.handle('/own', () => new Response(''))
  await running({ tokens: TOKENS, clock, setUp }, async ({ port }) => {
    const begin = (headers: Record<string, string>): Promise<number> =>
      new Promise((resolve) => {
        const to = {
          host: '127.0.0.1',
          port,
          path: '/metrics',
          method: 'POST',
          rejectUnauthorized: false,
          agent: false,
        }
        const request = httpsRequest(
          { ...to, headers: { ...headers, 'content-length': '100' } } as never,
          (response) => {
            resolve(response.resume().statusCode ?? 0)
            request.destroy()
          },
        )
        request.on('error', () => {})
        request.write('x')
      })
    assert.equal(await begin({}), 401)
    const slow = begin({ authorization: 'Bearer token-of-alice' })
    let status: number | undefined
    void slow.then((got) => (status = got))
    // The request arrives in its own time.
    while (status === undefined) await clock.advance(30_000)
    assert.equal(status, 408)
  })
})

const buffers = 'Deno' in globalThis ? 'Deno takes a response into memory before its client reads it' : false

test('a client that does not read its response is ended after 30 s', { skip: buffers }, async () => {
  const clock = new FakeClock({ nowMs: Date.now() })
  const chunk = new Uint8Array(1024 * 1024)
  const cancelled = new Latch()
  const setUp = (server: MetricsServer): void =>
    server.handle('/large', () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(chunk)
          },
          cancel: () => void cancelled.open(),
        }, { highWaterMark: 0 }),
      ))
  await running({ clock, setUp }, async ({ port }) => {
    const to = { host: '127.0.0.1', port, path: '/large', rejectUnauthorized: false, agent: false }
    const begun = new Latch()
    const request = httpsRequest(to as never, (response) => {
      response.pause()
      begun.open()
    })
    request.on('error', () => {})
    request.end()
    await begun.opened
    let isCancelled = false
    void cancelled.opened.then(() => (isCancelled = true))
    while (!isCancelled) await clock.advance(30_000)
    request.destroy()
  })
})

test('a connection without a request is closed after 32 s, and too many close the oldest', async () => {
  const clock = new FakeClock({ nowMs: Date.now() })
  await running({ clock, maxConnections: 4 }, async ({ port, get }) => {
    const open = async (): Promise<{ readonly closed: Promise<unknown> }> => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }).on('error', () => {})
      const closed = new Promise((resolve) => socket.on('close', resolve))
      await once(socket, 'secureConnect')
      return { closed }
    }
    const silent = await open()
    // Another one, served last, shows that the server has seen it.
    await get()
    await clock.advance(32_000)
    await Promise.race([silent.closed, get().then(() => assert.fail('it is open'))])
    const oldest = await open()
    for (let count = 0; count < 8; count++) await open()
    await oldest.closed
  })
})

test('a stop closes the port and leaves no timer', async () => {
  const clock = new FakeClock({ nowMs: Date.now() })
  await withFolder((folder) =>
    running({ certs: folder, tokens: TOKENS, clock }, async ({ get, stop, ended }) => {
      assert.equal((await get({ token: 'token-of-alice' })).status, 200)
      stop.abort()
      await ended
      await assert.rejects(get())
    })
  )
  assert.equal(clock.pending, 0)
})
