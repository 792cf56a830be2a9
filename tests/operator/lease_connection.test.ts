/** The connection of a lease. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { Api } from '../../lib/client/api.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import { recordingLog } from '../manager/parts.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { ending, servePlain } from '../runtime/servers.ts'

/** Forwards a request to an API in memory, and streams its response. */
async function forward(
  api: ApiServer,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const headers = request.headers as Record<string, string>
  const answer = await api.handle({
    method: request.method as 'GET',
    path: request.url!,
    headers,
    body: body || undefined,
  })
  response.writeHead(answer.status, answer.headers).flushHeaders()
  response.on('close', () => answer.body.cancel())
  for await (const chunk of answer.body) response.write(chunk)
  response.end()
}

test('an operator renews its lease over its own connection, with the current token, and closes all', () =>
  ending(async (keep) => {
    const api = new ApiServer()
    /** The requests of each connection. */
    const uses = new Map<Socket, Set<string>>()
    const renewals: { token: string | undefined }[] = []
    let onRenewal = (): void => {}
    const renewed = (count: number): Promise<void> =>
      new Promise((resolve) => (onRenewal = () => renewals.length >= count && resolve(), onRenewal()))
    const server = keep(
      await servePlain((request, response, body) => {
        const use = request.url!.includes('/leases') ? 'lease' : 'other'
        uses.set(request.socket, (uses.get(request.socket) ?? new Set()).add(use))
        if (use === 'lease' && request.method === 'PUT') {
          renewals.push({ token: request.headers.authorization })
          onRenewal()
        }
        void forward(api, request, response, body)
      }),
    )
    let token = 'first'
    const reconciled = Promise.withResolvers<void>()
    const app = operator({ name: 'x', leaderElection: { duration: '3s', renewDeadline: '2s', retryPeriod: '100ms' } })
    app.controllerFor(ConfigMap).reconcile(async (map, { client }) => {
      await client.apply(ConfigMap, {
        metadata: { namespace: 'default', name: 'copy' },
        data: { of: map.metadata.name },
      })
      reconciled.resolve()
    })
    const stopping = new AbortController()
    const running = app.start(stopping.signal, { cluster: { server: server.url, token: () => Promise.resolve(token) } })
    const { handle } = api
    await new Api({ transport: handle }).create({ resource: ConfigMap, namespace: 'default' }, {
      metadata: { namespace: 'default', name: 'a' },
    }, {})
    await Promise.race([Promise.all([reconciled.promise, renewed(2)]), running])
    token = 'second'
    await Promise.race([renewed(renewals.length + 2), running])
    assert.deepEqual([renewals[0]!.token, renewals.at(-1)!.token], ['Bearer first', 'Bearer second'])
    stopping.abort()
    await running
    for (const use of uses.values()) assert.equal(use.size, 1, [...use].join(' and '))
    assert.deepEqual(new Set([...uses.values()].flatMap((use) => [...use])), new Set(['lease', 'other']))
    await server.closedConnections(server.connections())
  }))

test("the elector's requests are counted and its warnings logged like all others; both connections are closed", () =>
  ending(async (keep) => {
    const server = keep(
      await servePlain((_, response) => {
        response.writeHead(404, { warning: '299 - "old"', 'content-type': 'application/json' }).end(
          '{"kind":"Status","reason":"NotFound"}',
        )
      }),
    )
    const meter = memoryMeter()
    const lines: string[] = []
    const cluster = new Cluster({ name: 'x', config: { server: server.url }, meter, log: recordingLog(lines) })
    const target = { resource: ConfigMap, namespace: 'default', name: 'a' }
    await assert.rejects(cluster.leaseApi.get(target))
    assert.equal(lines.filter((line) => line.includes('The API server warns: old')).length, 1)
    await assert.rejects(cluster.api.get(target))
    await assert.rejects(cluster.leaseApi.get(target))
    assert.equal(
      meter.value('rest_client_requests_total', { code: '404', host: `127.0.0.1:${server.port}`, method: 'GET' }),
      3,
    )
    assert.equal(server.connections(), 2)
    cluster.close()
    await server.closedConnections(2)
    await assert.rejects(cluster.leaseApi.get(target), /closed by this process/)
  }))

test('a given transport is used for the elector, too', () => {
  const cluster = new Cluster({ name: 'x', transport: new ApiServer().handle })
  assert.equal(cluster.leaseApi, cluster.api)
})
