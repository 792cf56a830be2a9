/** The connections between the parts of an operator: each option has its effect, and each part its dependencies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  type CustomResourceDefinition,
  defineResource,
  dynamicResource,
  LeadershipLost,
  metadataOf,
  type Operator,
  operator,
  type OtherCluster,
  type Parts,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { Registry } from 'prom-client'
import * as z from 'zod'
import { aborted } from '../../lib/async/abort.ts'
import { backoffMs } from '../../lib/async/backoff.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { ReconcileReport } from '../../lib/controller/controller.ts'
import { StopTimeout } from '../../lib/manager/runnable_group.ts'
import { syncTimeoutsOf } from '../../lib/operator/description/used_kinds.ts'
import { hostName } from '../../lib/runtime/os/files.ts'
import { type HttpRequest, isWatch } from '../../lib/core/transport.ts'
import { silence } from '../client/transports.ts'
import { create, failures, only, ours, ref, skippingClock, type Started, starting, writes } from './starting.ts'

const nowhere = { server: 'http://127.0.0.1:1' }
const LEASE = dynamicResource({ group: 'coordination.k8s.io', version: 'v1', kind: 'Lease' })
const EVENT = dynamicResource({ group: 'events.k8s.io', version: 'v1', kind: 'Event' })
type Works = { readonly client: Client; clientOf(cluster: { readonly name: string }): Client }

function withWest(options: Partial<Parameters<typeof operator>[0]> = {}) {
  const app = operator({ name: 'x', ...options })
  return { app, west: app.cluster('west', nowhere) }
}

/** Another process holds the lease of `x`, for an hour. */
const heldByAnother = (client: Client) =>
  client.create(LEASE, { metadata: ref('x'), spec: { holderIdentity: 'another', leaseDurationSeconds: 3600 } })

async function leaseOf({ client }: Started, name = 'x', namespace = 'default') {
  const lease = await client.get(LEASE, { namespace, name }) as
    | { metadata: object; spec?: Record<string, unknown> }
    | undefined
  return lease && { metadata: lease.metadata as { labels?: object }, spec: lease.spec ?? {} }
}

/** The places of an operator that have a client. */
const PLACES: Readonly<
  Record<string, (app: Operator, work: (context: Works) => Promise<void>, everyReplica: boolean) => void>
> = {
  reconcile: (app, work, everyReplica) =>
    app.controllerFor(ConfigMap, { when: ours, everyReplica }).reconcile((_, context) => work(context)),
  reconcileKey: (app, work, everyReplica) =>
    app.controllerFor(ConfigMap, { when: ours, everyReplica }).reconcileKey((_, context) => work(context)),
  map: (app, work, everyReplica) =>
    app.controllerFor(Secret, { everyReplica })
      .watches(ConfigMap, async (_, context) => (await work(context), []), { when: ours })
      .reconcile(async () => {}),
  stream: (app, work, everyReplica) =>
    app.controllerFor(Secret, { everyReplica })
      // deno-lint-ignore require-yield -- nothing is to be reconciled
      .from('stream', async function* (context): AsyncGenerator<{ namespace: string; name: string }> {
        await work(context)
      })
      .reconcile(async () => {}),
  ticker: (app, work, everyReplica) =>
    app.controllerFor(Secret, { everyReplica }).every('1s', async (context) => (await work(context), [])).reconcile(
      async () => {},
    ),
  task: (app, work, everyReplica) => app.add('task', work, { everyReplica }),
}

for (const [place, add] of Object.entries(PLACES)) {
  test(`${place}: runs only on the leader, and its lease fences it in every cluster`, async () => {
    const { clock, ahead, skip } = skippingClock()
    const { app, west } = withWest({ leaderElection: true })
    const ends: unknown[] = []
    let worked = false
    add(app, async ({ client, clientOf }) => {
      if (worked) return
      worked = true
      await create(client, 'kube-before')
      await create(clientOf(west), 'kube-before')
      skip(60_000)
      for (const each of [client, clientOf(west)]) {
        await create(each, 'kube-after').catch((error: unknown) => ends.push(error))
      }
    }, false)
    const follower = await starting(app, { before: heldByAnother })
    await create(follower.client, 'a')
    await follower.clock.advance(5000)
    assert.equal(worked, false)
    await follower.stop()
    await using leader = await starting(app, { clock, ahead, before: (client) => create(client, 'a') })
    await clock.advance(1000)
    assert.equal(worked, true)
    for (const each of [leader.network, leader.networkOf(west)]) {
      assert.deepEqual(writes(each, 'configmaps'), ['POST kube-before'])
    }
    assert.equal(ends.length, 2)
    for (const end of ends) assert.ok(end instanceof LeadershipLost, String(end))
  })

  test(`${place}: with everyReplica, runs on every replica without a fence`, async () => {
    const { app, west } = withWest({ leaderElection: true })
    let worked = false
    add(app, async ({ client, clientOf }) => {
      if (worked) return
      worked = true
      for (const each of [client, clientOf(west)]) await create(each, 'kube-mine')
    }, true)
    const follower = await starting(app, {
      before: async (client) => (await heldByAnother(client), await create(client, 'a')),
    })
    await follower.clock.advance(1000)
    for (const each of [follower.network, follower.networkOf(west)]) {
      assert.deepEqual(writes(each, 'configmaps'), ['POST kube-mine'])
    }
    await follower.stop()
    assert.equal(follower.outcome(), 'resolved')
  })
}

