import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { isReason } from '../../lib/core/errors.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import type { HttpRequest, Transport } from '../../lib/core/transport.ts'
import type { CacheOptions } from '../../lib/cache/cache_options.ts'
import { ClusterRole, ConfigMap, Deployment, Namespace, Pod, ServiceAccount } from '../../lib/kinds/mod.ts'
import { Cluster, type ClusterOptions } from '../../lib/manager/cluster.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { delayedWatches } from './delayed_watch.ts'

const never = new AbortController().signal
const A = { namespace: 'default', name: 'a' }
const map = (value: string, more: object = {}) => ({ metadata: { ...A, ...more }, data: { value } })
const LAG_MS = 2000

/**
 * A cluster that caches config maps and deployments with a watch that is two seconds late; `others` is another client.
 */
async function lagging(
  options: CacheOptions = {},
  more: Partial<ClusterOptions> = {},
  declare: (cluster: Cluster) => void = () => {},
) {
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await nextTurn()
  }
  const clock = new FakeClock({ settle })
  const server = new ApiServer({ clock })
  const requests: HttpRequest[] = []
  const counted: Transport = (request) => (requests.push(request), server.handle(request))
  const cluster = new Cluster({
    name: 'test',
    transport: delayedWatches(counted, clock, LAG_MS),
    clock,
    random: () => 0,
    freeze: true,
    ...more,
  })
  cluster.cache.declare(ConfigMap, options)
  cluster.cache.declare(Deployment)
  declare(cluster)
  const received: string[] = []
  for (const informer of cluster.cache.informersOf(ConfigMap)!) {
    informer.addHandler((delta) => {
      if (delta.object.metadata.name === 'kube-root-ca.crt') return
      const value = (object: KubeObject): string => `${(object as { data?: { value?: string } }).data?.value}`
      received.push(
        delta.kind === 'updated'
          ? `${value(delta.old)}→${value(delta.object)}`
          : `${delta.kind} ${value(delta.object)}`,
      )
    })
  }
  const stop = new AbortController()
  const running = cluster.start(stop.signal)
  await clock.advance(LAG_MS + 100)
  await cluster.ready(never)
  requests.length = 0
  return {
    clock,
    cluster,
    client: cluster.client,
    received,
    requests,
    others: new Cluster({ name: 'others', transport: server.handle, clock, random: () => 0 }).client,
    value: async () => (await cluster.client.get(ConfigMap, A))?.data?.['value'],
    names: async (labels?: string) => {
      const listed = await cluster.client.list(ConfigMap, { namespace: 'default', ...(labels ? { labels } : {}) })
      return listed.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt')
    },
    /** Resolves when the watch has delivered everything. */
    catchUp: () => clock.advance(LAG_MS + 100),
    isCaughtUp: () => [...cluster.cache.informers()].every((informer) => informer.reader === informer.store),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
    },
  }
}

test('own creates, changes and deletes are read at once; handlers get them only from the watch, in order', async () => {
  await using w = await lagging()
  await w.client.create(ConfigMap, map('1'))
  assert.equal(await w.value(), '1')
  await w.client.edit(ConfigMap, A, (draft) => void (draft.data = { value: '2' }))
  assert.equal(await w.value(), '2')
  await w.client.patch(ConfigMap, A, { merge: { data: { value: '3' } } })
  assert.equal(await w.value(), '3')
  const written = (await w.client.get(ConfigMap, A))!
  await w.client.update(ConfigMap, { ...written, data: { value: '4' } })
  assert.deepEqual([await w.value(), await w.names()], ['4', ['a']])
  await w.client.delete(ConfigMap, A)
  assert.deepEqual([await w.value(), await w.names()], [undefined, []])
  await w.client.apply(ConfigMap, map('5'))
  assert.equal(await w.value(), '5')
  assert.deepEqual(w.received, [])
  assert.equal(w.requests.filter(({ method }) => method === 'GET').length, 0, "all reads were the cache's")
  await w.catchUp()
  assert.deepEqual(w.received, ['added 1', '1→2', '2→3', '3→4', 'deleted 4', 'added 5'])
  assert.deepEqual([await w.value(), w.isCaughtUp()], ['5', true])
})

