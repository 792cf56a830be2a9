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
  const parts = checks.flatMap((check) =>
    check.check === 'string_format' ? [formatSchema(check, place)] : lengthLimits(check, 'Length', place)
  )
  return conjunction({ type: 'string' }, parts)
}

/** Returns the limits of a string's length or of an array's number of items. The server accepts integers only. */
export function lengthLimits(
  { check, minimum, maximum, length }: Check,
  of: 'Length' | 'Items',
  place: Place,
): readonly JsonSchema[] {
  const isExact = check === 'length_equals'
  const min = isExact ? length : check === 'min_length' ? minimum : undefined
  const max = isExact ? length : check === 'max_length' ? maximum : undefined
  return ([['min', min, -Infinity], ['max', max, Infinity]] as const).flatMap(([side, value, none]) => {
    if (value === undefined || value === none) return []
    if (Number.isSafeInteger(value)) return [{ [side + of]: value }]
    return refuse(place, `limited to a length of ${value}`, 'lengths are integers')
  })
}

/** Returns the conditions that match what this expression matches. */
export function patternSchema(regex: RegExp, place: Place): JsonSchema {
  // Some of zod's formats begin with a lookahead that only limits the length, with or without a final dot.
  const bounded = /^\^\(\?=\.\{(\d+),(\d+)\}(\\\.\?)?\$\)/.exec(regex.source)
  const pattern = toRe2(
    bounded ? new RegExp(`^${regex.source.slice(bounded[0].length)}`, regex.flags) : regex,
    (what) => refuse(place, what, 'write it for RE2, without lookaround and backreferences'),
  )
  if (!bounded) return { pattern }
  const [minLength, maxLength] = [Number(bounded[1]), Number(bounded[2])]
  return bounded[3]
    ? { pattern, minLength, anyOf: [{ maxLength }, { maxLength: maxLength + 1, pattern: '\\.$' }] }
    : { pattern, minLength, maxLength }
}

/** Returns a schema with all of these conditions: of two limits the narrower; other repeated keywords go to `allOf`. */
export function conjunction(base: JsonSchema, parts: readonly JsonSchema[]): JsonSchema {
  const result: Record<string, unknown> = { ...base }
  const rest: JsonSchema[] = []
  for (const part of parts) {
    const apart: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(part)) {
      const there = result[keyword]
      const narrower = keyword.startsWith('min') ? Math.max : keyword.startsWith('max') ? Math.min : undefined
      if (there === undefined || there === value) result[keyword] = value
      else if (narrower && typeof value === 'number') result[keyword] = narrower(there as number, value)
      else apart[keyword] = value
    }
    if (Object.keys(apart).length > 0) rest.push(apart)
  }
  return rest.length > 0 ? { ...result, allOf: [...(result['allOf'] ?? []) as readonly JsonSchema[], ...rest] } : result
}

