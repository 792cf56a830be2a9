/**
 * All checks: `npm test`. The checks of the sources and the build first, then the same test files under Node, Bun and
 * Deno, each file in a process of its own; what no runtime changes runs once. The last line is `N passed, N failed`;
 * the exit code is 0 only when nothing failed.
 *
 *   node tests/run.js [--only node,bun,deno] [--jobs N] [--timeout SECONDS] [--again] [--tests] [PATH…]
 *   node tests/run.js --check [NAME…]
 *
 * PATHs are test files or the beginnings of their paths; with one, or with --tests, the sources are not checked, and
 * the package is built only for the tests that look at it. With --again, a file that fails runs once more. `--check`
 * runs the checks of the sources alone, or those whose names begin with a NAME: types, format, lint, unused, doc.
 * Plain JavaScript without dependencies: it runs on Node 20 to say what is wrong with an installation.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { checksOf } from './tools/checks.js'
import { readReport } from './tools/junit.js'
import { skipReason } from './tools/skip_reason.js'

const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '')
const BIN = join(ROOT, 'node_modules/.bin')

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'node,bun,deno' },
    jobs: { type: 'string', default: String(Math.min(availableParallelism(), 4)) },
    timeout: { type: 'string', default: '120' },
    tests: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
})

/** The time limit of one test: a test that hangs fails by its name before its file is ended. Deno has no such option. */
const TEST_MS = Number(options.timeout) * 750

