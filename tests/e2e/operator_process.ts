/** An operator file as its user runs it: a process of the runtime that runs this test, with only the rights it needs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the README tells users of Deno to allow, beside the server and what is read. */
export const DENO_ENV = '--allow-env=KUBECONFIG,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,HOME'

export const REPO: string = fileURLToPath(new URL('../../', import.meta.url))

interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

export interface OperatorProcess {
  /** What it wrote on standard output and standard error so far. */
  output(): string
  /** Ends it; settles with how it ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<ProcessEnd>
  /** Settles with how it ended. */
  readonly ended: Promise<ProcessEnd>
}

export interface OperatorProcessOptions {
  readonly file: string
  readonly kubeconfig: string
  readonly server: string
  /** What it must be able to read, beside the kubeconfig. */
  readonly reads: readonly string[]
  /** What it is told behind its file's name. */
  readonly args?: readonly string[]
  /** Ports of 127.0.0.1 that it listens on. */
  readonly listens?: readonly number[]
}

/** Starts an operator. A process that ends by itself is a failure that the test sees in its output. */
export function startOperatorProcess(
  { file, kubeconfig, server, reads, args = [], listens = [] }: OperatorProcessOptions,
): OperatorProcess {
  const net = [new URL(server).host, ...listens.map((port) => `127.0.0.1:${port}`)]
  const runtimeArgs = runtimeArguments({ reads: [...reads, kubeconfig], net })
  // Nothing of ours but what it may read: a KUBEBUILDER_ASSETS or a KUBECONFIG of the tester's must not help it.
  const child: ChildProcess = spawn(process.execPath, [...runtimeArgs, file, ...args], {
    cwd: dirname(file),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => (output += text))
  }
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as ProcessEnd)
  return {
    output: () => output,
    ended,
    async end(signal) {
      // Not child.kill(): after it, Deno says that the signal ended the child, however it really ended.
      if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal)
      return await ended
    },
  }
}

/** `deno run` asks for exact rights; the others have none to ask for. */
function runtimeArguments({ reads, net }: { reads: readonly string[]; net: readonly string[] }): string[] {
  const name = basename(process.execPath)
  if (name.startsWith('bun')) return ['run']
  if (!name.startsWith('deno')) return []
  return [
    'run',
    '--no-prompt',
    '--node-modules-dir=manual',
    `--allow-net=${net.join(',')}`,
    `--allow-read=${reads.join(',')}`,
    DENO_ENV,
    '--allow-sys=hostname',
  ]
}

/** Writes a kubeconfig that only its owner can read, for as long as the work lasts. */
export async function withKubeconfig(text: string, work: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-e2e-'))
  try {
    const path = join(folder, 'kubeconfig')
    writeFileSync(path, text, { mode: 0o600 })
    await work(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
