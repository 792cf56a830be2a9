/** Tests client-node's generated APIs over our transport: on Bun its own requests ignore a private CA. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer, serve } from '../../lib/apiserver/mod.ts'
import { makeApiClient } from '../../lib/config/client_node.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { recorder } from '../client/transports.ts'
import { noPlane, withPlane } from '../tools/real_plane.ts'

async function testVerbs(config: ClusterConfig): Promise<void> {
  const { AppsV1Api, CoreV1Api, PatchStrategy, setHeaderOptions } = await import('@kubernetes/client-node')
  const connection = httpTransport(config, { clock: systemClock, log: silentLog })
  try {
    const network = recorder(connection)
    const core = await makeApiClient(CoreV1Api, network)
    const namespace = 'default'
    const made = await core.createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: 'a' }, data: { x: 'ä', y: '&?' } },
    })
    assert.ok(made.metadata?.creationTimestamp instanceof Date)
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
    await core.patchNamespacedConfigMap(
      { name: 'a', namespace, body: { data: { y: null } }, fieldManager: 'a b' },
      merge,
    )
    const { items } = await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=a' })
    assert.deepEqual(items.map(({ data }) => data), [{ x: 'ä' }])
    await assert.rejects(
      core.readNamespacedConfigMap({ name: 'nope', namespace }),
      (error: Error & { code?: number; body?: string }) =>
        error.code === 404 && JSON.parse(error.body!).reason === 'NotFound',
    )
    await core.deleteNamespacedConfigMap({ name: 'a', namespace })
    assert.deepEqual((await (await makeApiClient(AppsV1Api, network)).listDeploymentForAllNamespaces()).items, [])
    assert.deepEqual(network.take(), [
      'POST /api/v1/namespaces/default/configmaps',
      'PATCH /api/v1/namespaces/default/configmaps/a',
      'GET /api/v1/namespaces/default/configmaps',
      'GET /api/v1/namespaces/default/configmaps/nope',
      'DELETE /api/v1/namespaces/default/configmaps/a',
      'GET /apis/apps/v1/deployments',
    ])
    const { signal } = new AbortController()
    const [{ pre, post }] = merge.middleware as [NonNullable<typeof merge.middleware>[0]]
    await core.listNamespacedConfigMap({ namespace }, {
      middleware: [{ pre: (request) => (request.setSignal(signal), pre(request)), post }],
      middlewareMergeStrategy: 'append',
    })
    assert.equal(network.requests.at(-1)!.signal, signal)
    await assert.rejects(
      core.connectHeadNodeProxy({ name: 'n' }),
      /Cannot send HEAD \/api\/v1\/nodes\/n\/proxy: the transport has GET, POST, PUT, PATCH, DELETE only/,
    )
  } finally {
    connection.close()
  }
}

test('a generated API works with the embedded API over TLS, with a private CA', async () => {
  const served = await serve(new ApiServer())
  try {
    await testVerbs({ server: served.url, ca: served.ca, token: served.token })
  } finally {
    await served.close()
  }
})

test(
  'a generated API works with a real API server and a client certificate',
  { skip: noPlane, timeout: 100_000 },
  () => withPlane(({ config }) => testVerbs(config)),
)

test('an unreachable server throws a NetworkError with host and phase, without the token', async () => {
  const { CoreV1Api } = await import('@kubernetes/client-node')
  const served = await serve(new ApiServer())
  await served.close()
  const connection = httpTransport({ server: served.url, ca: served.ca, token: 'hunter2' })
  try {
    const core = await makeApiClient(CoreV1Api, { transport: connection })
    await assert.rejects(
      core.listNamespace(),
      (error: Error & { phase?: string }) =>
        error.name === 'NetworkError' && error.phase === 'connect' &&
        error.message.includes(new URL(served.url).host) && !String(error.stack).includes('hunter2'),
    )
  } finally {
    connection.close()
  }
})