/** How a runtime runs one file and writes its report. */
const RUNTIMES = {
  node: {
    oldest: [26, 0],
    // Without `--test`: that counts a file that ends early (`process.exit(0)`) as one passed test.
    args: (
      file,
      report,
    ) => [
      `--test-timeout=${TEST_MS}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=junit',
      `--test-reporter-destination=${report}`,
      file,
    ],
  },
  bun: {
    oldest: [1, 4],
    // Bun ends a test after 5 s unless told otherwise.
    args: (
      file,
      report,
    ) => [
      'test',
      `--timeout=${TEST_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      `./${file}`,
    ],
  },
  deno: { oldest: [2, 9], args: (file, report) => ['test', '-A', '--no-check', `--junit-path=${report}`, file] },
}

/**
 * Files that run under the first runtime alone: their subject is the text of the sources, or what a real API server
 * answers to requests whose bytes no runtime changes.
 */
const ONCE = [
  'tests/structure/',
  'tests/types/',
  'tests/cli/crd_types.test.ts',
  'tests/conformance/real.test.ts',
  'tests/apiserver/explain.test.ts',
]

const started = Date.now()
const folder = mkdtempSync(join(tmpdir(), 'kubeloop-tests-'))
const running = new Set()
const total = { passed: 0, failed: 0 }
/** What is printed again at the end, in short. */
const failures = []
/** Files that ran once more, and why. */
const repeated = []
const skips = new Map()

process.on('exit', () => {
  for (const child of running) end(child)
  rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

// Once for all: what looks at the built package must not build it three times over itself.
let builds = false

if (options.check) {
  const checks = checksOf(ROOT, BIN, 'typescript7').filter(({ name }) =>
    filters.length === 0 || filters.some((filter) => name.startsWith(filter))
  )
  if (checks.length === 0) fail('--check', `no check has a name that begins with ${filters.join(' or ')}`)
  await runChecks(checks)
  summary()
  process.exit(total.failed > 0 ? 1 : 0)
}

const runtimes = options.only.split(',').map((name) => name.trim()).filter(Boolean)
const unknown = runtimes.filter((name) => !(name in RUNTIMES))
if (unknown.length > 0) {
  fail(`--only ${unknown.join(',')}`, `there is no such runtime; they are ${Object.keys(RUNTIMES).join(', ')}`)
}
const usable = runtimes.filter((name) => !unknown.includes(name) && isInstalled(name))

const files = testFiles().filter((file) =>
  filters.length === 0 || filters.some((filter) => file.startsWith(filter.replace(/^\.\//, '')))
)
const whole = filters.length === 0 && !options.tests
builds = whole || files.some((file) => readFileSync(join(ROOT, file), 'utf8').includes('tools/dist.ts'))
const node = join(BIN, 'node')
if (whole && usable.includes('node')) await runChecks(checksOf(ROOT, BIN, 'typescript'))
if (builds) {
  await step('build', node, ['tests/tools/build.ts'])
  await step('package', node, ['tests/tools/check_package.ts'])
}

if (files.length === 0) fail('tests', `no test file begins with ${filters.join(' or ')}`)
const runsOn = (runtime, file) => runtime === usable[0] || !ONCE.some((path) => file.startsWith(path))
const results = await runAll(
  usable.flatMap((runtime) => files.filter((file) => runsOn(runtime, file)).map((file) => ({ runtime, file }))),
)
compareRuntimes(results)
summary()
process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0)

/** True when a runtime from node_modules answers with a version that is new enough. */
function isInstalled(name) {
  const path = join(BIN, name)
  const remedy = 'run `npm ci` without --ignore-scripts: it comes with an install script'
  if (!existsSync(path)) return fail(name, `node_modules/.bin/${name} is missing; ${remedy}`)
  const { status, stdout, stderr } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  if (status !== 0) {
    return fail(
      name,
      `node_modules/.bin/${name} does not run: ${(stderr || stdout || '').trim().split('\n')[0]}; ${remedy}`,
    )
  }
  const found = /(\d+)\.(\d+)\.\d+/.exec(stdout)
  const [major, minor] = [Number(found?.[1]), Number(found?.[2])]
  const [oldestMajor, oldestMinor] = RUNTIMES[name].oldest
  if (!(major > oldestMajor || (major === oldestMajor && minor >= oldestMinor))) {
    return fail(
      name,
      `node_modules/.bin/${name} is ${
        stdout.trim().split('\n')[0]
      }, older than ${oldestMajor}.${oldestMinor}; ${remedy}`,
    )
  }
  console.log(`${name} ${found[0]}`)
  return true
}

async function runChecks(checks) {
  await Promise.all(checks.map(({ name, command, args }) => step(name, command, args)))
}

/** A check that is one command; its output is shown when it fails. */
async function step(name, command, args) {
  const begun = Date.now()
  const { code, output } = await run(command, args, 300)
  if (code === 0) {
    total.passed++
    console.log(`✔ ${name} (${seconds(begun)})${output.trim() ? `\n${indent(output.trim())}` : ''}`)
  } else fail(name, `exit code ${code}`, output)
}

function testFiles() {
  return readdirSync(join(ROOT, 'tests'), { recursive: true }).map((path) => `tests/${path}`).filter((path) =>
    path.endsWith('.test.ts')
  )
    .sort()
}

/** Runs the jobs, some at a time, and answers with their reports. */
async function runAll(jobs) {
  const queue = [...jobs]
  const done = []
  const worker = async () => {
    for (let job = queue.shift(); job; job = queue.shift()) done.push(await runFile(job))
  }
  await Promise.all(Array.from({ length: Math.max(1, Number(options.jobs)) }, worker))
  for (const runtime of usable) {
    const own = done.filter((each) => each.runtime === runtime)
    const count = (kind) => own.reduce((sum, each) => sum + each.tests.filter((test) => test.result === kind).length, 0)
    const ms = own.reduce((sum, each) => sum + each.ms, 0)
    console.log(
      `${runtime}: ${count('passed')} passed, ${own.reduce((sum, each) => sum + each.failed, 0)} failed, ${
        count('skipped')
      } skipped, in ${own.length} files (${(ms / 1000).toFixed(1)} s of processes)`,
    )
    const slow = own.filter((each) => each.ms > 5000).sort((a, b) => b.ms - a.ms).slice(0, 10)
    for (const each of slow) console.log(`  slow: ${each.file} ${(each.ms / 1000).toFixed(1)} s`)
  }
  return done
}

async function runFile(job) {
  const begun = Date.now()
  const what = `${job.runtime}: ${job.file}`
  let attempt = await runOnce(job)
  const why = reasonToRepeat(attempt)
  if (why) {
    repeated.push(`${what}: ${why}`)
    console.log(`${what}: ${why}; the file runs once more\n${indent(attempt.output.trimEnd())}`)
    attempt = await runOnce(job)
  }
  const { tests, failed, wrong, output } = attempt
  total.passed += tests.filter((test) => test.result === 'passed').length
  for (const test of tests) if (test.result === 'skipped') noteSkip(job.runtime, job.file, test)
  if (wrong) fail(what, wrong, output)
  else if (failed.length > 0) {
    console.log(`✖ ${what}\n${indent(output.trimEnd())}`)
    for (const test of failed) {
      total.failed++
      failures.push(`${what} › ${test.name}`)
    }
  }
  return { ...job, tests, ms: Date.now() - begun, failed: failed.length + (wrong ? 1 : 0) }
}

/**
 * Returns why a file runs once more. With `--again`, a failure is a reason: answers of a real API server depend on when
 * a second ends, and on how far its caches are.
 */
function reasonToRepeat({ failed, wrong }) {
  if (!options.again || (!wrong && failed.length === 0)) return undefined
  return wrong ?? `failed: ${failed.map((test) => test.name).join(', ')}`
}

async function runOnce({ runtime, file }) {
  const report = join(folder, `${runtime}-${file.replaceAll('/', '-')}.xml`)
  rmSync(report, { force: true })
  const args = RUNTIMES[runtime].args(file, report)
  const { code, output } = await run(join(BIN, runtime), args, Number(options.timeout))
  const tests = existsSync(report)
    ? readReport(readFileSync(report, 'utf8'))
    : code === 0
    ? suitesSkippedOnBun(runtime, file, output)
    : []
  const failed = tests.filter((test) => test.result === 'failed')
  // Each failed test is one failure; a file that fails otherwise is one too.
  const wrong = failed.length > 0
    ? undefined
    : code === 'timeout'
    ? `it did not end within ${options.timeout} s${hangingIn(output)}`
    : code !== 0
    ? `it ended with ${code} though no test failed`
    : tests.length === 0
    ? 'it ended without having run a test'
    : undefined
  return { code, output, tests, failed, wrong }
}

/** Names the tests that the output of an ended file has as failed, or as begun: it has written no report. */
function hangingIn(output) {
  const names = output.replaceAll(/\x1b\[[\d;]*m/g, '').matchAll(
    /^(?:✖|\(fail\)) (.+?)(?: [[(][\d.]+ ?ms[\])])?$|^(.+) \.\.\. *$/gm,
  )
  const unique = new Set([...names].map(([, failed, begun]) => `"${failed ?? begun}"`))
  return unique.size > 0 ? `: ${[...unique].join(', ')}` : ''
}

/** Bun says nothing of a suite that is skipped; a file of nothing else gets no report from it. */
function suitesSkippedOnBun(runtime, file, output) {
  if (runtime !== 'bun' || !/^Ran 0 tests across 1 file/m.test(output)) return []
  const suites = readFileSync(join(ROOT, file), 'utf8').matchAll(/^describe\('([^']+)', \{ skip\b/gm)
  return [...suites].map(([, name]) => ({ name, result: 'skipped', line: 0, reason: undefined }))
}

/** The same tests must have run everywhere: one that a runtime never reached would be missed by nobody. */
function compareRuntimes(results) {
  for (const file of files) {
    const own = results.filter((each) => each.file === file && each.failed === 0)
    const ran = new Set(
      own.flatMap((each) => each.tests.filter((test) => test.result !== 'skipped').map((test) => test.name)),
    )
    for (const { runtime, tests } of own) {
      // A skipped suite is not reported with its tests, and by Bun not at all.
      const known = (name) =>
        tests.some((test) => test.name === name || (test.result === 'skipped' && name.startsWith(`${test.name} > `)))
      const missing = [...ran].filter((name) => !known(name))
      if (missing.length > 0) {
        fail(`${runtime}: ${file}`, `it left out tests that another runtime ran: ${missing.join(', ')}`)
      }
    }
  }
}

function noteSkip(runtime, file, test) {
  const key = `${file} › ${test.name}`
  const known = skips.get(key) ?? { runtimes: [], reason: undefined }
  known.runtimes.push(runtime)
  // Only Node reports the reason; for a skip elsewhere the source has it.
  known.reason ??= test.reason ?? sourceReason(file, test)
  skips.set(key, known)
}

function sourceReason(file, test) {
  const read = (path) => readFileSync(join(ROOT, path), 'utf8')
  const beside = readdirSync(join(ROOT, dirname(file))).filter((name) => name.endsWith('.ts')).map((name) =>
    join(dirname(file), name)
  )
  return skipReason(test, read(file), beside.filter((path) => path !== file).map(read))
}

function summary() {
  // Tests with the same reason are one line: an unset variable skips dozens.
  const byReason = new Map()
  for (const [key, { runtimes: where, reason }] of skips) {
    const text = `${where.join(', ')}: ${reason ?? 'no reason is given'}`
    byReason.set(text, [...(byReason.get(text) ?? []), key])
  }
  for (const [text, keys] of byReason) {
    console.log(
      `skipped on ${text}\n${
        indent(keys.length > 6 ? [...keys.slice(0, 5), `and ${keys.length - 5} more`].join('\n') : keys.join('\n'))
      }`,
    )
  }
  if (repeated.length > 0) console.log(`\nUNSTABLE, run once more:\n${indent(repeated.join('\n'))}\n`)
  if (failures.length > 0) console.log(`\nfailed:\n${indent(failures.join('\n'))}`)
  const skipped = [...skips.values()].reduce((sum, each) => sum + each.runtimes.length, 0)
  console.log(`${skipped} skipped; ${seconds(started)} in all`)
  console.log(`${total.passed} passed, ${total.failed} failed`)
}

function fail(what, why, output = '') {
  total.failed++
  failures.push(`${what}: ${why}`)
  console.log(`✖ ${what}: ${why}${output.trim() ? `\n${indent(output.trimEnd())}` : ''}`)
  return false
}

/** Runs a command in a process group of its own, so that what it leaves behind ends with it. */
function run(command, args, timeoutSeconds) {
  return new Promise((resolve) => {
    const env = {
      ...process.env,
      PATH: `${BIN}:${process.env.PATH}`,
      NO_COLOR: '1',
      DENO_NO_UPDATE_CHECK: '1',
      KUBELOOP_DIST_IS_FRESH: builds ? '1' : '',
      // Types are stripped once for all processes of Node: a third of the processor time of a small file.
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
    }
    delete env.FORCE_COLOR
    const child = spawn(command, args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    let output = ''
    let timedOut = false
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const timer = setTimeout(() => {
      timedOut = true
      end(child)
    }, timeoutSeconds * 1000)
    const settle = (code) => {
      clearTimeout(timer)
      end(child)
      running.delete(child)
      resolve({ code: timedOut ? 'timeout' : code, output })
    }
    child.once('error', (error) => settle(error.message))
    child.once('exit', (code, signal) => setTimeout(() => settle(signal ?? code), 20))
  })
}

function end(child) {
  // One that could not be started has none.
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function indent(text) {
  return text.replaceAll(/^/gm, '    ')
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}
