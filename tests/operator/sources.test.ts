/** The sources of a controller's keys in an operator file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventChannel, type ObjectOf, operator, predicates } from 'kubeloop'
import { type CacheDeclaration } from 'kubeloop/parts'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import { nextTurn } from '../../lib/async/clock.ts'
import { mapped } from '../../lib/operator/other_sources.ts'
import { ObjectCodec } from '../../lib/cache/compact/object_codec.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { create, restingClock, starting } from './starting.ts'

const ref = (name: string) => ({ namespace: 'default', name })
/** Excludes the cluster's own config maps. */
const ours = predicates.matchesLabels('ours')
const labels = { ours: '' }

test('keys of a channel or a function are reconciled, also those sent before the start, and none of another cluster', async () => {
  const runs: string[] = []
  const channel = new EventChannel<{ namespace: string; name: string }>()
  const app = operator({ name: 'x' })
  const far = { ...ref('far'), cluster: 'east' }
  app.controllerFor(ConfigMap, { when: ours })
    .from('outside', () => channel)
    .every('1h', () => [far])
    .watches(Secret, () => [far])
    .reconcileKey(async ({ name }) => void runs.push(name))
  await channel.send(far)
  await channel.send(ref('early'))
  await using w = await world(app)
  assert.deepEqual(runs, ['early'])
  await channel.send(ref('late'))
  await w.client.create(Secret, { metadata: ref('a') })
  await w.advance('1h')
  assert.deepEqual(runs, ['early', 'late'])
})

for (const compact of [false, true]) {
  const of = compact ? ' of a compact cache, and makes no more' : ''
  test(`every reads many objects${of} in several turns of the event loop`, async () => {
    const names = Array.from({ length: 100 }, (_, i) => `m${i}`)
    let [passed, made] = [0, 0]
    const app = operator({ name: 'x' }).cache(ConfigMap, { compact })
    app.controllerFor(ConfigMap, { when: () => (passed++, false) }).every('10m').reconcile(async () => {})
    const clock = restingClock()
    const ahead = new SlowClock(0, clock)
    await using s = await starting(app, { clock, ahead, before: (client) => create(client, ...names) })
    const { decode } = ObjectCodec.prototype
    ObjectCodec.prototype.decode = function (...at) {
      made++
      return decode.apply(this, at)
    }
    const before = passed
    ahead.lookMs = 1
    let [most, mostMade, isOver] = [0, 0, false]
    void s.clock.advance(600_000).then(() => (isOver = true))
    for (let last = [passed, made] as const; !isOver; last = [passed, made]) {
      await nextTurn()
      most = Math.max(most, passed - last[0])
      mostMade = Math.max(mostMade, made - last[1])
    }
    ahead.lookMs = 0
    ObjectCodec.prototype.decode = decode
    assert.ok(passed - before >= names.length, `${passed - before} objects`)
    assert.equal(made > 0, compact)
    assert.ok(most <= 10 && mostMade <= 10, `${most} objects in one turn, ${mostMade} made`)
  })
}

test('a stream whose items are converted is closed with it', async () => {
  const ended: string[] = []
  const next = () => Promise.resolve({ done: false as const, value: 1 })
  const stream = { [Symbol.asyncIterator]: () => ({ next, return: () => (ended.push('it'), next()) }) }
  for await (const _ of mapped(stream as never, () => 1)) break
  assert.deepEqual(ended, ['it'])
})

test('a stream whose items are all left out does not block the event loop', async () => {
  let left = 0
  const stream = async function* () {
    while (left < 10_000) yield left++
  }
  const read = mapped(stream(), () => undefined)[Symbol.asyncIterator]().next()
  await nextTurn()
  assert.ok(left > 100 && left < 1000, `${left} items in one turn`)
  assert.deepEqual(await read, { done: true, value: undefined })
})

