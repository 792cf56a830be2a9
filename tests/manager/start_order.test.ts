import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Runnable } from '../../lib/core/runnable.ts'
import { classify } from '../../lib/manager/start_order.ts'

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

test('a cache, a webhook or a recorder only on the leader is refused', () => {
  for (const role of ['cache', 'webhook', 'recorder'] as const) {
    assert.throws(
      () => classify({ name: 'a', role, everyReplica: false }),
      new RegExp(`^TypeError: Cannot add "a": a ${role} runs on every replica`),
    )
  }
})

test('a preparation on every replica is refused', () => {
  assert.throws(
    () => classify({ name: 'a', role: 'preparation', everyReplica: true }),
    /^TypeError: Cannot add "a": a preparation runs on the leader only/,
  )
})
