/** The cache options of an operator: for all kinds, for one kind, and by namespace. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { defineIndex, type Operator, operator } from 'kubeloop'
import { ConfigMap, Deployment, Job, Lease, Namespace, Node, Pod, Secret, Service } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'

const ref = (name: string, namespace = 'default') => ({ namespace, name })
const nowhere = { server: 'https://127.0.0.1:1' }

/** Returns the ConfigMaps and Secrets that a reconcile reads, in the operator's own cluster and in west. */
async function seen(app: Operator, west?: { name: string }) {
  let [maps, secrets, far, data]: [string[], string[], string[], unknown] = [[], [], [], undefined]
  const runs = new Set<string>()
  const namesOf = (objects: readonly { metadata: { namespace?: string; name: string } }[]): string[] =>
    objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).filter((each) =>
      !each.endsWith('kube-root-ca.crt')
    ).toSorted()
  app.controllerFor(ConfigMap).owns(Secret).reconcile(async (map, { client, clientOf }) => {
    runs.add(map.metadata.name)
    maps = namesOf(await client.list(ConfigMap))
    secrets = namesOf(await client.list(Secret))
    if (west) far = namesOf(await clientOf(west).list(Secret))
    data = (await client.get(ConfigMap, ref('kept', 'prod')))?.data
  })
  await using w = await world(app)
  for (const name of ['prod', 'tools']) {
    for (const client of [w.client, ...(west ? [w.clientOf(west)] : [])]) {
      await client.create(Namespace, { metadata: { name } })
    }
  }
  for (const namespace of ['kube-system', 'prod', 'tools']) {
    for (const [name, labels] of [['kept', { keep: 'yes' }], ['other', { keep: 'no' }]] as const) {
      await w.client.create(Secret, { metadata: { ...ref(name, namespace), labels } })
      if (west) await w.clientOf(west).create(Secret, { metadata: { ...ref(name, namespace), labels } })
      await w.client.create(ConfigMap, { metadata: { ...ref(name, namespace), labels }, data: { n: '1' } })
    }
  }
  await w.settle()
  runs.delete('kube-root-ca.crt')
  return { maps, secrets, far, runs: [...runs].toSorted(), data }
}

test('the cache options of all kinds apply to each watched kind, in every cluster', async () => {
  const app = operator({
    name: 'x',
    cache: { labels: 'keep=yes', strip: (draft) => void delete (draft as { data?: unknown }).data },
  })
  const west = app.cluster('west', nowhere)
  app.cache(Secret, { cluster: west })
  const kept = ['kube-system/kept', 'prod/kept', 'tools/kept']
  assert.deepEqual(await seen(app, west), { maps: kept, secrets: kept, far: kept, runs: ['kept'], data: undefined })
})

test('each option of a kind overrides that of all kinds', async () => {
  const app = operator({
    name: 'x',
    cache: { labels: 'keep=yes', strip: (draft) => void delete (draft as { data?: unknown }).data },
  })
  app.cache(ConfigMap, { strip: () => {} }).cache(Secret, { labels: 'keep=no' })
  const { maps, secrets, data } = await seen(app)
  assert.deepEqual(
    [maps, secrets, data],
    [['kube-system/kept', 'prod/kept', 'tools/kept'], ['kube-system/other', 'prod/other', 'tools/other'], { n: '1' }],
  )
})

test('a namespace has its own selection, and * is all others, on the server, too', async () => {
  const app = operator({ name: 'x' }).cache(Secret, { namespaces: { 'kube-system': { labels: 'keep=yes' }, prod: {} } })
  app.cache(ConfigMap, { labels: 'keep=no', namespaces: { prod: { labels: 'keep=yes' }, '*': {} } })
  const { maps, secrets, data } = await seen(app)
  assert.deepEqual(
    [maps, secrets, data],
    [['kube-system/other', 'prod/kept', 'tools/other'], ['kube-system/kept', 'prod/kept', 'prod/other'], { n: '1' }],
  )
})

test('the namespaces of all kinds may have selections', async () => {
  const app = operator({ name: 'x', cache: { namespaces: { tools: {}, '*': { labels: 'keep=yes' } } } })
  const { maps, secrets } = await seen(app)
  const kept = ['kube-system/kept', 'prod/kept', 'tools/kept', 'tools/other']
  assert.deepEqual([maps, secrets], [kept, kept])
})

const at = /\(.*tests\/operator\/cache\.test\.ts:\d+:\d+\)$/

/** Asserts a TypeError whose message ends with the place of the declaration. */
function refused(declare: () => unknown, why: RegExp): void {
  assert.throws(declare, (error) => error instanceof TypeError && why.test(error.message) && at.test(error.message))
}

