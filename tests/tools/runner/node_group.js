/** Runs test files one after another in this process, each as a suite of its own, so that its hooks are its own. */
import asyncHooks from 'node:async_hooks'
import { writeSync } from 'node:fs'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/**
 * The hook by which node:test finds the test that a promise belongs to. It is on while a file registers its tests, and
 * off while they run: it costs a third of the processor time of tests with many promises. Without it an error that no
 * test awaits fails the file instead of the test, so its stack is printed.
 */
let hook
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => (hook = createHook(callbacks))
const { test } = await import('node:test')
asyncHooks.createHook = createHook

for (const event of ['uncaughtExceptionMonitor', 'unhandledRejection']) {
  process.on(event, (error) => mark(String(error?.stack ?? error)))
}

/** The longest timer. The runner limits each test, and the time of each file. */
const NO_LIMIT_MS = 2 ** 31 - 1

for (const file of process.argv.slice(2)) {
  mark(`# ${file}`)
  hook?.enable()
  await test(file, { timeout: NO_LIMIT_MS }, async (t) => {
    const { promise: loaded, resolve } = Promise.withResolvers()
    // Without it a test would begin before the lines below it were evaluated.
    t.before(() => loaded)
    try {
      await import(pathToFileURL(file).href)
    } catch (error) {
      test('the file is loaded', () => {
        throw error
      })
    }
    hook?.disable()
    resolve()
  })
}
mark('# end')
setTimeout(() => mark(`still open: ${process.getActiveResourcesInfo().join(', ')}`), 1000).unref()

/**
 * Writes a line at once, also if the process then ends. It goes to stderr: stdout may be full of the reporter's lines,
 * and the mark would stand in the middle of one. A pipe that is full for a moment answers EAGAIN.
 */
function mark(line) {
  for (;;) {
    try {
      writeSync(2, `${line}\n`)
      return
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
