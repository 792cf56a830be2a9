/**
 * Finds fields that conversions lose, with one sample of each kind: no more than a hint, at each start.
 *
 * A field is named only if it is lost both beside all other fields and beside the required ones alone, and only if the
 * sample is valid and both functions accept it. Whether values survive is for tests: `checkConversion`.
 */
import { isFields } from '../../core/clone.ts'
import type { $ZodType } from 'zod/v4/core'
import { jsonEqual } from '../../core/equal.ts'
import type { KubeObject } from '../../core/objects.ts'
import { apiVersionOf, type DefinedResource } from '../../core/resource.ts'
import type { ConversionDescription } from '../../schema/conversions.ts'
import { isRequired } from '../../schema/structural.ts'
import { checksOf, definitionOf, issuesOf } from '../../schema/zod_tree.ts'
import { type Budget, conversionHandler, convertObjects, withVersionDefaults } from './conversion.ts'

/** Returns a warning for each way of a conversion that loses fields of the version where it begins. Never rejects. */
export async function lossWarnings(
  conversions: readonly ConversionDescription[],
  budget: Budget,
): Promise<readonly string[]> {
  const warnings: string[] = []
  for (const conversion of conversions) {
    const { from, hub } = conversion
    const inHub = 'keep it in the hub or in an annotation'
    for (const [by, start, other, remedy] of [['up', from, hub, inHub], ['down', hub, from, IN_ANNOTATION]] as const) {
      const lost = await lostFields(conversion, budget, by)
      if (lost.length === 0) continue
      warnings.push(
        `Converting ${from.kind} from ${start.version} to ${other.version} and back loses ${lost.join(', ')}: ` +
          `${remedy}, or list it in the drops of app.convert() if it is dropped on purpose`,
      )
    }
  }
  return warnings
}

const IN_ANNOTATION = 'keep it in an annotation, as a client of the old version drops it when it updates an object'

/**
 * Returns the fields of the old version, such as `spec.hosts[].port`, that `down(up(object))` lacks, without those that
 * are dropped on purpose; with `down`, the fields of the hub that `up(down(object))` lacks. Empty if a function throws
 * for the samples.
 */
export async function lostFields(
  conversion: ConversionDescription,
  budget: Budget,
  by: 'up' | 'down' = 'up',
): Promise<readonly string[]> {
  const { drops } = conversion
  const [start, other] = by === 'up' ? [conversion.from, conversion.hub] : [conversion.hub, conversion.from]
  const handler = conversionHandler({ conversions: [conversion], budget, onThrow: () => {} })
  const lostOf = async (includes: Includes): Promise<readonly string[]> => {
    const [before, least] = [objectOf(start, includes), objectOf(start, () => false)]
    if (!before || !least) return []
    const there = await convertObjects(handler, [before], apiVersionOf(other))
    const [after] = await convertObjects(handler, there, apiVersionOf(start))
    return [...new Set([...missing(before, after, least)])]
  }
  try {
    const found = (await lostOf(() => true)).filter((path) => !drops.some((drop) => within(path, drop)))
    const lost: string[] = []
    for (const path of found) {
      if ((await lostOf((other) => within(path, other) || within(other, path))).includes(path)) lost.push(path)
    }
    return lost
  } catch {
    // A function may rightly refuse the values of a sample.
    return []
  }
}

