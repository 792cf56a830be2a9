/** Tests kept connections that stopped responding, as after a load balancer's failover: one timeout closes them all. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { NetworkError } from '../../lib/core/errors.ts'
import type { HttpBody, Transport } from '../../lib/core/transport.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import {
  certificates,
  type Handler,
  isNetworkError,
  type Keep,
  keeping,
  servePlain,
  serveTls,
  type TestServer,
  textOf,
} from './servers.ts'

type FailingServer = Awaited<ReturnType<typeof serveFailing>>

async function serveFailing(serve: (handler: Handler) => Promise<TestServer>) {
  const known = new Set<Socket>()
  const dead = new Set<Socket>()
  const waiting: (() => void)[] = []
  let together = Infinity
  let lost = 0
  let onLost = (): void => {}
  let onSlow = (): void => {}
  const server = await serve((request, response) => {
    known.add(request.socket)
    if (dead.has(request.socket)) {
      lost++
      return onLost()
    }
    if (request.url!.includes('watch')) return void response.write('event\n')
    if (request.url === '/slow') return onSlow()
    if (request.url !== '/together') return void response.end('ok')
    waiting.push(() => response.end('ok'))
    if (waiting.length === together) { for (const answer of waiting.splice(0)) answer() }
  })
  return {
    server,
    /** From now on, open connections get no response; new ones do. */
    failOver: () => known.forEach((socket) => dead.add(socket)),
    /** Resolves when this many requests have arrived on dead connections. */
    lost: (count: number) => new Promise<void>((resolve) => (onLost = () => lost >= count && resolve(), onLost())),
    /** Resolves when the next request for `/slow` has arrived; it never gets a response. */
    slow: () => new Promise<void>((resolve) => (onSlow = resolve)),
    /** Opens this many connections and leaves them idle. */
    async keepIdle(transport: Transport, count: number) {
      together = count
      await Promise.all(Array.from({ length: count }, () => textOf(transport, { path: '/together' })))
    },
  }
}

/** Starts a failing server, and returns a transport to it and the transport's clock. */
async function toFailing(keep: Keep, serve = serveTls) {
  const failing = await serveFailing(serve)
  keep(failing.server)
  const clock = new FakeClock()
  return { failing, clock, transport: await keep.transportTo(failing.server, {}, { clock }) }
}

/** Asserts that all earlier connections are closed: a request opens a new one. */
async function areClosed({ server }: FailingServer, transport: Transport, before: number): Promise<void> {
  assert.equal((await textOf(transport, { method: 'POST', body: '{}' })).text, 'ok')
  assert.equal(server.connections(), before + 1)
  await server.closedConnections(before)
}

for (const method of ['GET', 'PUT'] as const) {
  keeping(`a ${method} that times out closes all idle connections`, async (keep) => {
    const { failing, clock, transport } = await toFailing(keep)
    await failing.keepIdle(transport, 4)
    failing.failOver()
    const answer = textOf(transport, { method })
    await failing.lost(1)
    const refused = assert.rejects(answer, isNetworkError('response', /^/, 'ETIMEDOUT'))
    await clock.advance(75_000)
    await refused
    await areClosed(failing, transport, 4)
  })
}

/** Sends a part of a body and leaves the rest to the test. */
type Half = (response: ServerResponse) => void
const halves: Readonly<Record<string, Half>> = {
  'a body with a length': (response) => response.writeHead(200, { 'content-length': 1000 }).write('{"kind":'),
  'a body in chunks': (response) => response.write('{"kind":'),
  'a body without a byte': (response) => response.writeHead(200, { 'content-length': 10 }).flushHeaders(),
  'a compressed body': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipSync('x'.repeat(1000)).subarray(0, 12)),
  'the body of an error': (response) => response.writeHead(403).write('{"kind":"Status",'),
}

const readers: readonly ((body: HttpBody) => Promise<unknown>)[] = [
  (body) => body.text(),
  async (body) => {
    for await (const _ of body);
  },
]

