/** Tests that no write loses fields that its client did not read, or rounds numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Latch } from '../../lib/async/latch.ts'
import { Api } from '../../lib/client/api.ts'
import { ApplyCache } from '../../lib/client/apply_cache.ts'
import type { Client } from '../../lib/client/client.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { intercepted, namespaced } from '../../lib/client/wrappers.ts'
import type { CacheOptions } from '../../lib/cache/cache_options.ts'
import { isReason } from '../../lib/core/errors.ts'
import { cloneJson } from '../../lib/core/clone.ts'
import { draft, type KubeObject } from '../../lib/core/objects.ts'
import { type AnyResource, metadataOf, type Resource } from '../../lib/core/resource.ts'
import { ConfigMap, Deployment, Secret } from '../../lib/kinds/mod.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { FOO } from './case_bench.ts'
import { answer, bodyOf, type Recorder, recorder, refusal } from './transports.ts'

const REF = { namespace: 'default', name: 'a' }
const data = { big: 'x'.repeat(50), small: 'y' }
/** The same without types, as a JavaScript program could call it. */
const META: AnyResource = metadataOf(Secret)

interface Bench {
  readonly network: Recorder
  readonly cluster: Cluster
  readonly client: Client
  readonly clock: FakeClock
  /** The object on the server. */
  readonly server: Client
  stop(): Promise<void>
}

/** A cluster that caches these kinds, on an API in memory; `make` creates objects first. */
async function caching(
  make: (client: Client) => Promise<unknown>,
  declare: (cluster: Cluster) => void,
  freeze = true,
): Promise<Bench> {
  const clock = new FakeClock()
  const network = recorder(new ApiServer({ clock }).handle)
  const server = new Cluster({ name: 'other', transport: network.transport, clock }).client
  await make(server)
  const cluster = new Cluster({ name: 'mine', transport: network.transport, clock, freeze })
  declare(cluster)
  const stopping = new AbortController()
  const running = cluster.start(stopping.signal)
  await cluster.ready(stopping.signal)
  network.take()
  return { network, cluster, client: cluster.client, clock, server, stop: () => (stopping.abort(), running) }
}

const stripsBig = (cluster: Cluster): void =>
  void cluster.cache.declare(ConfigMap, {
    strip: (object) => {
      delete (object as { data?: { big?: string } }).data?.big
    },
  })
/** The least spec of a Deployment. */
const workload = {
  selector: { matchLabels: { a: 'b' } },
  template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
}
const makesMap = (client: Client): Promise<unknown> => client.create(ConfigMap, { metadata: REF, data })

test('an object read as metadata only cannot be written: nothing is sent', async () => {
  const { network, cluster, client, server, stop } = await caching(
    (client) => client.create(Secret, { metadata: REF, data: { password: 'aGk=' } }),
    ({ cache }) => void cache.declare(META),
  )
  const object = (await client.get(META, REF)) as KubeObject
  const label = (object: { metadata: { labels?: object } }): void => {
    object.metadata.labels = { a: 'b' }
  }
  for (const one of [client, client.live, intercepted(client, {})]) {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => one.edit(META, REF, label as never),
      () => one.createOrUpdate(META, REF, label as never),
      () => one.update(META, object),
      () => one.setStatus(META, REF, {} as never),
      () => one.create(META, { metadata: { ...REF, name: 'b' } }),
      () => one.apply(META, { metadata: REF }),
      // Read by one resource and written by the other: a spread, a draft and the object itself.
      () => one.update(Secret, object as never),
      () => one.update(Secret, { ...object } as never),
      () => one.update(Secret, draft(object) as never),
      () => one.apply(Secret, { ...object, immutable: true } as never),
    ]
    for (const call of calls) {
      await assert.rejects(
        call(),
        (error) => error instanceof TypeError && /metadata/.test(error.message) && /patch/.test(error.message),
        String(call),
      )
    }
  }
  await assert.rejects(async () => await cluster.api.update({ resource: META, ...REF }, object, {}), TypeError)
  assert.deepEqual(network.take(), [])
  assert.deepEqual((await server.get(Secret, REF))?.data, { password: 'aGk=' })
  await stop()
})

