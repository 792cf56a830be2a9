/**
 * Classifies the error of a failed Event write.
 *
 * | error | write | answer | |
 * |---|---|---|---|
 * | 409 AlreadyExists | create | taken | |
 * | 404 that names the Event | patch | missing | |
 * | 403 for a terminating namespace, 404 for a missing one | create | refused | no warning: the objects are deleted too |
 * | other 403, other 404 | any | refused | a right or the kind is missing: later writes are not sent |
 * | 401, 429, other 409 | any | unsent | the server did not carry it out |
 * | 408, 5xx | any | unknown | |
 * | other 4xx | any | refused | |
 * | no connection | any | unsent | |
 * | incomplete answer | any | unknown | |
 */
import { ApiError, isReason, NetworkError } from '../core/errors.ts'
import { isMissingObject } from '../client/codec.ts'
import type { Answer, Write } from './series.ts'
import type { DropCause } from './event_state.ts'

export interface WriteOutcome {
  readonly answer: Answer
  /** The cause of the drop if the write is refused. */
  readonly cause: DropCause
  /** Whether no warning is logged, because nothing is wrong with the recorder or its rights. */
  readonly quiet?: boolean
}

export function writeOutcome(error: unknown, kind: Write['kind']): WriteOutcome {
  const failed = (answer: Answer): WriteOutcome => ({ answer, cause: 'failed' })
  const refused = (cause: DropCause, quiet = false): WriteOutcome => ({ answer: 'refused', cause, quiet })
  if (!(error instanceof ApiError)) {
    return failed(error instanceof NetworkError && error.phase === 'connect' ? 'unsent' : 'unknown')
  }
  if (isReason(error, 'AlreadyExists') && kind === 'create') return failed('taken')
  if (error.code === 404) {
    if (isMissingObject(error)) return kind === 'patch' ? failed('missing') : refused('refused', true)
    return refused('forbidden')
  }
  if (error.code === 403) return isTerminating(error) ? refused('refused', true) : refused('forbidden')
  if (error.code === 401 || error.code === 409 || error.code === 429) return failed('unsent')
  if (error.code === 408 || error.code >= 500) return failed('unknown')
  return refused('refused')
}

function isTerminating({ status }: ApiError): boolean {
  return status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false
}
