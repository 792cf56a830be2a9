// A schedule: at 02:00 the leader counts the Pods of each namespace into a ConfigMap; a time that was missed is made up for.
import { metadataOf, operator } from 'kubeloop'
import { ConfigMap, Pod } from 'kubeloop/kinds'

const REPORT = { namespace: 'default', name: 'nightly-report' }

const app = operator({ name: 'nightly-report', leaderElection: true })

app.schedule('report', '0 2 * * *', { timeZone: 'Europe/Berlin' }, async ({ client, clock, log }) => {
  const counts: Record<string, number> = {}
  for await (const { items } of client.pages(metadataOf(Pod))) {
    for (const { metadata: { namespace } } of items) counts[namespace] = (counts[namespace] ?? 0) + 1
  }
  const data = { at: new Date(clock.now()).toISOString(), pods: JSON.stringify(counts) }
  await client.apply(ConfigMap, { metadata: REPORT, data })
  log.info('reported {count} namespaces', { count: Object.keys(counts).length })
})

export default app
await app.run(import.meta)
