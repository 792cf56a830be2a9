/**
 * Translates JavaScript's regular expressions to RE2.
 *
 * The API server compiles a CRD's `pattern` with Go's regexp package, which has no lookaround and no backreferences,
 * and writes some escapes differently. Differences remain: beyond ASCII in what `.`, `\s` and case folding match;
 * within ASCII, `.` matches \r and `\s` does not match \v. The server itself refuses counts above 1000 and unknown
 * scripts and categories.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 */

/** The pattern for RE2, or the reason why there is none. */
export type Translation = { readonly pattern: string } | { readonly refused: string }

/** Letters that mean the same after a backslash in both syntaxes. */
const SHARED_ESCAPES = 'dDwWsSbBtnvfr'

const HALF_PAIR = { refused: 'a regular expression with half a surrogate pair (use the u flag)' }

/** Translates an expression; flags become `(?ims)`. */
export function toRe2(regex: RegExp): Translation {
  if (regex.flags.includes('v')) return { refused: 'a regular expression with the v flag' }
  if (regex.flags.includes('y')) return { refused: 'a sticky regular expression' }
  const unicode = regex.flags.includes('u')
  const source = regex.source
  if (unicode ? /[\ud800-\udfff]/u.test(source) : /[\ud800-\udfff]/.test(source)) return HALF_PAIR
  const flags = [...regex.flags].filter((flag) => 'ims'.includes(flag)).join('')
  let out = flags ? `(?${flags})` : ''
  let at = 0
  while (at < source.length) {
    const char = source[at]!
    if (char === '\\' || char === '[') {
      const translate = char === '[' ? translateClass : translateEscape
      const part = translate(source, at, unicode)
      if ('refused' in part) return part
      out += part.text
      at += part.length
    } else if (char === '(' && source[at + 1] === '?') {
      const group = /^\(\?(?::|<([A-Za-z_]\w*)>|[ims]*(?:-[ims]+)?:)/.exec(source.slice(at))
      const looks = /^\(\?<?[=!]/.test(source.slice(at))
      if (!group) return { refused: `a regular expression ${looks ? 'with lookaround' : 'with an unknown group'}` }
      out += group[1] ? `(?P<${group[1]}>` : group[0]
      at += group[0].length
    } else {
      out += char
      at++
    }
  }
  return { pattern: out.replace(CHARACTER, written) }
}

/** An escape, with the code of its character, or a character beyond ASCII. */
const CHARACTER = /\\(?:x\{(\w+)\}|x([89a-f]\w)|[^])|[^\0-\x7f]/giu

/**
 * Returns how a character beyond ASCII is written: visible ones as they are, others by their codes. A pattern must not
 * depend on the runtime, and in Bun's `source` all of them are escapes.
 */
function written(text: string, hex: string | undefined, byte: string | undefined): string {
  const code = hex ?? byte ? Number(`0x${hex ?? byte}`) : text.codePointAt(0)!
  if (code < 0x80) return text
  const char = String.fromCodePoint(code)
  return /[^\p{C}\p{M}\p{Z}]/u.test(char) ? char : `\\x{${code.toString(16).toUpperCase()}}`
}

type Part = { readonly text: string; readonly length: number } | { readonly refused: string }

/** Translates a character class, from its [ to its ]. */
function translateClass(source: string, start: number, unicode: boolean): Part {
  const [open] = /^\[\^?/.exec(source.slice(start))!
  const first = start + open.length
  if (source[first] === ']') {
    return open === '['
      ? { refused: 'a regular expression with an empty class' }
      : { text: '[\\x{0}-\\x{10FFFF}]', length: 3 }
  }
  let text = open
  let at = first
  const atom = (): Part => {
    const [char] = /[^]/u.exec(source.slice(at, at + 2))!
    if (char === '\\') return translateEscape(source, at, unicode, true)
    // In RE2 a bare [ may begin a POSIX class, and a bare dash a range that JavaScript does not have.
    const isBare = char !== '[' && (char !== '-' || at === first || source[at + 1] === ']')
    return { text: isBare ? char : `\\${char}`, length: char.length }
  }
  while (source[at] !== ']') {
    const isSet = SET.test(source.slice(at, at + 2))
    const low = atom()
    if ('refused' in low) return low
    text += low.text
    at += low.length
    if (source[at] !== '-' || source[at + 1] === ']') continue
    at++
    if (SET.test(source.slice(at, at + 2))) return { refused: 'a regular expression with a range that ends in a class' }
    const high = atom()
    if ('refused' in high) return high
    // After a set such as \d, a dash is literal.
    text += `${isSet ? '\\-' : '-'}${high.text}`
    at += high.length
  }
  return { text: `${text}]`, length: at + 1 - start }
}

/** Escapes that match more than one character. (\p too, but JavaScript itself refuses \p in a range.) */
const SET = /^\\[dDwWsS]/

function translateEscape(source: string, at: number, unicode: boolean, inClass = false): Part {
  const rest = source.slice(at)
  const next = rest[1]!
  const codePoint = /^\\u\{([0-9a-fA-F]+)\}/.exec(rest)
  if (codePoint && unicode) return { text: `\\x{${codePoint[1]!}}`, length: codePoint[0].length }
  const pair = /^\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/i.exec(rest)
  if (pair && unicode) {
    const point = String.fromCharCode(parseInt(pair[1]!, 16), parseInt(pair[2]!, 16)).codePointAt(0)!
    return { text: `\\x{${point.toString(16)}}`, length: pair[0].length }
  }
  const unit = /^\\u([0-9a-fA-F]{4})/.exec(rest)
  if (unit) {
    return /^d[89a-f]/i.test(unit[1]!) ? HALF_PAIR : { text: `\\x{${unit[1]!}}`, length: unit[0].length }
  }
  const byte = /^\\x[0-9a-fA-F]{2}/.exec(rest)
  if (byte) return { text: byte[0], length: byte[0].length }
  const control = /^\\c([A-Za-z])/.exec(rest)
  if (next === 'c' && !control) return { refused: 'a regular expression with an unfinished \\c' }
  if (control) return { text: hex(control[1]!.charCodeAt(0) % 32), length: control[0].length }
  const property = /^\\([pP])\{([^}]*)\}/.exec(rest)
  // RE2 writes scripts and categories without the property's name.
  if (property && unicode) {
    return { text: property[0].replace(/(?:Script|sc|General_Category|gc)=/, ''), length: property[0].length }
  }
  if (next === '0' && !/^\\0\d/.test(rest)) return { text: '\\x00', length: 2 }
  if (/\d/.test(next) || (next === 'k' && /^\\k</.test(rest))) {
    return { refused: 'a regular expression with a backreference' }
  }
  if (next === 'b' && inClass) return { text: '\\x08', length: 2 }
  if (SHARED_ESCAPES.includes(next) && !(inClass && next === 'B')) return { text: `\\${next}`, length: 2 }
  // Another escaped letter matches itself, but RE2 has \a, \A, \z, \Q: unescape it. Punctuation stays escaped.
  if (/[A-Za-z_]/.test(next)) return { text: next, length: 2 }
  if (next === '/') return { text: '/', length: 2 }
  return { text: next.charCodeAt(0) < 0x80 ? `\\${next}` : next, length: 2 }
}

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, '0')}`
}
