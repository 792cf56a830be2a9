/** The API server's answer to an invalid object. */
import type { Status } from './errors.ts'

/** A field of an invalid object, as in `Status.details.causes`. */
export interface InvalidField {
  readonly reason: string
  readonly field: string
  readonly message: string
}

/** Returns the 422 `Invalid` of kube-apiserver for an object, with one cause for each invalid field. */
export function invalidStatus(
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  causes: readonly InvalidField[],
): Status & { readonly message: string; readonly details: object } {
  const lines = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const type = group ? `${kind}.${group}` : kind
  return {
    kind: 'Status',
    status: 'Failure',
    message: `${type} "${name}" is invalid: ${lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`}`,
    reason: 'Invalid',
    details: {
      ...(name && { name }),
      ...(group && { group }),
      ...(kind && { kind }),
      causes: causes.map(({ reason, message, field }) => ({ reason, message, field })),
    },
    code: 422,
  }
}
