import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, limiters, type Operator, operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'

const ref = (name: string) => ({ namespace: 'default', name })
const never = new AbortController().signal

const PLACE = String.raw`\(.*operator\.test\.ts:\d+:\d+\)`

const AT_START: Readonly<Record<string, readonly [describe: (app: Operator) => unknown, problem: string]>> = {
  'no controller': [() => {}, 'Cannot start operator "x": it has no controller and no task'],
  'a controller without reconcile': [
    (app) => app.controllerFor(ConfigMap),
    `the controller for ConfigMap has no reconcile; end it with \\.reconcile\\(…\\) ${PLACE}`,
  ],
  'two controllers of one name': [
    (app) => [1, 2].map(() => app.controllerFor(ConfigMap).reconcile(async () => {})),
    `two controllers are called "configmap" ${PLACE}; give one of them another name ${PLACE}$`,
  ],
  // The first replica would remove it.
  'a finalizer of a controller that runs on every replica': [
    (app) => app.controllerFor(ConfigMap, { everyReplica: true }).finalize(async () => {}).reconcile(async () => {}),
    `"configmap" has everyReplica and a finalizer, .*${PLACE.slice(2)}$`,
  ],
}
for (const [what, [describe, problem]] of Object.entries(AT_START)) {
  test(`an operator with ${what} does not start`, async () => {
    const app = operator({ name: 'x' })
    describe(app)
    await assert.rejects(app.start(never), new RegExp(problem))
  })
}

test('what cannot be described is refused at once', () => {
  const app = operator({ name: 'x' })
  const builder = app.controllerFor(ConfigMap)
  builder.reconcile(async () => {})
  const calls: readonly (readonly [call: () => unknown, problem: string])[] = [
    [() => builder.reconcile(async () => {}), 'its controller has a reconcile already'],
    [() => app.controllerFor('Pod' as never), 'Cannot control Pod: it is not a kind'],
    [() => builder.owns(undefined as never), 'Cannot own undefined: it is not a kind'],
    [() => builder.watches(ConfigMap, undefined as never), 'Cannot watch ConfigMap: it needs a function'],
    [() => builder.finalize({} as never), 'Cannot finalize ConfigMap: it needs a function'],
    [() => builder.reconcile(undefined as never), 'Cannot reconcile ConfigMap: it needs a function'],
    ...['', 'My Operator', 'a_b', 'a'.repeat(64)].map((name) =>
      [() => operator({ name }), 'Cannot use the name'] as const
    ),
    [() => operator({ name: 'x'.repeat(64) }), 'at most 63'],
    [() => app.controllerFor(ConfigMap, { concurrency: 0 }), 'concurrency: its concurrency is 0'],
    [
      () => app.controllerFor(ConfigMap, { backoff: { base: '1m', max: '1s' } }),
      'its backoff begins with 1m, which is above its max of 1s',
    ],
    [() => app.controllerFor(ConfigMap, { concurrency: '3' as never }), 'concurrency: its concurrency is "3"'],
    [
      () => app.controllerFor(ConfigMap, { timeout: '5 minutes' as never }),
      'timeout: Cannot read duration "5 minutes"',
    ],
    [
      () => app.controllerFor(ConfigMap, { backoff: {}, limiter: () => limiters.exponentialLimiter() }),
      'exclude each other',
    ],
    [() => app.controllerFor(ConfigMap, { name: 'my controller' }), 'as "my controller": a name has at most 63'],
  ]
  for (const [call, problem] of calls) {
    assert.throws(call, (error: Error) => error.message.includes(problem), problem)
  }
})

test("a run's client ends with the run", async () => {
  let kept: Client | undefined
  const app = operator({ name: 'x' }).controllerFor(ConfigMap).reconcile(async (_, { client }) => void (kept = client))
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  await assert.rejects(kept!.create(ConfigMap, { metadata: ref('b') }), /has ended/)
})

test('invalid leader election fails the start before anything runs', async () => {
  const started: string[] = []
  const requests: string[] = []
  const transport = (request: { path: string }) => Promise.reject(new Error(`${requests.push(request.path)} requests`))
  const app = operator({ name: 'x', leaderElection: { identity: '' } }).controllerFor(ConfigMap)
    .reconcile(async () => {})
  app.add('everywhere', async () => void started.push('task'), { everyReplica: true })
  await assert.rejects(app.start(never, { transport }), /identity is empty/)
  assert.deepEqual([started, requests], [[], []])
})

test('a limiter of the user delays a failing key, and each start has its own', async () => {
  const times: number[] = []
  let made = 0
  const app = operator({ name: 'x' }).controllerFor(ConfigMap, {
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
  await using w = await world(app)
  for (const labels of [{ kept: '' }, { west: '' }] as { [label: string]: string }[]) {
    const [name] = Object.keys(labels) as [string]
    for (const client of [w.client, w.clientOf(west)]) {
      await client.create(ConfigMap, { metadata: { ...ref(name), labels }, data: { big: 'x', small: 'y' } })
    }
    await w.client.create(Secret, { metadata: { ...ref(name), labels } })
  }
  await w.settle()
  assert.deepEqual([...new Set(seen)].sort(), ['event of kept', 'kept {"small":"y"}', 'secret kept', 'west west'])
  const kept = await w.client.get(ConfigMap, ref('kept'))
  assert.deepEqual([kept?.data, kept?.metadata.annotations], [{ big: 'x', small: 'y' }, { edited: '' }])
})