test('a metadata-only resource can patch metadata and delete objects, and its subresources are complete', async () => {
  const { client, server, stop } = await caching(async (client) => {
    await client.create(Secret, { metadata: REF, data: { password: 'aGk=' } })
    await client.create(Deployment, { metadata: REF, spec: { ...workload, replicas: 3 } })
  }, () => {})
  await client.patch(META, REF, { merge: { metadata: { labels: { a: 'b' } } } })
  const now = await server.get(Secret, REF)
  assert.deepEqual([now?.metadata.labels, now?.data], [{ a: 'b' }, { password: 'aGk=' }])
  assert.equal(await client.delete(META, REF), true)
  assert.equal((await client.subresource(metadataOf(Deployment), REF, 'scale').get()).spec.replicas, 3)
  await client.setStatus(Deployment, REF, { replicas: 2 })
  const part = client.subresource(metadataOf(Deployment) as AnyResource, REF, 'status')
  await part.update(await part.get())
  assert.equal((await server.get(Deployment, REF))?.status?.replicas, 2)
  await stop()
})

test('an edit of an object that the cache strips reads the server', async () => {
  const { network, client, server, stop } = await caching(makesMap, stripsBig)
  assert.deepEqual((await client.get(ConfigMap, REF))?.data, { small: 'y' })
  assert.deepEqual(
    (await client.edit(ConfigMap, REF, (object) => {
      object.metadata.labels = { edited: '' }
    }))?.data,
    data,
  )
  const { object, result } = await client.createOrUpdate(ConfigMap, REF, (object) => {
    object.metadata.labels = { edited: 'again' }
  })
  assert.deepEqual([object.data, result], [data, 'updated'])
  assert.equal((await client.createOrUpdate(ConfigMap, REF, () => {})).result, 'unchanged')
  const wrapped = await intercepted(client, {}).edit(ConfigMap, REF, (object) => {
    object.data!['more'] = 'z'
  })
  assert.deepEqual(wrapped?.data, { ...data, more: 'z' })
  assert.deepEqual((await server.get(ConfigMap, REF))?.data, { ...data, more: 'z' })
  assert.deepEqual(
    network.take().map((line) => line.split(' ')[0]),
    ['GET', 'PUT', 'GET', 'PUT', 'GET', 'GET', 'PUT', 'GET'],
  )
  // Again from the cache, after its watch and its own writes have arrived.
  assert.deepEqual((await client.get(ConfigMap, REF))?.data, { small: 'y', more: 'z' })
  await assert.rejects(
    async () => await client.update(ConfigMap, { ...(await client.get(ConfigMap, REF))!, data: {} }),
    TypeError,
  )
  await stop()
})

test('writes refuse a stripped object, its draft and its spread, also as a copy; a live object is accepted', async () => {
  const { network, client, stop } = await caching(makesMap, stripsBig)
  const cached = (await client.get(ConfigMap, REF))!
  const mutable = draft(cached)
  mutable.metadata.labels = { a: 'b' }
  const [listed] = await client.list(ConfigMap, { namespace: 'default' })
  const message =
    'Cannot update ConfigMap "default/a": it is incomplete (stripped by the cache, or read as metadata only), and its missing fields would be deleted; use edit or client.live.get, or send a patch'
  const copies = [cloneJson(cached), structuredClone(cached), JSON.parse(JSON.stringify(cached)) as typeof cached]
  for (const object of [cached, mutable, { ...cached, data: {} }, draft(mutable), listed!, ...copies]) {
    await assert.rejects(client.update(ConfigMap, object), { name: 'TypeError', message })
    await assert.rejects(client.apply(ConfigMap, object), {
      name: 'TypeError',
      message: message.replace('update', 'apply'),
    })
    await assert.rejects(client.create(ConfigMap, object), {
      name: 'TypeError',
      message: message.replace('update', 'create'),
    })
  }
  assert.deepEqual(network.take(), [])
  const live = draft((await client.live.get(ConfigMap, REF))!)
  live.metadata.labels = { a: 'b' }
  assert.deepEqual((await client.update(ConfigMap, live)).data, data)
  await assert.rejects(client.create(ConfigMap, { ...cached, metadata: { ...REF, name: 'copy' } }), TypeError)
  await stop()
})

