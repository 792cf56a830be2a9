/**
 * Translates numbers: type, format and limits.
 *
 * In OpenAPI 3.0 exclusive limits are flags. For `multipleOf`, zod ignores a tiny remainder; the server does not.
 */
import { refuse } from './refusal.ts'
import type { Check } from './zod_tree.ts'
import type { JsonSchema } from '../core/resource.ts'
import type { Place } from './refusal.ts'

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
