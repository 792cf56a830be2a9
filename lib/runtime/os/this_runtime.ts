/** Returns what this process is: its runtime, arguments, working folder, main module and process id. */
import { fileURLToPath } from 'node:url'
import { nodeFs } from './builtins.ts'
import { printable } from '../../core/printable.ts'

export type RuntimeName = 'node' | 'bun' | 'deno'

export interface ThisRuntime {
  readonly name: RuntimeName
  readonly version: string
  /** The path of the runtime's executable, to start another process of it. */
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

/** Makes the process fail at its end, as of `node --test` and `bun test`; `deno test` has an exit code of its own. */
export function setFailed(): void {
  process.exitCode = 1
}

export function programArguments(): string[] {
  return process.argv.slice(2)
}

/** Returns the process id of the parent; it changes when the parent has ended. */
export function parentPid(): number {
  return process.ppid
}

/** Returns whether this module was run, not imported. */
export function isMain(module: ImportMeta): boolean {
  const { main, url } = module as { main?: boolean; url: string }
  // Node has `import.meta.main` from 24.2 on.
  return main ?? isMainFile(url)
}

/** Returns whether the process was started with this file, given by its path or URL. */
export function isMainFile(file: string): boolean {
  const started = process.argv[1]
  if (!started) return false
  try {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    const { realpathSync } = nodeFs()
    // Deno resolves no links here, and would ask for a permission to.
    return path === started || (!('Deno' in globalThis) && realpathSync(path) === realpathSync(started))
  } catch {
    return false // started without a file, as with `node --eval`, or the file may not be read
  }
}

/** Returns the folder this process was started in; undefined if it is unknown, as on Deno without `--allow-read`. */
export function workingFolder(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined // removed or not permitted: paths are then shown in full
  }
}

/** Returns whether a process with this id exists, whichever user owns it. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM'
  }
}

/** Kills a process with SIGKILL if one with this id exists. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ESRCH') throw error
  }
}

/** Returns the resident memory of this process in bytes. Needs no permission on Deno. */
export function residentMemory(): number {
  return process.memoryUsage().rss
}

export function ownPid(): number {
  return process.pid
}

/** Writes a line to standard error, for commands whose output is data. Makes control characters in it visible. */
export function writeErrorLine(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}
