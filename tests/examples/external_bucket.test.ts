import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dynamicResource, type ObjectOf } from 'kubeloop'
import { Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { Bucket, buckets } from '../../examples/3_external_bucket.ts'
import { MemoryCloud } from './memory_cloud.ts'

type Bucket = ObjectOf<typeof Bucket>

const ref = { namespace: 'default', name: 'a' }
const credentials = { metadata: { namespace: 'default', name: 'login' }, data: { token: btoa('s3cret') } }

/** A world with a bucket, its cloud, and a function that reads the bucket. */
async function bucket(spec: { keep?: boolean } = {}, { withLogin = true } = {}) {
  const cloud = new MemoryCloud()
  const w = await world(buckets(cloud))
  if (withLogin) await w.client.create(Secret, credentials)
  await w.client.create(Bucket, { metadata: ref, spec: { region: 'eu', credentials: 'login', ...spec } })
  await w.settle()
  const now = (): Promise<Bucket | undefined> => w.client.get(Bucket, ref)
  return { cloud, w, now, only: () => [...cloud.buckets.values()][0]!, status: async () => (await now())?.status }
}

async function events({ client }: World): Promise<string[]> {
  const found = await client.list(dynamicResource({ group: 'events.k8s.io', version: 'v1', kind: 'Event' }))
  return found.map((event) =>
    ['type', 'reason', 'note', 'reportingController'].map((field) =>
      String((event as unknown as Record<string, unknown>)[field])
    ).join(' | ')
  )
}

test('a bucket is created with the credentials, checked until it is ready, and then has its address', async () => {
  const { cloud, w, only, status, now } = await bucket()
  assert.deepEqual(await status(), { phase: 'Creating' })
  assert.deepEqual([only().region, only().token], ['eu', 's3cret'])
  only().state = 'ready'
  await w.advance('9s')
  assert.deepEqual(await status(), { phase: 'Creating' })
  await w.advance('1s')
  const url = `https://${(await now())!.metadata.uid}.eu.example.dev`
  assert.deepEqual(await status(), { phase: 'Ready', url })
  const address = await w.client.get(Secret, { namespace: 'default', name: 'a-url' })
  assert.equal(atob(address?.data?.['url'] ?? ''), url)
  assert.equal(address?.metadata.ownerReferences?.[0]?.name, 'a')
  // An hour later it is checked again; an existing bucket is not a failure.
  const before = cloud.calls.length
  await w.advance('1h')
  assert.ok(cloud.calls.slice(before).includes('state') && !cloud.calls.slice(before).includes('create'))
  assert.deepEqual(await status(), { phase: 'Ready', url })
  await w.stop()
})

test('a bucket that the cloud refuses fails, gets an Event, and is not retried until it changes', async () => {
  const { cloud, w, only, status } = await bucket()
  only().state = 'refused'
  await w.advance('10s')
  assert.deepEqual(await status(), { phase: 'Failed' })
  assert.deepEqual(await events(w), ['Warning | Refused | The cloud refused this bucket | buckets/bucket'])
  const before = cloud.calls.length
  await w.advance('1h')
  assert.equal(cloud.calls.length, before)
  cloud.buckets.clear()
  await w.client.edit(Bucket, ref, (draft) => void (draft.spec.region = 'us'))
  await w.settle()
  assert.deepEqual([await status(), only().region], [{ phase: 'Creating' }, 'us'])
  await w.stop()
})

test('without credentials a bucket is retried with back-off, and created once they exist', async () => {
  const { cloud, w, status } = await bucket({}, { withLogin: false })
  assert.deepEqual([await status(), cloud.buckets.size], [undefined, 0])
  await w.advance('1s')
  await w.advance('2s')
  assert.equal(cloud.buckets.size, 0)
  await w.client.create(Secret, credentials)
  await w.advance('3999ms')
  assert.equal(cloud.buckets.size, 0)
  await w.advance('1ms')
  assert.deepEqual([await status(), cloud.buckets.size], [{ phase: 'Creating' }, 1])
  await w.stop()
})

test('a deleted bucket stays until the cloud has destroyed it', async () => {
  const { cloud, w, now } = await bucket()
  assert.deepEqual((await now())?.metadata.finalizers, ['buckets/bucket'])
  cloud.goingFor = 2
  cloud.failures.push(new Error('the cloud is down'))
  await w.client.delete(Bucket, ref)
  await w.settle()
  cloud.calls.length = 0
  await w.advance('1s') // after the failure
  await w.advance('4999ms')
  assert.deepEqual([cloud.calls, cloud.buckets.size], [['destroy'], 1])
  assert.ok((await now())?.metadata.deletionTimestamp)
  await w.advance('1ms')
  assert.deepEqual(cloud.calls, ['destroy', 'destroy'])
  await w.advance('5s')
  assert.deepEqual([cloud.calls, cloud.buckets.size, await now()], [['destroy', 'destroy', 'destroy'], 0, undefined])
  await w.advance('1h')
  assert.equal(cloud.calls.length, 3)
  await w.stop()
})

test('a bucket with keep is deleted at once, and stays in the cloud', async () => {
  const { cloud, w, now } = await bucket({ keep: true })
  await w.client.delete(Bucket, ref)
  await w.settle()
  assert.deepEqual([await now(), cloud.buckets.size, cloud.calls.includes('destroy')], [undefined, 1, false])
  await w.stop()
})
