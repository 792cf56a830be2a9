/** Generates values of zod schemas with fast-check: of all that defineResource accepts. */
import { isFields } from '../core/clone.ts'
import type * as FastCheck from 'fast-check'
import type { $ZodType } from 'zod/v4/core'
import { jsonEqual } from '../core/equal.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { type Check, checksOf, definitionOf, issuesOf, metaOf } from '../schema/zod_tree.ts'
import { conjunction, lengthLimits } from '../schema/scalars.ts'
import { isRequired } from '../schema/structural.ts'

export type FastCheckModule = Omit<typeof FastCheck, 'default'>
type Arbitrary = FastCheck.Arbitrary<unknown>

/** Resolves with fast-check. Rejects with a ConfigError if it is not installed. */
export async function loadFastCheck(cannot: string): Promise<FastCheckModule> {
  try {
    return await import('fast-check')
  } catch (cause) {
    const remedy = 'install it: npm install --save-dev fast-check'
    throw new ConfigError(`${cannot}: it needs fast-check; ${remedy} (${messageOf(cause)})`, { cause })
  }
}

/** What generates the values. */
export interface ArbitrarySetup {
  readonly fc: FastCheckModule
  /** Arbitraries by path, such as `spec.hosts[]`, which replace those of the schema. */
  readonly values: Readonly<Record<string, unknown>>
}

/** How many values in a row may not fit a schema. */
const MAX_MISSES = 5000

/** Lists and records with more entries make runs slow, and find nothing more. */
const MORE_ITEMS = 3
const MORE_CHARACTERS = 12

/** Returns an arbitrary of valid values. @throws Error if there is none, as for a pattern with lookaheads. */
export function arbitraryOf(schema: $ZodType, path: string, setup: ArbitrarySetup): Arbitrary {
  const given = setup.values[path] as Arbitrary | undefined
  if (given) return given
  try {
    const arbitrary = ofType(schema, path, setup)
    return checksOf(schema).length > 0 ? fitting(arbitrary, schema, path) : arbitrary
  } catch (error) {
    throw error instanceof NoValues ? error : noValues(path, messageOf(error))
  }
}

class NoValues extends Error {}

function noValues(path: string, why: string): NoValues {
  const remedy = `give an arbitrary of fast-check for it: { values: { '${path}': … } }`
  return new NoValues(`Cannot generate values of ${path}: ${why}; ${remedy}`)
}

/** Filters by the schema. Throws if too many values in a row do not fit it. */
function fitting(arbitrary: Arbitrary, schema: $ZodType, path: string): Arbitrary {
  let misses = 0
  return arbitrary.filter((value) => {
    if (issuesOf(schema, value).length === 0) {
      misses = 0
      return true
    }
    if (++misses > MAX_MISSES) throw noValues(path, `${MAX_MISSES} random values in a row are not valid`)
    return false
  })
}

function ofType(schema: $ZodType, path: string, setup: ArbitrarySetup): Arbitrary {
  const { fc } = setup
  const def = definitionOf(schema)
  const inner = (of: $ZodType, at = path): Arbitrary => arbitraryOf(of, at, setup)
  switch (def.type) {
    case 'string':
      return strings(checksOf(schema), fc)
    case 'template_literal':
      return matching(schema._zod.pattern!, fc)
    case 'number':
      return numbers(checksOf(schema), fc)
    case 'boolean':
      return fc.boolean()
    case 'enum':
    case 'literal':
      return fc.constantFrom(...schema._zod.values ?? [])
    case 'object':
      return objects(def.shape, def.catchall, path, setup)
    case 'array':
      return lists(schema, inner(def.element, `${path}[]`), fc)
    case 'record': {
      const names = def.keyType._zod.values
      const value = inner(def.valueType, `${path}{}`)
      if (!names) {
        const key = ofType(def.keyType, path, setup) as FastCheck.Arbitrary<string>
        const minKeys = Math.max(0, ...checksOf(schema).map(({ keywords }) => Number(keywords?.['minProperties'] ?? 0)))
        return fc.dictionary(key, value, { minKeys, maxKeys: minKeys + MORE_ITEMS }).map(plain)
      }
      const isPartial = (def as { readonly partial?: boolean }).partial || !isRequired(def.valueType)
      const fields = Object.fromEntries([...names].map((name) => [String(name), value]))
      return record(fields, isPartial ? [] : Object.keys(fields), fc)
    }
    case 'union':
      return fc.oneof(
        ...def.options.filter((option) => definitionOf(option).type !== 'undefined').map((option) => inner(option)),
      )
    case 'null':
      return fc.constant(null)
    case 'intersection': {
      const sides = [inner(def.left), inner(def.right)] as const
      const both = fc.tuple(...sides).map(([left, right]) =>
        isFields(left) && isFields(right) ? { ...left, ...right } : left
      )
      return fitting(both, schema, path)
    }
    case 'nullable':
      return fc.option(inner(def.innerType), { freq: 4 })
    case 'optional':
    case 'nonoptional':
    case 'readonly':
    case 'default':
    case 'prefault':
      return inner(def.innerType)
    case 'lazy':
      return inner(def.getter())
    case 'any':
    case 'unknown':
    case 'custom':
      return anything(fc)
    default:
      throw new TypeError(`a kind has no z.${def.type}()`)
  }
}

