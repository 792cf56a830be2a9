/** The sample operator, its object and its test, as files: `kubeloop new` writes them, and `kubeloop demo` runs them. */

/** `examples/1_sample_controller.ts`, to the letter. */
export const SAMPLE_OPERATOR: string =
  `// A Foo becomes a Deployment, which follows the Foo's replicas and comes back when it is deleted.
import { defineResource, type Desired, type ObjectOf, operator } from 'kubeloop'
import { Deployment } from 'kubeloop/kinds'
import * as z from 'zod'

export const Foo = defineResource({
  group: 'samplecontroller.k8s.io',
  version: 'v1alpha1',
  kind: 'Foo',
  columns: { Replicas: '.spec.replicas', Available: '.status.availableReplicas' },
  spec: z.object({ deploymentName: z.string(), replicas: z.int32().min(0).max(10).default(1) }),
  status: z.object({ availableReplicas: z.int32().optional() }),
})
type Foo = ObjectOf<typeof Foo>

const app = operator({ name: 'sample-controller', leaderElection: true, crds: 'install' })

app.controllerFor(Foo).owns(Deployment).reconcile(async (foo, { client }) => {
  const deployment = await client.apply(Deployment, render(foo), { owner: foo })
  await client.setStatus(Foo, foo, { availableReplicas: deployment.status?.availableReplicas })
})

function render(foo: Foo): Desired<typeof Deployment> {
  const labels = { app: 'nginx', controller: foo.metadata.name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'nginx', image: 'nginx:1' }] } }
  return {
    metadata: { name: foo.spec.deploymentName },
    spec: { replicas: foo.spec.replicas, selector: { matchLabels: labels }, template },
  }
}

export default app
await app.run(import.meta)
`

/** `examples/foo.yaml`, to the letter. */
export const SAMPLE_MANIFEST: string = `apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata:
  namespace: default
  name: example
spec:
  deploymentName: example-foo
  replicas: 1
`

/** A test of the sample in a file called `module`. It runs under node --test, bun test and deno test. */
export function sampleTest(module: string): string {
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import app, { Foo } from './${module}'

test('a Foo has its Deployment, and gets it back', async () => {
  await using w = await world(app)
  const deployment = { namespace: 'default', name: 'example-foo' }
  await w.client.create(Foo, { metadata: { namespace: 'default', name: 'example' }, spec: { deploymentName: 'example-foo', replicas: 2 } })
  await w.settle()
  assert.equal((await w.client.get(Deployment, deployment))?.spec?.replicas, 2)

  await w.client.delete(Deployment, deployment)
  await w.settle()
  assert.equal((await w.client.get(Deployment, deployment))?.spec?.replicas, 2)
})
`
}

/** The sample with the modules it imports named in full, so that it runs where they are not installed. */
export function sampleWithModules(resolve: (specifier: string) => string): string {
  return SAMPLE_OPERATOR.replace(/ from '([^']+)'/g, (_, specifier: string) => ` from '${resolve(specifier)}'`)
}
