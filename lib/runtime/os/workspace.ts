/** A folder of its own in the system's temporary one, readable by this user alone, and what is kept there. */
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Workspace {
  readonly folder: string
  /** The path of a file or folder in it. */
  path(name: string): string
  /** Writes a file that only this user may read, and returns its path. */
  write(name: string, text: string): string
  /** The last lines of a file; empty when it does not exist. */
  tail(name: string, lines: number): string
  remove(): void
}

export function createWorkspace(prefix: string): Workspace {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  const path = (name: string): string => join(folder, name)
  return {
    folder,
    path,
    write(name, text) {
      writeFileSync(path(name), text, { mode: 0o600 })
      return path(name)
    },
    tail(name, lines) {
      try {
        return readFileSync(path(name), 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
      } catch (error) {
        if ((error as { code?: unknown }).code === 'ENOENT') return ''
        throw error
      }
    },
    // Killed processes may still be closing files when this begins; the retries are for what they create meanwhile.
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}

/** Makes a folder for this user alone, with those above it. */
export function ensureFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
}

/** The executables in a folder by their names, or the names that are missing. */
export function findExecutables(
  folder: string,
  names: readonly string[],
): { paths: Record<string, string>; missing: string[] } {
  const paths: Record<string, string> = {}
  const missing: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      paths[name] = path
    } catch {
      missing.push(name)
    }
  }
  return { paths, missing }
}
