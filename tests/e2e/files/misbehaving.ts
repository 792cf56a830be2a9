/**
 * Two controllers: one blocks the event loop, the other works.
 *
 * Arguments: the operator's name, which is also its Lease's, and the port of its probes.
 */
import { argv } from 'node:process'
import { operator, predicates } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const [, , name = 'misbehaving', port = '0'] = argv
const leaderElection = { duration: '5s', renewDeadline: '4s', retryPeriod: '1s' } as const
const app = operator({ name, leaderElection, grace: '1s', health: Number(port) })

/** Longer than the duration of the lease. */
const BLOCK_MS = 10_000

app.controllerFor(ConfigMap, { name: 'bad', when: predicates.matchesLabels('test=bad') })
  .reconcile(async (map, { client, signal }) => {
    const set = (data: Record<string, string>) => client.patch(ConfigMap, map, { merge: { data } })
    if (map.data?.['begun']) return
    await set({ begun: 'yes' })
    const end = Date.now() + BLOCK_MS
    while (Date.now() < end);
    await set({ wroteAfterwards: signal.aborted ? 'with an aborted signal' : 'yes' })
  })

app.controllerFor(ConfigMap, { name: 'good', when: predicates.matchesLabels('test=good') })
  .reconcile(async (map, { client }) => {
    if (map.data?.['seen'] === map.data?.['n']) return
    await client.patch(ConfigMap, map, { merge: { data: { seen: map.data?.['n'] } } })
  })

export default app
await app.run(import.meta)
