/** Namespaces by labels: informers, keys and runs come and go with them. */
import { sourceIn } from '../../lib/operator/namespaces.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  Cluster,
  type ClusterChange,
  type ControllerOptions,
  defineIndex,
  EventChannel,
  type KubeObject,
  type Operator,
  operator,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace, Node, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import { aborted } from '../../lib/async/abort.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { Source } from '../../lib/controller/source.ts'
import { rightsOf } from '../../lib/rights/likely.ts'
import { type Recorder, refusal } from '../client/transports.ts'
import { failures, messages, only, restingClock, type Started, starting } from './starting.ts'

const TEAM = { team: 'a' }

const isRoot = ({ metadata: { name } }: KubeObject): boolean => name === 'kube-root-ca.crt'

async function namespace(client: Client, name: string, labels: Record<string, string> | undefined = TEAM) {
  await client.create(Namespace, { metadata: { name, labels } })
}

/** Gives a Namespace the labels, or takes them. */
async function label(client: Client, name: string, team: string | null): Promise<void> {
  await client.patch(Namespace, { name }, { merge: { metadata: { labels: { team } } } })
}

async function map(client: Client, namespace: string, name: string): Promise<void> {
  await client.create(ConfigMap, { metadata: { namespace, name } })
}

/** Creates Namespaces of the team before a start, with config maps of these names. */
const has = (all: Readonly<Record<string, readonly string[]>>) => async (client: Client): Promise<void> => {
  for (const [name, maps] of Object.entries(all)) {
    await namespace(client, name)
    for (const each of maps) await map(client, name, each)
  }
}

interface Watching {
  readonly app: Operator
  /** `+` with an object, `-` without one. */
  readonly runs: string[]
  /** Returns the runs since the last call. */
  take(): string[]
}

/** An operator that notes which keys run. */
function watching(
  options: ControllerOptions<KubeObject> = {},
  { namespaces = { labels: 'team=a' }, ...over }: Partial<Parameters<typeof operator>[0]> = {},
): Watching {
  const app = operator({ name: 'op', ...over, namespaces })
  const runs: string[] = []
  app.controllerFor(ConfigMap, { ...(options as object), when: (object) => !isRoot(object) })
    .reconcileKey(async (key, { client }) => {
      const object = await client.get(ConfigMap, key)
      runs.push(`${object ? '+' : '-'}${key.namespace}/${key.name}`)
    })
  return { app, runs, take: () => runs.splice(0).toSorted() }
}

/** What the operator watches, as `resource namespace`. */
function watched({ parts }: Started): string[] {
  const informers = [...parts!.cluster.cache.informers()]
  return informers.map(({ resource, namespace = '*' }) => `${resource.plural} ${namespace}`).toSorted()
}

test('the objects in Namespaces with the labels are reconciled, as these come and change, without a restart', async () => {
  const { app, take } = watching()
  await using started = await starting(app, {
    before: async (client) => {
      await namespace(client, 'one')
      await namespace(client, 'two', { team: 'b' })
      for (const each of ['one', 'two', 'default']) await map(client, each, 'x')
    },
  })
  const { client, clock } = started
  assert.deepEqual(take(), ['+one/x'])
  await label(client, 'two', 'a')
  await namespace(client, 'three')
  await map(client, 'three', 'x')
  await clock.advance(0)
  assert.deepEqual(take(), ['+three/x', '+two/x'])
  assert.deepEqual(watched(started), ['configmaps one', 'configmaps three', 'configmaps two', 'namespaces *'])
  await map(client, 'two', 'y')
  await clock.advance(0)
  assert.deepEqual(take(), ['+two/y'])
  assert.deepEqual(failures(started), [])
})

test('a Namespace that loses the labels is left: no run without an object, no watch, and its objects are read live', async () => {
  const { app, take } = watching()
  await using started = await starting(app, { before: has({ one: ['x'] }) })
  const { client, clock, network, parts } = started
  assert.deepEqual(take(), ['+one/x'])
  const left = [...parts!.cluster.cache.informers()].find((informer) => informer.namespace === 'one')!
  await label(client, 'one', 'b')
  await clock.advance(0)
  await left.ended
  assert.deepEqual(watched(started), ['namespaces *'])
  await map(client, 'one', 'y')
  await client.delete(ConfigMap, { namespace: 'one', name: 'x' })
  await clock.advance(60_000)
  assert.deepEqual(take(), [])
  network.take()
  assert.deepEqual(await parts!.cluster.client.list(ConfigMap), [])
  assert.deepEqual(network.take(), [])
  assert.equal((await parts!.cluster.client.get(ConfigMap, { namespace: 'one', name: 'y' }))?.metadata.name, 'y')
  assert.equal((await parts!.cluster.client.list(ConfigMap, { namespace: 'one' })).length, 1)
  assert.equal(network.take().length, 2)
  // What was deleted meanwhile is no deletion either.
  await label(client, 'one', 'a')
  await clock.advance(0)
  assert.deepEqual(take(), ['+one/y'])
  assert.deepEqual(messages(started, 'warn'), [])
})

