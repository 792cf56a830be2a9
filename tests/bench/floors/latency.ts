/** `latency.ts CLUSTER N`: measures from the creation of an object to its ADDED event, N times in sequence. */
import { argv, exit, pid } from 'node:process'
import { printQuantiles } from '../works/quantiles.ts'
import { connect, FOOS } from './kube.ts'

const { keep, request } = connect(argv[2])
const n = Number(argv[3])
const latencies: number[] = []
let current = '', begunMs = 0
let finished = (): void => {}

await keep('/apis/bench.example.com/v1/foos', new Map(), ({ type, object }) => {
  if (type !== 'ADDED' || object.metadata.name !== current) return
  latencies.push(performance.now() - begunMs)
  current = ''
  finished()
})
for (let i = 0; i < n; i++) {
  const added = new Promise<void>((resolve) => (finished = resolve))
  const name = `latency-${pid}-${i}`
  const foo = {
    apiVersion: 'bench.example.com/v1',
    kind: 'Foo',
    metadata: { namespace: 'default', name },
    spec: { deploymentName: name },
  }
  current = name
  begunMs = performance.now()
  await request('POST', `${FOOS}?fieldManager=bench`, foo)
  await added
  await request('DELETE', `${FOOS}/${name}`)
}
printQuantiles(latencies)
exit(0)