test('cached reads are never older than what was read from the server before, also for a write that was not needed', async () => {
  await using w = await lagging()
  await w.others.create(ConfigMap, map('1'))
  const { result } = await w.client.createOrUpdate(ConfigMap, A, (draft) => void (draft.data = { value: '1' }))
  assert.deepEqual([result, await w.value(), await w.names()], ['unchanged', '1', ['a']])
  await w.others.patch(ConfigMap, A, { merge: { data: { value: '2' } } })
  await w.client.live.get(ConfigMap, A)
  assert.deepEqual([await w.value(), w.received], ['2', []])
  await w.others.patch(ConfigMap, A, { merge: { data: { value: '3' } } })
  await w.client.live.get(metadataOf(ConfigMap), A)
  assert.equal(await w.value(), '3', 'the metadata alone is not taken for the object')
  await w.catchUp()
  assert.deepEqual([await w.value(), w.isCaughtUp(), w.received], ['3', true, ['added 1', '1→2', '2→3']])
})

test('the answer of a dry run is not shown', async () => {
  await using w = await lagging()
  await w.client.create(ConfigMap, map('1'), { dryRun: true })
  assert.equal(await w.value(), undefined)
  await w.client.create(ConfigMap, map('1'))
  await w.client.patch(ConfigMap, A, { merge: { data: { value: '2' } } }, { dryRun: true })
  await w.client.apply(ConfigMap, map('3'), { dryRun: true })
  assert.equal(await w.value(), '1')
})

test('a refused write changes no reads', async () => {
  await using w = await lagging()
  const first = await w.client.create(ConfigMap, map('1'))
  await w.others.patch(ConfigMap, A, { merge: { data: { value: 'theirs' } } })
  await assert.rejects(
    w.client.update(ConfigMap, { ...first, data: { value: '2' } }),
    (error) => isReason(error, 'Conflict'),
  )
  assert.equal(await w.value(), '1')
})

test('own writes are stripped and frozen like objects of the watch; the answer itself is not', async () => {
  await using w = await lagging({ strip: (object) => void delete (object as { data?: unknown }).data })
  const answer = await w.client.create(ConfigMap, map('1'))
  assert.equal(answer.data?.['value'], '1')
  const read = (await w.client.get(ConfigMap, A))!
  assert.deepEqual(
    [read.data, 'managedFields' in read.metadata, Object.isFrozen(read), Object.isFrozen(read.metadata)],
    [undefined, false, true, true],
  )
  await w.catchUp()
  assert.deepEqual(await w.client.get(ConfigMap, A), read)
})

test('an own write is shown if a field selector by name and namespace matches, and never with other fields', async () => {
  await using named = await lagging({ fields: 'metadata.name=a,metadata.namespace!=kube-system' })
  await named.client.create(ConfigMap, map('1'))
  await named.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'b', labels: { of: 'b' } } })
  assert.deepEqual(await named.names(), ['a'])
  await named.client.deleteAll(ConfigMap, { namespace: 'default', labels: 'of=b' })
  named.requests.length = 0
  assert.deepEqual([await named.names(), named.requests.length], [['a'], 0])

  const pods = async (w: Awaited<ReturnType<typeof lagging>>) =>
    [await w.client.list(Pod), await w.client.list(Pod, { namespace: 'default' })].map((found) =>
      found.map(({ metadata }) => metadata.name).join()
    )
  await using w = await lagging({}, {}, ({ cache }) => void cache.declare(Pod, { fields: 'spec.nodeName=a' }))
  const on = (name: string, nodeName?: string) => ({
    metadata: { namespace: 'default', name },
    spec: { ...(nodeName && { nodeName }), containers: [{ name: 'c', image: 'i' }] },
  })
  await w.client.create(Pod, on('a', 'a'))
  await w.client.create(Pod, on('b', 'b'))
  await w.client.create(Pod, { ...on('a', 'a'), metadata: { namespace: 'default', generateName: 'c-' } })
  assert.match((await pods(w)).join(), /^a,c-\w+,a,c-\w+$/, 'its server decides')
  await w.client.patch(Pod, A, { merge: { metadata: { labels: { at: '1' } } } })
  assert.deepEqual((await w.client.get(Pod, A))?.metadata.labels, { at: '1' })
  assert.match(w.requests.at(-1)!.path, /^\/api\/v1\/namespaces\/default\/pods\?fieldSelector=metadata.name%3Da%2Cspec/)
  await w.client.delete(Pod, A, { gracePeriodSeconds: 0 })
  assert.equal(await w.client.get(Pod, A), undefined)
  await w.catchUp()
  w.requests.length = 0
  assert.match((await pods(w)).join(), /^c-\w+,c-\w+$/)
  assert.deepEqual([w.requests.length, await w.client.get(Pod, { namespace: 'default', name: 'b' })], [0, undefined])
})