test('the finalizers of objects in a Namespace that is left are not run', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const ran: string[] = []
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) })
    .finalize(async ({ metadata: { name } }) => void ran.push(`cleanup ${name}`))
    .reconcile(async ({ metadata: { name } }) => void ran.push(name))
  await using started = await starting(app, { before: has({ one: ['x'] }) })
  const { client, clock } = started
  assert.deepEqual(ran.splice(0), ['x'])
  await label(client, 'one', null)
  await clock.advance(0)
  await client.delete(ConfigMap, { namespace: 'one', name: 'x' })
  await clock.advance(60_000)
  assert.deepEqual(ran, [])
  await label(client, 'one', 'a')
  await clock.advance(0)
  assert.deepEqual(ran, ['cleanup x'])
})

/** Delivers what a watch of the config maps in "one" has after its first list only when the promise resolves. */
const lateUntil = (open: Promise<void>): NonNullable<Recorder['intercept']> => async (request, next) => {
  const response = await next(request)
  if (!/\/one\/configmaps\?.*watch=/.test(request.path)) return response
  const { body } = response
  async function* late(): AsyncGenerator<Uint8Array> {
    let isListed = false
    for await (const chunk of body) {
      if (isListed) await open
      yield chunk
      isListed ||= new TextDecoder().decode(chunk).includes('initial-events-end')
    }
  }
  return { ...response, body: Object.assign(late(), { text: () => body.text(), cancel: () => body.cancel() }) }
}

test('the deletions in a deleted Namespace are reconciled before it is left, also when their watch is late', async () => {
  const { app, take } = watching()
  const late = new Latch()
  await using started = await starting(app, {
    intercept: lateUntil(late.opened),
    before: has({ one: ['x'] }),
  })
  const { client, clock } = started
  assert.deepEqual(take(), ['+one/x'])
  await client.delete(Namespace, { name: 'one' })
  await clock.advance(500)
  assert.deepEqual([take(), watched(started)], [[], ['configmaps one', 'namespaces *']])
  late.open()
  await clock.advance(1500)
  assert.deepEqual([take(), watched(started)], [['-one/x'], ['namespaces *']])
  assert.deepEqual(messages(started, 'warn'), [])
})

test('the deletions in a deleted Namespace are reconciled whatever time their map functions take', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const hold = new Latch()
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: () => false })
    .watches(Secret, async ({ metadata }, { event }) => {
      if (event.kind === 'deleted') await hold.opened
      return [metadata]
    })
    .reconcileKey(async ({ name }) => void runs.push(name))
  await using started = await starting(app, {
    before: async (client) => {
      await namespace(client, 'one')
      await client.create(Secret, { metadata: { namespace: 'one', name: 'x' } })
    },
  })
  runs.splice(0)
  await started.client.delete(Namespace, { name: 'one' })
  await started.clock.advance(10_000)
  assert.deepEqual([runs, watched(started)], [[], ['namespaces *']])
  assert.equal(started.parts!.controllers.get('configmap')!.idle, false)
  hold.open()
  await started.clock.advance(0)
  assert.deepEqual(runs, ['x'])
})

test('a deleted Namespace whose watches do not catch up is left after 10 s, with a warning', async () => {
  const { app, take } = watching()
  await using started = await starting(app, {
    intercept: lateUntil(new Promise(() => {})),
    before: has({ one: ['x'] }),
  })
  take()
  await started.client.delete(Namespace, { name: 'one' })
  await started.clock.advance(9_000)
  assert.deepEqual(watched(started), ['configmaps one', 'namespaces *'])
  await started.clock.advance(2_000)
  assert.deepEqual([take(), watched(started)], [[], ['namespaces *']])
  assert.deepEqual(messages(started, 'warn'), [
    'Deletions of objects in the deleted Namespace "one" may not be reconciled: their watches have not caught up in time',
  ])
})

test('a Namespace that is deleted and created again while it is asked for stays watched', async () => {
  const { app, take } = watching()
  await using started = await starting(app, { before: has({ one: ['x'] }) })
  const { client, clock } = started
  take()
  await client.delete(Namespace, { name: 'one' })
  await namespace(client, 'one')
  await map(client, 'one', 'y')
  await clock.advance(30_000)
  assert.deepEqual([take(), watched(started)], [['+one/y', '-one/x'], ['configmaps one', 'namespaces *']])
})