for (const [what, half] of Object.entries(halves)) {
  keeping(`${what} that stops ends 75 s after its last byte, and closes all idle connections`, async (keep) => {
    const part = Promise.withResolvers<ServerResponse>()
    const server = await keep.serveTls((request, response) => {
      if (!request.url!.includes('half')) return void response.end('ok')
      half(response)
      part.resolve(response)
    })
    for (const [i, read] of readers.entries()) {
      const clock = new FakeClock()
      const transport = await keep.transportTo(server, {}, { clock })
      const before = server.connections()
      const path = what.includes('error') ? '/half?watch=true' : '/api/v1/namespaces/proxy/configmaps/proxy?half'
      const answer = await transport({ method: 'GET', path })
      await textOf(transport)
      const ends: unknown[] = []
      const ended = read(answer.body).catch((error: unknown) => ends.push(error))
      await clock.advance(74_999)
      assert.equal(ends.length, 0, `reader ${i}`)
      await clock.advance(1)
      await ended
      const [end] = ends
      isNetworkError(
        'body',
        /Cannot read the answer of .*: the server stopped .* sent nothing for 75 s$/,
        'ETIMEDOUT',
      )(end)
      // Neither its connection nor the idle one is used again.
      await textOf(transport)
      assert.equal(server.connections(), before + 3)
      await server.closedConnections(2)
      assert.equal(clock.pending, 0)
    }
  })
}

keeping('each part of a body moves its deadline, and an unread body has one, too', async (keep) => {
  let response!: ServerResponse
  const server = await keep.servePlain((_, answer) => (response = answer).write('a'))
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, {}, { clock })
  const chunks = (await transport({ method: 'GET', path: '/' })).body[Symbol.asyncIterator]()
  await chunks.next()
  for (const part of ['b', 'c']) {
    await clock.advance(74_999)
    response.write(part)
    assert.equal(String(Buffer.from((await chunks.next()).value as Uint8Array)), part)
  }
  const rest = chunks.next()
  await clock.advance(74_999)
  response.end()
  assert.equal((await rest).done, true)
  const { body } = await transport({ method: 'GET', path: '/' })
  await clock.advance(75_000)
  await server.closedConnections(1)
  await assert.rejects(body.text(), /sent nothing for 75 s/)
})

keeping('the deadline of a body begins with the head, however late that is', async (keep) => {
  const asked = Promise.withResolvers<ServerResponse>()
  const server = await keep.servePlain((_, response) => asked.resolve(response))
  const clock = new FakeClock()
  const answer = (await keep.transportTo(server, {}, { clock }))({ method: 'GET', path: '/' })
  const response = await asked.promise
  await clock.advance(60_000)
  response.flushHeaders()
  const { body } = await answer
  const ended = assert.rejects(body.text(), /sent nothing for 75 s/)
  await clock.advance(74_999)
  assert.equal(clock.pending, 1)
  await clock.advance(1)
  await ended
})

keeping('the rest of a cancelled small body has the deadline, too', async (keep) => {
  const server = await keep.servePlain((_, response) =>
    void response.writeHead(200, { 'content-length': 10 }).write('half')
  )
  const clock = new FakeClock()
  const { body } = await (await keep.transportTo(server, {}, { clock }))({ method: 'GET', path: '/' })
  body.cancel()
  await clock.advance(75_000)
  await server.closedConnections(1)
})

keeping('while a reader is slower than the server, the deadline of the body rests', async (keep) => {
  const size = 8 * 1024 * 1024
  const server = await keep.servePlain((_, response) => void response.end('x'.repeat(size)))
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, {}, { clock })
  let read = 0
  for await (const chunk of (await transport({ method: 'GET', path: '/' })).body) {
    read += chunk.length
    // Until the buffer is full, and then between the chunks: the server has turns to send more.
    for (let turn = 0; turn < (read === chunk.length ? 500 : 50); turn++) await nextTurn()
    await clock.advance(10_000)
  }
  assert.equal(read, size)
})

