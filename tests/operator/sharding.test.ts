/** A shard of kubernetes-controller-sharding; the tests do what the sharder does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  Cluster,
  type ControllerOptions,
  defineResource,
  metadataOf,
  type ObjectOf,
  type Operator,
  operator,
  type OperatorOptions,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import * as z from 'zod'
import { refusal } from '../client/transports.ts'
import { LEASE } from '../leader/candidates.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import type { Lease } from '../../lib/leader/lease_state.ts'
import {
  create,
  failures,
  ref,
  restingClock,
  type Started,
  starting,
  type StartingOptions,
  writes,
} from './starting.ts'

const SHARD = 'shard.alpha.sharding.timebertt.dev/r'
const DRAIN = 'drain.alpha.sharding.timebertt.dev/r'
const Foo = defineResource({ group: 's.dev', version: 'v1', kind: 'Foo', spec: z.object({}) })
const NextFoo = defineResource({ group: 's.dev', version: 'v2', kind: 'Foo', spec: z.object({}) })

const cluster = { server: 'https://127.0.0.1:1' }

function sharded(options: Partial<OperatorOptions> = {}): Operator {
  return operator({ name: 'x', sharding: { ring: 'r' }, ...options })
}

async function shard(app: Operator, options: StartingOptions = {}): Promise<Started> {
  const started = await starting(app, { identity: 'a', ...options })
  await started.clock.advance(1000)
  return started
}

/** Does what the webhook and the sharder do to an object. `null` removes a label. */
async function label(client: Client, name: string, labels: Record<string, string | null>): Promise<void> {
  await client.patch(ConfigMap, ref(name), { merge: { metadata: { labels } } })
}

const assigned = (name: string, labels: Record<string, string> = {}) => ({
  metadata: { ...ref(name), labels: { [SHARD]: 'a', ...labels } },
})

async function labelsOf(client: Client, name: string): Promise<Record<string, string> | undefined> {
  return (await client.get(ConfigMap, ref(name)))?.metadata.labels
}

/** A reconcile that waits for its release, and the names of its runs. */
function held() {
  const runs: string[] = []
  const gates = new Map<string, PromiseWithResolvers<void>>()
  return {
    runs,
    hold: (name: string) => void gates.set(name, Promise.withResolvers()),
    async release(name: string, error?: Error) {
      if (error) gates.get(name)!.reject(error)
      else gates.get(name)!.resolve()
      gates.delete(name)
      await Promise.resolve()
    },
    reconcile: async (name: string): Promise<void> => {
      runs.push(name)
      await gates.get(name)?.promise
    },
  }
}

test('a shard holds a Lease of its own, named as its holder and labelled with the ring, and releases it', async () => {
  const times = { duration: '20s', renewDeadline: '15s', retryPeriod: '3s' } as const
  const app = sharded({ leaderElection: { namespace: 'default', ...times } })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const started = await shard(app, { identity: undefined, instance: 'a' })
  const read = async () => await started.client.get<Lease>(LEASE, ref('a'))
  const { metadata, spec } = (await read())!
  assert.deepEqual(metadata.labels, { 'alpha.sharding.timebertt.dev/controllerring': 'r' })
  assert.deepEqual([spec!.holderIdentity, spec!.leaseDurationSeconds], ['a', 20])
  await started.stop()
  assert.equal((await read())!.spec!.holderIdentity, '')
  assert.equal(started.outcome(), 'resolved')
})

test('a shard whose Lease the sharder has taken ends, and another start of its name waits for that to expire', async () => {
  const [clock, heard] = [restingClock(), [] as string[]]
  const server = new ApiServer({ clock })
  const app = sharded({ leaderElection: { namespace: 'default' } })
  app.controllerFor(ConfigMap).reconcile(async ({ metadata }) => void heard.push(metadata.name))
  const first = await shard(app, { clock, server })
  const spec = { holderIdentity: 'shardlease-controller', leaseDurationSeconds: 30 }
  await first.client.patch(LEASE, ref('a'), { merge: { spec } })
  await clock.advance(3000)
  assert.match(String(first.outcome()), /LeadershipLost.*"shardlease-controller" holds it now/)
  await first.client.create(ConfigMap, assigned('map'))
  const second = await shard(app, { clock, server })
  await clock.advance(25_000)
  assert.deepEqual(heard, [])
  await clock.advance(15_000)
  assert.deepEqual(heard, ['map'])
  await second.stop()
})

