/** Manages private temporary folders, and finds executables in a folder. */
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isNotCapable } from '../../core/errors.ts'

export interface Workspace {
  readonly folder: string
  /** Returns the path of a file or folder in it. */
  path(name: string): string
  /** Writes a file readable only by this user. Returns its path. */
  write(name: string, text: string): string
  /** Returns the last lines of a file; an empty text if it does not exist. */
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
    // Killed processes may still create files meanwhile, so retry.
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}

/** Creates a folder readable only by this user, and its parents. */
export function ensureFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
}

/**
 * Finds executables in a folder. Returns their paths by name, and the names that are missing.
 *
 * @throws An error without Deno's permission to look.
 */
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
    } catch (error) {
      if (isNotCapable(error)) throw error
      missing.push(name)
    }
  }
  return { paths, missing }
}
