import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlowClock } from '../runtime/slow_clock.ts'
import { HandlerSet } from '../../lib/cache/handler_set.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { pod } from './scripted_server.ts'

test('handlers that come together share one copy of the store, which is not kept when they have it', async () => {
  let copies = 0
  // The list is delivered over several turns.
  const [clock, objects] = [new SlowClock(10), Array.from({ length: 20 }, (_, at) => pod(`p${at}`, '1'))]
  const store = { snapshot: () => (copies++, objects) }
  const handlers = new HandlerSet({ name: 'pods', store, clock, log: silentLog, random: () => 0 })
  await handlers.notifyOfList([])
  let seen = 0
  const add = () => handlers.add(() => void seen++)
  const first = [add(), add(), add()]
  await Promise.all(first.map(({ synced }) => synced.opened))
  assert.deepEqual([copies, seen], [1, 60])
  add()
  assert.equal(copies, 2)
})
