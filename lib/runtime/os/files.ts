/**
 * Files and what else the machine says of itself.
 *
 * On Deno: `--allow-read=PATH`, `--allow-write=FOLDER` for {@link writePrivate}, `--allow-sys=hostname` for {@link hostName}.
 */
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { optionalEnv } from './env.ts'

/** The text of a file. Rejects with the system's error, whose `code` says why. */
export function readText(file: string): Promise<string> {
  return readFile(file, 'utf8')
}

/** The text of a file, or undefined when there is none. Other failures reject. */
export async function readTextIfExists(file: string): Promise<string | undefined> {
  try {
    return await readText(file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Whether there is something at this path that this process can see. */
export async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Writes a file that only its owner may read, with its folder. Readers see the old text or the new one, never a part. */
export async function writePrivate(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  const draft = `${file}.${crypto.randomUUID()}.tmp`
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** The user's folder: `HOME`, as kubectl has it. `os.homedir()` would need one more permission on Deno. */
export function homeDir(): string | undefined {
  return optionalEnv('HOME') ?? (isWindows ? optionalEnv('USERPROFILE') : undefined)
}

/** This machine's name; in a pod, the pod's. */
export function hostName(): string {
  return hostname()
}

/** `file` as seen from `folder`, if it is relative. It does not ask for the working directory, which Deno would guard. */
export function resolvePath(folder: string, file: string): string {
  return path.isAbsolute(file) ? file : path.join(folder, file)
}

/** The folder of a file. */
export function folderOf(file: string): string {
  return path.dirname(file)
}

/** Splits a list of paths such as `PATH` or `KUBECONFIG`. */
export function splitPaths(list: string): string[] {
  return list.split(path.delimiter).filter((file) => file.length > 0)
}

/** Whether a terminal is at this process's input, for programs that ask their user something. */
export function hasTerminal(): boolean {
  return process.stdin.isTTY === true
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

const isWindows = path.sep === '\\'
