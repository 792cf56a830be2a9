/** Child processes: started with their output in a file, and never left behind, however this process ends. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

export interface ChildProcess {
  readonly pid: number
  /** Settles when the process has ended; never rejects. */
  readonly ended: Promise<ProcessEnd>
  kill(signal?: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): void
}

/** How a process ended: by itself with a code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

export interface ProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  /** The file its output is appended to. A file, not a pipe: nothing blocks the child when nobody reads. */
  readonly output: string
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a process; settles when it runs, or rejects when it cannot be started. */
export function startProcess(options: ProcessOptions): Promise<ChildProcess> {
  const { command, args, output, env } = options
  return new Promise((resolve, reject) => {
    const file = openSync(output, 'a', 0o600)
    try {
      const child = spawn(command, args, { stdio: ['ignore', file, file], env: { ...process.env, ...env } })
      const ended = new Promise<ProcessEnd>((settle) => child.once('exit', (code, signal) => settle({ code, signal })))
      child.once('error', (cause) => reject(new Error(`Cannot start "${command}": ${cause.message}`, { cause })))
      child.once('spawn', () => {
        if (child.pid === undefined) reject(new Error(`Cannot start "${command}": it has no process id`))
        else resolve({ pid: child.pid, ended, kill: (signal = 'SIGTERM') => void child.kill(signal) })
      })
    } finally {
      closeSync(file)
    }
  })
}

/** Kills a set of processes and removes a folder when this process is gone before it released them. */
export interface ProcessGuard {
  /** Replaces the processes that are guarded. */
  watch(pids: readonly number[]): void
  /** Settles when the guard itself has ended, leaving processes and folder alone. */
  release(): Promise<void>
}

/**
 * A guard outlives its starter: a shell that reads process ids from a pipe and acts when the pipe closes.
 * The system closes it in every case: return, exception, `process.exit()`, SIGKILL, out of memory.
 */
export function guardProcesses(folder: string): ProcessGuard {
  // A last line "released" means there is nothing to do. Ctrl-C goes to the whole group; the guard must survive it.
  // What a killed process still has open can keep the folder from being removed at the first try.
  const script = `trap '' INT TERM HUP; last=; while read -r line; do last=$line; done
[ "$last" = released ] && exit 0
[ -n "$last" ] && kill -9 $last 2>/dev/null
rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }`
  // Detached, for Deno kills the children it still knows of when it ends with an exception.
  const guard = spawn('/bin/sh', ['-c', script, 'kubeloop-guard', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = new Promise<void>((resolve) => {
    guard.once('exit', () => resolve())
    // Without a guard there is nothing to release; what it guards is then killed by its owner alone.
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
