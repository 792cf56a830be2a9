/** This process: its signals and its end. */

/** Calls `hear` with each signal and how many came so far. Returns what stops listening. */
export function onSignals(names: readonly ('SIGINT' | 'SIGTERM' | 'SIGHUP')[], hear: (signal: string, count: number) => void): () => void {
  let count = 0
  const listeners = names.map((name) => {
    const listener = (): void => hear(name, ++count)
    process.on(name, listener)
    return () => void process.off(name, listener)
  })
  return () => listeners.forEach((remove) => remove())
}

/** Ends the process. What was written to standard output before is out: the streams of a terminal and a file are synchronous, a pipe is flushed first. */
export function exitProcess(code: number): void {
  process.exitCode = code
  if (process.stdout.writableLength === 0) process.exit(code)
  process.stdout.write('', () => process.exit(code))
}
