import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, defineResource, dynamicResource, limiters, operator, TerminalError } from 'kubeloop'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import * as z from 'zod'

const ref = (name: string) => ({ namespace: 'default', name })
const never = new AbortController().signal

test('an operator without a controller does not start', async () => {
  await assert.rejects(
    operator({ name: 'x' }).start(never),
    /Cannot start operator "x": it has no controller and no task/,
  )
})

test('a controller without reconcile is refused with the line of controllerFor', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap)
  await assert.rejects(
    app.start(never),
    /the controller for ConfigMap has no reconcile; end it with \.reconcile\(…\) \(.*operator\.test\.ts:\d+:\d+\)/,
  )
})

test('two controllers with the same name are refused', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  app.controllerFor(ConfigMap).reconcile(async () => {})
  await assert.rejects(
    app.start(never),
    /two controllers are called "configmap" \(.*operator\.test\.ts:29:\d+\); give one of them another name \(.*operator\.test\.ts:30:\d+\)$/,
  )
})

test('a second reconcile is refused', () => {
  const builder = operator({ name: 'x' }).controllerFor(ConfigMap)
  builder.reconcile(async () => {})
  assert.throws(() => builder.reconcile(async () => {}), /a second reconcile/)
})

test('a name that is invalid for a Lease is refused', () => {
  for (const name of ['', 'My Operator', 'a_b']) assert.throws(() => operator({ name }), /Cannot describe an operator/)
})

test('invalid options are refused at once', () => {
  const app = operator({ name: 'x' })
  assert.throws(() => app.controllerFor(ConfigMap, { concurrency: 0 }), /concurrency is 0/)
  assert.throws(
    () => app.controllerFor(ConfigMap, { timeout: '5 minutes' as never }),
    /Cannot read duration "5 minutes"/,
  )
})

test('one description runs in several worlds at once', async () => {
  const app = operator({ name: 'labels' })
  app.controllerFor(ConfigMap).reconcile(async (map, { client }) =>
    void (await client.edit(ConfigMap, map, (draft) => void (draft.data = { seen: 'yes' })))
  )
  const worlds = await Promise.all([world(app), world(app)])
  await worlds[0]!.client.create(ConfigMap, { metadata: ref('a') })
  for (const w of worlds) await w.settle()
  assert.deepEqual((await worlds[0]!.client.get(ConfigMap, ref('a')))?.data, { seen: 'yes' })
  assert.equal(await worlds[1]!.client.get(ConfigMap, ref('a')), undefined)
  for (const w of worlds) await w.stop()
})

test('reconcile is called for existing objects, reconcileKey also for gone ones', async () => {
  const heard: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { name: 'objects' }).reconcile(async ({ metadata }) =>
    void heard.push(`object ${metadata.name}`)
  )
  app.controllerFor(ConfigMap, { name: 'keys' }).reconcileKey(async ({ name }) => void heard.push(`key ${name}`))
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual(heard.filter((line) => line.endsWith(' a')).toSorted(), ['key a', 'key a', 'object a'])
  await w.stop()
})

test('watches maps the changes of another kind to keys, and may use the client', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap)
    .watches(
      Namespace,
      async (namespace, { client }) =>
        (await client.list(ConfigMap)).filter((map) => map.data?.['of'] === namespace.metadata.name),
    )
    .reconcile(async (map) => void runs.push(map.metadata.name))
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('one'), data: { of: 'team' } })
  await w.client.create(ConfigMap, { metadata: ref('two'), data: { of: 'other' } })
  await w.settle()
  runs.length = 0
  await w.client.create(Namespace, { metadata: { name: 'team' } })
  await w.settle()
  assert.deepEqual([...new Set(runs)], ['one'])
  await w.stop()
})

test('a failing key is retried with back-off, a terminal failure is not', async () => {
  const times: Record<string, number[]> = { fails: [], ends: [] }
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.namespace === 'default' && metadata.name in times })
    .reconcile(async ({ metadata }) => {
      times[metadata.name]!.push(w.clock.monotonic())
      throw metadata.name === 'ends' ? new TerminalError('useless') : new Error('again')
    })
  const w = await world(app)
  for (const name of Object.keys(times)) await w.client.create(ConfigMap, { metadata: ref(name) })
  await w.advance(200)
  assert.deepEqual(times['fails']!.slice(0, 5).map((time, i, all) => (i === 0 ? 0 : time - all[i - 1]!)), [
    0,
    5,
    10,
    20,
    40,
  ])
  assert.equal(times['ends']!.length, 1)
  await w.stop()
})

