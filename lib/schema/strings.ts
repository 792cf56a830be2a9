/**
 * Strings: length, pattern and format. The server knows few formats and takes some of them more loosely than zod,
 * so what decides is the pattern wherever zod has one.
 */
import { refuse } from './refusal.ts'
import { toRe2 } from './pattern.ts'
import type { Check } from './zod_tree.ts'
import type { JsonSchema } from '../core/resource.ts'
import type { Place } from './refusal.ts'

/** The schema of a string with these checks. Checks that other types share are the caller's. */
export function stringSchema(checks: readonly Check[], place: Place): JsonSchema {
  const parts: JsonSchema[] = []
  for (const check of checks) {
    if (check.check === 'min_length') parts.push(...limit('minLength', check.minimum, place))
    else if (check.check === 'max_length') parts.push(...limit('maxLength', check.maximum, place))
    else if (check.check === 'length_equals') {
      parts.push(...limit('minLength', check.length, place), ...limit('maxLength', check.length, place))
    } else if (check.check === 'string_format') parts.push(formatSchema(check, place))
  }
  return conjunction({ type: 'string' }, parts)
}

/** A limit of a length. The server takes integers only; one that is infinite says nothing. */
export function limit(keyword: string, value: number | undefined, place: Place): readonly JsonSchema[] {
  if (value === undefined || value === (keyword.startsWith('max') ? Infinity : -Infinity)) return []
  return Number.isSafeInteger(value)
    ? [{ [keyword]: value }]
    : refuse(place, `limited to a length of ${value}`, 'lengths are integers')
}

/** The value validation that says what this expression says. */
export function patternSchema(regex: RegExp, place: Place): JsonSchema {
  // The two lookaheads that zod's own formats begin with only limit the length.
  const bounded = /^\^\(\?=\.\{(\d+),(\d+)\}(\\\.\?)?\$\)/.exec(regex.source)
  const translated = toRe2(bounded ? new RegExp(`^${regex.source.slice(bounded[0].length)}`, regex.flags) : regex)
  if ('refused' in translated) {
    return refuse(place, translated.refused, 'write it for RE2, without lookaround and backreferences')
  }
  const { pattern } = translated
  if (!bounded) return { pattern }
  const [, min, max, dot] = bounded
  const limits = { minLength: Number(min), maxLength: Number(max) }
  return dot
    ? {
      pattern,
      minLength: Number(min),
      anyOf: [{ maxLength: Number(max) }, { maxLength: Number(max) + 1, pattern: '\\.$' }],
    }
    : { pattern, ...limits }
}

/** All of these at once: keywords that come twice go to `allOf`, numeric limits to the narrower one. */
export function conjunction(base: JsonSchema, parts: readonly JsonSchema[]): JsonSchema {
  const result: Record<string, unknown> = { ...base }
  const rest: JsonSchema[] = []
  for (const part of parts) {
    const apart: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(part)) {
      const there = result[keyword]
      if (there === undefined || there === value) result[keyword] = value
      else if (keyword.startsWith('min') && typeof value === 'number') {
        result[keyword] = Math.max(there as number, value)
      } else if (keyword.startsWith('max') && typeof value === 'number') {
        result[keyword] = Math.min(there as number, value)
      } else apart[keyword] = value
    }
    if (Object.keys(apart).length > 0) rest.push(apart)
  }
  return rest.length > 0 ? { ...result, allOf: [...(result['allOf'] ?? []) as readonly JsonSchema[], ...rest] } : result
}

function formatSchema(check: Check, place: Place): JsonSchema {
  const format = check.format ?? ''
  if (REFUSED_FORMATS.has(format)) {
    return refuse(place, `a string of format "${format}"`, 'say what you need with .regex()')
  }
  if (format === 'url') return urlSchema(check as UrlCheck, place)
  const own = OWN_FORMATS[format]
  if (own) return own
  if (!check.pattern) {
    return refuse(place, `a string of format "${format}" checked by a function`, 'say what you need with .regex()')
  }
  const pattern = patternSchema(check.pattern, place)
  const known = SERVER_FORMATS[format]
  // The server's date-time has seconds and an offset.
  const { local, precision } = check as { local?: boolean; precision?: number | null }
  return known && !local && precision !== -1 ? { ...pattern, format: known } : pattern
}

/** Formats that the server checks too; it takes everything that zod's pattern takes. */
const SERVER_FORMATS: Readonly<Record<string, string>> = {
  datetime: 'date-time',
  date: 'date',
  uuid: 'uuid',
  ipv4: 'ipv4',
}

/** Formats that zod checks with more than its pattern, or with a pattern that RE2 can't say. */
const OWN_FORMATS: Readonly<Record<string, JsonSchema>> = {
  ipv6: { format: 'ipv6' },
  cidrv6: { format: 'cidr', pattern: ':' },
  base64: { pattern: '^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$' },
  base64url: { pattern: '^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$' },
  duration: { pattern: isoDuration() },
}

/** Formats that end in a checksum, a parse or a table. */
const REFUSED_FORMATS: ReadonlySet<string> = new Set(['credit_card', 'iban', 'jwt', 'json_string', 'emoji'])

interface UrlCheck extends Check {
  readonly protocol?: RegExp
  readonly hostname?: RegExp
  readonly normalize?: boolean
}

function urlSchema({ protocol, hostname, normalize }: UrlCheck, place: Place): JsonSchema {
  if (normalize) return refuse(place, 'a URL that is normalized when it is read', 'leave normalize out')
  const scheme = protocol ? inner(protocol, place) : '[A-Za-z][A-Za-z0-9+.-]*'
  if (!hostname) return { format: 'uri', pattern: `^(?:${scheme}):` }
  return {
    format: 'uri',
    pattern: `^(?:${scheme})://(?:[^@/?#]*@)?(?:${inner(hostname, place)})(?::[0-9]*)?(?:[/?#]|$)`,
  }
}

/** An expression that matches a whole text, without its anchors, to be a part of another. */
function inner(regex: RegExp, place: Place): string {
  const { pattern } = patternSchema(regex, place) as { readonly pattern: string }
  const whole = /^\^([^]*)\$$/.exec(pattern)
  if (!whole || pattern.includes('|')) {
    return refuse(
      place,
      `a URL whose part must match ${String(regex)}`,
      'anchor it with ^ and $, without alternatives, or use .regex()',
    )
  }
  return whole[1]!
}

/** An ISO 8601 duration has at least one part, and one after its T: said by alternatives instead of lookaheads. */
function isoDuration(): string {
  const seconds = '\\d+(?:[.,]\\d+)?S'
  const time = `(?:\\d+H(?:\\d+M)?(?:${seconds})?|\\d+M(?:${seconds})?|${seconds})`
  const date = '(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)'
  return `^P(?:\\d+W|${date}(?:T${time})?|T${time})$`
}
