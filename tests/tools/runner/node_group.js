/** Runs test files one after another in this process, each as a suite of its own, so that its hooks are its own. */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** The longest timer. The runner limits each test, and the time of each file. */
const NO_LIMIT_MS = 2 ** 31 - 1

for (const file of process.argv.slice(2)) {
  mark(`# ${file}`)
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