test('the mark of an object that was read in part is in no request', async () => {
  const { network, client, stop } = await caching(makesMap, stripsBig)
  const cached = structuredClone((await client.get(ConfigMap, REF))!)
  const text = { big: JSON.stringify(cached) }
  const { 'kubeloop.partial': _, ...unmarked } = cached as typeof cached & { 'kubeloop.partial'?: true }
  network.intercept = (request) =>
    Promise.resolve(answer(200, { ...cached, metadata: { ...cached.metadata, ...request } }))
  const status = client.subresource(ConfigMap, REF, 'status')
  const calls: readonly (() => Promise<unknown>)[] = [
    () =>
      client.create(ConfigMap, { metadata: REF, data: text, template: { first: cached } } as never, { dryRun: true }),
    () => client.apply(ConfigMap, { metadata: REF, data: text, template: { first: cached } } as never),
    () => client.update(ConfigMap, { ...unmarked, data: text, items: [cached] } as never),
    () => client.patch(ConfigMap, REF, { merge: cached }, { resourceVersion: '1' }),
    () => client.patch(ConfigMap, REF, { strategic: { 'kubeloop.partial': true } }),
    () => client.patch(ConfigMap, REF, { json: [{ op: 'add', path: '/x', value: cached }] }),
    () => client.setStatus(ConfigMap as never, cached as never, { copy: cached } as never),
    () => status.update(cached as never),
    () => status.patch({ merge: cached }),
    () => status.apply(cached as never),
    () => status.create(cached as never),
  ]
  for (const call of calls) {
    network.requests.length = 0
    await call()
    assert.ok(network.requests.length > 0)
    // The status of a stripped object is merged with the server's, which is read before.
    for (const request of network.requests.filter(({ method }) => method !== 'GET')) {
      assert.doesNotMatch(request.body as string, /[{,]"kubeloop\.partial"/)
      const { data } = bodyOf(request) as { data?: { big?: string } }
      if (data?.big) assert.deepEqual(JSON.parse(data.big), cached, 'a text is sent as it is')
    }
  }
  await stop()
})

test('setStatus and apply ignore a stripped cached object', async () => {
  const { network, client, server, stop } = await caching(async (client) => {
    await client.create(Deployment, { metadata: REF, spec: workload })
    await client.setStatus(Deployment, REF, { replicas: 1, conditions: [{ type: 'X', status: 'True' }] })
    await makesMap(client)
  }, (cluster) => {
    stripsBig(cluster)
    cluster.cache.declare(Deployment, {
      strip: (object) => {
        delete (object as { status?: { conditions?: object } }).status?.conditions
      },
    })
  })
  assert.deepEqual((await client.get(Deployment, REF))?.status, { replicas: 1 })
  await client.setStatus(Deployment, REF, { replicas: 1 })
  assert.deepEqual((await server.get(Deployment, REF))?.status, { replicas: 1 })
  const desired = { metadata: REF, data: { big: 'mine' } }
  await client.apply(ConfigMap, desired)
  await server.edit(ConfigMap, REF, (object) => {
    object.data!['big'] = 'theirs'
  })
  network.take()
  await client.apply(ConfigMap, desired)
  assert.deepEqual(network.take(), ['PATCH /api/v1/namespaces/default/configmaps/a'])
  assert.equal((await server.get(ConfigMap, REF))?.data?.['big'], 'mine')
  await stop()
})

const condition = (type: string, message = 'theirs') => {
  const time = '2026-01-01T00:00:00Z'
  return { type, status: 'True', message, lastUpdateTime: time, lastTransitionTime: time }
}

/** A cached Deployment with a condition of another writer. */
async function deployed(options: CacheOptions = {}) {
  const it = await caching(async (client) => {
    await client.create(Deployment, { metadata: REF, spec: workload })
    await client.setStatus(Deployment, REF, { replicas: 2, conditions: [condition('Theirs')] })
  }, (cluster) => void cluster.cache.declare(Deployment, options))
  return {
    ...it,
    read: async () => (await it.client.get(Deployment, REF))!,
    now: async () => (await it.server.get(Deployment, REF))!.status,
  }
}

test('a status keeps the conditions of others that strip has removed, and is not sent if the server has it', async () => {
  const { network, client, read, now, server, stop } = await deployed({
    strip: (object) => {
      const { status } = object as { status?: { conditions?: object; replicas?: number; collisionCount?: number } }
      delete status?.conditions
      delete status?.replicas
      delete status?.collisionCount
    },
  })
  const mine = { unavailableReplicas: 1, conditions: [condition('Mine')] }
  const both = { unavailableReplicas: 1, conditions: [condition('Theirs'), condition('Mine')] }
  await client.setStatus(Deployment, await read(), mine)
  assert.deepEqual([await now(), network.take().map((line) => line.split(' ')[0])], [both, ['GET', 'PATCH', 'GET']])
  assert.deepEqual((await client.setStatus(Deployment, await read(), mine)).status, both)
  assert.deepEqual(network.take().map((line) => line.split(' ')[0]), ['GET'])
  // A later version: what strip leaves out was not changed by others.
  const before = draft(await read())
  await server.setStatus(Deployment, REF, { ...both, collisionCount: 1 })
  await client.setStatus(Deployment, before, { unavailableReplicas: 2, conditions: [condition('Mine')] })
  assert.deepEqual(await now(), { ...both, unavailableReplicas: 2 })
  // What was read is neither in a copy that is changed, nor in the server's object.
  const copy = draft(before)
  copy.status = { replicas: 3 }
  network.take()
  await assert.rejects(
    client.setStatus(Deployment, copy, copy.status),
    /^TypeError: Cannot set the status of .*incomplete/,
  )
  assert.deepEqual(network.take(), [])
  await stop()
})

test('the changed status of a copy is written for the version that was copied, and only for that', async () => {
  const { client, read, now, server, stop } = await deployed()
  const copy = draft(await read())
  const set = async (): Promise<unknown> => await client.setStatus(Deployment, copy, copy.status!)
  copy.status!.conditions = [condition('Theirs', 'changed'), condition('Mine')]
  await set()
  assert.deepEqual(await now(), { replicas: 2, conditions: [condition('Theirs', 'changed'), condition('Mine')] })
  // The same copy follows its own status, and others' conditions stay.
  await server.edit(Deployment, REF, ({ metadata }) => void (metadata.labels = { a: 'c' }))
  await server.setStatus(Deployment, await read(), {
    ...(await now()),
    conditions: [condition('New'), condition('Theirs', 'changed'), condition('Mine')],
  })
  copy.status!.conditions = [condition('Mine', 'again')]
  await set()
  assert.deepEqual(await now(), { replicas: 2, conditions: [condition('New'), condition('Mine', 'again')] })
  const late = { ...(await read()), status: { replicas: 4 } }
  await server.setStatus(Deployment, REF, { replicas: 5 })
  for (const each of [client, client.live, intercepted(client, {}), namespaced(client, 'default')]) {
    await assert.rejects(each.setStatus(Deployment, late, late.status), (error) => isReason(error, 'Conflict'))
    assert.deepEqual(await now(), { replicas: 5 })
  }
  const same = await read()
  assert.deepEqual((await client.setStatus(Deployment, same, same.status!)).status, { replicas: 5 })
  await stop()
})

const WIDE: Resource<KubeObject & { spec: Record<string, unknown>; status?: Record<string, unknown> }, object> = {
  ...FOO,
}

/**
 * A client of a server that answers with this text and records bodies; its cache has the text as JSON.parse returns it.
 */
function answering(text: string, cached = JSON.parse(text) as KubeObject) {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, text)))
  const reader = {
    watches: () => true,
    get: () => Promise.resolve(cached as never),
    list: () => Promise.resolve([]),
    lookup: () => Promise.resolve([]),
  }
  const client = new KubeClient({ api: new Api({ transport }), reader: () => reader, fieldManager: 'me' })
  return {
    client,
    cached,
    requests,
    bodies: () => requests.flatMap(({ body }) => (body === undefined ? [] : [body as string])),
  }
}

