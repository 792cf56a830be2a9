/** The verdicts of an admission. */
import { isFields } from '../../core/clone.ts'
import type { Status } from '../../core/errors.ts'
import { invalidStatus } from '../../core/invalid_status.ts'
import type { KubeObject } from '../../core/objects.ts'
import type { ResourceOf } from '../../core/resource.ts'
import type { AdmissionProblem, AdmissionRequest } from './admission.ts'
import type { Verdict } from './admission_review.ts'

/** More problems are counted in the message: an object of 3 MiB may have a hundred thousand. */
const MAX_CAUSES = 100

export function invalid(
  resource: ResourceOf<KubeObject>,
  name: string,
  problems: readonly AdmissionProblem[],
): Verdict {
  const causes = problems.slice(0, MAX_CAUSES)
    .map(({ field, message, reason = 'FieldValueInvalid' }) => ({ reason, field, message }))
  const { message, ...status } = invalidStatus(resource, name, causes)
  const more = problems.length > MAX_CAUSES ? ` (and ${problems.length - MAX_CAUSES} more)` : ''
  return { allowed: false, status: { ...status, message: message + more } }
}

export function badRequest(message: string): Verdict {
  return denied(400, 'BadRequest', message)
}

export function denied(code: number, reason: string, message: string, details?: Status['details']): Verdict {
  const status = { kind: 'Status', status: 'Failure', message, ...(reason && { reason }), ...(details && { details }) }
  return { allowed: false, status: { ...status, code } }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function nameOf(request: AdmissionRequest, object: unknown): string {
  const metadata = isFields(object) ? object['metadata'] : undefined
  return textOf(request.name) || (isFields(metadata) ? textOf(metadata['name']) : '')
}