test('the options of the election apply: lease, namespace, identity, labels, times, and onNewLeader', async () => {
  const leaders: string[] = []
  const app = operator({
    name: 'x',
    leaderElection: {
      lease: 'own-lease',
      namespace: 'kube-system',
      identity: 'me',
      labels: { team: 'a' },
      duration: '40s',
      renewDeadline: '30s',
      retryPeriod: '7s',
      onNewLeader: (identity) => void leaders.push(identity),
    },
  })
  app.add('task', ({ signal }) => aborted(signal))
  const s = await starting(app)
  const puts = (): number => writes(s.network, 'leases').filter((each) => each === 'PUT own-lease').length
  const { metadata, spec } = (await leaseOf(s, 'own-lease', 'kube-system'))!
  assert.deepEqual(
    [metadata.labels, spec['holderIdentity'], spec['leaseDurationSeconds'], leaders],
    [{ team: 'a' }, 'me', 40, ['me']],
  )
  assert.deepEqual(s.log.filter(({ level }) => level === 'warn'), [])
  assert.ok(s.log.some(({ message }) => message === 'Leading: acquired the lease "kube-system/own-lease"'))
  await s.clock.advance(6999)
  assert.equal(puts(), 0)
  await s.clock.advance(1)
  assert.equal(puts(), 1)
  s.network.intercept = only(/\/leases/, silence)
  await s.clock.advance(29_999)
  assert.equal(s.outcome(), undefined)
  await s.clock.advance(1)
  assert.match(String(s.outcome()), /^LeadershipLost: Cannot renew lease "kube-system\/own-lease" for 30 s/)
})

test("without options the lease has the operator's name, this process's identity, and client-go's times", async () => {
  const holders = new Set<string>()
  for (const instance of ['pod-1', 'pod-1', undefined]) {
    const app = operator({ name: 'x', leaderElection: true }).add('task', ({ signal }) => aborted(signal))
    await using s = await starting(app, instance === undefined ? {} : { instance })
    const { spec } = (await leaseOf(s))!
    const [, host] = /^(.+)_[0-9a-f-]{36}$/.exec(String(spec['holderIdentity'])) ?? []
    assert.deepEqual([host, spec['leaseDurationSeconds']], [instance ?? hostName(), 15])
    holders.add(String(spec['holderIdentity']))
    await s.clock.advance(2000)
    assert.deepEqual(writes(s.network, 'leases'), ['POST x', 'PUT x'])
  }
  assert.equal(holders.size, 3, 'no two processes have one name')
})

test('the lease is in the namespace of the configuration, else in default, which is logged once', async () => {
  const told = ({ log }: Started): string[] => log.filter(({ level }) => level === 'warn').map(({ message }) => message)
  for (
    const [config, leaderElection, namespace, warns] of [
      [{ ...nowhere, namespace: 'team-a' }, true, 'team-a', false],
      [{ ...nowhere, namespace: 'team-a' }, { namespace: 'kube-system' }, 'kube-system', false],
      [nowhere, true, 'default', true],
      [{ ...nowhere, namespace: '' }, true, 'default', true],
      [undefined, { lease: 'x' }, 'default', false],
      [undefined, { namespace: 'default' }, 'default', false],
    ] as const
  ) {
    const app = operator({ name: 'x', leaderElection }).add('task', ({ signal }) => aborted(signal))
    const before = (client: Client) => client.create(Namespace, { metadata: { name: 'team-a' } })
    await using s = await starting(app, { before, ...(config && { cluster: config }) })
    await s.clock.advance(60_000)
    assert.ok(await leaseOf(s, 'x', namespace), namespace)
    assert.equal(told(s).length, warns ? 1 : 0, JSON.stringify(config))
    if (warns) {
      assert.match(
        told(s)[0]!,
        /^The configuration names no namespace for the lease "x", so it is in "default"; set leaderElection\.namespace/,
      )
    }
  }
  const without = operator({ name: 'x' }).add('task', ({ signal }) => aborted(signal))
  await using s = await starting(without)
  assert.deepEqual(told(s), [], 'no election, no lease')
})

test('a start can turn the election on or off', async () => {
  for (
    const [own, instead, elects] of [
      [false, undefined, false],
      [true, undefined, true],
      [true, false, false],
      [false, true, true],
    ] as const
  ) {
    let ran = false
    const app = operator({ name: 'x', leaderElection: own })
    app.add('task', async () => void (ran = true))
    await using s = await starting(app, instead === undefined ? {} : { leaderElection: instead })
    assert.deepEqual([(await leaseOf(s)) !== undefined, ran], [elects, true])
  }
})

test('with warmup the queue is filled before the lease is won', async () => {
  for (const warmup of [true, false]) {
    const mapped: string[] = []
    const app = operator({ name: 'x', leaderElection: true })
    app.controllerFor(Secret, { warmup }).watches(ConfigMap, ({ metadata }) => (mapped.push(metadata.name), []), {
      when: ours,
    }).reconcile(async () => {})
    await using s = await starting(app, {
      before: async (client) => (await heldByAnother(client), await create(client, 'a')),
    })
    await s.clock.advance(1000)
    assert.deepEqual(mapped, warmup ? ['a'] : [])
  }
})