const wide = (spec: string, status = '{}'): string =>
  `{"apiVersion":"cases.dev/v1","kind":"Foo","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1","creationTimestamp":""},"spec":${spec},"status":${status}}`

const EXACT = [
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  '1152921504606846976',
  '72057594037927936',
  '1e21',
  '1e+21',
  '100000000000000000000',
  '0.1',
  '-0',
  '5e-324',
  '1763790000000000001',
  '123456789012345',
]

test('edit writes a number as it was read, however large', async () => {
  for (const number of EXACT) {
    const it = answering(wide(`{"n":${number},"list":[{"n":${number}},1,"9007199254740993"],"other":1}`))
    for (
      const change of [
        () =>
          it.client.edit(WIDE, REF, (object) => {
            object.spec['other'] = 2
          }),
        () =>
          it.client.createOrUpdate(WIDE, REF, (object) => {
            ;(object as unknown as { spec: { other: number } }).spec.other = 2
          }),
        () =>
          intercepted(it.client, {}).edit(WIDE, REF, (object) => {
            object.spec['other'] = 2
          }),
        async () =>
          await it.client.update(WIDE, {
            ...(await it.client.live.get(WIDE, REF))!,
            spec: { ...(await it.client.live.get(WIDE, REF))!.spec, other: 2 },
          }),
        async () => {
          const object = draft((await it.client.live.get(WIDE, REF))!)
          object.spec['other'] = 2
          await it.client.update(WIDE, object)
        },
      ]
    ) await change()
    for (const body of it.bodies()) {
      const printed = /"n":([^,]*),"list":\[\{"n":(.*?)\},1,"9007199254740993"\],"other":2/.exec(body)
      // A number that a double holds exactly may be printed differently.
      const expected = /^-?\d{16,}$/.test(number) ? number : JSON.stringify(JSON.parse(number))
      assert.deepEqual(printed?.slice(1), [expected, expected], `${number}: ${body}`)
    }
    assert.equal(it.bodies().length, 5)
  }
})

