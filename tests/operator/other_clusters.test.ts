/** The names of other clusters in errors, log lines, probes and reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, defineResource, type Operator, operator, type OtherCluster } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
import { refusal } from '../client/transports.ts'
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
