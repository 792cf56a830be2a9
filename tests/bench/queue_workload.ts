/**
 * One workload through one queue, in a process of its own: `queue_workload.ts QUEUE WORKLOAD N`. Prints a line of JSON.
 * queue_go/main.go does the same with the Go queues.
 */
import { WorkQueue } from '../../lib/queue/work_queue.ts'

const LOW = -100
/** The keys of the steady workload. */
const CROWD = 10_000
const never = new AbortController().signal

const [queue = '', workload = '', count = ''] = process.argv.slice(2)
const n = Number(count)
const workloads: Record<string, () => Promise<number>> = {
  'kubeloop burst': burst,
  'kubeloop steady': steady,
  'Map burst': mapBurst,
  'Map steady': mapSteady,
}
const run = workloads[`${queue} ${workload}`]
if (!run || !(n > 0)) throw new Error(`Cannot run "${queue}" with "${workload}" ${count} times: there is no such workload`)
const perSecond = n / (await run()) * 1000
console.log(JSON.stringify({ queue, workload, perSecond }))

/** An initial list, a tenth of it as live events; then all of it is worked off. */
async function burst(): Promise<number> {
  const keys = makeKeys(n)
  const queue = new WorkQueue<string>()
  const began = performance.now()
  for (let i = 0; i < n; i++) queue.add(keys[i]!, { priority: priorityOf(i) })
  for (let i = 0; i < n; i++) {
    const key = (await queue.get(never))!
    queue.forget(key)
    queue.done(key)
  }
  return performance.now() - began
}

/** The queue is never empty: each turn brings its key back, and an event for another one. */
async function steady(): Promise<number> {
  const keys = makeKeys(CROWD)
  const queue = new WorkQueue<string>()
  keys.forEach((key, i) => queue.add(key, { priority: priorityOf(i) }))
  const began = performance.now()
  for (let i = 0; i < n; i++) {
    const key = (await queue.get(never))!
    queue.add(key, { priority: priorityOf(i) })
    queue.add(keys[(i * 7) % CROWD]!, { priority: 0 })
    queue.forget(key)
    queue.done(key)
  }
  return performance.now() - began
}

/** The floor: what remembering and dropping each key once costs. */
async function mapBurst(): Promise<number> {
  const keys = makeKeys(n)
  const map = new Map<string, number>()
  const began = performance.now()
  for (let i = 0; i < n; i++) map.set(keys[i]!, i)
  for (let i = 0; i < n; i++) map.delete(keys[i]!)
  return performance.now() - began
}

async function mapSteady(): Promise<number> {
  const keys = makeKeys(CROWD)
  const map = new Map<string, number>()
  keys.forEach((key, i) => map.set(key, i))
  const began = performance.now()
  for (let i = 0; i < n; i++) {
    const key = keys[(i * 7) % CROWD]!
    map.delete(key)
    map.set(key, i)
  }
  return performance.now() - began
}

/** Joined, not added up: the text is whole before the clock runs, as Go's is. */
function makeKeys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => ['default', `object-${i}`].join('/'))
}

function priorityOf(i: number): number {
  return i % 10 === 0 ? 0 : LOW
}
