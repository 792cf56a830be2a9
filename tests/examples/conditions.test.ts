/** Tests the conditions of an operator: in its schema, and set once a reconcile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, operator } from 'kubeloop'
import { world } from 'kubeloop/testing'
import * as z from 'zod'
import { condition, isTrue, setCondition } from '../../lib/core/conditions.ts'

const Condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.iso.datetime(),
  observedGeneration: z.int().optional(),
})
const Job = defineResource({
  group: 'test.dev',
  version: 'v1',
  kind: 'Job',
  spec: z.object({ fails: z.boolean().default(false), size: z.int32().default(1) }),
  status: z.object({ conditions: z.array(Condition).optional() }),
})
const ref = { namespace: 'default', name: 'a' }

test('a condition is written only on change, keeps its time while unchanged, and has a generation', async () => {
  let runs = 0
  const app = operator({ name: 'jobs' })
  app.controllerFor(Job).every('1m').reconcile(async (job, { client }) => {
    runs++
    const observedGeneration = job.metadata.generation
    const ready = job.spec.fails
      ? { type: 'Ready', status: 'False', reason: 'Broken', message: 'requested to fail', observedGeneration } as const
      : { type: 'Ready', status: 'True', reason: 'Done', message: '', observedGeneration } as const
    await client.setStatus(Job, job, { conditions: setCondition(job.status?.conditions, ready, w.clock.now()) })
  })
  await using w = await world(app)
  await w.client.create(Job, { metadata: ref, spec: {} })
  await w.settle()
  const first = (await w.client.get(Job, ref))!
  assert.ok(isTrue(first, 'Ready'))

  await w.advance('3m')
  const later = (await w.client.get(Job, ref))!
  assert.ok(runs > 3)
  assert.equal(later.metadata.resourceVersion, first.metadata.resourceVersion, 'nothing was written')

  const changed = await w.client.edit(Job, ref, (draft) => void (draft.spec.size = 2))
  assert.ok(!isTrue(changed!, 'Ready'), 'the condition of the previous generation counts')
  await w.settle()
  const again = condition((await w.client.get(Job, ref))!, 'Ready')
  assert.deepEqual([again?.observedGeneration, again?.lastTransitionTime], [
    2,
    condition(first, 'Ready')!.lastTransitionTime,
  ])

  await w.client.edit(Job, ref, (draft) => void (draft.spec.fails = true))
  await w.settle()
  const failed = condition((await w.client.get(Job, ref))!, 'Ready')
  assert.deepEqual([failed?.status, failed?.reason], ['False', 'Broken'])
  assert.ok(Date.parse(failed!.lastTransitionTime) >= Date.parse(again!.lastTransitionTime) + 180_000)
})