test('a Namespace that was deleted and labelled otherwise while no watch was open is left by what the server has', async () => {
  const { app, take } = watching()
  let isDown = false
  const clock = restingClock()
  const server = new ApiServer({ clock })
  await using started = await starting(app, {
    clock,
    server,
    intercept: async (request, next) => isDown ? refusal(503, 'ServiceUnavailable') : await next(request),
    before: has({ gone: ['x'], left: ['x'] }),
  })
  const { client } = started
  take()
  isDown = true
  server.closeWatches()
  await clock.advance(0)
  await client.delete(Namespace, { name: 'gone' })
  await label(client, 'left', 'b')
  await client.delete(ConfigMap, { namespace: 'left', name: 'x' })
  await clock.advance(20_000)
  assert.deepEqual([take(), watched(started).length], [[], 3])
  server.compact()
  isDown = false
  await clock.advance(60_000)
  // Until the server has answered, x may be reported as deleted in "left", too, as it was.
  assert.deepEqual([take().filter((run) => run.includes('gone')), watched(started)], [['-gone/x'], ['namespaces *']])
})

test('keys that wait are dropped with their Namespace, and a running reconcile ends as usual and does not come back', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const hold = new Latch()
  const runs: string[] = []
  const written: string[] = []
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) }).reconcileKey(
    async ({ namespace, name }, context) => {
      const { client, signal } = context
      runs.push(`${namespace}/${name}`)
      if (name === 'later') return { requeueAfter: '1h' }
      if (name !== 'slow') return undefined
      await hold.opened
      assert.deepEqual([signal.aborted, context.stopping.aborted], [false, false])
      await client.patch(ConfigMap, { namespace: namespace!, name }, { merge: { data: { written: 'yes' } } })
      written.push(name)
      throw new Error('try again')
    },
  )
  await using started = await starting(app, { before: has({ one: ['later'], two: ['later'] }) })
  const { client, clock } = started
  await map(client, 'one', 'slow')
  await clock.advance(0)
  await map(client, 'one', 'waits')
  await clock.advance(0)
  assert.deepEqual(runs.splice(0).toSorted(), ['one/later', 'one/slow', 'two/later'])
  await label(client, 'one', 'b')
  await clock.advance(0)
  hold.open()
  await clock.advance(7_200_000)
  assert.deepEqual(written, ['slow'])
  assert.match(failures(started).join(), /^Cannot reconcile ConfigMap "one\/slow": try again \(not retried here\)$/)
  assert.deepEqual([...new Set(runs)], ['two/later'])
  // A key is reconciled again when its Namespace is.
  runs.splice(0)
  await label(client, 'one', 'a')
  await clock.advance(0)
  assert.deepEqual([...new Set(runs)].toSorted(), ['one/later', 'one/slow', 'one/waits'])
})

test('a key whose Namespace comes back during its run is reconciled after it', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const hold = new Latch()
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) }).reconcile(async ({ metadata: { name } }) => {
    runs.push(name)
    await hold.opened
    return { requeueAfter: '1m' }
  })
  await using started = await starting(app, { before: has({ one: ['x'] }) })
  const { client, clock } = started
  for (const team of ['b', 'a']) {
    await label(client, 'one', team)
    await clock.advance(0)
  }
  assert.deepEqual(runs, ['x'])
  hold.open()
  await clock.advance(0)
  assert.deepEqual(runs, ['x', 'x'])
  // Once: by the second run.
  await clock.advance(61_000)
  assert.equal(runs.length, 3)
})

test('keys from elsewhere are reconciled only in selected Namespaces, without a warning', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const channel = new EventChannel<{ namespace: string; name: string }>()
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: () => false }).from('outside', () => channel)
    .reconcileKey(async ({ namespace, name }) => void runs.push(`${namespace}/${name}`))
  await using started = await starting(app, { before: has({ one: [] }) })
  const { client, clock } = started
  for (const namespace of ['one', 'default']) await channel.send({ namespace, name: 'x' })
  await clock.advance(0)
  assert.deepEqual(runs, ['one/x'])
  assert.deepEqual(messages(started, 'warn'), [])
  // In a deleted one for 5 minutes more.
  await client.delete(Namespace, { name: 'one' })
  for (const ms of [280_000, 40_000]) {
    await clock.advance(ms)
    await channel.send({ namespace: 'one', name: `${ms}` })
    await clock.advance(0)
  }
  assert.deepEqual(runs, ['one/x', 'one/280000'])
})

test('owned and watched kinds follow the same Namespaces, each by the labels of its cache', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const runs: string[] = []
  const byName = defineIndex(Secret, ({ metadata }) => metadata.name)
  let found: unknown
  app.cache(Secret, { namespaces: { labels: 'keeps=secrets' } })
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) })
    .watches(Secret, ({ metadata }) => [metadata])
    .reconcileKey(async ({ namespace, name }, { client }) => {
      runs.push(`${namespace}/${name}`)
      found = (await client.lookup(byName, 'x')).map(({ metadata }) => metadata.namespace).toSorted()
    })
  await using started = await starting(app, {
    before: async (client) => {
      await namespace(client, 'both', { ...TEAM, keeps: 'secrets' })
      await namespace(client, 'keeps', { keeps: 'secrets' })
      await namespace(client, 'team')
      for (const each of ['both', 'keeps', 'team']) {
        await client.create(Secret, { metadata: { namespace: each, name: 'x' } })
      }
    },
  })
  assert.deepEqual(runs, ['both/x'])
  assert.deepEqual(found, ['both', 'keeps'])
  assert.deepEqual(watched(started), [
    ...['configmaps both', 'configmaps team', 'namespaces *', 'namespaces *'],
    ...['secrets both', 'secrets keeps'],
  ])
})

