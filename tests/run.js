/**
 * All checks: `npm test`. The checks of the sources, the build, and the same test files under Node, Bun and Deno; what
 * no runtime changes runs once. Files share a process: tests/tools/runner/jobs.js has those that don't. The last line
 * is `N passed, N failed`; the exit code is 0 only when nothing failed.
 *
 *   node tests/run.js [--only node,bun,deno] [--jobs N] [--timeout SECONDS] [--tests] [PATH…]
 *   node tests/run.js --check [NAME…]
 *   node tests/run.js --fuzz TIMES [PATH…]
 *
 * PATHs are test files or the beginnings of their paths; with one, or with --tests, the sources are not checked, and
 * the package is built only for the tests that look at it. `--check` runs the checks of the sources alone, or those
 * whose names begin with a NAME: types, format, lint, unused, doc. `--fuzz` runs the files with random cases, each case
 * TIMES as often.
 * Plain JavaScript without dependencies: it runs on Node 20 to say what is wrong with an installation.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { checksOf } from './tools/checks.js'
import { jobsOf } from './tools/runner/jobs.js'
import { endAll, run } from './tools/runner/processes.js'
import { Progress } from './tools/runner/progress.js'
import { RUNTIMES, versionOf } from './tools/runner/runtimes.js'
import { Summary } from './tools/runner/summary.js'
import { Times } from './tools/runner/times.js'
import { verdicts, withoutPassed } from './tools/runner/verdicts.js'

/** What the files with random cases import. */
const FUZZ = 'tools/fuzz.ts'

const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '')
const BIN = join(ROOT, 'node_modules/.bin')
const NODE = join(BIN, 'node')

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    only: { type: 'string', default: 'node,bun,deno' },
    // One more than there are cores, as a third of the time of a file is waiting.
    jobs: { type: 'string', default: String(Math.min(availableParallelism() + 1, 5)) },
    timeout: { type: 'string', default: '120' },
    tests: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    fuzz: { type: 'string' },
  },
})

if (options.help) {
  // The comment at the head of this file.
  console.log(read('tests/run.js').split('\n */')[0].replace(/^\/\*\*\n/, '').replaceAll(/^ \* ?/gm, ''))
  process.exit(0)
}

/** The limit of a file. A test has less, so that one that hangs fails by its name before its process is ended. */
const FILE_MS = Number(options.timeout) * 1000
const TEST_MS = FILE_MS * 0.75
/** The limit of a process after its last test. */
const CLOSE_MS = 15_000
const STEP_MS = 300_000

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-tests-'))
const progress = new Progress()
const summary = new Summary((text) => progress.print(text))

