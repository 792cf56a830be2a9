/**
 * Reads files, and returns the host's name and the user's home.
 *
 * On Deno: `--allow-read=PATH`, `--allow-sys=hostname` for {@link hostName}.
 */
import { access, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { nodeFs } from './builtins.ts'
import { optionalEnv } from './env.ts'

/** Reads a file. Rejects with the system's error, which has a `code`. */
export function readText(file: string): Promise<string> {
  return readFile(file, 'utf8')
}

/** Reads a file; undefined if it does not exist. Rejects with other errors. */
export async function readTextIfExists(file: string): Promise<string | undefined> {
  try {
    return await readText(file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Returns whether something exists at this path. Rejects if it cannot be checked. */
export async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/**
 * Calls `onChange` when the entries of a folder change, until the returned function is called. Best effort: the system
 * may have too few watches, the folder may be replaced, or a network's file system may report nothing. So poll, too.
 */
export function watchFolder(folder: string, onChange: () => void): () => void {
  try {
    const watcher = nodeFs().watch(folder, { persistent: false }, () => onChange())
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {}
  }
}

/** Returns the user's home from `HOME`, as kubectl does. `os.homedir()` would need one more permission on Deno. */
export function homeDir(): string | undefined {
  return optionalEnv('HOME') ?? (isWindows ? optionalEnv('USERPROFILE') : undefined)
}

/** Returns the host's name; in a pod, the pod's name. */
export function hostName(): string {
  return hostname()
}

/** Returns the folder for temporary files from `TMPDIR`, as Go does; on Windows from `TEMP`. */
export function temporaryFolder(): string {
  return isWindows ? optionalEnv('TEMP') ?? 'C:\\Windows\\Temp' : optionalEnv('TMPDIR') ?? '/tmp'
}

/** Resolves a relative `file` against `folder`, without the working directory: that needs a permission on Deno. */
export function resolvePath(folder: string, file: string): string {
  return path.isAbsolute(file) ? file : path.join(folder, file)
}

export function folderOf(file: string): string {
  return path.dirname(file)
}

/** Splits a list of paths such as `PATH` or `KUBECONFIG`. Leaves out empty ones. */
export function splitPaths(list: string): string[] {
  return list.split(path.delimiter).filter((file) => file.length > 0)
}

/** Returns whether standard input is a terminal, for programs that prompt the user. */
export function hasTerminal(): boolean {
  return process.stdin.isTTY === true
}

/** Returns whether a file operation failed because nothing is at the path. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

const isWindows = path.sep === '\\'