test('without a selected Namespace nothing is listed in all of them, and before their first list reads fail', async () => {
  let names: string[] | undefined
  let refused: string | undefined
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  app.cache(Secret)
  app.controllerFor(Node).reconcile(async (_node, { client }) => {
    names = (await client.list(Secret)).map(({ metadata }) => metadata.name)
  })
  const list = async (client: Client): Promise<void> => {
    await client.list(Secret).catch((error: Error) => void (refused = error.message))
  }
  app.extend(async ({ cluster }) => await list(cluster.client))
  await using started = await starting(app, {
    before: async (client) => {
      await client.create(Secret, { metadata: { namespace: 'default', name: 'x' } })
      await client.create(Node, { metadata: { name: 'x' } })
    },
  })
  assert.deepEqual(names, [])
  assert.equal(refused, 'Cannot read secrets: the Namespaces with the labels "team=a" are not listed yet')
  assert.ok(!started.network.take().some((line) => line.includes('/secrets')))
})

test('what is selected of all cached kinds is not selected of the Namespaces', async () => {
  const stripped: string[] = []
  const { app, take } = watching({}, {
    cache: { fields: 'metadata.name=settings', strip: ({ kind }) => void stripped.push(kind) },
  })
  await using _ = await starting(app, { before: has({ one: ['settings', 'x'], two: ['settings'] }) })
  assert.deepEqual(take(), ['+one/settings', '+two/settings'])
  assert.deepEqual([...new Set(stripped)], ['ConfigMap'])
})

test('a start waits for the objects in all Namespaces that are selected, and readiness for none that joins later', async () => {
  const { app, take } = watching()
  const hold = new Latch()
  let held = /\/(one|late)\/configmaps/
  await using started = await starting(app, {
    intercept: async (request, next) => {
      if (held.test(request.path)) await hold.opened
      return next(request)
    },
    before: has({ one: ['x'], two: ['x'] }),
  })
  const { client, clock, parts } = started
  assert.deepEqual([take(), parts!.manager.isElected], [[], false])
  hold.open()
  await clock.advance(0)
  assert.deepEqual(take(), ['+one/x', '+two/x'])
  held = /\/late\/configmaps/
  const again = new Latch()
  started.network.intercept = async (request, next) => {
    if (held.test(request.path)) await again.opened
    return next(request)
  }
  await namespace(client, 'late')
  await map(client, 'late', 'x')
  await clock.advance(0)
  const informers = [...parts!.cluster.cache.informers()]
  assert.deepEqual(
    informers.filter(({ isSynced }) => !isSynced).map(({ namespace, optional }) => [namespace, optional]),
    [['late', true]],
  )
  await map(client, 'two', 'y')
  await clock.advance(0)
  assert.deepEqual(take(), ['+two/y'])
  again.open()
  await clock.advance(0)
  assert.deepEqual(take(), ['+late/x'])
})

test('a role that lacks the Namespaces is named, and the start ends after syncTimeout', async () => {
  const { app } = watching()
  await using started = await starting(app, {
    intercept: only(/\/namespaces\?/, async () => refusal(403, 'Forbidden')),
  })
  assert.match(messages(started, 'warn').join('\n'), /Cannot list namespaces: /)
  await started.clock.advance(120_000)
  assert.match(String(started.outcome()), /namespaces/)
})

test('a start ends after the syncTimeout of a controller also if a selected Namespace refuses its kind', async () => {
  for (const [syncTimeout, seconds] of [['10s', 10], ['5m', 300]] as const) {
    const { app } = watching({ syncTimeout })
    await using started = await starting(app, {
      before: async (client) => await namespace(client, 'one'),
      intercept: only(/\/configmaps/, async () => refusal(403, 'Forbidden')),
    })
    await started.clock.advance(seconds * 1000 - 100)
    assert.equal(started.outcome(), undefined)
    await started.clock.advance(200)
    assert.match(String(started.outcome()), /within (10 s|5 m): configmaps in namespace "one"/)
  }
})

