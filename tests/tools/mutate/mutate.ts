/**
 * Plants small bugs in the sources, one at a time, and runs the nearest tests under Node: `npm run mutate -- cache`.
 *
 *   npm run mutate -- ROOM|FILE… [--count N] [--seed S] [--jobs N] [--save FILE]
 *   npm run mutate -- --load FILE [--near]
 *
 * ROOMs are folders of lib. `--count`: bugs in each of them, default 10. `--save` writes the bugs with their outcomes;
 * `--load` plants those of such a file again, also where the lines around them have moved. `--near`: only the room's own
 * tests run, and the type check. A bug that no test finds is
 * printed with its place; the exit code is the number of these, at most 100.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { seededRandom } from '../../../lib/testing/random.ts'
import { endAll, run } from '../runner/processes.js'
import { readTree, ROOT } from '../tree.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { distances } from './nearest.ts'
import { withFolder } from '../folder.ts'

/** A bug with its outcome; `from` becomes `to`, whole lines, at the nth place where `from` stands. */
interface Bug {
  readonly path: string
  readonly line: number
  readonly kind: string
  readonly from: string
  readonly to: string
  readonly nth: number
  by?: string | undefined
}

/** Data and generated files. */
const EXCLUDED = /^lib\/(?:kinds|apiserver\/model\/builtin_schemas)/
/** Tests of other subjects, of real servers, and of the built package. */
const FAR = /^tests\/(?:structure|types|build|bench|e2e|examples|kubectl)|\/real/
const NEEDS_DIST = /tools\/(?:dist|user_project)\.ts|samples\.ts/
const COPIED = ['lib', 'tests', 'examples', 'docs', 'mod.ts', 'package.json', 'tsconfig.json', 'README.md']
const FILE_SECONDS = 60
const LIMIT_MS = 600_000

const { values: options, positionals: places } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
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
const distance = distances(files, entries)
const tests = [...files].filter(([path, text]) =>
  path.endsWith('.test.ts') && !FAR.test(path) && !NEEDS_DIST.test(text)
)
  .map(([path]) => path)

process.on('exit', () => endAll('SIGTERM'))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const bugs = options.load ? JSON.parse(readFileSync(options.load, 'utf8')) as Bug[] : places.flatMap(draw)
if (bugs.length === 0) throw new Error('There is no source file at these places. Name folders of lib, or files.')
const queue = [...bugs]
await Promise.all(Array.from({ length: Number(options.jobs) }, work))
if (options.save) writeFileSync(options.save, JSON.stringify(bugs, undefined, 1))
const survivors = bugs.filter(({ by }) => by === undefined)
console.log(`${bugs.length} bugs, ${bugs.length - survivors.length} found`)
process.exit(Math.min(survivors.length, 100))

/** Draws bugs of a room: first the kind, then the place, so that rare kinds are among them. */
function draw(place: string): Bug[] {
  const paths = [...files.keys()].filter((path) =>
    (path === place || path.startsWith(`lib/${place}/`)) && path.endsWith('.ts') && !EXCLUDED.test(path)
  )
  const all = paths.flatMap((path) => mutantsOf(path, files.get(path)!).map((mutant) => ({ path, mutant })))
  const kinds = [...Map.groupBy(all, ({ mutant }) => mutant.kind).values()]
  const random = seededRandom(Number(options.seed))
  const drawn: Bug[] = []
  while (drawn.length < Number(options.count) && kinds.length > 0) {
    const kind = kinds[Math.floor(random() * kinds.length)]!
    const [one] = kind.splice(Math.floor(random() * kind.length), 1)
    if (one) drawn.push(bugOf(one.path, files.get(one.path)!, one.mutant))
    else kinds.splice(kinds.indexOf(kind), 1)
  }
  return drawn
}

