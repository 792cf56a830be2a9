import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Runnable } from '../../lib/core/runnable.ts'
import { classify } from '../../lib/manager/start_order.ts'

test("what has a role goes to its group; work is the leader's unless it says that it is not", () => {
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

test("a cache, a webhook or a recorder of the leader's is refused: it serves what runs on every replica", () => {
  for (const role of ['cache', 'webhook', 'recorder'] as const) {
    assert.throws(
      () => classify({ name: 'a', role, everyReplica: false }),
      new RegExp(`^TypeError: Cannot add "a": a ${role} runs on every replica`),
    )
  }
})

test("a preparation of every replica is refused: it is the leader's by what it is", () => {
  assert.throws(
    () => classify({ name: 'a', role: 'preparation', everyReplica: true }),
    /^TypeError: Cannot add "a": a preparation runs on the leader only/,
  )
})
