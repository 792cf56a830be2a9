/** An operator for a kind without a CRD. */
import { defineResource, operator } from 'kubeloop'
import * as z from 'zod'

const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({ size: z.int32() }) })
const app = operator({ name: 'things' })
app.controllerFor(Thing).reconcile(async () => {})
await app.run(import.meta)
