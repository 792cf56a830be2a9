/**
 * An operator in a process of its own: `marking.ts NAMESPACE IDENTITY [DURATION RENEW_DEADLINE]`, the last two of its Lease.
 *
 * Each Note gets a ConfigMap with its number, and is marked in its status. A deleted Note takes its ConfigMap along.
 * SIGUSR2 sets the wall clock 1 h back, SIGHUP 1 h ahead.
 */
import process from 'node:process'
import { type Duration, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { DURATION_MS, Note, RENEW_DEADLINE_MS } from '../note.ts'

type Args = [namespace: string, identity: string, duration?: Duration, renewDeadline?: Duration]
const [namespace, identity, duration = DURATION_MS, renewDeadline = RENEW_DEADLINE_MS] = process.argv.slice(2) as Args

const now = Date.now.bind(Date)
for (const [signal, offsetMs] of [['SIGUSR2', -3_600_000], ['SIGHUP', 3_600_000]] as const) {
  process.on(signal, () => void (Date.now = () => now() + offsetMs))
}

const app = operator({
  name: 'marking',
  namespaces: [namespace],
  crds: 'install',
  grace: '2s',
  // The wait of a failed key must not be what a row measures.
  controllers: { backoff: { base: '50ms', max: '2s' }, timeout: '10s' },
  leaderElection: { namespace, identity, duration, renewDeadline, retryPeriod: '500ms' },
})
app.controllerFor(Note, { concurrency: 4 }).owns(ConfigMap)
  .finalize(async (note, { client }) => {
    await client.delete(ConfigMap, note)
  })
  .reconcile(async (note, { client }) => {
    const n = String(note.spec.n)
    const mark = await client.get(ConfigMap, note)
    if (mark?.data?.['n'] !== n) {
      const data = { n, by: identity, begunMs: String(now()) }
      await client.apply(ConfigMap, { metadata: { name: note.metadata.name }, data }, { owner: note })
    }
    await client.setStatus(Note, note, { seen: note.spec.n })
  })

export default app
await app.run(import.meta)
