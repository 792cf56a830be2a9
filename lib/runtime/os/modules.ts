/** Finds installed packages, and distinguishes the runtimes' own modules from them. */
import { realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import path from 'node:path'

/** Returns the real path of what `specifier` means to a CommonJS module beside `from`; undefined if not installed. */
export function installedFile(specifier: string, from: string): string | undefined {
  try {
    return realpathSync(createRequire(path.resolve(from)).resolve(specifier))
  } catch {
    return undefined
  }
}

/** Returns whether a module is part of a runtime: of Node, which the others have too, or of Bun alone. */
export function isRuntimeModule(specifier: string): boolean {
  return isBuiltin(specifier) || /^(?:node:|bun(?::|$))/.test(specifier)
}
