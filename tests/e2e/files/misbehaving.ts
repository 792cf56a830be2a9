/**
 * Two controllers: one misbehaves as its object requests, the other works.
 *
 * Arguments: the operator's name, which is also its Lease's, and the port of its probes.
 */
import { argv } from 'node:process'
import { operator, predicates } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const [, , name = 'misbehaving', port = '0'] = argv
const app = operator({ name, leaderElection: true, grace: '1s', health: Number(port) })

/** Longer than the duration of the lease. */
const BLOCK_MS = 20_000

app.controllerFor(ConfigMap, { name: 'bad', concurrency: 2, when: predicates.matchesLabels('test=bad') })
  .reconcile(async (map, { client, signal }) => {
    const set = (data: Record<string, string>) => client.patch(ConfigMap, map, { merge: { data } })
    switch (map.data?.['do']) {
      case 'throw':
        throw new Error('as requested')
      case 'hang':
        return await new Promise<never>(() => {})
      case 'block': {
        if (map.data['begun']) return
        await set({ begun: 'yes' })
        const end = Date.now() + BLOCK_MS
        while (Date.now() < end);
        await set({ wroteAfterwards: signal.aborted ? 'with an aborted signal' : 'yes' })
        return
      }
      case 'flood':
        await set({ count: String(Number(map.data['count'] ?? 0) + 1) })
    }
  })

app.controllerFor(ConfigMap, { name: 'good', when: predicates.matchesLabels('test=good') })
  .reconcile(async (map, { client }) => {
    if (map.data?.['seen'] === map.data?.['n']) return
    await client.patch(ConfigMap, map, { merge: { data: { seen: map.data?.['n'] } } })
  })

export default app
await app.run(import.meta)
