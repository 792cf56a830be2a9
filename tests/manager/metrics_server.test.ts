import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsServer } from '../../lib/manager/servers/metrics_server.ts'

const registry = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  metrics: () => Promise.resolve('a_total 1\n'),
}

const get = (server: MetricsServer, path: string): Promise<Response> =>
  server.fetch(new Request(`http://localhost${path}`))

test('the registry is served as it says, and nothing beside it', async () => {
  const server = new MetricsServer({ registry })
  const response = await get(server, '/metrics')
  assert.deepEqual([response.status, response.headers.get('content-type'), await response.text()], [
    200,
    registry.contentType,
    'a_total 1\n',
  ])
  for (const path of ['/', '/metrics/', '/metric', '/debug/pprof/']) {
    assert.equal((await get(server, path)).status, 404, path)
  }
})

test('other paths are served where they are asked for: itself, or all below one that ends with a slash, the longest first', async () => {
  const server = new MetricsServer({ registry })
  const say = (text: string) => (): Response => new Response(text)
  server.handle('/a', say('a'))
  server.handle('/d/', say('d'))
  server.handle('/d/e/', say('e'))
  server.handle('/d/e/f', say('f'))
  const text = async (path: string): Promise<string> => await (await get(server, path)).text()
  assert.deepEqual(await Promise.all(['/a?b=c', '/d/', '/d/x', '/d/e/x', '/d/e/f'].map(text)), [
    'a',
    'd',
    'd',
    'e',
    'f',
  ])
  assert.equal((await get(server, '/a/b')).status, 404)
  assert.equal(await text('/metrics'), 'a_total 1\n')
})

test("the metrics are nobody else's path; a path is given once, and before the start", async () => {
  const server = new MetricsServer({ registry })
  const fetch = (): Response => new Response('')
  assert.throws(
    () => server.handle('/metrics', fetch),
    /^Error: Cannot serve "\/metrics" beside the metrics: that is where the metrics are$/,
  )
  server.handle('/a', fetch)
  assert.throws(() => server.handle('/a', fetch), /it is taken$/)
  for (const path of ['', 'a', '/a?b', '/a b', '/a#b']) assert.throws(() => server.handle(path, fetch), TypeError, path)
  const ended = server.start(AbortSignal.abort())
  assert.throws(() => server.handle('/b', fetch), /the server was started already$/)
  await ended
})
