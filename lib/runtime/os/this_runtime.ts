/** What this process is run by, and where it runs. */
import process from 'node:process'
import { printable } from '../../core/printable.ts'

export type RuntimeName = 'node' | 'bun' | 'deno'

export interface ThisRuntime {
  readonly name: RuntimeName
  readonly version: string
  /** The program itself, to start another one of it. */
  readonly program: string
}

export function thisRuntime(): ThisRuntime {
  const { bun, deno, node } = process.versions as {
    readonly bun?: string
    readonly deno?: string
    readonly node: string
  }
  const [name, version] = bun ? (['bun', bun] as const) : deno ? (['deno', deno] as const) : (['node', node] as const)
  return { name, version, program: process.execPath }
}

/** What this program was called with, without itself. */
export function programArguments(): string[] {
  return process.argv.slice(2)
}

/** The process that started this one; another one when that has ended. */
export function parentPid(): number {
  return process.ppid
}

/** The folder this process was started in; undefined where it may not be known, as on Deno without `--allow-read`. */
export function workingFolder(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined // removed since, or guarded: paths are then shown as they are
  }
}

/** Whether a process of this id exists, ours or not. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM'
  }
}

/** Ends a process at once, if there still is one of this id. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ESRCH') throw error
  }
}

/** This process's id. */
export function ownPid(): number {
  return process.pid
}

/** Hears when nobody reads standard output any more, as after `| head`; else the next write would end the process with a stack. */
export function onOutputClosed(hear: () => void): void {
  process.stdout.on('error', (error) => {
    const { code } = error as { code?: unknown }
    // EIO: the terminal was closed.
    if (code !== 'EPIPE' && code !== 'EIO') throw error
    hear()
  })
}

/** A line for the user where output is data. Control characters in it are made visible. */
export function writeErrorLine(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}