process.on('exit', () => {
  endAll()
  rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const times = new Times(join(ROOT, 'node_modules/.cache/kubeloop/test_times.json'))
await (options.check ? check() : test())
progress.stop()
times.save()
process.exit(summary.print() ? 0 : 1)

async function check() {
  const checks = checksOf(ROOT, BIN).filter(({ name }) =>
    filters.length === 0 || filters.some((filter) => name.startsWith(filter))
  )
  if (checks.length === 0) summary.fail('--check', `no check has a name that begins with ${filters.join(' or ')}`)
  await runAll(checks.map(stepJob))
}

async function test() {
  const runtimes = usableRuntimes()
  const files = testFiles()
  const isWhole = filters.length === 0 && !options.tests && options.fuzz === undefined
  if (files.length === 0) summary.fail('tests', `no test file begins with ${filters.join(' or ')}`)
  const groups = jobsOf(files, runtimes, read)
  const results = []
  // .ci/run sets the variable when `npm test` has built the package and looked at it.
  const needsBuild = !process.env.KUBELOOP_DIST_IS_FRESH && (isWhole || groups.some(({ needsDist }) => needsDist))
  const build = stepJob({ name: 'build', command: NODE, args: ['tests/tools/build.ts'] })
  const steps = [
    ...(needsBuild ? [build] : []),
    ...(isWhole && runtimes.includes('node') ? checksOf(ROOT, BIN).map(stepJob) : []),
    ...(needsBuild
      ? [{ ...stepJob({ name: 'package', command: NODE, args: ['tests/tools/check_package.ts'] }), needsDist: true }]
      : []),
  ]
  await runAll([
    ...steps,
    ...groups.map((group) => ({ ...group, work: async () => void results.push(...await runGroup(group)) })),
  ], needsBuild ? build : undefined)
  summary.addResults(runtimes, results)
  summary.compareRuntimes(results)
}

function usableRuntimes() {
  return options.only.split(',').map((name) => name.trim()).filter(Boolean).filter((name) => {
    if (!(name in RUNTIMES)) {
      return summary.fail(`--only ${name}`, `there is no such runtime; they are ${Object.keys(RUNTIMES).join(', ')}`)
    }
    const { version, wrong } = versionOf(name, BIN)
    if (wrong) return summary.fail(name, wrong)
    console.log(`${name} ${version}`)
    return true
  })
}

function testFiles() {
  return readdirSync(join(ROOT, 'tests'), { recursive: true }).map((path) => `tests/${path}`)
    .filter((path) => path.endsWith('.test.ts'))
    .filter((file) => options.fuzz === undefined || read(file).includes(FUZZ))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.startsWith(filter.replace(/^\.\//, ''))))
    .sort()
}

/** Runs jobs, some at a time, the longest first, and those that mostly wait beside them. */
async function runAll(jobs, build) {
  progress.start(new Map(jobs.map((job) => [job.name, times.of(job)])))
  const sorted = jobs.toSorted((a, b) => Number(b === build) - Number(a === build) || times.of(b) - times.of(a))
  let release
  const built = new Promise((resolve) => (release = resolve))
  let isBuilt = build === undefined
  const work = async (queue) => {
    for (;;) {
      const at = queue.findIndex((job) => isBuilt || !job.needsDist)
      if (at < 0 && queue.length === 0) return
      if (at < 0) {
        await built
        continue
      }
      const [job] = queue.splice(at, 1)
      const ended = progress.begin(job.name)
      await job.work()
      ended()
      progress.done(job.name)
      if (job === build) {
        isBuilt = true
        release()
      }
    }
  }
  const busy = sorted.filter(({ isWaiting }) => !isWaiting)
  const waiting = sorted.filter(({ isWaiting }) => isWaiting)
  await Promise.all([...Array.from({ length: Math.max(1, Number(options.jobs)) }, () => work(busy)), work(waiting)])
}

/** Returns the job of a check that is one command; its output is shown when it fails. */
function stepJob({ name, command, args }) {
  const work = async () => {
    const began = Date.now()
    const { code, output } = await run(command, args, { cwd: ROOT, env: environment(), limit: STEP_MS })
    times.note(name, Date.now() - began)
    if (code === 0) summary.pass(name, Date.now() - began, output)
    else summary.fail(name, `exit code ${code}`, output)
  }
  return { name, files: [name], work, isWaiting: false, needsDist: false }
}

/** Runs files in one process, and those again that it did not reach. Returns the result of each file. */
async function runGroup({ runtime, files }) {
  const end = await runProcess(runtime, files)
  const { results, again, doubt } = verdicts(files, end, Number(options.timeout))
  const done = results.map(({ file, tests, wrong }) => {
    const failed = tests.filter((test) => test.result === 'failed')
    const ms = end.msOf(file)
    times.note(`${runtime} ${file}`, ms)
    if (wrong) summary.fail(`${runtime}: ${file}`, wrong, files.length === 1 ? end.output : withoutPassed(end.output))
    summary.addTests(runtime, file, tests)
    return { runtime, file, tests, ms, failed: failed.length + (wrong ? 1 : 0) }
  })
  if (done.some(({ tests }) => tests.some(({ result }) => result === 'failed'))) {
    const beside = files.length > 1 ? ` (one process for ${files.length} files)` : ''
    progress.print(`✖ ${runtime}${beside}\n${indent(withoutPassed(end.output))}`)
  }
  for (const group of again) done.push(...await runGroup({ runtime, files: group }))
  if (doubt && done.every(({ failed }) => failed === 0)) {
    summary.fail(`${runtime}: ${files.join(' ')}`, `${doubt}; each alone passes`, withoutPassed(end.output))
  }
  return done
}

async function runProcess(runtime, files) {
  const { args, begun: pattern } = RUNTIMES[runtime]
  const path = join(mkdtempSync(join(folder, 'report-')), 'report.xml')
  const began = new Map()
  let [over, endedMs] = [false, 0]
  const onLine = (line) => {
    const found = pattern.exec(line.replaceAll(/\x1b\[[\d;]*m/g, ''))?.[1]
    if (files.includes(found) && !began.has(found)) {
      began.set(found, Date.now())
      return FILE_MS
    }
    if (runtime !== 'node' || found !== 'end') return undefined
    over = true
    return CLOSE_MS
  }
  const startedMs = Date.now()
  const { code, output } = await run(join(BIN, runtime), args(files, path, TEST_MS), {
    cwd: ROOT,
    env: environment(),
    limit: FILE_MS,
    onLine,
  })
  endedMs = Date.now()
  const marks = [...began.values(), endedMs]
  return {
    code,
    output,
    report: existsSync(path) ? readFileSync(path, 'utf8') : undefined,
    begun: [...began.keys()],
    over,
    msOf: (file) => {
      if (files.length === 1) return endedMs - startedMs
      const at = [...began.keys()].indexOf(file)
      return at < 0 ? 0 : marks[at + 1] - marks[at]
    },
  }
}

function environment() {
  const env = {
    ...process.env,
    PATH: `${BIN}:${process.env.PATH}`,
    NO_COLOR: '1',
    DENO_NO_UPDATE_CHECK: '1',
    // The runner builds the package before the tests that look at it.
    KUBELOOP_DIST_IS_FRESH: '1',
    ...(options.fuzz !== undefined && { KUBELOOP_FUZZ: options.fuzz }),
    // Types are stripped once for all processes of Node: a third of the processor time of a small file.
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
  }
  delete env.FORCE_COLOR
  return env
}

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8')
}

function indent(text) {
  return text.replaceAll(/^/gm, '    ')
}