test("Events are recorded in the cluster of the controller's own kind, or in the given one", async () => {
  const { app, west } = withWest()
  const east = app.cluster('east', nowhere)
  app.controllerFor(ConfigMap, { name: 'here', when: ours }).reconcile(async (map, { events, eventsOf }) => {
    events.normal(map, 'Own', 'its own cluster')
    eventsOf().normal(map, 'Main', "the operator's own")
    eventsOf(west).warning(map, 'Other', 'another one')
  })
  app.controllerFor(ConfigMap, { name: 'there', when: ours, cluster: west }).reconcile(
    async (map, { events, eventsOf }) => {
      events.warning(map, 'Own', 'its own cluster')
      eventsOf().normal(map, 'Main', "the operator's own")
      eventsOf(east).normal(map, 'Other', 'another one')
      assert.throws(() => eventsOf({ name: 'west' }), /Cannot use the cluster "west"/)
    },
  )
  app.extend(({ clusterOf }) => clusterOf(east).recorder.normal(object('early'), 'Assembled', 'before the start'))
  const s = await starting(app, { instance: 'pod-1' })
  const recorded = async (client: Client): Promise<string[]> =>
    (await client.list(EVENT) as unknown as Record<string, unknown>[]).map((event) => {
      const { name } = event['regarding'] as { name: string }
      return `${event['reportingInstance']} ${event['reportingController']}: ${event['type']} ${
        event['reason']
      } ${name}`
    }).toSorted()
  await create(s.client, 'a')
  await create(s.clientOf(west), 'b')
  await s.clock.advance(0)
  assert.deepEqual(
    await recorded(s.client),
    ['pod-1 x/here: Normal Main a', 'pod-1 x/here: Normal Own a', 'pod-1 x/there: Normal Main b'],
  )
  assert.deepEqual(await recorded(s.clientOf(west)), ['pod-1 x/here: Warning Other a', 'pod-1 x/there: Warning Own b'])
  assert.deepEqual(
    await recorded(s.clientOf(east)),
    ['pod-1 x/there: Normal Other b', 'pod-1 x: Normal Assembled early'].toSorted(),
  )
  await s.stop()
  assert.equal(s.outcome(), 'resolved')
})

const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: ref(name) })

test('Events emitted during a stop are still written, in every cluster, before the connections close', async () => {
  const { app, west } = withWest()
  app.add('task', ({ signal }) => aborted(signal))
  let tell = (): void => {}
  app.extend(({ cluster, clusterOf, manager }) => {
    tell = () => [cluster, clusterOf(west)].forEach(({ recorder }) => recorder.normal(object('a'), 'Stopping', 'bye'))
    manager.add({
      name: 'last',
      everyReplica: true,
      async start(signal) {
        await aborted(signal)
        tell()
      },
    })
  })
  const s = await starting(app)
  await s.stop()
  assert.equal(s.outcome(), 'resolved')
  for (const client of [s.client, s.clientOf(west)]) assert.equal((await client.list(EVENT)).length, 1)
})

test('a task may finish its writes after a stop; its client ends with it', async () => {
  const { app, west } = withWest({ leaderElection: true })
  let kept: readonly Client[] = []
  app.add('writer', async ({ signal, log, client, clientOf }) => {
    kept = [client, clientOf(west)]
    log.info('at work')
    await aborted(signal)
    for (const each of kept) await create(each, 'last')
  })
  const s = await starting(app)
  assert.deepEqual(s.log.find(({ message }) => message === 'at work')?.fields, { task: 'writer' })
  await s.stop()
  assert.equal(s.outcome(), 'resolved')
  for (const client of [s.client, s.clientOf(west)]) assert.ok(await client.get(ConfigMap, ref('last')))
  assert.equal((await leaseOf(s))?.spec['holderIdentity'], '', 'nothing is under way, so the lease is given back')
  for (const each of kept) await assert.rejects(create(each, 'too-late'), /The task "writer" has ended/)
})

test('after the grace period nothing can write: a task, a reconcile, on every replica or the leader', async () => {
  for (const everyReplica of [true, false]) {
    const go = new Latch()
    const ends: string[] = []
    const app = operator({ name: 'x', grace: '5s' })
    const stuck = async ({ client }: Works): Promise<void> => {
      await go.opened
      await create(client, 'kube-late').then(() => ends.push('written'), () => ends.push('refused'))
    }
    app.add('stuck', stuck, { everyReplica })
    app.controllerFor(ConfigMap, { when: ours, everyReplica }).reconcile((_, context) => stuck(context))
    const s = await starting(app, { before: (client) => create(client, 'a') })
    await s.stop()
    await s.clock.advance(4999)
    assert.equal(s.outcome(), undefined)
    await s.clock.advance(1)
    assert.ok(s.outcome() instanceof StopTimeout, String(s.outcome()))
    assert.deepEqual((s.outcome() as StopTimeout).running.toSorted(), ['configmap', 'stuck'])
    go.open()
    await s.clock.advance(0)
    assert.deepEqual([ends, writes(s.network, 'configmaps')], [['refused', 'refused'], []])
  }
})

