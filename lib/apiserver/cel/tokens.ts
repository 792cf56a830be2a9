/** Splits an expression into the tokens of CEL's grammar. */
import { ExpressionError } from './expr.ts'

type TokenKind = 'int' | 'uint' | 'double' | 'text' | 'bytes' | 'constant' | 'name' | 'operator' | 'end'

export interface Token {
  readonly kind: TokenKind
  /** As in the source: a text has its quotes. */
  readonly text: string
  readonly at: number
}

const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?\x60]|[xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-3][0-7]{2})`
const EXPONENT = String.raw`[eE][+-]?\d+`

/**
 * Quoted texts: the longer quotes first, then raw texts, in which a backslash is a character. Runs of plain characters
 * are matched at once, as regular expressions of JavaScript remember each other choice.
 */
const TEXT = [
  ...[`"`, `'`].map((q) =>
    String.raw`(?:${q}{3}[^\\${q}]*(?:(?:${ESCAPE}|${q}(?!${q}{2}))[^\\${q}]*)*${q}{3}|[rR]${q}{3}[^]*?${q}{3})`
  ),
  ...[`"`, `'`].map((q) => String.raw`(?:${q}[^\\\n\r${q}]*(?:${ESCAPE}[^\\\n\r${q}]*)*${q}|[rR]${q}[^\n\r${q}]*${q})`),
].join('|')

const PATTERNS: readonly (readonly [kind: TokenKind, pattern: string])[] = [
  ['double', String.raw`\d+\.\d+(?:${EXPONENT})?|\d+${EXPONENT}|\.\d+(?:${EXPONENT})?`],
  ['uint', String.raw`(?:0x[\da-fA-F]+|\d+)[uU]`],
  ['int', String.raw`0x[\da-fA-F]+|\d+`],
  ['bytes', `[bB](?:${TEXT})`],
  ['text', TEXT],
  ['constant', String.raw`(?:true|false|null)(?!\w)`],
  ['operator', String.raw`in(?!\w)|[=!<>]=|&&|\|\||[<>[\]{}().,?:!*/%+-]`],
  ['name', String.raw`[A-Za-z_]\w*`],
]
const TOKEN = new RegExp(PATTERNS.map(([, pattern]) => `(${pattern})`).join('|'), 'y')
const BLANK = /(?:[\t\n\f\r ]|\/\/[^\n]*)*/y

/** Reads one token after the other. Throws ExpressionError for what begins no token. */
export class Tokens {
  readonly #source: string
  #current: Token

  constructor(source: string) {
    this.#source = source
    this.#current = this.#read(0)
  }

  get current(): Token {
    return this.#current
  }

  /** Returns the current token and moves to the one after it. */
  next(): Token {
    const token = this.#current
    this.#current = this.#read(token.at + token.text.length)
    return token
  }

  /** Moves on if the current token is this operator. */
  accept(operator: string): boolean {
    const isOperator = this.#current.text === operator
    if (isOperator) this.next()
    return isOperator
  }

  expect(operator: string): void {
    if (!this.accept(operator)) throw this.unexpected(`'${operator}'`)
  }

  /** Returns the error of a token that the grammar does not allow here. */
  unexpected(wanted: string): ExpressionError {
    const { at, kind, text } = this.#current
    const found = kind === 'end' ? 'the end of the expression' : `'${text}'`
    return new ExpressionError(at, `Syntax error: expected ${wanted}, found ${found}`)
  }

  #read(from: number): Token {
    BLANK.lastIndex = from
    const at = from + BLANK.exec(this.#source)![0].length
    if (at === this.#source.length) return { kind: 'end', text: '', at }
    TOKEN.lastIndex = at
    const found = TOKEN.exec(this.#source)
    if (found) return { kind: PATTERNS[found.indexOf(found[0], 1) - 1]![0], text: found[0], at }
    const char = String.fromCodePoint(this.#source.codePointAt(at)!)
    const problem = /["']/.test(char) ? 'a text that does not end or has an unknown escape' : `unknown token '${char}'`
    throw new ExpressionError(at, `Syntax error: ${problem}`)
  }
}

const PIECE = new RegExp(String.raw`${ESCAPE}|[^\\]+`, 'g')
const CONTROLS: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Returns the value of a text or bytes. */
export function unquote({ kind, text, at }: Token): string | Uint8Array {
  const [start, prefix, quote] = /^([bBrR]*)("""|'''|["'])/.exec(text)!
  const content = text.slice(start.length, -quote!.length).replace(/\r\n?/g, '\n')
  const isBytes = kind === 'bytes'
  const pieces = /r/i.test(prefix!)
    ? [content]
    : (content.match(PIECE) ?? []).map((each) => unescape(each, isBytes, at))
  return isBytes ? Uint8Array.from(pieces.flatMap(bytesOf)) : pieces.join('')
}

/** Returns the characters of a piece, or the value of an escaped byte. */
function unescape(piece: string, isBytes: boolean, at: number): string | number {
  const [backslash, char = ''] = piece
  if (backslash !== '\\') return piece
  const code = /\d/.test(char)
    ? parseInt(piece.slice(1), 8)
    : /[xu]/i.test(char)
    ? parseInt(piece.slice(2), 16)
    : undefined
  if (code === undefined) return CONTROLS[char] ?? char
  if (isBytes && /u/i.test(char)) throw new ExpressionError(at, 'unable to unescape string')
  if (isBytes) return code
  const isCharacter = code < 0xd800 || (code > 0xdfff && code <= 0x10ffff)
  if (!isCharacter) throw new ExpressionError(at, 'invalid unicode code point')
  return String.fromCodePoint(code)
}

function bytesOf(piece: string | number): readonly number[] {
  return typeof piece === 'number' ? [piece] : [...new TextEncoder().encode(piece)]
}
