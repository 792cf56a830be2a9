/** The keys of the queue's benchmarks, for a queue or a Map. */
import { argv } from 'node:process'

/** Runs a workload with N new keys, TIMES times by the arguments of the program, and prints its keys per second. */
export async function printTurns(workload: (keys: readonly string[]) => number | Promise<number>): Promise<void> {
  const [n = 0, times = 1] = argv.slice(2).map(Number)
  if (!(n > 0 && times > 0)) throw new Error(`Cannot run ${n} turns ${times} times`)
  let ms = 0
  for (let i = 0; i < times; i++) {
    // Flat strings by join() before the measurement, as Go's are.
    ms += await workload(Array.from({ length: n }, (_, at) => ['default', `object-${at}`].join('/')))
  }
  console.log(JSON.stringify({ perSecond: n * times / (ms / 1000) }))
}
