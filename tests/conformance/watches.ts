/** Cases of watches. */
import assert from 'node:assert/strict'
import type { Body, Case, WatchEvent } from './api.ts'

const MERGE = { type: 'application/merge-patch+json' }
const short = (event: WatchEvent | undefined): string => `${event?.type} ${event?.object.metadata?.name}`

export const WATCH_CASES: readonly Case[] = [
  {
    name: 'a watch from a version sends later changes in order, with their kinds',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('before'))
      const { metadata } = await api.expect(200, 'GET', api.configMaps)
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { k: 'w' } }, MERGE)
      await api.expect(200, 'DELETE', `${api.configMaps}/a`)
      const watch = await api.watch(api.configMaps, `resourceVersion=${metadata.resourceVersion}`)
      const events = [await watch.next(), await watch.next(), await watch.next()] as WatchEvent[]
      watch.cancel()
      assert.deepEqual(events.map(short), ['ADDED a', 'MODIFIED a', 'DELETED a'])
      assert.deepEqual(events[0]!.object, created)
      assert.equal(events[2]!.object.kind, 'ConfigMap')
      assert.deepEqual(events[2]!.object.data, { k: 'w' })
      assert.ok(
        Number(events[2]!.object.metadata.resourceVersion) > Number(events[1]!.object.metadata.resourceVersion),
        'a deletion has its own version',
      )
    },
  },
  {
    name: 'a watch without a version starts with the current objects',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const watch = await api.watch(api.configMaps)
      assert.equal(short(await watch.next()), 'ADDED a')
      await api.expect(201, 'POST', api.configMaps, api.configMap('b'))
      assert.equal(short(await watch.next()), 'ADDED b')
      watch.cancel()
    },
  },
  {
    name: 'a streamed list ends with a marked bookmark',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.expect(201, 'POST', api.foos, api.foo('b'))
      const watch = await api.watch(
        api.foos,
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      )
      assert.deepEqual([short(await watch.next()), short(await watch.next())].toSorted(), ['ADDED a', 'ADDED b'])
      const bookmark = (await watch.next())!
      assert.equal(bookmark.type, 'BOOKMARK')
      assert.equal(bookmark.object.kind, 'Foo')
      assert.equal(bookmark.object.metadata.annotations['k8s.io/initial-events-end'], 'true')
      assert.match(bookmark.object.metadata.resourceVersion, /^\d+$/)
      await api.expect(200, 'DELETE', `${api.foos}/a`)
      assert.equal(short(await watch.next()), 'DELETED a')
      watch.cancel()
    },
  },
  {
    name: 'a streamed list requires its options',
    async run(api) {
      await api.refused(422, 'Invalid', 'GET', `${api.foos}?watch=true&sendInitialEvents=true&timeoutSeconds=1`)
      await api.refused(
        422,
        'Invalid',
        'GET',
        `${api.foos}?watch=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`,
      )
      await api.refused(422, 'Invalid', 'GET', `${api.foos}?sendInitialEvents=true`)
    },
  },
  {
    name: 'objects that enter a selector are ADDED, objects that leave it are DELETED',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { labels: { team: 'x' } }))
      const { metadata } = await api.expect(200, 'GET', api.foos)
      const watch = await api.watch(api.foos, `resourceVersion=${metadata.resourceVersion}&labelSelector=team%3Dy`)
      const label = (team: string): Promise<Body> =>
        api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { labels: { team } } }, MERGE)
      await label('y')
      await api.expect(200, 'PATCH', `${api.foos}/a`, { spec: { size: 2 } }, MERGE)
      const left = await label('z')
      await label('z2')
      await label('y')
      const events: WatchEvent[] = []
      for (let i = 0; i < 4; i++) events.push((await watch.next())!)
      watch.cancel()
      assert.deepEqual(events.map(({ type }) => type), ['ADDED', 'MODIFIED', 'DELETED', 'ADDED'])
      assert.equal(events[2]!.object.metadata.labels.team, 'y')
      assert.equal(events[2]!.object.metadata.resourceVersion, left.metadata.resourceVersion)
    },
  },
  {
    name: 'a field selector on the name watches one object',
    async run(api) {
      const { metadata } = await api.expect(200, 'GET', api.configMaps)
      const watch = await api.watch(
        api.configMaps,
        `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Db`,
      )
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(201, 'POST', api.configMaps, api.configMap('b'))
      assert.equal(short(await watch.next()), 'ADDED b')
      watch.cancel()
    },
  },
  {
    name: 'the DELETED event of a finalized object still has its finalizer',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { finalizers: ['x.io/a'] }))
      const deleting = await api.expect(200, 'DELETE', `${api.foos}/a`)
      const watch = await api.watch(api.foos, `resourceVersion=${deleting.metadata.resourceVersion}`)
      await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { finalizers: null } }, MERGE)
      const event = (await watch.next())!
      watch.cancel()
      assert.equal(event.type, 'DELETED')
      assert.deepEqual(event.object.metadata.finalizers, ['x.io/a'])
    },
  },
  {
    name: 'a watch from an expired version sends an ERROR event with 410',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      api.compact()
      const watch = await api.watch(api.foos, 'resourceVersion=1')
      const event = (await watch.next())!
      assert.equal(event.type, 'ERROR')
      assert.equal(event.object.kind, 'Status')
      assert.equal(event.object.code, 410)
      assert.equal(event.object.reason, 'Expired')
      assert.match(event.object.message, /^too old resource version: 1 \(\d+\)$/)
      assert.equal(await watch.next(), undefined)
    },
  },
  {
    name: 'every served version can be watched',
    async run(api) {
      const { metadata } = await api.expect(200, 'GET', api.foos)
      const watch = await api.watch(
        `/apis/${api.group}/v2/namespaces/${api.namespace}/foos`,
        `resourceVersion=${metadata.resourceVersion}`,
      )
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      assert.equal((await watch.next())!.object.apiVersion, `${api.group}/v2`)
      watch.cancel()
    },
  },
]