test('each cluster and each cluster of a group has Namespaces of its own', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' }, { namespaces: { labels: 'team=west' } })
  const changes = new EventChannel<ClusterChange>()
  const members = app.clusters('members', () => changes)
  const runs: string[] = []
  for (const clusters of [[west], members]) {
    app.controllerFor(ConfigMap, {
      clusters,
      name: clusters === members ? 'grouped' : 'stated',
      when: (each) => !isRoot(each),
    })
      .reconcileKey(async ({ cluster, namespace, name }) => void runs.push(`${cluster} ${namespace}/${name}`))
  }
  await using w = await world(app)
  await changes.send({ add: 'east', config: { server: 'https://127.0.0.1:1' } })
  await w.settle()
  const east = w.clientOf({ name: 'east' })
  for (const client of [w.clientOf(west), east]) {
    for (const team of ['a', 'west']) {
      await namespace(client, team, { team })
      await map(client, team, 'x')
    }
  }
  await w.settle()
  assert.deepEqual(runs.splice(0).toSorted(), ['east a/x', 'west west/x'])
  await label(east, 'a', null)
  await w.settle()
  await map(east, 'a', 'y')
  await w.settle()
  assert.deepEqual(runs, [])
  await label(east, 'a', 'a')
  await w.settle()
  assert.deepEqual(runs.splice(0).toSorted(), ['east a/x', 'east a/y'])
  await changes.send({ remove: 'east' })
  await w.settle()
  await map(east, 'a', 'z')
  await w.settle()
  assert.deepEqual(runs, [])
})

test('a replica that takes over reconciles what is selected then, with and without warm-up', async () => {
  for (const warmup of [false, true]) {
    const { app, take } = watching({ warmup }, { leaderElection: true })
    await using w = await world(app, { replicas: 2 })
    await namespace(w.client, 'one')
    await map(w.client, 'one', 'x')
    await w.settle()
    assert.deepEqual(take(), ['+one/x'])
    await namespace(w.client, 'two')
    await map(w.client, 'two', 'x')
    await map(w.client, 'one', 'y')
    await label(w.client, 'one', 'b')
    await w.settle()
    take()
    await w.kill(0)
    await w.advance('30s')
    assert.deepEqual(take(), ['+two/x'], `${warmup}`)
  }
})

test('a takeover waits for the watch of a Namespace that has joined later as for any other', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const { app, take } = watching({}, { leaderElection: { namespace: 'default' } })
  let isDown = false
  const down = only(/GET .*\/one\/configmaps/, async () => refusal(500, 'InternalError'))
  const first = await starting(app, { clock, server })
  const second = await starting(app, {
    ...{ clock, server },
    intercept: async (request, next) => await (isDown ? down(request, next) : next(request)),
  })
  const { client } = first
  await namespace(client, 'one')
  await map(client, 'one', 'x')
  await clock.advance(1000)
  isDown = true
  server.closeWatches()
  await clock.advance(1000)
  await map(client, 'one', 'y')
  await clock.advance(0)
  take()
  await first.stop()
  await clock.advance(5000)
  assert.deepEqual(take(), [])
  isDown = false
  await clock.advance(60_000)
  assert.deepEqual(take(), ['+one/x', '+one/y'])
  await second.stop()
})

test('kinds that are read live, optional ones and those of every replica follow the Namespaces, too', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  app.cache(ConfigMap, { read: 'live', labels: 'keep=yes' })
  const runs: string[] = []
  let names: string[] = []
  app.controllerFor(ConfigMap, { everyReplica: true })
    .watches(Secret, ({ metadata }) => [metadata], { optional: true })
    .reconcileKey(async ({ namespace, name }, { client }) => {
      runs.push(`${namespace}/${name}`)
      names = (await client.list(ConfigMap)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    })
  let isRefused = true
  await using started = await starting(app, {
    intercept: async (request, next) =>
      isRefused && request.path.includes('/secrets') ? refusal(403, 'Forbidden') : await next(request),
    before: async (client) => {
      for (const [name, team] of [['one', 'a'], ['two', 'b']] as const) {
        await namespace(client, name, { team })
        for (const keep of ['yes', 'no']) {
          await client.create(ConfigMap, { metadata: { namespace: name, name: keep, labels: { keep } } })
        }
        await client.create(Secret, { metadata: { namespace: name, name: 'secret' } })
      }
    },
  })
  await started.clock.advance(10_000)
  assert.deepEqual([runs.splice(0), names], [['one/yes'], ['one/yes']])
  isRefused = false
  await started.clock.advance(60_000)
  assert.deepEqual(runs, ['one/secret'])
})

test('the role lists and watches Namespaces, and has its other rules in all namespaces', () => {
  const app = operator({ name: 'op' })
  app.cache(ConfigMap, { namespaces: { labels: 'team=a' } }).cache(Secret, { namespaces: ['prod'] })
  app.controllerFor(ConfigMap).watches(Secret, () => []).reconcile(async () => {})
  const { everywhere, inNamespaces } = rightsOf(app.description, 'default')
  const lines = everywhere.map(({ resources = [], verbs }) => `${resources.join(',')}: ${verbs.join(',')}`)
  assert.deepEqual(lines, ['configmaps: get,list,watch', 'namespaces: list,watch', 'events: create,patch'])
  assert.deepEqual([...inNamespaces.keys()], ['prod'])
  const stated = operator({ name: 'op', namespaces: ['prod'] })
  stated.controllerFor(ConfigMap).reconcile(async () => {})
  assert.deepEqual(rightsOf(stated.description, 'default').everywhere, [])
})

