/** Whether a module was run, rather than imported. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `import.meta.main` where the runtime has it; else (Node before 24.2) the module's file is the one that was started. */
export function isMain(module: ImportMeta): boolean {
  const { main, url } = module as { main?: boolean; url: string }
  if (main !== undefined) return main
  return isMainFile(url)
}

/** Whether this file, by its path or URL, is the one that the process was started with. */
export function isMainFile(file: string): boolean {
  const started = process.argv[1]
  if (!started) return false
  try {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    // Deno, which knows no links here, would ask for the right to look.
    return path === started || (!('Deno' in globalThis) && realpathSync(path) === realpathSync(started))
  } catch {
    return false // started without a file, as with `node --eval`, or one that may not be looked at
  }
}
