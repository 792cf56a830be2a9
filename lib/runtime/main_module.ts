/** Whether a module was run, rather than imported. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `import.meta.main` where the runtime has it; else (Node before 24.2) the module's file is the one that was started. */
export function isMain(module: ImportMeta): boolean {
  const { main, url } = module as { main?: boolean; url: string }
  if (main !== undefined) return main
  const started = process.argv[1]
  if (!started) return false
  try {
    return realpathSync(fileURLToPath(url)) === realpathSync(started)
  } catch {
    return false // started without a file, as with `node --eval`
  }
}
