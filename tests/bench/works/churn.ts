/** `churn.ts FEED OBJECTS FIRST EVENTS`: the heap that the cache keeps after the first changes of its objects, and after all of them. */
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
let heard = (): void => {}
informer!.addHandler((delta) => {
  if (delta.object.metadata.generation === last) heard()
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

/** The changes from one number to another, to the last handler. */
async function changes(from: number, to: number): Promise<void> {
  const seen = new Promise<void>((resolve) => (heard = resolve))
  last = FIRST_GENERATION + objects + to - 1
  await request('POST', `/feed/${to - from}`)
  await seen
  // The buffers of this turn are let go of.
  await new Promise((resolve) => setTimeout(resolve, 100))
}
