/** Reads YAML bodies as the Go YAML library does: YAML 1.1, the first document, as JSON. */
import type { Event } from 'js-yaml'
import { type Json, type JsonObject, put } from '../model/json.ts'
import { loadedLater } from '../model/loaded_later.ts'
import { plainScalar, YamlError } from '../../core/yaml_scalars.ts'

const parser = loadedLater(async () => {
  const { getScalarValue, parseEvents } = await import('js-yaml')
  return { getScalarValue, parseEvents }
})

export interface YamlDocument {
  readonly value: Json
  /** The keys that occur twice in one mapping, as `line 7: key "a" already set in map`. */
  readonly duplicates: readonly string[]
}

/** The maximum nesting of JSON and YAML: whatever walks through an object is recursive. 10,000 in Go. */
export const MAX_DEPTH = 500

/** Reads the first document; null if it is empty. Throws YamlError. Suspends the first request until it is loaded. */
export function readYaml(text: string): YamlDocument {
  const { parseEvents } = parser()
  const source = firstDocument(text)
  let events: Event[]
  try {
    events = parseEvents(source, { maxDepth: MAX_DEPTH })
  } catch (cause) {
    throw Object.assign(new YamlError(`yaml: ${goWords(cause, source)}`), { cause })
  }
  return new Reader(source, events).read()
}