for (const live of [false, true]) {
  const read = live ? ' that are read live' : ''
  test(`every queues what when and eventFilter pass at a start, and objects to clean up, of kinds${read}`, async () => {
    const [runs, cleaned]: [string[], string[]] = [[], []]
    const app = operator({ name: 'x' })
    if (live) app.cache(ConfigMap, { read: 'live' })
    app.controllerFor(ConfigMap, {
      when: (now, before, change) => ours(now, before) && change.kind !== 'deleted',
      eventFilter: ({ metadata }) => !['filtered', 'held'].includes(metadata.name),
    })
      .every('10m')
      .finalize(async ({ metadata }) => {
        cleaned.push(metadata.name)
        return { requeueAfter: '24h' }
      }, { finalizer: 'example.dev/x' })
      .reconcile(async ({ metadata }) => void runs.push(metadata.name))
    await using w = await world(app)
    for (const name of ['a', 'filtered']) await w.client.create(ConfigMap, { metadata: { ...ref(name), labels } })
    await w.client.create(ConfigMap, { metadata: ref('foreign') })
    await w.client.create(ConfigMap, { metadata: { ...ref('held'), finalizers: ['example.dev/x'] } })
    await w.client.delete(ConfigMap, ref('held'))
    await w.settle()
    assert.deepEqual([runs.splice(0), cleaned.splice(0)], [['a'], ['held']])
    await w.advance('10m')
    assert.deepEqual([runs, cleaned], [['a'], ['held']])
    for (const name of ['filtered', 'foreign']) {
      assert.equal((await w.client.get(ConfigMap, ref(name)))!.metadata.finalizers, undefined)
    }
  })
}

/** The keys of all sources are for the config map `x` of each namespace; `one` has the label, `two` has none. */
const SELECTED: readonly (readonly [
  string,
  Parameters<typeof operator>[0],
  CacheDeclaration<ObjectOf<typeof ConfigMap>>,
  string[],
])[] = [
  ['namespaces of the operator', { name: 'x', namespaces: ['one'] }, {}, ['one']],
  ['namespaces of the kind', { name: 'x' }, { namespaces: ['one'] }, ['one']],
  ['namespaces of a kind that is read live', { name: 'x' }, { namespaces: ['one'], read: 'live' }, ['one']],
  ['labels', { name: 'x' }, { labels: 'ours' }, ['one']],
  ['labels of a kind that is read live', { name: 'x' }, { labels: 'ours', read: 'live' }, ['one']],
  ['fields', { name: 'x' }, { fields: 'metadata.namespace=one', read: 'live' }, ['one']],
  ['labels of each namespace', { name: 'x' }, { namespaces: { one: { labels: 'no' }, '*': {} } }, ['two']],
]

for (const [what, options, cached, expected] of SELECTED) {
  test(`keys of other sources reconcile what the operator selects by ${what}, and nothing else gets a finalizer`, async () => {
    for (const key of [false, true]) {
      const [runs, warnings]: [Set<string>, string[]] = [new Set(), []]
      const channel = new EventChannel<{ namespace: string; name: string }>()
      const app = operator(options).cache(ConfigMap, cached)
      const all = ['one', 'two'].map((namespace) => ({ namespace, name: 'x' }))
      const controller = app.controllerFor(ConfigMap)
        .watches(Namespace, ({ metadata }) => [{ namespace: metadata.name, name: 'x' }])
        .from('channel', () => channel)
        .every('10m', () => all)
        .finalize(async () => {}, { finalizer: 'example.dev/x' })
      // A key without an object is reconciled, too.
      if (key) {
        controller.reconcileKey(async (key, { client }) => {
          if (key.name === 'x' && await client.get(ConfigMap, key)) runs.add(key.namespace)
        })
      } else controller.reconcile(async ({ metadata }) => void (metadata.name === 'x' && runs.add(metadata.namespace)))
      const warn = (line: string): void => void warnings.push(line)
      await using w = await world(app, { log: { debug() {}, info() {}, warn, error: warn } })
      for (const { namespace } of all) {
        await w.client.create(Namespace, { metadata: { name: namespace } })
        const metadata = { namespace, name: 'x', ...(namespace === 'one' && { labels }) }
        await w.client.create(ConfigMap, { metadata })
      }
      for (const key of all) await channel.send(key)
      await w.settle()
      await w.advance('10m')
      const held = []
      for (const ref of all) {
        if ((await w.client.get(ConfigMap, ref))!.metadata.finalizers) held.push(ref.namespace)
      }
      const outside = what.startsWith('namespaces') ? 1 : 0
      assert.deepEqual([[...runs].sort(), held, warnings.length], [expected, expected, outside], warnings.join('\n'))
    }
  })
}

