import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../lib/async/clock.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { collector, leftOf, UNCOLLECTED } from '../tools/collector.ts'
import { ending, isNetworkError, keeping, textOf, transportTo } from './servers.ts'

keeping('an abort before the response rejects with its reason, and the server sees the close', async (keep) => {
  const arrived = Promise.withResolvers<void>()
  const server = await keep.serveTls(() => arrived.resolve())
  const transport = await keep.transportTo(server)
  const controller = new AbortController()
  const answer = transport({ method: 'GET', path: '/', signal: controller.signal })
  await arrived.promise
  const reason = { why: 'not even an error' }
  controller.abort(reason)
  await assert.rejects(answer, (error) => error === reason)
  await server.closedConnections(1)
})

keeping('an abort during the body rejects its reader with the reason, and the server sees the close', async (keep) => {
  const server = await keep.serveTls((_, response) => void response.write('first'))
  const transport = await keep.transportTo(server)
  const controller = new AbortController()
  const { body } = await transport({ method: 'GET', path: '/?watch=1', signal: controller.signal })
  const chunks = body[Symbol.asyncIterator]()
  await chunks.next()
  const next = chunks.next()
  const reason = new Error('stop')
  controller.abort(reason)
  await assert.rejects(next, (error) => error === reason)
  await server.closedConnections(1)
})

keeping('an abort while the connection is opened rejects with its reason', async (keep) => {
  // The server accepts the connection, and never responds to the handshake.
  const connected = Promise.withResolvers<void>()
  const server = await keep.serveBytes((socket) => socket.once('data', () => connected.resolve()))
  const transport = await keep.transportTo(server, { server: `https://127.0.0.1:${server.port}` })
  const controller = new AbortController()
  const answer = transport({
    method: 'POST',
    path: '/',
    signal: controller.signal,
    beforeSend: () => assert.fail('nothing may be sent'),
  })
  await connected.promise
  const reason = new Error('stop')
  controller.abort(reason)
  await assert.rejects(answer, (error) => error === reason)
  await server.closedConnections(1)
})

keeping('a request with an aborted signal sends nothing and fetches no token', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end())
  const transport = await keep.transportTo(server, { token: () => assert.fail('asked for a token') })
  const reason = new Error('too late')
  await assert.rejects(
    transport({ method: 'GET', path: '/', signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  )
  assert.equal(server.connections(), 0)
})

keeping('an abort while the token is fetched rejects with its reason', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end())
  const transport = await keep.transportTo(server, { token: () => new Promise(() => {}) })
  const controller = new AbortController()
  const answer = transport({ method: 'GET', path: '/', signal: controller.signal })
  const reason = new Error('stop')
  controller.abort(reason)
  await assert.rejects(answer, (error) => error === reason)
})

test(
  'a transport does not hold ended requests',
  { skip: collector() ? false : UNCOLLECTED },
  () =>
    ending(async (keep) => {
      const server = await keep.servePlain((_, response) => response.end('ok'))
      const transport = await keep.transportTo(server)
      const sent = async (): Promise<WeakRef<object>> => {
        const request = { method: 'GET', path: '/' } as const
        await (await transport(request)).body.text()
        return new WeakRef(request)
      }
      const refs: WeakRef<object>[] = []
      for (let count = 0; count < 10; count++) refs.push(await sent())
      // The kept connection has its last request, and the runtime may have another.
      assert.ok(await leftOf(refs, collector()!) < 5)
    }),
)

keeping('an ended request leaves no listener on its signal', async (keep) => {
  const server = await keep.serveTls((request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    else response.end('ok')
  })
  const transport = await keep.transportTo(server)
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (
    ...args: Parameters<typeof addEventListener>
  ) => (listeners++, addEventListener.apply(signal, args))
  signal.removeEventListener = (
    ...args: Parameters<typeof removeEventListener>
  ) => (listeners--, removeEventListener.apply(signal, args))
  await textOf(transport, { signal })
  await assert.rejects(textOf(transport, { signal, path: '/cut', method: 'POST' }), NetworkError)
  const { body } = await transport({ method: 'GET', path: '/', signal })
  body.cancel()
  await assert.rejects(
    textOf(transport, {
      signal,
      beforeSend: () => {
        throw new Error('no')
      },
    }),
    /no/,
  )
  assert.equal((await textOf(transport, { signal })).text, 'ok')
  assert.equal(listeners, 0)
})

keeping('a connection that is not open within 30 s is a timeout', async (keep) => {
  const connected = Promise.withResolvers<void>()
  const server = await keep.serveBytes((socket) => socket.once('data', () => connected.resolve()))
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, { server: `https://127.0.0.1:${server.port}` }, { clock })
  const answer = textOf(transport)
  await connected.promise
  const refused = assert.rejects(
    answer,
    isNetworkError('connect', /^Cannot connect to 127\.0\.0\.1:\d+: no answer in time/, 'ETIMEDOUT'),
  )
  await clock.advance(29_999)
  assert.equal(clock.pending, 1)
  await clock.advance(1)
  await refused
})

