// A kind with its controller, which is added to an operator.
import { defineResource, type Operator } from 'kubeloop'
import * as z from 'zod'

export const Foo = defineResource({
  group: 'samplecontroller.k8s.io',
  version: 'v1alpha1',
  kind: 'Foo',
  spec: z.object({ text: z.string() }),
  status: z.object({ length: z.int32().optional() }),
})

export function addFoo(app: Operator): void {
  app.controllerFor(Foo).reconcile(async (foo, { client }) => {
    await client.setStatus(Foo, foo, { length: foo.spec.text.length })
  })
}
