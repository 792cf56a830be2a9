/** Listens for the signals, uncaught errors and end of this process, and ends it. */
import { type Clock, systemClock } from '../../async/clock.ts'

/** A terminal signals the whole process group, and wrappers forward the same signal within this time. */
const REPEAT_MS = 500

/**
 * Calls `onSignal` with each signal and the number of signals so far. A repeat of the same signal within 500 ms is not
 * counted: Ctrl-C reaches a process started by `npm run` or `bun run` twice. Returns a function that stops listening.
 */
export function onSignals(
  names: readonly ('SIGINT' | 'SIGTERM' | 'SIGHUP')[],
  onSignal: (signal: string, count: number) => void,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): () => void {
  let count = 0
  const listeners = names.map((name) => {
    let countedMs = -Infinity
    const listener = (): void => {
      const nowMs = clock.monotonic()
      // Measured from the last counted signal, so that a key held down is counted again.
      if (nowMs - countedMs < REPEAT_MS) return
      countedMs = nowMs
      onSignal(name, ++count)
    }
    process.on(name, listener)
    return () => void process.off(name, listener)
  })
  return () => listeners.forEach((remove) => remove())
}

let isExiting = false

/**
 * Ends the process after standard output is written: terminals and files are synchronous, a pipe is flushed first.
 * A second call does not wait for a pipe that nothing reads.
 */
export function exitProcess(code: number): void {
  process.exitCode = code
  if (isExiting || process.stdout.writableLength === 0) process.exit(code)
  isExiting = true
  process.stdout.write('', () => process.exit(code))
}

/** Calls `onError` for uncaught exceptions and rejections. The runtime then neither prints a stack nor exits. */
export function onUncaught(onError: (error: unknown, isRejection: boolean) => void): void {
  process.on('uncaughtException', (error) => onError(error, false))
  process.on('unhandledRejection', (error) => onError(error, true))
}

/** Calls `onError` for unhandled rejections; the process continues. Returns a function that stops listening. */
export function onUnawaited(onError: (error: unknown) => void): () => void {
  process.on('unhandledRejection', onError)
  return () => void process.off('unhandledRejection', onError)
}

/** Calls `onEnd` once when the process ends without a signal, also by `process.exit`. May return another exit code. */
export function onOwnEnd(onEnd: (code: number) => number | undefined): void {
  let isCalled = false
  const once = (code: number): void => {
    if (isCalled) return
    isCalled = true
    process.exitCode = onEnd(code) ?? code
  }
  process.once('beforeExit', once)
  process.once('exit', once)
}

/** Writes a line to standard error if the process ends idle and did not fail. Returns a function that prevents it. */
export function onIdleEnd(line: () => string | undefined): () => void {
  // One listener for all lines: a process warns of more than ten.
  if (idleLines.size === 0) process.once('beforeExit', writeIdleLines)
  // Equal functions must count separately.
  const own = { line }
  idleLines.add(own)
  return () => {
    idleLines.delete(own)
    if (idleLines.size === 0) process.off('beforeExit', writeIdleLines)
  }
}

const idleLines = new Set<{ readonly line: () => string | undefined }>()

function writeIdleLines(code: number): void {
  for (const { line } of idleLines) {
    // Another listener may have set a failure code just now, and reported why.
    const text = (process.exitCode ?? code) === 0 ? line() : undefined
    if (text) process.stderr.write(`${text}\n`)
  }
  idleLines.clear()
}
