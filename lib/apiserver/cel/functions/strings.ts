/** Functions of strings. Offsets and sizes count characters, not UTF-16 units. */
import {
  CelError,
  display,
  goNumber,
  isMap,
  ListValue,
  noSuchOverload,
  Timestamp,
  typeNameOf,
  Uint,
  type Value,
} from '../values.ts'
import { Duration } from '../values.ts'
import type { CelType } from '../types.ts'
import { findAll, findFirst, matches } from './regex.ts'
import type { Row } from './table.ts'
import { durationText, timestampText } from './time.ts'

function outOfRange(at: bigint): CelError {
  return new CelError(`index out of range: ${at}`)
}

function charAt(text: string, at: bigint): string {
  const chars = [...text]
  if (at < 0n || at > BigInt(chars.length)) throw outOfRange(at)
  return chars[Number(at)] ?? ''
}

function startsAt(chars: readonly string[], part: readonly string[], at: number): boolean {
  return part.every((char, index) => chars[at + index] === char)
}

function indexOf(text: string, part: string, from = 0n): bigint {
  const chars = [...text]
  const wanted = [...part]
  if (wanted.length === 0) return from
  if (from < 0n) throw outOfRange(from)
  for (let at = Number(from); at <= chars.length - wanted.length; at++) {
    if (startsAt(chars, wanted, at)) return BigInt(at)
  }
  return -1n
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const chars = [...text]
  const wanted = [...part]
  const last = BigInt(chars.length - 1)
  if (wanted.length === 0) return from ?? last + 1n
  if (from !== undefined && from < 0n) throw outOfRange(from)
  // From beyond the end, nothing is found.
  for (let at = Number(from === undefined ? last : from > last ? -1n : from); at >= 0; at--) {
    if (startsAt(chars, wanted, at)) return BigInt(at)
  }
  return -1n
}

function substring(text: string, start: bigint, end?: bigint): string {
  const chars = [...text]
  const size = BigInt(chars.length)
  if (end === undefined) {
    if (start < 0n || start > size) throw outOfRange(start)
    return chars.slice(Number(start)).join('')
  }
  if (start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  if (start < 0n || start > size) throw outOfRange(start)
  if (end < 0n || end > size) throw outOfRange(end)
  return chars.slice(Number(start), Number(end)).join('')
}

function replace(text: string, from: string, to: string, count = -1n): string {
  if (count < 0n) {
    return from === '' ? [to, ...[...text].flatMap((char) => [char, to])].join('') : text.replaceAll(from, () => to)
  }
  let result = ''
  let rest = text
  for (let left = count; left > 0n; left--) {
    const at = rest.indexOf(from)
    if (at < 0) break
    const step = from === '' && result !== '' ? [...rest][0]?.length ?? 0 : 0
    result += rest.slice(0, at + step) + to
    rest = rest.slice(at + step + from.length)
  }
  return result + rest
}

function split(text: string, by: string, max = -1n): ListValue {
  if (max === 0n) return new ListValue([])
  const all = by === '' ? [...text] : text.split(by)
  if (max < 0n || all.length <= Number(max)) return new ListValue(all)
  const first = all.slice(0, Number(max) - 1)
  return new ListValue([...first, all.slice(Number(max) - 1).join(by)])
}

function ascii(text: string, from: RegExp, change: (char: string) => string): string {
  return text.replace(from, change)
}

/** The white space of Unicode, which differs from what `String.prototype.trim` removes. */
const BLANK = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+'
const AROUND = new RegExp(`^${BLANK}|${BLANK}$`, 'g')

function join({ items }: ListValue, by = ''): string {
  if (items.some((each) => typeof each !== 'string')) throw noSuchOverload()
  return items.join(by)
}

const QUOTED: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

function quote(text: string): string {
  // deno-lint-ignore no-control-regex -- these are what is escaped
  return `"${text.replace(/[\x07-\r\\"]/g, (char) => QUOTED[char] ?? char)}"`
}

/** Formats arguments as the clauses of a text say, such as `%d` and `%.2f`. */
function format(text: string, { items }: ListValue): string {
  return replaceClauses(text, items.length, (at, verb, precision) => formatted(items[at]!, verb, precision))
}

/** Replaces the clauses of a text by what `textOf` returns for the argument at this place. */
function replaceClauses(
  text: string,
  count: number,
  textAt: (at: number, verb: string, precision: number | undefined) => string,
): string {
  let next = 0
  return text.replace(/%(?:(%)|(?:\.(\d+))?(.)?)/g, (_clause, percent?: string, precision?: string, verb?: string) => {
    if (percent) return '%'
    if (verb === undefined) throw new CelError('unexpected end of string')
    if (!CLAUSES[verb] && verb !== 's') {
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
    }
    if (next >= count) throw new CelError(`index ${next} out of range`)
    return textAt(next++, verb, precision === undefined ? undefined : Number(precision))
  })
}

function formatted(value: Value, verb: string, precision: number | undefined): string {
  const number = value instanceof Uint ? value.value : value
  const refuse = (wanted: string): never => {
    throw new CelError(
      `error during formatting: ${wanted} clause can only be used on ${CLAUSES[verb]}, was given ${typeNameOf(value)}`,
    )
  }
  switch (verb) {
    case 's':
      return textOf(value)
    case 'd':
      if (typeof number === 'bigint') return String(number)
      return typeof number === 'number' ? goNumber(number) : refuse('decimal')
    case 'f':
      return typeof number === 'number' || typeof number === 'bigint'
        ? grouped(Number(number).toFixed(precision ?? 6))
        : refuse('fixed-point')
    case 'e':
      return typeof number === 'number' || typeof number === 'bigint'
        ? scientific(Number(number))
        : refuse('scientific')
    case 'b':
      if (typeof number === 'boolean') return number ? '1' : '0'
      return typeof number === 'bigint' ? number.toString(2) : refuse('binary')
    case 'o':
      return typeof number === 'bigint' ? number.toString(8) : refuse('octal')
    default: {
      const hex = hexadecimal(number) ?? refuse('hex')
      return verb === 'X' ? hex.toUpperCase() : hex
    }
  }
}

/** Returns 1,234.50 for 1234.50, as in the American locale. */
function grouped(text: string): string {
  const [whole = '', ...fraction] = text.split('.')
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.')
}

/** Returns 1.500000×10⁻⁰⁷ for 1.5e-7. As on the real server, a precision changes nothing. */
function scientific(value: number): string {
  const [mantissa, exponent] = value.toExponential(6).split('e') as [string, string]
  const digits = [...exponent.slice(1).padStart(2, '0')].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)])
  return `${mantissa}×10${exponent.startsWith('-') ? '⁻' : ''}${digits.join('')}`
}

