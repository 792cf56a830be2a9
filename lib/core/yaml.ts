/**
 * Reads and writes YAML as kubectl does. Imports js-yaml, which most operators never need: import this file dynamically
 * from what each start loads.
 */
import {
  defineScalarTag,
  dump,
  load,
  loadAll,
  type LoadOptions,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  Schema,
  seqTag,
  strTag,
} from 'js-yaml'
import { plainScalar } from './yaml_scalars.ts'

/** YAML 1.1, as the Go YAML library resolves it, and keys that merge (`<<`). */
const SCHEMA = new Schema([
  strTag,
  seqTag,
  mapTag,
  mergeTag,
  ...['null', 'bool', 'int', 'float'].map((type) =>
    defineScalarTag(`tag:yaml.org,2002:${type}`, {
      implicit: type === 'null',
      resolve: (text) => {
        const value = plainScalar(text)
        return typeof value === 'string' ? NOT_RESOLVED : value
      },
      identify: () => false,
    })
  ),
])

/** Returns the only document; undefined for an empty text. @throws YAMLException, YamlError */
export function parseYaml(text: string, limits: Pick<LoadOptions, 'json' | 'maxDepth' | 'maxAliases'> = {}): unknown {
  return load(text, { ...limits, schema: SCHEMA })
}

/**
 * Returns all documents of a file, which may be JSON. As in kubectl, a flow collection may end at any indentation; the
 * text is read once more for each line of it that is further left than YAML 1.2 permits.
 *
 * @throws YAMLException, YamlError
 */
export function readYaml(text: string): unknown[] {
  if (text.trimStart().startsWith('{')) {
    try {
      return [JSON.parse(text)]
    } catch {
      // YAML's flow style begins like JSON: the YAML parser reports the error.
    }
  }
  const lines = text.split('\n')
  let first: unknown
  for (let last = -1;;) {
    try {
      return loadAll(lines.join('\n'), { schema: SCHEMA })
    } catch (error) {
      first ??= error
      const { reason, mark: { line = last } = {} } = error as { reason?: string; mark?: { line?: number } }
      // js-yaml refuses it, as YAML 1.2 does. White space has no other meaning within brackets and quotes.
      if (reason !== 'deficient indentation' || line <= last) throw first
      lines[line] = ' '.repeat(DEEP) + lines[line]
      last = line
    }
  }
}

/** More than the indentation of any block. */
const DEEP = 200

/** Returns a document with sorted keys. Texts that YAML 1.1 would read as other values are quoted. */
export function yamlText(value: unknown): string {
  return dump(value, { sortKeys: true, lineWidth: -1, noRefs: true, seqNoIndent: true })
}
