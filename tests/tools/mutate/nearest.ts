/** Orders the test files of a source file by how near they are to it. */
import { posix } from 'node:path'
import { readFacts } from '../../structure/source_facts.ts'

/** Imports by package name, as in package.json. */
export type Entries = Readonly<Record<string, string>>

/** What a test file imports: by path, the least imports that lead there. */
export type Distances = (test: string) => ReadonlyMap<string, number>

/** Reads the imports of files, given with their texts by path, such as `lib/core/errors.ts`. */
export function distances(files: ReadonlyMap<string, string>, entries: Entries): Distances {
  const imports = new Map([...files].map(([path, text]) => [path, targets(path, text, files, entries)]))
  const known = new Map<string, ReadonlyMap<string, number>>()
  return (test) => {
    const own = known.get(test) ?? walk(test, imports)
    known.set(test, own)
    return own
  }
}

/** How near a test file is to a source file: 0 for its own tests, 1 for those of its room, 2 for others, 3 for none. */
export function ringOf(test: string, source: string, distance: number): number {
  if (distance === Infinity) return 3
  if (!test.startsWith(`tests/${source.split('/')[1]}/`)) return 2
  return distance === 1 || test.startsWith(`${source.replace(/^lib/, 'tests').replace(/\.ts$/, '')}.`) ? 0 : 1
}

function targets(path: string, text: string, files: ReadonlyMap<string, string>, entries: Entries): string[] {
  return readFacts(path, text).imports.flatMap(({ specifier = '', how }) => {
    if (how === 'type') return []
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : entries[specifier]
    return target !== undefined && files.has(target) ? [target] : []
  })
}

function walk(from: string, imports: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const steps = new Map([[from, 0]])
  for (const [path, distance] of steps) {
    for (const next of imports.get(path) ?? []) {
      if (!steps.has(next)) steps.set(next, distance + 1)
    }
  }
  return steps
}