/** The types that a clause takes where they are known before the expression runs: fewer than then. */
const CHECKED: Readonly<Record<string, readonly [rule: string, ...types: readonly string[]]>> = {
  d: ['decimal clause can only be used on integers', 'int', 'uint'],
  f: ['fixed-point clause can only be used on doubles', 'double', 'string'],
  e: ['scientific clause can only be used on doubles', 'double', 'string'],
  b: ['only integers and bools can be formatted as binary', 'int', 'uint', 'bool'],
  o: ['octal clause can only be used on integers', 'int', 'uint'],
  x: ['only integers, byte buffers, and strings can be formatted as hex', 'int', 'uint', 'bytes', 'string'],
}

/** Returns what is wrong with a text of `format` and its arguments. `at`: the argument, or undefined for the call. */
export function formatProblem(
  text: string,
  types: readonly CelType[],
): { readonly message: string; readonly at: number | undefined } | undefined {
  let [count, wrong]: [number, number | undefined] = [0, undefined]
  try {
    replaceClauses(text, types.length, (at, verb) => {
      count++
      const { kind } = types[at]!
      const [rule, ...allowed] = CHECKED[verb.toLowerCase()] ?? ['']
      if (rule && kind !== 'dyn' && kind !== 'param' && kind !== 'error' && !allowed.includes(kind)) {
        wrong = at
        throw new CelError(`error during formatting: ${rule}, was given ${kind}`)
      }
      return ''
    })
    if (count < types.length) {
      throw new CelError(`too many arguments supplied to string.format (expected ${count}, got ${types.length})`)
    }
    return undefined
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return { message: error.message, at: wrong }
  }
}

function hexadecimal(value: Value): string | undefined {
  if (typeof value === 'bigint') return value.toString(16)
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  if (!(bytes instanceof Uint8Array)) return undefined
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

const CLAUSES: Readonly<Record<string, string>> = {
  d: 'integers and doubles',
  f: 'doubles',
  e: 'doubles',
  b: 'integers and bools',
  o: 'integers',
  x: 'integers, byte buffers, and strings',
  X: 'integers, byte buffers, and strings',
}

function textOf(value: Value): string {
  if (value instanceof ListValue) return `[${value.items.map(textOf).join(', ')}]`
  if (value instanceof Duration) return durationText(value)
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (value !== null && isMap(value)) {
    return `{${[...value.keys()].map((key) => `${textOf(key)}: ${textOf(value.get(key)!)}`).toSorted().join(', ')}}`
  }
  return display(value)
}

export const STRINGS: readonly Row[] = [
  ['startsWith', 'string.(string) -> bool', (text, part) => text.startsWith(part)],
  ['endsWith', 'string.(string) -> bool', (text, part) => text.endsWith(part)],
  ['contains', 'string.(string) -> bool', (text, part) => text.includes(part)],
  ['matches', '(string, string) -> bool', matches],
  ['matches', 'string.(string) -> bool', matches],
  ['find', 'string.(string) -> string', findFirst],
  ['findAll', 'string.(string) -> list<string>', findAll],
  ['findAll', 'string.(string, int) -> list<string>', findAll],
  ['charAt', 'string.(int) -> string', charAt],
  ['indexOf', 'string.(string) -> int', indexOf],
  ['indexOf', 'string.(string, int) -> int', indexOf],
  ['lastIndexOf', 'string.(string) -> int', lastIndexOf],
  ['lastIndexOf', 'string.(string, int) -> int', lastIndexOf],
  [
    'lowerAscii',
    'string.() -> string',
    (text) => ascii(text, /[A-Z]/g, (char) => char.toLowerCase()),
  ],
  [
    'upperAscii',
    'string.() -> string',
    (text) => ascii(text, /[a-z]/g, (char) => char.toUpperCase()),
  ],
  ['replace', 'string.(string, string) -> string', replace],
  ['replace', 'string.(string, string, int) -> string', replace],
  ['split', 'string.(string) -> list<string>', split],
  ['split', 'string.(string, int) -> list<string>', split],
  ['substring', 'string.(int) -> string', substring],
  ['substring', 'string.(int, int) -> string', substring],
  ['trim', 'string.() -> string', (text) => text.replace(AROUND, '')],
  ['format', 'string.(list<dyn>) -> string', format],
  ['strings.quote', '(string) -> string', quote],
  ['join', 'list<string>.() -> string', join],
  ['join', 'list<string>.(string) -> string', join],
]
