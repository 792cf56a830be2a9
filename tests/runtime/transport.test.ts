import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { NetworkError } from '../../lib/core/errors.ts'
import { isNetworkError, keeping, serveTls, textOf } from './servers.ts'

keeping('twenty sequential requests share one connection', async (keep) => {
  const server = await keep.serveTls((request, response) => response.end(request.url))
  const transport = await keep.transportTo(server)
  for (let n = 0; n < 20; n++) assert.equal((await textOf(transport, { path: `/n/${n}` })).text, `/n/${n}`)
  assert.equal(server.connections(), 1)
})

keeping('of many requests, 128 reads and 128 writes are sent at a time, beside streams', async (keep) => {
  const held: (() => void)[] = []
  let came = Promise.withResolvers<void>()
  let wanted = 0
  const server = await keep.servePlain((_, response) => {
    held.push(() => response.end('ok'))
    if (held.length === wanted) came.resolve()
  })
  const transport = await keep.transportTo(server)
  const untilHeld = (count: number): Promise<void> => {
    wanted = count
    came = Promise.withResolvers()
    if (held.length === count) came.resolve()
    return came.promise
  }
  const over = AbortSignal.abort(new Error('is over'))
  await Promise.all(Array.from({ length: 128 }, () => assert.rejects(textOf(transport, { signal: over }), /is over/)))
  const leaving = new AbortController()
  const signalOf = (n: number) => n === 128 ? { signal: leaving.signal } : {}
  const reads = Array.from({ length: 142 }, (_, n) => textOf(transport, { path: '/', ...signalOf(n) }))
  const writes = Array.from({ length: 132 }, () => textOf(transport, { method: 'POST' }))
  const left = assert.rejects(reads[128]!, /has left/)
  await untilHeld(256)
  const streams = ['?watch=1', '?follow=true'].map((query) => textOf(transport, { path: `/${query}` }))
  await untilHeld(258)
  leaving.abort(new Error('has left'))
  await left
  for (const answer of held.splice(0)) answer()
  await untilHeld(13 + 4)
  transport.close()
  const results = await Promise.allSettled([...reads, ...writes, ...streams])
  const failed = results.filter(({ status }) => status === 'rejected').length
  assert.equal(failed, 1 + 13 + 4)
})

keeping('method, path, headers and body arrive as they were given', async (keep) => {
  const server = await keep.serveTls((request, response, body) => {
    response.end(JSON.stringify([request.method, request.url, request.headers, body]))
  })
  const transport = await keep.transportTo(server, { server: `${server.url}/prefix//` }, { userAgent: 'test/1' })
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const { text } = await textOf(transport, {
    method: 'PATCH',
    path: '/apis/x?a=b%20c',
    headers,
    body: '{"grün":"€"}',
  })
  const [method, url, received, body] = JSON.parse(text)
  assert.deepEqual([method, url, body], ['PATCH', '/prefix/apis/x?a=b%20c', '{"grün":"€"}'])
  assert.equal(received['content-type'], 'application/apply-patch+yaml')
  assert.equal(received['content-length'], '15')
  assert.equal(received['transfer-encoding'], undefined)
  assert.equal(received['user-agent'], 'test/1')
  assert.equal(received['host'], `127.0.0.1:${server.port}`)
  assert.equal(received['accept-encoding'], undefined, 'loopback is not compressed')
})

keeping('a body of bytes is sent unchanged, and a POST without a body has content-length 0', async (keep) => {
  const server = await keep.serveTls((request, response, body) =>
    response.end(`${request.headers['content-length']} ${body}`)
  )
  const transport = await keep.transportTo(server)
  assert.equal((await textOf(transport, { method: 'PUT', body: new TextEncoder().encode('bytes') })).text, '5 bytes')
  assert.equal((await textOf(transport, { method: 'POST' })).text, '0 ')
  assert.equal((await textOf(transport, { method: 'DELETE' })).text, 'undefined ')
})

