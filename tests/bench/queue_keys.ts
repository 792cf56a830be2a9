/** The keys of the queue's benchmarks, for a queue or a Map. */

/** Builds flat strings by join() before the measurement, as Go's are. */
export function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => ['default', `object-${i}`].join('/'))
}

/** Number of keys of the steady workload. */
export const STEADY_KEYS = 10_000

/** Returns the priority of a key: low, but 0 for every tenth. */
export function priorityOf(i: number): number {
  return i % 10 === 0 ? 0 : -100
}

/** Runs a workload several times, and prints its turns per second. */
export async function printTurns(n: number, times: number, workload: () => number | Promise<number>): Promise<void> {
  if (!(n > 0 && times > 0)) throw new Error(`Cannot run ${n} turns ${times} times`)
  let ms = 0
  for (let i = 0; i < times; i++) ms += await workload()
  console.log(JSON.stringify({ perSecond: n * times / (ms / 1000) }))
}
