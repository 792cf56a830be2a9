import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MetricsServer, metricsServer } from '../../lib/manager/servers/metrics_server.ts'
import { Server } from '../../lib/manager/servers/server.ts'

const registry = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  metrics: () => Promise.resolve('a_total 1\n'),
}

const get = (server: MetricsServer, path: string): Promise<Response> =>
  server.fetch(new Request(`http://localhost${path}`))

test('the registry is served with its content type, and nothing else', async () => {
  const server = metricsServer(Server, { registry })
  const response = await get(server, '/metrics')
  assert.deepEqual(
    [response.status, response.headers.get('content-type'), await response.text()],
    [200, registry.contentType, 'a_total 1\n'],
  )
  for (const path of ['/', '/metrics/', '/metric', '/debug/pprof/']) {
    assert.equal((await get(server, path)).status, 404, path)
  }
})

test('a handler serves its path, or all paths below one that ends with a slash; the longest path wins', async () => {
  const server = metricsServer(Server, { registry })
  const say = (text: string) => (): Response => new Response(text)
  server.handle('/a', say('a'))
  server.handle('/d/', say('d'))
  server.handle('/d/e/', say('e'))
  server.handle('/d/e/f', say('f'))
  const text = async (path: string): Promise<string> => await (await get(server, path)).text()
  assert.deepEqual(
    await Promise.all(['/a?b=c', '/d/', '/d/x', '/d/e/x', '/d/e/f'].map(text)),
    ['a', 'd', 'd', 'e', 'f'],
  )
  assert.equal((await get(server, '/a/b')).status, 404)
  assert.equal(await text('/metrics'), 'a_total 1\n')
})

test('the path of the metrics is reserved; a path is unique, and added before the start', async () => {
  const server = metricsServer(Server, { registry })
  const fetch = (): Response => new Response('')
  assert.throws(
    () => server.handle('/metrics', fetch),
    /^Error: Cannot serve "\/metrics" beside the metrics: the path is taken by the metrics$/,
  )
  server.handle('/a', fetch)
  assert.throws(() => server.handle('/a', fetch), /the path is taken$/)
  for (const path of ['', 'a', '/a?b', '/a b', '/a#b']) assert.throws(() => server.handle(path, fetch), TypeError, path)
  const ended = server.start(AbortSignal.abort())
  assert.throws(() => server.handle('/b', fetch), /the server was started already$/)
  await ended
})