keeping('status, repeated headers and an empty body are returned; redirects are not followed', async (keep) => {
  const server = await keep.serveTls((_, response) => {
    response.setHeader('warning', ['299 - "one"', '299 - "two"'])
    response.writeHead(307, { location: '/elsewhere', 'content-length': 0 }).end()
  })
  const transport = await keep.transportTo(server)
  const { status, text, headers } = await textOf(transport)
  assert.deepEqual([status, text, headers['warning'], headers['location']], [
    307,
    '',
    '299 - "one", 299 - "two"',
    '/elsewhere',
  ])
})

keeping('gzip is requested, and responses are decompressed', async (keep) => {
  const plain = JSON.stringify({ items: Array.from({ length: 5000 }, (_, n) => ({ n, name: `näme-${n}` })) })
  const server = await keep.serveTls((request, response) => {
    assert.equal(request.headers['accept-encoding'], 'gzip')
    const packed = gzipSync(plain)
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed)
  })
  const transport = await keep.transportTo(server, { gzip: true })
  const { text, headers } = await textOf(transport)
  assert.equal(text, plain)
  assert.equal(headers['content-encoding'], undefined)
  assert.equal(headers['content-length'], undefined)
  await textOf(transport)
  assert.equal(server.connections(), 1)
})

keeping('a truncated compressed response is an error', async (keep) => {
  const server = await keep.serveTls((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(randomBytes(50_000)).subarray(0, 20_000))
  })
  const transport = await keep.transportTo(server, { gzip: true })
  await assert.rejects(textOf(transport), isNetworkError('body'))
})

keeping('chunks are delivered as they arrive, also if they split a character', async (keep) => {
  const { promise: first, resolve: gotFirst } = Promise.withResolvers<void>()
  const euro = new TextEncoder().encode('€')
  const server = await keep.serveTls((_, response) => {
    response.write(euro.subarray(0, 1))
    first.then(() => response.end(euro.subarray(1)))
  })
  const transport = await keep.transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/?watch=1' })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) {
    chunks.push(chunk)
    gotFirst()
  }
  assert.equal(Buffer.concat(chunks).toString(), '€')
  assert.equal(chunks.length, 2)
})

keeping('a large body that is read late is complete', async (keep) => {
  const sent = randomBytes(8_000_000)
  const { promise: finished, resolve: onFinished } = Promise.withResolvers<void>()
  const server = await keep.serveTls((_, response) => {
    response.on('finish', onFinished)
    response.end(sent)
  })
  const transport = await keep.transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/' })
  // The server can send all of it before it is read.
  await finished
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  assert.equal(hash.digest('hex'), createHash('sha256').update(sent).digest('hex'))
})

keeping('a body cannot be read twice', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end('once'))
  const transport = await keep.transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/' })
  assert.equal(await body.text(), 'once')
  await assert.rejects(body.text(), TypeError)
})

