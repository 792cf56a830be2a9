/**
 * Finds the files that a module imports, directly or indirectly, as each runtime resolves them.
 *
 * Files in `node_modules` are left out, but linked packages of a workspace are not. An extra file does no harm, a
 * missing one would not be watched, so every path where a runtime may look counts, also if there is no file.
 */
import { folderOf } from '../../runtime/os/files.ts'
import { absolutePath, pathOfUrl } from '../../runtime/os/user_files.ts'

export interface FileSystem {
  /** Reads a file; undefined if it is missing or may not be read. */
  read(file: string): Promise<string | undefined>
  modulesBelow(folder: string): Promise<readonly string[]>
  /** Returns the folder that a link points to; undefined if there is none. */
  realFolder(folder: string): Promise<string | undefined>
}

/** The maximum number of files. To scan more would take longer than an edit. */
const MAX_FILES = 2000

const SPECIFIER = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"`])([^'"`\n]+)\1/g

/** Returns the specifiers that a module's text imports in any way, also those in comments and strings. */
function specifiersIn(text: string): string[] {
  return [...new Set([...text.matchAll(SPECIFIER)].map(([, , specifier]) => specifier!))]
}

const EXTENSIONS = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.jsx', '.json']

/** Returns the files that a path may mean: Bun adds extensions, and replaces `.js` by `.ts`. */
function candidates(path: string): string[] {
  const typed = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  if (/\.([cm]?[jt]sx?|json|wasm)$/.test(path)) return [...new Set([path, typed])]
  return [
    path,
    ...EXTENSIONS.map((extension) => path + extension),
    ...EXTENSIONS.map((extension) => `${path}/index${extension}`),
  ]
}

/** Returns the paths of all files that are part of the operator, with the texts of those that exist. */
export async function importedFiles(entry: string, files: FileSystem): Promise<Map<string, string | undefined>> {
  const found = new Map<string, string | undefined>()
  const known = new Map<string, Promise<readonly string[]>>()
  const targetsOf = (specifier: string, importer: string): readonly string[] | Promise<readonly string[]> => {
    const folder = folderOf(importer)
    if (specifier.startsWith('file://')) return candidates(pathOfUrl(specifier))
    if (/^(\/|\.\.?(\/|$))/.test(specifier)) return candidates(absolutePath(folder, specifier.replace(/[?#].*$/, '')))
    if (/^[a-z]+:/.test(specifier)) return [] // node:, npm:, https:
    const key = `${folder}\n${specifier}`
    return known.get(key) ?? known.set(key, outsideTargets(specifier, folder, files)).get(key)!
  }
  let next = [entry]
  while (next.length > 0 && found.size < MAX_FILES) {
    const read = await Promise.all(next.map(async (file) => [file, await files.read(file)] as const))
    for (const [file, text] of read) found.set(file, text)
    const modules = read.filter(([file]) => !file.endsWith('.json'))
    const imported = await Promise.all(
      modules.flatMap(([file, text = '']) => specifiersIn(text).map((specifier) => targetsOf(specifier, file))),
    )
    next = [...new Set(imported.flat())].filter((file) => !found.has(file))
  }
  return found
}

/** Resolves a bare specifier: an alias for a file of the project, or a package. */
async function outsideTargets(specifier: string, from: string, files: FileSystem): Promise<readonly string[]> {
  const found: string[] = []
  for (let folder = from;; folder = folderOf(folder)) {
    for (const name of ['package.json', 'deno.json', 'deno.jsonc', 'tsconfig.json']) {
      const file = absolutePath(folder, name)
      const text = await files.read(file)
      const target = text === undefined ? undefined : aliasIn(text, specifier)
      if (target !== undefined) found.push(file, ...candidates(absolutePath(folder, target)))
    }
    if (found.length > 0) return found
    const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
    const linked = name === 'kubeloop' ? undefined : await files.realFolder(absolutePath(folder, 'node_modules', name))
    if (linked !== undefined) return /[\\/]node_modules[\\/]/.test(linked) ? [] : await files.modulesBelow(linked)
    if (folderOf(folder) === folder) return []
  }
}

/** Returns the path of an alias in the `imports` of a package.json or deno.json, or the `paths` of a tsconfig.json. */
function aliasIn(text: string, specifier: string): string | undefined {
  let config: unknown
  try {
    config = JSON.parse(plainJson(text))
  } catch {
    return undefined // the runtime reports the error
  }
  const { imports, compilerOptions } = Object(config) as Readonly<Record<string, unknown>>
  const { paths, baseUrl = '.' } = Object(compilerOptions) as Readonly<Record<string, unknown>>
  for (const [map, base] of [[imports, ''], [paths, `${baseUrl}/`]] as const) {
    for (const [pattern, target] of Object.entries(Object(map))) {
      const rest = restOf(pattern, specifier)
      const path = rest === undefined ? undefined : firstPath(target)
      if (path !== undefined) return `${base}${path.includes('*') ? path.replace('*', rest!) : path + rest}`
    }
  }
  return undefined
}

/** Returns the JSON of a configuration file, which may have comments and commas at the ends of lists. */
function plainJson(text: string): string {
  const keep = (_: string, quoted = ''): string => quoted
  return text.replace(/("(?:[^"\\]|\\.)*")|\/\/.*|\/\*[^]*?\*\//g, keep).replace(
    /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g,
    keep,
  )
}

/** Returns the rest of a specifier after a pattern's prefix, as `#lib/*` or `@/`; undefined if it does not match. */
function restOf(pattern: string, specifier: string): string | undefined {
  if (pattern === specifier) return ''
  const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : pattern.endsWith('/') ? pattern : undefined
  return prefix !== undefined && specifier.startsWith(prefix) ? specifier.slice(prefix.length) : undefined
}

/** Returns the first file of the project in a target, which may have conditions or alternatives. */
function firstPath(target: unknown): string | undefined {
  if (typeof target === 'string') return /^[a-z]+:/.test(target) ? undefined : target
  return Object.values(Object(target)).map(firstPath).find((path) => path !== undefined)
}
