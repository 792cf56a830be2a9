/**
 * The files that a module imports, and those that they import: found in their texts, as each runtime would resolve them. What is
 * in `node_modules` is left out, packages of a workspace, which are linked there, are not. A file too many is watched for nothing;
 * one too few would be missed, so a place where a runtime may look counts even while there is nothing.
 */
import { folderOf } from '../../runtime/os/files.ts'
import { absolutePath, pathOfUrl } from '../../runtime/os/user_files.ts'

export interface FileSystem {
  /** Undefined where there is no such file, or none that may be read. */
  read(file: string): Promise<string | undefined>
  /** The module files in a folder and below it. */
  modulesBelow(folder: string): Promise<readonly string[]>
  /** The folder that a link points to; undefined where there is nothing. */
  realFolder(folder: string): Promise<string | undefined>
}

/** More files than this are not followed: a scan of them would take longer than an edit. */
const MAX_FILES = 2000

const SPECIFIER = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"`])([^'"`\n]+)\1/g

/** What a module's text imports, whatever way it says so; comments and strings that look like it count, too. */
function specifiersIn(text: string): string[] {
  return [...new Set([...text.matchAll(SPECIFIER)].map(([, , specifier]) => specifier!))]
}

const EXTENSIONS = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.jsx', '.json']

/** Where a module at this path may be: Bun fills in extensions, and takes `.js` for `.ts`. */
function candidates(path: string): string[] {
  const typed = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  if (/\.([cm]?[jt]sx?|json|wasm)$/.test(path)) return [...new Set([path, typed])]
  return [
    path,
    ...EXTENSIONS.map((extension) => path + extension),
    ...EXTENSIONS.map((extension) => `${path}/index${extension}`),
  ]
}

/** Every file that counts as part of the operator, with its text where there is one. */
export async function importedFiles(entry: string, files: FileSystem): Promise<Map<string, string | undefined>> {
  const found = new Map<string, string | undefined>()
  const known = new Map<string, Promise<readonly string[]>>()
  let next = [entry]
  while (next.length > 0 && found.size < MAX_FILES) {
    const read = await Promise.all(next.map(async (file) => [file, await files.read(file)] as const))
    for (const [file, text] of read) found.set(file, text)
    const imported = await Promise.all(
      read.flatMap(([file, text]) =>
        text === undefined || file.endsWith('.json')
          ? []
          : specifiersIn(text).map((specifier) => targetsOf(specifier, file, files, known))
      ),
    )
    next = [...new Set(imported.flat())].filter((file) => !found.has(file))
  }
  return found
}

async function targetsOf(
  specifier: string,
  importer: string,
  files: FileSystem,
  known: Map<string, Promise<readonly string[]>>,
): Promise<readonly string[]> {
  const folder = folderOf(importer)
  if (specifier.startsWith('file://')) return candidates(pathOfUrl(specifier))
  if (/^(\/|\.\.?(\/|$))/.test(specifier)) return candidates(absolutePath(folder, specifier.replace(/[?#].*$/, '')))
  if (/^[a-z]+:/.test(specifier)) return [] // node:, npm:, https:
  const key = `${folder}\n${specifier}`
  let targets = known.get(key)
  if (!targets) known.set(key, targets = outsideTargets(specifier, folder, files))
  return await targets
}

/** A name rather than a path: another name for a file of the project, or a package. */
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

/** The path that the `imports` of a package.json or deno.json, or the `paths` of a tsconfig.json, give to a name. */
function aliasIn(text: string, specifier: string): string | undefined {
  let config: { readonly imports?: unknown; readonly compilerOptions?: { readonly paths?: unknown } }
  try {
    config = JSON.parse(text.replace(/^\s*\/\/.*$/gm, ''))
  } catch {
    return undefined // the runtime says what is wrong with it
  }
  for (const map of [config.imports, config.compilerOptions?.paths]) {
    if (typeof map !== 'object' || map === null) continue
    for (const [pattern, target] of Object.entries(map)) {
      const rest = restOf(pattern, specifier)
      const path = rest === undefined ? undefined : firstPath(target)
      if (path !== undefined) return path.includes('*') ? path.replace('*', rest!) : path + rest
    }
  }
  return undefined
}

/** What a pattern leaves of a name: `#lib/*` and `@/` are prefixes. */
function restOf(pattern: string, specifier: string): string | undefined {
  if (pattern === specifier) return ''
  const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : pattern.endsWith('/') ? pattern : undefined
  return prefix !== undefined && specifier.startsWith(prefix) ? specifier.slice(prefix.length) : undefined
}

/** Of a target with conditions or alternatives the first that is a file of the project. */
function firstPath(target: unknown): string | undefined {
  if (typeof target === 'string') return /^[a-z]+:/.test(target) ? undefined : target
  if (typeof target !== 'object' || target === null) return undefined
  for (const each of Object.values(target)) {
    const path = firstPath(each)
    if (path !== undefined) return path
  }
  return undefined
}
