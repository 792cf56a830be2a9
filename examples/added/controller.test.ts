import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { world } from 'kubeloop/testing'
import { addFoo, Foo } from './controller.ts'

test('the status has the length of the text', async () => {
  const app = operator({ name: 'test' })
  addFoo(app)
  const w = await world(app)
  const metadata = { namespace: 'default', name: 'a' }
  await w.client.create(Foo, { metadata, spec: { text: 'abc' } })
  await w.settle()
  assert.equal((await w.client.get(Foo, metadata))?.status?.length, 3)
  await w.stop()
})
