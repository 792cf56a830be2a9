/** A whole status as a patch, and what a refusal of it means. */
import { ApiError, isReason } from '../core/errors.ts'
import type { Api } from './api.ts'
import type { NamedTarget } from './target.ts'

/**
 * The JSON Patch that states a status. "add" replaces the whole member: what is left out goes. No version is stated, so that a
 * status is not lost to a change of the spec; the uid keeps it from landing on a namesake that came later.
 */
export function statusPatch(status: unknown, uid: string | undefined): readonly object[] {
  return [...(uid ? [{ op: 'test', path: '/metadata/uid', value: uid }] : []), {
    op: 'add',
    path: '/status',
    value: status,
  }]
}

/** What to throw for a patch that failed: a Conflict, as a delete with the wrong uid is answered with, if it was for its uid. */
export function statusError(
  error: unknown,
  target: NamedTarget,
  uid: string | undefined,
  api: Pick<Api, 'describe'>,
): unknown {
  // A JSON Patch whose test failed is Invalid without a word; a status that is Invalid says which object and field.
  if (!uid || !isReason(error, 'Invalid') || error.status.details?.name || error.causes.length > 0) return error
  const message = `it is another one than the object with uid "${uid}", which was deleted since`
  const details = { name: target.name, kind: target.resource.kind }
  const status = { kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409, message, details }
  return new ApiError(`Cannot set the status of ${api.describe(target)}: ${message}`, status, {
    code: 409,
    cause: error,
  })
}
