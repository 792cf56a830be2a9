/**
 * `churn.ts FEED OBJECTS FIRST EVENTS`: measures the heap of the cache after the first changes, and after all changes.
 */
import { argv, exit } from 'node:process'
import { Cluster } from 'kubeloop'
import { FIRST_GENERATION } from '../feed_numbers.ts'
import { connect } from '../floors/kube.ts'
import { clusterOf, Foo, memoryFromNow, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const [objects = 0, first = 0, events = 0] = argv.slice(3).map(Number)
const { request } = connect(argv[2])
const memory = memoryFromNow()
const cluster = new Cluster({ name: 'bench', config })
const [informer] = cluster.cache.declare(Foo)
let last = 0
let received = (): void => {}
informer!.addHandler((delta) => {
  if (delta.object.metadata.generation === last) received()
})
const { signal } = new AbortController()
const running = cluster.start(signal)
await Promise.race([cluster.ready(signal), running])
const began = performance.now()
await changes(0, first)
const firstMib = memory().heapMib
await changes(first, events)
const ms = performance.now() - began
const { heapMib: lastMib } = memory()
if (informer!.store.size !== objects) throw new Error(`There are ${informer!.store.size} objects instead of ${objects}`)
print({ firstMib, lastMib, growthMib: lastMib - firstMib, ratio: lastMib / firstMib, ms })
exit(0)

/** Sends changes, and resolves when the last handler has received them. */
async function changes(from: number, to: number): Promise<void> {
  const seen = new Promise<void>((resolve) => (received = resolve))
  last = FIRST_GENERATION + objects + to - 1
  await request('POST', `/feed/${to - from}`)
  await seen
  // Lets the buffers of this turn be released.
  await new Promise((resolve) => setTimeout(resolve, 100))
}
