/**
 * Translates strings (length, pattern and format) and numbers (type, format and limits).
 *
 * The server knows few formats, and some of its checks are looser than zod's, so zod's pattern is used where it has
 * one. In OpenAPI 3.0 exclusive limits are flags. For `multipleOf`, zod ignores a tiny remainder; the server does not.
 */
import { toRe2 } from './pattern.ts'
import type { Check } from './zod_tree.ts'
import type { JsonSchema } from '../core/resource.ts'
import { type Place, refuse } from './refusal.ts'

/** Returns the schema of a string with these checks. Checks that all types share are left to the caller. */
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

/** Returns the limit of a length. The server accepts integers only; an infinite limit is left out. */
export function limit(keyword: string, value: number | undefined, place: Place): readonly JsonSchema[] {
  if (value === undefined || value === (keyword.startsWith('max') ? Infinity : -Infinity)) return []
  return Number.isSafeInteger(value)
    ? [{ [keyword]: value }]
    : refuse(place, `limited to a length of ${value}`, 'lengths are integers')
}

/** Returns the conditions that match what this expression matches. */
export function patternSchema(regex: RegExp, place: Place): JsonSchema {
  // Some of zod's formats begin with a lookahead that only limits the length, with or without a final dot.
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

/**
 * Returns a schema with all of these conditions. Of two numeric limits the narrower stays; other repeated keywords go
 * to `allOf`.
 */
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
    return refuse(place, `a string of format "${format}"`, 'use .regex() instead')
  }
  if (format === 'url') return urlSchema(check as UrlCheck, place)
  const own = OWN_FORMATS[format]
  if (own) return own
  if (!check.pattern) {
    return refuse(place, `a string of format "${format}" checked by a function`, 'use .regex() instead')
  }
  const pattern = patternSchema(check.pattern, place)
  const known = SERVER_FORMATS[format]
  // The server's date-time requires seconds and an offset.
  const { local, precision } = check as { local?: boolean; precision?: number | null }
  return known && !local && precision !== -1 ? { ...pattern, format: known } : pattern
}

/** Formats that the server checks too. It accepts everything that zod's pattern accepts. */
const SERVER_FORMATS: Readonly<Record<string, string>> = {
  datetime: 'date-time',
  date: 'date',
  uuid: 'uuid',
  ipv4: 'ipv4',
}

/** Formats that zod checks with more than its pattern, or with a pattern that RE2 does not support. */
const OWN_FORMATS: Readonly<Record<string, JsonSchema>> = {
  ipv6: { format: 'ipv6' },
  cidrv6: { format: 'cidr', pattern: ':' },
  base64: { pattern: '^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$' },
  base64url: { pattern: '^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$' },
  duration: { pattern: isoDuration() },
}

/** Formats that need a checksum, a parser or a table. */
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

/** Returns the pattern of an anchored expression without its anchors, for use inside another pattern. */
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

/**
 * Returns the pattern of an ISO 8601 duration. It has at least one part, and one after T: alternatives replace
 * lookaheads.
 */
function isoDuration(): string {
  const seconds = '\\d+(?:[.,]\\d+)?S'
  const time = `(?:\\d+H(?:\\d+M)?(?:${seconds})?|\\d+M(?:${seconds})?|${seconds})`
  const date = '(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)'
  return `^P(?:\\d+W|${date}(?:T${time})?|T${time})$`
}

/** Returns the schema of a number with these checks. Checks that all types share are left to the caller. */
export function numberSchema(checks: readonly Check[], place: Place): JsonSchema {
  const formats = checks.filter(({ check }) => check === 'number_format').map(({ format }) => format ?? '')
  const integer = formats.some((format) => format.includes('int'))
  const limits = [...formats.flatMap((format) => FORMAT_LIMITS[format] ?? []), ...checks.flatMap(limitOf)]
  const low = limits.filter(({ side }) => side === 'minimum').reduce<Limit | undefined>(narrower, undefined)
  const high = limits.filter(({ side }) => side === 'maximum').reduce<Limit | undefined>(narrower, undefined)
  const format = formats.includes('int32') ? 'int32' : integer ? 'int64' : FLOAT_FORMATS[formats[0] ?? '']
  const [divisor, ...divisors] = divisorsOf(checks, place)
  return {
    type: integer ? 'integer' : 'number',
    ...(format && { format }),
    // A format implies its limits, but the server enforces only those of int32, float and double.
    ...(low && !(low.implied && format !== 'int64') && limitSchema(low)),
    ...(high && !(high.implied && format !== 'int64') && limitSchema(high)),
    ...(divisor !== undefined && { multipleOf: divisor }),
    ...(divisors.length > 0 && { allOf: divisors.map((multipleOf) => ({ multipleOf })) }),
  }
}

interface Limit {
  readonly side: 'minimum' | 'maximum'
  readonly value: number
  readonly exclusive: boolean
  /** Whether the format implies it. */
  readonly implied: boolean
}

const FLOAT_FORMATS: Readonly<Record<string, string>> = { float32: 'float', float64: 'double' }

/** A "safe" integer is one that JavaScript reads exactly: a smaller range than the server's int64. */
const FORMAT_LIMITS: Readonly<Record<string, readonly Limit[]>> = {
  safeint: range(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  int32: range(-(2 ** 31), 2 ** 31 - 1),
  uint32: range(0, 2 ** 32 - 1),
}

function range(low: number, high: number): readonly Limit[] {
  return [
    { side: 'minimum', value: low, exclusive: false, implied: true },
    { side: 'maximum', value: high, exclusive: false, implied: true },
  ]
}

function limitOf({ check, value, inclusive }: Check): readonly Limit[] {
  if (check === 'greater_than') {
    return [{ side: 'minimum', value: Number(value), exclusive: !inclusive, implied: false }]
  }
  if (check === 'less_than') return [{ side: 'maximum', value: Number(value), exclusive: !inclusive, implied: false }]
  return []
}

function narrower(a: Limit | undefined, b: Limit): Limit {
  if (!a) return b
  if (a.value === b.value) return b.exclusive && !a.exclusive ? b : a
  return (b.side === 'minimum') === (b.value > a.value) ? b : a
}

function limitSchema({ side, value, exclusive }: Limit): JsonSchema {
  // An infinite limit excludes no JSON number, and the keyword could not express it.
  if (!Number.isFinite(value)) return {}
  return exclusive
    ? { [side]: value, [side === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum']: true }
    : { [side]: value }
}

function divisorsOf(checks: readonly Check[], place: Place): readonly number[] {
  const values = checks.filter(({ check }) => check === 'multiple_of').map(({ value }) => Math.abs(Number(value)))
  for (const value of values) {
    if (!Number.isFinite(value) || value === 0) refuse(place, `a multiple of ${value}`)
  }
  return [...new Set(values)]
}
