/** Owners of another cluster are refused; all others are not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  Cluster,
  draft,
  type KubeObject,
  operator,
  type OtherCluster,
  type OwnerReference,
  owners,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { foreignOwners } from '../../lib/operator/foreign_owners.ts'
import { answer, refusal } from '../client/transports.ts'
import { create, only, ref, type Started, starting, type StartingOptions } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }

/** Returns an object to write, with an owner by `owners.setController` if one is given. */
function copy(
  owner?: KubeObject,
): { metadata: { namespace: string; name: string; ownerReferences?: OwnerReference[] } } {
  const made = { metadata: ref('copy') }
  if (owner) owners.setController(made, owner)
  return made
}

/** Each write that can state an owner, on an object that is there already or not. */
const WRITES: Readonly<Record<string, (client: Client, owner: KubeObject) => Promise<unknown>>> = {
  create: (client, owner) => client.create(ConfigMap, copy(), { owner }),
  apply: (client, owner) => client.apply(ConfigMap, copy(), { owner }),
  'create or update': (client, owner) => client.createOrUpdate(ConfigMap, ref('copy'), () => {}, { owner }),
  'create or update an existing one': (client, owner) =>
    client.createOrUpdate(ConfigMap, ref('there'), () => {}, { owner }),
  edit: (client, owner) => client.edit(ConfigMap, ref('there'), () => {}, { owner }),
  update: async (client, owner) =>
    await client.update(ConfigMap, (await client.live.get(ConfigMap, ref('there')))!, { owner }),
  'create with a reference': (client, owner) => client.create(ConfigMap, copy(owner)),
  'apply with a reference': (client, owner) => client.apply(ConfigMap, copy(owner)),
  'apply of a spread': (client, owner) => client.apply(ConfigMap, copy(), { owner: { ...owner } }),
  'apply of a draft': (client, owner) => client.apply(ConfigMap, copy(), { owner: draft(owner) }),
  'dry run': (client, owner) => client.apply(ConfigMap, copy(), { owner, dryRun: true }),
}

interface Both {
  readonly s: Started
  readonly west: OtherCluster
  /** The writing client, and the object of the other cluster. */
  readonly from: (target: 'own' | 'west') => Promise<{ readonly client: Client; readonly owner: KubeObject }>
}

async function both(options: StartingOptions = {}, isOne = false): Promise<Both> {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap).watches(ConfigMap, () => [], { cluster: west }).reconcile(async () => {})
  const s = await starting(app, options)
  const clients = { own: s.parts!.cluster.client, west: s.parts!.clusterOf(west).client }
  for (const client of isOne ? [s.client] : [s.client, s.clientOf(west)]) await create(client, 'src', 'there')
  await s.clock.advance(0)
  const from: Both['from'] = async (target) => ({
    client: clients[target],
    owner: (await clients[target === 'own' ? 'west' : 'own'].get(ConfigMap, ref('src')))!,
  })
  return { s, west, from }
}

for (const [what, write] of Object.entries(WRITES)) {
  test(`${what}: an object of the other cluster is refused as an owner, in both directions`, async () => {
    const { s, west, from } = await both()
    for (const target of ['own', 'west'] as const) {
      const { client, owner } = await from(target)
      const [home, here] = target === 'own'
        ? ['in cluster "west"', '']
        : ["in the operator's own cluster", ' in cluster "west"']
      await assert.rejects(write(client, owner), (error: Error) => {
        assert.match(error.message, /^Cannot (create|update|apply) ConfigMap "default\/(copy|there)"/)
        assert.ok(error.message.includes(`${here}: its owner ConfigMap "default/src" is ${home}, so`), error.message)
        assert.match(error.message, /write it without that owner, and delete it in finalize\(…\)$/)
        return error instanceof TypeError
      })
    }
    for (const client of [s.client, s.clientOf(west)]) {
      assert.equal(await client.get(ConfigMap, ref('copy')), undefined)
      assert.equal((await client.get(ConfigMap, ref('there')))?.metadata.ownerReferences, undefined)
    }
    await s.stop()
  })

  test(`${what}: an owner of the same cluster is not refused, without a further request`, async () => {
    const { s, west } = await both()
    for (const client of [s.parts!.cluster.client, s.parts!.clusterOf(west).client]) {
      const owner = (await client.get(ConfigMap, ref('src')))!
      s.network.take()
      s.networkOf(west).take()
      await write(client, owner)
      for (const line of [...s.network.take(), ...s.networkOf(west).take()]) assert.doesNotMatch(line, /GET .*\/src/)
    }
    await s.stop()
  })
}

