/** Runs an operator file in a process of this test's runtime, with only the permissions it needs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPILED } from '../tools/compiled.ts'
import { withFolder } from '../tools/folder.ts'

/** The permissions that the docs list for Deno, besides the server and the files. */
export const DENO_ENV = '--allow-env=KUBECONFIG,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,HOME'

export const REPO: string = fileURLToPath(new URL('../../', import.meta.url))

interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

export interface OperatorProcessOptions {
  readonly file: string
  readonly kubeconfig: string
  readonly server: string
  /** Paths that it must be able to read, besides the kubeconfig. */
  readonly reads: readonly string[]
  readonly args?: readonly string[]
  /** Ports of 127.0.0.1 that it listens on. */
  readonly listens?: readonly number[]
  /** Whether it takes itself for a pod, although it has a kubeconfig. */
  readonly isPod?: boolean
}

/** Starts an operator. If the process ends by itself, its output has the reason. */
export function startOperatorProcess(
  { file, kubeconfig, server, reads, args = [], listens = [], isPod = false }: OperatorProcessOptions,
) {
  const net = [new URL(server).host, ...listens.map((port) => `127.0.0.1:${port}`)]
  const runtimeArgs = runtimeArguments({ reads: [...reads, kubeconfig], net })
  // Without this process's KUBEBUILDER_ASSETS and KUBECONFIG, which must not affect it.
  const child: ChildProcess = spawn(process.execPath, [...runtimeArgs, file, ...args], {
    cwd: dirname(file),
    env: {
      ...COMPILED,
      ...{ PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', KUBECONFIG: kubeconfig },
      ...(isPod && { KUBERNETES_SERVICE_HOST: new URL(server).hostname }),
    },
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
    /** Sends a signal. Resolves when the process has ended. */
    async end(signal: 'SIGTERM' | 'SIGKILL') {
      // Not child.kill(): after it, Deno reports that the signal ended the child, even if it did not.
      if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal)
      return await ended
    },
  }
}

/** Returns exact permissions for `deno run`. The other runtimes have none. */
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

/** Writes a kubeconfig that only its owner can read, calls `work`, and removes it. */
export async function withKubeconfig(text: string, work: (path: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, 'kubeconfig')
    writeFileSync(path, text, { mode: 0o600 })
    await work(path)
  })
}
