/**
 * What a failed write of an Event means.
 *
 * | refusal | of | answer | |
 * |---|---|---|---|
 * | 409 AlreadyExists | create | taken | |
 * | 404 that names the Event | patch | missing | |
 * | 403 for a namespace that is being deleted, 404 for one that is gone | create | refused | quietly: its objects go as well |
 * | other 403, other 404 | any | refused | a right, or the whole kind, is missing: later ones need not be sent |
 * | 401, 429, other 409 | any | unsent | the server did not act on it |
 * | 408, 5xx | any | unknown | |
 * | other 4xx | any | refused | |
 * | no connection | any | unsent | |
 * | no whole answer | any | unknown | |
 */
import { ApiError, isReason, NetworkError } from '../core/errors.ts'
import { isMissingObject } from '../client/codec.ts'
import type { Answer, Write } from './series.ts'
import type { DropCause } from './event_state.ts'

export interface WriteOutcome {
  readonly answer: Answer
  /** Why it is dropped, if it is refused. */
  readonly cause: DropCause
  /** It says nothing about the recorder or its rights: not worth a warning. */
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
