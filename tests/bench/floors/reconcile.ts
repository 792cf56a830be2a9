/**
 * `reconcile.ts CLUSTER WORKERS [status]`: a raw list and watch into a Map, then an asynchronous function for each
 * object.
 *
 * With `status`, patches the status of each object. The watch stays open, as an operator's does.
 */
import { argv, exit } from 'node:process'
import { connect, type Foo, FOOS } from './kube.ts'

const { keep, request } = connect(argv[2])
const [workers, writes] = [Number(argv[3]), argv[4] === 'status']
const kept = new Map<string, Foo>()
let reconciled = 0

const began = performance.now()
await keep('/apis/bench.example.com/v1/foos', kept)
const n = kept.size
const waiting = [...kept.keys()].values()
await Promise.all(Array.from({ length: workers }, async () => {
  for (const key of waiting) await reconcile(kept.get(key)!)
}))
const ms = performance.now() - began
if (reconciled !== n) throw new Error(`${reconciled} of ${n} were reconciled`)
console.log(JSON.stringify({ ms, perSecond: n / (ms / 1000) }))
exit(0)

async function reconcile({ metadata }: Foo): Promise<void> {
  if (writes) {
    const body = { status: { observed: Date.now() } }
    await request('PATCH', `${FOOS}/${metadata.name}/status?fieldManager=bench`, body, 'application/merge-patch+json')
  }
  reconciled++
}
