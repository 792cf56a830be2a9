import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Pod } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import app from '../../examples/6_nightly_report.ts'

const report = async ({ client }: World): Promise<unknown> =>
  (await client.get(ConfigMap, { namespace: 'default', name: 'nightly-report' }))?.data

test('Pods are counted at 02:00 in Berlin, again after a failure, and each night once', async () => {
  await using w = await world(app, { now: new Date('2026-01-01T00:30:00Z') })
  for (const name of ['a', 'b']) {
    const spec = { containers: [{ name: 'a', image: 'a:1' }] }
    await w.client.create(Pod, { metadata: { namespace: 'default', name }, spec })
  }
  await w.advance('29m')
  assert.equal(await report(w), undefined)
  w.fault({ verb: 'patch', resource: ConfigMap, status: 403 })
  await w.advance('1m')
  assert.deepEqual((await w.settle()).map((each) => 'task' in each && each.task), ['report'])
  await w.advance('2s')
  assert.deepEqual(await w.settle(), [])
  const first = await report(w) as { at: string; pods: string }
  assert.match(first.at, /^2026-01-01T01:00:01/)
  assert.equal(first.pods, '{"default":2}')
  await w.advance('1h')
  assert.deepEqual(await report(w), first)
})
