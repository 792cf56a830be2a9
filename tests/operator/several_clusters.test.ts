/** Controllers with the objects of several clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, EventChannel, type Operator, operator, type OtherCluster, predicates } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { refusal } from '../client/transports.ts'
import { create, failures, ours, ref, starting } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }
const labels = { fleet: '' }
const when = predicates.matchesLabels(labels)

function fleet(options: { readonly optional?: boolean } = {}) {
  const app = operator({ name: 'op' })
  const [east, west] = [app.cluster('east', nowhere, options), app.cluster('west', nowhere)] as const
  return { app, east, west, clusters: [east, west] as const }
}

async function inEach(
  app: Operator,
  clusters: readonly OtherCluster[],
  act: (client: Client, name: string) => unknown,
): Promise<World> {
  const w = await world(app)
  for (const cluster of clusters) await act(w.clientOf(cluster), cluster.name)
  await w.settle()
  return w
}

test('the objects of two clusters are two keys; client, events, owners and the finalizer are of their cluster', async () => {
  const { app, clusters, east } = fleet()
  const runs: unknown[] = []
  app.controllerFor(ConfigMap, { clusters, when }).owns(Secret)
    .finalize(async (map, { key, client }) => {
      runs.push(['cleanup', key.cluster, (await client.live.get(ConfigMap, map))?.data])
    })
    .reconcile(async (map, { key, client, cluster, clientOf, events }) => {
      runs.push([key, cluster?.name, map.data?.['in'], clientOf(cluster) === client, clientOf() === client])
      await client.apply(Secret, { metadata: { name: 'made' } }, { owner: map })
      events.normal(map, 'Done', 'done')
    })
  await using w = await inEach(
    app,
    clusters,
    (client, name) => client.create(ConfigMap, { metadata: { ...ref('a'), labels }, data: { in: name } }),
  )
  const first = (cluster: string) => [{ cluster, ...ref('a') }, cluster, cluster, true, false]
  const sorted = () => runs.splice(0).map((run) => JSON.stringify(run)).toSorted()
  assert.deepEqual([...new Set(sorted())], [first('east'), first('west')].map((run) => JSON.stringify(run)))
  for (const cluster of clusters) {
    const [map, secret] = [
      await w.clientOf(cluster).get(ConfigMap, ref('a')),
      await w.clientOf(cluster).get(Secret, ref('made')),
    ]
    assert.deepEqual(map?.metadata.finalizers, ['op/configmap'])
    assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, map?.metadata.uid)
  }
  assert.equal(await w.client.get(Secret, ref('made')), undefined)
  // A deleted object of one cluster is reconciled by its owner there alone.
  await w.clientOf(east).delete(Secret, ref('made'))
  await w.settle()
  assert.deepEqual([...new Set(sorted())], [JSON.stringify(first('east'))])
  await w.clientOf(east).delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual(sorted().filter((run) => run.includes('cleanup')), ['["cleanup","east",{"in":"east"}]'])
})

test('a cluster whose keys hang or that is down delays no other; failures name the cluster', async () => {
  const { app, clusters, east, west } = fleet({ optional: true })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { clusters, when: ours }).reconcile(async ({ metadata: { name } }, { key, signal }) => {
    runs.push(`${key.cluster} ${name}`)
    if (name === 'fails') throw new Error('broken')
    if (key.cluster === 'east') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  let isDown = true
  await using s = await starting(app, {
    intercepts: {
      east: (request, next) => isDown ? Promise.resolve(refusal(500, 'InternalError', {}, 'down')) : next(request),
    },
  })
  await create(s.clientOf(west), 'a')
  await create(s.clientOf(east), 'a')
  await s.clock.advance(10_000)
  assert.deepEqual(runs, ['west a'])
  isDown = false
  await s.clock.advance(60_000)
  await create(s.clientOf(west), 'b', 'fails')
  await s.clock.advance(1)
  assert.deepEqual([...new Set(runs)], ['west a', 'east a', 'west b', 'west fails'])
  const line = s.log.find(({ level, fields }) => level === 'error' && fields['name'] === 'fails')!
  assert.deepEqual([line.fields['controller'], line.fields['cluster']], ['configmap@west', 'west'])
  assert.equal(failures(s).length, 1 + failures(s).lastIndexOf(line.message))
})

test('sources: in their cluster, in another, in the own one; a key that names a cluster is for that one', async () => {
  const { app, clusters, east } = fleet()
  const channel: Record<string, EventChannel<{ namespace: string; name: string; cluster?: string }>> = {}
  const runs: string[] = []
  const clients: [string, boolean][] = []
  const marked = { when: predicates.matchesLabels(labels) }
  app.controllerFor(ConfigMap, { clusters, when: () => false })
    .watches(Secret, ({ metadata }, { cluster, client, clientOf }) => {
      clients.push([cluster!.name, client === clientOf(cluster) && client !== clientOf()])
      return [ref(`its ${metadata.name}`)]
    }, marked)
    .watches(
      Secret,
      async (
        { metadata },
      ) => [ref(`own ${metadata.name}`), { ...ref('for west'), cluster: 'west' }, { ...ref('lost'), cluster: 'north' }],
      { ...marked, cluster: 'own' },
    )
    .watches(Secret, ({ metadata }) => [{ ...ref(`east ${metadata.name}`), cluster: 'west' }], {
      ...marked,
      cluster: east,
    })
    .from('stream', ({ cluster }) => channel[cluster!.name] = new EventChannel())
    .every('1m', ({ cluster }) => [{ ...ref('hourly'), cluster: cluster!.name }, { ...ref('lost'), cluster: 'north' }])
    .reconcileKey(async ({ cluster, name }) => void runs.push(`${cluster}: ${name}`))
  await using w = await world(app)
  const taken = () => runs.splice(0).toSorted()
  await w.client.create(Secret, { metadata: { ...ref('x'), labels } })
  await w.settle()
  assert.deepEqual(taken(), ['east: own x', 'west: for west', 'west: own x'])
  await w.clientOf(east).create(Secret, { metadata: { ...ref('y'), labels } })
  await w.settle()
  assert.deepEqual([taken(), clients], [['east: its y', 'west: east y'], [['east', true]]])
  for (const each of Object.values(channel)) {
    for (const cluster of ['west', 'north', undefined]) each.send({ ...ref(`sent ${cluster}`), cluster: cluster! })
  }
  await w.settle()
  assert.deepEqual(taken(), ['east: sent undefined', 'west: sent undefined', 'west: sent west'])
  await w.advance('1m')
  assert.deepEqual(taken(), ['east: hourly', 'west: hourly'])
})

test('every without a function, and a controller of one cluster beside it', async () => {
  const { app, clusters, east } = fleet()
  const runs: string[] = []
  app.controllerFor(ConfigMap, { clusters, when }).every('1m').reconcile(async ({ metadata }, { key }) =>
    void runs.push(`${key.cluster} ${metadata.name}`)
  )
  app.controllerFor(ConfigMap, { name: 'one', cluster: east, when }).watches(Secret, () => [ref('a')], {
    cluster: 'own',
  })
    .reconcile(async (_, { key, cluster, client, clientOf }) =>
      void runs.push(`${'cluster' in key} ${cluster?.name} ${client === clientOf()}`)
    )
  await using w = await inEach(
    app,
    clusters,
    (client) => client.create(ConfigMap, { metadata: { ...ref('a'), labels } }),
  )
  assert.deepEqual(runs.splice(0).toSorted(), ['east a', 'false east true', 'west a'])
  await w.advance('1m')
  assert.deepEqual(runs.toSorted(), ['east a', 'west a'])
})

test('clusters of a controller are different, its own, and exclude `cluster`', async () => {
  const { app, east } = fleet()
  for (const options of [{ clusters: [] }, { clusters: [east, east] }, { clusters: [east], cluster: east }]) {
    assert.throws(
      () => app.controllerFor(ConfigMap, options),
      /^TypeError: Cannot control ConfigMap: clusters must be different clusters, at least one, and excludes cluster/,
    )
  }
  const other = operator({ name: 'other' }).controllerFor(ConfigMap, { clusters: [east] }).reconcile(async () => {})
  await assert.rejects(world(other), /Cannot use the cluster "east": this operator has no such cluster/)
  const twice = fleet()
  for (let i = 0; i < 2; i++) twice.app.controllerFor(ConfigMap, { clusters: twice.clusters }).reconcile(async () => {})
  await assert.rejects(world(twice.app), /two controllers are called "configmap@east"/)
})
