/** `queue.ts WORKLOAD N [TIMES]`: adds and removes the keys of works/queue.ts in a bare Map. */
import { argv } from 'node:process'
import { keysOf, printTurns, STEADY_KEYS } from '../queue_keys.ts'

const [, , workload = '', count, times = '1'] = argv
const n = Number(count)
const workloads: Readonly<Record<string, () => number>> = { twice: () => adds(2), burst: () => adds(1), steady }
const run = workloads[workload]
if (!run) throw new Error(`Cannot run "${workload}": there are ${Object.keys(workloads).join(', ')}`)
await printTurns(n, Number(times), run)

function adds(each: number): number {
  const keys = keysOf(n)
  const map = new Map<string, number>()
  const began = performance.now()
  for (let add = 0; add < each; add++) for (let i = 0; i < n; i++) map.set(keys[i]!, i)
  for (let i = 0; i < n; i++) map.delete(keys[i]!)
  return performance.now() - began
}

function steady(): number {
  const keys = keysOf(STEADY_KEYS)
  const map = new Map<string, number>()
  keys.forEach((key, i) => map.set(key, i))
  const began = performance.now()
  for (let i = 0; i < n; i++) {
    const key = keys[(i * 7) % STEADY_KEYS]!
    map.delete(key)
    map.set(key, i)
  }
  return performance.now() - began
}
