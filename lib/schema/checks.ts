/**
 * Checks that carry what Kubernetes knows and zod does not: CEL rules, kinds of lists and maps, embedded objects.
 *
 * They are checks, not metadata: a schema keeps its checks when it is refined further, and a schema that is used at
 * several places is not changed.
 */
import { $ZodCheck } from 'zod/v4/core'
import { sortedJson } from '../core/equal.ts'
import type { JsonSchema } from '../core/resource.ts'
import {
  type Refuse,
  verifyEmbedded,
  verifyEntries,
  verifyMap,
  verifyRule,
  verifySet,
  verifyType,
} from './verify_checks.ts'

/** What a rule may state besides its expression. */
export interface CelOptions {
  /** The text of the error, of one line. Default: the server shows the rule. */
  readonly message?: string
  /** A CEL expression of the text, which may contain values. Default: `message`. */
  readonly messageExpression?: string
  /** The machine-readable reason of the error. Default: `FieldValueInvalid`. */
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
  /** The field below the checked value that the error names, such as `.max`. Default: the checked value. */
  readonly fieldPath?: string
  /**
   * Whether a rule with `oldSelf` also runs when there is no old value; `oldSelf` is then an optional:
   * `!oldSelf.hasValue() || self >= oldSelf.value()`. Default: false, such a rule runs for updates only.
   */
  readonly optionalOldSelf?: boolean
}

/**
 * Returns a check with a CEL rule, which the API server evaluates when an object is written. zod does not evaluate it:
 * add a refinement where `definition.validate` must know it, too. A node may have several.
 *
 * The server refuses rules whose estimated cost is too high: limit the lists, the records ({@link entries}) and the
 * strings that they read. `kubeloop crd` says which.
 *
 * @param rule The expression. `self` is the checked value, `oldSelf` the one before an update.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 *
 * @example
 * ```ts
 * import { cel } from 'kubeloop/schema'
 * import * as z from 'zod'
 * const limits = z.object({ min: z.int32(), max: z.int32() })
 *   .check(cel('self.min <= self.max', { message: 'min must not exceed max', fieldPath: '.max' }))
 * const name = z.string().max(63).check(cel('self == oldSelf', 'name cannot be changed'))
 * ```
 */
export function cel(rule: string, message: string | CelOptions = {}): $ZodCheck<unknown> {
  const { message: text, ...others } = typeof message === 'string' ? { message } : message
  const validation = { rule, ...(text !== undefined && { message: text }), ...others }
  return checkOf(
    { 'x-kubernetes-validations': [validation] },
    (schema, refuse) => verifyRule(validation, schema, refuse),
  )
}

/**
 * Returns a check that makes an array of objects a map: no two items may have the same values of these fields, and
 * server-side apply merges the items of several writers. The fields must be scalars that are required or have a
 * default.
 *
 * @example
 * ```ts
 * import { listMap } from 'kubeloop/schema'
 * import * as z from 'zod'
 * const ports = z.array(z.object({ name: z.string(), port: z.int32() })).check(listMap('name'))
 * ```
 */
export function listMap(...keys: readonly [string, ...string[]]): $ZodCheck<unknown> {
  const keywords = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
  const keyOf = (item: unknown): unknown => keys.map((key) => (item as Record<string, unknown> | null)?.[key] ?? null)
  return checkOf(
    keywords,
    (schema, refuse) => verifyMap(keys, schema, refuse),
    (value) => repeatedAt(value, keyOf),
  )
}

/**
 * Returns a check that makes an array a set: no two items may be equal, and server-side apply merges the items of
 * several writers. Items that are objects must be {@link atomic}.
 */
export function listSet(): $ZodCheck<unknown> {
  return checkOf({ 'x-kubernetes-list-type': 'set' }, verifySet, (value) => repeatedAt(value, (item) => item))
}

/**
 * Returns a check that makes an array, an object or a record atomic: server-side apply replaces it as one value of one
 * writer. Arrays are atomic unless they are a map or a set.
 */
export function atomic(): $ZodCheck<unknown> {
  return checkOf({ atomic: true }, (schema, refuse) => {
    if (schema['type'] !== 'array') verifyType('atomic()', 'object', schema, refuse)
  })
}

/** Returns a check that limits the number of entries of a record, or of fields of an object. */
export function entries({ min, max }: { readonly min?: number; readonly max?: number }): $ZodCheck<unknown> {
  const keywords = {
    ...(min !== undefined && { minProperties: min }),
    ...(max !== undefined && { maxProperties: max }),
  }
  const verify: Verify = (schema, refuse) => verifyEntries([min, max], schema, refuse)
  return checkOf(keywords, verify, (value) => {
    if (typeof value !== 'object' || value === null) return undefined
    const count = Object.keys(value).length
    if (min !== undefined && count < min) return { message: `Too few entries: ${count}, expected at least ${min}` }
    return max !== undefined && count > max
      ? { message: `Too many entries: ${count}, expected at most ${max}` }
      : undefined
  })
}

/**
 * Returns a check that makes an object a Kubernetes object inside another one: the server validates its apiVersion, its
 * kind and its metadata. Use `z.looseObject()` for other fields; see {@link embeddedObject} for any object.
 */
export function embedded(): $ZodCheck<unknown> {
  return checkOf({ 'x-kubernetes-embedded-resource': true }, verifyEmbedded, (value) => {
    const { apiVersion, kind } = (value ?? {}) as { readonly apiVersion?: unknown; readonly kind?: unknown }
    const wrong = !isText(apiVersion) ? 'apiVersion' : !isText(kind) ? 'kind' : undefined
    return wrong === undefined ? undefined : { path: [wrong], message: `${wrong} must be a string that is not empty` }
  })
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

interface Found {
  readonly path?: readonly PropertyKey[]
  readonly message: string
}

/** Throws if the API server would refuse the keywords of a check in a schema. */
type Verify = (schema: JsonSchema, refuse: Refuse) => void

/**
 * Returns a check that adds keywords to the schema of a CRD, and reports what `find` finds in a value. `verify` is
 * here, not where schemas are translated, so that only those who use these checks load it.
 */
function checkOf(
  keywords: object,
  verify: Verify,
  find: (value: unknown) => Found | undefined = () => undefined,
): $ZodCheck<unknown> {
  const check: $ZodCheck<unknown> = new $ZodCheck({ check: 'kubernetes', keywords, verify } as never)
  check._zod.check = (payload) => {
    const found = find(payload.value)
    if (!found) return
    const issue = { code: 'custom', path: [], continue: true, input: payload.value, inst: check, ...found }
    payload.issues.push(issue as never)
  }
  return check
}

/** Returns the first item whose key another one before it has. */
function repeatedAt(value: unknown, keyOf: (item: unknown) => unknown): Found | undefined {
  if (!Array.isArray(value)) return undefined
  const known = new Set<string>()
  for (const [at, item] of value.entries()) {
    // Comparing each pair of a long list would hold the event loop, also for what the API server would refuse.
    const text = sortedJson(keyOf(item))
    if (known.has(text)) return { path: [at], message: 'Duplicate value' }
    known.add(text)
  }
  return undefined
}
