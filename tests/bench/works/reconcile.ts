/** `reconcile.ts CLUSTER N WORKERS [status]`: measures the first sync and a reconcile of each of N objects. */
import { argv, exit } from 'node:process'
import { operator } from 'kubeloop'
import { clusterOf, Foo, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const [n, workers, writes] = [Number(argv[3]), Number(argv[4]), argv[5] === 'status']
const seen = new Set<string>()
const began = performance.now()
const app = operator({ name: 'bench', crds: 'ignore' })
app.controllerFor(Foo, { concurrency: workers }).reconcile(async (foo, { client }) => {
  const { name } = foo.metadata
  if (writes && !seen.has(name)) {
    await client.patch(Foo, foo, { merge: { status: { observed: Date.now() } } }, { subresource: 'status' })
  }
  seen.add(name)
  if (seen.size < n) return
  const ms = performance.now() - began
  print({ ms, perSecond: n / (ms / 1000) })
  exit(0)
})
await app.start(new AbortController().signal, { cluster: config })
