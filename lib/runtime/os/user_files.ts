/** The files of whoever calls the command: theirs are never overwritten, and ours are put down for this user alone. */
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Writes a file that must not exist, with its folder. Rejects with `EEXIST` when it does. */
export async function writeNew(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, content, { flag: 'wx' })
}

/** Makes a folder that must not exist; false when it does. One process at a time succeeds. */
export async function claimFolder(folder: string): Promise<boolean> {
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 })
  try {
    await mkdir(folder, { mode: 0o700 })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EEXIST') return false
    throw error
  }
}

/** Removes a file or a folder with all in it, if it is there. */
export function remove(place: string): Promise<void> {
  return rm(place, { recursive: true, force: true })
}

/** Gives a file another name, over whatever had it. */
export function renameFile(from: string, to: string): Promise<void> {
  return rename(from, to)
}

/** When a file was last written, as `Date.now()` counts; undefined when it is not there. */
async function writtenAt(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mtimeMs
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * When the files in a folder and below it were last written, by their paths. What is not there any more when its turn comes is left out,
 * and so is what may not be read.
 */
export async function writtenBelow(
  folder: string,
  wanted: (name: string, isFolder: boolean) => boolean,
): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (GONE_OR_CLOSED.has((error as { code?: string }).code ?? '')) return []
    throw error
  })
  await Promise.all(entries.map(async (entry) => {
    const isFolder = entry.isDirectory()
    if (!wanted(entry.name, isFolder)) return
    const place = path.join(folder, entry.name)
    if (isFolder) {
      for (const [file, time] of await writtenBelow(place, wanted)) times.set(file, time)
    } else {
      const time = await writtenAt(place)
      if (time !== undefined) times.set(place, time)
    }
  }))
  return times
}

const GONE_OR_CLOSED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM'])

/** All that is at standard input. */
export function readInput(): Promise<string> {
  return text(process.stdin)
}

/** What tells this state of a file from any other; undefined where there is none that may be read, or an empty one. */
export async function stampOf(file: string): Promise<string | undefined> {
  try {
    const { size, ino, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return size === 0n ? undefined : [size, ino, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    if (GONE_OR_CLOSED.has((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}

/** The text of a file; undefined where there is none that may be read. */
export async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (GONE_OR_CLOSED.has((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}

/** Where a folder is, past all links; undefined where there is none. */
export async function realFolder(folder: string): Promise<string | undefined> {
  try {
    return await realpath(folder)
  } catch (error) {
    if (GONE_OR_CLOSED.has((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}

/** The path of a `file:` URL. */
export function pathOfUrl(url: string): string {
  return fileURLToPath(url)
}

export function urlOfPath(file: string): string {
  return pathToFileURL(file).href
}

export function fileName(file: string): string {
  return path.basename(file)
}

/** A path from the root, as seen from the working folder. */
export function absolutePath(...parts: readonly string[]): string {
  return path.resolve(...parts)
}
