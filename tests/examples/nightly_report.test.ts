import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Pod } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import app from '../../examples/6_nightly_report.ts'

const report = async ({ client }: World): Promise<unknown> =>
  (await client.get(ConfigMap, { namespace: 'default', name: 'nightly-report' }))?.data

test('Pods are counted at 02:00, and at once if a run was missed', async () => {
  await using w = await world(app)
  const day = new Date(w.clock.now()).toISOString()
  await w.settle()
  assert.deepEqual(await report(w), { at: day, pods: '{}' })
  const pod = (name: string) => ({
    metadata: { namespace: 'default', name },
    spec: { containers: [{ name: 'a', image: 'a:1' }] },
  })
  for (const name of ['a', 'b']) await w.client.create(Pod, pod(name))
  const atTwo = Math.ceil((w.clock.now() - 7_200_000) / 86_400_000) * 86_400_000 + 7_200_000
  await w.advance(atTwo - w.clock.now() - 1)
  assert.deepEqual(await report(w), { at: day, pods: '{}' })
  await w.advance('1ms')
  assert.deepEqual(await report(w), { at: new Date(atTwo).toISOString(), pods: '{"default":2}' })
  await w.advance('23h')
  assert.deepEqual(await report(w), { at: new Date(atTwo).toISOString(), pods: '{"default":2}' })
})

test('a new leader does not repeat the report of the last night', async () => {
  const data = { at: '2025-12-31T02:00:01.000Z', pods: '{"a":1}' }
  await using w = await world(app, {
    objects: [{
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'nightly-report' },
      data,
    }],
  })
  await w.advance('1h')
  assert.deepEqual(await report(w), data)
  await w.advance('1h')
  assert.deepEqual(await report(w), { at: '2026-01-01T02:00:00.000Z', pods: '{}' })
})
