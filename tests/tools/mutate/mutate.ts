/**
 * Plants small bugs in the sources, one at a time, and runs the nearest tests under Node: `npm run mutate -- cache`.
 *
 *   npm run mutate -- ROOM|FILE|FILE:LINE[-LINE]… [--count N] [--seed S] [--save FILE] [--near]
 *   npm run mutate -- --load FILE [--near]
 *
 * ROOMs are folders of lib. `--count`: bugs in each of them, default 10. `--save` writes the bugs with their outcomes;
 * `--load` plants those of such a file again, also where the lines around them have moved. `--near`: only the room's
 * own tests run, and the type check. The exit code is the number of bugs that survive, at most 100.
 *
 * A child process has all bugs behind a switch, and runs the tests that reach one until a test fails with it, and not
 * without it. What remains is planted in a copy of the tree, for the type check, the nearest test files, and those that
 * need a process of their own. Which tests reach what is kept in node_modules/.cache/mutate.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { withFolder } from '../folder.ts'
import { endAll } from '../runner/processes.js'
import { readTree, ROOT } from '../tree.ts'
import { type Bug, draw, mutantOf, plant } from './bugs.ts'
import { Children, type Measured } from './children.ts'
import { Copy } from './copy.ts'
import { distances, ringOf } from './nearest.ts'

/** Tests of other subjects, of real servers, and of the built package. */
const FAR = /^tests\/(?:structure|types|build|bench|e2e|examples|kubectl|soak)|\/real/
const NEEDS_DIST = /tools\/dist\.ts|tools\/user_project\.ts|samples\.ts/
/** What files import that start processes. */
const STARTS = /'node:(?:child_process|worker_threads)'/
/** What the tests of other rooms may take for one bug. */
const OTHERS_MS = 10_000
const NEAREST_FILES = 8
const TOOL = ['mutants', 'child', 'captured'].map((name) => `tests/tools/mutate/${name}.ts`)
const CACHE = join(ROOT, 'node_modules/.cache/mutate')

const { values: options, positionals: places } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    save: { type: 'string' },
    load: { type: 'string' },
    near: { type: 'boolean', default: false },
  },
})

const files = readTree(['lib', 'tests', 'mod.ts'], /\.(?:ts|js)$/)
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, string> }
const entries = Object.fromEntries(
  Object.entries(exports).map(([name, path]) => [`kubeloop${name.slice(1)}`, path.slice(2)]),
)
const importsOf = distances(files, entries)
const bugs = options.load
  ? JSON.parse(readFileSync(options.load, 'utf8')) as Bug[]
  : places.flatMap((place) => draw(place, files, Number(options.count), Number(options.seed)))
if (bugs.length === 0) throw new Error('There is no source file at these places. Name folders of lib, or files.')
const paths = [...new Set(bugs.map(({ path }) => path))].filter((path) => files.has(path))
const rooms = [...new Set(bugs.map(roomOf))].toSorted()
const testFiles = [...files].filter(([path, text]) =>
  path.endsWith('.test.ts') && !FAR.test(path) && !NEEDS_DIST.test(text) &&
  Math.min(...paths.map((source) => ring(path, source))) <= (options.near ? 1 : 2)
)
  .map(([path]) => path)

