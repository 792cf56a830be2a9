/** The keys of the queue's benchmarks, for those on a queue and those on a Map. */

/** Joined, not added up: the text is whole before the clock runs, as Go's is. */
export function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => ['default', `object-${i}`].join('/'))
}

/** How many keys the steady workload has. */
export const CROWD = 10_000

/** Of a list at low priority, every tenth is news. */
export function priorityOf(i: number): number {
  return i % 10 === 0 ? 0 : -100
}

/** Runs a workload several times, and prints how many turns it takes a second. */
export async function printTurns(n: number, times: number, workload: () => number | Promise<number>): Promise<void> {
  if (!(n > 0 && times > 0)) throw new Error(`Cannot run ${n} turns ${times} times`)
  let ms = 0
  for (let i = 0; i < times; i++) ms += await workload()
  console.log(JSON.stringify({ perSecond: n * times / (ms / 1000) }))
}
