/** The kubeconfig format: text to entries, and several files to one, as client-go merges them. */
import { ConfigError } from '../core/errors.ts'
import { Fields } from './fields.ts'
import { readSimpleYaml } from './simple_yaml.ts'

/** One or more kubeconfig files. Each entry knows the file it came from. */
export interface Kubeconfig {
  readonly files: readonly string[]
  readonly currentContext: string | undefined
  readonly contexts: ReadonlyMap<string, Fields>
  readonly clusters: ReadonlyMap<string, Fields>
  readonly users: ReadonlyMap<string, Fields>
}

/** @throws ConfigError naming the file and the field; never quoting them, for they may hold secrets. */
export async function parseKubeconfig(text: string, file: string): Promise<Kubeconfig> {
  const root = new Fields((await parseDocument(text, file)) ?? {}, file, '')
  return {
    files: [file],
    currentContext: root.text('current-context'),
    contexts: entries(root, 'contexts', 'context'),
    clusters: entries(root, 'clusters', 'cluster'),
    users: entries(root, 'users', 'user'),
  }
}

/** The first file that sets something wins: a whole entry by its name, and the current context. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  // A Map keeps the last of equal keys, so the first file goes last.
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

/**
 * JSON, and YAML as tools write it, are read without a parser for YAML: that is loaded only for what is unusual. A parser's own
 * error is not kept as the cause: it quotes the lines around the mistake.
 */
async function parseDocument(text: string, file: string): Promise<unknown> {
  if (text.trimStart().startsWith('{')) {
    try {
      return JSON.parse(text)
    } catch {
      // YAML's flow style begins like JSON: what is wrong with it is said by the parser that knows both.
    }
  }
  const read = readSimpleYaml(text)
  if ('document' in read) return read.document
  const load = await loadParser(file, read.refusedLine)
  try {
    return load(text)
  } catch (error) {
    throw new ConfigError(`Cannot read ${file}: it is not valid YAML or JSON${placeOf(error)}`)
  }
}

/** js-yaml, which the built package has in a file of its own. It merges keys ("<<"), as kubectl does. */
async function loadParser(file: string, refusedLine: number): Promise<(text: string) => unknown> {
  try {
    const { CORE_SCHEMA, load, mergeTag } = await import('js-yaml')
    return (text) => load(text, { schema: CORE_SCHEMA.withTags(mergeTag) })
  } catch (error) {
    throw new ConfigError(
      `Cannot read ${file}: line ${refusedLine} is not YAML as tools write it, and yaml.js, which reads the rest, is not beside this program; ` +
        `convert it: kubectl config view --raw -o json --kubeconfig=${file} > config.json`,
      { cause: error },
    )
  }
}

function placeOf(error: unknown): string {
  if (!(error instanceof Error) || !('reason' in error) || typeof error.reason !== 'string') return ''
  const mark = 'mark' in error ? (error.mark as { line?: number; column?: number } | undefined) : undefined
  const place = mark?.line === undefined ? '' : ` at line ${mark.line + 1}, column ${(mark.column ?? 0) + 1}`
  // What a reason quotes comes from the file.
  return `: ${error.reason.replace(/"[^"]*"|!<[^>]*>/g, '…')}${place}`
}
