/** How each runtime runs a group of test files in one process. Plain JavaScript, for tests/run.js. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const RUNNER = 'tests/tools/runner'

/**
 * `args` takes the files, the path of the JUnit report, and the limit of one test in ms: a test that hangs fails by its
 * name. Deno has no such option. `begun` matches the line that a runtime prints before it runs a file.
 */
export const RUNTIMES = {
  node: {
    oldest: [26, 0],
    // Without `--test`: that counts a file that ends early (`process.exit(0)`) as one passed test, and has one root for
    // all files, so that the hooks of one file run in all.
    args: (files, report, testMs) => [
      `--test-timeout=${testMs}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=junit',
      `--test-reporter-destination=${report}`,
      `${RUNNER}/node_group.js`,
      ...files,
    ],
    begun: /^# (\S+)$/,
  },
  bun: {
    oldest: [1, 4],
    // Bun ends a test after 5 s unless told otherwise.
    args: (files, report, testMs) => [
      'test',
      `--timeout=${testMs}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    begun: /^(\S+):$/,
  },
  deno: {
    oldest: [2, 9],
    // Files that share a process share its realm, too.
    args(files, report) {
      const options = ['test', '-A', '--no-check', `--junit-path=${report}`]
      if (files.length === 1) return [...options, ...files]
      return [...options, `--import-map=${RUNNER}/deno_imports.json`, `${RUNNER}/deno_group.js`, '--', ...files]
    },
    begun: /^(?:running \d+ tests? from \.\/|# )(\S+)$/,
  },
}

/** Returns the version of a runtime in the folder `bin`, or what is wrong with it. */
export function versionOf(name, bin) {
  const path = join(bin, name)
  const remedy = 'run `npm ci` without --ignore-scripts: it comes with an install script'
  if (!existsSync(path)) return { wrong: `node_modules/.bin/${name} is missing; ${remedy}` }
  const { status, stdout, stderr } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  if (status !== 0) {
    const reason = (stderr || stdout || '').trim().split('\n')[0]
    return { wrong: `node_modules/.bin/${name} does not run: ${reason}; ${remedy}` }
  }
  const found = /(\d+)\.(\d+)\.\d+/.exec(stdout)
  const [major, minor] = [Number(found?.[1]), Number(found?.[2])]
  const [oldestMajor, oldestMinor] = RUNTIMES[name].oldest
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return { version: found[0] }
  const printed = stdout.trim().split('\n')[0]
  return { wrong: `node_modules/.bin/${name} is ${printed}, older than ${oldestMajor}.${oldestMinor}; ${remedy}` }
}