function anything(fc: FastCheckModule): Arbitrary {
  return fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.record({ a: fc.integer(), b: fc.array(fc.string()) }).map(plain),
  )
}

/** Formats that fast-check has. Others are generated by their patterns. */
const FORMATS: Readonly<Record<string, (fc: FastCheckModule) => Arbitrary>> = {
  datetime: (fc) =>
    fc.tuple(instants(fc), fc.constantFrom('Z', '.000Z', '', '+01:00')).map(([at, end]) => at.slice(0, 19) + end),
  date: (fc) => instants(fc).map((at) => at.slice(0, 10)),
  time: (fc) => instants(fc).map((at) => at.slice(11, 19)),
  duration: (fc) => fc.constantFrom('P1D', 'PT5M', 'P3W', 'PT1H30M'),
  email: (fc) => fc.emailAddress(),
  url: (fc) => fc.webUrl({ withQueryParameters: true }),
  uuid: (fc) => fc.uuid(),
  guid: (fc) => fc.uuid(),
  ipv4: (fc) => fc.ipV4(),
  ipv6: (fc) => fc.ipV6(),
  cidrv4: (fc) => fc.tuple(fc.ipV4(), fc.nat(32)).map((parts) => parts.join('/')),
  cidrv6: (fc) => fc.tuple(fc.ipV6(), fc.nat(128)).map((parts) => parts.join('/')),
  hostname: (fc) => fc.domain(),
  base64: (fc) => fc.base64String({ maxLength: 24 }),
}

/** Returns instants, as `2026-01-31T08:00:00.000Z`. */
function instants(fc: FastCheckModule): FastCheck.Arbitrary<string> {
  const [min, max] = [new Date('1970-01-01T00:00:00Z'), new Date('2100-01-01T00:00:00Z')]
  return fc.date({ min, max, noInvalidDate: true }).map((at) => at.toISOString())
}

/** Returns strings that match. fast-check knows no flag i: without it, fewer strings match. */
function matching(pattern: RegExp, fc: FastCheckModule): Arbitrary {
  return fc.stringMatching(new RegExp(pattern.source, pattern.flags.replace(/[gi]/g, '')), { maxLength: 40 })
}

function strings(checks: readonly Check[], fc: FastCheckModule): Arbitrary {
  let found: Arbitrary | undefined
  const parts: { readonly prefix?: string; readonly suffix?: string; readonly includes?: string } = {}
  for (const { check, format, pattern, ...rest } of checks) {
    if (check !== 'string_format' || found) continue
    if ('prefix' in rest || 'suffix' in rest || 'includes' in rest) Object.assign(parts, rest)
    else found = FORMATS[format ?? '']?.(fc) ?? (pattern && matching(pattern, fc))
  }
  const { prefix, suffix = '', includes = '' } = parts
  if (!found && (prefix !== undefined || suffix || includes)) {
    const between = fc.string({ maxLength: MORE_CHARACTERS })
    found = fc.tuple(between, between).map(([head, tail]) => `${prefix ?? ''}${head}${includes}${tail}${suffix}`)
  }
  return found ?? fc.string(lengthsOf(checks, MORE_CHARACTERS))
}

