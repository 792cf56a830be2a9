/** `finalize` in an operator file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KubeObject, metadataOf, operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'

const ref = (name: string) => ({ namespace: 'default', name })

async function finalizersOf({ client }: World, name: string): Promise<readonly string[] | undefined> {
  const map = await client.get(ConfigMap, ref(name))
  return map && (map.metadata.finalizers ?? [])
}

test('a line about a failed cleanup names the finalizer, one about a failed reconcile does not', async () => {
  const lines: string[] = []
  const error = (line: string): void => void lines.push(line)
  const app = operator({ name: 'shop' })
  app.controllerFor(ConfigMap, { name: 'things', when: ({ metadata }) => metadata.name === 'a' })
    .finalize(async () => {
      throw new Error('the bucket is not empty')
    })
    .reconcile(async () => {
      throw new Error('no data')
    })
  await using w = await world(app, { log: { debug() {}, info() {}, warn() {}, error } })
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  const starts = [...new Set(lines.map((line) => line.replace(/ \(retry .*/, '')))]
  assert.deepEqual(starts, [
    'Cannot reconcile ConfigMap "default/a": no data',
    'Cannot clean up ConfigMap "default/a" for its finalizer "shop/things": the bucket is not empty',
  ])
})

test('in a foreground or orphaning deletion an object is not reconciled: its dependents go first, or stay without it', async () => {
  const app = operator({ name: 'shop' })
  const told: string[] = []
  const seen = ({ metadata }: KubeObject, by: string): void =>
    void told.push(`${by} ${metadata.name}${metadata.deletionTimestamp ? ', deleted' : ''}`)
  const when = ({ metadata }: KubeObject): boolean => metadata.namespace === 'default' && metadata.name === 'a'
  app.controllerFor(ConfigMap, { name: 'objects', when }).owns(Secret).reconcile(async (map, { client }) => {
    seen(map, 'object')
    await client.apply(Secret, { metadata: { name: 'of-a' } }, { owner: map })
  })
  app.controllerFor(ConfigMap, { name: 'keys', when }).reconcileKey(async (key, { client }) => {
    const map = await client.get(ConfigMap, key as { namespace: string; name: string })
    if (map) seen(map, 'key')
  })
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  told.length = 0
  // A manifest may have the finalizer, too.
  await w.client.edit(ConfigMap, ref('a'), ({ metadata }) => void (metadata.finalizers = ['foregroundDeletion']))
  await w.settle()
  assert.deepEqual(told.splice(0).sort(), ['key a', 'object a'])
  // Held by another finalizer, it is deleted in the background: what it has may still be needed.
  await w.client.edit(ConfigMap, ref('a'), ({ metadata }) => void (metadata.finalizers = ['other.dev/x']))
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual(told.filter((each) => each.endsWith('deleted')).sort(), ['key a, deleted', 'object a, deleted'])
  await w.client.edit(ConfigMap, ref('a'), ({ metadata }) => void (metadata.finalizers = []))
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  told.length = 0
  await w.client.delete(ConfigMap, ref('a'), { propagation: 'Foreground' })
  await w.settle()
  assert.deepEqual([...new Set(told)], ['key a, deleted'])
  assert.deepEqual([await finalizersOf(w, 'a'), await w.client.get(Secret, ref('of-a'))], [undefined, undefined])
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  told.length = 0
  await w.client.delete(ConfigMap, ref('a'), { propagation: 'Orphan' })
  await w.settle()
  assert.deepEqual([...new Set(told)], ['key a, deleted'])
  const orphan = await w.client.get(Secret, ref('of-a'))
  assert.deepEqual([await finalizersOf(w, 'a'), orphan?.metadata.ownerReferences ?? []], [undefined, []])
  assert.ok(orphan)
})

test('a finalizer with a given name, and one for each controller of a kind', async () => {
  const order: string[] = []
  const app = operator({ name: 'shop' })
  app.controllerFor(ConfigMap, { name: 'one', when: ({ metadata }) => metadata.name === 'a' })
    .finalize(async () => void order.push('one'), { finalizer: 'example.dev/first' })
    .reconcile(async () => {})
  app.controllerFor(ConfigMap, { name: 'two', when: ({ metadata }) => metadata.name === 'a' })
    .finalize(async () => void order.push('two'))
    .reconcile(async () => {})
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  assert.deepEqual((await finalizersOf(w, 'a'))?.toSorted(), ['example.dev/first', 'shop/two'])
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual([order.toSorted(), await finalizersOf(w, 'a')], [['one', 'two'], undefined])
})

