/**
 * The YAML that tools write kubeconfigs in, so that an ordinary one needs no parser: block mappings and lists, scalars in all styles
 * but folded blocks, comments, `{}` and `[]`, one document. Anything else (anchors, tags, flow collections, tabs, a key said twice …)
 * is refused rather than guessed at: what is answered is always what js-yaml answers.
 */
import { isComment, readKey, readScalar } from './yaml_scalars.ts'
import type { Lines } from './yaml_scalars.ts'

/** The document that `text` has; undefined when it is not, or not surely, one of this kind. */
export function readSimpleYaml(text: string): unknown {
  const clean = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  if (UNUSUAL.test(clean)) return undefined
  const lines: Lines = { all: clean.split('\n'), at: 0 }
  if (nextIndent(lines) === 0 && /^--- *$/.test(lines.all[lines.at]!)) lines.at++
  if (nextIndent(lines) !== 0) return undefined
  const document = readBlock(lines)
  // A line that no open block has the indentation of is left over.
  return nextIndent(lines) === -1 ? document : undefined
}

/** Tabs, the line ends that only JavaScript knows, and what YAML calls not printable. */
const UNUSUAL = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u

/** Deeper than any kubeconfig, and not as deep as js-yaml goes. */
const LARGEST_INDENT = 40

/** Goes on to the next line that says something. Answers its indentation, or -1 at the end. */
function nextIndent(lines: Lines): number {
  for (; lines.at < lines.all.length; lines.at++) {
    const indent = lines.all[lines.at]!.search(/[^ ]/)
    if (indent >= 0 && lines.all[lines.at]![indent] !== '#') return indent
  }
  return -1
}

/** The list or mapping that begins at the current line. */
function readBlock(lines: Lines): unknown {
  const indent = nextIndent(lines)
  if (indent > LARGEST_INDENT) return undefined
  return startsItem(lines, indent) ? readList(lines, indent) : readMapping(lines, indent)
}

function startsItem({ all, at }: Lines, indent: number): boolean {
  return /^-(?: |$)/.test(all[at]!.slice(indent))
}

function readList(lines: Lines, indent: number): unknown {
  const items: unknown[] = []
  while (nextIndent(lines) === indent && startsItem(lines, indent)) {
    const rest = lines.all[lines.at]!.slice(indent + 1)
    const content = rest.replace(/^ +/, '')
    let item: unknown
    if (startsBlock(content)) {
      // "- name: a" is a mapping as if its first key stood on a line of its own.
      lines.all[lines.at] = ' '.repeat(indent + 1) + rest
      item = readBlock(lines)
    } else item = isComment(content) ? readBelow(lines, indent + 1) : readScalar(lines, indent, content)
    if (item === undefined) return undefined
    items.push(item)
  }
  return items
}

function startsBlock(content: string): boolean {
  return /^- /.test(content) || readKey(content) !== undefined
}

function readMapping(lines: Lines, indent: number): unknown {
  const entries = new Map<string, unknown>()
  while (nextIndent(lines) === indent) {
    const entry = readKey(lines.all[lines.at]!.slice(indent))
    if (!entry || entries.has(entry.key)) return undefined
    const value = isComment(entry.rest) ? readBelow(lines, indent) : readScalar(lines, indent, entry.rest)
    if (value === undefined) return undefined
    entries.set(entry.key, value)
  }
  return Object.fromEntries(entries)
}

/** The block below a line that ends with a key's colon or an item's dash, and null when there is none. */
function readBelow(lines: Lines, indent: number): unknown {
  lines.at++
  const below = nextIndent(lines)
  // A mapping's list may stand at the indentation of its keys.
  return below > indent || (below === indent && startsItem(lines, indent)) ? readBlock(lines) : null
}
