/** `latency.ts CLUSTER N`: measures from the creation of an object to its reconcile, N times in sequence. */
import { argv, exit, pid } from 'node:process'
import { operator } from 'kubeloop'
import { printQuantiles } from './quantiles.ts'
import { clusterOf, Foo } from './surroundings.ts'

const config = clusterOf(argv[2])
const n = Number(argv[3])
const latencies: number[] = []
let current = '', begunMs = 0
let finished = (): void => {}

const app = operator({ name: 'bench', crds: 'ignore' })
app.controllerFor(Foo).reconcile(async ({ metadata }) => {
  if (metadata.name !== current) return
  latencies.push(performance.now() - begunMs)
  current = ''
  finished()
})
app.add('creator', async ({ client }) => {
  for (let i = 0; i < n; i++) {
    const reconciled = new Promise<void>((resolve) => (finished = resolve))
    const ref = { namespace: 'default', name: `latency-${pid}-${i}` }
    current = ref.name
    begunMs = performance.now()
    await client.create(Foo, { metadata: ref, spec: { deploymentName: ref.name } } as never)
    await reconciled
    await client.delete(Foo, ref)
  }
  printQuantiles(latencies)
  exit(0)
})
await app.start(new AbortController().signal, { cluster: config })
