/** Controllers that apply one object: refused before one removes the fields of another, or with managers of their own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, type ControllerOptions, type KubeObject, type Operator, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { untilAborted } from '../../lib/async/abort.ts'
import { failures, messages, ref, type Started, starting } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }

interface Applier extends Pick<ControllerOptions<KubeObject>, 'fieldManager' | 'everyReplica'> {
  /** What it applies in its next run. */
  data: Record<string, string>
}

/** Controllers that apply the config map `shared` whenever the config map of their own name changes. */
function appliers(of: Readonly<Record<string, Applier>>, { cached = true } = {}): Operator {
  const app = operator({ name: 'op' })
  for (const [name, applier] of Object.entries(of)) {
    const { data: _, ...options } = applier
    app.controllerFor(cached ? ConfigMap : Secret, { name, ...options, when: ({ metadata }) => metadata.name === name })
      .reconcile(async (_, { client }) => {
        await client.apply(ConfigMap, { metadata: ref('shared'), data: applier.data })
      })
  }
  return app
}

/** Runs one controller once. */
async function run(s: Started, name: string, kind: typeof ConfigMap = ConfigMap): Promise<void> {
  const found = await s.client.get(kind, ref(name))
  if (found) await s.client.patch(kind, ref(name), { merge: { metadata: { labels: { at: `${s.clock.now()}` } } } })
  else await s.client.create(kind, { metadata: ref(name) })
  await s.clock.advance(1)
}

const shared = async ({ client }: Pick<Started, 'client'>) => (await client.get(ConfigMap, ref('shared')))?.data ?? {}

