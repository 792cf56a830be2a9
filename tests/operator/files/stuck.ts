/** An operator whose reconcile never ends. */
import process from 'node:process'
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'stuck' })
app.controllerFor(ConfigMap).reconcile((map, { log }) => {
  // Longer than the time within which a repeated signal counts once.
  process.once('SIGINT', () => setTimeout(() => log.info('stopping for a while'), 600))
  log.info('stuck at {name}', { name: map.metadata.name })
  return new Promise(() => {})
})
await app.run(import.meta)
