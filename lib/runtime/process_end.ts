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

/** Calls `hear` once when the process ends by itself: with nothing left to do, or through `process.exit`. */
export function onOwnEnd(hear: (code: number) => void): void {
  let heard = false
  const once = (code: number): void => {
    if (heard) return
    heard = true
    hear(code)
  }
  process.once('beforeExit', once)
  process.once('exit', once)
}

/**
 * Waits for the runtime's watcher to start this file again. Bun's watcher ends with the process, and Deno's may not have
 * begun to watch when the program ends, so there it is kept alive unless it `mustEnd`. Never settles.
 */
export function waitForChange(code: number, mustEnd = false): Promise<never> {
  const { bun, deno } = process.versions as { readonly bun?: string; readonly deno?: string }
  if ((!bun && !deno) || mustEnd) process.exit(code)
  setInterval(() => {}, LONGEST_TIMER_MS)
  return new Promise(() => {})
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