/** Returns the limits of a length, and at most so many more than the minimum. */
function lengthsOf(checks: readonly Check[], more: number): { readonly minLength: number; readonly maxLength: number } {
  const limits = checks.flatMap((check) => lengthLimits(check, 'Length', { kind: '', path: '' }))
  const { minLength = 0, maxLength = Infinity } = conjunction({}, limits) as { minLength?: number; maxLength?: number }
  return { minLength, maxLength: Math.min(maxLength, minLength + more) }
}

function numbers(checks: readonly Check[], fc: FastCheckModule): Arbitrary {
  const formats = checks.flatMap(({ check, format }) => check === 'number_format' ? [format ?? ''] : [])
  const isInteger = formats.some((format) => format.includes('int'))
  let [min, max] = formats.includes('int32')
    ? [-(2 ** 31), 2 ** 31 - 1]
    : formats.includes('uint32')
    ? [0, 2 ** 32 - 1]
    : [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  for (const { check, value } of checks) {
    if (check === 'greater_than') min = Math.max(min, Number(value))
    if (check === 'less_than') max = Math.min(max, Number(value))
  }
  const divisor = checks.find(({ check }) => check === 'multiple_of')?.value
  if (divisor !== undefined) {
    const by = Math.abs(Number(divisor))
    const limit = (edge: number): number => Math.max(-1e6, Math.min(1e6, edge / by))
    return fc.integer({ min: Math.ceil(limit(min)), max: Math.floor(limit(max)) }).map((times) => times * by)
  }
  const whole = { min: Math.ceil(min), max: Math.floor(max) }
  if (isInteger) return fc.integer(whole)
  const float = formats.includes('float32')
    ? fc.integer({ min: -1000, max: 1000 }).map((n) => n / 8)
    : fc.double({ min, max, noNaN: true })
  // JSON has no -0.
  return fc.oneof(...(whole.min > whole.max ? [] : [fc.integer(whole)]), float).map((n) => n === 0 ? 0 : n)
}

function lists(schema: $ZodType, item: Arbitrary, fc: FastCheckModule): Arbitrary {
  const limits = lengthsOf(checksOf(schema), MORE_ITEMS)
  const meta = metaOf(schema) as { readonly [key: string]: unknown }
  const keys = meta['x-kubernetes-list-map-keys'] as readonly string[] | undefined
  const isSet = meta['x-kubernetes-list-type'] === 'set'
  if (!keys && !isSet) return fc.array(item, limits)
  const keyOf = (value: unknown): unknown => keys ? keys.map((key) => (value as Record<string, unknown>)[key]) : value
  return fc.uniqueArray(item, { ...limits, comparator: (a, b) => jsonEqual(keyOf(a), keyOf(b)) })
}

function objects(
  shape: Readonly<Record<string, $ZodType>>,
  catchall: $ZodType | undefined,
  path: string,
  setup: ArbitrarySetup,
): Arbitrary {
  const fields = Object.entries(shape).filter(([, field]) => !isNever(field))
  const known = record(
    Object.fromEntries(fields.map(([name, field]) => [name, arbitraryOf(field, `${path}.${name}`, setup)])),
    fields.filter(([, field]) => isRequired(field)).map(([name]) => name),
    setup.fc,
  )
  if (!catchall || isNever(catchall)) return known
  const others = arbitraryOf(catchall, `${path}{}`, setup)
  const more = setup.fc.dictionary(setup.fc.string(), others, { maxKeys: MORE_ITEMS }).map(plain)
  return setup.fc.tuple(more, known).map(([more, known]) => ({ ...more as object, ...known as object }))
}

/** An optional field of nothing: it is never there. */
function isNever(schema: $ZodType): boolean {
  const def = definitionOf(schema)
  return def.type === 'never' || def.type === 'undefined' || (def.type === 'optional' && isNever(def.innerType))
}

function record(
  fields: Readonly<Record<string, Arbitrary>>,
  requiredKeys: string[],
  fc: FastCheckModule,
): Arbitrary {
  return fc.record(fields, { requiredKeys, noNullPrototype: true })
}

/** Returns the object with the usual prototype. */
function plain(value: object): object {
  return { ...value }
}
