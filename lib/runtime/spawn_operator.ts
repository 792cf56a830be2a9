/** A child process that shares this one's terminal: what it prints is its own, and Ctrl-C reaches both. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import type { ProcessEnd } from './child_process.ts'

export interface OperatorProcess {
  readonly pid: number
  /** Settles when the process has ended and what it printed was passed on; never rejects. */
  readonly ended: Promise<ProcessEnd>
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): void
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>
  /** Lines of standard output that are not passed on. With it, standard output is a pipe; without, this process's own. */
  readonly drop?: ((line: string) => boolean) | undefined
}

/** Starts it; settles when it runs, or rejects when it cannot be started. */
export function spawnOperator({ command, args, env, drop }: SpawnOptions): Promise<OperatorProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['inherit', drop ? 'pipe' : 'inherit', 'inherit'], env: { ...process.env, ...env } })
    const ended = new Promise<ProcessEnd>((settle) => child.once(drop ? 'close' : 'exit', (code, signal) => settle({ code, signal })))
    if (drop) passOn(child.stdout!, drop)
    child.once('error', (cause) => reject(new Error(`Cannot start "${command}": ${cause.message}`, { cause })))
    child.once('spawn', () => {
      if (child.pid === undefined) reject(new Error(`Cannot start "${command}": it has no process id`))
      else resolve({ pid: child.pid, ended, kill: (signal) => void child.kill(signal) })
    })
  })
}

/** Whole lines to our standard output, as bytes: nothing but the dropped lines is touched. */
function passOn(output: NodeJS.ReadableStream, drop: (line: string) => boolean): void {
  let rest: Buffer = Buffer.alloc(0)
  const write = (bytes: Buffer): void => {
    if (bytes.length > 0 && !drop(bytes.toString().replace(/\r?\n$/, ''))) process.stdout.write(bytes)
  }
  output.on('data', (chunk: Buffer) => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      write(rest.subarray(0, end + 1))
      rest = rest.subarray(end + 1)
    }
  })
  output.on('end', () => write(rest))
}

const NEWLINE = 10
