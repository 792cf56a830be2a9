/** An operator file as its user runs it: a process of the runtime that runs this test, with only the rights it needs. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the README tells users of Deno to allow, beside the server and what is read. */
export const DENO_ENV = '--allow-env=KUBECONFIG,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,HOME'

export const REPO: string = fileURLToPath(new URL('../../', import.meta.url))

export interface OperatorProcess {
  /** What it wrote on standard output and standard error so far. */
  output(): string
  /** Ends it; settles with how it ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<{ code: number | null; signal: string | null }>
}

export interface OperatorProcessOptions {
  readonly file: string
  readonly kubeconfig: string
  readonly server: string
  /** What it must be able to read, beside the kubeconfig. */
  readonly reads: readonly string[]
}

/** Starts an operator. A process that ends by itself is a failure that the test sees in its output. */
export function startOperatorProcess({ file, kubeconfig, server, reads }: OperatorProcessOptions): OperatorProcess {
  const args = runtimeArguments({ reads: [...reads, kubeconfig], server })
  // Nothing of ours but what it may read: a KUBEBUILDER_ASSETS or a KUBECONFIG of the tester's must not help it.
  const child: ChildProcess = spawn(process.execPath, [...args, file], {
    cwd: dirname(file),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => (output += text))
  }
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  return {
    output: () => output,
    async end(signal) {
      // Not child.kill(): after it, Deno says that the signal ended the child, however it really ended.
      process.kill(child.pid!, signal)
      const [code, by] = await ended
      return { code, signal: by }
    },
  }
}

/** `deno run` asks for exact rights; the others have none to ask for. */
function runtimeArguments({ reads, server }: { reads: readonly string[]; server: string }): string[] {
  const name = basename(process.execPath)
  if (name.startsWith('bun')) return ['run']
  if (!name.startsWith('deno')) return []
  const { host } = new URL(server)
  return ['run', '--no-prompt', '--node-modules-dir=manual', `--allow-net=${host}`, `--allow-read=${reads.join(',')}`, DENO_ENV, '--allow-sys=hostname']
}
