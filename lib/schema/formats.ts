/** Schemas of values that many kinds of Kubernetes have: quantities, int-or-string, durations, times, objects. */
import {
  type $ZodCheck,
  $ZodISODateTime,
  $ZodNumberFormat,
  $ZodObject,
  $ZodOptional,
  $ZodString,
  type $ZodType,
  $ZodUnion,
  $ZodUnknown,
  _isoDateTime,
  _minLength,
  _regex,
} from 'zod/v4/core'
import { embedded } from './checks.ts'

/** The schema of a field. `z.optional(schema)` is the same as its `optional()`. */
export interface FieldSchema<T> extends $ZodType<T, T> {
  /** Returns the schema of a field that may be missing. */
  optional(): $ZodOptional<$ZodType<T, T>>
}

/** @internal Adds the method to a schema, which the classes of zod's core do not have. */
export function field<T>(schema: $ZodType<T, T>): FieldSchema<T> {
  return Object.assign(schema, { optional: () => optional(schema) })
}

/** @internal */
export function optional<T extends $ZodType>(innerType: T): $ZodOptional<T> {
  return new $ZodOptional({ type: 'optional', innerType }) as $ZodOptional<T>
}

/**
 * A quantity, such as `500m`, `1.5Gi` or `2`: a number with a suffix of the power of ten or two, or an integer.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 *
 * @example
 * ```ts
 * import { quantity } from 'kubeloop/schema'
 * import * as z from 'zod'
 * const spec = z.object({ storage: quantity, cache: z._default(quantity, '1Gi') })
 * ```
 */
export const quantity: FieldSchema<string | number> = field(either(
  integer('safeint'),
  text(_regex(/^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/)),
))

/** An integer of 32 bits or any string, such as a port's number or name, or `1` and `50%`. */
export const intOrString: FieldSchema<string | number> = field(either(integer('int32'), text()))

/** What Go's time.ParseDuration reads. It also knows `µs` with either letter. */
const DURATION = /^[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$/

/**
 * A duration in Go's form, such as `90s`, `1h30m` or `250ms`; the units are h, m, s, ms, us and ns. {@link durationMs}
 * reads it.
 *
 * @see https://pkg.go.dev/time#ParseDuration
 */
export const duration: FieldSchema<string> = field(text(_regex(DURATION)))

const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/**
 * Returns a {@link duration} in milliseconds, as for `requeueAfter`.
 *
 * @throws RangeError if it is not a duration.
 *
 * @example
 * ```ts
 * import { durationMs } from 'kubeloop/schema'
 * if (durationMs('1h30m') !== 5_400_000) throw new Error('unexpected')
 * ```
 */
export function durationMs(text: string): number {
  if (!DURATION.test(text)) {
    throw new RangeError(`Cannot read duration "${text}": write numbers with units, such as "90s" or "1h30m"`)
  }
  let ms = 0
  for (const [, digits, unit] of text.matchAll(/([0-9.]+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    ms += Number(digits) * UNITS_MS[unit!.replace(/[µμ]/, 'u')]!
  }
  return text.startsWith('-') ? -ms : ms
}

/** An instant by RFC 3339, such as `2026-01-31T08:00:00Z`, as in `metadata.creationTimestamp`. */
export const dateTime: FieldSchema<string> = field(_isoDateTime($ZodISODateTime, { offset: true }))

/** An object with an apiVersion and a kind, as far as its type is known. */
export interface EmbeddedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: { readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/**
 * Any Kubernetes object inside another one, such as a template. The server validates its apiVersion, its kind and its
 * metadata, and keeps all other fields as they are. Add the check `embedded` to an object for one of a known type.
 */
export const embeddedObject: FieldSchema<EmbeddedObject> = field(objectSchema())

function objectSchema(): $ZodType<EmbeddedObject, EmbeddedObject> {
  const any = (): $ZodUnknown => new $ZodUnknown({ type: 'unknown' })
  const metadata = new $ZodObject({ type: 'object', shape: {}, catchall: any() })
  return new $ZodObject({
    type: 'object',
    shape: {
      apiVersion: text(_minLength(1)),
      kind: text(_minLength(1)),
      metadata: optional(metadata),
    },
    catchall: any(),
    checks: [embedded()] as never,
  }) as $ZodType as $ZodType<EmbeddedObject, EmbeddedObject>
}

/** @internal */
export function text(...checks: readonly $ZodCheck<string>[]): $ZodType<string, string> {
  return new $ZodString({ type: 'string', checks: [...checks] }) as $ZodString<string>
}

/** @internal */
export function integer(
  format: 'int32' | 'safeint',
  ...checks: readonly $ZodCheck<number>[]
): $ZodType<number, number> {
  return new $ZodNumberFormat({ type: 'number', check: 'number_format', format, abort: false, checks: [...checks] })
}

function either(
  a: $ZodType<number, number>,
  b: $ZodType<string, string>,
): $ZodType<string | number, string | number> {
  return new $ZodUnion({ type: 'union', options: [a, b], inclusive: true }) as $ZodUnion<[typeof a, typeof b]>
}
