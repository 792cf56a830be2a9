/** An operator whose reconcile forgets an await: its rejection is unhandled. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'forgetful' })
app.controllerFor(ConfigMap).reconcile(async (map, { log }) => {
  if (map.metadata.name === 'first') void Promise.reject(new Error('forgotten'))
  log.info('saw {name}', { name: map.metadata.name })
})
await app.run(import.meta)