keeping('watches, followed logs and streams through a proxy may pause', async (keep) => {
  const server = await keep.servePlain((_, response) => void response.write('event\n'))
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, {}, { clock })
  for (
    const path of [
      '/api/v1/pods?limit=1&watch=true',
      '/?watch=1&fieldSelector=a',
      '/api/v1/namespaces/a/pods/b/log?follow=true',
      '/api/v1/namespaces/a/services/b/proxy/events',
      '/api/v1/nodes/a/proxy?b=c',
    ]
  ) {
    const { body } = await transport({ method: 'GET', path })
    const chunks = body[Symbol.asyncIterator]()
    await chunks.next()
    let ended = false
    const next = chunks.next().then(() => (ended = true))
    await clock.advance(3_600_000)
    assert.equal(ended, false, path)
    body.cancel()
    await next
  }
  assert.equal(clock.pending, 0)
})

keeping(
  "a caller's timeout shortly after a request, or of a watch, closes no healthy idle connection",
  async (keep) => {
    const { failing, clock, transport } = await toFailing(keep)
    await failing.keepIdle(transport, 4)
    for (const path of ['/slow', '/?watch=1']) {
      await clock.advance(60_000)
      const controller = new AbortController()
      const arrived = failing.slow()
      const sent = transport({ method: 'GET', path, signal: controller.signal })
      if (path === '/slow') await arrived
      const body = path === '/slow' ? undefined : (await sent).body
      await clock.advance(path === '/slow' ? 999 : 60_000)
      controller.abort(new DOMException('the reconcile took longer than 60 s', 'TimeoutError'))
      await assert.rejects(body?.text() ?? sent, /took longer than 60 s/)
    }
    await failing.server.closedConnections(2)
    await failing.keepIdle(transport, 2)
    assert.equal(failing.server.connections(), 4)
  },
)

keeping('a request that its caller aborts with a TimeoutError after 1 s closes all idle connections', async (keep) => {
  for (const serve of [serveTls, servePlain]) {
    const { failing, clock, transport } = await toFailing(keep, serve)
    await failing.keepIdle(transport, 4)
    failing.failOver()
    const controller = new AbortController()
    const answer = textOf(transport, { method: 'PUT', body: '{}', signal: controller.signal })
    await failing.lost(1)
    await clock.advance(1000)
    // The same as AbortSignal.timeout().
    controller.abort(new DOMException('the server did not answer within 5 s', 'TimeoutError'))
    await assert.rejects(answer, /did not answer within 5 s/)
    await areClosed(failing, transport, 4)
  }
})

keeping('a watch that its reader aborts for silence closes all idle connections', async (keep) => {
  const { failing, transport } = await toFailing(keep)
  await failing.keepIdle(transport, 4)
  const controller = new AbortController()
  const { body } = await transport({ method: 'GET', path: '/?watch=1', signal: controller.signal })
  const chunks = body[Symbol.asyncIterator]()
  await chunks.next()
  failing.failOver()
  const silence = new NetworkError('nothing was received', { phase: 'body', code: 'ETIMEDOUT' })
  const next = chunks.next()
  controller.abort(silence)
  await assert.rejects(next, (error) => error === silence)
  await areClosed(failing, transport, 4)
})

keeping('other aborts of requests and watches do not close idle connections', async (keep) => {
  const { failing, transport } = await toFailing(keep)
  await failing.keepIdle(transport, 4)
  const ended = new DOMException('the work has ended', 'AbortError')
  const [request, watch] = [new AbortController(), new AbortController()]
  const arrived = failing.slow()
  const answer = transport({ method: 'GET', path: '/slow', signal: request.signal })
  const { body } = await transport({ method: 'GET', path: '/?watch=1', signal: watch.signal })
  await arrived
  request.abort(ended)
  watch.abort(ended)
  await assert.rejects(answer, (error) => error === ended)
  await assert.rejects(body.text(), (error) => error === ended)
  // Two of the four connections ended with the aborts.
  await failing.server.closedConnections(2)
  await failing.keepIdle(transport, 2)
  assert.equal(failing.server.connections(), 4)
})