test('eventFilter applies to all watched kinds, in addition to their own when', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { eventFilter: ours, when: predicates.labelsChanged })
    .watches(Namespace, ({ metadata }) => [ref(`for ${metadata.name}`)])
    .reconcileKey(async ({ name }) => void runs.push(name))
  await using w = await world(app)
  await w.client.create(Namespace, { metadata: { name: 'theirs' } })
  await w.client.create(Namespace, { metadata: { name: 'ours', labels } })
  await w.client.create(ConfigMap, { metadata: ref('theirs') })
  await w.client.create(ConfigMap, { metadata: { ...ref('ours'), labels } })
  await w.settle()
  assert.deepEqual(runs.toSorted(), ['for ours', 'ours'])
  await w.client.patch(ConfigMap, ref('ours'), { merge: { data: { a: 'b' } } })
  await w.settle()
  assert.equal(runs.length, 2, 'its data is nothing to us')
  await w.client.patch(ConfigMap, ref('ours'), { merge: { metadata: { labels: { ours: null } } } })
  await w.settle()
  assert.deepEqual(runs.slice(2), ['ours'], 'one that leaves us is heard of once more')
})

test('a map function may return any promise-like; one object instead of a list is an error that is retried', async () => {
  const runs: string[] = []
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const app = operator({ name: 'x' })
  const thenable = { then: (resolve: (keys: unknown) => void) => resolve([ref('promised')]) }
  const returned: Readonly<Record<string, unknown>> = { promised: thenable, alone: ref('alone') }
  app.controllerFor(ConfigMap, { when: () => false })
    .watches(Namespace, ({ metadata: { name } }) => (returned[name] ?? []) as never)
    .reconcileKey(async ({ name }) => void runs.push(name))
  await using w = await world(app, { log: { debug: write, info: write, warn: write, error: write } })
  for (const name of Object.keys(returned)) await w.client.create(Namespace, { metadata: { name } })
  await w.settle()
  assert.deepEqual(runs, ['promised'])
  assert.ok(lines.some((line) => line.startsWith('Cannot map Namespace "alone" to keys: ')), lines.join('\n'))
})

test('a function of keys that returns a text, or texts, fails with what a key is', async () => {
  const texts = ['default/abc', ['default/abc'], Promise.resolve('default/abc'), Promise.resolve(['default/abc'])]
  for (const returned of texts as never[]) {
    const app = operator({ name: 'op' })
    app.controllerFor(ConfigMap).watches(Secret, () => returned).every('1m', () => returned).reconcile(async () => {})
    await using w = await world(app, { log: { debug() {}, info() {}, warn() {}, error() {} } })
    await w.client.create(Secret, { metadata: { namespace: 'default', name: 'a' } })
    await w.advance('1m')
    const failing = await w.settle()
    assert.deepEqual(
      failing.map(({ error }) => (error as Error).message),
      failing.map(() => 'Cannot name an object by the text "default/abc": write { namespace, name }'),
    )
    assert.equal(failing.length, 2)
  }
})

