/** The operator of one runtime: a process that is started again when it ends, as a kubelet does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../lib/async/clock.ts'
import { REPO } from '../e2e/operator_process.ts'

export const RUNTIMES = ['node', 'bun', 'deno'] as const
export type Runtime = typeof RUNTIMES[number]

/** What a row changes of how its operators are started. */
export interface Launch {
  readonly prefix?: readonly string[]
  /** Arguments of the runtime. */
  readonly runtimeArgs?: Partial<Record<Runtime, readonly string[]>>
  readonly kubeconfig?: string
  /** Whether its Lease outlives a restart of the control plane. */
  readonly hasLongLease?: true
  /** Whether a process that ends is started again as by default. */
  readonly isOnce?: true
  /** Files in place of the pipes of standard output and standard error. */
  readonly outputs?: readonly [string?, string?]
}

interface Line {
  readonly level?: string
  readonly message: string
}

interface End {
  readonly code: number | null
  readonly signal: string | null
  /** The error lines of the process, the last one last, and what is no log line. */
  readonly errors: readonly string[]
}

export type Lane = ReturnType<typeof laneOf>

const RUN: Record<Runtime, readonly string[]> = { node: [], bun: ['run'], deno: ['run', '-A', '--no-check'] }
const RESTART_MS = 1000
const PROGRAM = fileURLToPath(new URL('./files/marking.ts', import.meta.url))

export function commandLine(
  runtime: Runtime,
  program: string,
  { prefix = [], runtimeArgs = {} }: Launch = {},
): string[] {
  const [sub, ...rest] = RUN[runtime]
  const args = [...(sub ? [sub] : []), ...(runtimeArgs[runtime] ?? []), ...rest, program]
  return [...prefix, join(REPO, 'node_modules/.bin', runtime), ...args]
}

/** Returns an operator that is not started. */
export function laneOf(runtime: Runtime, folder: string, kubeconfig: string) {
  const namespace = `faults-${runtime}`
  const path = join(folder, `${runtime}.kubeconfig`)
  writeFileSync(path, kubeconfig, { mode: 0o600 })
  const children = new Set<ChildProcess>()
  let [output, ends, isStopping, started]: [string, End[], boolean, number] = ['', [], false, 0]
  let cancelStart = (): void => {}
  const start = (launch: Launch = {}): void => {
    isStopping = false
    const [command = '', ...args] = commandLine(runtime, PROGRAM, launch)
    const [stdout, stderr] = launch.outputs ?? []
    const opened = (path: string | undefined): 'pipe' | number => path === undefined ? 'pipe' : openSync(path, 'w')
    const child = spawn(command, [
      ...args,
      namespace,
      `${runtime}-${started++}`,
      ...(launch.hasLongLease ? ['120s', '100s'] : []),
    ], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        KUBECONFIG: launch.kubeconfig ?? path,
        NO_COLOR: '1',
      },
      stdio: ['ignore', opened(stdout), opened(stderr)],
    })
    children.add(child)
    let own = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        own += text
        output += text
      })
    }
    void once(child, 'close').then(([code, signal]) => {
      children.delete(child)
      if (isStopping) return
      const errors = linesOf(own).flatMap(({ level, message }) =>
        level === undefined || level === 'error' ? [message] : []
      )
      ends.push({ code: code as number | null, signal: signal as string | null, errors: errors.slice(-30) })
      cancelStart = systemClock.after(RESTART_MS, () => start(launch.isOnce ? {} : launch))
    })
  }
  return {
    runtime,
    namespace,
    /** The output since {@link clear}. */
    get output() {
      return output
    },
    get ends() {
      return ends
    },
    lines: () => linesOf(output),
    clear: () => void ([output, ends] = ['', []]),
    start,
    /** Sends a signal to all processes of the operator, or to the oldest. */
    signal(signal: NodeJS.Signals, which?: 'oldest') {
      for (const { pid } of [...children].slice(0, which ? 1 : undefined)) process.kill(pid!, signal)
    },
    /** Stops all processes without starting them again. Resolves with their exit codes. */
    async stop() {
      isStopping = true
      cancelStart()
      const all = [...children]
      const ended = all.map((child) => once(child, 'close').then(([code]) => code as number | null))
      for (const { pid } of all) process.kill(pid!, 'SIGTERM')
      return await Promise.all(ended)
    },
  }
}

function linesOf(output: string): Line[] {
  return output.split('\n').filter(Boolean).map((line) => {
    if (!line.startsWith('{')) return { message: line }
    try {
      return JSON.parse(line) as Line
    } catch {
      return { message: line } // the process ended within the line
    }
  })
}