test('the result of a write may be written again, with a new number beside those that were read', async () => {
  const it = answering(wide('{"n":9007199254740993}'))
  const answered = await it.client.patch(WIDE, REF, { merge: {} })
  await it.client.update(WIDE, { ...answered, spec: { ...answered.spec, own: 2 ** 60 } })
  assert.match(it.bodies()[1]!, /"spec":\{"n":9007199254740993,"own":1152921504606847000\}/)
})

test('a number that may have been rounded is not written: the error names it, and nothing is sent', async () => {
  const it = answering(wide('{"max":9223372036854775807,"ok":1}', '{"seen":9007199254740993}'))
  const rounded = (action: string, field: string): object => ({
    name: 'TypeError',
    message:
      `Cannot ${action} Foo "default/a": "${field}" is an integer beyond 2^53, which JavaScript may have rounded when it was read; leave it as client.live.get or edit reads it, or send a patch`,
  })
  const object = it.cached as never as { spec: Record<string, unknown>; status: Record<string, unknown> }
  await assert.rejects(async () => await it.client.update(WIDE, object as never), rounded('update', 'max'))
  const { spec } = object
  for (
    const [write, verb] of [
      [() => it.client.create(WIDE, { metadata: REF, spec }), 'create'],
      [() => it.client.apply(WIDE, { metadata: REF, spec }), 'patch'],
      [() => it.client.patch(WIDE, REF, { merge: { spec } }), 'patch'],
      [() => it.client.patch(WIDE, REF, { json: [{ op: 'add', path: '/spec', value: spec }] }), 'patch'],
    ] as const
  ) {
    await assert.rejects(async () => await write(), (error) => {
      assert.ok(error instanceof TypeError)
      assert.ok(error.message.startsWith(`Cannot ${verb} Foo: "max" is an integer beyond 2^53`), error.message)
      return true
    })
  }
  await assert.rejects(
    it.client.setStatus(WIDE, REF, { ...object.status, phase: 'x' }),
    rounded('set the status of', 'seen'),
  )
  // Two numbers of one object that are the same double are ambiguous when written.
  const two = answering(wide('{"a":9007199254740993,"b":9007199254740992}'))
  await assert.rejects(
    two.client.edit(WIDE, REF, (object) => {
      object.spec['ok'] = 2
    }),
    rounded('update', 'a'),
  )
  assert.deepEqual([it.bodies(), two.bodies()], [[], []])
})

