import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from 'kubeloop/testing'
import app, { Claim, Pool } from '../../examples/4_pools_and_claims.ts'

test('claims are bound by age up to the size of their pool, and move up when one is deleted', async () => {
  await using w = await world(app)
  const claim = (name: string) => ({ namespace: 'default', name })
  const bound = async (): Promise<unknown[]> =>
    (await w.client.list(Claim)).map(({ metadata, status }) => [metadata.name, status?.bound, status?.message])
  await w.client.create(Claim, { metadata: claim('first'), spec: { pool: 'p' } })
  await w.settle()
  assert.deepEqual(await bound(), [['first', false, 'Pool "p" does not exist']])
  await w.client.create(Pool, { metadata: { name: 'p' }, spec: { size: 1 } })
  await w.settle()
  assert.deepEqual(await bound(), [['first', true, undefined]])
  await w.advance('1s')
  await w.client.create(Claim, { metadata: claim('second'), spec: { pool: 'p' } })
  await w.settle()
  assert.deepEqual(await bound(), [['first', true, undefined], ['second', false, 'Pool "p" is full']])
  assert.deepEqual((await w.client.get(Pool, { name: 'p' }))?.status, { used: 1 })
  await w.client.delete(Claim, claim('first'))
  await w.settle()
  assert.deepEqual(await bound(), [['second', true, undefined]])
  await w.client.edit(Pool, { name: 'p' }, (draft) => void (draft.spec.size = 3))
  await w.client.create(Claim, { metadata: claim('third'), spec: { pool: 'p' } })
  await w.settle()
  assert.deepEqual([(await bound()).length, (await w.client.get(Pool, { name: 'p' }))?.status], [2, { used: 2 }])
})
