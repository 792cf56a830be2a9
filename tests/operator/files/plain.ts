/** An operator file for the tests of `run`: it reconciles config maps, and needs no CRD. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'plain' })
app.controllerFor(ConfigMap).reconcile(async (map, { log }) => log.info('saw {name}', { name: map.metadata.name }))
export default app
await app.run(import.meta)