test('contradictions are refused with the place of the declaration', () => {
  const app = operator({ name: 'x' })
  refused(
    () => app.cache(Namespace, { namespaces: ['a'] }),
    /Cannot cache namespaces in namespaces: it is cluster-scoped/,
  )
  refused(() => app.cache(Secret, { namespaces: { '': {}, '*': {} } }), /both mean all other namespaces/)
  refused(() => app.cache(Secret, { labels: 'a in b' }), /a in b/)
  refused(() => app.cache(Secret, { namespaces: { a: { labels: 'a in b' } } }), /a in b/)
  app.cache(Secret, { labels: 'a' })
  refused(
    () => app.cache(Secret, { labels: 'b' }),
    /Cannot cache secrets twice: it was declared with labels "a" \(.*cache\.test\.ts:\d+:\d+\), now with labels "b"; declare it once/,
  )
  refused(
    () => operator({ name: 'x', namespaces: ['a'], cache: { namespaces: ['b'] } }),
    /two lists of namespaces: give namespaces or cache\.namespaces/,
  )
  refused(
    () => operator({ name: 'x', cache: { namespaces: { 'a/b': {} } } }),
    /Cannot cache all kinds in the namespace "a\/b"/,
  )
  refused(() => operator({ name: 'x', cache: { labels: '=' } }), /=/)
})

test('a kind may be declared twice with equal options, and with others in another cluster', () => {
  const app = operator({ name: 'x', namespaces: ['a'], cache: { labels: 'x' } })
  const west = app.cluster('west', nowhere)
  app.cache(Secret, { labels: 'a' }).cache(Secret, { labels: 'a' }).cache(Secret).cache(Secret, {
    labels: 'b',
    cluster: west,
  })
  refused(() => app.cache(Secret, { labels: 'c', cluster: west }), /declared with labels "b"/)
  assert.equal(app.description.caches.length, 4, 'what is refused is not declared')
})

test('a lookup without a watch is logged once for all runs of a cluster, and an outage five times for all kinds', async () => {
  const app = operator({ name: 'x' })
  const byType = defineIndex(Secret, ({ type }) => type)
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap).reconcile(async (_, { client, clientOf }) => {
    await client.lookup(byType, 'Opaque')
    await clientOf(west).lookup(byType, 'Opaque')
  })
  app.cache(Pod).cache(Deployment).cache(Service).cache(Node).cache(Job).cache(Lease)
  const warned: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (line: string) => void warned.push(line) }
  await using w = await world(app, { log })
  for (const name of ['a', 'b', 'c']) await w.client.create(ConfigMap, { metadata: ref(name) })
  await w.settle()
  assert.deepEqual(warned.splice(0).map((line) => /^Each lookup in an index of secrets/.test(line)), [true, true])
  const isBack = new AbortController()
  w.fault({ cluster: null, status: 503, times: Infinity, until: isBack.signal })
  w.closeWatches()
  await w.advance('50s')
  isBack.abort()
  await w.advance('1m')
  assert.equal(warned.filter((line) => line.includes('Cannot ')).length, 5, warned.join('\n'))
})

test('a compact kind is kept as bytes in each cluster, with its selection, and its reads are those of any other', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  const members = app.clusters('members', async function* ({ signal }) {
    yield { add: 'a', config: nowhere }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const found: Record<string, object> = {}
  const watch = (name: string, kept: object, of = kept): void => {
    app.cache(ConfigMap, {
      ...kept,
      compact: true,
      labels: 'keep=yes',
      strip: (draft) => void delete draft.metadata.annotations,
    })
    const isChange = (now: { readonly data?: object }, before: { readonly data?: object } | undefined): boolean =>
      isDeepStrictEqual([before?.data, now.data], [{ n: '1' }, { n: '2' }])
    app.controllerFor(ConfigMap, { name, ...of, when: isChange }).reconcile(async ({ metadata }, context) => {
      const client = name === 'west' ? context.clientOf(west) : context.client
      const again = await client.get(ConfigMap, metadata)
      const [one, other] = [await client.list(ConfigMap), await client.list(ConfigMap)]
      assert.deepEqual(one, other)
      assert.ok(Object.isFrozen(again?.data) && !again?.metadata.annotations)
      found[name] = { isMade: one.some((each, at) => each !== other[at]), objects: one.length, data: again?.data }
    })
  }
  watch('own', {})
  watch('west', { cluster: west })
  watch('members', { cluster: members }, { clusters: members })
  await using w = await world(app)
  for (const client of [w.client, w.clientOf(west), w.clientOf({ name: 'a' })]) {
    for (let at = 0; at < 100; at++) {
      const metadata = { ...ref(`m${at}`), labels: { keep: at < 90 ? 'yes' : 'no' }, annotations: { a: 'b' } }
      await client.create(ConfigMap, { metadata, data: { n: '1' } })
    }
    await w.settle()
    await client.apply(ConfigMap, { metadata: ref('m7'), data: { n: '2' } }, { force: true })
  }
  await w.settle()
  const expected = { isMade: true, objects: 90, data: { n: '2' } }
  assert.deepEqual(found, { own: expected, west: expected, members: expected })
})