for (
  const { name, head } of [
    { name: 'a stated length', head: 'content-length: 100' },
    { name: 'chunks', head: 'transfer-encoding: chunked' },
  ]
) {
  keeping(`a body with ${name} that is truncated throws after its complete chunks`, async (keep) => {
    const server = await keep.serveBytes((socket) => {
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n5\r\nhello\r\n`))
    })
    const transport = await keep.transportTo(server)
    const { body } = await transport({ method: 'GET', path: '/' })
    let text = ''
    await assert.rejects(async () => {
      for await (const chunk of body) text += Buffer.from(chunk).toString()
    }, isNetworkError('body', new RegExp(`Cannot read the answer of 127.0.0.1:${server.port}: it broke off`)))
    assert.match(text, /hello/)
  })
}

keeping('a watch over TLS throws when its server closes the connection', async (keep) => {
  const server = await keep.serveTls((_, response) => void response.write('{"type":"ADDED"}\n'))
  const transport = await keep.transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/?watch=1' })
  const chunks = body[Symbol.asyncIterator]()
  await chunks.next()
  server.dropConnections()
  await assert.rejects(chunks.next(), isNetworkError('body'))
})

keeping(
  'a new connection that is closed before the response is an error of phase response, and nothing is sent again',
  async (keep) => {
    const server = await keep.serveBytes((socket) => socket.once('data', () => socket.destroy()))
    const transport = await keep.transportTo(server)
    const lost = /^Cannot get an answer from 127\.0\.0\.1:\d+: the connection was lost after the request was sent/
    await assert.rejects(textOf(transport), isNetworkError('response', lost))
    assert.equal(server.connections(), 1)
  },
)

keeping('leaving the loop early closes the connection', async (keep) => {
  const server = await keep.serveTls((_, response) => void response.write('{"type":"ADDED"}\n'))
  const transport = await keep.transportTo(server)
  const { body } = await transport({ method: 'GET', path: '/?watch=1' })
  for await (const _ of body) break
  await server.closedConnections(1)
})

keeping('cancelling a small body keeps the connection', async (keep) => {
  let end = (): void => {}
  const server = await keep.serveTls(({ url }, response) => {
    response.writeHead(404, { 'content-length': 1000 }).flushHeaders()
    end = () => response.end('x'.repeat(1000))
    if (url !== '/late') end()
  })
  const transport = await keep.transportTo(server)
  for (let n = 0; n < 3; n++) {
    const { body } = await transport({ method: 'GET', path: '/late' })
    body.cancel()
    end()
    await body.text()
    await textOf(transport)
  }
  assert.ok(server.connections() <= 2, `${server.connections()} connections`)
})

keeping('three hundred watches and a request run at once, without warnings', async (keep) => {
  const answers: import('node:http').ServerResponse[] = []
  const server = await keep.serveTls((request, response) => {
    if (!request.url!.includes('watch')) return void response.end('list')
    answers.push(response)
    response.write('open\n')
  })
  const transport = await keep.transportTo(server)
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  const controller = new AbortController()
  const watches = await Promise.all(Array.from({ length: 300 }, async () => {
    const { body } = await transport({ method: 'GET', path: '/?watch=1', signal: controller.signal })
    const chunks = body[Symbol.asyncIterator]()
    await chunks.next()
    return chunks
  }))
  assert.equal((await textOf(transport, { signal: controller.signal })).text, 'list')
  for (const answer of answers) answer.write('event\n')
  for (const watch of watches) assert.equal(Buffer.from((await watch.next()).value!).toString(), 'event\n')
  const reason = new Error('enough')
  controller.abort(reason)
  for (const watch of watches) await assert.rejects(watch.next(), (error) => error === reason)
  await server.closedConnections(300)
  process.off('warning', onWarning)
  assert.deepEqual(warnings, [])
})

keeping(
  'a server that cannot be reached is said with the place that its address is from, once; other failures are not',
  async (keep) => {
    const origin = { identity: 'user "a" of context "dev" in /f', address: 'context "dev" in /f' }
    const closed = await serveTls((_, response) => response.end())
    const transport = await keep.transportTo(closed, { origin })
    await closed.close()
    for (let request = 0; request < 2; request++) {
      await assert.rejects(textOf(transport), (error: NetworkError) => {
        assert.match(
          error.message,
          /^Cannot connect to [\d.:]+: connection refused;.*; the address is from context "dev" in \/f$/,
        )
        assert.equal(error.message.split('/f').length, 2)
        return error.code === 'ECONNREFUSED'
      })
    }
    const shared = new NetworkError('Cannot connect to a', { phase: 'connect', code: 'ECONNREFUSED' })
    const waiting = await keep.transportTo(closed, { origin, credentials: () => Promise.reject(shared) })
    for (let request = 0; request < 2; request++) await assert.rejects(textOf(waiting), shared)
    assert.equal(shared.message, 'Cannot connect to a; the address is from context "dev" in /f')
    const unreachable = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']
    for (
      const [code, phase, isNamed] of [
        ...unreachable.map((code) => [code, 'connect', true] as const),
        ['ETIMEDOUT', 'response', false],
        ['EPROTO', 'connect', false],
      ] as const
    ) {
      const failed = new NetworkError('failed', { phase, code })
      const failing = await keep.transportTo(closed, { origin, credentials: () => Promise.reject(failed) })
      await assert.rejects(textOf(failing), failed)
      assert.equal(failed.message.includes('the address is from'), isNamed, `${code} ${phase}`)
    }
    const plain = await keep.serveBytes((socket) => socket.end('no TLS\r\n'))
    const confused = await keep.transportTo(plain, { origin, server: `https://127.0.0.1:${plain.port}` })
    await assert.rejects(textOf(confused), (error: NetworkError) => !error.message.includes('the address is from'))
  },
)
