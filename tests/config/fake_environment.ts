/** A fake environment for configuration, with files, variables, programs and a clock; and kubeconfigs for it. */
import type { Environment } from '../../lib/config/environment.ts'
import { CommandNotFound, type ExecOptions, type ExecResult } from '../../lib/runtime/os/exec.ts'

export const CA = '-----BEGIN CERTIFICATE-----\nQ0E=\n-----END CERTIFICATE-----\n'
export const CERT = '-----BEGIN CERTIFICATE-----\nQ0VSVA==\n-----END CERTIFICATE-----\n'
export const KEY = '-----BEGIN PRIVATE KEY-----\nS0VZ\n-----END PRIVATE KEY-----\n'

/** Returns a kubeconfig with one context, whose user and cluster have these fields. Without a user it names none. */
export function kubeconfigOf(cluster: object, user?: object, namespace?: string): string {
  return JSON.stringify({
    'current-context': 'dev',
    contexts: [{ name: 'dev', context: { cluster: 'c', namespace, ...(user && { user: 'u' }) } }],
    clusters: [{ name: 'c', cluster: { server: 'https://api:6443', ...cluster } }],
    users: user ? [{ name: 'u', user }] : [],
  })
}

export function valueOf(value: string | (() => Promise<string | undefined>) | undefined): Promise<string | undefined> {
  return typeof value === 'function' ? value() : Promise.resolve(value)
}

export interface FakeEnvironment extends Environment {
  readonly files: Record<string, string>
  readonly variables: Record<string, string>
  readonly programs: Record<string, (args: readonly string[], options: ExecOptions) => ExecResult | Promise<ExecResult>>
  readonly reads: string[]
  readonly runs: string[]
  terminal: boolean
  advance(ms: number): void
}

export function fakeEnvironment(
  parts: Partial<Pick<FakeEnvironment, 'files' | 'variables' | 'programs'>> = {},
): FakeEnvironment {
  const { files = {}, variables = {}, programs = {} } = parts
  const [reads, runs]: [string[], string[]] = [[], []]
  let now = Date.parse('2026-11-21T10:00:00Z')
  return {
    files,
    variables,
    programs,
    reads,
    runs,
    terminal: false,
    advance: (ms) => (now += ms),
    clock: { now: () => now, monotonic: () => now, after: () => () => {} },
    env: (name) => variables[name],
    optionalEnv: (name) => variables[name],
    homeDir: () => variables['HOME'],
    hasTerminal() {
      return this.terminal
    },
    readText(file) {
      reads.push(file)
      const text = files[file]
      if (text !== undefined) return Promise.resolve(text)
      return Promise.reject(Object.assign(new Error(`ENOENT: no such file, open '${file}'`), { code: 'ENOENT' }))
    },
    async exec(command, args, options) {
      runs.push(command)
      const program = programs[command]
      if (!program) throw new CommandNotFound(`Cannot run "${command}": it is not installed`)
      return await program(args, options)
    },
  }
}
