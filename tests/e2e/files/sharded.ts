/**
 * A shard in a process of its own: `sharded.ts CLUSTER NAME MILLISECONDS LEASE CONCURRENCY EACH`.
 *
 * Each reconcile of a Secret takes some time, and writes its begin and its end to the object. Each Secret whose number
 * is divisible by EACH owns a ConfigMap. LEASE is the duration of the Lease in seconds. SIGTERM stops it with code 0; a lost Lease ends it with code 7.
 */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { type ClusterConfig, LeadershipLost, operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'

const [cluster, identity, ms, lease, concurrency, each] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const app = operator({
  name: 'sharded',
  log: console,
  sharding: { ring: 'e2e' },
  namespaces: ['work'],
  leaderElection: {
    namespace: 'default',
    identity,
    duration: Number(lease) * 1000,
    renewDeadline: Number(lease) * 700,
    retryPeriod: Number(lease) * 150,
  },
})
let count = 0
app.controllerFor(Secret, {
  concurrency: Number(concurrency),
  when: (now, before) => now.data?.['round'] !== before?.data?.['round'],
}).owns(ConfigMap, { when: () => false }).reconcile(async (secret, { client, sleep }) => {
  const run = ++count
  const mark = async (phase: string): Promise<void> => {
    const annotations = { run: `${identity} ${run} ${phase}` }
    await client.patch(Secret, secret, { merge: { metadata: { annotations } } })
  }
  await mark('begin')
  await sleep(Number(ms))
  const { name, namespace } = secret.metadata
  if (Number(name.slice(1)) % Number(each) === 0) {
    const data = { round: secret.data?.['round'] ?? '' }
    await client.apply(ConfigMap, { metadata: { name: `of-${name}`, namespace }, data }, { owner: secret })
  }
  await mark('end')
})

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort(new Error('SIGTERM')))
try {
  await app.start(stopping.signal, { cluster: JSON.parse(readFileSync(cluster, 'utf8')) as ClusterConfig })
} catch (error) {
  console.log(String(error))
  process.exitCode = error instanceof LeadershipLost ? 7 : 1
}
