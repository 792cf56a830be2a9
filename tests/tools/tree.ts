/** Reads the repository's files, for tests of the files themselves. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The top of the repository, without a slash at its end. */
export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** Returns the text of files by path from the top: the named files, and matching files in the named folders. */
export function readTree(paths: readonly string[], pattern: RegExp): Map<string, string> {
  const files = new Map<string, string>()
  for (const path of paths) {
    if (!statSync(join(ROOT, path), { throwIfNoEntry: false })) continue
    if (statSync(join(ROOT, path)).isFile()) files.set(path, readFileSync(join(ROOT, path), 'utf8'))
    else {for (
        const [each, text] of readTree(readdirSync(join(ROOT, path)).sort().map((name) => `${path}/${name}`), pattern)
      ) {
        if (pattern.test(each)) files.set(each, text)
      }}
  }
  return files
}