test('requeueAfter reconciles again at its time', async () => {
  let runs = 0
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' }).reconcile(async () => {
    runs++
    return { requeueAfter: '1m' }
  })
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  const before = runs
  await w.advance('59s')
  assert.equal(runs, before)
  await w.advance('1s')
  assert.equal(runs, before + 1)
  await w.stop()
})

test("a run's client ends with the run", async () => {
  let kept: Client | undefined
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap).reconcile(async (_, { client }) => void (kept = client))
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  await assert.rejects(kept!.create(ConfigMap, { metadata: ref('b') }), /has ended/)
  await w.stop()
})

test('objects of the cache are frozen in tests', async () => {
  let thrown: unknown
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' }).reconcile(async (map) => {
    try {
      ;(map as { data?: unknown }).data = {}
    } catch (error) {
      thrown = error
    }
  })
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  assert.ok(thrown instanceof TypeError)
  await w.stop()
})

const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({ size: z.int32() }) })

test('kinds that are only declared with app.cache are cached; no other kind is watched', async () => {
  const app = operator({ name: 'x' }).cache(ConfigMap, { labels: 'keep=yes' })
  let seen: string[] = []
  app.controllerFor(Thing).reconcile(async (_, { client }) =>
    void (seen = (await client.list(ConfigMap)).map(({ metadata }) => metadata.name))
  )
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: { ...ref('kept'), labels: { keep: 'yes' } } })
  await w.client.create(ConfigMap, { metadata: ref('other') })
  await w.client.create(Thing, { metadata: ref('t'), spec: { size: 1 } })
  await w.settle()
  assert.deepEqual(seen, ['kept'])
  await w.stop()
})

test('invalid leader election fails the start before anything runs', async () => {
  const started: string[] = []
  const requests: string[] = []
  const transport = (request: { path: string }) => Promise.reject(new Error(`${requests.push(request.path)} requests`))
  for (
    const [leaderElection, why] of [
      [{ duration: '1500ms' }, /whole number of seconds/],
      [{ duration: '5s' }, /duration \(5000 ms\) must be longer than renewDeadline/],
      [{ renewDeadline: '2s' }, /renewDeadline \(2000 ms\) must be longer than 1\.2 × retryPeriod/],
      [{ identity: '' }, /identity is empty/],
    ] as const
  ) {
    const app = operator({ name: 'x', leaderElection })
    app.controllerFor(ConfigMap).reconcile(async () => {})
    app.add('everywhere', async () => void started.push('task'), { everyReplica: true })
    await assert.rejects(app.start(never, { transport }), why)
  }
  assert.deepEqual([started, requests], [[], []])
})

test('a limiter of the user delays a failing key, and each start has its own', async () => {
  const times: number[] = []
  let made = 0
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, {
    when: ({ metadata }) => metadata.name === 'a',
    limiter: () => (made++, limiters.fastSlowLimiter({ fastMs: 10, slowMs: 1000, fastTries: 2 })),
  }).reconcile(async () => {
    times.push(w.clock.monotonic())
    throw new Error('again')
  })
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.advance('2500ms')
  assert.deepEqual(times.map((time) => time - times[0]!), [0, 10, 20, 1020, 2020])
  await w.stop()
  await (await world(app)).stop()
  assert.equal(made, 2)
})

test('a limiter with a backoff, and names that are invalid in an Event, are refused', () => {
  const app = operator({ name: 'x' })
  assert.throws(
    () => app.controllerFor(ConfigMap, { backoff: {}, limiter: () => limiters.exponentialLimiter() }),
    /exclude each other/,
  )
  assert.throws(
    () => app.controllerFor(ConfigMap, { name: 'my controller' }),
    /as "my controller": a name has at most 63/,
  )
  assert.throws(() => operator({ name: 'x'.repeat(64) }), /at most 63/)
})

