/** Keys and scalars for `simple_yaml.ts`. */

/** The lines of a text and the next one to read. A reader moves behind what it has read. */
export interface Lines {
  readonly all: string[]
  at: number
  readonly resolve: Resolve
}

/** Returns the value of a plain scalar. */
export type Resolve = (text: string) => unknown

/** Thrown if the current line needs a full parser. */
export const REFUSED = {}

export function refuse(): never {
  throw REFUSED
}

/** Tests for an empty rest or a comment. */
export function isComment(rest: string): boolean {
  return /^(?:#|$)/.test(rest)
}

/** Splits a line into its key and the text after the colon. */
export function readKey(
  line: string,
  resolve: Resolve = coreScalar,
): { readonly key: string; readonly rest: string } | undefined {
  const [, written, rest = ''] = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\w/][\w./-]*) *:(?: +(.*)|$)/.exec(line) ?? []
  return written === undefined
    ? undefined
    : { key: /^["']/.test(written) ? unquote(written) : String(resolve(written)), rest }
}

/** Reads the value that begins with `first`, on the current line, in a block of this indentation. */
export function readScalar(lines: Lines, indent: number, first: string): unknown {
  if (/^["']/.test(first)) return readQuoted(lines, indent, first)
  return /^[|>]/.test(first) ? readTextBlock(lines, indent, first) : readPlain(lines, indent, first)
}

/** Reads a quoted scalar, also of several lines: a line break is a space, n > 1 of them are n - 1 line breaks. */
function readQuoted(lines: Lines, indent: number, first: string): string {
  let end = lines.at + 1
  while (end < lines.all.length && isContinuation(lines.all[end]!, indent)) end++
  const source = [first, ...lines.all.slice(lines.at + 1, end)].join('\n')
  const [written] = (first.startsWith('"') ? /^"(?:[^"\\]|\\[^])*"/ : /^'(?:[^']|'')*'(?!')/).exec(source) ?? []
  if (written === undefined || !/^(?: +#.*| *)(?:\n|$)/.test(source.slice(written.length))) return refuse()
  const text = unquote(written)
  lines.at += written.split('\n').length
  return text
}

function isContinuation(line: string, indent: number): boolean {
  return line.search(/[^ ]|$/) > indent || /^ *$/.test(line)
}

export function unquote(written: string): string {
  return written.slice(1, -1).replace(written.startsWith('"') ? DOUBLE : SINGLE, (part) => {
    if (part === "''") return "'"
    if (!part.startsWith('\\')) return '\n'.repeat(part.split('\n').length - 2) || ' '
    if (part.startsWith('\\\n')) return ''
    if (part.length > 2) return String.fromCharCode(parseInt(part.slice(2), 16))
    return ESCAPES[part.slice(1)] ?? refuse()
  })
}

const SINGLE = /''| *\n[ \n]*/g
const DOUBLE = /\\(?:\n[ \n]*|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^])| *\n[ \n]*/g
const ESCAPES: Readonly<Record<string, string>> = {
  0: '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
}

/** Reads a block scalar after "|" or ">", which folds lines. A width and "-" (no final line break) may follow. */
function readTextBlock(lines: Lines, indent: number, header: string): string {
  const [whole, style, width, strip] = /^([|>])([1-9]?)(-?)(?: +#.*| *)$/.exec(header) ?? []
  if (whole === undefined) refuse()
  const from = ++lines.at
  while (lines.at < lines.all.length && /^ *$/.test(lines.all[lines.at]!)) lines.at++
  const start = width ? indent + Number(width) : (lines.all[lines.at] ?? '').search(/[^ ]|$/)
  // Without content, or with a deeper empty line before it, the indentation is unclear.
  if (start <= indent || lines.all.slice(from, lines.at).some((line) => line.length > start)) refuse()
  while (lines.at < lines.all.length && isContinuation(lines.all[lines.at]!, start - 1)) lines.at++
  const text = lines.all.slice(from, lines.at).map((line) => line.slice(start)).join('\n').replace(/\n+$/, '')
  if (text === '') refuse()
  // Deeper lines keep their line breaks.
  const folded = style === '>'
    ? text.replace(/(?<=^[^ \n].*)\n(\n*)(?=[^ \n])/gm, (_, more: string) => more || ' ')
    : text
  return folded + (strip ? '' : '\n')
}

/** Reads a plain scalar. Further lines that are deeper than the block belong to it. */
function readPlain(lines: Lines, indent: number, first: string): unknown {
  if (/^(?:-(?: |$)|[?:,[\]{}&*!|>%@`])/.test(first)) refuse()
  let text = first.replace(/(?: +#.*| +)$/, '')
  let next = lines.at + 1
  for (; !/ #/.test(first); next++) {
    const line = lines.all[next] ?? ''
    if (/^ *(?:#|$)/.test(line) || !isContinuation(line, indent)) break
    text += ` ${line.replace(/^ +| +$/g, '')}`
  }
  // A possible key or comment inside needs a full parser.
  const value = /:(?: |$)| #/.test(text) ? refuse() : lines.resolve(text)
  lines.at = next
  return value
}

/** Returns the value of a plain scalar by YAML 1.2's core schema. */
export function coreScalar(text: string): unknown {
  if (/^(?:~|null|Null|NULL)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?\.(?:inf|nan)$/i.test(text)) refuse()
  const isNumber = /^(?:0o[0-7]+|0x[\da-fA-F]+|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?)$/.test(text)
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text
}
