/** Decides whether the functions of an admission are called for a review, and prepares what they get. */
import { cloneJson, deepFreeze, isFields } from '../../core/clone.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import { copyMarks } from '../../core/partial.ts'
import { apiVersionOf, type ResourceOf } from '../../core/resource.ts'
import { applyDefaults, type DefaultsSchema } from '../../core/schema_defaults.ts'
import { RateLimitedLog } from '../../observe/log.ts'
import type { Admission, AdmissionContext, AdmissionRequest } from './admission.ts'
import type { AdmissionDependencies } from './admission_dependencies.ts'
import type { AdmissionPhase } from './admission_path.ts'
import type { Review, Verdict } from './admission_review.ts'
import { badRequest, invalid, nameOf, textOf } from './admission_verdict.ts'

export interface Shared<T extends KubeObject> {
  readonly phase: AdmissionPhase
  readonly resource: ResourceOf<T>
  readonly admissions: readonly Admission<T>[]
  readonly dependencies: AdmissionDependencies
  /** Lines about functions that failed. */
  readonly failures: RateLimitedLog
  /** Lines about reviews that are not what the API server sends to this path. */
  readonly refusals: RateLimitedLog
  /** Undefined for built-in kinds. */
  readonly schema: DefaultsSchema | undefined
}

export type Fields = Record<string, unknown>

/** An object, and the stored one on UPDATE. */
export interface Subject {
  readonly operation: AdmissionContext['operation']
  readonly object: Fields
  readonly old: Fields | undefined
  /** The denial of an object that does not fit its schema before `default`. */
  readonly unfit: Verdict | undefined
}

export const ALLOWED: Verdict = { allowed: true }

/** Decides whether the functions are called, and prepares what they get. */
export function subjectOf<T extends KubeObject>(
  { phase, resource, schema, dependencies: { freeze = false } }: Shared<T>,
  { request, whole }: Review,
): Verdict | Subject {
  const operation: string = textOf(request.operation)
  if (phase === 'mutate' && operation === 'DELETE') return ALLOWED
  if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE') {
    return badRequest(
      `Cannot admit ${resource.kind}: the operation is ${JSON.stringify(operation)}, and must be CREATE, UPDATE or ` +
        "DELETE; mend the webhook configuration's rules",
    )
  }
  const [given, before] = operation === 'DELETE' ? [request.oldObject] : [request.object, request.oldObject]
  const mismatch = mismatchOf(resource, given, operation === 'DELETE' ? 'oldObject' : 'object') ??
    (operation === 'UPDATE' ? mismatchOf(resource, before, 'oldObject') : undefined)
  // With subresources: ['*'] the API server also sends objects of other kinds, such as a Scale.
  if (mismatch && request.subResource) return ALLOWED
  if (mismatch) return badRequest(`Cannot admit ${resource.kind}: ${mismatch}`)
  const old = operation === 'UPDATE' ? before as Fields : undefined
  // The JSON Patch is made from the object of the request, so a draft is a copy.
  const object = phase === 'mutate' ? cloneJson(given as Fields) : given as Fields
  for (const each of old ? [object, old] : [object]) {
    if (schema) applyDefaults(schema, each)
    copyMarks(whole, each)
  }
  const settled = operation === 'DELETE' ? undefined : checked(resource, request, object, old)
  // The API server checks the schema after `default`, too, which may fill in a required field.
  if (settled && (settled.allowed || phase === 'validate')) return settled
  if (freeze && phase === 'validate') deepFreeze(object)
  if (freeze) deepFreeze(old)
  return { operation, object, old, unfit: settled }
}

/** Returns why an object is not one of the kind, or undefined. */
function mismatchOf(resource: ResourceOf<KubeObject>, object: unknown, field: string): string | undefined {
  if (!isFields(object) || !isFields(object['metadata'])) return `the review's ${field} is not an object with metadata`
  const { apiVersion, kind } = object
  if (apiVersion === apiVersionOf(resource) && kind === resource.kind) return undefined
  const given = `${textOf(kind) || 'an object without a kind'} of ${textOf(apiVersion)}`
  const path = `${resource.kind} of ${apiVersionOf(resource)}`
  return `the review's ${field} is ${given}, but this path is for ${path}; mend the webhook configuration's rules`
}

/** Returns the verdict on a created or updated object for which no function is called, or undefined. */
export function checked(
  resource: ResourceOf<KubeObject>,
  request: AdmissionRequest,
  object: Fields,
  old: Fields | undefined,
): Verdict | undefined {
  const part = request.subResource === 'status' ? 'status' : 'spec'
  const isInDeletion = isFields(old?.['metadata']) && Boolean(old['metadata']['deletionTimestamp'])
  if (isInDeletion && isUnchanged(object, old, part === 'status' ? IDENTITY : MAIN_IGNORED)) return ALLOWED
  // Refinements are rules of validation: a default may be what makes an object fulfil them.
  const problemsOf = (stored?: Fields): readonly Problem[] =>
    resource.definition?.validate(object, { refinements: false, old: stored })
      .filter(({ field }) => field.split(/[.[]/, 1)[0] === part) ?? []
  if (problemsOf().length === 0) return undefined
  if (old && jsonEqual(object[part], old[part])) return ALLOWED
  const problems = problemsOf(old)
  return problems.length === 0 ? undefined : invalid(resource, nameOf(request, object), problems)
}

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** The status is not written through the main resource. */
const MAIN_IGNORED: ReadonlySet<string> = new Set([...IDENTITY, 'status'])

function isUnchanged(object: Fields, old: Fields | undefined, ignored: ReadonlySet<string>): boolean {
  const names = new Set([...Object.keys(object), ...Object.keys(old ?? {})])
  return [...names].every((name) => ignored.has(name) || jsonEqual(object[name], old?.[name]))
}
