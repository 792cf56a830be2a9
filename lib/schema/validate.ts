/** Validates objects with zod schemas, and names fields as the API server does. */
import type { $ZodIssue, $ZodType } from 'zod/v4/core'
import { jsonEqual } from '../core/equal.ts'
import type { Problem } from '../core/errors.ts'
import type { ValidateOptions } from '../core/resource.ts'
import { issuesOf } from './zod_tree.ts'

/**
 * Returns the problems of a spec and a status. Unknown fields are not problems: the server prunes them, or kept them
 * from an earlier version. A status may be absent.
 */
export function problemsOf(
  object: unknown,
  spec: $ZodType,
  status: $ZodType | undefined,
  { old, refinements = true }: ValidateOptions = {},
): readonly Problem[] {
  const [parts, before] = [partsOf(object), partsOf(old)]
  // A refinement's issues have this code, unless superRefine gives them another.
  const isIgnored: Ignored = ({ code }) => code === 'unrecognized_keys' || (code === 'custom' && !refinements)
  const problemsAt = (field: 'spec' | 'status', schema: $ZodType): readonly Problem[] => {
    const [value, valueBefore] = [parts[field], before[field]]
    if (valueBefore !== undefined && jsonEqual(value, valueBefore)) return []
    const isStored = ({ code, path }: $ZodIssue): boolean => {
      const stored = valueBefore !== undefined && LIMITS.has(code) ? valueAt(valueBefore, path) : undefined
      return stored !== undefined && jsonEqual(valueAt(value, path), stored)
    }
    return issuesOf(schema, value).filter((issue) => !isStored(issue))
      .flatMap((issue) => problemsIn(issue, field, isIgnored))
  }
  return [
    ...problemsAt('spec', spec),
    ...(status && parts.status !== undefined ? problemsAt('status', status) : []),
  ]
}

function partsOf(object: unknown): { readonly spec?: unknown; readonly status?: unknown } {
  return typeof object === 'object' && object !== null ? object : {}
}

/** Codes of issues with values of the right type. */
const LIMITS: ReadonlySet<string> = new Set(['too_small', 'too_big', 'invalid_format', 'not_multiple_of'])

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at: unknown, step) => {
    return typeof at === 'object' && at !== null && Object.hasOwn(at, step)
      ? (at as Record<PropertyKey, unknown>)[step]
      : undefined
  }, value)
}

/** Tests for issues that are no problems. */
type Ignored = (issue: $ZodIssue) => boolean

function problemsIn(issue: $ZodIssue, base: string, isIgnored: Ignored): readonly Problem[] {
  if (isIgnored(issue)) return []
  const field = fieldAt(base, issue.path)
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return unionProblems(issue.errors, field, isIgnored)
  return [{ field, message: issue.message }]
}

/** Returns the problems of the closest alternative: that with the deepest first problem, then with the fewest. */
function unionProblems(
  alternatives: readonly (readonly $ZodIssue[])[],
  field: string,
  isIgnored: Ignored,
): readonly Problem[] {
  const known = alternatives.map((issues) => issues.filter((issue) => !isIgnored(issue)))
  // An alternative with only such issues matches.
  if (known.some((issues) => issues.length === 0)) return []
  const depth = (issues: readonly $ZodIssue[]): number => Math.min(...issues.map(({ path }) => path.length))
  const [best, next] = known.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)
  if (next && depth(best!) === 0) return [{ field, message: known.map(([first]) => first!.message).join(', or ') }]
  return best!.flatMap((issue) => problemsIn(issue, field, isIgnored))
}

/** Formats a path, such as `spec.hosts[0].name`. A name with other characters is in brackets: `spec.labels[a.b/c]`. */
function fieldAt(base: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === 'number') return `${field}[${step}]`
    return /^[\w-]+$/.test(String(step)) ? `${field}.${String(step)}` : `${field}[${String(step)}]`
  }, base)
}
