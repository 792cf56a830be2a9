/** An operator file for the tests of `run`: its reconcile fails six times, and then ends the process. */
import process from 'node:process'
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'failing' })
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'fail' }).reconcile(
  async (_, { attempt, log }) => {
    if (attempt === 1) log.error('this is mine', { error: 'no Error' })
    if (attempt > 6) process.exit(0)
    throw new Error('no data') // the line of source
  },
)
export default app
await app.run(import.meta)
