/** `sync.ts CLUSTER`: the first sync of the cache, the heap that it keeps, and the peak. */
import { argv, exit } from 'node:process'
import { Cluster } from 'kubeloop'
import { clusterOf, Foo, memoryFromNow, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const memory = memoryFromNow()
const began = performance.now()
const cluster = new Cluster({ name: 'bench', config })
const [informer] = cluster.cache.declare(Foo)
const { signal } = new AbortController()
const running = cluster.start(signal)
await Promise.race([cluster.ready(signal), running])
const ms = performance.now() - began
print({ ms, ...memory(), n: informer!.store.size })
exit(0)
