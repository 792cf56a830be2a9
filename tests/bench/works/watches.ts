/**
 * `watches.ts CLUSTER COUNT [SECONDS]`: starts informers for COUNT namespaces, and measures until all have synced.
 *
 * With SECONDS, measures their CPU time after that, in milliseconds per minute.
 */
import { argv, exit } from 'node:process'
import { Cluster } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { printIdleCost } from '../idle_cost.ts'
import { clusterOf, namespaceOf, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const [count, seconds] = [Number(argv[3]), Number(argv[4])]
const began = performance.now()
const cluster = new Cluster({
  name: 'bench',
  config,
  namespaces: Array.from({ length: count }, (_, i) => namespaceOf(i)),
})
cluster.cache.declare(ConfigMap)
const { signal } = new AbortController()
const running = cluster.start(signal)
await Promise.race([cluster.ready(signal), running])
const ms = performance.now() - began
if (seconds > 0) await printIdleCost(seconds)
else print({ ms })
exit(0)
