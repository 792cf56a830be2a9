/** Finds the error of a malformed JSON text, with the message of Go's encoding/json. */

/** The maximum nesting of objects and lists, as in Go. */
export const MAX_DEPTH = 10_000

const BEGIN = 'looking for beginning of value'
const KEY = 'looking for beginning of object key string'

/** Returns the message of the first error; undefined if the text is valid JSON. */
export function goJsonError(text: string): string | undefined {
  /** What each open object and list expects at its end: `{` and `[`. */
  const open: string[] = []
  let at = 0

  // At the end Go reads one more space, so that a literal or number can end.
  const peek = (): string => (at < text.length ? text[at]! : ' ')
  const skipSpace = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++
  }

  for (;;) {
    skipSpace()
    if (at >= text.length) return END
    const char = text[at]!
    if (char === '{' || char === '[') {
      open.push(char)
      if (open.length > MAX_DEPTH) return invalid(char, 'exceeded max depth')
      at++
      skipSpace()
      if (at >= text.length) return END
      if (text[at] === (char === '{' ? '}' : ']')) at++, open.pop()
      else {
        const error = char === '{' ? key() : undefined
        if (error) return error
        continue
      }
    } else {
      const error = char === '"' ? string() : /[-\d]/.test(char) ? number() : literal()
      if (error) return error
    }
    // After a value: the ends of its containers, then a comma or the end.
    for (;;) {
      skipSpace()
      const container = open[open.length - 1]
      if (container === undefined) return at < text.length ? invalid(text[at]!, 'after top-level value') : undefined
      if (at >= text.length) return END
      const next = text[at]!
      if (next === (container === '{' ? '}' : ']')) {
        at++
        open.pop()
        continue
      }
      if (next !== ',') return invalid(next, container === '{' ? 'after object key:value pair' : 'after array element')
      at++
      skipSpace()
      if (container === '{') {
        const error = key()
        if (error) return error
      }
      break
    }
  }

  function key(): string | undefined {
    if (at >= text.length) return END
    if (text[at] !== '"') return invalid(text[at]!, KEY)
    const error = string()
    if (error) return error
    skipSpace()
    if (at >= text.length) return END
    if (text[at] !== ':') return invalid(text[at]!, 'after object key')
    at++
    return undefined
  }

  function string(): string | undefined {
    for (at++; at < text.length; at++) {
      const char = text[at]!
      if (char === '"') {
        at++
        return undefined
      }
      if (char < ' ') return invalid(char, 'in string literal')
      if (char !== '\\') continue
      at++
      if (at >= text.length) return END
      if (text[at] === 'u') {
        for (let digits = 0; digits < 4; digits++) {
          at++
          if (at >= text.length) return invalid(' ', UNICODE_ESCAPE)
          if (!/[\da-fA-F]/.test(text[at]!)) return invalid(text[at]!, UNICODE_ESCAPE)
        }
      } else if (!'"\\/bfnrt'.includes(text[at]!)) return invalid(text[at]!, 'in string escape code')
    }
    return END
  }

  function number(): string | undefined {
    if (text[at] === '-') at++
    if (text[at] === '0') at++
    else if (!digits()) return invalid(peek(), 'in numeric literal')
    if (text[at] === '.') {
      at++
      if (!digits()) return invalid(peek(), 'after decimal point in numeric literal')
    }
    if (text[at] === 'e' || text[at] === 'E') {
      at++
      if (text[at] === '+' || text[at] === '-') at++
      if (!digits()) return invalid(peek(), 'in exponent of numeric literal')
    }
    return undefined
  }

  function digits(): boolean {
    const start = at
    while (at < text.length && text[at]! >= '0' && text[at]! <= '9') at++
    return at > start
  }

  function literal(): string | undefined {
    const word = ['true', 'false', 'null'].find((each) => each[0] === text[at])
    if (!word) return invalid(text[at]!, BEGIN)
    for (const expected of word) {
      if (peek() !== expected) return invalid(peek(), `in literal ${word} (expecting '${expected}')`)
      at++
    }
    return undefined
  }
}

const END = 'unexpected end of JSON input'
const UNICODE_ESCAPE = 'in \\u hexadecimal character escape'

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  "'": "\\'",
}

function invalid(char: string, where: string): string {
  return `invalid character '${quoted(char)}' ${where}`
}

/** Quotes the first UTF-8 byte of a character, as Go's scanner, which reads bytes. */
function quoted(char: string): string {
  const byte = new TextEncoder().encode(char)[0]!
  const text = String.fromCharCode(byte)
  if (ESCAPES[text]) return ESCAPES[text]!
  if (byte < 0x20 || byte === 0x7f) return `\\x${byte.toString(16).padStart(2, '0')}`
  return byte >= 0x80 && byte <= 0xa0 || byte === 0xad ? `\\u00${byte.toString(16)}` : text
}