test('reconcileKey with finalize is called for existing and for gone objects, not during a deletion', async () => {
  const told: string[] = []
  let isReady = false
  const app = operator({ name: 'shop' })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' })
    .finalize(async () => {
      told.push('cleanup')
      return isReady ? undefined : { requeueAfter: '1s' }
    })
    .reconcileKey(async ({ name }, { client }) =>
      void told.push(`${name} ${(await client.live.get(ConfigMap, ref(name))) ? 'lives' : 'is gone'}`)
    )
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  assert.deepEqual([...new Set(told.splice(0))], ['a lives'])
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual(told.splice(0), ['cleanup'])
  isReady = true
  await w.advance('1s')
  assert.deepEqual(told, ['cleanup', 'a is gone'])
})

for (const [what, kind] of [['stripped', ConfigMap], ['read as metadata', metadataOf(ConfigMap)]] as const) {
  test(`a change of an object that is ${what} is reconciled, also if a list shows it together with the finalizer`, async () => {
    const told: (string | undefined)[] = []
    const app = operator({ name: 'shop' })
    if (kind === ConfigMap) app.cache(ConfigMap, { strip: (map) => void delete (map as { data?: unknown }).data })
    app.controllerFor<KubeObject>(kind, { when: ({ metadata }) => metadata.name === 'a' })
      .finalize(async () => {})
      .reconcile(async (_, { client }) => void told.push((await client.live.get(ConfigMap, ref('a')))?.data?.['x']))
    await using w = await world(app)
    w.fault({ verb: 'patch', resource: ConfigMap, delay: '1s' })
    await w.client.create(ConfigMap, { metadata: ref('a'), data: { x: 'one' } })
    await w.advance('500ms')
    const down = new AbortController()
    w.fault({ verb: 'watch', resource: ConfigMap, status: 503, times: Infinity, until: down.signal })
    await w.advance('2s')
    assert.deepEqual(told, ['one'])
    await w.client.patch(ConfigMap, ref('a'), { merge: { data: { x: 'two' } } })
    w.compact()
    down.abort()
    await w.advance('1m')
    assert.deepEqual(told, ['one', 'two'])
  })
}

test('after a conflict, the object is read as its own namespace selects it', async () => {
  const app = operator({ name: 'shop' })
  app.cache(ConfigMap, { namespaces: { one: { labels: 'team=a' }, default: {} } })
  const told: string[] = []
  app.controllerFor(ConfigMap).finalize(async () => {}).reconcile(async ({ metadata }) => void told.push(metadata.name))
  await using w = await world(app)
  w.fault({ verb: 'patch', resource: ConfigMap, status: 409 })
  await w.client.create(ConfigMap, { metadata: ref('a') })
  await w.settle()
  assert.deepEqual(told, ['a'])
})

test('invalid options are refused at once', async () => {
  const app = operator({ name: 'shop' })
  const builder = app.controllerFor(ConfigMap).finalize(async () => {})
  assert.throws(
    () => builder.finalize(async () => {}),
    /Cannot finalize ConfigMap: its controller has a cleanup already/,
  )
  for (const finalizer of ['cleanup', 'my cleanup', 'example.dev/', 'Example.dev/a']) {
    assert.throws(
      () => app.controllerFor(Secret).finalize(async () => {}, { finalizer }),
      /Cannot finalize Secret by ".*": a finalizer is a domain and a name/,
    )
  }
  // @ts-expect-error a misspelt result would complete the cleanup
  app.controllerFor(Secret).finalize(async () => ({ requeueAfterMs: 5 }))
  const twice = operator({ name: 'shop' })
  for (const name of ['one', 'two']) {
    twice.controllerFor(ConfigMap, { name }).finalize(async () => {}, { finalizer: 'a.dev/b' }).reconcile(
      async () => {},
    )
  }
  await assert.rejects(
    world(twice),
    /two controllers for ConfigMap have the finalizer "a\.dev\/b" \(.*finalize\.test\.ts:\d+:\d+\); give one of them another \(.*finalize\.test\.ts:\d+:\d+\)$/,
  )
})
