/** Writes a set of files to a folder, whole or not at all, and removes those of an earlier run. */
import { messageOf } from '../../core/errors.ts'
import { exists, readTextIfExists } from '../../runtime/os/files.ts'
import { absolutePath, remove, renameFile, writeNew, writtenBelow } from '../../runtime/os/user_files.ts'

/**
 * Writes the files, by their names, and removes all others with the same mark, which is the first line of each text.
 * Resolves with the names of those that it has changed.
 *
 * @throws Error if a file without the mark would be overwritten, or the folder cannot be written; nothing is changed
 * then.
 */
export async function writeFolder(
  { folder, files, mark }: {
    readonly folder: string
    readonly files: ReadonlyMap<string, string>
    readonly mark: string
  },
): Promise<{ readonly written: readonly string[]; readonly removed: readonly string[] }> {
  let isNew = false
  try {
    isNew = !(await exists(folder))
    const before = await textsIn(folder, [...files.keys()])
    for (const name of files.keys()) refuseForeign(folder, name, before.get(name), mark)
    const removed = [...before].filter(([name, text]) => !files.has(name) && hasMark(text, mark)).map(([name]) => name)
    const written = [...files.keys()].filter((name) => files.get(name) !== before.get(name))
    await replaceAll(folder, [
      ...written.map((name) => ({ name, text: files.get(name), old: before.get(name) })),
      ...removed.map((name) => ({ name, text: undefined, old: before.get(name) })),
    ])
    return { written, removed: removed.sort() }
  } catch (error) {
    if (isNew) await remove(folder).catch(() => {})
    throw explained(folder, error)
  }
}

/** Returns the texts of the files with these names, and of all others that may have a mark. */
async function textsIn(folder: string, names: readonly string[]): Promise<Map<string, string>> {
  const top = absolutePath(folder)
  const found = await writtenBelow(top, (name, isFolder) => !isFolder && name.endsWith('.yaml'))
  const others = [...found.keys()].map((file) => file.slice(top.length + 1))
  const texts = new Map<string, string>()
  for (const name of new Set([...names, ...others])) {
    const text = await readTextIfExists(absolutePath(folder, name))
    if (text !== undefined) texts.set(name, text)
  }
  return texts
}

/** The beginning of every mark. */
const MARK = '# Written by kubeloop manifests'

/** Returns the first line of every file. It names the operator, so that two cannot overwrite each other in a folder. */
export function markOf(operator: string): string {
  return `${MARK} --out of the operator ${operator}; its next run overwrites all changes`
}

function hasMark(text: string, mark: string): boolean {
  return text.split('\n', 1)[0]!.startsWith(mark)
}

/** An error with a message for the user. */
class Refusal extends Error {}

function refuseForeign(folder: string, name: string, text: string | undefined, mark: string): void {
  if (text === undefined || hasMark(text, mark)) return
  const [, other] = (hasMark(text, MARK) && /of the operator ([^;]+);/.exec(text)) || []
  const why = other === undefined
    ? 'it exists, and this command did not write it'
    : `it was written for the operator "${other}"`
  throw new Refusal(`Cannot write ${folder}/${name}: ${why}; remove it, or choose another folder`)
}

interface Change {
  readonly name: string
  /** Undefined to remove the file. */
  readonly text: string | undefined
  /** Undefined if there is no file. */
  readonly old: string | undefined
}

/** Writes all texts beside their files first, as most failures show there, and restores the files if a rename fails. */
async function replaceAll(folder: string, changes: readonly Change[]): Promise<void> {
  const id = crypto.randomUUID()
  const fileOf = ({ name }: Change): string => absolutePath(folder, name)
  const draftOf = (change: Change): string => `${fileOf(change)}.${id}`
  const done: Change[] = []
  try {
    for (const change of changes) if (change.text !== undefined) await writeNew(draftOf(change), change.text)
    for (const change of changes) {
      if (change.text === undefined) await remove(fileOf(change))
      else await renameFile(draftOf(change), fileOf(change))
      done.push(change)
    }
  } catch (error) {
    for (const change of changes) await remove(draftOf(change)).catch(() => {})
    for (const change of done) await restore(fileOf(change), draftOf(change), change.old)
    throw error
  }
}

async function restore(file: string, draft: string, old: string | undefined): Promise<void> {
  if (old === undefined) return await remove(file)
  await writeNew(draft, old)
  await renameFile(draft, file)
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file; choose a folder',
  ENOTDIR: 'a part of its path is a file; choose another folder',
  EISDIR: 'it has a folder with the name of a file; choose another folder',
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'there is no space left',
}

function explained(folder: string, error: unknown): Error {
  if (error instanceof Refusal) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new Error(`Cannot write to ${folder}: ${REASONS[code] ?? messageOf(error)}`, { cause: error })
}