test('a reconcile or a cleanup that returns requeue is called again with back-off', async () => {
  const at: string[] = []
  const app = operator({ name: 'x' })
  const start = { ms: 0 }
  app.controllerFor(ConfigMap, { when: ours, backoff: { base: '1s', max: '3s' } })
    .finalize(async (_map, { attempt }) => {
      at.push(`cleanup ${w.clock.monotonic() - start.ms} #${attempt}`)
      return attempt < 3 ? { requeue: true } : undefined
    })
    .reconcile(async (_map, { attempt }) => {
      at.push(`${w.clock.monotonic() - start.ms} #${attempt}`)
      return attempt < 4 ? { requeue: true } : undefined
    })
  await using w = await world(app)
  start.ms = w.clock.monotonic()
  await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels } })
  await w.advance('20s')
  assert.deepEqual(at.splice(0), ['0 #1', '1000 #2', '3000 #3', '6000 #4'])
  start.ms = w.clock.monotonic()
  await w.client.delete(ConfigMap, ref('a'))
  await w.advance('2s')
  assert.deepEqual([at, (await w.client.get(ConfigMap, ref('a')))?.metadata.finalizers], [[
    'cleanup 0 #1',
    'cleanup 1000 #2',
  ], ['x/configmap']])
  await w.advance('1s')
  assert.deepEqual([at, await w.client.get(ConfigMap, ref('a'))], [[
    'cleanup 0 #1',
    'cleanup 1000 #2',
    'cleanup 3000 #3',
  ], undefined])
})

test('a key of a cluster-scoped kind has no namespace, whatever is mapped to it and however it is read', async () => {
  for (const read of [undefined, 'live'] as const) {
    const app = operator({ name: 'x' })
    if (read) app.cache(Namespace, { read })
    const runs: unknown[] = []
    app.controllerFor(Namespace, { concurrency: 2, when: ({ metadata }) => metadata.name === 'wide' })
      .watches(ConfigMap, ({ metadata }) => [metadata], { when: ours })
      .reconcile(async ({ metadata }, { key, client, sleep }) => {
        const found = await client.get(Namespace, { ...key, namespace: 'default' } as never)
        runs.push([metadata.name, key, found?.metadata.name])
        await sleep('1s')
        runs.push('done')
      })
    await using w = await world(app)
    await w.client.create(Namespace, { metadata: { name: 'wide' } })
    await w.client.create(ConfigMap, { metadata: { ...ref('wide'), labels } })
    await w.advance('5s')
    const run = [['wide', { name: 'wide' }, 'wide'], 'done']
    assert.deepEqual(runs, [...run, ...run], read ?? 'cached')
  }
})

test('a waiting replica with warmup opens no stream, and the next leader reconciles only what exists', async () => {
  for (const [step, gone] of [['object', []], ['key', ['gone', 'mapped']]] as const) {
    const app = operator({ name: 'x', leaderElection: { namespace: 'default' } })
    const runs: string[] = []
    let opened = 0
    let ticks = 0
    const builder = app.controllerFor(ConfigMap, { warmup: true, when: ours })
      .watches(Secret, ({ metadata }) => [metadata])
      .from('messages', () => (opened++, new EventChannel<{ namespace: string; name: string }>()))
      .every('1s', () => (ticks++, []))
    if (step === 'object') builder.reconcile(async ({ metadata }) => void runs.push(metadata.name))
    else builder.reconcileKey(async ({ name }) => void runs.push(name))
    await using w = await world(app, { replicas: 2 })
    await w.client.create(ConfigMap, { metadata: { ...ref('stays'), labels } })
    await w.client.create(ConfigMap, { metadata: { ...ref('gone'), labels } })
    await w.client.delete(ConfigMap, ref('gone'))
    // Its own object has long been deleted, but another object still maps to it.
    await w.client.create(Secret, { metadata: { ...ref('mapped'), labels } })
    await w.client.create(ConfigMap, { metadata: { ...ref('mapped'), labels } })
    await w.client.delete(ConfigMap, ref('mapped'))
    await w.advance('6m')
    await w.client.create(ConfigMap, { metadata: { ...ref('gone'), labels } })
    await w.client.delete(ConfigMap, ref('gone'))
    await w.advance('10s')
    assert.deepEqual([opened, ticks], [1, 370])
    runs.length = 0
    w.kill()
    await w.advance('30s')
    assert.deepEqual([runs.toSorted(), opened], [[...gone, 'stays'], 2], step)
  }
})