test('a shard that starts again keeps the fields of a newer release in the definition; a leader takes them out', async () => {
  const release = (fields: Readonly<Record<string, z.ZodType>>, options: Partial<OperatorOptions>): Operator => {
    const app = operator({ name: 'op', leaderElection: { namespace: 'default' }, ...options })
    const Page = defineResource({ group: 'r.dev', version: 'v1', kind: 'Page', spec: z.object(fields) })
    app.controllerFor(Page).reconcile(async () => {})
    return app
  }
  const text = z.string().optional()
  const stays = async (options: Partial<OperatorOptions>): Promise<string[]> => {
    const server = new ApiServer({ clock: restingClock() })
    for (const [identity, fields] of [['a', { old: text, added: text }], ['b', { old: text }]] as const) {
      const started = await starting(release(fields, options), {
        clock: restingClock(),
        server,
        identity,
        crds: 'install',
      })
      await started.stop()
    }
    const { api } = new Cluster({ name: 'test', transport: server.handle })
    const { spec } = await api.get({ resource: CRD, name: 'pages.r.dev' }) as unknown as CustomResourceDefinition
    const schema = spec.versions[0]!.schema!.openAPIV3Schema as { properties: { spec: { properties: object } } }
    return Object.keys(schema.properties.spec.properties).toSorted()
  }
  assert.deepEqual(await stays({ sharding: { buckets: 2 } }), ['added', 'old'])
  assert.deepEqual(await stays({ sharding: { ring: 'r' } }), ['added', 'old'])
  assert.deepEqual(await stays({}), ['old'])
})

test('the watches of sharded kinds select the objects of the shard beside what they select anyway', async () => {
  const app = sharded({
    sharding: { ring: 'r', unsharded: [Secret] },
    cache: { labels: 'all', namespaces: { one: { labels: 'one' }, two: {} } },
  })
  const strip = (): void => {}
  app.cache(ConfigMap, { namespaces: { one: { fields: 'metadata.name=n' }, '*': { labels: 'rest' } }, strip })
  app.controllerFor(ConfigMap).owns(Secret).owns(metadataOf(Foo), { optional: true }).reconcile(async () => {})
  app.controllerFor(Namespace, { everyReplica: true }).watches(Foo, () => []).reconcile(async () => {})
  app.cache(ConfigMap, { cluster: app.cluster('west', cluster), namespaces: ['far'] })
  await using started = await shard(app, { crds: 'install' })
  const requests = [...started.network.requests, ...started.networkOf({ name: 'west' }).requests]
  const selections = requests.flatMap(({ path }) => {
    const { pathname, searchParams } = new URL(path, 'http://x')
    if (!/configmaps|secrets|foos|namespaces$/.test(pathname) || !searchParams.has('watch')) return []
    const [place = '*'] = /(?<=namespaces\/)[^/]+/.exec(pathname) ?? []
    const of = ['labelSelector', 'fieldSelector'].map((name) => searchParams.get(name) ?? '')
    return [`${place} ${pathname.split('/').at(-1)} ${of.join(' ')}`.trim()]
  })
  assert.deepEqual([...new Set(selections)].toSorted(), [
    `* configmaps rest,${SHARD}=a metadata.namespace!=one,metadata.namespace!=one`,
    '* namespaces all',
    'far configmaps all',
    `one configmaps one,${SHARD}=a metadata.name=n`,
    `one foos one,${SHARD}=a`,
    'one secrets one',
    `two foos all,${SHARD}=a`,
    'two secrets all',
  ])
})

