/** An operator whose reconcile never ends. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'stuck' })
app.controllerFor(ConfigMap).reconcile((map, { log }) => {
  log.info('stuck at {name}', { name: map.metadata.name })
  return new Promise(() => {})
})
await app.run(import.meta)
