/** What is wrong with an object by its zod schemas, field by field, in the way the API server names fields. */
import type { $ZodIssue, $ZodType } from 'zod/v4/core'
import type { Problem } from '../core/errors.ts'
import { issuesOf } from './zod_tree.ts'

/**
 * The problems of a spec and a status. Fields that the schema doesn't know are none: the server prunes them, or kept
 * them from an earlier version. A status may be absent.
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

/** The alternative that came closest speaks for all: the one whose first problem lies deepest, and of those the one with fewest. */
function unionProblems(alternatives: readonly (readonly $ZodIssue[])[], field: string): readonly Problem[] {
  const known = alternatives.map((issues) => issues.filter(({ code }) => code !== 'unrecognized_keys'))
  // An alternative that only minds unknown fields fits.
  if (known.some((issues) => issues.length === 0)) return []
  const depth = (issues: readonly $ZodIssue[]): number => Math.min(...issues.map(({ path }) => path.length))
  const [best, next] = known.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)
  if (next && depth(best!) === 0) return [{ field, message: known.map(([first]) => first!.message).join(', or ') }]
  return best!.flatMap((issue) => problemsIn(issue, field))
}

/** `spec.hosts[0].name`, with quotes where a name has a dot or a bracket. */
function fieldAt(base: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === 'number') return `${field}[${step}]`
    return /^[\w-]+$/.test(String(step)) ? `${field}.${String(step)}` : `${field}[${String(step)}]`
  }, base)
}
