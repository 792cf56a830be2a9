import assert from 'node:assert/strict'
import https from 'node:https'
import { test } from 'node:test'
import { createServer } from 'node:net'
import { rootCertificates } from 'node:tls'
import { ConfigError, NetworkError } from '../../lib/core/errors.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import {
  certificates,
  type Handler,
  isNetworkError,
  keeping,
  listen,
  servePlain,
  textOf,
  transportTo,
} from './servers.ts'

const isConnectError = (message: RegExp) => isNetworkError('connect', message)

keeping('twenty requests share one tunnel through the proxy', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end('ok'))
  const proxy = await keep.serveProxy()
  const transport = await keep.transportTo(server, { proxy: proxy.url, token: 'secret' })
  for (let n = 0; n < 20; n++) assert.equal((await textOf(transport)).text, 'ok')
  assert.deepEqual(proxy.asked.map(({ url }) => url), [`127.0.0.1:${server.port}`])
  assert.equal(proxy.asked[0]!.headers.authorization, undefined, 'the token is for the server')
  assert.equal(server.connections(), 1)
})

keeping('user and password of the proxy URL are sent to the proxy, decoded', async (keep) => {
  const server = await keep.serveTls((request, response) => response.end(JSON.stringify(request.headers)))
  const proxy = await keep.serveProxy()
  const transport = await keep.transportTo(server, { proxy: `http://jane:p%40ss@127.0.0.1:${proxy.port}` })
  const { text } = await textOf(transport)
  assert.equal(proxy.asked[0]!.headers['proxy-authorization'], `Basic ${Buffer.from('jane:p@ss').toString('base64')}`)
  assert.doesNotMatch(text, /proxy-authorization/)
})

keeping('the certificate is verified inside the tunnel', async (keep) => {
  const { authority } = await certificates()
  const leaf = await authority.issue({ commonName: 'x', dnsNames: ['other.test'], usage: 'server' })
  const server = await keep.serveTls((_, response) => response.end('ok'), leaf)
  const proxy = await keep.serveProxy()
  const transport = await keep.transportTo(server, { proxy: proxy.url })
  await assert.rejects(textOf(transport), isConnectError(/for another name/))
  const named = await keep.transportTo(server, { proxy: proxy.url, serverName: 'other.test' })
  assert.equal((await textOf(named)).text, 'ok')
})

