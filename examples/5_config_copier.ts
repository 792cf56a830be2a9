// ConfigMaps labelled copy=west are copied to another cluster. A copy whose data was changed or that was deleted is written again.
import { loadConfig, operator, predicates } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'config-copier', leaderElection: true })
export const west = app.cluster('west', async () => (await loadConfig({ context: 'west' })).cluster)
app.cache(ConfigMap, { cluster: west, labels: 'copied-by=config-copier' })

app.controllerFor(ConfigMap, { when: predicates.matchesLabels('copy=west') })
  .watches(ConfigMap, ({ metadata: { namespace, name } }) => [{ namespace, name }], { cluster: west })
  .finalize(async ({ metadata: { namespace, name } }, { clientOf }) =>
    void await clientOf(west).delete(ConfigMap, { namespace, name })
  )
  .reconcile(async ({ metadata: { namespace, name }, data }, { clientOf }) => {
    await clientOf(west).apply(ConfigMap, {
      metadata: { namespace, name, labels: { 'copied-by': 'config-copier' } },
      data,
    })
  })

export default app
await app.run(import.meta)
