/** This process: its signals and its end. */
import { type Clock, systemClock } from '../../async/clock.ts'

/** Within this time a terminal, which signals its whole process group, and a wrapper that passes its own signal on, send the same one. */
const REPEAT_MS = 500

/**
 * Calls `hear` with each signal and how many came so far. The same signal again within 500 ms is not counted: Ctrl-C reaches a process
 * that `npm run` or `bun run` started twice. Returns what stops listening.
 */
export function onSignals(
  names: readonly ('SIGINT' | 'SIGTERM' | 'SIGHUP')[],
  hear: (signal: string, count: number) => void,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): () => void {
  let count = 0
  const listeners = names.map((name) => {
    let countedMs = -Infinity
    const listener = (): void => {
      const nowMs = clock.monotonic()
      // Since the one that was counted, not since the last one: a key that is held down must count again.
      if (nowMs - countedMs < REPEAT_MS) return
      countedMs = nowMs
      hear(name, ++count)
    }
    process.on(name, listener)
    return () => void process.off(name, listener)
  })
  return () => listeners.forEach((remove) => remove())
}

let isExiting = false

/**
 * Ends the process. What was written to standard output before is out: the streams of a terminal and a file are synchronous, a pipe
 * is flushed first. A second call does not wait for a pipe that nothing reads.
 */
export function exitProcess(code: number): void {
  process.exitCode = code
  if (isExiting || process.stdout.writableLength === 0) process.exit(code)
  isExiting = true
  process.stdout.write('', () => process.exit(code))
}
