/**
 * Reads the YAML of kubeconfigs without a full parser: block and flow mappings and lists, scalars in all styles,
 * comments, one document. Refuses anything else (anchors, tags, tabs, duplicate keys …) instead of guessing. The result
 * always equals js-yaml's, which is stricter only about the indentation of flow collections.
 */
import {
  coreScalar,
  isComment,
  type Lines,
  readKey,
  readScalar,
  refuse,
  REFUSED,
  type Resolve,
  unquote,
} from './yaml_scalars.ts'

/**
 * Returns the document, undefined for an empty one; or the number of the line that needs a full parser. `resolve`
 * returns the value of a plain scalar; without it, scalars have the values of YAML 1.2.
 */
export function readSimpleYaml(
  text: string,
  resolve: Resolve = coreScalar,
): { readonly document: unknown } | { readonly refusedLine: number } {
  const clean = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  const lines: Lines = { all: clean.split('\n'), at: 0, resolve }
  try {
    const unusual = clean.search(UNUSUAL)
    if (unusual >= 0) {
      lines.at = clean.slice(0, unusual).split('\n').length - 1
      refuse()
    }
    if (nextIndent(lines) === 0 && /^--- *$/.test(lines.all[lines.at]!)) lines.at++
    const indent = nextIndent(lines)
    if (indent === -1) return { document: undefined }
    const content = lines.all[lines.at]!.slice(indent)
    const document = /^[{[]/.test(content) ? readFlow(lines, content) : readBlock(lines)
    // A line whose indentation matches no open block remains.
    return nextIndent(lines) === -1 ? { document } : refuse()
  } catch (error) {
    if (error === REFUSED) return { refusedLine: lines.at + 1 }
    throw error
  }
}

/** Tabs, line ends of JavaScript alone, and characters that YAML calls not printable. */
const UNUSUAL = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u

/** Deeper than any kubeconfig, and less deep than js-yaml's limit. */
const LARGEST_INDENT = 40

/** Moves to the next line with content. Returns its indentation, or -1 at the end. */
function nextIndent(lines: Lines): number {
  for (; lines.at < lines.all.length; lines.at++) {
    const indent = lines.all[lines.at]!.search(/[^ ]/)
    if (indent >= 0 && lines.all[lines.at]![indent] !== '#') return indent
  }
  return -1
}

/** Reads the list or mapping that begins at the current line. */
function readBlock(lines: Lines): unknown {
  const indent = nextIndent(lines)
  if (indent > LARGEST_INDENT) refuse()
  return startsItem(lines, indent) ? readList(lines, indent) : readMapping(lines, indent)
}

function startsItem({ all, at }: Lines, indent: number): boolean {
  return /^-(?: |$)/.test(all[at]!.slice(indent))
}

function readList(lines: Lines, indent: number): unknown[] {
  const items: unknown[] = []
  while (nextIndent(lines) === indent && startsItem(lines, indent)) {
    const rest = lines.all[lines.at]!.slice(indent + 1)
    const content = rest.replace(/^ +/, '')
    if (/^- /.test(content) || readKey(content)) {
      // "- name: a" is read as if the first key were on a line of its own.
      lines.all[lines.at] = ' '.repeat(indent + 1) + rest
      items.push(readBlock(lines))
    } else items.push(readNode(lines, indent, content, indent + 1))
  }
  return items
}

function readMapping(lines: Lines, indent: number): unknown {
  const entries = new Map<string, unknown>()
  while (nextIndent(lines) === indent) {
    const { key, rest } = readKey(lines.all[lines.at]!.slice(indent), lines.resolve) ?? refuse()
    if (entries.has(key)) refuse()
    entries.set(key, readNode(lines, indent, rest, indent))
  }
  return Object.fromEntries(entries)
}

/** Reads the value after a key's colon or an item's dash. A list below it needs the indentation `listIndent`. */
function readNode(lines: Lines, indent: number, content: string, listIndent: number): unknown {
  if (!isComment(content)) return readInline(lines, indent, content)
  lines.at++
  const below = nextIndent(lines)
  // A list in a mapping may have the indentation of the keys.
  if (below < listIndent || (below === indent && !startsItem(lines, indent))) return null
  const next = lines.all[lines.at]!.slice(below)
  return startsItem(lines, below) || readKey(next) ? readBlock(lines) : readInline(lines, indent, next)
}

function readInline(lines: Lines, indent: number, content: string): unknown {
  return /^[{[]/.test(content) ? readFlow(lines, content) : readScalar(lines, indent, content)
}

/** Deeper than any kubeconfig, and less deep than js-yaml's limit. */
const LARGEST_DEPTH = 40

const SPACE = /(?:[ \n]|(?<=[ \n])#.*)*/y
const QUOTED = /"(?:[^"\\]|\\[^])*"|'(?:[^']|'')*'/y
const PLAIN = /(?:[^ \n,[\]{}#&*!|>'"%@`:?-]|-(?![ \n,[\]{}]))(?: *(?:[^ \n,[\]{}:#]|:(?![ \n,[\]{}])|(?<! )#))*/y

/** Reads a flow collection that begins with `first` on the current line, on one or several lines. */
function readFlow(lines: Lines, first: string): unknown {
  const source = [first, ...lines.all.slice(lines.at + 1), ''].join('\n')
  const firstLine = lines.at
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0]
    if (found === undefined) return undefined
    at += found.length
    lines.at += found.split('\n').length - 1
    return found
  }
  const fail = (): never => {
    // A collection that is never closed is reported where it begins.
    if (at === source.length) lines.at = firstLine
    return refuse()
  }
  const readScalar = (): unknown => {
    const quoted = take(QUOTED)
    return quoted === undefined ? lines.resolve(take(PLAIN) ?? fail()) : unquote(quoted)
  }
  /** Reads the items between commas, up to the end of a collection. */
  const readItems = (closing: RegExp, depth: number, readItem: () => void): void => {
    if (depth > LARGEST_DEPTH) refuse()
    for (take(SPACE); !take(closing); take(SPACE)) {
      readItem()
      take(SPACE)
      if (!take(/,/y)) return void (take(closing) ?? fail())
    }
  }
  const readNode = (depth: number): unknown => {
    if (take(/\[/y)) {
      const items: unknown[] = []
      readItems(/\]/y, depth, () => items.push(readNode(depth + 1)))
      return items
    }
    if (!take(/\{/y)) return readScalar()
    const entries = new Map<string, unknown>()
    readItems(/\}/y, depth, () => {
      const line = lines.at
      const key = String(readScalar())
      if (entries.has(key) || key === '<<' || lines.at > line) refuse()
      const hasValue = take(/ *:/y)
      take(SPACE)
      entries.set(key, !hasValue || /[,}]/.test(source.charAt(at)) ? null : readNode(depth + 1))
    })
    return Object.fromEntries(entries)
  }
  const value = readNode(1)
  // A document never ends inside a collection.
  if (!take(/(?: +#.*| *)\n/y) || /\n(?:---|\.\.\.)/.test(source.slice(0, at))) refuse()
  return value
}
