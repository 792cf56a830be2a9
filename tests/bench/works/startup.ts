/** A typical operator, to be bundled: a custom kind and a controller, in a pod. */
import { defineResource, operator } from 'kubeloop'
import { spec, status } from './startup_schema.ts'

const Foo = defineResource({ group: 'bench.example.com', version: 'v1', kind: 'Foo', spec, status })

const app = operator({ name: 'bench' })
app.controllerFor(Foo).reconcile(async (foo, { client }) => {
  await client.setStatus(Foo, foo, { availableReplicas: foo.spec.replicas, phase: 'Ready' })
})
export default app
await app.run(import.meta)
