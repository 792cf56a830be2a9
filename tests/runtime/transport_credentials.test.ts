import assert from 'node:assert/strict'
import http from 'node:http'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import type { ClusterConfig, Credentials } from '../../lib/core/cluster_config.ts'
import { ConfigError, NetworkError } from '../../lib/core/errors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { parseServer } from '../../lib/runtime/net/address.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { Exchange } from '../../lib/runtime/net/exchange.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import {
  certificates,
  type Handler,
  isNetworkError,
  keeping,
  serveBytes,
  serveTls,
  type TestServer,
  textOf,
} from './servers.ts'

const sayHeaders: Handler = (request, response) => response.end(JSON.stringify(request.headers))

keeping(
  'a token is sent; credentials override it, and may be headers; functions are called before each request',
  async (keep) => {
    const server = await keep.serveTls((request, response) => response.end(request.headers.authorization))
    let asked = 0
    const credentials = (value: Credentials) => () => Promise.resolve(value)
    for (
      const [config, ...expected] of [
        [{ token: 'one' }, 'Bearer one'],
        [{ token: () => Promise.resolve(`asked-${++asked}`) }, 'Bearer asked-1', 'Bearer asked-2'],
        [{ token: 'fixed', credentials: credentials({ token: 'fetched' }) }, 'Bearer fetched'],
        [{ credentials: credentials({ headers: { authorization: 'Basic eA==' } }) }, 'Basic eA=='],
      ] as const
    ) {
      const transport = await keep.transportTo(server, config)
      for (const each of expected) assert.equal((await textOf(transport)).text, each)
    }
    assert.equal(server.connections(), 4)
  },
)

