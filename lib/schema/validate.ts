/** Validates objects with zod schemas, and names fields as the API server does. */
import type { $ZodIssue, $ZodType } from 'zod/v4/core'
import type { Problem } from '../core/errors.ts'
import { issuesOf } from './zod_tree.ts'

/**
 * Returns the problems of a spec and a status. Unknown fields are not problems: the server prunes them, or kept them
 * from an earlier version. A status may be absent.
 */
export function problemsOf(object: unknown, spec: $ZodType, status: $ZodType | undefined): readonly Problem[] {
  const parts = (typeof object === 'object' && object !== null ? object : {}) as {
    readonly spec?: unknown
    readonly status?: unknown
  }
  return [
    ...problemsAt('spec', spec, parts.spec),
    ...(status && parts.status !== undefined ? problemsAt('status', status, parts.status) : []),
  ]
}

function problemsAt(field: string, schema: $ZodType, value: unknown): readonly Problem[] {
  return issuesOf(schema, value).flatMap((issue) => problemsIn(issue, field))
}

function problemsIn(issue: $ZodIssue, base: string): readonly Problem[] {
  if (issue.code === 'unrecognized_keys') return []
  const field = fieldAt(base, issue.path)
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return unionProblems(issue.errors, field)
  return [{ field, message: issue.message }]
}

/**
 * Returns the problems of the closest alternative: the one whose first problem is deepest, then the one with the
 * fewest.
 */
function unionProblems(alternatives: readonly (readonly $ZodIssue[])[], field: string): readonly Problem[] {
  const known = alternatives.map((issues) => issues.filter(({ code }) => code !== 'unrecognized_keys'))
  // An alternative that refuses only unknown fields matches.
  if (known.some((issues) => issues.length === 0)) return []
  const depth = (issues: readonly $ZodIssue[]): number => Math.min(...issues.map(({ path }) => path.length))
  const [best, next] = known.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)
  if (next && depth(best!) === 0) return [{ field, message: known.map(([first]) => first!.message).join(', or ') }]
  return best!.flatMap((issue) => problemsIn(issue, field))
}

/** Formats a path, such as `spec.hosts[0].name`. A name with other characters is in brackets: `spec.labels[a.b/c]`. */
function fieldAt(base: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === 'number') return `${field}[${step}]`
    return /^[\w-]+$/.test(String(step)) ? `${field}.${String(step)}` : `${field}[${String(step)}]`
  }, base)
}
