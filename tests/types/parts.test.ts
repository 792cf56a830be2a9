/**
 * Tests that the parts work separately, with only required options, and that an operator can be assembled from them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Cache,
  Cluster,
  Controller,
  defineIndex,
  type Delta,
  EventChannel,
  EventRecorder,
  handlers,
  Informer,
  KindSource,
  LeaderElector,
  Manager,
  type Runnable,
  RunnableGroup,
  WorkQueue,
} from 'kubeloop'
import { type Run, type Source, StreamSource, TickerSource } from 'kubeloop/parts'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Event, Lease, Secret } from 'kubeloop/kinds'

function embedded(): { readonly cluster: Cluster; readonly admin: Cluster['client'] } {
  const server = new ApiServer()
  const connect = (): Cluster => new Cluster({ name: 'by-hand', transport: server.handle })
  return { cluster: connect(), admin: connect().client }
}

const inDefault = (name: string): { readonly metadata: { readonly namespace: string; readonly name: string } } => ({
  metadata: { namespace: 'default', name },
})

test('a manually assembled operator leads, reconciles existing and changed objects, records Events, and stops', async () => {
  const { cluster, admin } = embedded()
  await admin.create(ConfigMap, { ...inDefault('there'), data: { a: '1' } })
  const manager = new Manager({
    elector: new LeaderElector({ api: cluster.api, lease: 'by-hand', namespace: 'default', identity: 'me' }),
  })
  const recorder = new EventRecorder({ api: cluster.api, controller: 'by-hand' })
  const channel = new EventChannel<{ namespace: string; name: string }>()
  const client = cluster.client.fenced(manager.fence)
  const done = new Map<string, PromiseWithResolvers<void>>()
  const reconciled = (name: string): PromiseWithResolvers<void> =>
    done.get(name) ?? done.set(name, Promise.withResolvers()).get(name)!
  const kinds: string[] = []
  const reconcile = async ({ key, signal, attempt }: Run): Promise<void | { requeue: true }> => {
    assert.equal(signal.aborted, false)
    if (key.name === 'again' && attempt < 3) return { requeue: true }
    const map = await client.get(ConfigMap, { namespace: 'default', name: key.name })
    if (map) {
      await client.apply(Secret, { ...inDefault(key.name), stringData: { a: 'b' } }, { owner: map })
      recorder.normal(map, 'Copied', 'the Secret is there')
    }
    reconciled(key.name).resolve()
  }
  const owned = new KindSource({
    informers: cluster.cache.declare(Secret),
    map: (object, call, event) => (kinds.push(event.kind), handlers.controllerKey(ConfigMap)(object, call)),
  })
  const once: Source = { name: 'once', start: async (sink) => sink.add({ namespace: 'default', name: 'again' }) }
  const sources = [
    new KindSource({ informers: cluster.cache.declare(ConfigMap) }),
    owned,
    once,
    new StreamSource({ name: 'stream', open: () => channel }),
    new TickerSource({ name: 'ticker', everyMs: 3_600_000, keys: () => [] }),
  ]
  for (const part of [cluster, recorder, new Controller({ name: 'copier', sources, reconcile })]) manager.add(part)
  const stop = new AbortController()
  const running = manager.start(stop.signal)
  await manager.elected
  await reconciled('there').promise
  await admin.create(ConfigMap, { ...inDefault('new'), data: { a: '2' } })
  await channel.send({ namespace: 'default', name: 'streamed' })
  for (const name of ['new', 'streamed', 'again']) await reconciled(name).promise
  stop.abort()
  await running
  assert.deepEqual((await admin.list(Secret, { namespace: 'default' })).map(({ metadata }) => metadata.name).sort(), [
    'new',
    'there',
  ])
  assert.ok(kinds.includes('added'), kinds.join())
  const events = await admin.list(Event)
  assert.deepEqual([
    ...new Set(
      events.map(({ reason, reportingComponent, reportingInstance }) =>
        `${reason} ${reportingComponent} ${reportingInstance}`
      ),
    ),
  ], ['Copied by-hand by-hand'])
  assert.equal((await admin.get(Lease, { namespace: 'default', name: 'by-hand' }))?.spec?.holderIdentity || '', '')
})

test('a separate cache runs, is ready when it has synced, and is read like a client', async () => {
  const { cluster, admin } = embedded()
  for (const name of ['a', 'b']) await admin.create(ConfigMap, { ...inDefault(name), data: { of: name } })
  const cache = new Cache({ api: cluster.api })
  const byData = defineIndex(ConfigMap, (map) => map.data?.['of'])
  const refused = {
    message:
      'Cannot read configmaps from the cache: it is not declared, not synced, or read with a field selector; use a client',
  }
  await assert.rejects(cache.get(ConfigMap, { namespace: 'default', name: 'a' }), refused)
  cache.declare(ConfigMap)
  await assert.rejects(cache.list(ConfigMap), refused)
  const manager = new Manager()
  manager.add(cache)
  const stop = new AbortController()
  const running = manager.start(stop.signal)
  await manager.ready(stop.signal)
  const { metadata } = (await cache.get(ConfigMap, { namespace: 'default', name: 'a' }))!
  assert.deepEqual([metadata.name, await cache.get(ConfigMap, { namespace: 'default', name: 'c' })], ['a', undefined])
  assert.deepEqual((await cache.list(ConfigMap, { namespace: 'default' })).map((map) => map.metadata.name), ['a', 'b'])
  assert.deepEqual((await cache.lookup(byData, 'b')).map((map) => map.metadata.name), ['b'])
  await assert.rejects(cache.list(ConfigMap, { fields: 'metadata.name=a' }), refused)
  await assert.rejects(cache.lookup(defineIndex(Secret, () => 'x'), 'x'), /Cannot read secrets from the cache/)
  stop.abort()
  await running
})

test('a separate informer is a runnable, ready after its first list', async () => {
  const { cluster, admin } = embedded()
  await admin.create(ConfigMap, { ...inDefault('a') })
  const informer = new Informer({ api: cluster.api, resource: ConfigMap, namespace: 'default' })
  assert.deepEqual([informer.name, new Informer({ api: cluster.api, resource: ConfigMap }).name, informer.role], [
    'informer of configmaps in namespace "default"',
    'informer of configmaps',
    'cache',
  ])
  const changes: Delta[] = []
  const second = Promise.withResolvers<void>()
  informer.addHandler((change) => {
    changes.push(change)
    if (change.object.metadata.name === 'b') second.resolve()
  })
  const group = new RunnableGroup('mine', (error) => second.reject(error))
  group.add(informer)
  const stop = new AbortController()
  await group.start(stop.signal)
  assert.equal(informer.store.get('default/a')?.kind, 'ConfigMap')
  await admin.create(ConfigMap, { ...inDefault('b') })
  await second.promise
  assert.deepEqual(changes.map((change) => [change.kind, change.object.metadata.name]), [['added', 'a'], [
    'added',
    'b',
  ]])
  await group.stopAndWait(stop.signal)
})

test('a cluster finds the informers of a kind by its group, version and kind', async () => {
  const { cluster } = embedded()
  const [deployments] = await cluster.informersOf({ group: 'apps', version: 'v1', kind: 'Deployment' }, {
    namespaces: ['default'],
  })
  assert.deepEqual([deployments?.resource.plural, deployments?.namespace], ['deployments', 'default'])
  assert.equal(
    (await cluster.informersOf({ version: 'v1', kind: 'ConfigMap' }))[0],
    cluster.cache.declare(ConfigMap)[0],
  )
  const typed = cluster.cache.informersOf(ConfigMap)?.[0]
  assert.equal(typed?.store.get('default/none')?.data?.['key'], undefined)
  // @ts-expect-error -- the objects have the type of their kind
  assert.equal(typed?.store.get('default/none')?.spec, undefined)
  await assert.rejects(cluster.informersOf({ group: 'example.dev', version: 'v1', kind: 'Foo' }), {
    message: 'Cannot find the kind Foo of example.dev/v1: the server does not serve it (is the CRD installed?)',
  })
})

test('a manager runs another manager: it is ready with it, and a failure of either stops both', async () => {
  const log: string[] = []
  const part = (name: string, fails?: Error): Runnable => ({
    name,
    start: async (signal) => {
      log.push(`+${name}`)
      if (fails) throw fails
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      log.push(`-${name}`)
    },
  })
  const [outer, inner] = [new Manager(), new Manager({ name: 'inner', everyReplica: true })]
  inner.add(part('a'))
  outer.add(inner)
  outer.add(part('b'))
  const stop = new AbortController()
  const running = outer.start(stop.signal)
  await outer.ready(stop.signal)
  assert.deepEqual([inner.name, inner.isElected, log], ['inner', true, ['+a', '+b']])
  stop.abort()
  await running
  assert.deepEqual(log.slice(2).sort(), ['-a', '-b'])
  const failing = new Manager({ name: 'failing' })
  failing.add(part('c', new Error('mine')))
  const around = new Manager()
  around.add(failing)
  await assert.rejects(around.start(new AbortController().signal), /mine/)
  await assert.rejects(failing.ready(new AbortController().signal), {
    message: 'The manager "failing" ended before it was ready',
  })
  await assert.rejects(new Manager().ready(AbortSignal.abort(new Error('stop'))), /stop/)
})

test('a queue needs no options', async () => {
  const queue = new WorkQueue<string>()
  queue.add('a')
  assert.equal(await queue.get(new AbortController().signal), 'a')
  queue.done('a')
  assert.equal(queue.idle, true)
})
