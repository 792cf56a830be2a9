/** Starts child processes and makes sure that they end with this process. */
import type { ChildProcess as NodeChild } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { nodeChildProcess } from './builtins.ts'

export interface ChildProcess {
  readonly pid: number
  /** Resolves when the process has ended; never rejects. */
  readonly ended: Promise<ProcessEnd>
  /** Sends a signal. Default: SIGTERM. */
  kill(signal?: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): void
}

/** How a process ended: with an exit code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
}

export interface ProcessOptions extends SpawnOptions {
  /** The file that the output is appended to. With a pipe, the child would block when nothing reads it. */
  readonly output: string
}

/** Starts a process. Resolves when it runs; rejects if it cannot be started. */
export function startProcess({ output, ...options }: ProcessOptions): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const file = openSync(output, 'a', 0o600)
    try {
      start(options, ['ignore', file, file]).then(resolve, reject)
    } finally {
      closeSync(file)
    }
  })
}

/**
 * Starts a process that shares this one's terminal: its output goes there, and Ctrl-C reaches both.
 * Resolves when it runs; rejects if it cannot be started.
 */
export function spawnInherited(options: SpawnOptions): Promise<ChildProcess> {
  return start(options, 'inherit')
}

function start(
  { command, args, env }: SpawnOptions,
  stdio: 'inherit' | ['ignore', number, number],
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child: NodeChild = nodeChildProcess().spawn(command, args, { stdio, env: { ...process.env, ...env } })
    const ended = new Promise<ProcessEnd>((settle) => child.once('exit', (code, signal) => settle({ code, signal })))
    child.once('error', (cause) => reject(new Error(`Cannot start "${command}": ${cause.message}`, { cause })))
    child.once('spawn', () => {
      if (child.pid === undefined) reject(new Error(`Cannot start "${command}": it has no process id`))
      else resolve({ pid: child.pid, ended, kill: (signal = 'SIGTERM') => void child.kill(signal) })
    })
  })
}

/** Kills a set of processes and removes a folder if this process ends before the guard is released. */
export interface ProcessGuard {
  /** Replaces the processes that are guarded. */
  watch(pids: readonly number[]): void
  /** Ends the guard, leaving processes and folder alone. Resolves when it has ended. */
  release(): Promise<void>
}

/**
 * Starts a guard that outlives this process: a shell that reads process ids from a pipe and acts when the pipe closes.
 * The system closes the pipe in every case: return, exception, `process.exit()`, SIGKILL, out of memory.
 */
export function guardProcesses(folder: string): ProcessGuard {
  // The last line "released" means there is nothing to do. The guard ignores Ctrl-C, which goes to the whole group.
  // A killed process may still hold files open, so removing the folder may need a second try.
  const script = `trap '' INT TERM HUP; last=; while read -r line; do last=$line; done
[ "$last" = released ] && exit 0
[ -n "$last" ] && kill -9 $last 2>/dev/null
rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }`
  // Detached, because Deno kills its other children when it ends with an exception.
  const guard = nodeChildProcess().spawn('/bin/sh', ['-c', script, 'kubeloop-guard', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = new Promise<void>((resolve) => {
    guard.once('exit', () => resolve())
    // If the guard cannot start there is nothing to release: the processes are then killed only by their owner.
    guard.once('error', () => resolve())
  })
  guard.stdin.on('error', () => guard.stdin.destroy())
  return {
    watch: (pids) => void guard.stdin.write(`${pids.join(' ')}\n`),
    release: () => {
      guard.stdin.end('released\n')
      return ended
    },
  }
}
