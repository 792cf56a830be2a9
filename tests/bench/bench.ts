/**
 * What kubeloop needs for an operator's work, beside the bare work without a library and, where Go is, beside controller-runtime:
 *
 *   npm run bench -- [work …] [--n 10000] [--rounds 9] [--runtimes node,bun,deno]
 *
 * Works: sync (with heap and peak, and what an index and a list take), reconcile-1, reconcile-10-status, latency. On the real control plane where KUBEBUILDER_ASSETS
 * is set. Every figure is from a process of its own; the subjects alternate, so that what the machine does meanwhile hits all.
 * Prints a table of medians; BENCH_OUT names a file to which one JSON line a figure is added.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs, promisify } from 'node:util'
import { openStage, type Stage } from './stage.ts'
import { Report } from './report.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    n: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '9' },
    runtimes: { type: 'string', default: 'node,bun,deno' },
  },
})
const HERE = import.meta.dirname
const BIN = join(HERE, '../../node_modules/.bin')
const SHARED = join(HERE, '../../../shared')
const N = Number(options.n)
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  node: ['node', '--expose-gc'],
  bun: ['bun', 'run'],
  deno: ['deno', 'run', '-A', '--no-check', '--v8-flags=--expose-gc'],
}

/** One of those that are compared. */
interface Subject {
  readonly name: string
  readonly runtime: string
  readonly command: readonly string[]
}

interface Work {
  readonly name: string
  readonly rounds: number
  /** How many objects there are. */
  readonly objects: number
  readonly subjects: (stage: Stage) => Subject[]
  /** From what a subject printed to its figures, by name and unit. */
  readonly figures: (printed: Record<string, number>) => readonly (readonly [work: string, value: number, unit: string])[]
}

const runtimes = options.runtimes.split(',').filter((name) => {
  if (!RUNTIMES[name]) throw new Error(`Cannot run on "${name}": there are ${Object.keys(RUNTIMES).join(', ')}`)
  return true
})
const peer = buildPeer()
const rounds = Number(options.rounds)
const fewer = Math.min(rounds, 5)

const WORKS: readonly Work[] = [
  {
    name: 'sync', rounds, objects: N,
    subjects: (stage) => [
      ...ours('sync.ts', stage),
      ...floors(stage),
      ...theirs(stage, ['-mode', 'sync']),
    ],
    figures: (printed) => [
      ['sync', printed['ms']!, 'ms'],
      ['heap', printed['heapMib'] ?? printed['heap_growth_mib'] ?? printed['heap_mib']!, 'MiB'],
      ['peak', printed['peakMib'] ?? printed['peak_growth_mib'] ?? printed['peak_mib']!, 'MiB'],
      // Only ours index and list.
      ...(printed['indexMs'] === undefined ? [] : [['index', printed['indexMs'], 'ms'], ['list', printed['listMs']!, 'ms']] as const),
    ],
  },
  {
    name: 'reconcile-1', rounds: fewer, objects: N,
    subjects: (stage) => [...ours('reconcile.ts', stage, [String(N), '1']), ...theirs(stage, ['-mode', 'reconcile', '-n', String(N)])],
    figures: (printed) => [['reconcile-1', printed['perSecond'] ?? printed['per_s']!, 'objects/s']],
  },
  {
    name: 'reconcile-10-status', rounds: fewer, objects: N,
    subjects: (stage) => [
      ...ours('reconcile.ts', stage, [String(N), '10', 'status']),
      ...theirs(stage, ['-mode', 'reconcile', '-n', String(N), '-workers', '10', '-write']),
    ],
    figures: (printed) => [['reconcile-10-status', printed['perSecond'] ?? printed['per_s']!, 'objects/s']],
  },
  {
    name: 'latency', rounds: fewer, objects: 0,
    subjects: (stage) => [...ours('latency.ts', stage, ['1000']), ...theirs(stage, ['-mode', 'latency', '-n', '1000'])],
    figures: (printed) => [
      ['latency-p50', printed['p50'] ?? printed['p50_ms']!, 'ms'],
      ['latency-p99', printed['p99'] ?? printed['p99_ms']!, 'ms'],
    ],
  },
]

const unknown = positionals.filter((name) => !WORKS.some((work) => work.name === name))
if (unknown.length > 0) throw new Error(`Cannot run "${unknown.join(', ')}": there are ${WORKS.map(({ name }) => name).join(', ')}`)

const stage = await openStage()
const report = new Report()
try {
  for (const work of WORKS) {
    if (positionals.length > 0 && !positionals.includes(work.name)) continue
    await stage.fill(work.objects)
    const subjects = work.subjects(stage)
    for (let round = 0; round < work.rounds; round++) {
      for (const { name, runtime, command } of subjects) {
        for (const [figure, value, unit] of work.figures(await run(command))) report.note({ work: figure, subject: name, runtime, unit }, value)
      }
      process.stderr.write(`${work.name}: round ${round + 1} of ${work.rounds}\n`)
    }
  }
} finally {
  await stage.close()
}
console.log(`${N.toLocaleString('en')} objects on the ${stage.name}; medians of alternating rounds\n\n${report.table('kubeloop')}`)
const out = process.env['BENCH_OUT']
if (out) appendFileSync(out, report.lines(N))

function ours(file: string, { clusterFile }: Stage, args: readonly string[] = []): Subject[] {
  return runtimes.map((runtime) => ({ name: 'kubeloop', runtime, command: [...program(runtime), join(HERE, 'works', file), clusterFile, ...args] }))
}

/** The bare work: a watch list over node:https into a Map. */
function floors({ clusterFile }: Stage): Subject[] {
  const floor = join(SHARED, 'floor/floor.mjs')
  if (!existsSync(floor)) return []
  return runtimes.map((runtime) => ({ name: 'floor', runtime, command: [...program(runtime), floor, clusterFile] }))
}

function theirs({ kubeconfig }: Stage, args: readonly string[]): Subject[] {
  if (peer === undefined) return []
  const command = [peer, '-config', kubeconfig, ...args]
  return [{ name: 'cr-typed', runtime: 'go', command: [...command, '-typed'] }, { name: 'cr-unstructured', runtime: 'go', command }]
}

function program(runtime: string): string[] {
  const [name = '', ...args] = RUNTIMES[runtime]!
  return [join(BIN, name), ...args]
}

/** Not synchronously: connections of this process that the server closes meanwhile must be heard of. */
async function run([program = '', ...args]: readonly string[]): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 })
  const line = stdout.trim().split('\n').at(-1) ?? ''
  return JSON.parse(line) as Record<string, number>
}

/** Controller-runtime's program; undefined where there is no Go, or no program to build. */
function buildPeer(): string | undefined {
  const script = join(SHARED, 'peerbench/build.sh')
  if (!existsSync(script) || spawnSync('go', ['version']).error) {
    console.log('Go or the program to compare with is not here: controller-runtime is left out')
    return undefined
  }
  return execFileSync('bash', [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}
