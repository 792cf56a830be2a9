/** Runs lanes of kubectl commands against one server and returns what each command printed. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { normalize, type Origin, type Replacement } from './normalize.ts'

/** One command of a lane: a line for `sh`, or a line with more. */
export type Step = string | {
  readonly run: string
  /** Distinguishes equal lines of a lane. */
  readonly as?: string
  /** Replaces parts of the output that differ from run to run, such as generated names. */
  readonly replace?: readonly Replacement[]
}

/** Commands that run one after the other, in a namespace and a folder of their own. */
export interface Lane {
  readonly name: string
  /** Files of the folder, by name. */
  readonly files?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

/** What a command printed, and its exit code. */
export interface Output {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The server that a session runs against. */
export interface Target extends Origin {
  /** The folder of kubectl. */
  readonly programs: string
  /** Returns a kubeconfig with the namespace in its context. */
  kubeconfig(namespace: string): string
}

/** Returns the name of a step, which is unique in all lanes. */
export function stepName(lane: Lane, step: Step): string {
  const { run, as } = typeof step === 'string' ? { run: step, as: undefined } : step
  return `${lane.name}: ${as ?? run.replace(/^kubectl /, '')}`
}

/**
 * Runs the first lane alone, then the others, `parallel` at a time. Resolves with the normalized outputs by the names of
 * the steps.
 */
export async function runSession(
  target: Target,
  lanes: readonly Lane[],
  parallel: number,
): Promise<ReadonlyMap<string, Output>> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-kubectl-'))
  const outputs = new Map<string, Output>()
  try {
    const [first, ...rest] = lanes
    if (first) await runLane(target, first, folder, outputs)
    const waiting = [...rest]
    const worker = async (): Promise<void> => {
      for (let lane = waiting.shift(); lane; lane = waiting.shift()) await runLane(target, lane, folder, outputs)
    }
    await Promise.all(Array.from({ length: parallel }, worker))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return outputs
}

async function runLane(target: Target, lane: Lane, folder: string, outputs: Map<string, Output>): Promise<void> {
  const home = join(folder, lane.name)
  mkdirSync(home)
  const kubeconfig = join(folder, `${lane.name}.kubeconfig`)
  writeFileSync(kubeconfig, target.kubeconfig(lane.name), { mode: 0o600 })
  for (const [name, text] of Object.entries(lane.files ?? {})) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), text)
  }
  const env = {
    PATH: `${target.programs}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    KUBECONFIG: kubeconfig,
    // One cache of discovery for all lanes of a server.
    KUBECACHEDIR: join(folder, 'cache'),
    LC_ALL: 'C',
    TZ: 'UTC',
  }
  const run = (line: string): Promise<Output> => runLine(line, home, env)
  const namespace = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: lane.name } })
  const prepared = await run(`echo '${namespace}' | kubectl create --raw /api/v1/namespaces -f -`)
  if (prepared.code !== 0) throw new Error(`Cannot create the namespace ${lane.name}: ${prepared.stderr}`)
  for (const step of lane.steps) {
    const { run: line, replace = [] } = typeof step === 'string' ? { run: step } : step
    const output = await run(line)
    const clean = (text: string): string =>
      normalize(text.replaceAll(home, '<home>').replaceAll(kubeconfig, '<kubeconfig>'), target, replace)
    outputs.set(stepName(lane, step), { code: output.code, stdout: clean(output.stdout), stderr: clean(output.stderr) })
  }
}

/** The time that a command may take, in seconds. Then it is killed with the processes that it started. */
const MAX_SECONDS = '40'

function runLine(line: string, cwd: string, env: Record<string, string>): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn('timeout', ['-k', '1', MAX_SECONDS, 'sh', '-c', line], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8')
      child[name].on('data', (text: string) => (texts[name] += text))
    }
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? 128, ...texts }))
  })
}
