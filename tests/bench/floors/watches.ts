/** `watches.ts CLUSTER COUNT [SECONDS]`: like works/watches.ts, with a raw watch into a Map each. */
import { argv, exit } from 'node:process'
import { printIdleCost } from '../idle_cost.ts'
import { connect } from './kube.ts'

const { keep } = connect(argv[2])
const [count, seconds] = [Number(argv[3]), Number(argv[4])]
const began = performance.now()
await Promise.all(Array.from({ length: count }, (_, i) => keep(`/api/v1/namespaces/bench-${i}/configmaps`, new Map())))
const ms = performance.now() - began
if (seconds > 0) await printIdleCost(seconds)
else console.log(JSON.stringify({ ms }))
exit(0)
