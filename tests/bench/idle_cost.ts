/** Measures the CPU time of an idle process. */
import { cpuUsage } from 'node:process'

/** Time for work left over from the start, such as garbage collection and compilation. */
const SETTLE_MS = 3000

export async function printIdleCost(seconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const before = cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const { user, system } = cpuUsage(before)
  console.log(JSON.stringify({ cpuMs: (user + system) / 1000 * 60 / seconds }))
}