/** Work that waits for a signal until the stop, and when the stop then ends. */
const WAITS: Readonly<Record<string, [endMs: number, describe: (app: Operator, wait: typeof aborted) => unknown]>> = {
  'a reconcile for stopping': [
    0,
    (app, wait) =>
      app.controllerFor(ConfigMap, { when: ours }).reconcile(async (_, { stopping, client }) => {
        await wait(stopping)
        await create(client, 'kube-last')
        stopping.throwIfAborted()
      }),
  ],
  'a reconcile for its signal': [
    28_000,
    (app, wait) => app.controllerFor(ConfigMap, { when: ours }).reconcile((_, { signal }) => wait(signal)),
  ],
  'a cleanup for stopping': [
    0,
    (app, wait) =>
      app.controllerFor(ConfigMap, { when: ours }).finalize((_, { stopping }) => wait(stopping)).reconcile(
        async () => {},
      ),
  ],
  'a cleanup for its signal': [
    28_000,
    (app, wait) =>
      app.controllerFor(ConfigMap, { when: ours }).finalize((_, { signal }) => wait(signal)).reconcile(async () => {}),
  ],
  'a task for its signal': [0, (app, wait) => app.add('task', ({ signal }) => wait(signal))],
  'a reconcile on every replica for its signal': [
    28_000,
    (app, wait) =>
      app.controllerFor(ConfigMap, { when: ours, everyReplica: true }).reconcile((_, { signal }) => wait(signal)),
  ],
}
for (const [what, [endMs, describe]] of Object.entries(WAITS)) {
  test(`a stop ends in order although ${what} waits: after ${endMs} ms, with the lease released`, async () => {
    const app = operator({ name: 'x', leaderElection: { namespace: 'default' } })
    let began = false
    describe(app, (signal) => (began = true, aborted(signal)))
    const s = await starting(app, { before: (client) => create(client, 'a') })
    await s.client.delete(ConfigMap, ref('a'))
    await s.clock.advance(1000)
    assert.ok(began)
    await s.stop()
    await s.clock.advance(Math.max(0, endMs - 1))
    if (endMs > 0) assert.equal(s.outcome(), undefined)
    await s.clock.advance(1)
    assert.equal(s.outcome(), 'resolved')
    assert.equal((await leaseOf(s))?.spec['holderIdentity'] || '', '')
    const last = what === 'a reconcile for stopping' ? ['POST kube-last'] : []
    assert.deepEqual(writes(s.network, 'configmaps').filter((each) => each.startsWith('POST')), last)
    if (endMs === 0) assert.deepEqual(failures(s), [])
  })
}

test("the grace period is 30 s, or the operator's, also forever", async () => {
  for (const [grace, endMs] of [[undefined, 30_000], ['90s', 90_000], ['forever', Infinity]] as const) {
    const app = operator({ name: 'x', ...(grace !== undefined && { grace }) }).add('stuck', () => new Promise(() => {}))
    const s = await starting(app)
    await s.stop()
    await s.clock.advance(Math.min(endMs, 86_400_000) - 1)
    assert.equal(s.outcome(), undefined, String(grace))
    await s.clock.advance(1)
    assert.equal(s.outcome() instanceof StopTimeout, endMs < Infinity, String(grace))
  }
})

test('the connections of all clusters close with the start, whether it fails or not', async () => {
  for (const fails of [false, true]) {
    const { app, west } = withWest({ crds: 'ignore' })
    app.add('task', async () => {})
    let clusters: Parts['cluster'][] = []
    const stop = new AbortController()
    app.extend(({ cluster, clusterOf }) => {
      clusters = [cluster, clusterOf(west)]
      stop.abort()
      if (fails) throw new Error('not today')
    })
    const run = app.start(stop.signal, { cluster: nowhere })
    await (fails ? assert.rejects(run, /not today/) : run)
    assert.equal(clusters.length, 2)
    for (const { client } of clusters) {
      await assert.rejects(client.live.get(ConfigMap, ref('a')), /it was closed by this process/)
    }
  }
})

test('extensions are called one after the other, with the parts of the start', async () => {
  const order: string[] = []
  const { app, west } = withWest()
  app.add('task', async () => void order.push('task'), { everyReplica: true })
  app.controllerFor(ConfigMap, { name: 'mine', when: ours }).reconcile(async () => {})
  const go = new Latch()
  app.extend(async () => {
    order.push('first')
    await go.opened
  })
  app.extend(({ controllers, health, metrics, meter, clock, cluster, clusterOf, log }) => {
    order.push('second')
    assert.deepEqual([[...controllers.keys()], health, metrics, meter], [['mine'], undefined, undefined, undefined])
    assert.equal(controllers.get('mine')!.name, 'mine')
    assert.equal(clock.now(), Date.UTC(2026, 0, 1))
    assert.ok(cluster !== clusterOf(west))
    assert.throws(() => clusterOf({ name: 'west' }), /Cannot use the cluster "west"/)
    log.info('from an extension')
  })
  await using s = await starting(app)
  assert.deepEqual([order, s.parts], [['first'], undefined])
  go.open()
  await s.clock.advance(0)
  assert.deepEqual(order, ['first', 'second', 'task'])
  assert.ok(s.parts)
  assert.ok(s.log.some(({ message }) => message === 'from an extension'))
})

