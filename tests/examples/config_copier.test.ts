import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import app, { west } from '../../examples/5_config_copier.ts'

const ref = (name: string) => ({ namespace: 'default', name })

test('labelled objects are copied to the other cluster, restored on change, and deleted with their source', async () => {
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels: { copy: 'west' } }, data: { n: '1' } })
  await w.client.create(ConfigMap, { metadata: ref('b'), data: { n: '1' } })
  await w.settle()
  const there = w.clientOf(west)
  assert.deepEqual((await there.list(ConfigMap)).map(({ metadata, data }) => [metadata.name, data]), [['a', {
    n: '1',
  }]])
  await there.patch(ConfigMap, ref('a'), { merge: { data: { n: '2' } } })
  await w.settle()
  assert.deepEqual((await there.get(ConfigMap, ref('a')))?.data, { n: '1' })
  await there.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual((await there.get(ConfigMap, ref('a')))?.data, { n: '1' })
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual([await there.get(ConfigMap, ref('a')), await w.client.get(ConfigMap, ref('a'))], [
    undefined,
    undefined,
  ])
})

test('the source stays while the other cluster refuses a deletion', async () => {
  await using w = await world(app)
  await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels: { copy: 'west' } }, data: { n: '1' } })
  await w.settle()
  w.fault({ cluster: west, verb: 'delete', status: 500 })
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.ok((await w.client.get(ConfigMap, ref('a')))?.metadata.deletionTimestamp)
  await w.advance('1s')
  assert.equal(await w.client.get(ConfigMap, ref('a')), undefined)
})
