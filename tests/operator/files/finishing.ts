/** An operator whose reconcile ends when a config map called `finish` exists, also during a stop. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'finishing', leaderElection: { namespace: 'default' } })
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'held' }).reconcile(
  async (_, { client, log }) => {
    log.info('works')
    for await (const { object } of client.watch(ConfigMap, { namespace: 'default' })) {
      if (object.metadata.name === 'finish') return
    }
  },
)
await app.run(import.meta)
