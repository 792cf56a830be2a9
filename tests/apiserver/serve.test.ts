/** Tests of the embedded API over TLS: authentication, body limit, closing. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { connect } from 'node:http2'
import { once } from 'node:events'
import { connect as tls } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { ApiServer, serve, type ServedApi } from '../../lib/apiserver/mod.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

async function withServer(
  run: (served: ServedApi, transport: ClosableTransport, server: ApiServer) => Promise<void>,
): Promise<void> {
  const server = new ApiServer()
  const served = await serve(server)
  const transport = httpTransport({ server: served.url, ca: served.ca, token: served.token })
  try {
    await run(served, transport, server)
  } finally {
    transport.close()
    await served.close()
  }
}

test('a request with the token is answered', () =>
  withServer(async (_served, transport) => {
    const response = await transport({ method: 'GET', path: '/api/v1/namespaces/default' })
    assert.equal(response.status, 200)
    assert.equal(JSON.parse(await response.body.text()).metadata.name, 'default')
  }))

test('a wrong token gets 401 with a Status, a missing one is anonymous', () =>
  withServer(async (served) => {
    const request = async (token: string | undefined, headers = {}): Promise<{ code: number; message: string }> => {
      const transport = httpTransport({ server: served.url, ca: served.ca, token })
      const response = await transport({ method: 'GET', path: '/api/v1/namespaces', headers })
      const status = JSON.parse(await response.body.text())
      assert.equal(status.kind, 'Status')
      assert.equal(status.code, response.status)
      transport.close()
      return status
    }
    for (const token of ['wrong', `${served.token}x`, served.token.slice(1)]) {
      assert.equal((await request(token)).code, 401)
    }
    const anonymous =
      'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope'
    assert.deepEqual([(await request(undefined)).code, (await request(undefined)).message], [403, anonymous])
    assert.equal((await request(undefined, { authorization: 'Basic YTpi' })).message, anonymous)
    const imposter = { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' }
    assert.equal((await request(undefined, imposter)).code, 403)
  }))

test('health endpoints need no token', () =>
  withServer(async (served) => {
    const transport = httpTransport({ server: served.url, ca: served.ca })
    const response = await transport({ method: 'GET', path: '/readyz' })
    assert.equal(await response.body.text(), 'ok')
    transport.close()
  }))

test('a body larger than 3 MiB gets 413', () =>
  withServer(async (_served, transport) => {
    const body = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { k: 'x'.repeat(3 * 1024 * 1024) },
    })
    const response = await transport({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      headers: { 'content-type': 'application/json' },
      body,
    })
    assert.equal(response.status, 413)
    assert.equal(JSON.parse(await response.body.text()).reason, 'RequestEntityTooLarge')
  }))

test('a request that may not be sent is refused before its body', () =>
  withServer(async (served) => {
    const session = connect(served.url, { ca: served.ca })
    const cases = [
      [undefined, {}, 403],
      ['Bearer wrong', {}, 401],
      ['Bearer wrong', { ':method': 'GET' }, 401],
      [undefined, { 'impersonate-user': 'admin' }, 403],
      [`Bearer ${served.token}`, { 'impersonate-group': 'developers' }, 400],
      [`Bearer ${served.token}`, { 'impersonate-user': 'someone' }, 403],
    ] as const
    try {
      for (const [authorization, headers, status] of cases) {
        const stream = session.request(
          { ':path': CONFIG_MAPS, ':method': 'POST', ...(authorization && { authorization }), ...headers },
          { endStream: false },
        )
        const [head] = await once(stream, 'response') as [Record<string, unknown>]
        assert.equal(head[':status'], status)
        stream.on('error', () => {}).close()
      }
    } finally {
      session.destroy()
    }
    const { hostname, port } = new URL(served.url)
    for (const header of ['content-length: 5', 'transfer-encoding: chunked']) {
      const socket = tls({ host: hostname, port: Number(port), ca: served.ca })
      socket.write(`GET ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`)
      const [head] = await once(socket, 'data') as [Uint8Array]
      assert.match(new TextDecoder().decode(head), /^HTTP\/1.1 403 /)
      socket.destroy()
    }
  }))

test('the bodies of all requests are at most 64 MiB; one that is too many gets 429, until others have ended', () =>
  withServer(async (served, transport) => {
    const session = connect(served.url, { ca: served.ca })
    const open = Array.from({ length: 22 }, () => {
      const headers = { ':path': CONFIG_MAPS, ':method': 'POST', authorization: `Bearer ${served.token}` }
      const stream = session.request(headers, { endStream: false })
      stream.on('error', () => {}).write(new Uint8Array(3 * 1024 * 1024 - 1))
      return stream
    })
    try {
      const [head] = await Promise.race(open.map((stream) => once(stream, 'response'))) as [Record<string, unknown>]
      assert.deepEqual([head[':status'], head['retry-after']], [429, '1'])
    } finally {
      session.destroy()
    }
    const body = JSON.stringify({ metadata: { name: 'a' } })
    const headers = { 'content-type': 'application/json' }
    let status = 0
    // The server learns over the network that the others have gone, so wait by round trips.
    for (let tries = 0; status !== 201 && tries < 500; tries++) {
      const response = await transport({ method: 'POST', path: CONFIG_MAPS, headers, body })
      await response.body.text()
      status = response.status
    }
    assert.equal(status, 201)
  }))

// More than the runtimes let a session buffer by default: 10 MB.
for (const [unread, size] of [[1, 12_000_000], [300, 200_000]] as const) {
  test(`${unread} unread answers of ${size} bytes do not end other requests of their HTTP/2 connection`, () =>
    withServer(async (served, _transport, server) => {
      for (let i = 0; i < size / 100_000; i++) {
        const body = JSON.stringify({ metadata: { name: `c${i}` }, data: { text: 'x'.repeat(100_000) } })
        await server.handle({ method: 'POST', path: CONFIG_MAPS, body })
      }
      const session = connect(served.url, { ca: served.ca, settings: { initialWindowSize: 4096 } })
      const request = (path: string) => session.request({ ':path': path, authorization: `Bearer ${served.token}` })
      try {
        const streams = []
        for (let i = 0; i < unread; i++) {
          const [stream, small] = [request(CONFIG_MAPS), request('/version')]
          await Promise.all([once(stream, 'response'), once(small.resume(), 'end')])
          streams.push(stream)
        }
        await once(request('/version').resume(), 'end')
        let read = 0
        for (const stream of streams) for await (const chunk of stream) read += (chunk as Uint8Array).length
        assert.ok(read > unread * size, `${read} bytes`)
      } finally {
        session.destroy()
      }
    }))
}

test('a watch sends each change as it happens, and ends when the server closes', () =>
  withServer(async (served, transport) => {
    const watch = await transport({
      method: 'GET',
      path: '/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault',
    })
    assert.equal(watch.status, 200)
    const chunks = watch.body[Symbol.asyncIterator]()
    const first = await chunks.next()
    assert.match(new TextDecoder().decode(first.value), /^\{"type":"ADDED"/)
    const patch = await transport({
      method: 'PATCH',
      path: '/api/v1/namespaces/default',
      headers: {
        'content-type': 'application/merge-patch+json',
      },
      body: '{"metadata":{"labels":{"a":"b"}}}',
    })
    await patch.body.text()
    const second = await chunks.next()
    assert.match(new TextDecoder().decode(second.value), /^\{"type":"MODIFIED"/)
    const closed = served.close()
    assert.equal((await chunks.next()).done, true)
    await closed
  }))

test('the server ends a watch when its client disconnects', () =>
  withServer(async (_served, transport, server) => {
    const controller = new AbortController()
    const watch = await transport({ method: 'GET', path: '/api/v1/namespaces?watch=true', signal: controller.signal })
    const chunks = watch.body[Symbol.asyncIterator]()
    await chunks.next()
    assert.equal(server.watches, 1)
    controller.abort(new Error('enough'))
    await assert.rejects(chunks.next(), /enough/)
    // The server receives the abort over the network, so wait by round trips of other requests.
    for (
      let tries = 0;
      server.watches > 0 && tries < 500;
      tries++
    ) await (await transport({ method: 'GET', path: '/readyz' })).body.text()
    assert.equal(server.watches, 0)
  }))

test('the server supports HTTP/2', () =>
  withServer(async (served) => {
    const session = connect(served.url, { ca: served.ca })
    try {
      const stream = session.request({ ':path': '/version', authorization: `Bearer ${served.token}` })
      const chunks: Uint8Array[] = []
      stream.on('data', (chunk: Uint8Array) => chunks.push(chunk))
      await once(stream, 'end')
      assert.equal(JSON.parse(new TextDecoder().decode(chunks[0])).minor, '36')
    } finally {
      session.destroy()
    }
  }))

test('a port in use is named in the error', () =>
  withServer(async (served) => {
    await assert.rejects(
      serve(new ApiServer(), { port: served.port }),
      new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${served.port}: the address is in use`),
    )
  }))

test('close can be called twice and frees the port', async () => {
  const served = await serve(new ApiServer())
  await Promise.all([served.close(), served.close()])
  const again = await serve(new ApiServer(), { port: served.port, token: 'mine' })
  assert.equal(again.token, 'mine')
  await again.close()
})

/** Sends a request over HTTP/2, and returns the head and the bytes of the answer. */
async function exchange(
  served: ServedApi,
  headers: Record<string, string>,
): Promise<{ readonly head: Record<string, unknown>; readonly bytes: Buffer }> {
  const session = connect(served.url, { ca: served.ca })
  try {
    const stream = session.request({ authorization: `Bearer ${served.token}`, ...headers })
    const [head] = await once(stream, 'response') as [Record<string, unknown>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return { head, bytes: Buffer.concat(chunks) }
  } finally {
    session.close()
  }
}

test('a large answer is compressed if the client accepts it', () =>
  withServer(async (served, _transport, server) => {
    const path = '/openapi/v3/apis/apps/v1'
    const plain = await exchange(served, { ':path': path })
    assert.equal(plain.head['content-encoding'], undefined)
    const small = await exchange(served, { ':path': '/apis', 'accept-encoding': 'gzip' })
    assert.equal(small.head['content-encoding'], undefined)
    const large = await exchange(served, { ':path': path, 'accept-encoding': 'br, gzip' })
    assert.equal(large.head['content-encoding'], 'gzip')
    assert.equal(large.head['vary'], 'Accept, Accept-Encoding')
    assert.ok(large.bytes.length < plain.bytes.length / 3)
    assert.deepEqual(gunzipSync(large.bytes), plain.bytes)
    const data = { text: 'x'.repeat(200_000) }
    await server.handle({ method: 'POST', path: CONFIG_MAPS, body: JSON.stringify({ metadata: { name: 'a' }, data }) })
    const list = await exchange(served, { ':path': CONFIG_MAPS, 'accept-encoding': 'gzip' })
    assert.equal(JSON.parse(gunzipSync(list.bytes).toString()).items[0].data.text, data.text)
  }))

test('an answer to HEAD has no body, and one that is not modified neither', () =>
  withServer(async (served) => {
    const path = '/openapi/v3/apis/apps/v1'
    const head = await exchange(served, { ':path': path, ':method': 'HEAD' })
    assert.equal(head.head[':status'], 200)
    assert.equal(head.bytes.length, 0)
    const known = await exchange(served, { ':path': path, 'if-none-match': String(head.head['etag']) })
    assert.equal(known.head[':status'], 304)
    assert.equal(known.bytes.length, 0)
  }))

test('several clients can load the OpenAPI documents at once', () =>
  withServer(async (_served, transport, server) => {
    const path = '/openapi/v3'
    const answers = await Promise.all([
      transport({ method: 'GET', path }),
      transport({ method: 'GET', path: `${path}/api/v1` }),
      server.handle({ method: 'GET', path }),
    ])
    for (const answer of answers) assert.equal(answer.status, 200)
    assert.equal(await answers[0].body.text(), await answers[2].body.text())
  }))