test('what cannot be is refused where it is described', async () => {
  const place = / \(.*namespaces\.test\.ts:\d+:\d+\)$/
  const refuses = (describe: () => unknown, ...parts: readonly string[]): void => {
    assert.throws(describe, (error: Error) => {
      for (const part of parts) assert.ok(error.message.includes(part), error.message)
      assert.match(error.message, place)
      return error instanceof TypeError
    })
  }
  const app = operator({ name: 'op' })
  const wrong = { labels: 'a b' }
  const alone = 'selects Namespaces, and must stand alone; a namespace called "labels" has a selection: labels: {}'
  refuses(() => operator({ name: 'x', namespaces: wrong }), 'a b')
  refuses(() => app.cluster('west', { server: 'https://127.0.0.1:1' }, { namespaces: wrong }), 'a b')
  refuses(() => app.clusters('members', () => new EventChannel<ClusterChange>(), { namespaces: wrong }), 'a b')
  refuses(() => app.cache(ConfigMap, { namespaces: wrong }), 'a b')
  refuses(() => app.cache(ConfigMap, { namespaces: { labels: 'team=a', prod: {} } }), alone)
  refuses(() => app.cache(ConfigMap, { namespaces: { labels: undefined as never } }), 'its selection is undefined')
  refuses(() => app.cache(Namespace, { namespaces: { labels: 'team=a' } }), 'it is cluster-scoped')
  app.cache(ConfigMap, { namespaces: { labels: 'team=a' } })
  refuses(() => app.cache(ConfigMap, { namespaces: { labels: 'team=b' } }), 'twice')
  app.cache(ConfigMap, { namespaces: { labels: 'team=a' } })

  const shard = operator({ name: 'op', sharding: { ring: 'ring' }, namespaces: { labels: 'team=a' } })
  shard.controllerFor(ConfigMap).reconcile(async () => {})
  await using started = await starting(shard)
  assert.match(String(started.outcome()), /ConfigMap has namespaces by labels, .* spec\.namespaceSelector/)
  const { cache } = new Cluster({ name: 'x', transport: new ApiServer().handle })
  const alas = /Cannot cache in namespaces by the labels "a=b": only an operator follows them/
  assert.throws(() => cache.declare(ConfigMap, { namespaces: { labels: 'a=b' } }), alas)
})

test('a namespace may be called "labels"', async () => {
  const app = operator({ name: 'op' })
  app.cache(ConfigMap, { namespaces: { labels: { labels: 'keep=yes' } } })
  const runs: string[] = []
  app.controllerFor(ConfigMap).reconcile(async ({ metadata: { name } }) => void runs.push(name))
  await using started = await starting(app, {
    before: async (client) => {
      await namespace(client, 'labels')
      for (const keep of ['yes', 'no']) {
        await client.create(ConfigMap, { metadata: { namespace: 'labels', name: keep, labels: { keep } } })
      }
    },
  })
  assert.deepEqual([runs, watched(started)], [['yes'], ['configmaps labels']])
})

test('a kind that is removed from the cache is not watched in Namespaces that come later', async () => {
  const { app } = watching()
  app.cache(Secret)
  await using started = await starting(app, { before: has({ one: [] }) })
  const { client, clock, network, parts } = started
  parts!.cluster.cache.remove(Secret)
  network.take()
  await namespace(client, 'two')
  await clock.advance(0)
  assert.deepEqual(watched(started), ['configmaps one', 'configmaps two', 'namespaces *'])
  assert.deepEqual([...new Set(network.take())], ['GET /api/v1/namespaces/two/configmaps'])
  // One that is added later is.
  parts!.cluster.cache.declare(Secret, { namespaces: { labels: 'team' } })
  await clock.advance(0)
  assert.ok(watched(started).includes('secrets two'))
})

test('a Namespace that was deleted and created again without the labels before the server was asked is a deleted one', async () => {
  const { app, take } = watching()
  await using started = await starting(app, { before: has({ one: ['x'] }) })
  const { client, clock, network } = started
  take()
  const hold = new Latch()
  network.intercept = async (request, next) => {
    if (request.path.includes('metadata.name%3Done')) await hold.opened
    return await next(request)
  }
  await client.delete(Namespace, { name: 'one' })
  await namespace(client, 'one', {})
  await map(client, 'one', 'y')
  hold.open()
  await clock.advance(500)
  assert.ok(take().includes('-one/x'))
  assert.deepEqual(watched(started), ['configmaps one', 'namespaces *'])
  await clock.advance(1_000)
  assert.deepEqual(watched(started), ['namespaces *'])
})

