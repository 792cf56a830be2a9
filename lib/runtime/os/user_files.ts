/** Reads, lists and writes the command's files without overwriting those of the user. */
import { appendFileSync, mkdirSync, statSync } from 'node:fs'
import { mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Writes a new file, all of it or none, and creates its folder. Rejects with `EEXIST` if the file exists. */
export async function writeNew(file: string, content: string | Uint8Array): Promise<void> {
  await createFolder(path.dirname(file))
  const handle = await open(file, 'wx')
  try {
    await handle.writeFile(content)
  } catch (error) {
    // A part of it would keep a later try from writing it.
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** Appends text to a file, and creates it and its folder. The text is written when this returns. */
export function appendText(file: string, text: string): void {
  createFolders(path.dirname(file))
  appendFileSync(file, text)
}

/** Returns the paths of the files in a folder whose names end so, sorted; undefined if there is no such folder. */
export async function filesIn(folder: string, end: string): Promise<string[] | undefined> {
  const names = await unlessGone(readdir(folder))
  return names?.filter((name) => name.endsWith(end)).sort().map((name) => path.join(folder, name))
}

/** Creates a folder and those above it. Resolves with the uppermost that did not exist; undefined if all did. */
export function createFolder(folder: string): Promise<string | undefined> {
  return new Promise((resolve) => resolve(createFolders(folder)))
}

/** `isLast`: the folder above it exists. Another process may create them at the same time. */
function createFolders(folder: string, mode?: number, isLast = false): string | undefined {
  // Not with the option recursive: in a folder of the system such as /proc, Node never ends.
  try {
    mkdirSync(folder, mode)
    return folder
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return undefined
    const above = path.dirname(folder)
    if (code !== 'ENOENT' || above === folder || isLast) throw error
    const created = createFolders(above, mode)
    const own = createFolders(folder, mode, true)
    return created ?? own
  }
}

/** Writes a file readable only by its owner, atomically, and creates its folder. */
export async function writePrivate(file: string, text: string): Promise<void> {
  await createFolder(path.dirname(file))
  const draft = `${file}.${crypto.randomUUID()}.tmp`
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Creates a folder with one file, readable only by this user: other processes see both or none. Resolves to false if
 * there is a folder with files. Only one process succeeds.
 */
export async function claimFolder(folder: string, name: string, text: string): Promise<boolean> {
  createFolders(path.dirname(folder), 0o700)
  const draft = `${folder}.${crypto.randomUUID()}.tmp`
  await mkdir(draft, { mode: 0o700 })
  try {
    await writeFile(path.join(draft, name), text, { mode: 0o600 })
    return await rename(draft, folder).then(() => true, async (error: unknown) => {
      if ((await unlessGone(stat(folder)))?.isDirectory()) return false
      throw error
    })
  } finally {
    await remove(draft)
  }
}

/** Removes a file, or a folder with its content, if it exists. */
export function remove(place: string): Promise<void> {
  return rm(place, { recursive: true, force: true })
}

/** Renames a file. Replaces a file that has the new name. */
export function renameFile(from: string, to: string): Promise<void> {
  return rename(from, to)
}

/**
 * Returns when the files below a folder were last written, by their paths. Files and folders that are removed meanwhile
 * or may not be read are left out.
 */
export async function writtenBelow(
  folder: string,
  wanted: (name: string, isFolder: boolean) => boolean,
): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  const entries = await unlessGone(readdir(folder, { withFileTypes: true })) ?? []
  await Promise.all(entries.map(async (entry) => {
    const isFolder = entry.isDirectory()
    if (!wanted(entry.name, isFolder)) return
    const place = path.join(folder, entry.name)
    if (isFolder) {
      for (const [file, time] of await writtenBelow(place, wanted)) times.set(file, time)
    } else {
      const found = await unlessGone(stat(place))
      if (found) times.set(place, found.mtimeMs)
    }
  }))
  return times
}

const GONE_OR_CLOSED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM'])

/** Resolves with the result; with undefined if the file or folder is missing, is the other of the two, or is closed. */
async function unlessGone<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (GONE_OR_CLOSED.has((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}

/** Reads standard input to its end. */
export function readInput(): Promise<string> {
  return text(process.stdin)
}

/** Returns a stamp that changes with the file; undefined if the file is missing, unreadable or empty. */
export async function stampOf(file: string): Promise<string | undefined> {
  const found = await unlessGone(stat(file, { bigint: true }))
  return found && found.size > 0n ? [found.size, found.ino, found.mtimeNs, found.ctimeNs].join(' ') : undefined
}

/** Reads a file; undefined if it is missing or may not be read. */
export function textOf(file: string): Promise<string | undefined> {
  return unlessGone(readFile(file, 'utf8'))
}

/** Returns a folder's path with all links resolved; undefined if it is missing or may not be read. */
export function realFolder(folder: string): Promise<string | undefined> {
  return unlessGone(realpath(folder))
}

/** Returns the path of a `file:` URL. */
export function pathOfUrl(url: string): string {
  return fileURLToPath(url)
}

export function urlOfPath(file: string): string {
  return pathToFileURL(file).href
}

export function fileName(file: string): string {
  return path.basename(file)
}

/** Resolves a path against the working folder. */
export function absolutePath(...parts: readonly string[]): string {
  return path.resolve(...parts)
}
