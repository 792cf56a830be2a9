/** Parses kubeconfigs, and merges several as client-go does. */
import { ConfigError } from '../core/errors.ts'
import { Fields } from './fields.ts'
import { readYaml } from '../core/yaml.ts'

/** One or more kubeconfig files. Each entry knows its file. */
export interface Kubeconfig {
  readonly files: readonly string[]
  readonly currentContext: string | undefined
  readonly contexts: ReadonlyMap<string, Fields>
  readonly clusters: ReadonlyMap<string, Fields>
  readonly users: ReadonlyMap<string, Fields>
}

/** @throws ConfigError that names file and field, and never quotes values, which may be secrets. */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const root = new Fields(parseDocument(text, file) ?? {}, file, '')
  return {
    files: [file],
    currentContext: root.text('current-context'),
    contexts: entries(root, 'contexts', 'context'),
    clusters: entries(root, 'clusters', 'cluster'),
    users: entries(root, 'users', 'user'),
  }
}

/** Merges files. The first file wins: for a whole entry by its name, and for the current context. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  // A Map keeps the last value of a key, so the first file is added last.
  const merge = (pick: (config: Kubeconfig) => ReadonlyMap<string, Fields>): Map<string, Fields> =>
    new Map(configs.toReversed().flatMap((config) => [...pick(config)]))
  return {
    files: configs.flatMap((config) => config.files),
    currentContext: configs.find((config) => config.currentContext)?.currentContext,
    contexts: merge((config) => config.contexts),
    clusters: merge((config) => config.clusters),
    users: merge((config) => config.users),
  }
}

function entries(root: Fields, list: string, item: string): Map<string, Fields> {
  const found = new Map<string, Fields>()
  for (const [at, value] of root.list(list).entries()) {
    const entry = new Fields(value, root.file, `${list}[${at}]`)
    const name = entry.text('name')
    if (name === undefined) throw entry.wrong('name', 'is missing')
    if (found.has(name)) throw new ConfigError(`Cannot read ${root.file}: ${list} has two entries named "${name}"`)
    found.set(name, new Fields(entry.raw(item) ?? {}, root.file, `${list}["${name}"].${item}`))
  }
  return found
}

/** Drops the error of the YAML parser, which quotes lines of the file. */
function parseDocument(text: string, file: string): unknown {
  try {
    return readYaml(text)[0]
  } catch (error) {
    throw new ConfigError(`Cannot read ${file}: it is not valid YAML or JSON${placeOf(error)}`)
  }
}

function placeOf(error: unknown): string {
  if (!(error instanceof Error) || !('reason' in error) || typeof error.reason !== 'string') return ''
  const mark = 'mark' in error ? (error.mark as { line?: number; column?: number } | undefined) : undefined
  const place = mark?.line === undefined ? '' : ` at line ${mark.line + 1}, column ${(mark.column ?? 0) + 1}`
  // A quoted part of the reason comes from the file, with quotes of its own, and so do the characters of a tag.
  return `: ${error.reason.replace(/(?:"|!<|: ).*/s, '…')}${place}`
}
