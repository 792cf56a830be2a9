/**
 * A million keys through the work queue and, where Go is, through both Go queues in the same minutes:
 *
 *   node tests/bench/queue.ts [--n 1000000] [--rounds 5] [--runtimes node,bun,deno]
 *
 * Prints turns per second, the best of the interleaved rounds, and the ratios. "burst" is an initial list at priority
 * -100 with every tenth key at 0, added and then worked off; "steady" a queue of 10,000 keys that is never empty, where
 * each turn adds two keys. "Map" is a bare Map that remembers and drops each key: the floor.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    n: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    runtimes: { type: 'string', default: 'node' },
  },
})
const HERE = import.meta.dirname
const BIN = join(HERE, '../../node_modules/.bin')
const WORKLOADS = ['burst', 'steady']

interface Contender {
  readonly name: string
  readonly command: (workload: string) => readonly string[]
}

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-queue-'))
try {
  const contenders = [...options.runtimes.split(',').flatMap(ours), ...theirs(join(folder, 'queuebench'))]
  const best = new Map<string, number>()
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const workload of WORKLOADS) for (const each of contenders) note(best, `${workload} ${each.name}`, measure(each, workload))
  }
  for (const workload of WORKLOADS) print(workload, contenders, (name) => best.get(`${workload} ${name}`)!)
} finally {
  rmSync(folder, { recursive: true })
}

function ours(runtime: string): Contender[] {
  const command = { node: ['node'], bun: ['bun', 'run'], deno: ['deno', 'run', '-A', '--no-check'] }[runtime]
  if (!command) throw new Error(`Cannot run on "${runtime}": there are node, bun and deno`)
  const [program = '', ...args] = command
  return ['kubeloop', 'Map'].map((queue) => ({
    name: `${queue} (${runtime})`,
    command: (workload) => [join(BIN, program), ...args, join(HERE, 'queue_workload.ts'), queue, workload, options.n],
  }))
}

/** The Go queues, built once; none where there is no Go. */
function theirs(program: string): Contender[] {
  if (spawnSync('go', ['version']).error) {
    console.log('Go is not here: the Go queues are left out')
    return []
  }
  execFileSync('go', ['build', '-o', program, '.'], { cwd: join(HERE, 'queue_go'), stdio: 'inherit' })
  return [{ name: 'client-go workqueue', queue: 'workqueue' }, { name: 'controller-runtime priorityqueue', queue: 'priorityqueue' }].map(
    ({ name, queue }) => ({ name, command: (workload) => [program, '-queue', queue, '-workload', workload, '-n', options.n] }),
  )
}

function measure({ command }: Contender, workload: string): number {
  const [program = '', ...args] = command(workload)
  const { perSecond } = JSON.parse(execFileSync(program, args, { encoding: 'utf8' })) as { perSecond: number }
  return perSecond
}

function note(best: Map<string, number>, name: string, perSecond: number): void {
  best.set(name, Math.max(best.get(name) ?? 0, perSecond))
}

function print(workload: string, contenders: readonly Contender[], perSecond: (name: string) => number): void {
  console.log(`\n${workload}, ${Number(options.n).toLocaleString('en')} turns, best of ${options.rounds}`)
  const own = contenders[0]!.name
  for (const { name } of contenders) {
    const ratio = name === own ? '' : `  ${own} is ${(perSecond(own) / perSecond(name)).toFixed(2)} × that`
    console.log(`  ${name.padEnd(34)}${Math.round(perSecond(name)).toLocaleString('en').padStart(12)} /s${ratio}`)
  }
}
