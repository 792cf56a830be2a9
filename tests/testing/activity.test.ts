import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { Activity, MAX_TURNS } from '../../lib/testing/world/activity.ts'
import type { Faults } from '../../lib/testing/world/faults.ts'

test('a part that is dropped takes its error with it', async () => {
  const activity = new Activity({ delayed: 0 } as Faults, () => {})
  const ended = new Latch()
  const drop = activity.run(async () => {
    await ended.opened
    throw new Error('late')
  })
  drop()
  ended.open()
  await nextTurn()
  await activity.rest()
})

for (const loads of [true, false]) {
  test(`turns ${loads ? 'during the loading of files do not count' : 'with other work do'}`, async () => {
    const activity = new Activity({ delayed: 0 } as Faults, () => {}, 0)
    let turns = 0
    activity.run(async (watch) => {
      watch({ idle: () => turns > MAX_TURNS + 100, loads: () => loads, busyWith: () => ['a part'] })
      while (turns++ <= MAX_TURNS + 100) await nextTurn()
    })
    if (loads) await activity.rest()
    else await assert.rejects(activity.rest(), /after 0 ms of real time there is still work: a part/)
  })
}