/** Tests whether a path is another one or below it. */
function within(path: string, outer: string): boolean {
  return path === outer || (path.startsWith(outer) && /^[.[{]/.test(path.slice(outer.length)))
}

/** Yields the fields of a value that another one lacks, or has only with the value that they have in `least`. */
function* missing(before: unknown, after: unknown, least: unknown, path = ''): Generator<string> {
  const isReset = !isFields(before) && !Array.isArray(before) && !jsonEqual(before, least) && jsonEqual(after, least)
  if (after === undefined || isReset) return yield path
  if (Array.isArray(before)) {
    if (!Array.isArray(after) || after.length < before.length) return yield path
    for (const [at, item] of before.entries()) yield* missing(item, after[at], item, `${path}[]`)
  } else if (isFields(before) && isFields(after)) {
    for (const [name, value] of Object.entries(before)) {
      const below = isFields(least) ? least[name] : undefined
      yield* missing(value, after[name], below, path ? `${path}.${name}` : name)
    }
  }
}

/** Whether a sample has an optional field. */
type Includes = (path: string) => boolean

/** Returns a valid object with the defaults of its schema, or undefined if there is no sample. */
function objectOf(resource: DefinedResource, includes: Includes): KubeObject | undefined {
  const { kind, scope, definition } = resource
  const schemas = (definition.schemas ?? {}) as { readonly spec?: $ZodType; readonly status?: $ZodType }
  const spec = schemas.spec && sampleOf(schemas.spec, 'spec', includes)
  const status = schemas.status && includes('status') ? sampleOf(schemas.status, 'status', includes) : undefined
  if (spec === undefined) return undefined
  const object = {
    apiVersion: apiVersionOf(resource),
    kind,
    metadata: {
      name: 'example',
      ...(scope === 'Namespaced' && { namespace: 'default' }),
      uid: '00000000-0000-4000-8000-000000000000',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec,
    ...(status !== undefined && { status }),
  } as unknown as KubeObject
  return withVersionDefaults(resource, object)
}

const TEXTS: readonly string[] = [
  'example',
  'a',
  'example.com',
  'https://example.com',
  '2026-01-01T00:00:00Z',
  '2026-01-01',
  '12:00:00',
  '10.0.0.1',
  'fd00::1',
  '10.0.0.0/8',
  'fd00::/8',
  '00000000-0000-4000-8000-000000000001',
  'user@example.com',
  '5m',
  '1Gi',
  '100m',
  '1',
  'v1',
  '0 0 * * *',
  'P1D',
  '',
]

const NUMBERS: readonly number[] = [7, 3, 1, 100, 1000, 0.5, 0, -1]

/** Returns a valid value, other than `avoided` if possible. Undefined if none is found. */
function sampleOf(schema: $ZodType, path: string, includes: Includes, avoided?: unknown): unknown {
  const def = definitionOf(schema)
  const below = (of: $ZodType, at = path, other = avoided): unknown => sampleOf(of, at, includes, other)
  /** Returns the first valid candidate that is not avoided, or else any. */
  const first = (candidates: Iterable<unknown>): unknown => {
    const valid = [...candidates].filter((value) => value !== undefined && issuesOf(schema, value).length === 0)
    return valid.find((value) => !jsonEqual(value, avoided)) ?? valid[0]
  }
  switch (def.type) {
    case 'string':
      return first(TEXTS)
    case 'number':
      return first([
        ...NUMBERS,
        ...checksOf(schema).flatMap(({ value }) => [Number(value), Number(value) + 1, Number(value) - 1]),
      ])
    case 'boolean':
      return first([true, false])
    case 'enum':
    case 'literal':
      return first([...schema._zod.values ?? []].filter((value) => value !== null))
    case 'object': {
      const fields: Record<string, unknown> = {}
      for (const [name, field] of Object.entries(def.shape)) {
        const at = `${path}.${name}`
        if (!isRequired(field) && !includes(at)) continue
        const value = below(field, at, undefined)
        if (value !== undefined) fields[name] = value
        else if (isRequired(field)) return undefined
      }
      return first([fields])
    }
    case 'array': {
      const item = below(def.element, `${path}[]`, undefined)
      return first([[item], [item, item], [item, item, item], []].filter((list) => !list.includes(undefined)))
    }
    case 'record': {
      const value = below(def.valueType, `${path}{}`, undefined)
      const names = def.keyType._zod.values ?? ['example']
      return first([value === undefined ? {} : Object.fromEntries([...names].map((name) => [String(name), value])), {}])
    }
    case 'union':
      // The alternative with the largest sample has most fields.
      return first(
        def.options.map((option) => below(option)).filter((value) => value !== undefined)
          .toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length),
      )
    case 'intersection': {
      const sides = [below(def.left), below(def.right)]
      return first(sides.every(isFields) ? [{ ...sides[0] as object, ...sides[1] as object }] : sides)
    }
    case 'nullable':
    case 'optional':
    case 'nonoptional':
    case 'readonly':
      return below(def.innerType)
    case 'default':
    case 'prefault':
      return below(def.innerType, path, def.defaultValue)
    case 'lazy':
      return below(def.getter())
    case 'any':
    case 'unknown':
    case 'custom':
      return 'example'
    default:
      return undefined
  }
}