const DEPLOYMENT = {
  metadata: A,
  spec: {
    selector: { matchLabels: { app: 'x' } },
    replicas: 3,
    template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
}

test('a scale is read back by get, list and lookup, with one request, and an apply after it is sent', async () => {
  const byReplicas = defineIndex(Deployment, ({ spec }) => String(spec?.replicas))
  for (const read of ['get', 'list', 'lookup', 'apply'] as const) {
    await using w = await lagging()
    await w.client.apply(Deployment, DEPLOYMENT)
    await w.catchUp()
    await w.client.subresource(Deployment, A, 'scale').patch({ merge: { spec: { replicas: 7 } } })
    w.requests.length = 0
    const found = {
      get: async () => [(await w.client.get(Deployment, A))!],
      list: () => w.client.list(Deployment),
      lookup: () => w.client.lookup(byReplicas, '7'),
      apply: async () => [await w.client.apply(Deployment, DEPLOYMENT)],
    }
    assert.deepEqual((await found[read]()).map(({ spec }) => spec!.replicas), [read === 'apply' ? 3 : 7])
    assert.ok(!('managedFields' in (await w.client.get(Deployment, A))!.metadata), 'it is stored as others are')
    assert.equal(w.requests.length, read === 'apply' ? 2 : 1)
    assert.equal((await w.client.get(Deployment, A))!.spec!.replicas, read === 'apply' ? 3 : 7)
    assert.equal(w.requests.length, read === 'apply' ? 2 : 1, 'it is read once')
    await w.catchUp()
    assert.deepEqual([w.isCaughtUp(), (await w.client.get(Deployment, A))!.spec!.replicas], [
      true,
      read === 'apply' ? 3 : 7,
    ])
  }
})

test('an evicted pod is read back, and the metadata of a kind, and nothing is read after a token, a dry run or for others', async () => {
  await using w = await lagging({}, {}, ({ cache }) => {
    for (const kind of [Pod, metadataOf(Pod), ServiceAccount]) cache.declare(kind)
  })
  for (const name of ['a', 'b']) {
    await w.client.create(Pod, {
      metadata: { ...A, name },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    })
  }
  await w.client.create(ServiceAccount, { metadata: A })
  await w.catchUp()
  const deleted = async (kind: typeof Pod) =>
    (await w.client.list(kind, { namespace: 'default' })).filter(({ metadata }) => metadata.deletionTimestamp).map((
      { metadata },
    ) => metadata.name)
  await w.client.subresource(Pod, A, 'eviction').create({}, { dryRun: true })
  await w.client.subresource(ServiceAccount, A, 'token').create({ spec: { audiences: ['a'] } })
  w.requests.length = 0
  await w.client.get(ServiceAccount, A)
  assert.deepEqual([await deleted(Pod), w.requests.length], [[], 0])
  await w.client.subresource(Pod, A, 'eviction').create({})
  w.requests.length = 0
  await w.client.get(Pod, { ...A, name: 'b' })
  assert.equal((await w.client.list(Pod, { namespace: 'other' })).length + w.requests.length, 0)
  assert.deepEqual([await deleted(Pod), await deleted(metadataOf(Pod) as typeof Pod)], [['a'], ['a']])
  assert.equal(w.requests.length, 2)
})

for (
  const [options, many] of [[{}, 3], [{}, 40], [{ labels: 'app=x' }, 3], [{ namespaces: ['default'] }, 40]] as const
) {
  test(`what deleteAll deleted is not read, nor what stays hidden: ${many} objects in a cache of ${JSON.stringify(options)}`, async () => {
    await using w = await lagging(options)
    const labels = { app: 'x' }
    for (let n = 0; n < many; n++) {
      await w.client.create(ConfigMap, { metadata: { namespace: 'default', name: `m-${n}`, labels } })
      if (n === many / 2) await w.catchUp()
    }
    await w.client.create(ConfigMap, map('1', { labels, finalizers: ['example.dev/f'] }))
    await w.client.create(ConfigMap, {
      metadata: { namespace: 'default', name: 'other', labels: { app: 'x', of: 'b' } },
    })
    await w.client.deleteAll(ConfigMap, { namespace: 'default', labels: 'app=x,!of', dryRun: true })
    w.requests.length = 0
    assert.deepEqual([(await w.names()).length, w.requests.length], [many + 2, 0])
    await w.client.deleteAll(ConfigMap, { namespace: 'default', labels: 'app=x,!of' })
    assert.deepEqual((await w.names()).sort(), ['a', 'other'])
    assert.ok((await w.client.get(ConfigMap, A))!.metadata.deletionTimestamp)
    assert.equal(w.requests.length, 1 + (many > 8 ? 1 : many + 1))
    await w.catchUp()
    assert.deepEqual([(await w.names()).sort(), w.isCaughtUp()], [['a', 'other'], true])
    assert.equal(w.requests.length, 1 + (many > 8 ? 1 : many + 1))
  })
}

test('what deleteAll deleted is not read, whatever its name is', async () => {
  await using w = await lagging({}, {}, ({ cache }) => void cache.declare(ClusterRole))
  const metadata = { name: 'a,b=c\\d', labels: { app: 'x' } }
  await w.client.create(ClusterRole, { metadata })
  await w.catchUp()
  await w.client.deleteAll(ClusterRole, { labels: 'app=x' })
  assert.equal(await w.client.get(ClusterRole, metadata), undefined)
})

test('a write by another version of the kind is read back; one of a kind of the same name in another group is not', async () => {
  await using w = await lagging()
  const { uid, resourceVersion } = (await w.client.create(Deployment, DEPLOYMENT)).metadata
  await w.catchUp()
  // The last one is a create by `generateName`.
  for (
    const [group, key, requests] of [['other', A, 0], ['apps', A, 1], ['apps', { namespace: 'default' }, 1]] as const
  ) {
    const resource = { ...Deployment, group, version: 'v1beta2' }
    const write = w.cluster.cache.begin({ resource, ...key })
    const version = String(Number(resourceVersion) + 100)
    write?.answered({
      apiVersion: `${group}/v1beta2`,
      kind: 'Deployment',
      metadata: { ...A, uid, resourceVersion: version },
    })
    write?.end()
    w.requests.length = 0
    await w.client.get(Deployment, A)
    assert.equal(w.requests.length, requests, JSON.stringify([group, key]))
  }
})

test('writes through the live, the bound and the fenced client are also shown', async () => {
  await using w = await lagging()
  await w.client.live.create(ConfigMap, map('1'))
  assert.equal(await w.value(), '1')
  await w.client.bound({ signal: never }).patch(ConfigMap, A, { merge: { data: { value: '2' } } })
  assert.equal(await w.value(), '2')
  await w.client.fenced({ check() {}, signal: never }).patch(ConfigMap, A, { merge: { data: { value: '3' } } })
  assert.equal(await w.value(), '3')
})

test('a repeated apply is sent after another own write or a delete, and not if the last answer still stands', async () => {
  await using w = await lagging()
  const apply = async (value: string): Promise<number> => {
    const before = w.requests.length
    await w.client.apply(ConfigMap, map(value))
    return w.requests.length - before
  }
  assert.deepEqual([await apply('1'), await apply('1'), await apply('2'), await apply('1')], [1, 0, 1, 1])
  await w.client.patch(ConfigMap, A, { merge: { data: { value: 'changed' } } })
  assert.deepEqual([await apply('1'), await apply('1')], [1, 0])
  await w.client.delete(ConfigMap, A)
  assert.deepEqual([await apply('1'), await apply('1')], [1, 0])
  await w.catchUp()
  assert.deepEqual([await w.value(), await apply('1')], ['1', 0])
})

test('an answer that is not the object is not shown: of another kind, without a version, empty', async () => {
  await using w = await lagging()
  const [informer] = w.cluster.cache.informersOf(Deployment)!
  const answered = (answer: unknown): void => {
    const inFlight = informer!.beginWrite({ resource: Deployment, ...A, subresource: 'x' })!
    inFlight.answered(answer)
    inFlight.end()
  }
  const metadata = { ...A, uid: 'u', resourceVersion: '999999999' }
  answered({ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: { replicas: 1 } })
  answered({ apiVersion: 'v1', kind: 'Status', status: 'Success', details: { uid: 'u' } })
  answered({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, status: { token: 't' } })
  answered({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...A } })
  answered(null)
  assert.ok(w.isCaughtUp())
  const isUnclear = (): boolean => {
    const unclear = informer!.unclear({})
    if (unclear) void informer!.settled(unclear, { metadata: { resourceVersion: '1' }, items: [] })
    return unclear !== undefined
  }
  assert.deepEqual([isUnclear(), isUnclear()], [true, false])
  // Its uid shows whether a version is that of the object.
  answered({ apiVersion: 'x/v1', kind: 'Other', metadata: { ...A, uid: 'other', resourceVersion: '1' } })
  assert.ok(isUnclear())
  const deletion = informer!.beginWrite({ resource: Deployment, ...A })!
  deletion.deleted({ apiVersion: 'x/v1', kind: 'Deletion' })
  deletion.end()
  assert.ok(isUnclear())
  answered({ apiVersion: 'apps/v1', kind: 'Deployment', metadata })
  assert.equal((await w.client.get(Deployment, A))?.metadata.resourceVersion, '999999999')
})