test('the objects of a shard may be kept as bytes', async () => {
  const app = sharded().cache(ConfigMap, { compact: true })
  let isMade = false
  app.controllerFor(ConfigMap).reconcile(async (_map, { client }) => {
    const [one, other] = [await client.list(ConfigMap), await client.list(ConfigMap)]
    isMade ||= one.some((each, at) => each !== other[at])
  })
  await using _started = await shard(app, {
    before: async (client) => {
      for (let at = 0; at < 70; at++) await client.create(ConfigMap, assigned(`map-${at}`))
    },
  })
  assert.ok(isMade)
})

/** What must not delay or prevent that an object is given up, by the options of its controller. */
const UNHINDERED: Readonly<Record<string, ControllerOptions<ObjectOf<typeof ConfigMap>>>> = {
  'predicates that pass nothing': { when: (_now, before) => before === undefined, eventFilter: (_, before) => !before },
  'events that wait for the back-off': { holdEvents: true },
  'a low priority and a delay': { queue: () => ({ priority: -1000, after: '1m' }) },
}

for (const [what, options] of Object.entries(UNHINDERED)) {
  test(`an object is given up after its running reconcile has ended, whatever else: ${what}`, async () => {
    const { runs, hold, release, reconcile } = held()
    const app = sharded()
    app.controllerFor(ConfigMap, { concurrency: 2, ...options })
      .reconcile(async ({ metadata }) => await reconcile(metadata.name))
    hold('busy')
    hold('map')
    await using started = await shard(app, {
      before: async (client) => {
        for (const name of ['busy', 'map']) await client.create(ConfigMap, assigned(name))
      },
    })
    const { clock, client } = started
    await clock.advance('queue' in options ? 60_000 : 0)
    assert.deepEqual(runs.toSorted(), ['busy', 'map'])
    for (const name of ['busy', 'map']) await label(client, name, { [DRAIN]: 'true' })
    await clock.advance(10_000)
    assert.deepEqual(await labelsOf(client, 'map'), { [SHARD]: 'a', [DRAIN]: 'true' }, 'its reconcile runs')
    await release('map', options.holdEvents ? new Error('no') : undefined)
    await clock.advance(0)
    assert.deepEqual(await labelsOf(client, 'map'), undefined)
    // Nothing else waits for it: not a retry, not an event of before.
    await clock.advance(100_000)
    assert.deepEqual(runs.toSorted(), ['busy', 'map'])
    assert.deepEqual(writes(started.network, 'configmaps'), ['PATCH map'], 'both labels in one write')
    await release('busy')
  })
}

test('a drain waits for all controllers of the kind, and for those that write a finalizer', async () => {
  const { runs, hold, release, reconcile } = held()
  const app = sharded()
  app.controllerFor(ConfigMap, { name: 'quick' }).reconcile(async () => {})
  app.controllerFor(metadataOf(ConfigMap), { name: 'keys' }).reconcileKey(async ({ name }) =>
    await reconcile(`k-${name}`)
  )
  app.controllerFor(ConfigMap, { name: 'final' })
    .finalize(async ({ metadata }) => await reconcile(`gone-${metadata.name}`), { finalizer: 's.dev/f' })
    .reconcile(async () => {})
  for (const name of ['k-one', 'gone-two']) hold(name)
  await using started = await shard(app)
  const { clock, client } = started
  for (const name of ['one', 'two']) await client.create(ConfigMap, assigned(name))
  await clock.advance(100)
  await client.delete(ConfigMap, ref('two'))
  await clock.advance(100)
  for (const name of ['one', 'two']) await label(client, name, { [DRAIN]: '' })
  await clock.advance(100)
  for (const name of ['one', 'two']) assert.ok(DRAIN in (await labelsOf(client, name))!, name)
  for (const name of ['k-one', 'gone-two']) await release(name)
  await clock.advance(100)
  assert.equal(await labelsOf(client, 'one'), undefined)
  // Its cleanup was complete before the drain could be acknowledged.
  assert.equal(await client.get(ConfigMap, ref('two')), undefined)
  assert.deepEqual(runs.toSorted(), ['gone-two', 'k-one', 'k-two'])
  assert.deepEqual(failures(started), [])
})

