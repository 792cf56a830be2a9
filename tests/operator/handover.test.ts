/** Tests that a new leader's caches have what the last leader wrote, although its watches are late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, defineResource, type Operator, operator, type OperatorOptions } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Lease } from 'kubeloop/kinds'
import * as z from 'zod'
import type { Transport } from '../../lib/core/transport.ts'
import { delayedWatches } from '../cache/delayed_watch.ts'
import { messages, restingClock, type Started, starting } from './starting.ts'

const Foo = defineResource({ group: 'h.dev', version: 'v1', kind: 'Foo', spec: z.object({ n: z.int32() }) })

/** An operator that creates a config map with a generated name, unless its cache has one of the owner. */
function generating(options: Partial<OperatorOptions> = {}, warmup = false): Operator {
  const app = operator({ name: 'h', leaderElection: { namespace: 'default' }, ...options })
  app.controllerFor(Foo, { warmup }).owns(ConfigMap).reconcile(async (foo, { client }) => {
    const maps = await client.list(ConfigMap, { namespace: 'default' })
    if (maps.some(({ metadata }) => metadata.ownerReferences?.[0]?.uid === foo.metadata.uid)) return
    await client.create(ConfigMap, { metadata: { generateName: 'f-', namespace: 'default' } }, { owner: foo })
  })
  return app
}

/** The same in another cluster. */
function generatingIn(optional: boolean): Operator {
  const app = operator({ name: 'h', leaderElection: { namespace: 'default' } })
  const west = app.cluster('west', { server: 'https://west.invalid' }, { optional })
  app.controllerFor(Foo).watches(ConfigMap, () => [], { cluster: west }).reconcile(async (_, { clientOf }) => {
    const maps = await clientOf(west).list(ConfigMap, { namespace: 'default' })
    if (maps.some(({ metadata }) => metadata.name.startsWith('f-'))) return
    await clientOf(west).create(ConfigMap, { metadata: { generateName: 'f-', namespace: 'default' } })
  })
  return app
}

/**
 * Lets one replica work, then hands over to another one whose watches of config maps are late. Returns the config maps
 * of both clusters.
 */
async function handOver(make: () => Operator): Promise<string[]> {
  const clock = restingClock()
  const [server, west] = [new ApiServer({ clock }), new ApiServer({ clock })]
  const start = (instance: string, lateMs: number): Promise<Started> =>
    starting(make(), {
      ...{ clock, server, instance, crds: 'install' },
      intercept: (request, next) => delayedWatches(next, clock, /configmaps/.test(request.path) ? lateMs : 0)(request),
      intercepts: { west: delayedWatches(west.handle, clock, lateMs) },
    })
  const first = await start('first', 0)
  await clock.advance(1000)
  const second = await start('second', 800)
  await clock.advance(2000)
  await second.client.create(Foo, { metadata: { namespace: 'default', name: 'x' }, spec: { n: 1 } })
  await clock.advance(50)
  await first.stop()
  await clock.advance(5000)
  await second.stop()
  assert.deepEqual([first.outcome(), second.outcome()], ['resolved', 'resolved'])
  const there = new Cluster({ name: 'test', transport: west.handle }).client
  const maps = [...await second.client.list(ConfigMap), ...await there.list(ConfigMap)]
  return maps.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('f-'))
}

const kinds: Readonly<Record<string, () => Operator>> = {
  'a controller': () => generating(),
  'a controller with a warm-up': () => generating({}, true),
  'a controller in one namespace': () => generating({ namespaces: ['default'] }),
  'a controller that writes to another cluster': () => generatingIn(false),
  'a controller that writes to an optional cluster': () => generatingIn(true),
}

for (const [what, make] of Object.entries(kinds)) {
  test(`${what} of a new leader sees the writes of the last one before its first run`, async () => {
    const names = await handOver(make)
    assert.equal(names.length, 1, names.join())
  })
}

test('work on every replica does not wait, and an operator without an election reads no version', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const ran: string[] = []
  const app = operator({ name: 'e', leaderElection: { namespace: 'default' } })
  app.controllerFor(ConfigMap, { everyReplica: true }).reconcile(async ({ metadata }) => void ran.push(metadata.name))
  app.add('later', () => Promise.resolve(void ran.push('the task of the leader')))
  const hang = (request: Parameters<Transport>[0], next: Transport): ReturnType<Transport> =>
    request.headers?.['accept']?.includes('PartialObjectMetadataList') ? new Promise(() => {}) : next(request)
  const leading = await starting(app, { clock, server, intercept: hang })
  await leading.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } })
  await clock.advance(1000)
  assert.ok(ran.includes('a'))
  assert.ok(!ran.includes('the task of the leader'))
  await clock.advance(10_000)
  assert.ok(ran.includes('the task of the leader'))
  assert.deepEqual(messages(leading, 'warn'), [
    "Leading with a cache that may lack the last leader's writes, as it has not caught up: configmaps",
  ])
  await leading.stop()
  await using alone = await starting(app, { clock, server, leaderElection: false })
  await clock.advance(1000)
  assert.ok(alone.network.requests.every(({ headers }) => !headers?.['accept']?.includes('PartialObjectMetadata')))
})

test('the identity of a start replaces that of the operator', async () => {
  const app = operator({ name: 'h', leaderElection: { namespace: 'default', identity: 'stated' } })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  for (const [identity, holder] of [[undefined, 'stated'], ['given', 'given']] as const) {
    await using started = await starting(app, { identity })
    const lease = await started.client.get(Lease, { namespace: 'default', name: 'h' })
    assert.equal(lease?.spec?.holderIdentity, holder)
  }
})