/** The decoder stops after the first document: the rest may be anything. */
function firstDocument(text: string): string {
  const start = /^(?:[ \t]*(?:#.*)?\r?\n|%.*\r?\n)*(?:---(?=\s|$))?/.exec(text)![0].length
  const end = text.slice(start).search(/^(?:---|\.\.\.)(?=\s|$)/m)
  return end < 0 ? text : text.slice(0, start + end)
}

const TOKEN = 'found character that cannot start any token'
const VALUES = 'mapping values are not allowed in this context'

/** Returns the message of the Go library for the common errors; for others, a general one. */
function goWords(error: unknown, source: string): string {
  const { reason = '', mark } = error as { reason?: string; mark?: { line?: number; position?: number } }
  const { line = 0, position = 0 } = mark ?? {}
  // Go counts from 0 in some messages and from 1 in others, and leaves out line 0.
  const at = (number: number, words: string): string => number > 0 ? `line ${number}: ${words}` : words
  const next = line > 0 ? line + 1 : 0
  if (/within a flow collection/.test(reason)) {
    if (/,\s*$/.test(source)) return at(1, 'did not find expected node content')
    const detail = `did not find expected ',' or '${source.lastIndexOf('{') > source.lastIndexOf('[') ? '}' : ']'}'`
    return at(Math.max(line, 1), detail)
  }
  if (/within a (?:single|double)/.test(reason)) return at(next, 'found unexpected end of stream')
  if (/tab characters/.test(reason) || /^[@`\t]/.test(source.slice(position))) return at(next, TOKEN)
  if (/YAML version/.test(reason)) return 'found incompatible YAML document'
  if (/^\s*:/.test(source.slice(position))) return at(next, VALUES)
  if (/^[\]},]/.test(source.slice(position))) return at(line, 'did not find expected node content')
  if (/document separator/.test(reason) && /^-/.test(source)) return at(line, "did not find expected '-' indicator")
  return at(line, 'did not find expected key')
}

const EVENT = { document: 1, sequence: 2, mapping: 3, scalar: 4, alias: 5, pop: 6 } as const
const PLAIN = 1

/** Builds the value of a document from its events. */
class Reader {
  readonly #source: string
  readonly #events: readonly Event[]
  readonly #anchors = new Map<string, number>()
  readonly #duplicates: string[] = []
  #at = 0
  /** The limits of aliases: all decoded nodes, and those of aliases. */
  #decoded = 0
  #aliased = 0
  #aliasDepth = 0

  constructor(source: string, events: readonly Event[]) {
    this.#source = source
    this.#events = events
  }

  read(): YamlDocument {
    if (this.#events[0]?.type !== EVENT.document) return { value: null, duplicates: [] }
    this.#at = 1
    if (this.#events[1]?.type === EVENT.pop) return { value: null, duplicates: [] }
    return { value: this.#node(), duplicates: this.#duplicates }
  }

  #node(): Json {
    const start = this.#at
    const event = this.#events[this.#at++]!
    this.#count()
    if (event.type === EVENT.alias) return this.#alias(this.#source.slice(event.anchorStart, event.anchorEnd))
    if (event.type === EVENT.document || event.type === EVENT.pop) return null
    if (event.anchorStart >= 0) this.#anchors.set(this.#source.slice(event.anchorStart, event.anchorEnd), start)
    const tag = event.tagStart >= 0 ? this.#source.slice(event.tagStart, event.tagEnd) : ''
    switch (event.type) {
      case EVENT.scalar:
        return scalarOf(parser().getScalarValue(this.#source, event), tag, event.style === PLAIN)
      case EVENT.sequence: {
        const items: Json[] = []
        while (!this.#ends()) items.push(this.#node())
        return items
      }
      default:
        return this.#mapping()
    }
  }

  #mapping(): Json {
    const result: JsonObject = {}
    const merged: Json[] = []
    const seen = new Set<string>()
    while (!this.#ends()) {
      const event = this.#events[this.#at]!
      const isMerge = event.type === EVENT.scalar && event.style === PLAIN &&
        this.#source.slice(event.valueStart, event.valueEnd) === '<<'
      const given = this.#node()
      if (isMerge) {
        merged.push(this.#node())
        continue
      }
      const value = this.#node()
      const key = keyOf(given, value)
      if (seen.has(key) && this.#aliasDepth === 0) {
        this.#duplicates.push(`line ${this.#lineOf(event)}: key ${JSON.stringify(given)} already set in map`)
      }
      seen.add(key)
      put(result, key, value)
    }
    return merged.length > 0 ? withMerged(result, merged) : result
  }

  #ends(): boolean {
    if (this.#events[this.#at]?.type !== EVENT.pop) return false
    this.#at++
    return true
  }

  #alias(name: string): Json {
    const start = this.#anchors.get(name)
    if (start === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`)
    const after = this.#at
    this.#at = start
    this.#aliasDepth++
    // An anchor that contains its own alias would never end.
    this.#anchors.delete(name)
    const value = this.#node()
    this.#anchors.set(name, start)
    this.#aliasDepth--
    this.#at = after
    return value
  }

  /** Refuses documents whose aliases multiply, by the rule of the Go library. */
  #count(): void {
    this.#decoded++
    if (this.#aliasDepth > 0) this.#aliased++
    if (this.#aliased <= 100 || this.#decoded <= 1000) return
    const share = Math.min(1, Math.max(0, (this.#decoded - 400_000) / 3_600_000))
    if (this.#aliased / this.#decoded > 0.99 - 0.89 * share) {
      throw new YamlError('yaml: document contains excessive aliasing')
    }
  }

  #lineOf(event: Event): number {
    const offset = 'valueStart' in event ? event.valueStart : 'start' in event ? event.start : 0
    return this.#source.slice(0, offset).split('\n').length
  }
}

/** Adds the fields of `<<`, which never replace others. */
function withMerged(result: JsonObject, merged: readonly Json[]): JsonObject {
  for (const source of merged.flat()) {
    if (typeof source !== 'object' || source === null || Array.isArray(source)) {
      throw new YamlError('yaml: map merge requires map or sequence of maps as the value')
    }
    for (const [key, value] of Object.entries(source)) if (!Object.hasOwn(result, key)) put(result, key, value)
  }
  return result
}

function keyOf(key: Json, value: Json): string {
  if (typeof key === 'string') return key
  if (typeof key === 'number' || typeof key === 'boolean') return String(key)
  const type = key === null ? '%!s(<nil>), key: <nil>' : `map[interface {}]interface {}, key: ${JSON.stringify(key)}`
  throw new YamlError(`unsupported map key of type: ${type}, value: ${JSON.stringify(value)}`)
}

/** @param tag Such as `!!str`; empty if there is none. */
function scalarOf(text: string, tag: string, isPlain: boolean): Json {
  if (tag === '!!binary') return binary(text)
  if (tag === '!!str' || tag === '!') return text
  if (!isPlain && tag === '') return text
  if (tag !== '' && !tag.startsWith('!!')) return text
  const value = plainScalar(text)
  const found = value === null
    ? '!!null'
    : typeof value === 'boolean'
    ? '!!bool'
    : typeof value === 'string'
    ? '!!str'
    : '!!int'
  const fits = tag === '' || tag === found || found === '!!int' && (tag === '!!float' || tag === '!!int') ||
    tag === '!!timestamp'
  if (!fits) throw new YamlError(`yaml: cannot decode ${found} \`${text}\` as a ${tag}`)
  return value
}

function binary(text: string): string {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/\s/g, '')), (char) => char.charCodeAt(0))
    return new TextDecoder().decode(bytes)
  } catch (cause) {
    throw Object.assign(new YamlError('yaml: !!binary value contains invalid base64 data'), { cause })
  }
}