test('what a failing watch has in the cache is no reason to send nothing', async () => {
  const wanted = { metadata: REF, spec: { ...workload, replicas: 2 } }
  const { client, network, server, cluster, clock, stop } = await caching(
    (client) => client.create(Deployment, wanted),
    ({ cache }) => void cache.declare(Deployment),
  )
  const write = async (): Promise<void> => {
    await client.apply(Deployment, wanted)
    await client.setStatus(Deployment, REF, { replicas: 2 })
  }
  await write()
  await write()
  assert.equal(network.take().filter((line) => line.startsWith('PATCH')).length, 2)
  network.intercept = (request, next) =>
    /[?&]watch=/.test(request.path) ? Promise.resolve(refusal(403, 'Forbidden')) : next(request)
  await clock.advance(700_000)
  assert.ok(cluster.cache.informersOf(Deployment)![0]!.failure)
  await server.patch(Deployment, REF, { merge: { spec: { replicas: 3 } } })
  await server.setStatus(Deployment, REF, { replicas: 3 })
  await write()
  const stored = async (): Promise<unknown> => {
    const { spec, status } = (await server.get(Deployment, REF))!
    return [spec?.replicas, status?.replicas]
  }
  assert.deepEqual(await stored(), [2, 2])
  await server.patch(Deployment, REF, { merge: { spec: { replicas: 3 } } })
  await client.edit(Deployment, REF, (object) => void (object.spec!.replicas = 2))
  assert.deepEqual(await stored(), [2, 2])
  await server.delete(Deployment, REF)
  assert.equal((await client.createIfMissing(Deployment, wanted)).result, 'created')
  await stop()
})

test('what JSON makes null or {} of, such as NaN, an invalid Date, a Promise or a Map, is not written: the error names it', async () => {
  const it = answering(wide('{}'))
  const scale = it.client.subresource(Deployment, REF, 'scale')
  for (const n of [NaN, -Infinity, new Date(NaN), Promise.resolve(1), new Map([['a', 1]]), new Set([1])]) {
    const spec = { none: null, list: [{ n }] }
    for (
      const [action, write] of [
        ['create Foo', () => it.client.create(WIDE, { metadata: REF, spec })],
        ['patch Foo', () => it.client.apply(WIDE, { metadata: REF, spec })],
        ['patch Foo', () => it.client.patch(WIDE, REF, { merge: { spec } })],
        ['update Foo "default/a"', () => it.client.edit(WIDE, REF, (object) => void (object.spec['n'] = n))],
        ['set the status of Foo "default/a"', () => it.client.setStatus(WIDE, REF, { n })],
        ['update the scale of Deployment "default/a"', () => scale.update({ spec: { replicas: 1, n } as never })],
      ] as const
    ) {
      const message = `Cannot ${action}: "n" is ${n}; give a valid one, or leave the field out`
      await assert.rejects(async () => await write(), { name: 'TypeError', message })
    }
  }
  for (const none of [undefined, null]) {
    const message = `Cannot set the status of Foo "default/a": it is ${none}`
    await assert.rejects(it.client.setStatus(WIDE, REF, none as never), { name: 'TypeError', message })
  }
  assert.deepEqual(it.bodies(), [])
})

test('objects without long numbers are read from the cache', async () => {
  const it = answering(wide('{"n":9007199254740991,"text":"9007199254740993","big":1e300}'))
  await it.client.edit(WIDE, REF, (object) => {
    object.spec['n'] = 1
  })
  assert.deepEqual(it.requests.map(({ method }) => method), ['PUT'])
})

test('the result of an apply is forgotten with its object, and remembered for cached kinds only', async (t) => {
  const { forget, of } = ApplyCache.prototype
  const [forgotten, asked] = [new Set<string>(), new Set<string>()]
  let memory: ApplyCache | undefined
  ApplyCache.prototype.forget = function (resource, key, uid) {
    forgotten.add(`${resource.kind} ${key}`)
    forget.call(memory = this, resource, key, uid)
  }
  ApplyCache.prototype.of = function (resource, key, manager) {
    asked.add(resource.kind)
    return of.call(this, resource, key, manager)
  }
  t.after(() => Object.assign(ApplyCache.prototype, { forget, of }))
  const { client, server, cluster, stop } = await caching(async () => {}, ({ cache }) => void cache.declare(ConfigMap))
  const deleted = new Latch()
  cluster.cache.informersOf(ConfigMap)![0]!.addHandler(({ kind }) => kind === 'deleted' && deleted.open())
  await client.apply(Secret, { metadata: REF })
  for (const name of ['a', 'b']) {
    for (let time = 0; time < 2; time++) await client.apply(ConfigMap, { metadata: { ...REF, name } })
  }
  assert.deepEqual([[...forgotten], [...asked]], [[], ['ConfigMap']])
  await server.delete(ConfigMap, REF)
  await deleted.opened
  assert.deepEqual([[...forgotten], memory!.size], [['ConfigMap default/a'], 1])
  await stop()
})