keeping('a timeout before the connection is open does not close idle connections', async (keep) => {
  const { failing, transport } = await toFailing(keep)
  await failing.keepIdle(transport, 2)
  // Both are in use, so that this request needs a third one, and is aborted before that is open.
  const slow = [1, 2].map(() => transport({ method: 'GET', path: '/?watch=1' }))
  for (const watch of slow) await watch
  const controller = new AbortController()
  const answer = textOf(transport, { signal: controller.signal })
  controller.abort(new DOMException('too late', 'TimeoutError'))
  await assert.rejects(answer, /too late/)
  for (const watch of slow) (await watch).body.cancel()
  assert.equal((await textOf(transport)).text, 'ok')
})

keeping('a second timeout on an old connection does not close new ones', async (keep) => {
  const { failing, clock, transport } = await toFailing(keep)
  await failing.keepIdle(transport, 3)
  failing.failOver()
  const first = assert.rejects(textOf(transport), /ETIMEDOUT/)
  await failing.lost(1)
  await clock.advance(10_000)
  const second = assert.rejects(textOf(transport), /ETIMEDOUT/)
  await failing.lost(2)
  await clock.advance(65_000)
  await first
  assert.equal((await textOf(transport)).text, 'ok')
  await clock.advance(10_000)
  await second
  assert.equal((await textOf(transport)).text, 'ok')
  assert.equal(failing.server.connections(), 4, 'the connection that the second request did not use is kept')
})

keeping('open requests continue, and their connections are closed after them', async (keep) => {
  const answers: (() => void)[] = []
  const arrived = Promise.withResolvers<void>()
  const server = await keep.serveTls((request, response) => {
    if (request.url !== '/slow') return void (request.url === '/silent' ? arrived.resolve() : response.end('ok'))
    answers.push(() => response.end('late'))
    if (answers.length === 2) arrived.resolve()
  })
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, {}, { clock })
  const slow = [1, 2].map(() => textOf(transport, { path: '/slow' }))
  await arrived.promise
  const controller = new AbortController()
  const silent = textOf(transport, { path: '/silent', signal: controller.signal })
  // After a round trip on a fourth connection, the silent request has been sent.
  await textOf(transport)
  await clock.advance(1000)
  controller.abort(new DOMException('too late', 'TimeoutError'))
  await assert.rejects(silent, /too late/)
  for (const answer of answers) answer()
  assert.deepEqual((await Promise.all(slow)).map(({ text }) => text), ['late', 'late'])
  // All four: the silent one, the idle one, and the two that became free.
  await server.closedConnections(4)
  await textOf(transport)
  assert.equal(server.connections(), 5)
})

keeping(
  'connections in use at a certificate rotation are closed once they are free, for each rotation',
  async (keep) => {
    const { authority } = await certificates()
    const answers: (() => void)[] = []
    let arrived = (): void => {}
    const server = await keep.serveTls((request, response) => {
      if (request.url !== '/slow') return void response.end('ok')
      answers.push(() => response.end('late'))
      arrived()
    }, { requestCert: true, rejectUnauthorized: false })
    let pair = await authority.issue({ commonName: 'me', usage: 'client' })
    const transport = await keep.transportTo(server, { credentials: () => Promise.resolve(pair) })
    const slow: Promise<{ text: string }>[] = []
    for (let round = 0; round < 3; round++) {
      const begun = new Promise<void>((resolve) => (arrived = resolve))
      slow.push(textOf(transport, { path: '/slow' }))
      await begun
      pair = await authority.issue({ commonName: `me${round}`, usage: 'client' })
    }
    for (const answer of answers) answer()
    assert.deepEqual((await Promise.all(slow)).map(({ text }) => text), ['late', 'late', 'late'])
    await textOf(transport)
    await server.closedConnections(3)
    assert.equal(server.connections(), 4)
  },
)