test('objects in a new Namespace with the name of a deleted one are reconciled if it has the labels, and get no finalizer before', async () => {
  // While the server is asked whether the Namespace was deleted, while its watches go on, and when it is left.
  for (const waitMs of [0, 500, 60_000]) {
    for (const isLabelled of [false, true]) {
      const hold = new Latch()
      const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
      const runs: string[] = []
      app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) })
        .finalize(async () => {})
        .reconcile(async ({ metadata: { name } }) => {
          runs.push(name)
          return { requeueAfter: '1h' }
        })
      await using started = await starting(app, {
        before: has({ one: ['x'] }),
        intercept: async (request, next) => {
          if (waitMs === 0 && request.path.includes('metadata.name%3Done')) await hold.opened
          return await next(request)
        },
      })
      const { client, clock } = started
      await client.delete(Namespace, { name: 'one' })
      await client.delete(ConfigMap, { namespace: 'one', name: 'x' })
      await clock.advance(waitMs)
      runs.splice(0)
      await namespace(client, 'one', {})
      for (const name of ['x', 'y']) await map(client, 'one', name)
      await clock.advance(100)
      assert.deepEqual(runs, [])
      hold.open()
      if (isLabelled) await label(client, 'one', 'a')
      await clock.advance(7_200_000)
      assert.deepEqual([...new Set(runs)].toSorted(), isLabelled ? ['x', 'y'] : [])
      const made = await client.list(ConfigMap, { namespace: 'one' })
      const finalizers = made.filter((object) => !isRoot(object)).map(({ metadata }) => metadata.finalizers)
      assert.deepEqual(finalizers, isLabelled ? [['op/configmap'], ['op/configmap']] : [undefined, undefined])
    }
  }
})

test('the watches of a deleted Namespace go on for a second, and with it if it is created again', async () => {
  const { app } = watching()
  await using started = await starting(app, { before: has({ one: [] }) })
  const { client, clock, network } = started
  await client.delete(Namespace, { name: 'one' })
  await clock.advance(900)
  network.take()
  await namespace(client, 'one')
  await clock.advance(60_000)
  assert.deepEqual(network.take().filter((line) => line.includes('/one/')), [])
  assert.deepEqual(watched(started), ['configmaps one', 'namespaces *'])
})

test('the server is asked again until it answers, and not after the stop', async () => {
  for (const stops of [false, true]) {
    const { app, take } = watching()
    let isDown = true
    const asks: string[] = []
    await using started = await starting(app, {
      intercept: async (request, next) => {
        if (!request.path.includes('metadata.name%3Done')) return await next(request)
        asks.push(request.path)
        if (isDown) throw new Error('no connection')
        return await next(request)
      },
      before: has({ one: ['x'] }),
    })
    const { client, clock } = started
    take()
    await label(client, 'one', 'b')
    await clock.advance(5_000)
    assert.ok(asks.length > 1 && asks.length < 6, `${asks.length}`)
    assert.deepEqual(watched(started), ['configmaps one', 'namespaces *'])
    const before = asks.length
    if (stops) await started.stop()
    isDown = false
    await clock.advance(60_000)
    assert.equal(asks.length, stops ? before : before + 1)
    if (!stops) assert.deepEqual(watched(started), ['namespaces *'])
    else assert.deepEqual([started.outcome(), clock.pending], ['resolved', 0])
  }
})

test('keys of a deleted Namespace that wait for a worker are reconciled', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const hold = new Latch()
  const runs: string[] = []
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) }).reconcileKey(async ({ name }) => {
    runs.push(name)
    if (name === 'slow') await hold.opened
  })
  await using started = await starting(app, { before: has({ one: ['x'], two: [] }) })
  const { client, clock } = started
  await map(client, 'two', 'slow')
  await clock.advance(0)
  await client.delete(Namespace, { name: 'one' })
  await clock.advance(30_000)
  assert.deepEqual([runs, watched(started)], [['x', 'slow'], ['configmaps two', 'namespaces *']])
  hold.open()
  await clock.advance(0)
  assert.deepEqual(runs, ['x', 'slow', 'x'])
})

test('a map function that fails for an object is not called again when its Namespace is left', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  let calls = 0
  app.controllerFor(ConfigMap, { when: () => false })
    .watches(Secret, () => {
      calls++
      throw new Error('no')
    })
    .reconcile(async () => {})
  await using started = await starting(app, {
    before: async (client) => {
      await namespace(client, 'one')
      await client.create(Secret, { metadata: { namespace: 'one', name: 'x' } })
    },
  })
  const { client, clock, parts } = started
  const controller = parts!.controllers.get('configmap')!
  await clock.advance(1_000)
  assert.deepEqual(controller.failing.map(({ source, object }) => [source, object?.metadata.name]), [['secrets', 'x']])
  await label(client, 'one', 'b')
  await clock.advance(0)
  const before = calls
  await clock.advance(3_600_000)
  assert.deepEqual([calls, controller.failing], [before, []])
})

