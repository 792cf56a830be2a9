/**
 * `queue.ts WORKLOAD N [TIMES]`: measures the work queue. TIMES repeats it with a new queue and new keys.
 *
 * - `twice`: N keys are added, added again, then each is got, forgotten and done;
 * - `burst`: N keys of an initial list at priority -100, every tenth at 0, then each is got, forgotten and done;
 * - `steady`: N turns of a queue that is never empty; each adds its own key again, and an event for another key.
 */
import { argv } from 'node:process'
import { WorkQueue } from 'kubeloop'
import { keysOf, printTurns, priorityOf, STEADY_KEYS } from '../queue_keys.ts'

const [, , workload = '', count, times = '1'] = argv
const n = Number(count)
const never = new AbortController().signal
const workloads: Readonly<Record<string, () => Promise<number>>> = { twice, burst, steady }
const run = workloads[workload]
if (!run) throw new Error(`Cannot run "${workload}": there are ${Object.keys(workloads).join(', ')}`)
await printTurns(n, Number(times), run)

async function twice(): Promise<number> {
  const keys = keysOf(n)
  const queue = new WorkQueue<string>()
  const began = performance.now()
  for (let i = 0; i < n; i++) queue.add(keys[i]!)
  for (let i = 0; i < n; i++) queue.add(keys[i]!)
  await workOff(queue)
  return performance.now() - began
}

async function burst(): Promise<number> {
  const keys = keysOf(n)
  const queue = new WorkQueue<string>()
  const began = performance.now()
  for (let i = 0; i < n; i++) queue.add(keys[i]!, { priority: priorityOf(i) })
  await workOff(queue)
  return performance.now() - began
}

async function steady(): Promise<number> {
  const keys = keysOf(STEADY_KEYS)
  const queue = new WorkQueue<string>()
  keys.forEach((key, i) => queue.add(key, { priority: priorityOf(i) }))
  const began = performance.now()
  for (let i = 0; i < n; i++) {
    const key = (await queue.get(never))!
    queue.add(key, { priority: priorityOf(i) })
    queue.add(keys[(i * 7) % STEADY_KEYS]!, { priority: 0 })
    queue.forget(key)
    queue.done(key)
  }
  return performance.now() - began
}

async function workOff(queue: WorkQueue<string>): Promise<void> {
  for (let i = 0; i < n; i++) {
    const key = (await queue.get(never))!
    queue.forget(key)
    queue.done(key)
  }
}
