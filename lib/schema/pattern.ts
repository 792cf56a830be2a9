/**
 * Translates JavaScript's regular expressions to RE2.
 *
 * The API server compiles a CRD's `pattern` with Go's regexp package, which has no lookaround and no backreferences,
 * and writes some escapes differently. Differences remain: beyond ASCII in what `.`, `\s` and case folding match;
 * within ASCII, `.` matches \r and `\s` does not match \v. The server itself refuses unknown scripts and categories.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 */

/** Throws an error with what an expression is. */
type Refuse = (what: string) => never

/** One escape, as of a character or a set. */
const ESCAPE = String.raw`\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|0\d|k<|[^])`
/** Those of expressions with the u flag come first: code points, surrogate pairs and properties. */
const UNICODE_ESCAPE = String
  .raw`\\(?:u\{[\da-fA-F]+\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|[pP]\{[^}]*\})|${ESCAPE}`
const CLASS = String.raw`\[(\^?)((?:\\[^]|[^\]\\])*)\]`
const COUNT = String.raw`\{\d+(?:,\d*)?\}`
const GROUP = String.raw`\(\?(?:<([A-Za-z_]\w*)>|[ims]*(?:-[ims]+)?:)?`

/** Returns the pattern of an expression; flags become `(?ims)`. */
export function toRe2({ flags, source }: RegExp, refuse: Refuse): string {
  if (flags.includes('v')) refuse('a regular expression with the v flag')
  if (flags.includes('y')) refuse('a sticky regular expression')
  const isUnicode = flags.includes('u')
  if ((isUnicode ? /[\ud800-\udfff]/u : /[\ud800-\udfff]/).test(source)) refuse(HALF_PAIR)
  const escape = isUnicode ? UNICODE_ESCAPE : ESCAPE
  const part = new RegExp(`${escape}|${CLASS}|${COUNT}|${GROUP}`, 'gu')
  const item = new RegExp(`(${escape}|[^])(?:-(${escape}|[^]))?`, 'gu')
  const kept = flags.replace(/[^ims]/g, '')
  const pattern = source.replace(part, (text, hat?: string, items?: string, name?: string, at = 0) => {
    if (text[0] === '\\') return escapeOf(text, refuse)
    if (text[0] === '{') {
      const isLarge = text.match(/\d+/g)!.some((count) => Number(count) > 1000)
      return isLarge ? refuse('a regular expression with a count above 1000') : text
    }
    if (items !== undefined) return classOf(hat!, items, item, refuse)
    if (text !== '(?') return name ? `(?P<${name}>` : text
    const looks = /^\(\?<?[=!]/.test(source.slice(at))
    return refuse(`a regular expression with ${looks ? 'lookaround' : 'an unknown group'}`)
  })
  return (kept && `(?${kept})`) + pattern.replace(CHARACTER, written)
}

const HALF_PAIR = 'a regular expression with half a surrogate pair (use the u flag)'

/** An escape, with the code of its character, or a character beyond ASCII. */
const CHARACTER = /\\(?:x\{(\w+)\}|x([89a-f]\w)|[^])|[^\0-\x7f]/giu

/** Writes visible characters as they are, others by codes: a pattern is the same on all runtimes, `source` is not. */
function written(text: string, hex: string | undefined, byte: string | undefined): string {
  const code = hex ?? byte ? Number(`0x${hex ?? byte}`) : text.codePointAt(0)!
  if (code < 0x80) return text
  const char = String.fromCodePoint(code)
  return /[^\p{C}\p{M}\p{Z}]/u.test(char) ? char : `\\x{${code.toString(16).toUpperCase()}}`
}

/** Escapes that match more than one character. (\p too, but JavaScript itself refuses \p in a range.) */
const SET = /^\\[dDwWsS]/

/** Translates the items of a character class: characters and ranges. */
function classOf(hat: string, items: string, item: RegExp, refuse: Refuse): string {
  if (items === '') return hat ? '[\\x{0}-\\x{10FFFF}]' : refuse('a regular expression with an empty class')
  const translated = items.replace(item, (range, low: string, high: string | undefined, at: number) => {
    const isLast = at + range.length === items.length
    // In RE2 a bare [ may begin a POSIX class, and a bare dash a range that JavaScript does not have.
    const atom = (text: string, isAtEdge: boolean): string =>
      text[0] === '\\' ? escapeOf(text, refuse, true) : text === '[' || (text === '-' && !isAtEdge) ? `\\${text}` : text
    if (high === undefined) return atom(low, at === 0 || isLast)
    if (SET.test(high)) refuse('a regular expression with a range that ends in a class')
    // After a set such as \d, a dash is literal.
    return `${atom(low, at === 0)}${SET.test(low) ? '\\' : ''}-${atom(high, isLast)}`
  })
  return `[${hat}${translated}]`
}

/** Letters that mean the same after a backslash in both syntaxes. */
const SHARED_ESCAPES = /^[dDwWsSbBtnvfr]/

function escapeOf(text: string, refuse: Refuse, isInClass = false): string {
  const rest = text.slice(1)
  const unit = /^u\{?([\da-f]+)\}?(?:\\u(.+))?$/i.exec(rest)
  if (unit) {
    if (/^ud[89a-f]..$/i.test(rest)) refuse(HALF_PAIR)
    const [, high, low] = unit
    const pair = low && String.fromCharCode(parseInt(high!, 16), parseInt(low, 16)).codePointAt(0)!.toString(16)
    return `\\x{${pair || high}}`
  }
  if (rest === 'c') refuse('a regular expression with an unfinished \\c')
  if (/^c./.test(rest)) return `\\x${(rest.charCodeAt(1) % 32).toString(16).padStart(2, '0')}`
  if (rest === '0') return '\\x00'
  if (/^(?:\d|k<)/.test(rest)) refuse('a regular expression with a backreference')
  if (rest === 'b' && isInClass) return '\\x08'
  // RE2 writes scripts and categories without the property's name.
  if (/^[px]./i.test(rest)) return text.replace(/(?:Script|sc|General_Category|gc)=/, '')
  if (SHARED_ESCAPES.test(rest) && !(isInClass && rest === 'B')) return text
  // Another escaped letter matches itself, but RE2 has \a, \A, \z, \Q: unescape it. Punctuation stays escaped.
  return /[\w/]|[^\0-\x7f]/.test(rest) ? rest : text
}
