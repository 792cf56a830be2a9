// A task of the leader: at 02:00 UTC it counts the Pods of each namespace into a ConfigMap; a run that was missed is made up for.
import { metadataOf, operator, type WorkContext } from 'kubeloop'
import { ConfigMap, Pod } from 'kubeloop/kinds'

const REPORT = { namespace: 'default', name: 'nightly-report' }
const HOUR = 2, DAY_MS = 86_400_000

const app = operator({ name: 'nightly-report', leaderElection: true })

app.add('report', async (context) => {
  const { client, clock, signal } = context
  while (!signal.aborted) {
    const last = Date.parse((await client.get(ConfigMap, REPORT))?.data?.['at'] ?? '') || 0
    const dueMs = lastDue(clock.now()) > last ? 0 : lastDue(clock.now()) + DAY_MS - clock.now()
    if (dueMs > 0) await sleep(context, dueMs)
    if (!signal.aborted) await report(context)
  }
})

/** When it was last to run, in milliseconds since 1970. */
function lastDue(nowMs: number): number {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS + HOUR * 3_600_000
  return today <= nowMs ? today : today - DAY_MS
}

async function report({ client, clock, log }: WorkContext): Promise<void> {
  const counts: Record<string, number> = {}
  for await (const { items } of client.pages(metadataOf(Pod))) {
    for (const { metadata: { namespace } } of items) counts[namespace] = (counts[namespace] ?? 0) + 1
  }
  const data = { at: new Date(clock.now()).toISOString(), pods: JSON.stringify(counts) }
  await client.apply(ConfigMap, { metadata: REPORT, data })
  log.info('reported {count} namespaces', { count: Object.keys(counts).length })
}

/** Resolves after the time, or when the leader stops. */
function sleep({ clock, signal }: WorkContext, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve)
    signal.addEventListener('abort', () => (cancel(), resolve()), { once: true })
  })
}

export default app
await app.run(import.meta)