test('a controller waits for the objects of other kinds in selected Namespaces, unless their cluster may be missing', async () => {
  const app = operator({ name: 'op' })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' }, {
    optional: true,
    namespaces: { labels: 'team=a' },
  })
  const runs: string[] = []
  const held = new Map(['/api/v1/namespaces?', '/one/secrets?'].map((path) => [path, new Latch()]))
  app.controllerFor(Node, { cluster: west }).watches(Secret, () => [], { cluster: west })
    .reconcile(async () => void runs.push('west'))
  app.controllerFor(Node, { name: 'own' }).watches(Secret, () => [], { cluster: west })
    .reconcile(async () => void runs.push('own'))
  const create = async (client: Client): Promise<unknown> => await client.create(Node, { metadata: { name: 'x' } })
  await using started = await starting(app, {
    before: create,
    interceptOthers: async (request, next) => {
      for (const [path, latch] of held) if (request.path.includes(path)) await latch.opened
      return await next(request)
    },
  })
  const { clock } = started
  const client = started.clientOf(west)
  await namespace(client, 'one')
  await create(client)
  await client.create(Secret, { metadata: { namespace: 'one', name: 'x' } })
  await clock.advance(20_000)
  assert.deepEqual(runs, ['own'])
  const [first, second] = [...held.values()]
  first!.open()
  await clock.advance(20_000)
  assert.deepEqual(runs, ['own'])
  second!.open()
  await clock.advance(0)
  assert.deepEqual(runs, ['own', 'west'])
})

test('each place of namespaces takes labels', async () => {
  const labels = { labels: 'team=a' }
  const west = { server: 'https://127.0.0.1:1' }
  const places: readonly ((app: Operator) => ControllerOptions<KubeObject>)[] = [
    () => ({}),
    (app) => (app.cache(ConfigMap, { namespaces: labels }), {}),
    (app) => ({ clusters: [app.cluster('west', west, { namespaces: labels })] }),
    (app) => ({
      clusters: app.clusters('west', async function* () {
        yield { add: 'west', config: west }
        await new Promise(() => {})
      }, { namespaces: labels }),
    }),
  ]
  for (const [at, place] of places.entries()) {
    const app = operator({ name: 'op', ...(at === 0 && { cache: { namespaces: labels } }) })
    const runs: string[] = []
    app.controllerFor(ConfigMap, { ...(place(app) as object), when: (each) => !isRoot(each) })
      .reconcile(async ({ metadata: { namespace } }) => void runs.push(namespace))
    await using w = await world(app)
    const client = at < 2 ? w.client : w.clientOf({ name: 'west' })
    for (const [name, team] of [['one', 'a'], ['two', 'b']] as const) {
      await namespace(client, name, { team })
      await map(client, name, 'x')
    }
    await w.settle()
    assert.deepEqual(runs, ['one'], `${at}`)
  }
})

test('the causes of a key that was dropped are not those of its next run', async () => {
  const app = operator({ name: 'op', namespaces: { labels: 'team=a' } })
  const hold = new Latch()
  const causes: string[] = []
  app.controllerFor(ConfigMap, { when: (object) => !isRoot(object) }).reconcile(async ({ metadata: { name } }) => {
    if (name === 'slow') await hold.opened
  })
  await using started = await starting(app, {
    onReconcile: (report) => void (report.key.endsWith('/x') && causes.push(...report.causes)),
    before: has({ one: [], two: [] }),
  })
  const { client, clock } = started
  await map(client, 'two', 'slow')
  await clock.advance(0)
  await map(client, 'one', 'x')
  await client.patch(ConfigMap, { namespace: 'one', name: 'x' }, { merge: { data: { a: 'b' } } })
  for (const team of ['b', 'a']) {
    await clock.advance(0)
    await label(client, 'one', team)
  }
  await clock.advance(0)
  hold.open()
  await clock.advance(0)
  assert.equal(causes.length, 1, causes.join('; '))
})

test('the source of a kind names what the sources of its Namespaces miss', async () => {
  const { promise: listed } = Promise.withResolvers<void>()
  let followers = 0
  const each = (follow: (name: string) => unknown) => (followers++, follow('one'), () => void followers--)
  const namespaces = { listed, isListed: false, each }
  const open = (): Source => ({
    name: 'secrets',
    missing: ['secrets in namespace "one"'],
    start: async (_sink, signal) => await aborted(signal),
  })
  const source = sourceIn(namespaces as never, { resource: Secret, open })
  const stop = new AbortController()
  const running = source.start({ add() {}, passes: () => true }, stop.signal)
  assert.deepEqual([source.name, source.missing], ['secrets', ['secrets in namespace "one"']])
  stop.abort()
  await running
  assert.deepEqual([source.missing, followers], [[], 0])
})

test('a Namespace that leaves before its kind is listed does not hold the others up', async () => {
  let begin: ((name: string) => { end(why: string): unknown }) | undefined
  const namespaces = { each: (each: typeof begin) => (begin = each, () => {}), listed: Promise.resolve() }
  const open = (): Source => ({ name: 'a', start: (_, signal) => aborted(signal), synced: () => new Promise(() => {}) })
  const source = sourceIn(namespaces as never, { resource: ConfigMap, open })
  const stop = new AbortController()
  const started = source.start({ add() {}, passes: () => false }, stop.signal)
  const one = begin!('a')
  const synced = source.synced!(stop.signal)
  await one.end('left')
  await synced
  assert.equal(source.idle, true)
  stop.abort()
  await started
})
