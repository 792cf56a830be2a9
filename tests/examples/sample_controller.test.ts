import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { dynamicResource } from 'kubeloop'
import { Deployment } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import app, { Foo } from '../../examples/1_sample_controller.ts'
// The tests of the example run unchanged, and those of what `kubeloop new --controller` writes.
import '../../examples/7_testing.test.ts'
import '../../examples/added/controller.test.ts'
import { DENO_ENV } from '../e2e/operator_process.ts'
import { pageText } from '../tools/docs.ts'
import { failures, replicas, works } from '../operator/starting.ts'

const SOURCE = readFileSync(new URL('../../examples/1_sample_controller.ts', import.meta.url), 'utf8')

const key = { namespace: 'default', name: 'example' }
const owned = { namespace: 'default', name: 'example-foo' }
const foo = { metadata: key, spec: { deploymentName: 'example-foo' } }

test('the sample is an inert description of at most 30 lines of code', () => {
  // The import above did not connect: run() does nothing in an imported file.
  assert.equal(app.description.controllers.length, 1)
  assert.equal(app.description.options.name, 'sample-controller')
  const lines = SOURCE.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//'))
  assert.ok(lines.length <= 30, `${lines.length} lines of code`)
})

test('the README contains the sample unchanged', () => {
  assert.ok(pageText('README.md').includes(SOURCE.trim()), 'README.md and examples/1_sample_controller.ts differ')
})

test('the docs have the Deno permissions of the end-to-end tests', () => {
  assert.ok(pageText('docs/getting-started.md').includes(DENO_ENV))
})

test('a Foo gets a Deployment, which is scaled and deleted with it, and restored when others change it', async () => {
  await using w = await world(app)
  const deployment = async () => await w.client.get(Deployment, owned)
  const created = await w.client.create(Foo, foo)
  assert.equal(created.spec.replicas, 1)
  await w.settle()
  const first = (await deployment())!
  assert.equal(first.spec?.replicas, 1)
  const { uid } = created.metadata
  const owner = { apiVersion: 'samplecontroller.k8s.io/v1alpha1', kind: 'Foo', name: 'example', uid }
  assert.deepEqual(first.metadata.ownerReferences, [{ ...owner, controller: true, blockOwnerDeletion: true }])
  await w.advance('10m')
  assert.equal((await deployment())?.metadata.resourceVersion, first.metadata.resourceVersion, 'nothing was written')

  await w.client.edit(Foo, key, (draft) => void (draft.spec.replicas = 3))
  await w.settle()
  assert.equal((await deployment())?.spec?.replicas, 3)
  await w.client.edit(Deployment, owned, (draft) => void (draft.spec!.replicas = 7))
  await w.settle()
  assert.equal((await deployment())?.spec?.replicas, 3)
  assert.equal(await w.client.delete(Deployment, owned), true)
  await w.settle()
  assert.ok(![undefined, first.metadata.uid].includes((await deployment())?.metadata.uid))

  await w.client.delete(Foo, key)
  await w.settle()
  assert.deepEqual([await w.client.get(Foo, key), await deployment()], [undefined, undefined])
})

test('of two replicas one works, and the other after the first has ended', async () => {
  const [first, second] = await replicas(app, 2)
  await first!.client.create(Foo, foo)
  await first!.clock.advance(5000)
  assert.equal((await first!.client.get(Deployment, owned))?.spec?.replicas, 1)
  assert.deepEqual([works(first!), works(second!)], [true, false])
  assert.deepEqual(failures(second!), [], 'the follower tries to write')
  const lease = dynamicResource({ group: 'coordination.k8s.io', version: 'v1', kind: 'Lease' })
  const spec = (await first!.client.get(lease, { namespace: 'default', name: 'sample-controller' }))?.['spec'] as {
    holderIdentity: string
    leaseTransitions: number
  }
  assert.match(spec.holderIdentity, /^replica-0_[0-9a-f-]{36}$/)
  assert.equal(spec.leaseTransitions, 0)
  await first!.stop()
  await first!.client.edit(Foo, key, (draft) => void (draft.spec.replicas = 3))
  await first!.clock.advance(5000)
  assert.equal((await first!.client.get(Deployment, owned))?.spec?.replicas, 3)
  assert.deepEqual([works(first!), works(second!)], [false, true])
  await second!.stop()
  assert.deepEqual([first!.outcome(), second!.outcome()], ['resolved', 'resolved'])
})
