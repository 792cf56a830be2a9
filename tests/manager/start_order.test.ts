import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Runnable } from '../../lib/core/runnable.ts'
import { classify, START_ORDER, STEPS, STOP_ORDER } from '../../lib/manager/start_order.ts'

test('the orders of the start and the stop', () => {
  const start = ['servers', 'webhooks', 'recorder', 'caches', 'others', 'warmup', 'election', 'preparation', 'leader']
  assert.deepEqual(START_ORDER, start)
  assert.deepEqual(STOP_ORDER, ['others', 'leader', 'election', 'webhooks', 'caches', 'servers', 'recorder'])
  assert.deepEqual(STEPS.map(({ start }) => start), [1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.deepEqual(STEPS.map(({ stop }) => stop).toSorted(), [0, 0, 1, 2, 3, 4, 5, 6, 7])
})

test("a runnable with a role is in its group; work is the leader's unless it has everyReplica", () => {
  const table: readonly (readonly [Partial<Runnable>, string])[] = [
    [{ role: 'server' }, 'servers'],
    [{ role: 'server', everyReplica: true }, 'servers'],
    [{ role: 'server', everyReplica: false }, 'leader'],
    [{ role: 'webhook' }, 'webhooks'],
    [{ role: 'cache' }, 'caches'],
    [{ role: 'cache', everyReplica: true }, 'caches'],
    [{ role: 'recorder' }, 'recorder'],
    [{ role: 'preparation' }, 'preparation'],
    [{ role: 'preparation', everyReplica: false }, 'preparation'],
    [{}, 'leader'],
    [{ everyReplica: false }, 'leader'],
    [{ everyReplica: true }, 'others'],
    [{ warmup: async () => {} }, 'leader'],
    [{ warmup: async () => {}, everyReplica: false }, 'leader'],
    [{ warmup: async () => {}, everyReplica: true }, 'others'],
  ]
  for (const [says, phase] of table) assert.equal(classify({ name: 'a', ...says }), phase, JSON.stringify(says))
})

test('a cache, a webhook or a recorder only on the leader is refused, and a preparation elsewhere', () => {
  for (const role of ['cache', 'webhook', 'recorder'] as const) {
    assert.throws(
      () => classify({ name: 'a', role, everyReplica: false }),
      new RegExp(`^TypeError: Cannot add "a": a ${role} runs on every replica`),
    )
  }
  assert.throws(
    () => classify({ name: 'a', role: 'preparation', everyReplica: true }),
    /^TypeError: Cannot add "a": a preparation runs on the leader only/,
  )
})
