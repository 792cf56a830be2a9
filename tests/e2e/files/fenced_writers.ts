/**
 * An operator in a process of its own: `fenced_writers.ts CLUSTER LEASE IDENTITY`.
 *
 * The leader writes one ConfigMap as fast as it can, four writes at a time and without a precondition, each with its
 * identity, number and start time. A follower creates a ConfigMap as a sign. SIGTERM stops it with code 0; a lost lease
 * ends it with code 7.
 */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { type Client, type ClusterConfig, LeadershipLost, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { silentLog } from '../../../lib/observe/log.ts'

const WRITERS = 4
const [cluster, lease, identity] = process.argv.slice(2) as [string, string, string]
const signs: Promise<unknown>[] = []

const timings = { duration: '3s', renewDeadline: '2s', retryPeriod: '500ms' } as const
const app = operator({ name: 'fenced', leaderElection: { lease, identity, namespace: 'default', ...timings } })
app.add('writers', async ({ client, signal }) => {
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(client, writer, signal)))
})

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort(new Error('SIGTERM')))
app.extend(({ cluster }) => {
  follows = () =>
    signs.push(
      cluster.unfenced.client.create(ConfigMap, {
        metadata: { namespace: 'default', name: identity, labels: { lease } },
      }),
    )
})
let follows = (): unknown => undefined
const log = {
  ...silentLog,
  info: (message: string) => void (message.startsWith('Waiting') && follows()),
  warn: (message: string) => console.log(message),
}
try {
  await app.start(stopping.signal, { cluster: JSON.parse(readFileSync(cluster, 'utf8')) as ClusterConfig, log })
} catch (error) {
  console.log(String(error))
  process.exitCode = error instanceof LeadershipLost ? 7 : 1
}
await Promise.all(signs)

async function write(client: Client, writer: number, signal: AbortSignal): Promise<void> {
  for (let number = 1; !signal.aborted; number++) {
    const data = { identity, writer: String(writer), number: String(number), begunMs: String(Date.now()) }
    try {
      await client.patch(ConfigMap, { namespace: 'default', name: lease }, { merge: { data } })
    } catch (error) {
      // A refusal by the fence ends the work; other errors are only logged.
      if (signal.aborted || error instanceof LeadershipLost) return
      console.log(String(error))
    }
  }
}