keeping('a response that does not begin within 75 s is a timeout', async (keep) => {
  const received = Promise.withResolvers<void>()
  const server = await keep.serveTls(() => received.resolve())
  const clock = new FakeClock()
  const transport = await keep.transportTo(server, {}, { clock })
  const answer = textOf(transport)
  await received.promise
  const refused = assert.rejects(
    answer,
    isNetworkError('response', /^Cannot get an answer from 127\.0\.0\.1:\d+: no answer in time/, 'ETIMEDOUT'),
  )
  await clock.advance(74_999)
  assert.equal(clock.pending, 1)
  await clock.advance(1)
  await refused
  assert.equal(clock.pending, 0)
})

keeping('beforeSend is called before the first byte, on new and on kept connections', async (keep) => {
  const order: string[] = []
  const server = await keep.serveTls((request, response) => {
    order.push(`server has ${request.method}`)
    response.end()
  })
  const transport = await keep.transportTo(server)
  for (const method of ['POST', 'PATCH'] as const) {
    await textOf(transport, { method, body: '{}', beforeSend: () => order.push('beforeSend') })
  }
  assert.deepEqual(order, ['beforeSend', 'server has POST', 'beforeSend', 'server has PATCH'])
  assert.equal(server.connections(), 1)
})

keeping('beforeSend waits for a slow handshake', async (keep) => {
  const accepted = Promise.withResolvers<() => void>()
  const upstream = await keep.serveTls((_, response) => response.end('late'))
  // A relay in front of the server that the test opens: TCP connects at once, TLS does not.
  const net = await import('node:net')
  const door = await keep.serveBytes((socket) => {
    socket.pause()
    accepted.resolve(() => {
      const inner = net.connect(upstream.port, '127.0.0.1')
      socket.pipe(inner).pipe(socket)
      inner.on('error', () => {})
    })
  })
  const transport = await keep.transportTo(door, { server: `https://127.0.0.1:${door.port}` })
  let isOpen = false
  let sentWhileShut = false
  const answer = textOf(transport, { method: 'POST', beforeSend: () => void (sentWhileShut = !isOpen) })
  const open = await accepted.promise
  // A round trip on another connection is time enough for a request that does not wait.
  const other = await keep.transportTo(upstream)
  await textOf(other)
  isOpen = true
  open()
  assert.equal((await answer).text, 'late')
  assert.equal(sentWhileShut, false)
})

keeping('the request rejects with what beforeSend threw, and nothing is sent', async (keep) => {
  const seen: string[] = []
  const server = await keep.serveTls((request, response) => {
    seen.push(request.method!)
    response.end('ok')
  })
  const transport = await keep.transportTo(server)
  const fence = new Error('the lease is lost')
  const beforeSend = (): void => {
    throw fence
  }
  // On a new connection and on a kept one; the transport stays usable.
  await assert.rejects(textOf(transport, { method: 'POST', body: '{}', beforeSend }), (error) => error === fence)
  await textOf(transport)
  await assert.rejects(textOf(transport, { method: 'PUT', body: '{}', beforeSend }), (error) => error === fence)
  assert.equal((await textOf(transport)).text, 'ok')
  assert.deepEqual(seen, ['GET', 'GET'])
})

keeping('close ends open requests and refuses later ones', async (keep) => {
  const server = await keep.serveTls((_, response) => void response.write('1'))
  const transport = await transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/?watch=1' })
  const chunks = body[Symbol.asyncIterator]()
  await chunks.next()
  const rest = chunks.next()
  transport.close()
  await assert.rejects(rest, isNetworkError('connect', /closed by this process/))
  await assert.rejects(textOf(transport), isNetworkError('connect'))
  await server.closedConnections(1)
  transport.close()
})

keeping('close ends a request that waits for its token', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end())
  const transport = await keep.transportTo(server, { token: () => new Promise(() => {}) })
  const answer = Promise.race([textOf(transport), nextTurn()])
  transport.close()
  await assert.rejects(answer, isNetworkError('connect', /closed by this process/))
})

keeping('close closes idle connections', async (keep) => {
  const server = await keep.servePlain((_, response) => response.end())
  const transport = await transportTo(server)
  await textOf(transport)
  const other = await keep.transportTo(server)
  transport.close()
  // It is closed before the server can answer others so often.
  const late = (async () => {
    for (let count = 0; count < 20; count++) await textOf(other)
    return 'still open'
  })()
  assert.equal(await Promise.race([server.closedConnections(1), late]), undefined)
  await late
})
