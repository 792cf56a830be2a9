/** A child process that shares this one's terminal: what it prints is its own, and Ctrl-C reaches both. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import type { ProcessEnd } from './child_process.ts'

export interface OperatorProcess {
  readonly pid: number
  /** Settles when the process has ended; never rejects. */
  readonly ended: Promise<ProcessEnd>
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): void
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>
}

/** Starts it; settles when it runs, or rejects when it cannot be started. */
export function spawnInherited({ command, args, env }: SpawnOptions): Promise<OperatorProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
    const ended = new Promise<ProcessEnd>((settle) => child.once('exit', (code, signal) => settle({ code, signal })))
    child.once('error', (cause) => reject(new Error(`Cannot start "${command}": ${cause.message}`, { cause })))
    child.once('spawn', () => {
      if (child.pid === undefined) reject(new Error(`Cannot start "${command}": it has no process id`))
      else resolve({ pid: child.pid, ended, kill: (signal) => void child.kill(signal) })
    })
  })
}