test('the options of the start apply to each cluster: field manager, validation, frozen objects, namespaces', async () => {
  for (
    const [options, expected] of [[{}, [null, false]], [{ freeze: true, fieldValidation: 'Strict' }, [
      'Strict',
      true,
    ]]] as const
  ) {
    const { app, west } = withWest({ name: 'writer' })
    app.cache(ConfigMap).cache(ConfigMap, { cluster: west })
    const seen: unknown[] = []
    app.add('task', async ({ client, clientOf }) => {
      for (const each of [client, clientOf(west)]) {
        await create(each, 'made')
        seen.push(Object.isFrozen(await each.get(ConfigMap, ref('made'))))
      }
    })
    await using s = await starting(app, options)
    for (const [at, { requests }] of [s.network, s.networkOf(west)].entries()) {
      const post = requests.find(({ method }) => method === 'POST')!
      const query = new URL(post.path, 'http://localhost').searchParams
      assert.deepEqual([query.get('fieldManager'), query.get('fieldValidation'), seen[at]], ['writer', ...expected])
    }
  }
})

test("the operator's namespaces are watched; in another cluster, those given for it", async () => {
  const lists = ({ requests }: Started['network']): string[] =>
    [...new Set(requests.flatMap(({ path }) => /^[^?]*\/configmaps(?=\?|$)/.exec(path) ?? []))].toSorted()
  const app = operator({ name: 'x', namespaces: ['a', 'b'] })
  const same = app.cluster('same', nowhere)
  const some = app.cluster('some', nowhere, { namespaces: ['c'] })
  const all = app.cluster('all', nowhere, { namespaces: [] })
  for (const [name, cluster] of Object.entries({ own: undefined, same, some, all })) {
    app.controllerFor(ConfigMap, { name, ...(cluster && { cluster }) }).reconcile(async () => {})
  }
  await using s = await starting(app)
  assert.deepEqual(lists(s.network), ['/api/v1/namespaces/a/configmaps', '/api/v1/namespaces/b/configmaps'])
  assert.deepEqual(lists(s.networkOf(same)), ['/api/v1/namespaces/a/configmaps', '/api/v1/namespaces/b/configmaps'])
  assert.deepEqual(lists(s.networkOf(some)), ['/api/v1/namespaces/c/configmaps'])
  assert.deepEqual(lists(s.networkOf(all)), ['/api/v1/configmaps'])
})

/** The limits for config maps and secrets, in seconds; undefined is the default. */
const LIMITS: readonly (readonly [
  what: string,
  own: { syncTimeout?: '10m' | '45s' },
  describe: (app: Operator, west: OtherCluster) => unknown,
  limits: readonly (number | undefined)[],
])[] = [
  ['the default', {}, (app) => app.controllerFor(ConfigMap), [undefined, undefined]],
  ['its own', {}, (app) => app.controllerFor(ConfigMap, { syncTimeout: '10m' }), [600, undefined]],
  ['what it owns', {}, (app) => app.controllerFor(Namespace, { syncTimeout: '30s' }).owns(Secret), [undefined, 30]],
  [
    'of two the shorter, for what each of them watches',
    {},
    (app) => {
      app.controllerFor(ConfigMap, { syncTimeout: '10m' })
      app.controllerFor(Secret, { syncTimeout: '5m' }).watches(ConfigMap, () => [])
      app.controllerFor(Secret, { syncTimeout: '7m' })
      app.controllerFor(Namespace).watches(ConfigMap, () => [])
    },
    [300, 300],
  ],
  ["the operator's", { syncTimeout: '10m' }, (app) => app.controllerFor(ConfigMap), [600, 600]],
  [
    "a controller's before the operator's",
    { syncTimeout: '45s' },
    (app) => app.controllerFor(ConfigMap, { syncTimeout: '1m' }),
    [60, 45],
  ],
  [
    'not that of another cluster',
    {},
    (app, cluster) => app.controllerFor(ConfigMap, { syncTimeout: '30s', cluster }),
    [undefined, undefined],
  ],
]
for (const [what, own, describe, limits] of LIMITS) {
  test(`the time limit of a first list is ${what}`, () => {
    const app = operator({ name: 'x', ...own })
    describe(app, app.cluster('west', nowhere))
    const limitOf = syncTimeoutsOf(app.description)
    assert.deepEqual([ConfigMap, Secret].map(limitOf), limits.map((limit) => limit && limit * 1000))
  })
}

test('the first keys of a source have the same time limit, and the error names missing kinds', async () => {
  for (
    const [own, common, endMs] of [
      ['30s', undefined, 30_000],
      [undefined, '45s', 45_000],
      ['30s', '45s', 30_000],
    ] as const
  ) {
    const { app, west } = withWest({ ...(common && { syncTimeout: common }) })
    app.controllerFor(Namespace, { name: 'mapper', ...(own && { syncTimeout: own }) })
      .watches(ConfigMap, (_, { signal }) => {
        // A kind that is declared only now, and never syncs.
        s.parts!.clusterOf(west).cache.declare(Secret)
        return aborted(signal).then(() => [])
      }, { when: ours })
      .reconcile(async () => {})
    const go = new Latch()
    app.extend(() => go.opened)
    const s = await starting(app, { before: (client) => create(client, 'a') })
    s.networkOf(west).intercept = only(/\/secrets/, silence)
    go.open()
    await s.clock.advance(0)
    await s.clock.advance(endMs - 1)
    assert.equal(s.outcome(), undefined)
    await s.clock.advance(1)
    assert.match(
      String(s.outcome()),
      new RegExp(`Cannot start controller "mapper": its sources were not in sync.* within ${endMs / 1000} s.*secrets`),
    )
  }
})

