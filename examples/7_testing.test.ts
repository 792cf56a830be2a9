// Tests of the sample controller: objects that converge, a server that fails, time that passes, a leader that is replaced.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeadershipLost } from 'kubeloop'
import { Deployment, Lease } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import app, { Foo } from './1_sample_controller.ts'

const foo = { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } }
const deployment = { namespace: 'default', name: 'b' }

test('the status says what the Deployment has available', async () => {
  const w = await world(app)
  await w.client.create(Foo, foo)
  await w.settle()
  // No kubelet runs in a world: the test writes what it would.
  const { metadata } = (await w.client.get(Deployment, deployment))!
  await w.client.subresource(Deployment, metadata, 'status').patch({
    merge: { status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 } },
  })
  await w.settle()
  assert.equal((await w.client.get(Foo, foo.metadata))?.status?.availableReplicas, 1)
  await w.stop()
})

test('a write that fails is tried again', async () => {
  const w = await world(app)
  w.fault({ verb: 'patch', resource: Deployment, status: 500, times: 3 })
  await w.client.create(Foo, foo)
  await w.advance('1s')
  assert.equal((await w.client.get(Deployment, deployment))?.spec?.replicas, 1)
  await w.stop()
})

test('another replica takes over from a leader that cannot renew its lease', async () => {
  const w = await world(app, { replicas: 2 })
  w.fault({ verb: 'update', resource: Lease, status: 500, times: 5 })
  await assert.rejects(w.advance('20s'), LeadershipLost)
  w.takeFailure()
  await w.client.create(Foo, foo)
  await w.advance('30s')
  assert.ok(await w.client.get(Deployment, deployment))
  await w.stop()
})

test('an invalid Foo is refused by the server, as in a cluster', async () => {
  const w = await world(app)
  await assert.rejects(w.client.create(Foo, { ...foo, spec: { deploymentName: 'b', replicas: 11 } }), /spec.replicas/)
  await w.stop()
})