test('a Pod within its grace period and a Namespace with finalizers in its spec still exist; a Pod without is gone', async () => {
  const clock = new FakeClock()
  const cluster = new Cluster({ name: 'test', transport: new ApiServer({ clock }).handle, clock })
  const begun = (resource: typeof Pod | typeof Namespace) => {
    const [informer] = cluster.cache.declare(resource)
    return (answer: object): number => {
      const inFlight = informer!.beginWrite({ resource, ...A })!
      inFlight.deleted(answer)
      inFlight.end()
      return informer!.reader.size
    }
  }
  const metadata = { name: 'a', uid: 'u', resourceVersion: '10', deletionTimestamp: '2026-01-01T00:00:00Z' }
  const terminating = (more: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, namespace: 'default', ...more },
  })
  const deletePod = begun(Pod)
  assert.equal(deletePod(terminating({ deletionGracePeriodSeconds: 30 })), 1)
  assert.equal(deletePod(terminating({ deletionGracePeriodSeconds: 0 })), 0)
  const deleteNamespace = begun(Namespace)
  assert.equal(
    deleteNamespace({ apiVersion: 'v1', kind: 'Namespace', metadata, spec: { finalizers: ['kubernetes'] } }),
    1,
  )
  assert.equal(deleteNamespace({ apiVersion: 'v1', kind: 'Namespace', metadata, spec: { finalizers: [] } }), 0)
})