console.log(`${testFiles.length} test files; those whose imports have changed are measured`)
const children = new Children(ROOT, rooms)
process.on('exit', () => {
  endAll('SIGTERM')
  children.end()
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
const measured: Measured[] = []
/** Files with tests that need a process of their own. */
const apart = new Set<string>()
for (const file of testFiles) {
  const startsProcesses = [...importsOf(file).keys()].some((path) =>
    path.startsWith('tests/') && STARTS.test(files.get(path)!)
  )
  const tests = startsProcesses ? undefined : await measure(file)
  measured.push(...tests?.filter(({ isRepeatable }) => isRepeatable) ?? [])
  if (!tests?.every(({ isRepeatable }) => isRepeatable)) apart.add(file)
}
children.end()
console.log(`${measured.length} tests in one process, ${apart.size} files apart`)
const unreached = new Set<Bug>()
await withFolder(async (folder) => {
  const copy = new Copy(folder)
  for (const bug of bugs) {
    const began = Date.now()
    bug.by = await finder(bug, copy)
    const place = `${bug.path}:${bug.line} ${bug.kind}, ${((Date.now() - began) / 1000).toFixed(1)} s`
    if (bug.by) console.log(`found ${place}, by ${bug.by}`)
    else console.log(`NOT FOUND ${place}\n  - ${bug.from.trim()}\n  + ${bug.to.trim()}`)
  }
})
children.end()
if (options.save) writeFileSync(options.save, JSON.stringify(bugs, undefined, 1))
for (const room of [...rooms, undefined]) {
  const own = bugs.filter((bug) => room === undefined || roomOf(bug) === room)
  const survivors = own.filter(({ by }) => by === undefined)
  const reached = survivors.filter((bug) => !unreached.has(bug)).length
  console.log(
    `${room ?? 'all'}: ${own.length} planted, ${own.length - survivors.length} found, ${reached} survived, ${
      survivors.length - reached
    } that no test reaches`,
  )
}
process.exit(Math.min(bugs.filter(({ by }) => by === undefined).length, 100))

function roomOf({ path }: Bug): string {
  return path.split('/')[1]!
}

function ring(test: string, source: string): number {
  return ringOf(test, source, distance(test, source))
}

function distance(test: string, source: string): number {
  return importsOf(test).get(source) ?? Infinity
}

/** Returns the tests of a file, from the cache if nothing that the file imports has changed. */
async function measure(file: string): Promise<readonly Measured[] | undefined> {
  const hash = createHash('sha256').update(JSON.stringify([rooms, file]))
  for (const path of [...importsOf(file).keys(), ...TOOL]) hash.update(files.get(path)!)
  const cached = join(CACHE, `${hash.digest('hex')}.json`)
  if (existsSync(cached)) return (JSON.parse(readFileSync(cached, 'utf8')) as { tests?: Measured[] }).tests
  const tests = await children.measure(file)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(cached, JSON.stringify({ tests }))
  return tests
}

/** Returns the first that finds a bug. */
async function finder(bug: Bug, copy: Copy): Promise<string | undefined> {
  const text = files.get(bug.path)
  const planted = text && plant(bug, text)
  if (!planted) return 'nothing: the line is gone'
  const found = mutantOf(bug, text)
  const reaching = found ? measured.filter(({ reaches }) => reaches[bug.path]?.includes(found.index)) : []
  const by = found && await children.firstFailure(bug.path, found.index, chosen(bug.path, reaching))
  if (by) return by
  const { atLoad = true } = found?.mutant ?? {}
  if (reaching.length === 0 && !atLoad) unreached.add(bug)
  const near = testFiles.toSorted((a, b) => distance(a, bug.path) - distance(b, bug.path))
  const nearest = near.filter((test) => ring(test, bug.path) === 0).slice(0, NEAREST_FILES)
  // The tests of the room have not had a bug of what is evaluated at load.
  const isOpen = (test: string): boolean =>
    apart.has(test) || ((atLoad || reaching.length === 0) && ring(test, bug.path) < 2)
  const rest = near.filter((test) => distance(test, bug.path) < Infinity && !nearest.includes(test) && isOpen(test))
  const failure = async (tests: readonly string[]): Promise<string | undefined> => {
    copy.write(bug.path, planted)
    const by = await copy.firstFailure(tests)
    copy.write(bug.path, text)
    // A test that fails without the bug too has not found it.
    return by && !await copy.firstFailure(tests) ? by : undefined
  }
  return await copy.typeError(bug.path, planted, text) ?? await failure(nearest) ?? await failure(rest)
}

/** The nearest first, then the fastest; of those of other rooms, what they may take. */
function chosen(path: string, reaching: readonly Measured[]): Measured[] {
  let left = OTHERS_MS
  return reaching.toSorted((a, b) => ring(a.file, path) - ring(b.file, path) || a.ms - b.ms)
    .filter(({ file, ms }) => ring(file, path) < 2 || (left -= ms) > 0)
}
