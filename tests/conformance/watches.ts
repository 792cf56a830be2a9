/** Cases of watches that get changes while they are open, or whose version is gone; verbs_watches.ts has the others. */
import assert from 'node:assert/strict'
import { type Case, caseOf } from './api.ts'

export const WATCH_CASES: readonly Case[] = [
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