test('events.normal records an Event with the controller as its source', async () => {
  const app = operator({ name: 'greeter' })
  app.controllerFor(ConfigMap, { name: 'hello', when: ({ metadata }) => metadata.name === 'a' })
    .reconcile(async (map, { events }) => events.normal(map, 'Greeted', 'Hello there'))
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  const events = await w.client.list(
    dynamicResource({ group: 'events.k8s.io', version: 'v1', kind: 'Event' }),
  ) as unknown as Record<string, unknown>[]
  const told = events.map(({ type, reason, note, reportingController }) => ({
    type,
    reason,
    note,
    reportingController,
  }))
  assert.deepEqual(told, [{
    type: 'Normal',
    reason: 'Greeted',
    note: 'Hello there',
    reportingController: 'greeter/hello',
  }])
  await w.stop()
})

test('the priority of a result applies when its key is reconciled again', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name.startsWith('key') }).reconcile(
    async ({ metadata }) => {
      runs.push(metadata.name)
      return runs.length <= 3 ? { requeueAfter: '1s', priority: metadata.name === 'key-c' ? 10 : 0 } : undefined
    },
  )
  const w = await world(app)
  for (const name of ['key-a', 'key-b', 'key-c']) await w.client.create(ConfigMap, { metadata: ref(name) })
  await w.advance('2s')
  assert.deepEqual(runs.slice(0, 3).toSorted(), ['key-a', 'key-b', 'key-c'])
  assert.equal(runs.length, 6)
  assert.equal(runs[3], 'key-c', 'of those that are due at one time the most urgent goes first')
  await w.stop()
})

test('app.cache selects the objects and namespaces of a kind', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' })
  const seen: string[] = []
  app.cache(ConfigMap, {
    labels: 'kept',
    strip: (object) => {
      delete object.data?.['big']
    },
  })
  app.cache(Secret, { read: 'live', labels: 'kept' })
  app.cache(ConfigMap, { cluster: west, labels: 'west' })
  app.controllerFor(ConfigMap).reconcile(async (object, { client, clientOf }) => {
    seen.push(`${object.metadata.name} ${JSON.stringify(object.data)}`)
    await client.edit(ConfigMap, object, (draft) => {
      draft.metadata.annotations = { edited: '' }
    })
    seen.push(...(await clientOf(west).list(ConfigMap)).map(({ metadata }) => `west ${metadata.name}`))
    seen.push(...(await client.list(Secret, { namespace: 'default' })).map(({ metadata }) => `secret ${metadata.name}`))
    await assert.rejects(client.update(ConfigMap, object), TypeError)
  })
  app.controllerFor(Secret).reconcile(async ({ metadata }) => void seen.push(`event of ${metadata.name}`))
  const w = await world(app)
  for (const labels of [{ kept: '' }, { west: '' }] as { [label: string]: string }[]) {
    const [name] = Object.keys(labels) as [string]
    for (const client of [w.client, w.clientOf(west)]) {
      await client.create(ConfigMap, { metadata: { ...ref(name), labels }, data: { big: 'x', small: 'y' } })
    }
    await w.client.create(Secret, { metadata: { ...ref(name), labels } })
  }
  await w.settle()
  assert.deepEqual([...new Set(seen)].sort(), [
    'event of kept',
    'kept {"small":"y"}',
    'secret kept',
    'west west',
  ])
  const kept = await w.client.get(ConfigMap, ref('kept'))
  assert.deepEqual([kept?.data, kept?.metadata.annotations], [{ big: 'x', small: 'y' }, { edited: '' }])
  await w.stop()
})

test('a finalizer that a strip function removes is still found', async () => {
  const app = operator({ name: 'x' })
  const seen: string[] = []
  app.cache(ConfigMap, {
    strip: (object) => {
      object.metadata = { name: object.metadata.name } as never
    },
  })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name !== 'kube-root-ca.crt' })
    .finalize(async ({ metadata }) => void seen.push(`cleanup ${metadata.name}`)).reconcile(async ({ metadata }) =>
      void seen.push(metadata.name)
    )
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  assert.deepEqual((await w.client.get(ConfigMap, ref('a')))?.metadata.finalizers, ['x/configmap'])
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.equal(await w.client.get(ConfigMap, ref('a')), undefined)
  assert.deepEqual([...new Set(seen)], ['a', 'cleanup a'])
  await w.stop()
})