test("sources have the operator's clock, log and random numbers", async () => {
  for (const random of [0, 0.5]) {
    const opened: number[] = []
    const app = operator({ name: 'x' })
    app.controllerFor(ConfigMap, { name: 'mine', when: ours })
      // deno-lint-ignore require-yield -- it breaks before it has anything
      .from('broken', async function* (context): AsyncGenerator<{ namespace: string; name: string }> {
        opened.push(s?.clock.monotonic() ?? 0)
        context.log.info('opened')
        assert.equal(context.signal.aborted, false)
        throw new Error('the line is dead')
      })
      .every('10s', () => Promise.reject(new Error('no answer')))
      .reconcile(async () => {})
    let s: Started | undefined = undefined
    s = await starting(app, { random: () => random })
    await s.clock.advance(10_000)
    const pauses = opened.slice(1, 4).map((at, i) => Math.round(at - opened[i]!))
    assert.deepEqual(
      pauses,
      [0, 1, 2].map((attempt) => backoffMs(attempt, { baseMs: 100, maxMs: 30_000, jitter: 0.2 }, () => random)).map(
        Math.round,
      ),
    )
    for (
      const text of [
        /^opened$/,
        /^Cannot read the stream of the source "broken": the line is dead/,
        /^Cannot get the keys of the source "mine every 10 s": no answer/,
      ]
    ) {
      assert.ok(s.log.some(({ message }) => text.test(message)), String(text))
    }
    await s.stop()
  }
})

test('clients, caches and Events of all clusters are measured if metrics are on', async () => {
  const registry = new Registry()
  const { app, west } = withWest({ metrics: { registry } })
  app.controllerFor(ConfigMap, { name: 'counted', when: ours }).reconcile(async (_, { clientOf }) =>
    create(clientOf(west), 'there')
  )
  const s = await starting(app, { serves: true })
  assert.deepEqual([s.parts?.metrics, s.parts?.health, s.parts?.meter !== undefined], [undefined, undefined, true])
  const post = async (): Promise<number> => {
    const text = await registry.metrics()
    return Number(
      /^rest_client_requests_total\{code="201",method="POST",host="in-memory"\} (\d+)$/m.exec(text)?.[1] ?? 0,
    )
  }
  const before = await post()
  await create(s.client, 'a')
  await s.clock.advance(0)
  assert.equal(await post() - before, 1)
  assert.match(
    await registry.metrics(),
    /^controller_runtime_reconcile_total\{controller="counted",result="success"\} 1$/m,
  )
  await s.stop()
  await using unserved = await starting(app, { serves: false })
  assert.equal(unserved.parts?.meter, undefined)
})

test("the health server checks the caches of every cluster and the lease, with the operator's clock and log", async () => {
  const { app, west } = withWest({ health: 0, leaderElection: true })
  app.cache(ConfigMap).cache(ConfigMap, { cluster: west })
  app.add('task', ({ signal }) => aborted(signal))
  app.extend(({ health }) => health!.addReadiness('slow', () => new Promise(() => {})))
  const s = await starting(app, { serves: true })
  const { health, clusterOf, manager } = s.parts!
  await health!.ready(new AbortController().signal)
  await manager.elected
  try {
    const get = async (path: string): Promise<string> => {
      let text: string | undefined
      const answer = health!.fetch(new Request(`http://localhost${path}`)).then(async (each) =>
        text = await each.text()
      )
      await s.clock.advance(5000)
      assert.ok(text !== undefined, "a check has its time by the operator's clock")
      return await answer
    }
    assert.match(await get('/healthz?verbose'), /^\[\+\]leader ok\n\[\+\]ping ok\n/)
    assert.match(await get('/readyz?exclude=slow&verbose'), /\[\+\]caches-synced ok/)
    assert.match(await get('/readyz'), /\[-\]slow failed/)
    assert.ok(
      s.log.some(({ message }) => message === 'The check "slow" of /readyz fails: it did not answer within 5 s'),
    )
    assert.ok(s.log.some(({ message }) => /^Serving health on 127\.0\.0\.1:\d+$/.test(message)))
    s.networkOf(west).intercept = silence
    clusterOf(west).cache.declare(Secret)
    assert.match(await get('/readyz/caches-synced'), /not synced: secrets/)
  } finally {
    await s.stop()
    await s.clock.advance(10_000)
  }
  assert.equal(await s.ended, 'resolved')
})

test("CRDs are verified, installed or ignored by the option of the start, else the operator's, with the operator as field manager", async () => {
  const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })
  for (
    const [own, instead, expected] of [
      [undefined, undefined, 'refused'],
      ['verify', undefined, 'refused'],
      ['install', undefined, 'installed'],
      ['ignore', undefined, 'ignored'],
      ['install', 'verify', 'refused'],
      ['verify', 'install', 'installed'],
      ['install', 'ignore', 'ignored'],
    ] as const
  ) {
    const app = operator({ name: 'installer', ...(own && { crds: own }) })
    app.controllerFor(Thing).reconcile(async () => {})
    await using s = await starting(app, instead ? { crds: instead } : {})
    await s.clock.advance(1000)
    const written = s.network.requests.filter(({ method, path }) =>
      method !== 'GET' && path.includes('/customresourcedefinitions')
    )
    const got = written.length > 0 ? 'installed' : s.outcome() instanceof Error ? 'refused' : 'ignored'
    assert.equal(got, expected, `${own} ${instead}`)
    for (const { path } of written) assert.match(path, /fieldManager=installer/)
    if (expected === 'refused') assert.match(String(s.outcome()), /is not installed/)
  }
})

