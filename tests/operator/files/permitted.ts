/** An operator whose parts, chosen by the environment, each need a permission on Deno. */
import process from 'node:process'
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const { HEALTH, IDENTITY, OTHER, SECURE, SERVERS, SOURCE, FETCHED } = process.env
const app = operator({
  name: 'permitted',
  ...(HEALTH && { health: HEALTH }),
  ...(SERVERS && {
    metrics: { address: '127.0.0.1:18094', tls: { certs: '/metrics-certs' } },
    profiling: '127.0.0.1:18095',
    webhooks: { port: 18096, certs: '/webhook-certs', clientCa: '/client-ca' },
  }),
  leaderElection: { namespace: 'default', ...(IDENTITY && { identity: IDENTITY }) },
})
const other = OTHER ? app.cluster('other', { server: OTHER, insecure: !SECURE }) : undefined
const builder = app.controllerFor(ConfigMap, {
  when: ({ metadata }) => metadata.name === 'seen',
  ...(other && { cluster: other }),
})
if (SOURCE) {
  builder.from('outside', async function* () {
    await fetch(SOURCE)
    yield* []
  })
}
builder.reconcile(async (_, { log }) => {
  if (FETCHED) await fetch(FETCHED)
  log.info('reconciled')
})
await app.run(import.meta)
