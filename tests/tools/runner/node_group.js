/** Runs test files one after another in this process, each as a suite of its own, so that its hooks are its own. */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** The longest timer. The runner limits each test, and the time of each file. */
const NO_LIMIT_MS = 2 ** 31 - 1

for (const file of process.argv.slice(2)) {
  // Written at once, also if the file then ends the process.
  writeSync(1, `# ${file}\n`)
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
writeSync(1, '# end\n')
setTimeout(() => writeSync(1, `still open: ${process.getActiveResourcesInfo().join(', ')}\n`), 1000).unref()