test('CRDs are installed only where their kinds are owned or watched', async () => {
  const kind = (name: string) => defineResource({ group: 'test.dev', version: 'v1', kind: name, spec: z.object({}) })
  const { app, west } = withWest({ crds: 'install' })
  app.controllerFor(ConfigMap, { name: 'there', cluster: west }).owns(kind('Owned')).reconcile(async () => {})
  app.controllerFor(ConfigMap, { name: 'here' }).owns(kind('Mine')).watches(kind('Watched'), () => [], {
    cluster: west,
  }).reconcile(async () => {})
  app.cache(kind('Kept')).cache(kind('Far'), { cluster: west })
  await using s = await starting(app)
  await s.clock.advance(1000)
  const installed = ({ requests }: Started['network']): string[] =>
    requests.flatMap(({ method, path, body }) =>
      method === 'POST' && path.includes('/customresourcedefinitions')
        ? [(JSON.parse(body as string) as CustomResourceDefinition).spec.names.plural]
        : []
    )
  assert.deepEqual([installed(s.network).toSorted(), installed(s.networkOf(west)).toSorted()], [['kepts', 'mines'], [
    'fars',
    'owneds',
    'watcheds',
  ]])
})

test('the configuration of a cluster is resolved at each start, unless the start replaces it', async () => {
  let asked = 0
  const app = operator({ name: 'x', crds: 'ignore' })
  const west = app.cluster('west', async () => (asked++, { server: `http://127.0.0.1:${asked}` }))
  app.add('task', async () => {})
  const east = app.cluster('east', { server: 'http://127.0.0.1:9' })
  const servers: (string | undefined)[][] = []
  let stop = new AbortController()
  app.extend(({ clusterOf, cluster }) => {
    servers.push([cluster, clusterOf(west), clusterOf(east)].map(({ config }) => config?.server))
    stop.abort()
  })
  for (let start = 0; start < 2; start++) {
    stop = new AbortController()
    await app.start(stop.signal, { cluster: nowhere })
  }
  assert.deepEqual(
    servers,
    [1, 2].map((start) => ['http://127.0.0.1:1', `http://127.0.0.1:${start}`, 'http://127.0.0.1:9']),
  )
  await (await starting(app)).stop()
  assert.equal(asked, 2)
})

test('the clusters of a start override the configurations of the file', async () => {
  const app = operator({ name: 'x' })
  for (const optional of [false, true]) {
    const name = optional ? 'late' : 'west'
    app.cluster(name, () => Promise.reject(new Error('not asked for')), { optional })
  }
  app.add('task', ({ signal }) => aborted(signal))
  let parts: Parts | undefined
  const stop = new AbortController()
  const started = new Latch()
  app.extend((made) => (parts = made, started.open()))
  const running = app.start(stop.signal, {
    cluster: nowhere,
    clusters: { west: { server: 'https://127.0.0.1:2' }, late: { server: 'https://127.0.0.1:3' } },
    serves: false,
  })
  await started.opened
  assert.deepEqual(app.description.clusters.map((each) => parts!.clusterOf(each).config?.server), [
    'https://127.0.0.1:2',
    'https://127.0.0.1:3',
  ])
  stop.abort()
  await running
})

test('a report names another cluster: in the key, the causes and the writes', async () => {
  const { app, west } = withWest()
  const reports: ReconcileReport[] = []
  app.controllerFor(ConfigMap, { name: 'here', when: ours })
    .watches(Secret, ({ metadata }) => [ref(metadata.name)], {
      cluster: west,
      when: ({ metadata }) => metadata.namespace === 'default',
    })
    .reconcileKey(async ({ name }, { client, clientOf }) => {
      for (const each of [client, clientOf(west)]) await each.apply(Secret, { metadata: ref(`kube-${name}`), data: {} })
    })
  app.controllerFor(ConfigMap, { name: 'there', cluster: west, when: ours }).reconcile(async () => {})
  await using s = await starting(app, { onReconcile: (report) => void reports.push(report) })
  await create(s.clientOf(west), 'a')
  await s.clientOf(west).create(Secret, { metadata: ref('b') })
  await s.clock.advance(0)
  const [there] = reports.filter(({ controller }) => controller === 'there')
  assert.deepEqual([there?.cluster, there?.causes], ['west', ['added']])
  const [here] = reports.filter(({ controller }) => controller === 'here')
  assert.deepEqual([here?.cluster, here?.causes], [undefined, ['Secret default/b in west: added']])
  assert.deepEqual(here?.writes.map(({ kind, key, cluster }) => [kind, key, cluster]), [[
    'Secret',
    'default/kube-b',
    undefined,
  ], ['Secret', 'default/kube-b', 'west']])
})

