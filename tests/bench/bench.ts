/**
 * Benchmarks of kubeloop, compared with the bare work without a library and, if Go is installed, with
 * controller-runtime.
 *
 *   npm run bench -- [work …] [--n 10000] [--rounds R] [--runtimes node,bun,deno] [--beside DIR]
 *     [--subjects kubeloop,floor]
 *
 * The works are in works.ts; the name of a figure selects its work. --n: the number of objects of sync, reconcile-… and
 * stall (each of 50 controllers reconciles all of them: 10,000 take half a minute, 200,000 about ten minutes). --rounds
 * replaces the rounds of every work. --beside DIR also runs the works of another checkout, with its lib, as the subject
 * `beside`, to measure a change. --subjects excludes all others. Runs on the real control plane if KUBEBUILDER_ASSETS
 * is set.
 *
 * Every figure comes from a separate process; the subjects alternate, so that other load on the machine affects all of
 * them. Without names, on three runtimes, it takes about 35 minutes on two idle cores, a third of that for
 * reconcile-10-status. Prints a table of medians. Appends one JSON line a figure to the file in BENCH_OUT, if set.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { type Lab, openLab } from './lab.ts'
import { Report } from './report.ts'
import { RUNTIMES } from './subjects.ts'
import { DERIVED, type Work, worksFor } from './works.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    n: { type: 'string', default: '10000' },
    rounds: { type: 'string' },
    runtimes: { type: 'string', default: 'node,bun,deno' },
    beside: { type: 'string' },
    subjects: { type: 'string' },
  },
})
const works = chosen(worksFor(count('--n', options.n)), positionals)
const rounds = options.rounds === undefined ? undefined : count('--rounds', options.rounds)
const runtimes = options.runtimes.split(',')
const missing = runtimes.filter((name) => !RUNTIMES[name])
if (missing.length > 0) {
  throw new Error(`Cannot run on "${missing.join(', ')}": use ${Object.keys(RUNTIMES).join(', ')}`)
}

const wanted = options.subjects?.split(',')
if (wanted && !wanted.includes('kubeloop')) {
  throw new Error(`Cannot use --subjects ${options.subjects}: it needs "kubeloop", which the others are compared with`)
}
if (options.beside !== undefined && !existsSync(join(options.beside, 'tests/bench/works'))) {
  throw new Error(
    `Cannot use --beside ${options.beside}: it is not a checkout of kubeloop, as it has no tests/bench/works`,
  )
}
const lab = openLab(runtimes, options.beside === undefined ? undefined : resolve(options.beside))
const report = new Report()
try {
  for (const work of works) {
    // Keeps the figures measured so far.
    await run(work, lab).catch((error: unknown) => {
      process.exitCode = 1
      console.error(`Cannot continue measuring ${work.name}:`, error)
    })
  }
} finally {
  await lab.close()
}
for (const derived of DERIVED) report.derive(derived)
const server = process.env['KUBEBUILDER_ASSETS'] ? 'kube-apiserver' : 'the embedded one'
const minutes = (performance.now() / 60_000).toFixed(1)
console.log(
  `medians of alternating rounds; the API server is ${server}; ${minutes} minutes\n\n${report.table('kubeloop')}`,
)
const out = process.env['BENCH_OUT']
if (out) appendFileSync(out, report.lines())

async function run(work: Work, lab: Lab): Promise<void> {
  const places = [...lab.runtimes, 'go']
  const subjects = (await work.subjects(lab)).filter(({ name }) => wanted?.includes(name) ?? true).toSorted((a, b) =>
    places.indexOf(a.runtime) - places.indexOf(b.runtime)
  )
  const all = rounds ?? work.rounds
  for (let round = 0; round < all; round++) {
    const printed = work.atOnce ? await Promise.all(subjects.map(({ measure }) => measure())) : undefined
    // Reverse every second round, so that no subject always follows the same one.
    const order = [...subjects.entries()]
    for (const [at, { name, runtime, measure }] of round % 2 === 0 ? order : order.reverse()) {
      const figures = printed?.[at] ?? await measure()
      for (const { name: figure, unit, value } of work.figures) {
        const found = value(figures)
        if (found !== undefined) report.note({ work: figure, subject: name, runtime, unit, n: work.n }, found)
      }
    }
    process.stderr.write(`${work.name}: round ${round + 1} of ${all}\n`)
  }
}

/** Returns the works selected by name or by the name of one of their figures. */
function chosen(works: readonly Work[], names: readonly string[]): readonly Work[] {
  const namesOf = ({ name, figures }: Work): string[] => [name, ...figures.map((figure) => figure.name)]
  const needed = names.flatMap((name) => {
    const derived = DERIVED.filter((each) => each.name === name)
    const figures = derived.length > 0 ? derived.flatMap(({ from }) => from.map(({ figure }) => figure)) : [name]
    for (const figure of figures) {
      if (works.some((work) => namesOf(work).includes(figure))) continue
      const known = [...works.flatMap(namesOf), ...DERIVED.map((each) => each.name)]
      throw new Error(`Cannot run "${name}": use one of ${[...new Set(known)].join(', ')}`)
    }
    return figures
  })
  if (names.length === 0) return works.filter(({ extra }) => !extra)
  return works.filter((work) => namesOf(work).some((name) => needed.includes(name)))
}

function count(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new Error(`Cannot use ${option} ${text}: it must be a whole number above 0`)
}
