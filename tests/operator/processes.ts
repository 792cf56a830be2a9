/** Runs operators as processes of the runtime that runs the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { COMPILED } from '../tools/compiled.ts'

interface Line {
  readonly level: string
  readonly message: string
  readonly error?: unknown
}

export interface Outcome {
  readonly code: number | null
  readonly lines: Line[]
  readonly output: string
  readonly errors: string
}

export interface Started {
  /** Resolves with the first line whose message matches. */
  line(pattern: RegExp): Promise<Line>
  kill(signal: 'SIGTERM' | 'SIGINT'): void
  /** Ends it in order; resolves when it has ended. */
  stop(): Promise<Outcome>
  readonly ended: Promise<Outcome>
}

const RUNTIME = basename(process.execPath)
const RUN = RUNTIME.startsWith('deno') ? ['run', '-A', '--no-check'] : RUNTIME.startsWith('bun') ? ['run'] : []

/** Returns the path of a file of ./files. */
export function fileOf(name: string): string {
  return fileURLToPath(new URL(`./files/${name}`, import.meta.url))
}

/** Returns the arguments with which this runtime runs a file of ./files. */
export function argumentsOf(file: string): string[] {
  return [...RUN, fileOf(file)]
}

/** Runs this runtime with only the given environment, and what finds compiled sources. */
export function launch(args: readonly string[], env: Readonly<Record<string, string>>): Started {
  const child = spawn(process.execPath, args, { env: { ...COMPILED, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  const waiting: { pattern: RegExp; resolve: (line: Line) => void }[] = []
  const lines = (): Line[] =>
    output.split('\n').slice(0, -1).flatMap((line) => line.startsWith('{') ? [JSON.parse(line) as Line] : [])
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (const { pattern, resolve } of waiting) {
      const line = lines().find(({ message }) => pattern.test(message))
      if (line) resolve(line)
    }
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, lines: lines(), output, errors }))
  // Not child.kill(): after it, Deno says that the signal ended the child, however it really ended.
  const kill = (signal: 'SIGTERM' | 'SIGINT'): void => void process.kill(child.pid!, signal)
  return {
    ended,
    kill,
    async stop() {
      kill('SIGTERM')
      return await ended
    },
    line: (pattern) =>
      Promise.race([
        new Promise<Line>((resolve) => {
          // It may have been written while the test waited for something else.
          const there = lines().find(({ message }) => pattern.test(message))
          if (there) resolve(there)
          else waiting.push({ pattern, resolve })
        }),
        ended.then(({ errors }) =>
          Promise.reject(new Error(`the process ended without a line like ${pattern}:\n${output}${errors}`))
        ),
      ]),
  }
}

/** Writes a kubeconfig with one context, `test`, and returns its content. */
export function writeKubeconfig(
  path: string,
  { url, ca, token }: { readonly url: string; readonly ca: string; readonly token: string },
) {
  const name = 'test'
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': btoa(ca) } }],
    users: [{ name, user: { token } }],
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  return config
}