test('an object that one watch of its kind delivers before another is reconciled, and not after it is given up', async () => {
  const runs: string[] = []
  const app = sharded()
  app.controllerFor(ConfigMap, { name: 'whole' }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  app.controllerFor(metadataOf(ConfigMap), { name: 'part' }).reconcile(async ({ metadata }) =>
    void runs.push(`part ${metadata.name}`)
  )
  app.controllerFor(metadataOf(ConfigMap), { name: 'keys' }).reconcileKey(async ({ name }) =>
    void runs.push(`key ${name}`)
  )
  app.controllerFor(metadataOf(ConfigMap), { name: 'final' }).finalize(async () => {}, { finalizer: 's.dev/f' })
    .reconcile(async ({ metadata }) => void runs.push(`final ${metadata.name}`))
  // The watches of whole objects and those of their metadata, by whether they are late.
  const late = new Map([false, true].map((isPart) => [isPart, Promise.withResolvers<void>()]))
  late.get(true)!.resolve()
  await using started = await shard(app, {
    intercept: async (request, next) => {
      const response = await next(request)
      if (!/configmaps\?.*watch=/.test(request.path)) return response
      const isPart = JSON.stringify(request.headers).includes('PartialObjectMetadata')
      const { body } = response
      const held = async function* (): AsyncGenerator<Uint8Array> {
        for await (const chunk of body) {
          if (new TextDecoder().decode(chunk).includes('"one"')) await late.get(isPart)!.promise
          yield chunk
        }
      }
      const all = { endless: body.endless, text: () => body.text(), cancel: () => body.cancel() }
      return { ...response, body: { ...all, [Symbol.asyncIterator]: held } }
    },
  })
  const { client, clock } = started
  const heard = async (ms: number): Promise<string[]> => {
    await clock.advance(ms)
    return [...new Set(runs.splice(0))].toSorted()
  }
  await client.create(ConfigMap, assigned('one'))
  assert.deepEqual(await heard(100), [])
  late.get(false)!.resolve()
  assert.deepEqual(await heard(10_000), ['final one', 'key one', 'one', 'part one'])
  late.set(true, Promise.withResolvers())
  await label(client, 'one', { [DRAIN]: '' })
  await clock.advance(1000)
  assert.equal((await labelsOf(client, 'one'))?.[SHARD], undefined)
  assert.deepEqual(await heard(60_000), [])
})

test('a drained object gets neither a finalizer nor a cleanup', async () => {
  const heard: string[] = []
  const app = sharded()
  app.controllerFor(ConfigMap).finalize(async () => void heard.push('cleanup'), { finalizer: 's.dev/f' })
    .reconcile(async () => void heard.push('reconcile'))
  await using started = await shard(app, {
    before: async (client) => {
      await client.create(ConfigMap, assigned('new', { [DRAIN]: '' }))
      const { metadata } = assigned('old', { [DRAIN]: '' })
      await client.create(ConfigMap, { metadata: { ...metadata, finalizers: ['s.dev/f'] } })
      await client.delete(ConfigMap, ref('old'))
    },
  })
  assert.deepEqual(heard, [])
  const left = await Promise.all(['new', 'old'].map((name) => started.client.get(ConfigMap, ref(name))))
  assert.deepEqual(left.map((each) => [each!.metadata.labels, each!.metadata.finalizers]), [
    [undefined, undefined],
    [undefined, ['s.dev/f']],
  ])
})

test('a drain that meets another write is acknowledged after it, and one of a deleted object is no failure', async () => {
  const app = sharded()
  const runs: string[] = []
  app.controllerFor(ConfigMap).reconcileKey(async ({ name }) => void runs.push(name))
  const client = (): Client => started.client
  let meets = true
  await using started = await shard(app, {
    intercept: async (request, next) => {
      if (request.method !== 'PATCH') return await next(request)
      if (request.path.includes('/refused')) return refusal(500, 'InternalError')
      if (meets) await client().patch(ConfigMap, ref('one'), { merge: { data: { a: 'b' } } })
      else await client().delete(ConfigMap, ref('two'))
      meets = false
      return await next(request)
    },
  })
  await client().create(ConfigMap, assigned('one', { [DRAIN]: '' }))
  await started.clock.advance(1000)
  const { metadata, data } = (await client().get(ConfigMap, ref('one')))!
  assert.deepEqual([metadata.labels, data], [undefined, { a: 'b' }])
  assert.deepEqual(writes(started.network, 'configmaps'), ['PATCH one', 'PATCH one'], 'the first met the other write')
  await client().create(ConfigMap, assigned('two', { [DRAIN]: '' }))
  await started.clock.advance(1000)
  assert.deepEqual([failures(started), runs], [[], []])
  await client().create(ConfigMap, assigned('refused', { [DRAIN]: '' }))
  await started.clock.advance(1000)
  await client().delete(ConfigMap, ref('refused'))
  await started.clock.advance(1000)
  assert.deepEqual(runs, ['refused'], 'what this shard has not given up was deleted')
})

test('the reconcile of a key runs for a deleted object, not for one that has left, was never here, or is drained', async () => {
  const runs: string[] = []
  const app = sharded()
  app.controllerFor(ConfigMap).watches(Secret, ({ metadata }) => [ref(metadata.name)]).reconcileKey(
    async (key, { client }) => void runs.push(`${key.name} ${await client.get(ConfigMap, key) ? 'is' : 'is gone'}`),
  )
  await using started = await shard(app)
  const { client, clock } = started
  const heard = async (): Promise<string[]> => {
    await clock.advance(1000)
    return runs.splice(0).toSorted()
  }
  for (const name of ['drained', 'torn', 'deleted']) await client.create(ConfigMap, assigned(name))
  await create(client, 'other')
  assert.deepEqual(await heard(), ['deleted is', 'drained is', 'torn is'])
  await label(client, 'drained', { [DRAIN]: '' })
  let fails = 1
  started.network.intercept = (request, next) =>
    request.path.endsWith('torn') && request.method === 'GET' && fails-- > 0
      ? Promise.resolve(refusal(500, 'InternalError'))
      : next(request)
  await label(client, 'torn', { [SHARD]: 'b' })
  await client.delete(ConfigMap, ref('deleted'))
  assert.deepEqual(await heard(), ['deleted is gone'])
  const asked = ['drained', 'torn'].map((name) =>
    started.network.requests.some(({ method, path }) => method === 'GET' && path.endsWith(name))
  )
  assert.deepEqual(asked, [false, true], 'what this shard has given up was not deleted')
  // A kind that is not sharded has keys of all shards.
  for (const name of ['drained', 'other', 'never']) await client.create(Secret, { metadata: ref(name) })
  await client.delete(ConfigMap, ref('drained'))
  assert.deepEqual(await heard(), [], 'it was deleted when it was no longer of this shard')
  await client.create(ConfigMap, assigned('drained'))
  await label(client, 'torn', { [SHARD]: 'a' })
  assert.deepEqual(await heard(), ['drained is', 'torn is'])
  for (const name of ['drained', 'torn']) await client.delete(ConfigMap, ref(name))
  assert.deepEqual(await heard(), ['drained is gone', 'torn is gone'], 'it came back before')
})

test('the deletion of an object that came back is reconciled by a controller whose filter lets only deletions pass', async () => {
  const runs: string[] = []
  const app = sharded()
  app.controllerFor(ConfigMap, { eventFilter: (_now, _before, { kind }) => kind === 'deleted' })
    .reconcileKey(async ({ name }) => void runs.push(name))
  await using started = await shard(app)
  const { client, clock } = started
  await client.create(ConfigMap, assigned('back'))
  for (const labels of [{ [DRAIN]: '' }, { [SHARD]: 'a' }]) {
    await clock.advance(1000)
    await label(client, 'back', labels)
  }
  await clock.advance(1000)
  await client.delete(ConfigMap, ref('back'))
  await clock.advance(1000)
  assert.deepEqual(runs, ['back'])
})

test('the deletion of an object that came back to be cleaned up is reconciled', async () => {
  const runs: string[] = []
  const app = sharded()
  app.controllerFor(ConfigMap).finalize(async ({ metadata }) => void runs.push(`clean ${metadata.name}`), {
    finalizer: 's.dev/f',
  }).reconcileKey(async (key, { client }) =>
    void runs.push(`${key.name} ${await client.get(ConfigMap, key) ? 'is' : 'is gone'}`)
  )
  await using started = await shard(app)
  const { client, clock } = started
  await client.create(ConfigMap, assigned('back'))
  await clock.advance(1000)
  await label(client, 'back', { [DRAIN]: '' })
  await clock.advance(1000)
  await client.delete(ConfigMap, ref('back'))
  await label(client, 'back', { [SHARD]: 'a' })
  await clock.advance(1000)
  assert.deepEqual(runs.slice(-2), ['clean back', 'back is gone'])
})

test('a kind that is read from the server is reconciled by its shard alone, also if a drain overtakes the read', async () => {
  const heard: string[] = []
  const app = sharded().cache(ConfigMap, { read: 'live' })
  app.controllerFor(ConfigMap).watches(Secret, ({ metadata }) => [ref(metadata.name)])
    .reconcile(async ({ metadata }) => void heard.push(metadata.name))
  const read = Promise.withResolvers<void>()
  await using started = await shard(app, {
    intercept: async (request, next) => {
      const answer = await next(request)
      if (request.method === 'GET' && request.path.endsWith('/configmaps/moved')) await read.promise
      return answer
    },
  })
  const { client, clock } = started
  await create(client, 'other')
  for (const name of ['own', 'moved']) await client.create(ConfigMap, assigned(name))
  for (const name of ['other', 'own']) await client.create(Secret, { metadata: ref(name) })
  await clock.advance(100)
  await label(client, 'moved', { [DRAIN]: '' })
  await clock.advance(1000)
  assert.equal(await labelsOf(client, 'moved'), undefined)
  read.resolve()
  await clock.advance(1000)
  assert.deepEqual([...new Set(heard)], ['own'])
})

test('a write of the operator that would remove the labels of the ring keeps them', async () => {
  const app = sharded()
  const done: string[] = []
  app.controllerFor(ConfigMap).reconcile(async (map, { client }) => {
    const { name } = map.metadata
    if (done.includes(name) || name.startsWith('kube-')) return
    done.push(name)
    if (name === 'edit') await client.edit(ConfigMap, map, (draft) => void (draft.metadata.labels = { own: '' }))
    if (name === 'all') await client.createOrUpdate(ConfigMap, map, (draft) => void delete draft.metadata!.labels)
    if (name === 'update') {
      const { labels: _, ...metadata } = map.metadata
      await client.update(ConfigMap, { ...map, metadata: { ...metadata, labels: { [SHARD]: 'a', own: '' } } })
    }
    if (name === 'plain') {
      const { apiVersion: _, kind: __, ...rest } = map
      await client.update(ConfigMap, { ...rest, metadata: { ...map.metadata, labels: { own: '' } } } as never)
    }
    if (name === 'apply') await client.apply(ConfigMap, { metadata: { ...ref(name), labels: { own: '' } } })
  })
  await using started = await shard(app)
  const { client, clock } = started
  for (const name of ['edit', 'all', 'update', 'plain', 'apply']) await client.create(ConfigMap, assigned(name))
  await clock.advance(1000)
  for (const name of ['edit', 'all', 'update', 'plain', 'apply']) {
    assert.deepEqual(await labelsOf(client, name), { [SHARD]: 'a', ...(name === 'all' ? {} : { own: '' }) }, name)
  }
  assert.deepEqual(failures(started), [])
})

test('a write in another version keeps the labels, and an object that went with its definition is reconciled', async () => {
  const [clock, runs] = [restingClock(), [] as string[]]
  const server = new ApiServer({ clock })
  const { api, client } = new Cluster({ name: 'test', transport: server.handle, clock })
  const { spec, ...crd } = Foo.definition.crd
  const next = { ...NextFoo.definition.crd.spec.versions[0]!, storage: false }
  await api.create({ resource: CRD }, { ...crd, spec: { ...spec, versions: [...spec.versions, next] } }, {})
  await client.create(Foo, { ...assigned('foo'), spec: {} })
  const app = sharded()
  app.controllerFor(Foo).reconcileKey(async (key, { client }) => {
    const foo = await client.get(Foo, key)
    runs.push(foo ? 'is' : 'is gone')
    if (!foo || foo.metadata.labels!['own']) return
    await client.edit(NextFoo, key, ({ metadata }) => void (metadata.labels = { own: 'x' }))
  })
  await using started = await shard(app, { clock, server, crds: 'ignore' })
  assert.deepEqual((await client.get(Foo, ref('foo')))?.metadata.labels, { [SHARD]: 'a', own: 'x' })
  await api.delete({ resource: CRD, name: 'foos.s.dev' }, {})
  await clock.advance(1000)
  assert.deepEqual([runs, failures(started)], [['is', 'is', 'is gone'], []])
})

test('an object that is drained during its reconcile keeps the drain through a write without it', async () => {
  const app = sharded()
  const { hold, release, reconcile } = held()
  hold('map')
  app.controllerFor(ConfigMap).reconcile(async (map, { client }) => {
    await reconcile(map.metadata.name)
    await client.edit(ConfigMap, map, (draft) => void (draft.metadata.labels = { own: '' }))
  })
  await using started = await shard(app, { before: async (client) => await client.create(ConfigMap, assigned('map')) })
  await label(started.client, 'map', { [DRAIN]: '' })
  await started.clock.advance(100)
  await release('map')
  await started.clock.advance(1000)
  assert.deepEqual(await labelsOf(started.client, 'map'), { own: '' }, 'acknowledged after the write')
})

/** What is refused at the start, and why. */
const REFUSED: readonly (readonly [string, (app: Operator) => void, RegExp, Partial<OperatorOptions>?])[] = [
  ['no ring', () => {}, /sharding needs the name of a ControllerRing/, { sharding: {} as { ring: string } }],
  ['no controller', (app) => app.add('t', async () => {}, { everyReplica: true }), /no controller whose objects/],
  ['leader election', () => {}, /leaderElection is for one leader/, { leaderElection: true }],
  ['a Lease', () => {}, /leaderElection\.lease is for one leader.*only namespace, identity, /, {
    leaderElection: { namespace: 'default', lease: 'x' },
  }],
  ['a task', (app) => app.add('t', async () => {}), /the task "t"; give it everyReplica: true.*sharding\.test\.ts/],
  ['a schedule', (app) => app.schedule('t', '@daily', async () => {}), /the schedule "t"; move it to an operator/],
  ['another cluster', (app) => {
    app.controllerFor(Secret, { cluster: app.cluster('west', cluster) }).reconcile(async () => {})
  }, /"secret@?\w*" is for another cluster/],
  ['several clusters', (app) => {
    app.controllerFor(Secret, { clusters: [app.cluster('west', cluster)] }).reconcile(async () => {})
  }, /"secret@west" is for another cluster/],
  ['a group of clusters', (app) => {
    const clusters = app.clusters('all', async function* () {})
    app.controllerFor(Secret, { clusters }).reconcile(async () => {})
  }, /"secret" is for another cluster.*give it everyReplica/],
  ['a cluster-scoped kind', (app) => void app.controllerFor(Namespace).reconcile(async () => {}), /in namespaces only/],
  ['an unsharded kind', (app) => void app.controllerFor(Secret).reconcile(async () => {}), /in sharding\.unsharded/, {
    sharding: { ring: 'r', unsharded: [Secret] },
  }],
  ...[{ labels: 'few' }, { fields: 'metadata.name=a' }, { namespaces: ['one'] }].map((options) =>
    [`two selections: ${Object.keys(options).join()}`, (app: Operator) => {
      app.cache(ConfigMap, options)
      app.controllerFor(metadataOf(ConfigMap), { name: 'n' }).reconcile(async () => {})
    }, /"configmap" reconciles ConfigMap, which is watched in two forms that select different objects/] as const
  ),
  ['any owner', (app) => {
    app.controllerFor(ConfigMap, { name: 'n' }).owns(Secret, { anyOwner: true }).reconcile(async () => {})
  }, /"n" owns Secret with anyOwner.*sharding\.unsharded/],
  ['every replica', (app) => {
    app.controllerFor(ConfigMap, { name: 'n', everyReplica: true }).reconcile(async () => {})
  }, /"n" has everyReplica, and would see only the ConfigMap objects of its own shard/],
  ['every replica of an owned kind', (app) => {
    app.controllerFor(ConfigMap, { name: 'n' }).owns(Secret).reconcile(async () => {})
    app.controllerFor(Secret, { everyReplica: true }).reconcile(async () => {})
  }, /"secret" has everyReplica/],
  ['an owned kind', (app) => {
    app.controllerFor(ConfigMap, { name: 'n' }).owns(Secret).reconcile(async () => {})
    app.controllerFor(Secret).reconcile(async () => {})
  }, /"secret" reconciles Secret, which the controller of ConfigMap owns, and owned objects move without a drain/],
]

for (const [what, describe, why, options] of REFUSED) {
  test(`a shard is refused: ${what}`, async () => {
    const app = sharded(options)
    describe(app)
    if (what !== 'no controller') app.controllerFor(ConfigMap).reconcile(async () => {})
    await assert.rejects(app.start(new AbortController().signal, { cluster, identity: 'a' }), why)
  })
}

test('the name of a ring and that of a shard are names of objects', async () => {
  assert.throws(() => sharded({ sharding: { ring: 'My_Ring' } }), /sharding\.ring: Cannot use the name "My_Ring"/)
  for (const instance of ['Host', 'a'.repeat(64), 'a_b', 'x']) {
    const app = sharded({ webhooks: {} })
    app.controllerFor(ConfigMap).reconcile(async () => {})
    await assert.rejects(
      app.start(new AbortController().signal, { cluster, instance }),
      /(names its Lease and is the value of a label|webhooks have the Lease of this name).*state .*leaderElection\.identity/,
    )
  }
})

test('definitions are those of all replicas, and everything is reconciled where nothing assigns objects', async () => {
  const runs: string[] = []
  const app = sharded({ leaderElection: { identity: 'own' } })
  app.controllerFor(Foo).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  await using one = await world(app)
  await one.client.create(Foo, { metadata: ref('all'), spec: {} })
  await one.settle()
  assert.deepEqual(runs.splice(0), ['all'])
  const before = defineResource({ group: 's.dev', version: 'v1', kind: 'Foo', spec: z.object({ old: z.string() }) })
  await using started = await starting(app, {
    crds: { mode: 'install', narrow: true },
    before: async (client) => await client.create(CRD, before.definition.crd as never),
  })
  await started.clock.advance(1000)
  await started.client.create(Foo, { metadata: { ...ref('map'), labels: { [SHARD]: 'own' } }, spec: {} })
  await started.client.create(Foo, { metadata: ref('none'), spec: {} })
  await started.clock.advance(1000)
  assert.deepEqual(runs, ['map'])
  // Changed before the Lease is taken, as without leader election.
  const lines = started.network.requests.map(({ method, path }) => `${method} ${path}`)
  const [changed, taken] = [/^PUT .*definitions/, /^POST .*leases/].map((line) =>
    lines.findIndex((each) => line.test(each))
  )
  assert.ok(changed! >= 0 && changed! < taken!, lines.join('\n'))
})