test('an owner that both names of one cluster lead to is not refused', async () => {
  const known: { own?: KubeObject } = {}
  const { s, from } = await both({
    // The west has the object too, and its cache does not yet.
    interceptOthers: only(/^GET .*\/configmaps\/src$/, () => Promise.resolve(answer(200, known.own))),
  })
  const { client, owner } = await from('west')
  known.own = owner
  assert.equal(
    (await client.apply(ConfigMap, copy(), { owner })).metadata.ownerReferences?.[0]?.uid,
    owner.metadata.uid,
  )
  await s.stop()
})

test('the caches of two names of one cluster have the same objects, and no owner is refused or read', async () => {
  const server = new ApiServer()
  const { s, west, from } = await both({ server, interceptOthers: ({ ...request }) => server.handle(request) }, true)
  s.networkOf(west).take()
  const { client, owner } = await from('west')
  await client.apply(ConfigMap, copy(), { owner })
  assert.deepEqual(s.networkOf(west).take().filter((line) => line.endsWith('/src')), [])
  await s.stop()
})

test('without the right to read the owner, its uid decides; another failure of that read is reported', async () => {
  let code = 403
  const { s, from } = await both({
    interceptOthers: (request, next) =>
      request.method === 'GET' && request.path.endsWith('/configmaps/src')
        ? Promise.resolve(code === 403 ? refusal(403, 'Forbidden', {}, 'no') : refusal(500, 'InternalError', {}, 'odd'))
        : next(request),
  })
  const { client, owner } = await from('west')
  await assert.rejects(client.apply(ConfigMap, copy(), { owner }), /is in the operator's own cluster/)
  code = 500
  await assert.rejects(
    client.apply(ConfigMap, copy(), { owner }),
    /Cannot get ConfigMap "default\/src" in cluster "west": odd/,
  )
  await s.stop()
})

test('a namesake in the other cluster, a cluster-scoped owner, and an unknown one', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(Namespace).reconcile(async () => {})
  app.controllerFor(ConfigMap, { cluster: west }).reconcile(async () => {})
  await using s = await starting(app)
  const client = s.parts!.clusterOf(west).client
  const owner = (await s.client.get(Namespace, { name: 'default' }))!
  await assert.rejects(client.apply(ConfigMap, copy(), { owner }), /its owner Namespace "default" is in the operator's/)
  await client.apply(ConfigMap, copy(), { owner: (await client.live.get(Namespace, { name: 'default' }))! })
  await create(s.client, 'unwatched')
  await client.apply(ConfigMap, copy((await s.client.get(ConfigMap, ref('unwatched')))!))
})

test('an owner is looked for in its namespace alone: there may be thousands', async () => {
  let reads = 0
  const clusters = ['a', 'b'].map((name) => {
    const cluster = new Cluster({ name, transport: new ApiServer().handle })
    const namespaces = Array.from({ length: 100 }, (_, each) => `n${each}`)
    for (const kind of [ConfigMap, Secret]) {
      for (const informer of cluster.cache.declare(kind, { namespaces })) {
        const { reader } = informer
        Object.defineProperty(informer, 'reader', { get: () => (reads++, reader) })
      }
    }
    return cluster
  })
  const check = foreignOwners(() => clusters[0]!, () => clusters)
  const owner = { apiVersion: 'v1', kind: 'Secret', name: 'a', uid: 'u' }
  await check({ metadata: { namespace: 'n50', ownerReferences: [owner] } }, () => 'write', clusters[0]!.api)
  assert.equal(reads, 3)
})

test('an object in deletion loses its finalizer, whatever its owners', async () => {
  const { s, west, from } = await both()
  const { client, owner } = await from('west')
  const reference = copy(owner).metadata
  await s.clientOf(west).create(ConfigMap, { metadata: { ...reference, finalizers: ['example.dev/x'] } })
  await assert.rejects(client.edit(ConfigMap, ref('copy'), (map) => void (map.data = { a: '1' })), /its owner/)
  await s.clientOf(west).delete(ConfigMap, ref('copy'))
  await s.clock.advance(0)
  await client.edit(ConfigMap, ref('copy'), (map) => void delete map.metadata.finalizers)
  assert.equal(await s.clientOf(west).get(ConfigMap, ref('copy')), undefined)
  await s.stop()
})
