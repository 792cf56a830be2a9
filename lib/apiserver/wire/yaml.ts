/** Reads and writes YAML bodies: of several documents the first one, as JSON, with the scalars of YAML 1.1. */
import { countValues, type Json, MAX_VALUES } from '../model/json.ts'
import { loadedLater } from '../model/loaded_later.ts'
import { StatusError, tooManyValues } from '../model/status.ts'
import { YamlError } from '../../core/yaml_scalars.ts'

/** The maximum nesting of JSON and YAML: whatever walks through an object is recursive. 10,000 in Go. */
export const MAX_DEPTH = 500
const LIMITS = { json: true, maxDepth: MAX_DEPTH, maxAliases: 1000 }

const yaml = loadedLater(() => import('../../core/yaml.ts'))

/** Returns the writer of documents. The first call suspends the request until it is loaded. */
export function yamlWriter(): (value: Json) => string {
  return yaml().yamlText
}

/**
 * Returns the first document; null if it is empty. Suspends the first request until the parser is loaded.
 *
 * @throws YamlError for a text that is not YAML, StatusError 413 for too many values.
 */
export function readYaml(text: string): Json {
  const { parseYaml } = yaml()
  const document = firstDocument(text)
  // Line by line: an expression for all lines takes exponential time for a banner of `#`.
  if (document.split('\n').every((line) => /^(?:---(?=\s|$))?\s*(?:#|$)/.test(line))) return null
  try {
    const value = (parseYaml(document, LIMITS) ?? null) as Json
    // Aliases can multiply.
    if (countValues(value) > MAX_VALUES) throw tooManyValues()
    // Two aliases are one object, which must not be changed in both places. One that contains itself is no JSON.
    return JSON.parse(JSON.stringify(value)) as Json
  } catch (cause) {
    if (cause instanceof YamlError || cause instanceof StatusError) throw cause
    const { reason = String(cause) } = cause as { reason?: string }
    throw Object.assign(new YamlError(`yaml: ${reason}`), { cause })
  }
}

/** What follows the first document may be anything. */
function firstDocument(text: string): string {
  const start = /^(?:[ \t]*(?:#.*)?\r?\n|%.*\r?\n)*(?:---(?=\s|$))?/.exec(text)![0].length
  const end = text.slice(start).search(/^(?:---|\.\.\.)(?=\s|$)/m)
  return end < 0 ? text : text.slice(0, start + end)
}
