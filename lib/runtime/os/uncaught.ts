/** The ends of a process that nobody planned. */
import process from 'node:process'

/** Hears of an exception or a rejection that nobody caught, instead of the runtime, which would print its own stack and end. */
export function onUncaught(hear: (error: unknown) => void): void {
  process.on('uncaughtException', hear)
  process.on('unhandledRejection', hear)
}

/** Hears of rejections that nobody awaited; the process goes on. Returns what stops listening. */
export function onUnawaited(hear: (error: unknown) => void): () => void {
  process.on('unhandledRejection', hear)
  return () => void process.off('unhandledRejection', hear)
}

/** Calls `hear` once when the process ends by itself: with nothing left to do, or through `process.exit`. It may return another exit code. */
export function onOwnEnd(hear: (code: number) => number | undefined): void {
  let heard = false
  const once = (code: number): void => {
    if (heard) return
    heard = true
    process.exitCode = hear(code) ?? code
  }
  process.once('beforeExit', once)
  process.once('exit', once)
}

/** Writes a line to standard error when the process has nothing left to do and did not fail, unless the returned function was called. */
export function onIdleEnd(line: () => string | undefined): () => void {
  const write = (code: number): void => {
    // Another listener may have made it a failure just now, and said why.
    const text = (process.exitCode ?? code) === 0 ? line() : undefined
    if (text) process.stderr.write(`${text}\n`)
  }
  process.once('beforeExit', write)
  return () => void process.off('beforeExit', write)
}
