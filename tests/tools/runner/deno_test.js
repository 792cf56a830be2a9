/**
 * What node:test exports, for test files that share a realm of Deno: hooks are those of the file that has them. A test
 * has the name `FILE > NAME`, as Deno reports no file. Plain JavaScript, for tests/run.js.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

/** Deno begins a test with the asynchronous context of what ran last, such as the operator of another test. */
const withoutContext = AsyncLocalStorage.snapshot()
/** The file that is being loaded. */
let loading
/** The errors that nothing in the running test has awaited: Deno would end all that follows. */
let strays

for (const type of ['error', 'unhandledrejection']) {
  addEventListener(type, (event) => {
    if (!strays || event.defaultPrevented) return
    event.preventDefault()
    strays.push(event.error ?? event.reason)
  })
}

/** Registers the tests of a file, given by its path from the top of the repository. */
export async function load(path) {
  loading = { path, before: [], after: [], beforeEach: [], left: 0, isBegun: false }
  try {
    await import(new URL(`../../../${path}`, import.meta.url).href)
  } catch (error) {
    test('the file is loaded', () => {
      throw error
    })
  }
}

export function before(hook) {
  loading.before.push(hook)
}

export function after(hook) {
  loading.after.push(hook)
}

export function beforeEach(hook) {
  loading.beforeEach.push(hook)
}

export function test(name, ...rest) {
  const file = loading
  const [run, { skip } = {}] = rest.toReversed()
  if (!skip) file.left++
  Deno.test({
    name: `${file.path} > ${name}`,
    ignore: Boolean(skip),
    ...{ sanitizeExit: false, sanitizeOps: false, sanitizeResources: false },
    fn: () =>
      withoutContext(async () => {
        if (!file.isBegun) {
          file.isBegun = true
          console.error(`# ${file.path}`)
          for (const hook of file.before) await hook()
        }
        const afterTest = []
        strays = []
        try {
          for (const hook of file.beforeEach) await hook()
          await run({ name, diagnostic: (text) => console.error(text), after: (hook) => afterTest.push(hook) })
          for (const error of strays) throw error
        } finally {
          strays = undefined
          for (const hook of afterTest) await hook()
          if (--file.left === 0) { for (const hook of file.after) await hook() }
        }
      }),
  })
}
