/** Writes JSON values as YAML, as the Go YAML library does: sorted keys, no folded lines. */
import { isFields } from './clone.ts'
import { plainScalar } from './yaml_scalars.ts'

/** Returns a YAML document, which ends with a line break. */
export function yamlText(value: unknown): string {
  return `${nodeText(value, 0, 0).trimStart()}\n`
}

/**
 * Returns a node after its key or dash: ` scalar`, or the lines of a collection at this indentation.
 *
 * @param column Where a scalar begins on its line.
 */
function nodeText(value: unknown, indent: number, column: number): string {
  if (Array.isArray(value)) return value.length === 0 ? ' []' : listText(value, indent)
  if (isFields(value)) return Object.keys(value).length === 0 ? ' {}' : mappingText(value, indent)
  return ` ${typeof value === 'string' ? stringText(value, indent, column) : String(value)}`
}

function mappingText(value: Readonly<Record<string, unknown>>, indent: number): string {
  const margin = `\n${' '.repeat(indent)}`
  let text = ''
  for (const key of Object.keys(value).sort(compareKeys)) {
    const child = value[key]
    const name = keyText(key)
    // Lists are not indented in a mapping.
    const isInner = isFields(child)
    const node = nodeText(child, isInner ? indent + 2 : indent, indent + name.length + 2)
    text += name.length > MAX_KEY ? `${margin}? ${name}${margin}:${node}` : `${margin}${name}:${node}`
  }
  return text
}

/** Longer keys are written behind a question mark. */
const MAX_KEY = 128

function listText(items: readonly unknown[], indent: number): string {
  const margin = `\n${' '.repeat(indent)}`
  // The first line of a collection stands behind the dash.
  return items.map((item) => {
    const isScalar = !isFields(item) && !Array.isArray(item)
    return `${margin}- ${nodeText(item, isScalar ? indent : indent + 2, indent + 2).trimStart()}`
  }).join('')
}

/** Keys are not folded. */
function keyText(key: string): string {
  if (key === '') return '""'
  return key.includes('\n') ? doubleQuoted(key, 0, -Infinity) : stringText(key, 0, -Infinity)
}

/** @param indent That of the mapping or list around it. */
function stringText(text: string, indent: number, column: number): string {
  const analysis = analyze(text)
  if (text.includes('\n')) return analysis.block ? literal(text, indent) : doubleQuoted(text, indent, column)
  if (!isText(text)) return doubleQuoted(text, indent, column)
  if (analysis.plain) return folded(text, indent, column, false)
  if (!analysis.single) return doubleQuoted(text, indent, column)
  return `'${folded(text, indent, column + 1, true).replaceAll("'", "''")}'`
}

const WIDTH = 80

/** Breaks long lines at single spaces. */
function folded(text: string, indent: number, from: number, isQuoted: boolean): string {
  if (from + text.length <= WIDTH) return text
  let column = from
  let result = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    const breaks = char === ' ' && column > WIDTH && text[i - 1] !== ' ' && text[i + 1] !== ' ' &&
      (!isQuoted || i > 0 && i < text.length - 1)
    if (breaks) {
      result += `\n${' '.repeat(indent + 2)}`
      column = indent + 2
    } else {
      result += char
      // A quote within quotes is written twice; a surrogate pair is one character.
      column += isQuoted && char === "'" ? 2 : /[\ud800-\udbff]/.test(char) ? 0 : 1
    }
  }
  return result
}

/** Returns whether a plain scalar would be read as this text, and not as a number, a time, or a truth value. */
function isText(text: string): boolean {
  if (text === '<<' || TIME.test(text) || BASE_60.test(text)) return false
  try {
    return typeof plainScalar(text) === 'string'
  } catch {
    // Not a number, or infinite.
    return false
  }
}

const TIME =
  /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)?$/
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/

/** All but the line feed, printable ASCII, and the printable rest of the Basic Multilingual Plane. */
// deno-lint-ignore no-control-regex -- control characters are the point
const SPECIAL = /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u

/** Returns the styles that can hold a text. */
function analyze(text: string): { readonly plain: boolean; readonly single: boolean; readonly block: boolean } {
  const special = SPECIAL.test(text) || / \n/.test(text)
  const edges = /^[ \n]|[ \n]$/.test(text)
  const indicators = /^(?:---|\.\.\.)|^[#,[\]{}&*!|>'"%@`]|^[?:-](?:\s|$)|:(?:\s|$)|\s#/.test(text)
  const breakSpace = /\n /.test(text)
  return {
    plain: !special && !edges && !indicators && !text.includes('\n'),
    single: !special && !breakSpace,
    block: !special && !text.endsWith(' '),
  }
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? '2' : ''
  const chomp = !text.endsWith('\n') ? '-' : text === '\n' || text.endsWith('\n\n') ? '+' : ''
  const margin = ' '.repeat(indent + 2)
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  return `|${hint}${chomp}${body.split('\n').map((line) => `\n${line && margin}${line}`).join('')}`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001b': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
  '\u2028': 'L',
  '\u2029': 'P',
}

function doubleQuoted(text: string, indent: number, from: number): string {
  let result = '"'
  let column = from + 1
  const characters = [...text]
  for (const [i, char] of characters.entries()) {
    const escape = ESCAPES[char]
    let written = char
    if (escape !== undefined) written = `\\${escape}`
    else if (SPECIAL.test(char) || char === '\ufeff') {
      const code = char.codePointAt(0)!
      const [letter, width] = code <= 0xff ? ['x', 2] as const : code <= 0xffff ? ['u', 4] as const : ['U', 8] as const
      written = `\\${letter}${code.toString(16).toUpperCase().padStart(width, '0')}`
    }
    if (char === ' ' && column > WIDTH && characters[i - 1] !== ' ' && i > 0 && i < characters.length - 1) {
      result += `\n${' '.repeat(indent + 2)}${characters[i + 1] === ' ' ? '\\' : ''}`
      column = indent + 2
    } else {
      result += written
      column += escape === undefined && written.length <= 2 ? 1 : written.length
    }
  }
  return `${result}"`
}

/** The order of the Go library: numbers within names by value, letters after other characters. */
function compareKeys(left: string, right: string): number {
  const a = [...left]
  const b = [...right]
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i]!, b[i]!]
    if (x === y) continue
    const [isLetter, isOtherLetter] = [LETTER.test(x), LETTER.test(y)]
    if (isLetter && isOtherLetter) return x < y ? -1 : 1
    if (isLetter || isOtherLetter) return isOtherLetter ? -1 : 1
    // A zero within a number does not begin a new number.
    const within = (x === '0' || y === '0') && /[1-9]\d*$/.test(a.slice(0, i).join('')) ? '1' : ''
    const [m, n] = [digitsAt(a, i), digitsAt(b, i)]
    const difference = Number(within + m) - Number(within + n)
    return difference || m.length - n.length || (x < y ? -1 : 1)
  }
  return a.length - b.length
}

const LETTER = /\p{L}/u

function digitsAt(characters: readonly string[], from: number): string {
  let end = from
  while (end < characters.length && characters[end]! >= '0' && characters[end]! <= '9') end++
  return characters.slice(from, end).join('')
}
