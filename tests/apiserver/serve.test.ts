/** Tests of the embedded API over TLS: authentication, body limit, closing. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { connect } from 'node:http2'
import { once } from 'node:events'
import { ApiServer, serve, type ServedApi } from '../../lib/apiserver/mod.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'

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

test('a wrong or missing token gets 401 with a Status', () =>
  withServer(async (served) => {
    for (const token of [undefined, 'wrong', `${served.token}x`, served.token.slice(1)]) {
      const transport = httpTransport({ server: served.url, ca: served.ca, token })
      const response = await transport({ method: 'GET', path: '/api/v1/namespaces' })
      assert.equal(response.status, 401)
      const status = JSON.parse(await response.body.text())
      assert.equal(status.kind, 'Status')
      assert.equal(status.reason, 'Unauthorized')
      transport.close()
    }
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