function bugOf(path: string, text: string, { kind, start, end, text: to }: Mutant): Bug {
  const first = text.lastIndexOf('\n', start - 1) + 1
  const last = text.indexOf('\n', end) < 0 ? text.length : text.indexOf('\n', end)
  const from = text.slice(first, last)
  const nth = text.slice(0, first).split(from).length - 1
  const line = text.slice(0, first).split('\n').length
  return { path, line, kind, from, to: text.slice(first, start) + to + text.slice(end, last), nth }
}

async function work(): Promise<void> {
  await withFolder(async (folder) => {
    for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (let bug = queue.shift(); bug; bug = queue.shift()) {
      const began = Date.now()
      await tryOne(bug, folder)
      const place = `${bug.path}:${bug.line} ${bug.kind}`
      console.log(
        `${bug.by ? 'found' : 'NOT FOUND'} ${place}, ${((Date.now() - began) / 1000).toFixed(0)} s${
          bug.by ? `, by ${bug.by}` : `\n  - ${bug.from.trim()}\n  + ${bug.to.trim()}`
        }`,
      )
    }
  })
}

async function tryOne(bug: Bug, folder: string): Promise<void> {
  const text = files.get(bug.path)
  const parts = text?.split(bug.from) ?? []
  if (parts.length < 2) {
    bug.by = 'nothing: the line is gone'
    return
  }
  const at = Math.min(bug.nth, parts.length - 2)
  const planted = parts.slice(0, at + 1).join(bug.from) + bug.to + parts.slice(at + 1).join(bug.from)
  writeFileSync(join(folder, bug.path), planted)
  bug.by = undefined
  const [own = [], room = [], others = []] = rings(bug.path)
  const steps = [
    () => firstFailure(own, folder),
    () => firstFailure(room, folder),
    // Before the others, which take minutes.
    () => typeError(folder),
    () => options.near ? undefined : firstFailure(others, folder),
  ]
  for (const step of steps) {
    bug.by = await step()
    if (bug.by) break
  }
  writeFileSync(join(folder, bug.path), text!)
}

/** The tests of a source file: that of its own name and those that import it, those of its room, all others. */
function rings(path: string): string[][] {
  const room = path.split('/')[1]!
  const mirror = path.replace(/^lib/, 'tests').replace(/\.ts$/, '')
  const ringOf = (test: string): number => {
    const steps = distance(test, path)
    if (steps === Infinity) return 3
    if (steps === 1 || test.startsWith(`${mirror}.`)) return 0
    return test.startsWith(`tests/${room}/`) ? 1 : 2
  }
  const near = tests.toSorted((a, b) => distance(a, path) - distance(b, path))
  return [0, 1, 2].map((ring) => near.filter((test) => ringOf(test) === ring))
}

/** Returns the first test that fails. */
async function firstFailure(paths: readonly string[], folder: string): Promise<string | undefined> {
  if (paths.length === 0) return undefined
  let failure: string | undefined
  const args = ['tests/run.js', '--tests', '--only', 'node', '--jobs', '1', '--timeout', String(FILE_SECONDS), ...paths]
  const env = { ...process.env, NO_COLOR: '1' }
  const { code, output } = await run(process.execPath, args, {
    cwd: folder,
    env,
    limit: LIMIT_MS,
    signal: 'SIGTERM',
    onLine: (line: string) => {
      if (!/^✖ |^ +✖ .* \([\d.]+ms\)/.test(line)) return undefined
      failure = line.trim()
      // Ends the run as soon as its names are printed.
      return 200
    },
  })
  if (code === 0) return undefined
  return /^ +✖ (.*) \([\d.]+ms\)/m.exec(output)?.[1] ?? failure ?? `exit code ${code}: ${output.slice(-200)}`
}

async function typeError(folder: string): Promise<string | undefined> {
  const args = ['node_modules/typescript7/bin/tsc', '-p', '.', '--noEmit']
  const { code, output } = await run(process.execPath, args, { cwd: folder, env: process.env, limit: LIMIT_MS })
  return code === 0 ? undefined : `types: ${output.trim().split('\n')[0]}`
}