test('a failing key whose object is deleted is not logged as working again; a reconcile or a cleanup that works is', async () => {
  const app = operator({ name: 'x' })
  const failing = new Set(['a', 'b', 'c'])
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }) => {
    if (failing.has(metadata.name)) throw new Error('broken')
  })
  app.controllerFor(Secret, { when: ours })
    .finalize(async ({ metadata }) => {
      if (failing.has(metadata.name)) throw new Error('broken')
    })
    .reconcile(async () => {})
  await using s = await starting(app, { before: (client) => create(client, 'a') })
  await create(s.client, 'b')
  await s.client.create(Secret, { metadata: ref('c') })
  await s.clock.advance(1000)
  await s.client.delete(ConfigMap, ref('a'))
  await s.client.delete(Secret, ref('c'))
  await s.clock.advance(1000)
  failing.clear()
  await s.clock.advance(60_000)
  const again = s.log.filter(({ message }) => message.includes('works again'))
  assert.deepEqual(again.map(({ message }) => message.replace(/\d+/, 'n')).toSorted(), [
    'ConfigMap "default/b" works again after n failures',
    'Secret "default/c" works again after n failures',
  ])
  assert.deepEqual(again.map(({ fields }) => [fields['controller'], fields['name']]).toSorted(), [
    ['configmap', 'b'],
    ['secret', 'c'],
  ])
})

for (const source of ['owns', 'watches'] as const) {
  test(`${source} metadata that comes before the whole object, which is cached, too: that causes another run`, async () => {
    const seen: (string | undefined)[] = []
    const app = operator({ name: 'x' })
    app.cache(Secret)
    const first = app.controllerFor(ConfigMap, { when: ours })
    const controller = source === 'owns'
      ? first.owns(metadataOf(Secret))
      : first.watches(metadataOf(Secret), ({ metadata: { name } }) => [ref(name)])
    controller.reconcile(async ({ metadata }, { client }) => {
      seen.push((await client.get(Secret, metadata))?.type)
    })
    const late = new Latch()
    const server = new ApiServer()
    let isLate = false
    const isWhole = ({ headers }: HttpRequest): boolean => !headers?.['accept']?.includes('PartialObjectMetadata')
    await using s = await starting(app, {
      server,
      intercept: async (request, next) => {
        if (isLate && isWatch(request.path) && /secrets/.test(request.path) && isWhole(request)) await late.opened
        return await next(request)
      },
    })
    await create(s.client, 'a')
    const owner = (await s.client.get(ConfigMap, ref('a')))!
    isLate = true
    server.closeWatches()
    await s.clock.advance(5000)
    seen.length = 0
    await s.client.create(Secret, { metadata: ref('a'), type: 'x/y' }, { owner })
    await s.clock.advance(0)
    assert.deepEqual(seen, [undefined])
    late.open()
    await s.clock.advance(0)
    assert.equal(seen.at(-1), 'x/y')
  })
}

for (const [who, sharding] of [['a leader', {}], ['a holder of buckets', { sharding: { buckets: 2 } }]] as const) {
  test(`${who} that stood still for longer than its term begins nothing before it ends`, async () => {
    const began: string[] = []
    const app = operator({ name: 'x', leaderElection: { namespace: 'default' }, ...sharding })
    const begins = (name: string) => async (): Promise<void> => void began.push(name)
    app.controllerFor(ConfigMap, { when: ours }).every('1s').reconcile(begins('run'))
    if (who === 'a leader') app.schedule('tick', '* * * * * *', begins('tick'))
    const { clock, ahead, skip } = skippingClock()
    await using s = await starting(app, { clock, ahead })
    await create(s.client, 'a')
    await clock.advance(60_500)
    const before = new Set(began.splice(0))
    skip(60_000)
    await clock.advance(1000)
    assert.deepEqual([before.has('run'), began], [true, []])
  })
}

for (const end of ['a lost lease', 'a stop'] as const) {
  test(`${end}: the failures that it causes announce no retry`, async () => {
    // A callback that does not end leaves time between the fall of the fence and the stop.
    const leaderElection = { namespace: 'default', onNewLeader: () => new Promise<void>(() => {}) }
    const app = operator({ name: 'x', leaderElection, grace: '10s' })
    app.controllerFor(ConfigMap, { when: ours, concurrency: 4 }).reconcile(
      async ({ metadata: { name } }, { client, clock, signal }) => {
        if (name === 'before') throw new Error('broken')
        if (name === 'fails') await new Promise<void>((resolve) => clock.after(5000, resolve))
        const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        if (name === 'waits') await ended.then(() => signal.throwIfAborted())
        while (name === 'writes') {
          await client.edit(ConfigMap, ref(name), (map) => void (map.data = { at: `${clock.now()}` }))
          await new Promise<void>((resolve) => clock.after(100, resolve))
        }
        throw new Error('late')
      },
    )
    await using s = await starting(app)
    await create(s.client, 'before', 'writes', 'waits', ...(end === 'a stop' ? ['fails'] : []))
    await s.clock.advance(1000)
    if (end === 'a stop') await s.stop()
    else s.network.intercept = only(/\/leases/, silence)
    await s.clock.advance(30_000)
    const ends = new Map(s.log.flatMap(({ message }) => {
      const [, name, what] = /^Cannot reconcile ConfigMap "default\/(\w+)": .* \((.*)\)$/.exec(message) ?? []
      return name ? [[name, what!.replace(/\d.*/, '…')]] : []
    }))
    const late = 'retried after the next start'
    assert.deepEqual(Object.fromEntries(ends), {
      before: end === 'a stop' ? 'retry …' : late,
      waits: late,
      writes: late,
      ...(end === 'a stop' ? { fails: late } : {}),
    })
  })
}