keeping('the error of a refusing proxy has its address and status, not its password', async (keep) => {
  const cases = [
    [407, '', /put user and password into the proxy URL/],
    [407, 'u:hunter2@', /check user and password/],
    [403, '', /may reach this server/],
  ] as const
  for (const [status, user, hint] of cases) {
    const proxy = await keep.serveProxy({ answer: () => status })
    const transport = keep(
      httpTransport({ server: 'https://api.test:6443', proxy: `http://${user}127.0.0.1:${proxy.port}` }),
    )
    await assert.rejects(textOf(transport), (error) => {
      assert.ok(error instanceof NetworkError, String(error))
      assert.equal(error.phase, 'connect')
      const start =
        `Cannot connect to api.test:6443 through proxy 127.0.0.1:${proxy.port}: the proxy answered CONNECT with ${status}; `
      assert.equal(error.message.slice(0, start.length), start)
      assert.match(error.message, hint)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
  }
})

keeping('a server without CONNECT and an unreachable proxy are connect errors', async (keep) => {
  const noProxy = await keep.servePlain((_, response) => response.writeHead(400).end())
  const wrong = keep(httpTransport({ server: 'https://api.test', proxy: noProxy.url }))
  await assert.rejects(textOf(wrong), isConnectError(/through proxy/))
  const gone = await servePlain(() => {})
  await gone.close()
  const dead = keep(httpTransport({ server: 'https://api.test', proxy: gone.url }))
  await assert.rejects(textOf(dead), isConnectError(/through proxy .*connection refused/))
})

keeping('a proxy with TLS is supported, and a server without TLS is reached through a tunnel', async (keep) => {
  const { server: leaf } = await certificates()
  const ok: Handler = (_, response) => response.end('ok')
  for (const [serve, options] of [[keep.serveTls, { tls: leaf }], [keep.servePlain, {}]] as const) {
    const proxy = await keep.serveProxy(options)
    const transport = await keep.transportTo(await serve(ok), { proxy: proxy.url })
    assert.equal((await textOf(transport)).text, 'ok')
    assert.equal(proxy.asked.length, 1)
  }
})

keeping('the certificate of a proxy may be signed by a CA of the cluster or by a public one', async (keep) => {
  const { authority, server: leaf } = await certificates()
  const proxy = await keep.serveProxy({ tls: leaf })
  const server = await keep.serveTls((_, response) => response.end('ok'))
  const trusted: (readonly string[])[] = []
  const { request } = https
  keep({ close: () => Object.assign(https, { request }) })
  const spy = (options: https.RequestOptions): unknown => {
    if (options.method === 'CONNECT') trusted.push(options.ca as readonly string[])
    return request(options)
  }
  Object.assign(https, { request: spy })
  assert.equal((await textOf(await keep.transportTo(server, { proxy: proxy.url }))).text, 'ok')
  assert.equal(trusted.length, 1)
  assert.ok([...rootCertificates, authority.ca].every((ca) => trusted[0]!.includes(ca)))
})

keeping(
  'an abort while the proxy is silent rejects with its reason, and closes the connection, with and without TLS',
  async (keep) => {
    const { server: leaf } = await certificates()
    for (const tls of [undefined, leaf]) {
      const asked = Promise.withResolvers<void>()
      const proxy = await keep.serveProxy({ answer: () => (asked.resolve(), 0), staysOpen: true, ...(tls && { tls }) })
      const transport = await keep.transportTo(proxy, { server: 'https://api.test', proxy: proxy.url })
      const controller = new AbortController()
      const answer = textOf(transport, { signal: controller.signal })
      await asked.promise
      const reason = new Error('stop')
      controller.abort(reason)
      await assert.rejects(answer, (error) => error === reason)
      await proxy.closedConnections(1)
    }
  },
)

keeping('the connection to a silent proxy is closed after the timeout', async (keep) => {
  let asked = Promise.withResolvers<void>()
  const silent = await keep.serveBytes((socket) => socket.once('data', () => asked.resolve()))
  const clock = new FakeClock()
  const transport = keep(httpTransport({ server: 'https://api.test', proxy: silent.url }, { clock }))
  for (let round = 1; round <= 3; round++) {
    asked = Promise.withResolvers<void>()
    const answer = textOf(transport)
    await asked.promise
    const refused = assert.rejects(answer, isConnectError(/ETIMEDOUT/))
    await clock.advance(30_000)
    await refused
    await silent.closedConnections(round)
  }
})

keeping('closing the transport closes requested and idle tunnels', async (keep) => {
  const asked = Promise.withResolvers<void>()
  const silent = await keep.serveBytes((socket) => socket.once('data', () => asked.resolve()))
  const waiting = httpTransport({ server: 'https://api.test', proxy: silent.url })
  const refused = assert.rejects(textOf(waiting), isConnectError(/closed by this process/))
  await asked.promise
  waiting.close()
  await refused
  await silent.closedConnections(1)
  const server = await keep.serveTls((_, response) => response.end('ok'))
  const proxy = await keep.serveProxy()
  const idle = await transportTo(server, { proxy: proxy.url })
  await textOf(idle)
  idle.close()
  await proxy.closedConnections(1)
})

keeping('aborting a handshake in a tunnel closes the tunnel', async (keep) => {
  const greeted = Promise.withResolvers<void>()
  const mute = await keep.serveBytes((socket) => socket.once('data', () => greeted.resolve()))
  const proxy = await keep.serveProxy()
  const transport = await keep.transportTo(mute, { server: `https://127.0.0.1:${mute.port}`, proxy: proxy.url })
  const controller = new AbortController()
  const answer = textOf(transport, { signal: controller.signal })
  await greeted.promise
  controller.abort(new Error('stop'))
  await assert.rejects(answer, /stop/)
  await proxy.closedConnections(1)
  await mute.closedConnections(1)
})

keeping('the connection to a proxy that hangs is reset: it may not read its end', async (keep) => {
  const asked = Promise.withResolvers<void>()
  const reset = Promise.withResolvers<unknown>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.once('data', () => asked.resolve())
    socket.on('end', () => reset.resolve('end')).on('error', ({ code }: NodeJS.ErrnoException) => reset.resolve(code))
  })
  const proxy = keep(await listen(server, 'http'))
  const controller = new AbortController()
  const transport = await keep.transportTo(proxy, { server: 'https://api.test', proxy: proxy.url })
  const answer = textOf(transport, { signal: controller.signal })
  await asked.promise
  controller.abort(new Error('stop'))
  await assert.rejects(answer, /stop/)
  assert.equal(await reset.promise, 'ECONNRESET')
})

keeping('connections that a refusing proxy leaves open are closed', async (keep) => {
  const { server: leaf } = await certificates()
  for (const tls of [undefined, leaf]) {
    const proxy = await keep.serveProxy({ answer: () => 407, staysOpen: true, ...(tls && { tls }) })
    const transport = await keep.transportTo(proxy, { server: 'https://api.test', proxy: proxy.url })
    for (let round = 1; round <= 3; round++) {
      await assert.rejects(textOf(transport), isConnectError(/answered CONNECT with 407/))
      await proxy.closedConnections(round)
    }
  }
})

test('a stray percent sign in user or password is a ConfigError with the fix, without their text', () => {
  for (const user of ['jane:100%', 'ja%ne:hunter2', 'jane:%ff', 'jane:hunter2@100%']) {
    assert.throws(() => httpTransport({ server: 'https://x', proxy: `http://${user}@proxy.test:3128` }), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.match(error.message, /^Cannot use proxy "http:\/\/…@proxy\.test:3128": .*write %25 for a percent sign$/)
      assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /100|ja%ne|hunter2|%ff/)
      return true
    })
  }
})

test('an invalid server or proxy URL throws a ConfigError at once, without a possible password', () => {
  for (const server of ['nonsense', 'ftp://x']) assert.throws(() => httpTransport({ server }), ConfigError)
  for (const proxy of ['http://u:hunter/2@x y', 'u:hunter2@x', 'socks5://u:hunter@2@x', 'http://u:hunter2@[x']) {
    assert.throws(() => httpTransport({ server: 'https://x', proxy }), (error) => {
      return error instanceof ConfigError && !/hunter|2@/.test(error.message) &&
        /check proxy-url, HTTPS_PROXY and HTTP_PROXY/.test(error.message)
    }, proxy)
  }
})
