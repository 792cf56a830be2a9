/** The names of other clusters in errors, log lines, probes and reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, defineResource, type Operator, operator, type OtherCluster } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
import { cachesSynced } from '../../lib/manager/servers/health.ts'
import { answer, refusal } from '../client/transports.ts'
import { create, ours, ref, starting, type StartingOptions } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }
const Thing = defineResource({ group: 'far.example.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })

interface Copier {
  readonly app: Operator
  readonly west: OtherCluster
}

/** An operator with a controller that writes to the west, and one in the west that fails. */
function copier(): Copier {
  const app = operator({ name: 'copier' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { name: 'here', when: ours }).reconcile(
    async ({ metadata: { name } }, { clientOf, log }) => {
      log.info('works here')
      await clientOf(west).apply(Secret, { metadata: ref(name) })
    },
  )
  const whenOdd = (map: Parameters<typeof ours>[0]): boolean => {
    if (map.metadata.name === 'odd') throw new Error('an odd one')
    return ours(map)
  }
  app.controllerFor(ConfigMap, { name: 'there', cluster: west, when: whenOdd })
    .watches(Secret, () => {
      throw new Error('not mapped')
    }, { cluster: west })
    .reconcile(async (_, { log }) => {
      log.info('works there')
      throw new Error('not today')
    })
  return { app, west }
}

const broken = refusal(500, 'InternalError', {}, 'broken')
const refusing = (path: RegExp): NonNullable<StartingOptions['intercept']> =>
(
  request,
  next,
) => (path.test(request.path) ? Promise.resolve(broken) : next(request))

test('a watch that fails names the other cluster: in the log, in a probe, and in the error of the start', async () => {
  const { app, west } = copier()
  const s = await starting(app, { interceptOthers: refusing(/configmaps/) })
  const warned = s.log.filter(({ level }) => level === 'warn')
  assert.match(warned[0]!.message, /^Cannot list configmaps in cluster "west": broken; next try/)
  assert.deepEqual(warned.map(({ fields }) => fields['cluster']), warned.map(() => 'west'))
  const caches = [s.parts!.cluster.cache, s.parts!.clusterOf(west).cache]
  const probe = (): unknown => cachesSynced(caches)(new AbortController().signal)
  assert.throws(probe, {
    message: 'not synced: configmaps in cluster "west"',
    cause: 'configmaps in cluster "west": Cannot list configmaps in cluster "west": broken',
  })
  await s.clock.advance(11_000)
  assert.ok(
    s.log.some(({ message }) =>
      message.startsWith('Still waiting for the cache of cluster "west": configmaps in cluster "west" (')
    ),
    JSON.stringify(s.log),
  )
  await s.clock.advance(120_000)
  const outcome = s.outcome()
  assert.ok(outcome instanceof Error)
  assert.equal(
    outcome.message,
    'Cannot sync the cache of cluster "west" within 2 m: configmaps in cluster "west" (Cannot list configmaps in cluster "west": broken)',
  )
})

test('a replica stays ready when another required cluster refuses its credentials after the first lists', async () => {
  const app = operator({ name: 'multi', health: 0 })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap).watches(ConfigMap, () => [], { cluster: west }).reconcile(async () => {})
  await using s = await starting(app, { serves: true, listens: () => false })
  const probe = async (): Promise<number> =>
    (await s.parts!.health!.fetch(new Request('http://localhost/readyz'))).status
  assert.equal(await probe(), 200)
  const refuse = async (network: typeof s.network): Promise<void> => {
    network.intercept = () => Promise.resolve(refusal(401, 'Unauthorized', {}, 'no'))
    await s.clock.advance(30 * 60_000)
  }
  await refuse(s.networkOf(west))
  const [informer] = s.parts!.clusterOf(west).cache.informers()
  assert.match(String(informer!.failure), /Unauthorized|no$/)
  assert.equal(await probe(), 200)
  await refuse(s.network)
  assert.equal(await probe(), 500)
})

test('log lines of a controller in another cluster have its name in a field; others do not', async () => {
  const { app, west } = copier()
  await using s = await starting(app)
  await create(s.client, 'a')
  await create(s.clientOf(west), 'b', 'odd')
  await s.clientOf(west).create(Secret, { metadata: ref('c') })
  await s.clock.advance(0)
  const clusterOf = (text: string): unknown[] => [
    ...new Set(s.log.filter(({ message }) => message.includes(text)).map(({ fields }) => fields['cluster'])),
  ]
  assert.deepEqual(clusterOf('works here'), [undefined])
  assert.deepEqual(clusterOf('works there'), ['west'])
  assert.deepEqual(clusterOf('Cannot reconcile ConfigMap "default/b"'), ['west'])
  assert.deepEqual(clusterOf('an odd one'), ['west'])
  assert.deepEqual(clusterOf('not mapped'), ['west'])
})

test("a warning of another cluster's API server is logged with its name", async () => {
  const { app } = copier()
  await using s = await starting(app, {
    interceptOthers: (request, next) =>
      request.method === 'PATCH' ? Promise.resolve(answer(200, {}, { warning: '299 - "old"' })) : next(request),
  })
  await create(s.client, 'a')
  await s.clock.advance(0)
  assert.equal(s.log.find(({ message }) => message === 'The API server warns: old')?.fields['cluster'], 'west')
})

test('a missing or installed CRD in another cluster is logged with its name', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(Thing, { cluster: west }).reconcile(async () => {})
  const s = await starting(app, { crds: 'verify' })
  assert.match(
    String(s.outcome()),
    /CustomResourceDefinition "things\.far\.example\.dev" is not installed in cluster "west"; install it/,
  )
  const refused = await starting(app, { crds: 'install', interceptOthers: refusing(/customresourcedefinitions/) })
  assert.match(
    String(refused.outcome()),
    /^ApiError: Cannot get CustomResourceDefinition "things\.far\.example\.dev" in cluster "west": broken$/,
  )
  await using installed = await starting(app, { crds: 'install' })
  await installed.clock.advance(1000)
  assert.equal(
    installed.log.find(({ message }) => message === 'Installed things.far.example.dev/v1')?.fields['cluster'],
    'west',
  )
})

test("an error of an unreachable server has the cluster's name, with the address in brackets", async () => {
  const expected = /^NetworkError: Cannot connect to cluster "west" \(127\.0\.0\.1:1\): connection refused/
  const cluster = new Cluster({ name: 'x', label: 'west', config: nowhere })
  await assert.rejects(cluster.client.get(ConfigMap, ref('a')), expected)
  await assert.rejects(cluster.leaseApi.get({ resource: ConfigMap, ...ref('a') }), expected)
  assert.equal(
    cluster.leaseApi.describe({ resource: ConfigMap, ...ref('a') }),
    'ConfigMap "default/a" in cluster "west"',
  )
  cluster.close()
  const own = new Cluster({ name: 'x', config: nowhere })
  await assert.rejects(
    own.client.get(ConfigMap, ref('a')),
    /^NetworkError: Cannot connect to 127\.0\.0\.1:1: connection refused/,
  )
  own.close()
})
