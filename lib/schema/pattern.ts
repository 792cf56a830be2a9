/**
 * JavaScript's regular expressions in RE2's words: the API server compiles a CRD's `pattern` with Go's regexp package,
 * which knows no lookaround and no backreference, and spells some escapes otherwise. Beyond ASCII the two differ in
 * what `.`, `\s` and case folding match.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 */

/** The pattern in RE2's words, or why there is none. */
export type Translation = { readonly pattern: string } | { readonly refused: string }

/** Go refuses larger repetition counts. */
const MOST_REPEATS = 1000

/** Letters that mean the same after a backslash in both. */
const SHARED_ESCAPES = 'dDwWsSbBtnvfr'

const GENERAL_CATEGORY = /^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?)$/

/** Translates an expression; flags become `(?ims)`. */
export function toRe2(regex: RegExp): Translation {
  if (regex.flags.includes('v')) return { refused: 'a regular expression with the v flag' }
  if (regex.flags.includes('y')) return { refused: 'a sticky regular expression' }
  const unicode = regex.flags.includes('u')
  const source = regex.source
  const flags = [...regex.flags].filter((flag) => 'ims'.includes(flag)).join('')
  let out = flags ? `(?${flags})` : ''
  let inClass = false
  let at = 0
  while (at < source.length) {
    const char = source[at]!
    if (char === '\\') {
      const escape = translateEscape(source, at, unicode, inClass)
      if ('refused' in escape) return escape
      out += escape.text
      at += escape.length
    } else if (inClass) {
      if (char === ']') inClass = false
      // A bare [ may begin a POSIX class in RE2.
      out += char === '[' ? '\\[' : char
      at++
    } else if (char === '[') {
      const empty = /^\[(\^?)\]/.exec(source.slice(at))
      if (empty && !empty[1]) return { refused: 'a regular expression with an empty class' }
      out += empty ? '[\\x{0}-\\x{10FFFF}]' : source[at + 1] === '^' ? '[^' : '['
      at += empty ? empty[0].length : source[at + 1] === '^' ? 2 : 1
      inClass = !empty
    } else if (char === '(' && source[at + 1] === '?') {
      const group = /^\(\?(?::|<([A-Za-z_]\w*)>|[ims]*(?:-[ims]+)?:)/.exec(source.slice(at))
      const looks = /^\(\?<?[=!]/.test(source.slice(at))
      if (!group) return { refused: `a regular expression ${looks ? 'that looks around' : 'with an unknown group'}` }
      out += group[1] ? `(?P<${group[1]}>` : group[0]
      at += group[0].length
    } else {
      const repeat = char === '{' ? /^\{(\d+)(?:,(\d*))?\}/.exec(source.slice(at)) : null
      if (repeat && Math.max(Number(repeat[1]), Number(repeat[2] ?? 0)) > MOST_REPEATS) {
        return { refused: `a regular expression that repeats more than ${MOST_REPEATS} times` }
      }
      out += repeat ? repeat[0] : char
      at += repeat ? repeat[0].length : 1
    }
  }
  return { pattern: out }
}

type Escape = { readonly text: string; readonly length: number } | { readonly refused: string }

function translateEscape(source: string, at: number, unicode: boolean, inClass: boolean): Escape {
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
    return /^d[89a-f]/i.test(unit[1]!)
      ? { refused: 'a regular expression with half a surrogate pair' }
      : { text: `\\x{${unit[1]!}}`, length: unit[0].length }
  }
  const byte = /^\\x([0-9a-fA-F]{2})/.exec(rest)
  if (byte) return { text: byte[0], length: byte[0].length }
  const control = /^\\c([A-Za-z])/.exec(rest)
  if (control) return { text: hex(control[1]!.charCodeAt(0) % 32), length: control[0].length }
  const property = /^\\([pP])\{([^}]*)\}/.exec(rest)
  if (property && unicode) return translateProperty(property)
  if (next === '0' && !/^\\0\d/.test(rest)) return { text: '\\x00', length: 2 }
  if (/\d/.test(next) || (next === 'k' && /^\\k</.test(rest))) return { refused: 'a regular expression with a backreference' }
  if (next === 'b' && inClass) return { text: '\\x08', length: 2 }
  if (SHARED_ESCAPES.includes(next)) return { text: `\\${next}`, length: 2 }
  // Any other letter stands for itself, where RE2 would take \a, \A, \z, \Q for something else; punctuation stays escaped.
  if (/[A-Za-z_]/.test(next)) return { text: next, length: 2 }
  if (next === '/') return { text: '/', length: 2 }
  return { text: next.charCodeAt(0) < 0x80 ? `\\${next}` : next, length: 2 }
}

function translateProperty([whole, letter, value]: RegExpExecArray): Escape {
  const script = /^(?:Script|sc)=(\w+)$/.exec(value!)
  const category = /^(?:(?:General_Category|gc)=)?(\w+)$/.exec(value!)
  if (script) return { text: `\\${letter!}{${script[1]!}}`, length: whole.length }
  if (category && GENERAL_CATEGORY.test(category[1]!)) return { text: `\\${letter!}{${category[1]!}}`, length: whole.length }
  return { refused: `a regular expression with \\${letter!}{${value!}}` }
}

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, '0')}`
}