function formatSchema(check: Check, place: Place): JsonSchema {
  const format = check.format ?? ''
  const own = format === 'url' ? urlSchema(check as UrlCheck, place) : OWN_FORMATS[format]
  if (own) return own
  const needsMore = REFUSED_FORMATS.test(format)
  if (needsMore || !check.pattern) {
    const how = needsMore ? '' : ' checked by a function'
    return refuse(place, `a string of format "${format}"${how}`, 'use .regex() instead')
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
  // Go reads a prefix with zeros in front.
  cidrv6: { format: 'cidr', pattern: ':.*/(?:0|[1-9][0-9]*)$' },
  base64: { pattern: '^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$' },
  base64url: { pattern: '^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$' },
  duration: { pattern: isoDuration() },
}

/** Formats that need a checksum, a parser or a table. */
const REFUSED_FORMATS = /^(?:credit_card|iban|jwt|json_string|emoji)$/

interface UrlCheck extends Check {
  readonly protocol?: RegExp
  readonly hostname?: RegExp
  readonly normalize?: boolean
}

function urlSchema({ protocol, hostname, normalize }: UrlCheck, place: Place): JsonSchema {
  if (normalize) return refuse(place, 'a URL that is normalized when it is read', 'leave normalize out')
  // zod reads scheme and host in lower case.
  const scheme = protocol ? `(?i:${inner(protocol, place)})` : '[A-Za-z][A-Za-z0-9+.-]*'
  if (!hostname) return { format: 'uri', pattern: `^${scheme}:` }
  return {
    format: 'uri',
    pattern: `^${scheme}://(?:[^@/?#]*@)?(?i:${inner(hostname, place)})(?::[0-9]*)?(?:[/?#]|$)`,
  }
}

/** Returns the pattern of an anchored expression without its anchors, for use inside another pattern. */
function inner(regex: RegExp, place: Place): string {
  const { pattern } = patternSchema(regex, place) as { readonly pattern: string }
  const whole = /^\^([^]*)\$$/.exec(pattern)
  if (whole && !pattern.includes('|')) return whole[1]!
  const what = `a URL whose part must match ${String(regex)}`
  return refuse(place, what, 'anchor it with ^ and $, without alternatives, or use .regex()')
}

/** Returns the pattern of an ISO 8601 duration: at least one part, and one after T. Alternatives replace lookaheads. */
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
  const format = formats.includes('int32') ? 'int32' : integer ? 'int64' : FLOAT_FORMATS[formats[0] ?? '']
  const [divisor, ...divisors] = divisorsOf(checks, place)
  return {
    type: integer ? 'integer' : 'number',
    ...(format && { format }),
    ...limitSchema('minimum', format, formats, checks, place),
    ...limitSchema('maximum', format, formats, checks, place),
    ...(divisor !== undefined && { multipleOf: divisor }),
    ...(divisors.length > 0 && { allOf: divisors.map((multipleOf) => ({ multipleOf })) }),
  }
}

const FLOAT_FORMATS: Readonly<Record<string, string>> = { float32: 'float', float64: 'double' }

/** A "safe" integer is one that JavaScript reads exactly: a smaller range than the server's int64. */
export const RANGES: Readonly<Record<string, Readonly<Record<Side, number>>>> = {
  safeint: { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  int32: { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  uint32: { minimum: 0, maximum: 2 ** 32 - 1 },
}

type Side = 'minimum' | 'maximum'

/** Returns the narrowest limit on one side: of the formats or of the checks. */
function limitSchema(
  side: Side,
  format: string | undefined,
  formats: readonly string[],
  checks: readonly Check[],
  place: Place,
): JsonSchema {
  const sign = side === 'minimum' ? -1 : 1
  const stated = checks.filter(({ check }) => check === (sign < 0 ? 'greater_than' : 'less_than'))
  const [limit] = [
    ...formats.flatMap((each) => RANGES[each] ?? []).map((range) => ({ value: range[side], isExclusive: false })),
    ...stated.map(({ value, inclusive }) => ({ value: Number(value), isExclusive: !inclusive, isStated: true })),
  ].toSorted((a, b) => sign * (a.value - b.value) || Number(b.isExclusive) - Number(a.isExclusive)) as [Limit?]
  // An infinite limit excludes no JSON number, and the keyword could not express it. A format implies its limits, but
  // the server enforces only those of int32, float and double.
  if (!limit || !Number.isFinite(limit.value) || !(limit.isStated || format === 'int64')) return {}
  const { isExclusive } = limit
  let { value } = limit
  if (format?.startsWith('int')) value = sign < 0 === isExclusive ? Math.floor(value) : Math.ceil(value)
  else if (isExclusive && sign * value > 0 && value % 1) refuse(place, `limited by ${value}`, WHOLE_PART)
  return { [side]: value, ...(isExclusive && { [side.replace('m', 'exclusiveM')]: true }) }
}

/** The reason why limits and divisors with a fraction are refused. */
const WHOLE_PART = 'for whole numbers the API server takes its whole part'

interface Limit {
  readonly value: number
  readonly isExclusive: boolean
  readonly isStated?: boolean
}

function divisorsOf(checks: readonly Check[], place: Place): readonly number[] {
  const values = checks.filter(({ check }) => check === 'multiple_of').map(({ value }) => Math.abs(Number(value)))
  for (const value of values) {
    if (!Number.isInteger(value) || value === 0) refuse(place, `a multiple of ${value}`, WHOLE_PART)
  }
  return [...new Set(values)]
}