for (const cached of [true, false]) {
  const kind = (cached ? ConfigMap : Secret) as typeof ConfigMap
  test(`${cached ? 'cached' : 'uncached'}: a controller that would remove the fields of another one is refused before that`, async () => {
    const of = { a: { data: { a: '1' } }, b: { data: { b: '1' } } }
    await using s = await starting(appliers(of, { cached }))
    await run(s, 'a', kind)
    await run(s, 'b', kind)
    assert.deepEqual(await shared(s), { a: '1' })
    assert.match(
      failures(s)[0]!,
      /^Cannot reconcile \w+ "default\/b": Cannot apply ConfigMap "default\/shared" by controller "b": it would remove data\.a, which controller "a" applied by the same field manager "op"; give one of them another fieldManager: app\.controllerFor\(Kind, \{ fieldManager: 'op-b' \}\) \(retry/,
    )
    // The first one goes on, also with other fields.
    of.a.data = { a: '2' }
    await run(s, 'a', kind)
    of.a.data = { c: '3' } as never
    await run(s, 'a', kind)
    assert.deepEqual(await shared(s), { c: '3' })
  })
}

test('a task that would remove the fields of a controller is refused before that', async () => {
  const of = { a: { data: { a: '1' } } }
  const app = appliers(of)
  const applying = Promise.withResolvers<void>()
  app.add('fill', async ({ client, signal }) => {
    await untilAborted(applying.promise, signal)
    await client.apply(ConfigMap, { metadata: ref('shared'), data: { task: '1' } })
  })
  await using s = await starting(app)
  await run(s, 'a')
  applying.resolve()
  await s.clock.advance(1)
  assert.deepEqual(await shared(s), { a: '1' })
  assert.match(
    messages(s, 'error').join('\n'),
    /Cannot apply ConfigMap "default\/shared" by task "fill": it would remove data\.a, which controller "a" applied by the same field manager "op"; give one of them another fieldManager: client\.apply\(Kind, object, \{ fieldManager: 'op-fill' \}\)/,
  )
})

test('controllers that state the same fields are not refused, and are judged once', async () => {
  const of = { a: { data: { x: '1' } }, b: { data: { x: '1' } } }
  await using s = await starting(appliers(of, { cached: false }))
  const live = (): number =>
    s.network.take().filter((line) => line.startsWith('GET ') && line.includes('/shared')).length
  live()
  for (const name of ['a', 'b', 'a', 'b']) await run(s, name, Secret as never)
  assert.equal(live(), 0)
  of.b.data = { x: '1', y: '2' } as never
  await run(s, 'b', Secret as never)
  await run(s, 'b', Secret as never)
  assert.equal(live(), 1)
  assert.deepEqual([await shared(s), failures(s)], [{ x: '1', y: '2' }, []])
  // The first one would remove what the second one has added.
  await run(s, 'a', Secret as never)
  assert.match(failures(s)[0]!, /it would remove data\.y, which controller "b" applied/)
  assert.deepEqual(await shared(s), { x: '1', y: '2' })
})

test('what another manager owns too, what is deleted, and what is in another cluster is not refused', async () => {
  const of = { a: { data: { a: '1' } }, b: { data: { b: '1' } } }
  const s = await starting(appliers(of))
  await run(s, 'a')
  await s.client.apply(ConfigMap, { metadata: ref('shared'), data: { a: '1' } }, { fieldManager: 'kubectl' })
  await run(s, 'b')
  assert.deepEqual([await shared(s), failures(s)], [{ a: '1', b: '1' }, []])
  await s.client.delete(ConfigMap, ref('shared'))
  await run(s, 'a')
  await s.client.delete(ConfigMap, ref('shared'))
  await s.clock.advance(1)
  s.network.take()
  await run(s, 'b')
  assert.deepEqual([await shared(s), failures(s)], [{ b: '1' }, []])
  assert.deepEqual(s.network.take().filter((line) => /^GET .*\/shared$/.test(line)), [], 'it is known to be deleted')
  await s.stop()

  const u = await starting(appliers(of, { cached: false }))
  await run(u, 'a', Secret as never)
  await u.client.delete(ConfigMap, ref('shared'))
  await run(u, 'b', Secret as never)
  assert.deepEqual([await shared(u), failures(u)], [{ b: '1' }, []])
  await u.stop()

  const app = operator({ name: 'op' })
  const west = app.cluster('west', nowhere)
  for (const name of ['a', 'b']) {
    app.controllerFor(ConfigMap, { name, when: ({ metadata }) => metadata.name === name })
      .reconcile(async (_, { client, clientOf }) => {
        await (name === 'a' ? client : clientOf(west)).apply(ConfigMap, {
          metadata: ref('shared'),
          data: { [name]: '' },
        })
      })
  }
  await using t = await starting(app)
  await run(t, 'a')
  await run(t, 'b')
  assert.deepEqual(failures(t), [])
})

test('with a field manager of its own, a controller keeps its fields; all its writes have that manager', async () => {
  const app = appliers({ a: { data: { a: '1' } }, b: { data: { b: '1' }, fieldManager: 'op-b' } })
  app.controllerFor(Secret, { name: 'writer', fieldManager: 'op writer' }).finalize(async () => {})
    .reconcile(async (secret, { client }) => {
      await client.createOrUpdate(ConfigMap, ref('made'), (map) => void (map.data = { at: secret.metadata.uid }))
      await client.patch(Secret, secret, { merge: { metadata: { labels: { done: '' } } } })
      await client.apply(ConfigMap, { metadata: ref('other') }, { fieldManager: 'stated' })
    })
  await using s = await starting(app)
  for (const name of ['a', 'b', 'a', 'b']) await run(s, name)
  assert.deepEqual([await shared(s), failures(s)], [{ a: '1', b: '1' }, []])
  s.network.take()
  const from = s.network.requests.length
  await s.client.create(Secret, { metadata: ref('x') })
  await s.clock.advance(1000)
  const managers = s.network.requests.slice(from).filter(({ method }) => method !== 'GET').map(({ path }) =>
    new URLSearchParams(path.split('?')[1]).get('fieldManager')
  )
  assert.deepEqual([...new Set(managers)].toSorted(), ['op writer', 'stated'])
})

test('an upgrade to a field manager, and the way back: what is dropped stays until the old manager lets it go', async () => {
  const server = new ApiServer()
  const start = (own: Applier): Promise<Started> => starting(appliers({ a: own }), { server })
  const release = async (own: Applier, then: (client: Client) => Promise<unknown> = async () => {}) => {
    const s = await start(own)
    await run(s, 'a')
    await then(s.client)
    await s.stop()
    return await shared(s)
  }
  assert.deepEqual(await release({ data: { x: '1', y: '1' } }), { x: '1', y: '1' })
  // The new manager owns both beside the old one, so a field that it drops stays.
  assert.deepEqual(await release({ data: { x: '1', y: '1' }, fieldManager: 'op-a' }), { x: '1', y: '1' })
  assert.deepEqual(await release({ data: { x: '1' }, fieldManager: 'op-a' }), { x: '1', y: '1' })
  // The step of the page: an apply without fields by the old manager.
  const empty = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('shared') }
  const letGo = (client: Client) => client.apply(ConfigMap, empty, { fieldManager: 'op' })
  assert.deepEqual(await release({ data: { x: '1' }, fieldManager: 'op-a' }, letGo), { x: '1' })
  // Back: the release without the option owns its fields beside the new manager, and is not refused.
  assert.deepEqual(await release({ data: { x: '2', z: '1' } }), { x: '2', z: '1' })
})

test('a dry run is neither refused nor remembered', async () => {
  const app = operator({ name: 'op' })
  for (const name of ['a', 'b']) {
    app.controllerFor(ConfigMap, { name, when: ({ metadata }) => metadata.name === name })
      .reconcile(async (_, { client }) => {
        const dryRun = name === 'b'
        await client.apply(ConfigMap, { metadata: ref('shared'), data: { [name]: '1' } }, { dryRun })
      })
  }
  await using s = await starting(app)
  for (const name of ['b', 'a', 'b', 'a']) await run(s, name)
  assert.deepEqual([await shared(s), failures(s)], [{ a: '1' }, []])
})

test('the name of a field manager is checked', () => {
  const app = operator({ name: 'op' })
  for (const fieldManager of ['', 'a\nb', 'a\u2028', 'ä'.repeat(65)]) {
    assert.throws(
      () => app.controllerFor(ConfigMap, { fieldManager }),
      /^TypeError: Cannot control ConfigMap: its fieldManager is "[^]*", and must be 1 to 128 bytes of printable text/,
    )
  }
  for (const fieldManager of ['a b', 'ä'.repeat(64)]) app.controllerFor(ConfigMap, { fieldManager })
})
