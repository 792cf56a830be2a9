/** Shows source locations in a terminal. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeFs } from './builtins.ts'
import { hasRight } from './env.ts'
import { workingFolder } from './this_runtime.ts'

/** Returns a path below the working folder relative to it, other paths unchanged. A `:line:column` suffix is kept. */
export function shortPath(place: string): string {
  const folder = workingFolder()
  return folder !== undefined && place.startsWith(folder + path.sep) ? place.slice(folder.length + 1) : place
}

/** Returns the line below a printed error: the short path of `file:line:column` and, if readable, the source line. */
export function placeLine(place: string): string {
  return `          ${shortPath(place)}  ${sourceLine(place)?.trim() ?? ''}`.trimEnd()
}

/** Returns the source line at `file:line:column`; undefined if it cannot be read, as in a bundle. */
function sourceLine(place: string): string | undefined {
  const match = /^(.*):(\d+):\d+$/.exec(place)
  if (!match) return undefined
  try {
    const file = match[1]!.startsWith('file:') ? fileURLToPath(match[1]!) : match[1]!
    if (!hasRight({ name: 'read', path: file })) return undefined
    return nodeFs().readFileSync(file, 'utf8').split('\n')[Number(match[2]) - 1]
  } catch {
    return undefined // optional: the location itself is printed
  }
}
