/** Processor time and memory of processes, from /proc (Linux). */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let ticksPerSecond: number | undefined

/** Returns the processor time of processes in microseconds, in steps of 10,000. */
export function cpuUs(...pids: readonly number[]): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond * 1e6
}

export function rssMib(...pids: readonly number[]): number {
  const kbs = pids.map((pid) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]))
  return kbs.reduce((sum, each) => sum + each, 0) / 1024
}
