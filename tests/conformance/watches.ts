/** Cases of watches that get changes while they are open, or whose version is gone; verbs_watches.ts has the others. */
import assert from 'node:assert/strict'
import { type Case, caseOf, type WatchEvent } from './api.ts'

const short = (event: WatchEvent | undefined): string => `${event?.type} ${event?.object.metadata?.name}`

export const WATCH_CASES: readonly Case[] = [
  caseOf('a watch without a version starts with the current objects', async (api) => {
    await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
    const watch = await api.watch(api.configMaps)
    assert.equal(short(await watch.next()), 'ADDED a')
    await api.expect(201, 'POST', api.configMaps, api.configMap('b'))
    assert.equal(short(await watch.next()), 'ADDED b')
    watch.cancel()
  }),
  caseOf('a streamed list ends with a marked bookmark', async (api) => {
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
    let event = await watch.next()
    // A slow server may send another bookmark before.
    while (event?.type === 'BOOKMARK') event = await watch.next()
    assert.equal(short(event), 'DELETED a')
    watch.cancel()
  }),
  caseOf('a watch from an expired version sends an ERROR event with 410', async (api) => {
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
  }),
]
