/** An operator that logs each config map, then creates another one as a sign of its work. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'marks' })
app.controllerFor(ConfigMap, { when: ({ metadata }) => !metadata.name.startsWith('seen-') }).reconcile(
  async ({ metadata: { namespace, name } }, { client, log }) => {
    log.info('saw {name}', { name })
    await client.apply(ConfigMap, { metadata: { namespace, name: `seen-${name}` } })
  },
)
export default app
await app.run(import.meta)
