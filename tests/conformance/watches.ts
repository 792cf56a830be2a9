/** Watching. */
import assert from 'node:assert/strict'
import type { Body, Case, WatchEvent } from './api.ts'

const MERGE = { type: 'application/merge-patch+json' }
const short = (event: WatchEvent | undefined): string => `${event?.type} ${event?.object.metadata?.name}`

export const WATCH_CASES: readonly Case[] = [
  {
    name: 'a watch from a version tells what came after it, in order and with kinds',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('before'))
      const { metadata } = await api.expect(200, 'GET', api.configMaps)
      const made = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { k: 'w' } }, MERGE)
      await api.expect(200, 'DELETE', `${api.configMaps}/a`)
      const watch = await api.watch(api.configMaps, `resourceVersion=${metadata.resourceVersion}`)
      const events = [await watch.next(), await watch.next(), await watch.next()] as WatchEvent[]
      watch.cancel()
      assert.deepEqual(events.map(short), ['ADDED a', 'MODIFIED a', 'DELETED a'])
      assert.deepEqual(events[0]!.object, made)
      assert.equal(events[2]!.object.kind, 'ConfigMap')
      assert.deepEqual(events[2]!.object.data, { k: 'w' })
      assert.ok(
        Number(events[2]!.object.metadata.resourceVersion) > Number(events[1]!.object.metadata.resourceVersion),
        'a deletion has a version of its own',
      )
    },
  },
  {
    name: 'a watch without a version begins with what there is',
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
    name: 'a streamed list ends with a bookmark that says so',
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
    name: 'a streamed list asks for its options',
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
    name: 'what enters a selector is added, what leaves it is deleted',
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
    name: 'one object is watched by its name',
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
      const going = await api.expect(200, 'DELETE', `${api.foos}/a`)
      const watch = await api.watch(api.foos, `resourceVersion=${going.metadata.resourceVersion}`)
      await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { finalizers: null } }, MERGE)
      const event = (await watch.next())!
      watch.cancel()
      assert.equal(event.type, 'DELETED')
      assert.deepEqual(event.object.metadata.finalizers, ['x.io/a'])
    },
  },
  {
    name: 'a version too old to watch from is an ERROR event with 410',
    skip: { real: 'its watch cache forgets only when it is restarted' },
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      api.forget()
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
    name: 'a version served is a version watched',
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
