// A Foo becomes a Deployment, which follows the Foo's replicas and comes back when it is deleted.
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

const app = operator({ name: 'sample-controller', leaderElection: true })

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
