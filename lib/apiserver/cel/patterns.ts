/** Decides which engine runs a pattern of RE2: JavaScript's is faster, but tries ways again and again. */

/** What RE2 does not have: lookaround and backreferences. */
const NOT_IN_RE2 = /\(\?(?:=|!|<=|<!)|\\[1-9k]/

/** Returns whether a pattern means the same in JavaScript as in RE2, as far as its syntax shows. */
export function isPlainPattern(pattern: string): boolean {
  try {
    return !NOT_IN_RE2.test(pattern) && new RegExp(pattern, 'u') !== undefined
  } catch {
    // The caller uses the other engine.
    return false
  }
}

/** The steps that JavaScript's engine may take for one value: some milliseconds. */
const MAX_STEPS = 1e6

/** Returns whether JavaScript's engine tests a text of this length in time, by the {@link degreeOf} the pattern. */
export function isQuick(degree: number, length: number): boolean {
  return length ** degree <= MAX_STEPS
}

/** A repetition with at most this many lengths multiplies the ways; a longer one raises the degree. */
const FEW = 8

/** As many ways through alternatives and short repetitions are tried. */
const MAX_WAYS = 1000

/** A part of a pattern. */
interface Part {
  /** Whether it matches texts of several lengths, or in several ways. */
  isVariable: boolean
  degree: number
  ways: number
}

const SINGLE: Part = { isVariable: false, degree: 0, ways: 1 }

/**
 * Returns the degree of the polynomial that bounds the steps of a backtracking engine by the length of the text;
 * Infinity if a repetition contains one, or alternatives: `(a+)+` takes 2ⁿ steps. `pattern` is plain.
 */
export function degreeOf(pattern: string): number {
  const outer: Part[] = []
  let group = { ...SINGLE }
  let hasAlternatives = false
  const tokens = pattern.matchAll(/\\(?:[pPu]\{[^}]*\}|[^])|\[(?:\\[^]|[^\]\\])*\]|\((?:\?(?:<\w+>|[\w-]*:))?|[^]/gu)
  let part = SINGLE
  for (const { 0: token, index } of tokens) {
    if (/^[?*+]$|^\{$/.test(token)) continue // read with the part before it
    if (/^\d|^,$|^\}$/.test(token) && isInRange(pattern, index)) continue
    if (token.startsWith('(')) {
      outer.push(group)
      group = { ...SINGLE }
      continue
    }
    if (token === '|') {
      group.isVariable = true
      group.ways++
      hasAlternatives ||= outer.length === 0
      continue
    }
    if (token === ')') {
      part = group
      group = outer.pop() ?? { ...SINGLE }
    } else part = SINGLE
    const [min, max] = rangeAt(pattern, index + token.length)
    if (part.isVariable && max > 1) return Infinity
    group.isVariable ||= part.isVariable || min !== max
    const lengths = max - min + 1
    group.degree += part.degree + (lengths > FEW ? 1 : 0)
    group.ways *= part.ways * (lengths > FEW ? 1 : lengths)
  }
  if (group.ways > MAX_WAYS) return Infinity
  return Math.max(1, group.degree + (pattern.startsWith('^') && !hasAlternatives ? 0 : 1))
}

const RANGE = /(?:([?*+])|\{(\d+)(,?)(\d*)\})/uy

/** Returns how often the part before this place is repeated. */
function rangeAt(pattern: string, at: number): readonly [min: number, max: number] {
  RANGE.lastIndex = at
  const found = RANGE.exec(pattern)
  if (!found) return [1, 1]
  const [, sign, min = '', comma, max] = found
  if (sign) return [sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity]
  return [Number(min), comma ? (max ? Number(max) : Infinity) : Number(min)]
}

/** Whether a place is inside of `{…}` behind a part. */
function isInRange(pattern: string, at: number): boolean {
  const begin = pattern.lastIndexOf('{', at)
  return begin >= 0 && /^\{\d+,?\d*\}/.test(pattern.slice(begin)) && pattern.indexOf('}', begin) >= at
}