keeping('impersonation is sent in headers', async (keep) => {
  const server = await keep.serveTls((request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const transport = await keep.transportTo(server, {
    impersonate: {
      user: 'jane',
      groups: ['dev', 'ops'],
      uid: '42',
      extra: { 'Example.org/Scopes': ['view', 'edit'], 'a\tb': ['tab'] },
    },
  })
  const raw: string[] = JSON.parse((await textOf(transport)).text)
  const sent = raw.flatMap((name, at) =>
    at % 2 === 0 && /^impersonate/i.test(name) ? [`${name.toLowerCase()}: ${raw[at + 1]}`] : []
  )
  assert.deepEqual(sent.sort(), [
    'impersonate-extra-a%09b: tab',
    'impersonate-extra-example.org%2Fscopes: edit'.toLowerCase(),
    'impersonate-extra-example.org%2fscopes: view',
    'impersonate-group: dev',
    'impersonate-group: ops',
    'impersonate-uid: 42',
    'impersonate-user: jane',
  ])
})

keeping('after a 401 the request is sent once more, with new credentials', async (keep) => {
  const seen: string[] = []
  const server = await keep.serveTls((request, response, body) => {
    seen.push(`${request.headers.authorization} ${body}`)
    if (request.headers.authorization === 'Bearer fresh') return void response.end()
    // A body without an end would hold its connection.
    response.writeHead(401).write('{')
  })
  let token = 'stale'
  const transport = await keep.transportTo(server, {
    token: () => Promise.resolve(token),
    invalidate: () => (token = 'fresh'),
  })
  assert.equal((await textOf(transport, { method: 'POST', body: 'x' })).status, 200)
  assert.deepEqual(seen, ['Bearer stale x', 'Bearer fresh x'])
  await server.closedConnections(1)
})

keeping('a second 401 is returned, and without invalidate the first one', async (keep) => {
  let requests = 0
  const server = await keep.serveTls((_, response) => {
    requests++
    response.writeHead(401).end('{"kind":"Status"}')
  })
  let invalidated = 0
  const transport = await keep.transportTo(server, { token: 'wrong', invalidate: () => invalidated++ })
  const { status, text } = await textOf(transport)
  assert.deepEqual([status, text, requests, invalidated], [401, '{"kind":"Status"}', 2, 1])
  const plain = await keep.transportTo(server, { token: 'wrong' })
  assert.equal((await textOf(plain)).status, 401)
  assert.equal(requests, 3)
})

keeping(
  'when the server has a certificate of another CA, the CAs are read again, and the request is sent once more',
  async (keep) => {
    const seen: string[] = []
    const server = await keep.serveTls((request, response, body) => {
      seen.push(`${request.method} ${body}`)
      response.end()
    })
    const [{ authority: { ca: right } }, { ca: old }] = [await certificates(), await createAuthority()]
    let file = old
    let cached: string | undefined
    let reads = 0
    const config = {
      server: server.url,
      ca: () => Promise.resolve(cached ??= (reads++, file)),
      invalidateCa: () => (cached = undefined),
    }
    const lines: string[] = []
    const log = { ...silentLog, debug: (line: string) => void lines.push(line) }
    const transport = keep(httpTransport(config, { log }))
    const post = { method: 'POST', body: 'x' } as const
    // The same CAs: the error, as before.
    await assert.rejects(textOf(transport, post), /not signed by a CA that is trusted here/)
    assert.deepEqual([seen, reads, lines], [[], 2, []])
    file = `${old}\n${right}`
    assert.equal((await textOf(transport, post)).status, 200)
    assert.deepEqual([seen, reads], [['POST x'], 3])
    // Without invalidateCa, the CAs are not read again.
    const { invalidateCa: _, ...plain } = config
    cached = old
    await assert.rejects(textOf(keep(httpTransport(plain)), post), NetworkError)
    assert.equal(reads, 3)
  },
)

keeping('fifty requests that are refused at once invalidate the credentials once', async (keep) => {
  const waiting: (() => void)[] = []
  const server = await keep.serveTls((request, response) => {
    if (request.headers.authorization !== 'Bearer 0') return void response.end()
    waiting.push(() => response.writeHead(401).end())
    if (waiting.length === 50) { for (const refuse of waiting) refuse() }
  })
  let generation = 0
  const transport = await keep.transportTo(server, {
    token: () => Promise.resolve(String(generation)),
    invalidate: () => generation++,
  })
  const answers = await Promise.all(Array.from({ length: 50 }, () => textOf(transport)))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.equal(generation, 1)
})

keeping('a request rejects with what the token function threw', async (keep) => {
  const server = await keep.serveTls(sayHeaders)
  const failure = new Error('no token today')
  const transport = await keep.transportTo(server, { token: () => Promise.reject(failure) })
  await assert.rejects(textOf(transport), (error) => error === failure)
})

keeping('a token that is invalid in a header is not in the error', async (keep) => {
  const server = await keep.serveTls(sayHeaders)
  const transport = await keep.transportTo(server, { token: 'very\nsecret' })
  await assert.rejects(textOf(transport), (error) => !/very|secret/.test(String(error)))
  assert.equal(server.connections(), 0)
})

/** Starts a server that responds once per connection, and closes it at the second request, as after an idle timeout. */
async function serveOnceEach(requests: string[]): ReturnType<typeof serveBytes> {
  return serveBytes((socket) => {
    let served = false
    socket.on('data', (data) => {
      requests.push(data.toString().split(' ')[0]!)
      if (served) return void socket.destroy()
      served = true
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
}

keeping('a GET on a kept connection that the server closes is sent again on a new one', async (keep) => {
  const requests: string[] = []
  const server = keep(await serveOnceEach(requests))
  const transport = await keep.transportTo(server)
  await textOf(transport)
  let checks = 0
  assert.equal((await textOf(transport, { beforeSend: () => checks++ })).text, 'ok')
  assert.deepEqual(requests, ['GET', 'GET', 'GET'])
  assert.equal(server.connections(), 2)
  assert.equal(checks, 2)
})

keeping('a kept connection that breaks in any way is stale', async (keep) => {
  const server = await keep.servePlain((_, response) => response.end('ok'))
  const agent = new http.Agent({ keepAlive: true })
  keep({ close: () => agent.destroy() })
  let kept: Duplex | undefined
  agent.on('free', (socket: Duplex) => (kept = socket))
  const send = async (beforeSend?: () => void): Promise<unknown> => {
    const limits = { clock: systemClock, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 }
    const request = { method: 'GET', path: '/', headers: {}, beforeSend } as const
    const address = parseServer(server.url)
    const calls = { onSilence: () => {}, onEnd: () => {} }
    const result = await new Exchange({ request, headers: {}, address, agent, ...limits, ...calls }).result
    if (result.kind === 'answered') await result.response.body.text()
    return result.kind === 'stale' ? [result.sent, result.error.code] : result.kind
  }
  // It is ending, and not closed yet.
  assert.equal(await send(), 'answered')
  const ending = send()
  kept!.end()
  assert.deepEqual(await ending, [false, 'ECONNRESET'])
  for (const code of ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ERR_SOCKET_CLOSED', 'ERR_STREAM_DESTROYED']) {
    assert.equal(await send(), 'answered')
    const broken = Object.assign(new Error('broken'), { code })
    assert.deepEqual(await send(() => kept!.destroy(broken)), [true, code])
  }
})

keeping('a POST that may have arrived is not sent twice', async (keep) => {
  const requests: string[] = []
  const server = keep(await serveOnceEach(requests))
  const transport = await keep.transportTo(server)
  await textOf(transport)
  const answer = textOf(transport, { method: 'POST', body: '{}' })
  await assert.rejects(answer, isNetworkError('response'))
  assert.deepEqual(requests, ['GET', 'POST'])
})

// denoland/deno#36786
keeping('a POST on a kept connection that is aborted is not sent again', async (keep) => {
  const requests: string[] = []
  const arrived = Promise.withResolvers<void>()
  const server = await keep.serveTls((request, response) => {
    requests.push(request.method!)
    if (request.method === 'GET') return void response.end('ok')
    arrived.resolve()
  })
  const transport = await keep.transportTo(server)
  await textOf(transport)
  const controller = new AbortController()
  const answer = textOf(transport, { method: 'POST', body: '{}', signal: controller.signal })
  await arrived.promise
  controller.abort(new Error('fenced'))
  await assert.rejects(answer, /fenced/)
  await server.closedConnections(1)
  // A retry would have arrived before two more requests.
  await textOf(transport)
  await textOf(transport)
  assert.deepEqual(requests, ['GET', 'POST', 'GET', 'GET'])
})

/** Starts a server that responds to `/together` once five such requests are open, each on its own connection. */
async function serveTogether(): Promise<{ server: TestServer; five: (transport: Transport) => Promise<void> }> {
  let together: import('node:http').ServerResponse[] = []
  const server = await serveTls((request, response) => {
    if (request.url !== '/together') return void response.end('ok')
    together.push(response)
    if (together.length < 5) return
    for (const each of together) each.end('ok')
    together = []
  })
  return {
    server,
    async five(transport) {
      await Promise.all(Array.from({ length: 5 }, () => textOf(transport, { path: '/together' })))
    },
  }
}

keeping("after a server's restart the first GET replaces all kept connections", async (keep) => {
  const { server, five } = await serveTogether()
  keep(server)
  const transport = await keep.transportTo(server)
  await five(transport)
  assert.equal(server.connections(), 5)
  server.dropConnections()
  await server.closedConnections(5)
  for (const method of ['GET', 'POST', 'PATCH'] as const) {
    assert.equal((await textOf(transport, { method })).text, 'ok')
  }
  assert.equal(server.connections(), 6)
})

keeping('many requests whose connections are closed at once share the new agent', async (keep) => {
  const { server, five } = await serveTogether()
  keep(server)
  const transport = await keep.transportTo(server)
  await five(transport)
  server.dropConnections()
  await five(transport)
  await five(transport)
  assert.equal(server.connections(), 10)
})

const SECRET = 'geheim'
const PLAIN = { server: 'http://10.0.0.1:8080/prefix' }
const WAYS: Readonly<Record<string, Partial<ClusterConfig>>> = {
  'a token': { token: SECRET },
  'a token that changes': { token: () => Promise.resolve(SECRET) },
  'a client certificate': { cert: SECRET, key: SECRET },
  'an exec plugin or basic authentication of a kubeconfig': { credentials: () => Promise.resolve({ token: SECRET }) },
  'an authorization header': { headers: { authorization: SECRET } },
  'a cookie': { headers: { cookie: SECRET } },
}

for (const [what, credentials] of Object.entries(WAYS)) {
  test(`${what} is not sent unencrypted to another machine, unless that is allowed`, () => {
    const opens = (config: Partial<ClusterConfig>): void =>
      httpTransport({ ...PLAIN, ...credentials, ...config }).close()
    const refused = (config: Partial<ClusterConfig>, message: RegExp): void =>
      assert.throws(() => opens(config), (error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /geheim/)
        return true
      })
    refused({}, /^Cannot send the credentials of the cluster unencrypted to http:\/\/10\.0\.0\.1:8080: use https, or/)
    refused({ origin: { identity: 'user "u"' } }, /^Cannot send the credentials of user "u" unencrypted to http:/)
    refused({ server: 'http://127.0.0.1.example.com' }, /unencrypted/)
    // Through a proxy, loopback is that of another machine.
    refused({ server: 'http://127.0.0.1:1', proxy: 'http://10.0.0.2:3128' }, /unencrypted/)
    for (const server of ['https://10.0.0.1', 'http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1']) {
      opens({ server })
    }
    opens({ allowUnencrypted: true })
  })
}

test('requests without credentials may be unencrypted, and a user in the address is refused without naming it', () => {
  httpTransport({ ...PLAIN, headers: { 'x-other': 'a' }, impersonate: { user: 'a' } }).close()
  for (
    const server of [
      'https://u:geheim@10.0.0.1',
      'https://:geheim@10.0.0.1',
      'http://geheim@127.0.0.1:1',
      'https://geheim:@x/y@z',
    ]
  ) {
    assert.throws(() => httpTransport({ server, allowUnencrypted: true }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(
        error.message,
        /^Cannot use server "https?:\/\/…@[\w.:]+": it must be a URL such as https:.*, without a user$/,
      )
      assert.doesNotMatch(error.message, /geheim/)
      return true
    })
  }
})
