/**
 * `sync.ts CLUSTER [compact]`: measures the cache's first sync, its processor time, heap and peak, the first use of an
 * index, and a list. With `compact`, the cache keeps its objects as bytes.
 */
import { argv, cpuUsage, exit } from 'node:process'
import { Cluster, defineIndex } from 'kubeloop'
import { compactObjects } from '../../../lib/cache/compact/compact_objects.ts'
import { clusterOf, Foo, memoryFromNow, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const memory = memoryFromNow()
const [began, beganCpu] = [performance.now(), cpuUsage()]
const cluster = new Cluster({ name: 'bench', config })
const [informer] = cluster.cache.declare(Foo, argv[3] === 'compact' ? { objects: compactObjects(undefined) } : {})
const { signal } = new AbortController()
const running = cluster.start(signal)
await Promise.race([cluster.ready(signal), running])
const ms = performance.now() - began
const { user, system } = cpuUsage(beganCpu)
const kept = memory()
const byDeployment = defineIndex(Foo, (foo) => (foo as { spec?: { deploymentName?: string } }).spec?.deploymentName)
const indexMs = await timed(() => cluster.client.lookup(byDeployment, 'foo-000001-deployment'))
const listMs = await timed(() => cluster.client.list(Foo, { labels: 'app.kubernetes.io/part-of=bench' }))
print({ ms, cpuMs: (user + system) / 1000, ...kept, indexMs, listMs, n: informer!.store.size })
exit(0)

async function timed(work: () => Promise<readonly unknown[]>): Promise<number> {
  const startedMs = performance.now()
  const found = await work()
  if (found.length === 0) throw new Error('the read found nothing')
  return performance.now() - startedMs
}
