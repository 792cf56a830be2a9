/** What a process that only waits takes of the processor. */
import { cpuUsage } from 'node:process'

/** What the start left behind, such as collections and compilations, has ended by then. */
const SETTLE_MS = 3000

/** Milliseconds of user and system time a minute, measured over so many seconds. */
export async function printIdleCost(seconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const before = cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const { user, system } = cpuUsage(before)
  console.log(JSON.stringify({ cpuMs: (user + system) / 1000 * 60 / seconds }))
}
